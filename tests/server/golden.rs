//! The recorded exchanges with google-adk's server, replayed in their order.
//!
//! Ids and times differ in each run. Where the recording has an id there must be an id, and a time must be a number. In
//! the recordings, some prose was replaced by a placeholder between `<` and `>`, which matches any text. For validation
//! errors only the type and the place are compared.

use std::collections::{BTreeMap, HashMap};

use pleach::server::{DevUi, Traces};
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::client::{Ask, Reply};
use crate::served::{Served, apps, serve};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/http");

/// The event of the recorded span and picture: a call of `get_weather`.
const CALL: &str = "2cf25fd8-d463-4dc5-a010-2a08471db425";

/// The members that contain times.
const TIMES: &[&str] = &["timestamp", "lastUpdateTime", "createTime"];

#[tokio::test]
async fn h20_to_h82_every_recorded_exchange_is_answered_as_google_adk_does() {
    // The folder has no files, because the recordings contain no file of the UI.
    let ui = tempfile::tempdir().unwrap();
    let traces = Traces::new();
    let _recorded = pleach_contract::own_tests::subscribe(tracing_subscriber::registry().with(traces.layer()));
    let plain = serve(apps().dev_ui(DevUi::new(ui.path())).traces(traces)).await;
    let api = serve(apps()).await;
    let origins = ["http://app.example", r"regex:https://.*\.ok\.example"];
    let open = serve(apps().allow_origins(origins).auto_create_session(true)).await;
    let mut ids = Ids::default();
    let mut played = 0;
    for pair in pairs() {
        prepare(&plain, &pair.number).await;
        let served = match pair.document["server"].as_str().unwrap() {
            "web" => &plain,
            "api_server" => &api,
            _ => &open,
        };
        if pair.number == "45" {
            ids.ours.insert(CALL.to_owned(), call_of_weather(served).await);
        }
        let reply = served.send(ids.request(&pair.document["request"])).await;
        let mut faults = Vec::new();
        ids.compare_reply(&pair, &reply, &mut faults);
        assert!(faults.is_empty(), "{}: {faults:#?}\n{reply:?}", pair.name);
        played += 1;
    }
    assert_eq!(played, 59);
}

/// Sends the requests that were sent between the recorded ones.
async fn prepare(served: &Served, before: &str) {
    let (path, body) = match before {
        "10" => ("/apps/demo/users/u1/sessions", json!({})),
        "28" => {
            ("/apps/demo/users/u1/sessions/s1/artifacts", json!({"filename": "user:t.txt", "artifact": {"text": "t"}}))
        }
        "37" => ("/apps/wf/users/u1/sessions", json!({"sessionId": "w1"})),
        _ => return,
    };
    assert_eq!(served.post(path, body).await.status, 200);
}

/// Makes the agent call `get_weather` and returns the id of the call's event.
async fn call_of_weather(served: &Served) -> String {
    let message = json!({"parts": [{"text": "weather"}]});
    let body = json!({"appName": "demo", "userId": "u1", "sessionId": "s2", "newMessage": message});
    served.post("/run", body).await.json()[0]["id"].as_str().unwrap().to_owned()
}

struct Pair {
    name: String,
    number: String,
    document: Value,
}

fn pairs() -> Vec<Pair> {
    let entries = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let document = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        Pair { number: name.split('_').next().unwrap().to_owned(), name, document }
    };
    paths.iter().map(read).collect()
}

/// The ids of this server and the recorded ids that they replace.
#[derive(Default)]
struct Ids {
    ours: HashMap<String, String>,
    recorded: HashMap<String, String>,
}

impl Ids {
    /// Returns the recorded request with the ids of this server.
    fn request(&self, recorded: &Value) -> Ask {
        let mut ask =
            Ask::new(recorded["method"].as_str().unwrap(), &self.with_ours(recorded["path"].as_str().unwrap()));
        for (name, value) in recorded["headers"].as_object().into_iter().flatten() {
            ask = ask.header(name, value.as_str().unwrap());
        }
        if let Some(raw) = recorded["raw_body"].as_str() {
            return ask.raw(raw, "application/json");
        }
        match recorded.get("json") {
            None => ask,
            Some(body) => ask.raw(self.with_ours(&body.to_string()), "application/json"),
        }
    }

