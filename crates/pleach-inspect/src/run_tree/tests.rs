//! Tests of trees. The logs are written as words.

use pleach_context::engine::mark_completed;
use pleach_core::{Content, FunctionResponse, Map, OutputFor, Part, REQUEST_INPUT, RequestInput};
use pleach_session::set_rewind_before_event;
use pleach_workflow::RunStatus;
use serde_json::{Value, json};

use super::*;
use crate::{Fact, invocations};

/// Reads a log of words `TIME:WHAT@PATH`. `out` is an output, `err` a failure, `ask` the question `q`, and `say` a
/// text; `msg` and `ans` come from the user.
fn log(words: &str) -> Vec<Arc<Event>> {
    words.split_whitespace().enumerate().map(|(place, word)| Arc::new(event(place, word))).collect()
}

fn event(place: usize, word: &str) -> Event {
    let (time, rest) = word.split_once(':').unwrap();
    let (what, path) = rest.split_once('@').unwrap_or((rest, ""));
    let response = || FunctionResponse::new("q", REQUEST_INPUT, Map::from_iter([("result".to_owned(), json!("yes"))]));
    let mut event = match what {
        "msg" => Event::from_author("user").with_message("go"),
        "ans" => Event::from_author("user").with_content(Content::new("user", [Part::function_response(response())])),
        "ask" => RequestInput::<Value>::ask("q", "?").into_event("q"),
        "err" => Event::from_author("n").with_error("Flaky", "once"),
        "say" => Event::from_author("n").with_message("hm"),
        _ => {
            let mut event = Event::of(1);
            event.set_output_for(OutputFor::Own);
            event
        }
    };
    event.set_id(format!("e{place}"));
    event.set_invocation_id("i");
    event.set_timestamp(time.parse().unwrap());
    if path.is_empty() { event } else { event.with_node_path(path) }
}

fn tree(words: &str) -> RunTree {
    RunTree::of(&log(words), &"i".into())
}

/// Writes each run as `DEPTH PATH STATUS SECONDS ATTEMPTS`, and what happened to it in each turn.
fn shown(tree: &RunTree) -> Vec<String> {
    let turns = |work: &TurnWork| {
        if work.first == work.last { work.first.to_string() } else { format!("{}-{}", work.first, work.last) }
    };
    let work =
        |run: &NodeRun| run.turns.iter().map(|work| format!("{}{:?}", turns(work), work.work)).collect::<Vec<_>>();
    let line = |run: &NodeRun| {
        format!(
            "{} {} {:?} {} {} {}",
            run.depth,
            run.path,
            run.status,
            run.seconds,
            run.attempts.len(),
            work(run).join(" ")
        )
    };
    tree.runs.iter().map(line).collect()
}

#[test]
fn runs_are_a_tree_with_times_from_the_event_before() {
    let tree = tree("1:msg 2:out@wf@1/a@1 4:out@wf@1/b@1/c@1 7:out@wf@1/b@1/d@1 8:out@wf@1/e@1");
    let expected = [
        "0 wf@1 Started 7 1 1Executed",
        "1 wf@1/a@1 Done 1 1 1Executed",
        "1 wf@1/b@1 Done 5 1 1Executed",
        "2 wf@1/b@1/c@1 Done 2 1 1Executed",
        "2 wf@1/b@1/d@1 Done 3 1 1Executed",
        "1 wf@1/e@1 Done 1 1 1Executed",
    ];
    assert_eq!(shown(&tree), expected);
    assert_eq!((tree.turns.len(), tree.turns[0].message.as_str()), (1, "go"));
}

#[test]
fn failed_attempts_are_listed_with_their_errors() {
    let tree = tree("1:msg 2:err@wf@1/a@1 4:err@wf@1/a@1 7:out@wf@1/a@1");
    let attempts = &tree.run(&"wf@1/a@1".into()).unwrap().attempts;
    let shown: Vec<_> = attempts.iter().map(|try_| (try_.began, try_.ended, try_.error.as_deref())).collect();
    assert_eq!(shown, [(1.0, 2.0, Some("Flaky")), (2.0, 4.0, Some("Flaky")), (4.0, 7.0, None)]);
    let failed = super::RunTree::of(&log("1:msg 2:err@wf@1/a@1"), &"i".into());
    let run = failed.run(&"wf@1/a@1".into()).unwrap();
    assert_eq!((run.status, run.attempts.len()), (RunStatus::Failed, 1));
}

#[test]
fn each_turn_has_executed_answered_replayed_or_left_a_run() {
    let tree = tree("1:msg 2:out@wf@1/a@1 3:ask@wf@1/b@1 4:say@wf@1/x@1 100:ans 101:out@wf@1/c@1 102:ask@wf@1/d@1");
    let expected = [
        "0 wf@1 Waiting 5 1 1Executed 2Executed",
        "1 wf@1/a@1 Done 1 1 1Executed 2Replayed",
        // A node that only asked ends with its answer: the log shows this, because a later run has begun.
        "1 wf@1/b@1 Done 1 1 1Executed 2Answered",
        "1 wf@1/x@1 Done 1 1 1Executed 2Replayed",
        "1 wf@1/c@1 Done 1 1 2Executed",
        "1 wf@1/d@1 Waiting 1 1 2Executed",
    ];
    assert_eq!(shown(&tree), expected);
    assert_eq!(tree.turns[1].answers, ["q"]);
    let asked = tree.run(&"wf@1/b@1".into()).unwrap();
    assert_eq!((asked.output.clone(), asked.answers["q"].clone()), (Some(json!("yes")), json!("yes")));
    assert_eq!(tree.run(&"wf@1/d@1".into()).unwrap().open, ["q"]);
}

