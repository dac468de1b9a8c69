//! Questions to a person: asking, answering, resuming. They are sections 9 and 10 of the runtime's rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{InMemorySessionService, RunRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{rerun, runner, stored, trace};

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
struct Approval {
    yes: bool,
}

async fn ask() -> RequestInput<Approval> {
    RequestInput::ask("q1", "Fine?")
}

fn simple(calls: &Arc<AtomicU32>) -> (Runner, Arc<InMemorySessionService>) {
    let calls = Arc::clone(calls);
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", move || {
        let calls = Arc::clone(&calls);
        async move { calls.fetch_add(1, Ordering::Relaxed) + 1 }
    });
    let (ask, done) = (wf.node("ask", ask), wf.node("done", async |Input(a): Input<Approval>| a.yes));
    wf.edge(START, first).edge(first, ask.dynamic()).edge(ask, done);
    runner(wf.build_to(done).unwrap())
}

#[tokio::test]
async fn e150_e152_an_answer_resumes_and_finished_nodes_do_not_run_again() {
    let calls = Arc::default();
    let (runner, sessions) = simple(&calls);
    let waiting = runner.run("ana", "s1", "go").output::<bool>().await.unwrap_err();
    let RunError::Waiting(open) = waiting else { panic!("{waiting}") };
    assert_eq!((open[0].id.as_str(), open[0].message.as_str()), ("q1", "Fine?"));
    assert!(runner.answer("s1", "q1", Approval { yes: true }).unwrap().output::<bool>().await.unwrap());
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(stored(&sessions).await, ["wf@1/first@1: 1", "wf@1/ask@1: asks q1", "wf@1/done@1: true"]);
    // E158: repeating the answer stores nothing and runs nothing.
    assert_eq!(trace(runner.answer("s1", "q1", Approval { yes: true }).unwrap()).await, [] as [&str; 0]);
}

/// A person's answer. The service sets `by`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Decision {
    yes: bool,
    #[schemars(extend("readOnly" = true))]
    by: Option<String>,
}

