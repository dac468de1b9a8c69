//! `LoggingPlugin`: a readable line for each step, without secrets.

use std::sync::{Arc, Mutex};

use pleach::model::{LlmResponse, ScriptedReply};
use pleach::plugins::LoggingPlugin;
use pleach::prelude::*;
use pleach::{AuthConfig, Node, RunRequest, ToolContext};
use pleach_contract::CountedIds;
use serde_json::json;

use crate::support::{key, trace};

type Lines = Arc<Mutex<Vec<String>>>;

/// A plugin that keeps its lines, together with the lines.
fn kept() -> (LoggingPlugin, Lines) {
    let lines = Lines::default();
    let sink = Arc::clone(&lines);
    (LoggingPlugin::new().to(move |line| sink.lock().unwrap().push(line.to_owned())), lines)
}

fn runner(root: impl Node, plugin: LoggingPlugin) -> Runner {
    Runner::builder("t").root(root).ids(CountedIds::new()).plugin(plugin).build().unwrap()
}

/// The lines without the invocation id that each begins with.
fn taken(lines: &Lines) -> Vec<String> {
    let lines = std::mem::take(&mut *lines.lock().unwrap());
    assert!(lines.iter().all(|line| line.starts_with("[e-") && !line.contains('\n')), "{lines:?}");
    lines.iter().map(|line| line.split_once("] ").unwrap().1.to_owned()).collect()
}

fn weather() -> LlmAgent {
    let mut answer = LlmResponse::text("Clear.");
    answer.info.finish_reason = Some("STOP".into());
    answer.info.usage_metadata = Some(json!({"prompt_token_count": 31, "candidates_token_count": 7}).into());
    let call = pleach::FunctionCall::new("c1", "weather", json!({"city": "Oslo"}).as_object().unwrap().clone());
    let model = ScriptedModel::new().then(LlmResponse::calls([call])).then(answer);
    let tool = tool("weather", "Tells.", async |ctx: ToolContext| -> Result<serde_json::Value> {
        ctx.state().set("seen", "Oslo")?;
        Ok(json!({"sky": "clear"}))
    });
    LlmAgent::builder("helper").model(model).tool(tool).build().unwrap()
}