#[test]
fn turns_in_which_the_same_happened_to_a_run_are_one_entry() {
    let tree = tree(
        "1:msg 2:out@wf@1/a@1 3:ask@wf@1/b@1 4:msg 5:out@wf@1/c@1 6:msg 7:out@wf@1/d@1 8:ans 9:out@wf@1/e@1 10:msg 11:out@wf@1/b@1",
    );
    let expected = [
        "0 wf@1 Started 6 1 1Executed 2Executed 3Executed 4Executed 5Executed",
        "1 wf@1/a@1 Done 1 1 1Executed 2-5Replayed",
        "1 wf@1/b@1 Done 2 1 1Executed 2-3Waited 4Answered 5Executed",
        "1 wf@1/c@1 Done 1 1 2Executed 3-5Replayed",
        "1 wf@1/d@1 Done 1 1 3Executed 4-5Replayed",
        "1 wf@1/e@1 Done 1 1 4Executed 5Replayed",
    ];
    assert_eq!(shown(&tree), expected);
}

/// A node that asks in a loop: each answer adds a turn, and each round adds a run.
#[test]
fn the_entries_of_a_tree_grow_with_the_events_and_not_with_turns_times_runs() {
    let rounds = 500;
    let round = |number: usize| format!("{number}:ask@wf@1/b@{number} {number}:ans {number}:out@wf@1/c@{number}");
    let words: Vec<String> = (1..=rounds).map(round).collect();
    let tree = tree(&words.join(" "));
    assert_eq!((tree.turns.len(), tree.runs.len()), (rounds + 1, 2 * rounds + 1));
    let entries: usize = tree.runs.iter().map(|run| run.turns.len()).sum();
    assert!(entries <= 7 * rounds, "{entries} entries");
    let json = serde_json::to_string(&tree).unwrap();
    assert!(json.len() < 2_000 * rounds, "{} bytes", json.len());
}

#[test]
fn a_question_that_a_turn_does_not_answer_waits() {
    let tree = tree("1:msg 2:ask@wf@1/b@1 3:msg 4:out@wf@1/c@1");
    let run = tree.run(&"wf@1/b@1".into()).unwrap();
    assert_eq!((run.turns[1].first, run.turns[1].work), (2, Work::Waited));
}

#[test]
fn an_invocation_that_was_undone_is_still_shown() {
    let mut events = log("1:msg 2:out@wf@1/a@1");
    let mut rewind = Event::from_author("user");
    rewind.set_invocation_id("j");
    rewind.actions_mut().set_rewind_before_invocation_id(Some("i".into()));
    events.push(Arc::new(rewind));
    let tree = RunTree::of(&events, &"i".into());
    assert_eq!((tree.effective, tree.runs.len()), (false, 2));
    let listed = crate::invocations(&events);
    let shown: Vec<_> = listed.iter().map(|one| (one.id.as_str(), one.effective, one.status)).collect();
    assert_eq!(shown[0], ("i", false, RunStatus::Done));
}

#[test]
fn an_aborted_invocation_is_named() {
    let mut events = log("1:msg 2:out@wf@1/a@1");
    assert!(!crate::invocations(&events)[0].aborted);
    let mut end = Event::from_author("wf").with_error("INVOCATION_ABORTED", "its client has disconnected");
    end.set_invocation_id("i");
    events.push(Arc::new(end));
    let listed = crate::invocations(&events);
    assert_eq!((listed[0].aborted, listed[0].status), (true, RunStatus::Failed));
}

/// The end of a run without a result, which only a rewind records, belongs to its invocation.
#[test]
fn a_rewind_records_the_ends_of_runs() {
    let mut events = log("0:msg 1:out@wf@1/a@1 2:out@wf@1/c@1");
    let mut rewind = Event::from_author("user");
    rewind.set_id("e3".to_owned());
    rewind.set_invocation_id("r");
    rewind.actions_mut().set_rewind_before_invocation_id(Some("i".to_owned()));
    set_rewind_before_event(&mut rewind, events[2].id());
    mark_completed(&mut rewind, &[NodePath::from("wf@1/b@1")]);
    let fact = Fact::Rewinds { invocation: "i".to_owned(), first: Some("e2".to_owned()) };
    assert_eq!(Fact::of(&rewind), [fact]);
    events.push(Arc::new(rewind));
    let tree = RunTree::of(&events, &"i".into());
    let found: Vec<_> = tree.runs.iter().map(|run| (run.path.as_str(), run.status)).collect();
    let [started, done] = [RunStatus::Started, RunStatus::Done];
    assert_eq!(found, [("wf@1", started), ("wf@1/a@1", done), ("wf@1/b@1", done)]);
    let listed: Vec<_> = invocations(&events).into_iter().map(|one| (one.id.to_string(), one.effective)).collect();
    assert_eq!(listed, [("i".to_owned(), true), ("r".to_owned(), false)]);
}