#[tokio::test]
async fn a_question_with_everything_has_the_type_and_the_schema_of_its_answer() {
    let root = rerun("wait", async |ctx: Context| {
        let one: Decision = ctx.ask_with(RequestInput::ask("one", "?").assign_to("lead")).await?;
        let two = RequestInput::ask("two", "?").assign_to("boss");
        let two = ctx.select().ask_with(two, |two: Decision| two.by).await?;
        let three = RequestInput::<Option<Decision>>::ask("three", "?").with_deadline(ctx.now() + HOUR);
        Ok(json!([one.by, two, ctx.ask_with(three).await?]))
    });
    let (runner, sessions) = runner(root);
    trace(runner.run("ana", "s1", "go")).await;
    for (id, assignee) in [("one", Some("lead")), ("two", Some("boss")), ("three", None)] {
        let question = runner.questions("s1").await.unwrap().remove(0);
        assert_eq!((question.id.as_str(), question.assignee.as_deref()), (id, assignee));
        let schema = question.response_schema.unwrap();
        assert!(schema.to_string().contains(r#""readOnly":true"#), "{id}: {schema}");
        let bad = trace(runner.answer("s1", id, json!({"yes": "perhaps", "by": "ben"})).unwrap()).await;
        assert!(bad[0].contains(&format!("the answer to question '{id}' was refused")), "{bad:?}");
        let answer = (id != "three").then_some(Decision { yes: true, by: Some("ben".to_owned()) });
        trace(runner.answer("s1", id, answer).unwrap()).await;
    }
    assert_eq!(stored(&sessions).await.last().unwrap(), r#"wf@1/wait@1: ["ben","ben",null]"#);
}

#[tokio::test]
async fn e154_e168_unknown_ids_and_bad_answers_are_refused_before_anything_is_stored() {
    let (runner, sessions) = simple(&Arc::default());
    trace(runner.run("ana", "s1", "go")).await;
    let before = sessions_events(&sessions).await;
    let unknown = trace(runner.answer("s1", "zzz", true).unwrap()).await;
    assert_eq!(unknown, ["! ValueError: Function call not found for function response ids: {'zzz'}."]);
    let bad = trace(runner.answer("s1", "q1", json!({"yes": "perhaps"})).unwrap()).await;
    assert!(bad[0].starts_with("! WorkflowDataError: the answer to question 'q1' was refused: field 'yes'"), "{bad:?}");
    assert_eq!(sessions_events(&sessions).await, before);
    // The question is still open, so a corrected answer is accepted.
    assert!(!runner.answer("s1", "q1", Approval { yes: false }).unwrap().output::<bool>().await.unwrap());
}

async fn sessions_events(sessions: &InMemorySessionService) -> usize {
    sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap().events.len()
}

#[tokio::test]
async fn e155_e156_e196_messages_that_mix_or_lack_ids() {
    let (runner, _) = simple(&Arc::default());
    trace(runner.run("ana", "s1", "go")).await;
    let response = |id: Option<&str>| {
        let mut response = pleach::FunctionResponse::new("q1", "adk_request_input", Default::default());
        response.id = id.map(Into::into);
        Part::function_response(response)
    };
    let mixed = vec![response(Some("q1")), Part::text("also this")];
    let lines = trace(runner.run("ana", "s1", mixed)).await;
    assert!(lines[0].starts_with("! ValueError: Message cannot contain both function responses and text"), "{lines:?}");
    let named = RunRequest::new(("ana", "s1")).message(vec![response(None)]).invocation_id("e-1");
    let lines = trace(runner.start(named)).await;
    assert_eq!(lines, ["! ValueError: Function response id is required to resume an invocation."]);
    let anew = trace(runner.run("ana", "s1", vec![response(None)])).await;
    assert_eq!(anew, ["wf@1/first@1: 2", "wf@1/ask@1: asks q1"]);
}

#[tokio::test]
async fn e159_e160_lanes_ask_and_are_answered_one_by_one() {
    let mut wf = Workflow::builder("wf");
    let l = wf.node("l", async || RequestInput::<i64>::ask("left", "L?"));
    let r = wf.node("r", async || RequestInput::<i64>::ask("right", "R?"));
    let both = wf.join("both", (l, r));
    wf.edge(START, (l, r));
    let (runner, _) = runner(wf.build_to(both).unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let first = runner.answer("s1", "right", 2).unwrap().output::<Value>().await;
    assert!(matches!(first, Err(RunError::Waiting(open)) if open[0].id == "left"));
    let joined = runner.answer("s1", "left", 1).unwrap().output::<Value>().await.unwrap();
    assert_eq!(joined, json!({"l": 1, "r": 2}));
}

#[tokio::test]
async fn e162_a_rerun_node_gets_all_answers_so_far() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<String, NodeError> {
        let first: String = ctx.ask("first", "First?").await?;
        let second: String = ctx.ask("second", "Second?").await?;
        Ok(format!("{first} {second}"))
    });
    let (runner, sessions) = runner(node.rerun_on_resume(true));
    assert!(matches!(runner.run("ana", "s1", "go").output::<String>().await, Err(RunError::Waiting(_))));
    let open = runner.answer("s1", "first", "5").unwrap().output::<String>().await.unwrap_err();
    assert!(matches!(open, RunError::Waiting(open) if open[0].id == "second"));
    // A text that looks like a number stays a text.
    assert_eq!(runner.answer("s1", "second", "true").unwrap().output::<String>().await.unwrap(), "5 true");
    assert_eq!(stored(&sessions).await, ["node@1: asks first", "node@1: asks second", "node@1: \"5 true\""]);
}

#[tokio::test]
async fn r414_a_pause_cannot_be_swallowed_and_every_question_of_a_try_join_is_stored() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<u64, NodeError> {
        let _ = ctx.ask::<u64>("q0", "?").await.unwrap_or(7);
        let questions = (0..100).map(|i| {
            let ctx = &ctx;
            async move {
                if i % 2 == 0 {
                    tokio::task::yield_now().await;
                }
                ctx.ask::<u64>(&format!("q{i}"), "?").await
            }
        });
        Ok(futures::future::try_join_all(questions).await?.into_iter().sum())
    });
    let (runner, _) = runner(node.rerun_on_resume(true));
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["node@1: asks q0"]);
    let lines = trace(runner.answer("s1", "q0", 0).unwrap()).await;
    assert_eq!(lines.len(), 99, "{lines:?}");
    let ids: Vec<String> = (1..100).map(|i| format!("q{i}")).collect();
    let answers = runner.answer_all("s1", ids.iter().map(|id| (id.as_str(), 1))).unwrap();
    assert_eq!(answers.output::<u64>().await.unwrap(), 99);
}

