//! Table tests of the order in which ends are handled.

use std::sync::Arc;
use std::task::Waker;

use pleach_context::engine::{EventQueue, Ticket};
use pleach_core::Event;

use super::*;
use crate::engine::CompletionOrder;

fn tickets() -> Vec<Ticket> {
    let queue = EventQueue::default();
    (0..10).map(|_| queue.push(Arc::new(Event::new()), Waker::noop().clone())).collect()
}

fn executed(event: Ticket, own: bool, seq: u64, end: &'static str) -> Executed<&'static str> {
    Executed { order: CompletionOrder::at(event, own), seq, end }
}

fn ends(history: &[u32]) -> Ends<&'static str, &'static str> {
    Ends::new(history.to_vec())
}

enum Step {
    /// The run with this start number ended at this event: its own, or the next one of the invocation.
    Ended(usize, bool, u64, &'static str),
    /// History answers a run that completed at this time.
    Replayed(u32, &'static str),
    /// A run waits for a person.
    Waits(&'static str),
    /// A nested workflow starts; it may have completed at this time.
    Nested(&'static str, u32),
    /// A nested workflow executes something.
    Executes(&'static str),
    /// A nested workflow ended without executing anything: whether it completed, and the expected original time.
    Settles(&'static str, bool, Option<u32>),
    /// The ends that are handled next.
    Takes(&'static [&'static str]),
}

use Step::*;

struct Row(&'static str, &'static [u32], &'static [Step]);

const OWN: bool = true;
const ROWS: &[Row] = &[
    Row(
        "live: the order of events, whatever the order of the ends",
        &[],
        &[Ended(3, OWN, 0, "a"), Ended(1, OWN, 1, "b"), Ended(2, OWN, 2, "c"), Takes(&["b", "c", "a"])],
    ),
    Row(
        "live: a run without an event comes before the one that sends the next",
        &[],
        &[Ended(1, OWN, 0, "a"), Ended(1, !OWN, 1, "b"), Takes(&["b", "a"])],
    ),
    Row(
        "live: at the same event in the order of starts",
        &[],
        &[Ended(1, !OWN, 2, "c"), Ended(1, !OWN, 0, "a"), Ended(1, !OWN, 1, "b"), Takes(&["a", "b", "c"])],
    ),
    Row("live: questions first", &[], &[Ended(1, OWN, 0, "a"), Waits("b"), Takes(&["b"]), Takes(&["a"])]),
    Row(
        "resume: the order of history, one at a time",
        &[3, 5, 7],
        &[
            Replayed(7, "c"),
            Takes(&[]),
            Replayed(3, "a"),
            Takes(&["a"]),
            Takes(&[]),
            Replayed(5, "b"),
            Takes(&["b"]),
            Takes(&["c"]),
        ],
    ),
    Row(
        "resume: what history knows comes before what is executed in the same moment",
        &[3],
        &[Ended(1, OWN, 0, "x"), Replayed(3, "a"), Takes(&["a"]), Takes(&["x"])],
    ),
    Row(
        "resume: executed ones come one at a time while history has more: what they lead to may come first",
        &[3],
        &[Ended(2, OWN, 0, "y"), Ended(1, OWN, 1, "x"), Takes(&["x"]), Replayed(3, "a"), Takes(&["a"]), Takes(&["y"])],
    ),
    Row(
        "resume: no executed run is handled before a nested workflow has shown whether it had completed",
        &[3],
        &[
            Nested("w", 3),
            Ended(1, OWN, 0, "x"),
            Takes(&[]),
            Settles("w", true, Some(3)),
            Replayed(3, "w"),
            Takes(&["w"]),
            Takes(&["x"]),
        ],
    ),
    Row(
        "resume: a nested workflow that executes something is not waited for",
        &[3, 5],
        &[Nested("w", 3), Replayed(5, "b"), Takes(&[]), Executes("w"), Takes(&["b"]), Settles("w", true, None)],
    ),
    Row(
        "resume: nor one that ends without completing",
        &[3, 5],
        &[Nested("w", 3), Replayed(5, "b"), Takes(&[]), Settles("w", false, None), Takes(&["b"])],
    ),
];

#[test]
fn r629_r1020_ends_are_handled_in_an_order_that_a_replay_repeats() {
    let tickets = tickets();
    for Row(rule, history, steps) in ROWS {
        let mut ends = ends(history);
        for (place, step) in steps.iter().enumerate() {
            match *step {
                Ended(event, own, seq, name) => ends.executed(executed(tickets[event], own, seq, name)),
                Replayed(time, name) => ends.replayed(time, name),
                Waits(name) => ends.waiting(name),
                Nested(path, time) => ends.nested(path.into(), time),
                Executes(path) => ends.executes(&path.into()),
                Settles(path, completes, time) => {
                    assert_eq!(ends.nested_ended(&path.into(), completes), time, "{rule}: step {place}");
                }
                Takes(names) => {
                    assert_eq!(ends.is_due(), !names.is_empty(), "{rule}: step {place}");
                    assert_eq!(ends.choose(), !names.is_empty(), "{rule}: step {place}");
                    let taken: Vec<_> = std::iter::from_fn(|| ends.next_chosen()).collect();
                    assert_eq!(taken, names, "{rule}: step {place}");
                }
            }
        }
    }
}

#[test]
fn r1020_a_run_is_passed_at_once_only_when_it_comes_next() {
    let mut ends = ends(&[3, 5]);
    assert!(!ends.pass_next(5), "another one comes before it");
    assert!(ends.pass_next(3));
    ends.waiting("q");
    assert!(!ends.pass_next(5), "a question is handled first");
    assert!(ends.choose() && ends.next_chosen() == Some("q"));
    assert!(ends.pass_next(5) && !ends.is_replaying());
}

#[test]
fn r1020_a_held_end_names_the_time_it_waits_for() {
    let mut ends = ends(&[3, 5]);
    assert_eq!(ends.stuck_at(), None, "nothing is held");
    ends.replayed(5, "b");
    assert_eq!(ends.stuck_at(), Some(3));
}

#[test]
fn r640_the_remaining_ends_come_in_order_although_history_has_more() {
    let tickets = tickets();
    let mut ends = ends(&[3]);
    ends.executed(executed(tickets[2], OWN, 0, "b"));
    ends.executed(executed(tickets[1], OWN, 1, "a"));
    assert_eq!(ends.rest(), ["a", "b"]);
}

#[test]
fn r629_runs_that_end_together_are_ordered_with_those_that_ended_before() {
    let tickets = tickets();
    let run = |event: usize, name| executed(tickets[event], OWN, 0, name);
    let mut ends = ends(&[]);
    let mut batch = vec![run(4, "d"), run(2, "b")];
    ends.all_executed(&mut batch);
    batch.extend([run(3, "c"), run(1, "a")]);
    ends.all_executed(&mut batch);
    assert!(batch.is_empty() && ends.choose());
    assert_eq!(std::iter::from_fn(|| ends.next_chosen()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
}
