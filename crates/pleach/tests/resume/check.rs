//! The property: a run that is cut off and resumed equals a run that was not cut off.
//!
//! The rules in detail:
//! - The output and the state at the end are the same.
//! - Every node run has the same single output: nothing is lost or doubled.
//! - A node run whose output is stored does not begin again, even if the app is not resumable. This includes a resume
//!   of the finished invocation. Such a resume stores nothing; in a resumable app it may store echoes and end marks.
//! - Whenever the person is asked, the open questions equal the questions of the run that was not cut off. There is one
//!   exception: a node that was cut off between several questions asks the remaining ones later.
//!
//! Some nodes may run again: nodes without an event, nodes that wait for their output, nodes that were cut off, and
//! nodes without a result that ask or run other nodes.
// R1025, R1010, R1031, R909, R1011

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use pleach::{Content, Event};
use serde_json::Value;

use crate::bodies::stable;
use crate::flow::{Asks, Block, Flow, Tail, Task, Work};
use crate::host::Host;
use crate::model::{line, own};
use crate::play::{Cut, Play};
use crate::record::{answers, asked, called, deeds, finished, open, results, results_by_node};
use crate::tree::Agent;
use crate::world::Counts;
use crate::world::World;

/// The run that is not cut off.
pub(crate) struct Live {
    pub(crate) output: Value,
    pub(crate) events: Vec<Arc<Event>>,
    state: Value,
    idle: Vec<BTreeSet<String>>,
    world: World,
}

pub(crate) fn live(flow: &Flow, host: &Host, app: String) -> Live {
    let mut play = Play::new(flow, host, app);
    let output = play.start(None).unwrap();
    let session = play.stored().unwrap();
    assert_same_events(&session.events, &play.seen);
    assert_once(&session.events);
    assert!(open(&session.events).is_empty(), "a question is left open");
    let state = Value::Object(session.state);
    let starts = play.starts();
    finish_again(flow, &mut play, &output, &starts, &session.events);
    Live { output, events: session.events, state, idle: play.idle, world: play.world }
}

/// Cuts the run off, resumes it and compares.
pub(crate) fn resumed(flow: &Flow, live: &Live, host: &Host, app: String, cut: Cut) {
    let compared = catch_unwind(AssertUnwindSafe(|| compared(flow, live, host, app, cut)));
    if let Err(panic) = compared {
        eprintln!("cut {cut:?}");
        resume_unwind(panic);
    }
}

fn compared(flow: &Flow, live: &Live, host: &Host, app: String, cut: Cut) {
    let mut play = Play::new(flow, host, app);
    let ended = play.start(Some(cut));
    let Some(before) = play.stored() else {
        assert!(ended.is_none() && play.starts().is_empty(), "nothing is stored, so nothing may have run");
        return;
    };
    if matches!(cut, Cut::AfterEvent(_)) {
        assert_same_events(&before.events, &play.seen);
    } else {
        play.seen = before.events.clone();
    }
    if ended.is_some() || before.events.is_empty() {
        return;
    }
    let (starts, calls) = (play.starts(), play.world.calls());
    let done = finished(&before.events);
    let turn = answers(&before.events);
    play.idle.clear();
    let output = play.resume();
    let session = play.stored().unwrap();
    assert_same_events(&session.events, &play.seen);
    assert_once(&session.events);
    assert!(open(&session.events).is_empty(), "a question is left open");
    assert_not_again(&done, &starts, &play.starts());
    compare(flow, live, &session.events, &output);
    assert_eq!(Value::Object(session.state), live.state, "the state");
    compare_agents(flow, live, &session.events, &play.world, &before.events, &calls);
    compare_questions(flow, live, &play.idle, turn);
}

fn compare(flow: &Flow, live: &Live, events: &[Arc<Event>], output: &Value) {
    assert_eq!(asked(events), asked(&live.events), "the questions");
    if matches!(flow.tail, Tail::None) {
        assert_eq!(*output, live.output, "the output");
        let results = |events| -> BTreeMap<String, Vec<Value>> {
            results(events).into_iter().map(|(path, outputs)| (stable(&path), outputs)).collect()
        };
        assert_eq!(results(events), results(&live.events), "the results of the runs");
    } else {
        // If lanes meet in an ordinary node, another lane may reach it first.
        assert_eq!(results_by_node(events), results_by_node(&live.events), "the results of the nodes");
        assert_eq!(output.is_null(), live.output.is_null(), "the output");
    }
}

/// Compares the actions of the agents: their texts, their changes, the requests to their models and the calls of their tools.
/// Calls of tools and models that were cut off may be made twice. If the calls of a batch run at the same time, a cut
/// affects several of them.
// L120
fn compare_agents(
    flow: &Flow,
    live: &Live,
    events: &[Arc<Event>],
    world: &World,
    before: &[Arc<Event>],
    calls_before: &Counts,
) {
    assert_eq!(deeds(events), deeds(&live.events), "what the agents have done");
    let (calls, expected) = (world.calls(), live.world.calls());
    assert_eq!(calls.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "the calls of tools");
    // If a late result replaces a status, the model may use a key again.
    for key in called(before).into_iter().filter(|key| expected[key] == 1) {
        assert_eq!(calls_before.get(&key), calls.get(&key), "{key} had its result and is called again");
    }
    // Each failure cuts off its parallel calls.
    let fails = agents(flow).iter().any(|agent| agent.fails()) || world.has_failed();
    for (key, count) in &calls {
        assert!(fails || *count <= expected[key] + 1, "{key} is called {count} times");
    }
    let is_ordered = is_ordered(flow);
    let (asked, expected) = (requests(world, is_ordered), requests(&live.world, is_ordered));
    assert_eq!(asked.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "the requests");
    for (request, count) in &asked {
        assert!(fails || *count <= 2 * expected[request], "asked {count} times: {request}");
    }
}