    /// Returns a text with the ids of this server in place of the recorded ones.
    fn with_ours(&self, text: &str) -> String {
        self.ours.iter().fold(text.to_owned(), |text, (recorded, ours)| text.replace(recorded, ours))
    }

    fn compare_reply(&mut self, pair: &Pair, reply: &Reply, faults: &mut Vec<String>) {
        let expected = &pair.document["response"];
        if expected["status"] != reply.status {
            faults.push(format!("status {} for {}", reply.status, expected["status"]));
        }
        for (name, value) in expected["headers"].as_object().into_iter().flatten() {
            if reply.header(name) != value.as_str() {
                faults.push(format!("header {name}: {:?} for {value}", reply.header(name)));
            }
        }
        if let Some(text) = expected["text"].as_str().filter(|text| *text != reply.text) {
            faults.push(format!("{:?} for {text:?}", reply.text));
        }
        if let Some(json) = expected.get("json") {
            self.compare(&relaxed(pair, json.clone()), &relaxed(pair, reply.json()), "", faults);
        }
        if let Some(events) = expected.get("sse_events") {
            self.compare(&relaxed(pair, events.clone()), &relaxed(pair, reply.events().into()), "", faults);
        }
    }

    fn compare(&mut self, expected: &Value, ours: &Value, at: &str, faults: &mut Vec<String>) {
        match (expected, ours) {
            (Value::Object(expected), Value::Object(ours)) => {
                let known = |key: &String| self.ours.get(key).unwrap_or(key).clone();
                let expected: BTreeMap<String, &Value> =
                    expected.iter().map(|(key, value)| (known(key), value)).collect();
                let (keys, our_keys): (Vec<_>, Vec<_>) = (expected.keys().collect(), ours.keys().collect());
                if keys != our_keys {
                    faults.push(format!("{at}: members {our_keys:?} for {keys:?}"));
                }
                for (key, value) in &expected {
                    let member = ours.get(key).unwrap_or(&Value::Null);
                    if TIMES.contains(&key.as_str()) && member.is_f64() && value.is_f64() {
                        continue;
                    }
                    self.compare(value, member, &format!("{at}/{key}"), faults);
                }
            }
            (Value::Array(expected), Value::Array(ours)) if expected.len() == ours.len() => {
                for (index, (expected, ours)) in expected.iter().zip(ours).enumerate() {
                    self.compare(expected, ours, &format!("{at}/{index}"), faults);
                }
            }
            (Value::String(expected), Value::String(ours)) if self.is_same_text(expected, ours) => {}
            (expected, ours) if expected != ours => faults.push(format!("{at}: {ours} for {expected}")),
            _ => {}
        }
    }

    fn is_same_text(&mut self, expected: &str, ours: &str) -> bool {
        if expected == ours {
            return true;
        }
        if let (Some(_), Some(_)) = (uuid_of(expected), uuid_of(ours)) {
            let known = self.ours.entry(expected.to_owned()).or_insert_with(|| ours.to_owned());
            let back = self.recorded.entry(ours.to_owned()).or_insert_with(|| expected.to_owned());
            return known == ours && back == expected;
        }
        // Compares the text around the prose that was removed.
        match (expected.split_once('<'), expected.rsplit_once('>')) {
            (Some((before, _)), Some((_, after))) => ours.starts_with(before) && ours.ends_with(after),
            _ => false,
        }
    }
}

/// Returns the UUID of an id, without the prefix of the kind of id.
fn uuid_of(text: &str) -> Option<&str> {
    let uuid = ["e-", "p-", "adk-"].iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    let is_uuid = uuid.len() == 36
        && uuid.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    is_uuid.then_some(uuid)
}