#[tokio::test]
async fn a_child_that_is_kept_for_later_does_not_hold_up_a_pause() {
    let child = FunctionNode::new("child", async || 1);
    let node = FunctionNode::new("node", move |ctx: Context| {
        let child = child.clone();
        async move {
            let later = ctx.run(&child, ());
            let first: i64 = ctx.ask("q", "?").await?;
            Ok::<i64, NodeError>(first + later.await?)
        }
    });
    let (runner, _) = runner(node.rerun_on_resume(true));
    assert_eq!(trace(runner.run("ana", "s1", "go")).await, ["node@1: asks q"]);
    assert_eq!(runner.answer("s1", "q", 1).unwrap().output::<i64>().await.unwrap(), 2);
}

#[tokio::test]
async fn only_a_part_of_the_history_is_loaded_and_a_resume_still_knows_all_of_it() {
    let calls = Arc::default();
    let (runner, _) = simple(&calls);
    trace(runner.run("ana", "s1", "go")).await;
    let part = pleach::RunConfig::default().get_session(pleach::GetSessionConfig::recent(1));
    let answer =
        pleach::FunctionResponse::new("q1", "adk_request_input", json!({"yes": true}).as_object().unwrap().clone());
    let request = RunRequest::new(("ana", "s1")).message(vec![Part::function_response(answer)]).config(part);
    assert_eq!(trace(runner.start(request)).await, ["wf@1/done@1: true"]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn e176_a_resumed_parent_finds_the_children_that_finished() {
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    let done = FunctionNode::new("done", move || {
        let seen = Arc::clone(&seen);
        async move { format!("F{}", seen.fetch_add(1, Ordering::Relaxed)) }
    });
    let asks = FunctionNode::new("asks", async || RequestInput::<String>::ask("name", "Name?"));
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let (done, asks) = (done.clone(), asks.clone());
        async move {
            let (a, b) = futures::try_join!(ctx.run(&done, ()), ctx.run(&asks, ()))?;
            Ok::<_, NodeError>(vec![a, b])
        }
    });
    let mut wf = Workflow::builder("wf");
    let parent = wf.add(parent.rerun_on_resume(true));
    wf.edge(START, parent);
    let (runner, sessions) = runner(wf.build_to(parent).unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let output = runner.answer("s1", "name", "Ada").unwrap().output::<Vec<String>>().await.unwrap();
    assert_eq!((output, calls.load(Ordering::Relaxed)), (vec!["F0".into(), "Ada".into()], 1));
    assert_eq!(
        stored(&sessions).await,
        ["wf@1/parent@1/done@1: \"F0\"", "wf@1/parent@1/asks@1: asks name", "wf@1/parent@1: [\"F0\",\"Ada\"]"]
    );
}

#[tokio::test]
async fn e188_an_invocation_that_failed_is_resumed_by_its_id() {
    let broken = Arc::new(AtomicU32::new(1));
    let (seen, calls) = (Arc::clone(&broken), Arc::new(AtomicU32::new(0)));
    let count = Arc::clone(&calls);
    let mut wf = Workflow::builder("wf");
    let first = wf.node("first", move || {
        let count = Arc::clone(&count);
        async move { count.fetch_add(1, Ordering::Relaxed) }
    });
    let maybe = wf.node("maybe", move |Input(n): Input<u32>| {
        let broken = Arc::clone(&seen);
        async move { if broken.load(Ordering::Relaxed) == 1 { Err(Fail::msg("down")) } else { Ok(n + 1) } }
    });
    wf.edge(START, first).edge(first, maybe);
    let (runner, sessions) = runner(wf.build_to(maybe).unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    broken.store(0, Ordering::Relaxed);
    let resumed = runner.resume("ana", "s1", session.events[0].invocation_id().clone());
    assert_eq!(resumed.output::<u32>().await.unwrap(), 1);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_typed_node_cut_off_after_a_message_runs_again() {
    let mut wf = Workflow::builder("wf");
    let says = wf.node("says", async |ctx: Context| -> Result<u32> {
        ctx.emit(Event::message("working")).await?;
        Ok(1)
    });
    let next = wf.node("next", async |Input(n): Input<u32>| n + 1);
    wf.edge(START, says).edge(says, next);
    let (runner, sessions) = runner(wf.build_to(next).unwrap());
    let mut run = runner.run("ana", "s1", "go");
    let invocation = run.next().await.unwrap().unwrap().invocation_id().clone();
    drop(run);
    assert_eq!(runner.resume("ana", "s1", invocation).output::<u32>().await.unwrap(), 2);
    assert_eq!(
        stored(&sessions).await,
        ["wf@1/says@1: says working", "wf@1/says@1: says working", "wf@1/says@1: 1", "wf@1/next@1: 2"]
    );
}

/// A node that was cut off after a message is not complete: its steps still have to run.
#[tokio::test]
async fn r1010_a_node_that_is_cut_off_after_a_message_runs_again_in_a_resumable_app() {
    let mut wf = Workflow::builder("wf");
    let says = FunctionNode::new("says", async |ctx: Context| {
        ctx.emit(Event::message("sending")).await?;
        ctx.step("send", async || Ok(1)).await?;
        Ok::<_, Fail>(())
    });
    let says = wf.add(says.rerun_on_resume(true));
    let next = wf.node("next", async || 5);
    wf.edge(START, says).edge(says, next);
    let sessions = Arc::new(pleach::InMemorySessionService::new());
    let here = Runner::builder("t").root(wf.build().unwrap()).sessions(Arc::clone(&sessions)).resumable(true).build();
    let here = here.unwrap();
    let mut run = here.run("ana", "s1", "go");
    while !run.next().await.unwrap().unwrap().text().contains("sending") {}
    drop(run);
    let status = here.status("s1").await.unwrap();
    assert!(matches!(status.progress, pleach::RunProgress::Unfinished), "{status:?}");
    trace(here.resume("ana", "s1", status.invocation.unwrap())).await;
    let lines = stored(&sessions).await;
    let count = |line: &str| lines.iter().filter(|stored| *stored == line).count();
    assert_eq!((count("wf@1/says@1: says sending"), count("wf@1/says@1/send@step-1: 1")), (2, 1), "{lines:?}");
    // Everything is recorded now, so nothing is left to resume.
    assert!(matches!(here.status("s1").await.unwrap().progress, pleach::RunProgress::Done));
}

#[tokio::test]
async fn a_session_id_of_two_users_must_be_named_with_its_user() {
    let (runner, _) = simple(&Arc::default());
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.run("bob", "s1", "go")).await;
    let lines = trace(runner.answer("s1", "q1", Approval { yes: true }).unwrap()).await;
    assert!(lines[0].contains("ambiguous"), "{lines:?}");
    let lines = trace(runner.answer(("bob", "s1"), "q1", Approval { yes: true }).unwrap()).await;
    assert_eq!(lines, ["wf@1/done@1: true"]);
    let lines = trace(runner.answer("s9", "q1", true).unwrap()).await;
    assert_eq!(
        lines,
        [
            "! SessionNotFoundError: app 't' has no session with the id 's9': check the id, or run `(user, session)` to create one"
        ]
    );
}
