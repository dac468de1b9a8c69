//! Steps: closures that run as recorded children, and idempotency keys.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{join, try_join_all};
use pleach::prelude::*;
use pleach::{Node, RunOptions};
use serde_json::{Value, json};

use crate::backends::{Backend, on_backends};
use crate::replay::{Sessions, play, process};
use crate::support::{rerun, runner, trace};

/// The actions of the closures of a test, in order.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn charge_then_ask(log: &Log) -> Workflow {
    let log = log.clone();
    rerun("order", move |ctx| {
        let log = log.clone();
        async move {
            let charge = async || {
                log.note("charge");
                Ok("r-1".to_owned())
            };
            let receipt: String = ctx.step("charge", charge).await?;
            let notify = async || {
                log.note("notify");
                Ok(())
            };
            ctx.step("notify", notify).await?;
            let count: Option<u32> = ctx.step("count", async || Ok(None)).await?;
            assert_eq!(count, None);
            let good: bool = ctx.ask("q", "?").await?;
            Ok(format!("{receipt} {good}"))
        }
    })
}

#[tokio::test]
async fn a_step_is_a_child_whose_result_is_stored_once_even_if_it_is_none() {
    for resumable in [true, false] {
        let (log, sessions) = (Log::default(), Sessions::default());
        let first = play(process(charge_then_ask(&log), &sessions, resumable).run("ana", "s1", "go")).await;
        let steps: Vec<&String> = first.iter().filter(|line| line.contains("@step-")).collect();
        let expected = [
            r#"wf@1/order@1/charge@step-1: "r-1""#,
            "wf@1/order@1/notify@step-1: says ",
            "wf@1/order@1/count@step-1: says ",
        ];
        assert_eq!(steps, expected);
        assert_eq!(log.take(), ["charge", "notify"]);

        let resumed = play(process(charge_then_ask(&log), &sessions, resumable).answer("s1", "q", true).unwrap()).await;
        assert!(resumed.contains(&r#"wf@1/order@1: "r-1 true""#.to_owned()), "{resumed:?}");
        assert_eq!(log.take(), [""; 0], "resumable: {resumable}");
    }
}

#[tokio::test]
async fn a_retry_of_the_node_does_not_repeat_its_steps() {
    let log = Log::default();
    let noted = log.clone();
    let flaky = FunctionNode::new("order", move |ctx: Context| {
        let log = noted.clone();
        async move {
            let mut total = 0;
            for item in 1..=3 {
                total += ctx
                    .step("charge", async || {
                        log.note(format!("charge {item} {}", ctx.idempotency_key()));
                        Ok(item)
                    })
                    .await?;
            }
            if ctx.attempt_count() < 3 {
                return Err(Fail::msg("broken"));
            }
            Ok(total)
        }
    });
    let flaky = flaky.rerun_on_resume(true).retry(RetryConfig::attempts(3).initial_delay(0.0));
    let lines = trace(runner(flaky).0.run("ana", "s1", "go")).await;
    let expected = [
        "order@1/charge@step-1: 1",
        "order@1/charge@step-2: 2",
        "order@1/charge@step-3: 3",
        "order@1: Exception: broken",
        "order@1: Exception: broken",
        "order@1: 6",
    ];
    assert_eq!(lines, expected);
    let keys = log.take();
    assert_eq!(keys.len(), 3);
    assert!(keys[0] != keys[1] && keys[1] != keys[2]);
}

#[derive(Debug, thiserror::Error)]
#[error("status {0}")]
struct GatewayError(u16);

#[tokio::test]
async fn a_step_is_tried_again_by_its_policy_with_one_key() {
    let log = Log::default();
    let noted = log.clone();
    let root = rerun("order", move |ctx| {
        let log = noted.clone();
        async move {
            let policy = RetryConfig::attempts(5).initial_delay(0.0).on::<GatewayError>();
            let policy = policy.when(|error| error.message().contains("503"));
            let calls = AtomicU32::new(0);
            let call = ctx.step(Step::new("call").retry(policy), async || {
                log.note(ctx.idempotency_key());
                let status = if calls.fetch_add(1, Ordering::Relaxed) < 2 { 503 } else { 404 };
                Err::<u32, _>(GatewayError(status).into())
            });
            let error = call.await.unwrap_err();
            Ok(format!("{calls:?} {} {}", error.code(), error.message()))
        }
    });
    let lines = trace(runner(root).0.run("ana", "s1", "go")).await;
    assert_eq!(lines[..3].iter().filter(|line| line.starts_with("wf@1/order@1/call@step-1: GatewayError")).count(), 3);
    let text = "3 DynamicNodeFailError Dynamic node call failed";
    assert!(lines[3].contains(text), "{lines:?}");
    let keys = log.take();
    assert_eq!(keys, vec![keys[0].clone(); 3]);
    assert_eq!((keys[0].len(), keys[0].as_bytes()[14]), (36, b'8'));
}

#[tokio::test(start_paused = true)]
async fn a_step_that_takes_too_long_is_dropped_and_fails() {
    struct Dropped(Log);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.note("dropped");
        }
    }
    let log = Log::default();
    let noted = log.clone();
    let root = rerun("order", move |ctx| {
        let log = noted.clone();
        async move {
            let policy = RetryConfig::attempts(2).initial_delay(0.0);
            let slow = Step::new("slow").timeout(Duration::from_secs(5)).retry(policy);
            let never = async || {
                let _guard = Dropped(log.clone());
                std::future::pending::<Result<()>>().await
            };
            Ok(ctx.step(slow, never).await?)
        }
    });
    // The Runner uses the clock of the machine, whose timers are tokio's.
    let runner = Runner::builder("t").root(root).build().unwrap();
    let lines = trace(runner.run("ana", "s1", "go")).await;
    let late = "wf@1/order@1/slow@step-1: NodeTimeoutError: Node 'slow' timed out after 5.0 seconds.";
    assert_eq!(lines[..2], [late, late]);
    assert_eq!(log.take(), ["dropped", "dropped"]);
}