/// Removes the parts of a reply in which pleach's server differs on purpose.
fn relaxed(pair: &Pair, mut json: Value) -> Value {
    match pair.number.as_str() {
        // Each server has its own version.
        "02" => json.as_object_mut().unwrap().values_mut().for_each(|value| *value = Value::Null),
        // Only the beginning of the text is fixed.
        "06" | "18" => cut(&mut json["detail"], ". "),
        "40" => {
            cut(&mut json[0]["error"], ". ");
            cut(&mut json[0]["error_details"]["error_message"], ". ");
        }
        "45" => own_span(&mut json),
        "46" => json = own_spans(&json),
        // The recorded server had an app that cannot be loaded.
        "58" => json.as_array_mut().unwrap().retain(|app| app != "broken"),
        _ => {}
    }
    if let Some(problems) = json.get_mut("detail").and_then(Value::as_array_mut) {
        for problem in problems {
            problem.as_object_mut().unwrap().retain(|key, _| key == "type" || key == "loc");
        }
    }
    json
}

/// The names of the spans that are compared. The spans of the web framework exist only in google-adk.
const RUNS: &[&str] = &["invoke_workflow", "invoke_agent", "generate_content", "execute_tool"];

/// The attributes that only one of the two servers has.
const OTHERS: &[&str] = &[
    "gen_ai.provider.name",
    "gen_ai.tool.definitions",
    "gen_ai.tool.type",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.llm_response",
];

/// Removes from a span the attributes that only one of the two servers has, and the ids, which must be numbers.
fn own_span(attributes: &mut Value) {
    let attributes = attributes.as_object_mut().unwrap();
    attributes.retain(|name, value| {
        let is_id = (name == "trace_id" || name == "span_id") && value.is_number();
        !is_id && !name.starts_with("pleach.") && !OTHERS.contains(&name.as_str())
    });
}

/// Returns the spans of the run that asked to delete a file: their names, the names of the spans above them, and their attributes.
fn own_spans(spans: &Value) -> Value {
    let spans = spans.as_array().unwrap();
    let call = spans.iter().find(|span| span["name"] == "execute_tool delete_file").expect("the call is recorded");
    let is_run = |span: &&Value| RUNS.iter().any(|name| span["name"].as_str().unwrap().starts_with(name));
    let of_trace: Vec<&Value> = spans.iter().filter(|span| span["trace_id"] == call["trace_id"]).collect();
    // In pleach the trace continues with the answer.
    let end = of_trace.iter().position(|span| span["name"] == "invoke_workflow demo_agent").unwrap();
    of_trace[..=end].iter().copied().filter(is_run).map(|span| own_tree(span, spans)).collect()
}

fn own_tree(span: &Value, spans: &[Value]) -> Value {
    assert!(span["start_time"].as_u64() <= span["end_time"].as_u64() && span["logs"].is_array(), "{span}");
    let parent = |span: &Value| spans.iter().find(|above| above["span_id"] == span["parent_span_id"]);
    let mut above = parent(span);
    // In pleach the agent also has a span as a node.
    while let Some(node) = above.filter(|above| above["name"].as_str().unwrap().starts_with("invoke_node")) {
        above = parent(node);
    }
    let is_run = |name: &&str| RUNS.iter().any(|run| name.starts_with(run));
    let above = above.and_then(|above| above["name"].as_str()).filter(is_run);
    let name = span["name"].as_str().unwrap();
    let mut attributes = span["attributes"].clone();
    own_span(&mut attributes);
    let attributes = attributes.as_object_mut().unwrap();
    if !name.starts_with("generate_content") {
        attributes.remove("gcp.vertex.agent.invocation_id");
    }
    if name.starts_with("execute_tool") {
        // The spans of pleach name the session, and the spans of google-adk name the agent.
        attributes.remove("gen_ai.conversation.id");
        attributes.remove("gen_ai.agent.name");
    }
    json!({ "name": name, "above": above, "attributes": attributes })
}

fn cut(text: &mut Value, end: &str) {
    let first =
        text.as_str().and_then(|text| text.split(end).next()).map(|first| first.trim_end_matches('.').to_owned());
    *text = first.map_or(Value::Null, Value::from);
}
