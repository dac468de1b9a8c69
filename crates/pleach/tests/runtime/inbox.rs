//! Open questions for people, by session, by user and by app.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{
    FunctionCall, FunctionResponse, InMemorySessionService, ListQuestions, Question, QuestionKind, Session, SessionKey,
    SessionServiceExt, open_questions,
};
use pleach_contract::CountedIds;
use serde_json::{Value, json};

use crate::gated::Gated;
use crate::support::{key, runner, trace};

/// A workflow whose two lanes ask `left` and `right`; `right` wants a number.
fn lanes() -> (Runner, Arc<InMemorySessionService>) {
    let mut wf = Workflow::builder("wf");
    let left = wf.node("l", async || RequestInput::<String>::ask("left", "L?").with_payload("seen"));
    let right = wf.node("r", async || RequestInput::<i64>::ask("right", "R?"));
    let both = wf.join("both", (left, right));
    wf.edge(START, (left, right));
    runner(wf.build_to(both).unwrap())
}

fn ids(questions: &[Question]) -> Vec<&str> {
    questions.iter().map(|question| question.id.as_str()).collect()
}

async fn open(runner: &Runner) -> Vec<String> {
    ids(&runner.questions(("ana", "s1")).await.unwrap()).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn r123_a_question_contains_everything_that_a_person_needs() {
    let (runner, sessions) = lanes();
    trace(runner.run("ana", "s1", "go")).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let questions = runner.questions(("ana", "s1")).await.unwrap();
    assert_eq!(questions, open_questions(&session.events));
    let expected = Question {
        id: "left".into(),
        kind: QuestionKind::UserInput,
        deadline: None,
        default: None,
        select: None,
        function: "adk_request_input".into(),
        message: "L?".into(),
        payload: Some("seen".into()),
        response_schema: Some(json!({"title": "string", "type": "string"})),
        assignee: None,
        node_path: "wf@1/l@1".into(),
        invocation_id: session.events[0].invocation_id().clone(),
        author: "wf".into(),
        asked_at: session.events[1].timestamp(),
    };
    assert_eq!((&questions[0], questions[1].id.as_str(), questions.len()), (&expected, "right", 2));
}

#[tokio::test]
async fn r905_r907_r909_r1141_only_questions_that_an_answer_reaches_are_open() {
    let (runner, sessions) = lanes();
    trace(runner.run("ana", "s1", "go")).await;
    // R904, R907: a refused answer closes nothing.
    trace(runner.answer("s1", "right", "many").unwrap()).await;
    assert_eq!(open(&runner).await, ["left", "right"]);
    trace(runner.answer("s1", "left", "a").unwrap()).await;
    assert_eq!(open(&runner).await, ["right"]);
    // R911, E172: a second invocation asks under the same ids, and the first invocation's question stays open.
    trace(runner.run("ana", "s1", "again")).await;
    let questions = runner.questions(("ana", "s1")).await.unwrap();
    let events = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().events;
    let second = events.last().unwrap().invocation_id().clone();
    assert_eq!(ids(&questions), ["right", "left", "right"]);
    let of_second: Vec<bool> = questions.iter().map(|question| question.invocation_id == second).collect();
    assert_eq!(of_second, [false, true, true]);
    // R1141: after the rewind the first invocation's question is listed again.
    runner.rewind("ana", "s1", &second).await.unwrap();
    assert_eq!(open(&runner).await, ["right"]);
    let joined = runner.answer("s1", "right", 2).unwrap().output::<Value>().await.unwrap();
    assert_eq!(joined, json!({"l": "a", "r": 2}));
    assert_eq!(open(&runner).await, [] as [&str; 0]);
    // E158: an answer to an answered question changes nothing.
    trace(runner.answer("s1", "right", 3).unwrap()).await;
    assert_eq!(open(&runner).await, [] as [&str; 0]);
}

#[tokio::test]
async fn r909_a_question_that_is_asked_again_is_open_again() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<String, NodeError> {
        let first: String = ctx.ask("first", "First?").await?;
        let second: String = ctx.ask("second", "Second?").await?;
        Ok(format!("{first} {second}"))
    });
    let (runner, _) = runner(node.rerun_on_resume(true));
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(open(&runner).await, ["first"]);
    trace(runner.answer("s1", "first", "a").unwrap()).await;
    assert_eq!(open(&runner).await, ["second"]);
    trace(runner.answer("s1", "second", "b").unwrap()).await;
    assert_eq!(open(&runner).await, [] as [&str; 0]);
}

