//! Table tests of the decision of a resume about a recorded run.

use pleach_context::engine::mark_completed;
use pleach_context::{Context, Flow, History};
use pleach_core::{BoxFuture, Content, Event, FunctionResponse, NodePath, OutputFor, Part, RequestInput};
use serde_json::json;

use super::*;

struct Stub(NodeSpec);

impl Node for Stub {
    fn spec(&self) -> &NodeSpec {
        &self.0
    }

    fn run<'a>(&'a self, _: Context, _: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        Box::pin(std::future::ready(Ok(Flow::NOTHING)))
    }
}

const RUN: &str = "wf@1/a@1";

/// Makes an event of the run: an `output`, a `route`, a `message`, an `error`, a question such as `q?`, the answer
/// `q=1`, the note that it is `done`, or the output of a `child` that is also the run's output.
fn event(text: &str) -> Event {
    let event = match text {
        "output" => {
            let mut event = Event::of(1);
            event.set_output_for(OutputFor::Own);
            event
        }
        "route" => Event::new().with_route("left"),
        "message" => Event::message(Content::model("hello")),
        "error" => Event::new().with_error("ValueError", "no"),
        "done" => {
            let mut event = Event::from_author("wf");
            mark_completed(&mut event, &[NodePath::from(RUN)]);
            return event;
        }
        "child" => {
            let mut event = Event::of(2).with_node_path(format!("{RUN}/b@1").as_str());
            let paths = [event.path().clone(), NodePath::from(RUN)];
            event.set_output_for(OutputFor::Paths(Box::new(paths)));
            return event;
        }
        text => match text.split_once('=') {
            Some((id, answer)) => {
                let result = Map::from_iter([("result".to_owned(), json!(answer))]);
                let part = Part::function_response(FunctionResponse::new(id, "adk_request_input", result));
                return Event::from_author("user").with_content(Content::new("user", [part]));
            }
            None => RequestInput::<Value>::new().into_event(text.trim_end_matches('?')),
        },
    };
    event.with_node_path(RUN)
}

fn history(events: &str) -> History {
    let events: Vec<Arc<Event>> = events.split_whitespace().map(|text| Arc::new(event(text))).collect();
    History::of(&events.iter().collect::<Vec<_>>())
}

fn decided(spec: NodeSpec, events: &str, dynamic: bool) -> String {
    let history = history(events);
    let record = history.run(&NodePath::from(RUN)).unwrap();
    let rules = ReplayRules::of(&spec);
    match decide(&Stub(spec), rules, rules.state_of(record, dynamic, false), record).unwrap() {
        Decision::Run(None) => "run".to_owned(),
        Decision::Run(Some(answers)) => format!("run with {}", Value::Object((*answers).clone())),
        Decision::Replay(NodeEnd::Interrupted(ids)) => format!("waits for {}", ids.join(" ")),
        Decision::Replay(NodeEnd::Waiting) => "waits for more".to_owned(),
        Decision::Replay(NodeEnd::Done(NodeResult { output, route, .. })) => match route {
            None => output.to_value().to_string(),
            Some(route) => format!("{} on {}", output.to_value(), json!(route)),
        },
    }
}

fn plain() -> NodeSpec {
    NodeSpec::new("a")
}

fn reruns() -> NodeSpec {
    plain().rerun_on_resume(true)
}

fn waits() -> NodeSpec {
    let mut spec = plain();
    spec.wait_for_output = true;
    spec
}

fn always_gives() -> NodeSpec {
    let mut spec = plain();
    spec.always_gives = true;
    spec
}

#[test]
fn r1010_what_a_resume_does_with_a_recorded_run_of_a_graph_node() {
    let workflow = || plain().kind(NodeKind::Workflow);
    for (spec, events, wanted) in [
        (plain(), "output", "1"),
        (plain(), "route", r#"null on "left""#),
        (plain(), "output route", r#"1 on "left""#),
        (plain(), "message", "null"),
        (plain(), "error", "run"),
        (plain(), "error output", "1"),
        (plain(), "output error", "run"),
        (plain(), "message done", "null"),
        (plain(), "q?", "waits for q"),
        (plain(), "q? p?", "waits for p q"),
        (plain(), "q? p? q=x", "waits for p"),
        (plain(), "q? q=x", r#""x""#),
        (plain(), "q? p? q=x p=y", r#"{"p":"y","q":"x"}"#),
        (plain(), "route q? q=x", r#""x" on "left""#),
        (reruns(), "message", "null"),
        (reruns(), "q?", "waits for q"),
        (reruns(), "q? q=x", r#"run with {"q":"x"}"#),
        (reruns(), "q? p? q=x", r#"run with {"q":"x"}"#),
        (reruns(), "q? q=x output", "1"),
        (reruns(), "route q? q=x", r#"run with {"q":"x"}"#),
        (reruns(), "route q? q=x done", "null"),
        (reruns(), "child", "run"),
        (plain(), "child", "2"),
        (waits(), "output", "1"),
        (waits(), "route", r#"null on "left""#),
        (waits(), "message", "run"),
        (waits(), "message done", "waits for more"),
        (always_gives(), "message", "run"),
        (always_gives(), "message done", "null"),
        (workflow(), "output", "run"),
        (workflow(), "q?", "run"),
    ] {
        let name = format!("{events}, {:?}", ReplayRules::of(&spec));
        assert_eq!(decided(spec, events, false), wanted, "{name}");
    }
}

#[test]
fn r1010_a_dynamic_run_without_a_result_runs_again_unless_it_reruns_and_has_finished() {
    for (spec, events, wanted) in [
        (plain(), "output", "1"),
        (plain(), "message", "run"),
        (plain(), "message done", "null"),
        (plain(), "child", "2"),
        (reruns(), "message", "null"),
        (waits(), "message", "run"),
        (plain(), "q?", "waits for q"),
        (plain(), "q? q=x", r#""x""#),
    ] {
        let name = format!("{events}, {:?}", ReplayRules::of(&spec));
        assert_eq!(decided(spec, events, true), wanted, "{name}");
    }
}

#[test]
fn r706_a_run_that_is_known_to_have_continued_after_its_delegate_is_complete() {
    let history = history("child");
    let record = history.run(&NodePath::from(RUN)).unwrap();
    let rules = ReplayRules::of(&reruns());
    assert_eq!(rules.state_of(record, false, false), ReplayState::ToRun);
    assert_eq!(rules.state_if_continued(record, false), ReplayState::Completed);
}