#[tokio::test]
async fn each_step_is_one_readable_line() {
    let (plugin, lines) = kept();
    trace(runner(weather(), plugin).run("ana", "s1", "What is\nit like?")).await;
    let expected = [
        r#"user: "What is\nit like?""#,
        "run starts: app t, user ana, session s1",
        "node helper@1 starts",
        "agent helper starts",
        "helper asks scripted: 1 content, 1 tool",
        "helper gets: calls weather",
        "event of helper: calls weather",
        r#"tool weather starts: call c1, {}"#,
        r#"tool weather ends: call c1, {"sky":"clear"}"#,
        "event of helper: response of weather; state keys seen",
        "helper asks scripted: 3 contents, 1 tool",
        r#"helper gets: "Clear."; 31 tokens in, 7 out; STOP"#,
        r#"event of helper: "Clear.""#,
        "agent helper ends",
        "node helper@1 ends",
        "run ends",
    ];
    let expected = expected.map(|line| line.replace("call c1, {}", r#"call c1, {"city":"Oslo"}"#));
    assert_eq!(taken(&lines), expected);
}

#[tokio::test]
async fn the_lines_that_are_shown_can_be_chosen() {
    let (plugin, lines) = kept();
    trace(runner(weather(), plugin.hide_events().hide_nodes().hide_contents()).run("ana", "s1", "hello")).await;
    let lines = taken(&lines);
    assert!(lines.iter().all(|line| !line.starts_with("event") && !line.starts_with("node")), "{lines:?}");
    assert!(!lines.concat().contains("Oslo") && !lines.concat().contains("clear") && !lines.concat().contains("Clear"));
    assert!(lines.contains(&"user: text of 5 characters".to_owned()), "{lines:?}");
    assert!(lines.contains(&"tool weather starts: call c1, 1 arguments".to_owned()), "{lines:?}");

    let (plugin, lines) = kept();
    let model = ScriptedModel::new().then_fragments(["one ", "two"]);
    let agent = LlmAgent::builder("helper").model(model).build().unwrap();
    trace(runner(agent, plugin.show_fragments()).run("ana", "s1", "go").streaming()).await;
    let lines = taken(&lines);
    assert!(lines.contains(&r#"helper gets a fragment: "one""#.to_owned()), "{lines:?}");
    assert!(lines.contains(&r#"fragment of helper: "two""#.to_owned()), "{lines:?}");
}

/// Names of files come from users, routes from decisions of models, and models invent names of functions.
#[tokio::test]
async fn hidden_contents_are_hidden_in_names_as_well() {
    let (plugin, lines) = kept();
    let mut wf = Workflow::builder("wf");
    let decide = wf.node("decide", async |ctx: Context| -> Result<Event> {
        ctx.save_artifact("my illness.pdf", Part::text("x")).await?;
        Ok(Event::new().with_route("diagnosis"))
    });
    let end = wf.node("end", async || "over");
    wf.edge(START, decide).route(decide, "diagnosis", end);
    let artifacts = pleach::InMemoryArtifactService::with_clock(Arc::new(pleach_contract::TestClock::skipping()));
    let runner = Runner::builder("t").root(wf.build().unwrap()).ids(CountedIds::new()).artifacts(artifacts);
    trace(runner.plugin(plugin.hide_contents()).build().unwrap().run("ana", "s1", "go")).await;
    let (plugin, invented) = kept();
    let model = ScriptedModel::calling("tell_about_illness", json!({})).then_text("ok");
    let agent = LlmAgent::builder("a").model(model).tool(tool("known", "", async || "x")).build().unwrap();
    trace(self::runner(agent, plugin.hide_contents()).run("ana", "s1", "go")).await;
    let all = taken(&lines).join("\n") + &taken(&invented).join("\n");
    assert!(!all.contains("illness") && !all.contains("diagnosis"), "{all}");
    assert!(all.contains("1 file") && all.contains("a route"), "{all}");
}

#[tokio::test]
async fn long_texts_are_cut() {
    let (plugin, lines) = kept();
    let agent = LlmAgent::builder("a").model(ScriptedModel::saying("é".repeat(1_000))).build().unwrap();
    trace(runner(agent, plugin.excerpt_length(5)).run("ana", "s1", "x".repeat(1_000))).await;
    let lines = taken(&lines);
    assert!(lines.contains(&r#"a gets: "ééééé…""#.to_owned()) && lines[0] == r#"user: "xxxxx…""#, "{lines:?}");
}

#[tokio::test]
async fn failures_name_the_node_and_the_error() {
    let (plugin, lines) = kept();
    let mut wf = Workflow::builder("wf");
    let bad = wf.node("bad", async || -> Result<i64> { Err(NodeError::value("no such city").into()) });
    wf.edge(START, bad);
    trace(runner(wf.build().unwrap(), plugin).run("ana", "s1", "go")).await;
    let lines = taken(&lines);
    for expected in ["node wf@1/bad@1 fails: ValueError: no such city", "run fails: ValueError: no such city"] {
        assert!(lines.contains(&expected.to_owned()), "{expected}: {lines:?}");
    }
    let (plugin, lines) = kept();
    let tool = tool("pay", "Pays.", async || -> Result<i64> { Err(NodeError::value("too much").into()) });
    let agent = LlmAgent::builder("a").model(ScriptedModel::calling("pay", json!({}))).tool(tool).build().unwrap();
    trace(runner(agent, plugin.hide_contents()).run("ana", "s1", "go")).await;
    let lines = taken(&lines);
    assert!(lines.iter().any(|line| line.starts_with("tool pay fails: call ") && line.ends_with(", ValueError")));
    assert!(!lines.concat().contains("too much"), "{lines:?}");
}

#[tokio::test]
async fn secrets_are_in_no_line() {
    let (plugin, lines) = kept();
    let tool = tool("log_in", "Logs in.", async |ctx: ToolContext| -> Result<serde_json::Value> {
        let secret: String = ctx.state().get("temp:secret")?;
        ctx.state().set("temp:more", "n3w-s3cret")?;
        Ok(json!({"header": format!("Bearer {secret}"), "api_key": "k3y-in-result", "more": "n3w-s3cret"}))
    });
    let call = ScriptedReply::calls([("log_in", json!({"user": "ana", "password": "passw0rd!"}))]);
    let model = ScriptedModel::new().then(call).then_text("s3cr3t-from-state is yours");
    let agent = LlmAgent::builder("a").model(model).tool(tool).build().unwrap();
    let state = json!({"temp:secret": "s3cr3t-from-state", "user:pin": "pin-1234"}).as_object().unwrap().clone();
    let request = RunRequest::new(("ana", "s1")).message("log me in").state_delta(state);
    trace(runner(agent, plugin).start(request)).await;
    let lines = taken(&lines);
    let all = lines.join("\n");
    for secret in ["s3cr3t-from-state", "k3y-in-result", "passw0rd!", "pin-1234", "n3w-s3cret"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    assert!(all.contains(r#"{"password":"[hidden]","user":"ana"}"#) && all.contains("Bearer [hidden]"), "{all}");
}

#[tokio::test]
async fn the_credential_of_a_client_is_in_no_line() {
    let (plugin, lines) = kept();
    let config = json!({
        "auth_scheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "credential_key": "shop",
    });
    let config: AuthConfig = serde_json::from_value(config).unwrap();
    let asks = config.clone();
    let shop = tool("shop", "Shops.", move |ctx: ToolContext| {
        let config = asks.clone();
        async move {
            match ctx.get_auth_response(&config) {
                Some(credential) => Ok(json!({"used": credential.api_key})),
                None => ctx.request_credential(config).map(|()| json!(null)),
            }
        }
    });
    let model = ScriptedModel::calling("shop", json!({})).then_text("done");
    let agent = LlmAgent::builder("a").model(model).tool(shop).build().unwrap();
    let runner = runner(agent, plugin);
    trace(runner.run("ana", "s1", "go")).await;
    let open = runner.questions(key()).await.unwrap();
    let mut answer = serde_json::to_value(&config).unwrap();
    answer["exchanged_auth_credential"] = json!({"auth_type": "apiKey", "api_key": "cl1ent-k3y"});
    let given = trace(runner.answer(key(), &open[0], answer).unwrap()).await;
    assert!(given.iter().any(|line| line.contains("done")), "{given:?}");
    let all = taken(&lines).join("\n");
    assert!(!all.contains("cl1ent-k3y") && all.contains("[hidden]"), "{all}");
}

/// A subscriber that keeps the target, level and message of each log line.
#[derive(Clone, Default)]
struct Recorder(Lines);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Recorder {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        struct Message(String);
        impl tracing::field::Visit for Message {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 = format!("{value:?}");
            }
        }
        let (data, mut message) = (event.metadata(), Message(String::new()));
        event.record(&mut message);
        self.0.lock().unwrap().push(format!("{} {} {}", data.level(), data.target(), message.0));
    }
}

#[tokio::test]
async fn lines_go_to_tracing_unless_another_target_is_set() {
    let recorder = Recorder::default();
    let subscriber = tracing_subscriber::layer::SubscriberExt::with(tracing_subscriber::registry(), recorder.clone());
    let _guard = pleach_contract::own_tests::subscribe(subscriber);
    trace(runner(FunctionNode::new("n", async || 1), LoggingPlugin::new()).run("ana", "s1", "go")).await;
    let lines = recorder.0.lock().unwrap().clone();
    let ends = |line: &String| line.starts_with("INFO pleach::plugins::logging [e-") && line.ends_with("] run ends");
    assert!(lines.iter().any(ends), "{lines:?}");
}

#[tokio::test]
async fn lines_can_be_written_to_a_writer() {
    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let buffer = Buffer::default();
    let root = FunctionNode::new("n", async || 1);
    trace(runner(root, LoggingPlugin::new().to_writer(buffer.clone())).run("ana", "s1", "go")).await;
    let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
    assert!(text.ends_with("run ends\n") && text.contains("node n@1 ends: 1\n"), "{text}");
}

/// A writer that keeps the output of a subscriber.
#[derive(Clone, Default)]
struct BufferWriter(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for BufferWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_ordinary_subscriber_writes_the_lines_without_the_fields_of_spans() {
    let written = BufferWriter::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    trace(runner(weather(), LoggingPlugin::new()).run("ana", "s1", "Hi")).await;
    drop(guard);
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("pleach::plugins::logging")).collect();
    assert!(lines.iter().any(|line| line.ends_with(r#"tool weather ends: call c1, {"sky":"clear"}"#)), "{text}");
    for line in &lines {
        assert!(line.contains("INFO pleach::plugins::logging: [e-") && !line.contains("gen_ai"), "{line}");
        assert!(line.chars().count() < 300, "{line}");
    }
}