/// Stores an event by hand, as another program or an agent would write it.
async fn store(runner: &Runner, session: &mut Session, author: &str, invocation: &str, part: Part) {
    let mut event = Event::from_author(author).with_content(Content::new("model", [part]));
    event.set_invocation_id(invocation);
    let asked = event.function_calls().find_map(|call| call.id.clone());
    if let Some(id) = asked.filter(|id| ["tool", "sure", "wf_tool_confirmation:w@1"].contains(&id.as_str())) {
        event = event.with_long_running([id]);
    }
    event.set_timestamp(session.last_update_time() + 1.0);
    runner.sessions().append_event(session, event).await.unwrap();
}

fn call(id: &str, name: &str, args: Value) -> Part {
    Part::function_call(FunctionCall::new(id, name, args.as_object().unwrap().clone()))
}

fn response(id: &str, response: Value) -> Part {
    Part::function_response(FunctionResponse::new(id, "", response.as_object().cloned().unwrap_or_default()))
}

#[tokio::test]
async fn r129_r130_r141_r907_r940_every_kind_of_question_of_a_foreign_history_is_listed() {
    use QuestionKind::{Confirmation, Credential, LongRunning, UserInput};
    let (runner, sessions) = lanes();
    let create = pleach::CreateSession::new("t", "ana").with_session_id("s1").with_create_time(5.0);
    let mut session = sessions.create_session(create).await.unwrap();
    let calls = [
        call("tool", "ship", json!({"n": 1})),
        call("sure", "adk_request_confirmation", json!({"toolConfirmation": {"hint": "Pay?"}})),
        call(
            "wf_auth:w@1/n@1",
            "adk_request_credential",
            json!({"authConfig": {"credentialKey": "k"}, "message": "Key?"}),
        ),
        call("wf_tool_confirmation:w@1", "adk_request_input", json!({"message": "Sure?", "payload": 1})),
        call("n", "adk_request_input", json!({"response_schema": {"type": "integer"}})),
        call("plain", "add", json!({})),
    ];
    for part in calls {
        store(&runner, &mut session, "agent", "i1", part).await;
    }
    // The tool's own first response, and an answer that another writer stored although the answer does not fit.
    store(&runner, &mut session, "agent", "i1", response("tool", json!({"status": "pending"}))).await;
    store(&runner, &mut session, "user", "i1", response("n", json!({"result": "many"}))).await;
    let questions = runner.questions(("ana", "s1")).await.unwrap();
    let kinds: Vec<(&str, QuestionKind, &str, f64)> =
        questions.iter().map(|q| (q.id.as_str(), q.kind, q.message.as_str(), q.asked_at)).collect();
    let expected = [
        ("tool", LongRunning, "", 6.0),
        ("sure", Confirmation, "Pay?", 7.0),
        ("wf_auth:w@1/n@1", Credential, "Key?", 8.0),
        ("wf_tool_confirmation:w@1", Confirmation, "Sure?", 9.0),
        ("n", UserInput, "", 10.0),
    ];
    assert_eq!(kinds, expected);
    for id in ["tool", "sure", "wf_auth:w@1/n@1", "wf_tool_confirmation:w@1"] {
        store(&runner, &mut session, "user", "i1", response(id, json!({}))).await;
    }
    store(&runner, &mut session, "user", "i1", response("n", json!({"result": 7}))).await;
    assert_eq!(open(&runner).await, [] as [&str; 0]);
}

#[tokio::test]
async fn r1130_an_aborted_invocation_asks_nothing_any_more() {
    let abort = pleach::AbortSignal::new();
    let stop = abort.clone();
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<i64>::ask("q", "Q?"));
    let stuck = wf.node("stuck", async || std::future::pending::<i64>().await);
    wf.edge(START, (ask, stuck));
    let (runner, _) = runner(wf.build().unwrap());
    let mut run = runner.start(pleach::RunRequest::new(("ana", "s1")).message("go").abort_signal(abort));
    run.next().await.unwrap().unwrap();
    assert_eq!(open(&runner).await, ["q"]);
    stop.abort();
    trace(run).await;
    assert_eq!(open(&runner).await, [] as [&str; 0]);
}