/// The requests to the models, with their numbers.
fn requests(world: &World, is_ordered: bool) -> Counts {
    let mut requests = Counts::new();
    for (agent, request) in world.requests() {
        let contents: Vec<&Content> = request.contents.iter().map(|content| &**content).collect();
        let text = if is_ordered { contents.iter().map(|content| line(content)).collect() } else { own(&contents) };
        let config = stable(&serde_json::to_string(&request.config).unwrap());
        *requests.entry(format!("{agent}: {text}{config}")).or_default() += 1;
    }
    requests
}

/// Returns true if every conversation has only one possible order. This needs two conditions: nothing that an agent
/// sees happens in parallel, and nothing fails, because after a failure it depends on chance which responses of the
/// batch are stored together.
fn is_ordered(flow: &Flow) -> bool {
    !agents(flow).iter().any(|agent| agent.is_parallel() || agent.fails()) && flow.agent.is_some()
}

/// The topmost agents of a case.
fn agents(flow: &Flow) -> Vec<&Agent> {
    fn of<'a>(block: &'a Block, found: &mut Vec<&'a Agent>) {
        match block {
            Block::Task(Task { work: Work::Agent(agent), .. }) => found.push(agent),
            Block::Task(_) => {}
            Block::Loop { body: blocks, .. } | Block::Nested { blocks, .. } => {
                blocks.iter().for_each(|block| of(block, found))
            }
            Block::Fork(lanes) | Block::Choice { lanes, .. } => {
                lanes.iter().flatten().for_each(|block| of(block, found))
            }
        }
    }
    let mut found: Vec<&Agent> = flow.agent.iter().collect();
    flow.blocks.iter().for_each(|block| of(block, &mut found));
    found
}

/// Checks that the open questions are the same each time the run waits, unless a node was cut off between its questions.
fn compare_questions(flow: &Flow, live: &Live, idle: &[BTreeSet<String>], turn: usize) {
    if asks_several(flow) {
        return;
    }
    let expected = &live.idle[turn..];
    assert_eq!(idle, expected, "the open questions, turn by turn from turn {turn} on");
}

fn assert_same_events(stored: &[Arc<Event>], seen: &[Arc<Event>]) {
    let ids = |events: &[Arc<Event>]| events.iter().map(|event| event.id().clone()).collect::<Vec<_>>();
    assert_eq!(ids(stored), ids(seen), "the stored events are the events that were handed out");
}

/// Checks that no node run has two outputs.
fn assert_once(events: &[Arc<Event>]) {
    for (path, outputs) in results(events) {
        assert_eq!(outputs.len(), 1, "{path} has the outputs {outputs:?}");
    }
}

fn assert_not_again(done: &BTreeSet<String>, before: &Counts, after: &Counts) {
    for path in done {
        assert_eq!(before.get(path), after.get(path), "{path} was finished and ran again");
    }
}

/// Checks that a resume of a complete invocation runs no finished node again.
fn finish_again(flow: &Flow, play: &mut Play<'_>, output: &Value, starts: &Counts, events: &[Arc<Event>]) {
    let done = finished(events);
    let idle = play.idle.len();
    let (again, more) = play.resume_once_more();
    assert_not_again(&done, starts, &play.starts());
    assert_eq!(play.idle.len(), idle, "nothing is asked again");
    assert_eq!(again.is_null(), output.is_null());
    if matches!(flow.tail, Tail::None) {
        assert_eq!(again, *output, "the output of a finished run");
    }
    for event in more {
        let repeats = event.output().is_some() && !event.is_output_for(event.path());
        let marks = event.path().is_root() && event.output().is_none();
        assert!(flow.resumable && (repeats || marks) || is_quiet(&event), "a finished run yields {event:?}");
    }
}

/// Returns true if the event only changes state. A node that writes such events yields one in each round.
fn is_quiet(event: &Event) -> bool {
    event.output().is_none() && !event.actions().state_delta().is_empty()
}

pub(crate) fn asks_several(flow: &Flow) -> bool {
    let tail = match &flow.tail {
        Tail::None => [].iter(),
        Tail::Merge(lanes) | Tail::Filter(lanes) => lanes.iter(),
    };
    flow.blocks.iter().any(block_asks_several) || tail.into_iter().any(task_asks_several)
}

fn block_asks_several(block: &Block) -> bool {
    match block {
        Block::Task(task) => task_asks_several(task),
        Block::Loop { body: blocks, .. } | Block::Nested { blocks, .. } => blocks.iter().any(block_asks_several),
        Block::Fork(lanes) | Block::Choice { lanes, .. } => lanes.iter().flatten().any(block_asks_several),
    }
}

/// Returns true if a task may be cut off between several questions, including questions of its parts.
fn task_asks_several(task: &Task) -> bool {
    match &task.work {
        Work::Questions { count, how, .. } => *count > 1 && !matches!(how, Asks::OneByOne),
        Work::Worker { .. } | Work::Parent { .. } => true,
        _ => false,
    }
}