#[tokio::test]
async fn a_failure_that_the_node_goes_past_is_the_same_on_resume() {
    let log = Log::default();
    let root = || {
        let log = log.clone();
        rerun("order", move |ctx| {
            let log = log.clone();
            async move {
                let charge = ctx.step("charge", async || {
                    log.note("charge");
                    Err::<(), _>(Fail::msg("no money"))
                });
                let error = charge.await.unwrap_err();
                let good: bool = ctx.ask("q", "?").await?;
                Ok(format!("{} {good}", error.child_failure().unwrap().error))
            }
        })
    };
    let sessions = Sessions::default();
    let first = play(process(root(), &sessions, false).run("ana", "s1", "go")).await;
    assert_eq!(first[0], "wf@1/order@1/charge@step-1: Exception: no money");
    let resumed = play(process(root(), &sessions, false).answer("s1", "q", true).unwrap()).await;
    assert_eq!(resumed, [r#"wf@1/order@1: "no money true""#]);
    assert_eq!(log.take(), ["charge"]);
}

#[tokio::test]
async fn a_panic_in_a_step_is_a_failure_of_the_step() {
    let root = rerun("order", async |ctx: Context| {
        let end: Result<u32, NodeError> = ctx.step("burst", async || panic!("pop")).await;
        Ok(end.unwrap_err().child_failure().unwrap().path.to_string())
    });
    let lines = trace(runner(root).0.run("ana", "s1", "go")).await;
    let expected = [
        "wf@1/order@1/burst@step-1: PanicError: the node panicked: pop",
        r#"wf@1/order@1: "wf@1/order@1/burst@step-1""#,
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_step_changes_nothing_but_its_result() {
    async fn body(ctx: Context) -> Result<Vec<String>> {
        let child = FunctionNode::new("child", async || 1);
        let texts: Vec<String> = ctx
            .step("s", async || {
                let mut texts = Vec::new();
                let run = ctx.run_node(&child, Value::Null, RunOptions::default()).await;
                texts.push(run.unwrap_err().to_string());
                texts.push(ctx.state().set("k", 1).unwrap_err().to_string());
                texts.push(ctx.state().add("k", 1).unwrap_err().to_string());
                texts.push(ctx.set_output(1).unwrap_err().to_string());
                texts.push(ctx.ask::<bool>("q", "?").await.unwrap_err().to_string());
                texts.push(ctx.step("inner", async || Ok(1)).await.unwrap_err().to_string());
                ctx.set_route("left");
                ctx.emit(Event::message("half")).await?;
                Ok(texts)
            })
            .await?;
        ctx.state().set("k", 2)?;
        Ok(texts)
    }
    let lines = trace(runner(rerun("order", body)).0.run("ana", "s1", "go")).await;
    assert_eq!(lines[0], "wf@1/order@1: says half");
    assert!(lines[2].ends_with(r#", state {"k":2}"#), "{lines:?}");
    for text in ["runs a node", "starts another step", "changes the run", "waits for an answer"] {
        assert!(lines[2].contains(&format!("step 's' of node 'order' {text}")), "{lines:?}");
    }
    assert_eq!(lines[2].matches("step 's'").count(), 6);
    assert!(!lines[2].contains("route"));
}

#[tokio::test]
async fn steps_run_in_parallel_and_are_numbered_by_their_calls() {
    let root = rerun("order", async |ctx: Context| {
        let (first, second) = (ctx.step("fetch", async || Ok(1)), ctx.step("fetch", async || Ok(2)));
        // The first call is the first step, although it is polled last.
        let (two, one): (Result<u32, _>, Result<u32, _>) = join(second, first).await;
        let names = ["a", "b", "c"];
        let ctx = &ctx;
        let lengths = names.map(|name| ctx.step("measure", async move || Ok(name.len())));
        let lengths: Vec<usize> = try_join_all(lengths).await?;
        Ok(json!([one?, two?, lengths]))
    });
    let mut lines = trace(runner(root).0.run("ana", "s1", "go")).await;
    lines[..2].sort();
    assert_eq!(lines[..2], ["wf@1/order@1/fetch@step-1: 1", "wf@1/order@1/fetch@step-2: 2"]);
    assert_eq!(lines[5], "wf@1/order@1: [1,2,[1,1,1]]");
}

#[tokio::test]
async fn steps_with_keys_are_found_again_in_another_order() {
    let (log, turn) = (Log::default(), Arc::new(AtomicU32::new(0)));
    let root = || {
        let (log, turn) = (log.clone(), Arc::clone(&turn));
        rerun("order", move |ctx| {
            let (log, turn) = (log.clone(), Arc::clone(&turn));
            async move {
                let mut items = vec!["a", "b", "b"];
                if turn.fetch_add(1, Ordering::Relaxed) > 0 {
                    items.reverse();
                }
                let mut results = Vec::new();
                for item in items {
                    let charge = Step::new("charge").key(item);
                    let work = async || {
                        log.note(item);
                        Ok(item.to_owned())
                    };
                    results.push(ctx.step(charge, work).await?);
                }
                let _: bool = ctx.ask("q", "?").await?;
                Ok(results.join(""))
            }
        })
    };
    let sessions = Sessions::default();
    let first = play(process(root(), &sessions, false).run("ana", "s1", "go")).await;
    assert_eq!(first[..2], [r#"wf@1/order@1/charge@key-a: "a""#, r#"wf@1/order@1/charge@key-b: "b""#]);
    let resumed = play(process(root(), &sessions, false).answer("s1", "q", true).unwrap()).await;
    assert_eq!(resumed, [r#"wf@1/order@1: "bba""#]);
    assert_eq!(log.take(), ["a", "b"]);
}

#[tokio::test]
async fn a_step_needs_a_name_a_key_and_a_node_that_runs_again() {
    async fn failure(root: impl Node) -> String {
        trace(runner(root).0.run("ana", "s1", "go")).await.swap_remove(0)
    }
    let named = failure(rerun("order", async |ctx: Context| Ok(ctx.step("two words", async || Ok(1)).await?))).await;
    assert!(named.contains("ValueError: a step: Node name 'two words' must be a valid identifier"), "{named}");
    let keyed =
        failure(rerun("order", async |ctx: Context| Ok(ctx.step(Step::new("s").key("a/b"), async || Ok(1)).await?)))
            .await;
    assert!(keyed.contains("'key-a/b' contains '/'"), "{keyed}");
    let once = FunctionNode::new("once", async |ctx: Context| ctx.step("s", async || Ok(1)).await);
    let once = failure(once).await;
    assert!(once.contains("A node must have rerun_on_resume=True. Node 'once'"), "{once}");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Payment {
    who: String,
}

/// An agent whose model calls one tool twice in a batch. Each call makes two steps and then asks.
fn paying_agent(log: &Log) -> (LlmAgent, Arc<ScriptedModel>) {
    let log = log.clone();
    let pay = tool("pay", "Pays.", move |Args(payment): Args<Payment>, ctx: ToolContext| {
        let log = log.clone();
        async move {
            let who = payment.who;
            let key = ctx.idempotency_key();
            let work = async || {
                log.note(format!("{who} {} {key}", ctx.idempotency_key()));
                Ok(who.len())
            };
            let (first, second) = (ctx.step("charge", &work).await?, ctx.step("charge", &work).await?);
            let id = format!("sure-{who}");
            let ask = FunctionNode::new("ask", move |ctx: Context| {
                let id = id.clone();
                async move { ctx.ask::<bool>(&id, "?").await }
            });
            let sure: bool = ctx.run(&ask.rerun_on_resume(true), ()).await?;
            Ok::<_, Fail>(json!([first, second, sure]))
        }
    });
    let calls = [("pay", json!({"who": "ana"})), ("pay", json!({"who": "bob"}))];
    let model = Arc::new(ScriptedModel::new().then_calls(calls).then_text("done"));
    let agent = LlmAgent::builder("clerk").model(Arc::clone(&model)).tool(pay).build().unwrap();
    (agent, model)
}

#[tokio::test]
async fn steps_and_keys_in_tools_belong_to_the_call() {
    let (log, sessions) = (Log::default(), Sessions::default());
    let (agent, model) = paying_agent(&log);
    let app = process(agent, &sessions, true);
    let first = play(app.run("ana", "s1", "go")).await;
    let notes = log.take();
    assert_eq!(notes.len(), 4, "{first:?}");
    let mut keys: Vec<&str> = notes.iter().flat_map(|note| note.split(' ').skip(1)).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 6, "two calls with two steps each: {notes:?}");
    play(app.answer("s1", "sure-bob", true).unwrap()).await;
    let resumed = play(app.answer("s1", "sure-ana", true).unwrap()).await;
    assert_eq!(log.take(), [""; 0], "{resumed:?}");
    assert_eq!(model.requests().len(), 2, "{resumed:?}");
}

#[tokio::test]
async fn keys_differ_between_runs_of_a_node() {
    let root = rerun("order", async |ctx: Context| {
        let child = FunctionNode::new("child", async |ctx: Context| ctx.idempotency_key());
        let (one, two): (String, String) = (ctx.run(&child, ()).await?, ctx.run(&child, ()).await?);
        assert_ne!(one, two);
        assert_ne!(ctx.idempotency_key(), one);
        Ok((one, ctx.idempotency_key()))
    });
    let (runner, _) = runner(root);
    let one = trace(runner.run("ana", "s1", "go")).await;
    let other = trace(runner.run("ana", "s2", "go")).await;
    assert_ne!(one.last(), other.last());
}

async fn blocking_functions_run_on_the_pool(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let mut wf = Workflow::builder("wf");
    let thread = std::thread::current().id();
    let double = wf.node_blocking("double", move |Input(n): Input<i64>| {
        assert_ne!(std::thread::current().id(), thread);
        Ok::<_, std::io::Error>(n * 2)
    });
    let last = wf.node("last", async move |ctx: Context, Input(n): Input<i64>| {
        let text = ctx.blocking(move || format!("{n}")).await?;
        ctx.blocking(move || assert!(text != "4", "four")).await
    });
    wf.edge(START, double).edge(double, last);
    let runner = place.builder().await.root(wf.build().unwrap()).build().unwrap();
    let lines = trace(runner.run("ana", "s1", "2")).await;
    assert_eq!(lines[..2], ["wf@1/double@1: 4", "wf@1/last@1: PanicError: the node panicked: four"]);
}

#[tokio::test]
async fn a_tool_of_an_agent_does_not_ask_in_its_body() {
    let pay = tool("pay", "Pays.", async |ctx: ToolContext| ctx.ask::<bool>("q", "?").await);
    let model = ScriptedModel::calling("pay", json!({})).then_text("done");
    let lines =
        trace(runner(LlmAgent::builder("clerk").model(model).tool(pay).build().unwrap()).0.run("ana", "s1", "go"))
            .await;
    let text = "ValueError: the tool call of agent 'clerk' waits for an answer in its body";
    assert!(lines.last().unwrap().contains(text), "{lines:?}");
}

// Code that runs in a closure before its future, or on the thread pool, belongs to the step.
#[tokio::test]
async fn the_key_of_a_step_is_the_same_wherever_its_closure_asks() {
    let root = rerun("order", async |ctx: Context| {
        let own = ctx.idempotency_key();
        let before: String = ctx.step("s", || std::future::ready(Ok(ctx.idempotency_key()))).await?;
        let inside: String = ctx.step(Step::new("s").key("a"), async || Ok(ctx.idempotency_key())).await?;
        let pooled: String = ctx
            .step(Step::new("s").key("b"), || {
                let inner = ctx.clone();
                async { Ok(ctx.blocking(move || inner.idempotency_key()).await?) }
            })
            .await?;
        let mut keys = vec![own, before, inside, pooled];
        keys.sort();
        keys.dedup();
        let changed: String = ctx
            .step("t", || {
                let error = ctx.state().set("k", 1).unwrap_err();
                async move { Ok(error.to_string()) }
            })
            .await?;
        Ok((keys.len(), changed.contains("step 't'")))
    });
    let lines = trace(runner(root).0.run("ana", "s1", "go")).await;
    assert_eq!(lines.last().unwrap(), "wf@1/order@1: [4,true]");
}

// Without a key, lanes that reach their steps in another order on a resume would get each other's results.
#[tokio::test]
async fn a_step_that_starts_during_another_call_needs_a_key() {
    fn lanes(log: &Log, keyed: bool) -> Workflow {
        let log = log.clone();
        rerun("order", move |ctx| {
            let log = log.clone();
            async move {
                let lane = async |order: &str| {
                    let _: bool = ctx.ask(order, "ok?").await?;
                    let step = Step::new("charge");
                    let step = if keyed { step.key(order) } else { step };
                    let charged: String = ctx
                        .step(step, || {
                            log.note(order);
                            std::future::ready(Ok(order.to_owned()))
                        })
                        .await?;
                    Ok::<_, NodeError>(charged)
                };
                Ok(try_join_all([lane("one"), lane("two")]).await?)
            }
        })
    }
    let (log, sessions) = (Log::default(), Sessions::default());
    play(process(lanes(&log, true), &sessions, false).run("ana", "s1", "go")).await;
    play(process(lanes(&log, true), &sessions, false).answer("s1", "two", true).unwrap()).await;
    let end = play(process(lanes(&log, true), &sessions, false).answer("s1", "one", true).unwrap()).await;
    assert_eq!(end.last().unwrap(), r#"wf@1/order@1: ["one","two"]"#);
    assert_eq!(log.take(), ["two", "one"]);

    let (log, sessions) = (Log::default(), Sessions::default());
    play(process(lanes(&log, false), &sessions, false).run("ana", "s1", "go")).await;
    let refused = trace(process(lanes(&log, false), &sessions, false).answer("s1", "two", true).unwrap()).await;
    let text = "step 'charge' of node 'order' begins while another call of the node";
    assert!(refused.iter().any(|line| line.contains(text)), "{refused:?}");
    assert_eq!(log.take(), [""; 0]);
}

#[tokio::test]
async fn a_step_in_a_callback_of_an_agent_needs_a_key() {
    let model = ScriptedModel::saying("hi");
    let agent = LlmAgent::builder("clerk").model(model).before_agent(async |ctx: pleach::CallbackContext| {
        let error = ctx.step("s", async || Ok(1)).await.unwrap_err();
        let keyed: u32 = ctx.step(Step::new("s").key("k"), async || Ok(7)).await?;
        Ok::<_, NodeError>(Some(Content::model(format!("{keyed} {error}"))))
    });
    let lines = trace(runner(agent.build().unwrap()).0.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().contains("7 step 's' of node 'clerk' begins in a callback"), "{lines:?}");
}

on_backends! {
    #[tokio::test]
    blocking_functions_run_on_the_pool,
}