#[tokio::test]
async fn an_inbox_has_every_session_once_in_the_order_asked() {
    let (runner, sessions) = lanes();
    // More sessions than fit on a page of the list, of two users.
    let names: Vec<String> = (0..130).map(|n| format!("s{n}")).collect();
    for name in &names {
        trace(runner.run("ana", name.as_str(), "go")).await;
    }
    trace(runner.run("bob", "s1", "go")).await;
    trace(runner.answer(("ana", "s0"), "left", "x").unwrap()).await;
    trace(runner.answer(("ana", "s0"), "right", 1).unwrap()).await;
    sessions.delete_session(&SessionKey::new("t", "ana", "s5")).await.unwrap();
    let inbox = runner.inbox("ana").await.unwrap();
    let mut left: Vec<&str> = inbox.iter().map(|item| item.session.session_id.as_str()).collect();
    assert_eq!(left.len(), 128 * 2);
    assert!(inbox.windows(2).all(|pair| pair[0].question.asked_at <= pair[1].question.asked_at));
    assert!(inbox.iter().all(|item| item.session.user_id == "ana"));
    left.sort_unstable();
    left.dedup();
    assert_eq!(left.len(), 128);
    let of_all = runner.inbox_of_all_users().await.unwrap();
    assert_eq!(of_all.len(), 129 * 2);
    assert_eq!(of_all.iter().filter(|item| item.session.user_id == "bob").count(), 2);
    // The same list in pages.
    let (mut list, mut paged) = (ListQuestions::new("t").with_limit(100), Vec::new());
    loop {
        let page = runner.inbox_page(list.clone()).await.unwrap();
        assert!(page.items.len() <= 100);
        paged.extend(page.items);
        let Some(next) = page.next else { break };
        list = list.with_after(next);
    }
    assert_eq!(paged, of_all);
    assert_eq!(runner.inbox("eve").await.unwrap(), []);
}

/// Open questions of many sessions are found without loading a session, including those of one assignee.
#[tokio::test]
async fn the_inbox_of_many_sessions_loads_no_session() {
    let ask = async || RequestInput::<bool>::ask("manager", "Refund?").assign_to("team lead");
    let sessions = Gated::new();
    let root = FunctionNode::new("ask", ask);
    let runner = Runner::builder("t").root(root).sessions(sessions.clone()).ids(CountedIds::new()).build().unwrap();
    for number in 0..300 {
        trace(runner.run(format!("user{}", number % 3), format!("s{number}"), "go")).await;
    }
    trace(runner.answer(("user0", "s0"), "manager", true).unwrap()).await;
    // Loading a session panics from here on.
    sessions.before.close();
    assert_eq!(runner.inbox_of_all_users().await.unwrap().len(), 299);
    assert_eq!(runner.inbox("user0").await.unwrap().len(), 99);
    let of_lead = runner.inbox_for("team lead").await.unwrap();
    assert_eq!(of_lead.len(), 299);
    assert!(of_lead.iter().all(|item| item.question.assignee.as_deref() == Some("team lead")));
    assert_eq!(runner.inbox_for("team").await.unwrap(), []);
}

#[tokio::test]
async fn a_session_that_is_not_there_is_named_and_not_created() {
    let (runner, sessions) = lanes();
    let error = runner.questions(("ana", "s1")).await.unwrap_err();
    assert_eq!((error.code(), error.message().as_str()), ("SessionNotFoundError", "session not found: t/ana/s1"));
    assert!(sessions.get_session(&key(), Default::default()).await.unwrap().is_none());
    assert_eq!(
        runner.questions(("ana", "")).await.unwrap_err().to_string(),
        "the session id must not be blank: use at least one visible character"
    );
}

#[tokio::test]
async fn a_payload_is_any_value_with_a_json_form_or_a_reference_to_one() {
    #[derive(serde::Serialize)]
    struct Order {
        number: u32,
        tags: Vec<&'static str>,
    }
    let (order, json) = (Order { number: 7, tags: vec!["new"] }, json!({"number": 7, "tags": ["new"]}));
    let by_value = RequestInput::<bool>::ask("q", "?").with_payload(json.clone());
    for asked in [RequestInput::<bool>::ask("q", "?").with_payload(&order), by_value.clone().with_payload(&json)] {
        assert_eq!((asked.payload.as_ref(), asked.payload_fault()), (Some(&json), None));
    }
    // A later payload replaces one that cannot be shown.
    let asked = by_value.with_payload(f64::NAN);
    assert!(asked.payload_fault().unwrap().contains("NaN"));
    assert_eq!(asked.with_payload(&order).payload_fault(), None);
}
