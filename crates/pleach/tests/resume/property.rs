//! The cases: every kind of app, cut off everywhere, in memory and in SQLite.

#[cfg(feature = "sqlite")]
use proptest::strategy::{Strategy, Union};

use crate::cases::check;
use crate::check::{live, resumed};
use crate::flow::{Flow, flow, flow_of_agents};
use crate::host::Host;
use crate::play::Cut;

fn cut_after_every_event(flow: &Flow, host: &Host) {
    let live = live(flow, host, "live".into());
    for events in 1..=live.events.len() {
        resumed(flow, &live, host, format!("cut{events}"), Cut::AfterEvent(events));
    }
}

fn cut_in_every_append(flow: &Flow, host: &Host) {
    let live = live(flow, host, "live".into());
    for appends in 0..live.events.len() {
        for stored in [false, true] {
            resumed(flow, &live, host, format!("cut{appends}{stored}"), Cut::AtAppend { appends, stored });
        }
    }
}

#[test]
fn r1001_r1025_memory_cut_after_every_event() {
    check("memory", 1_200, flow(false), |flow| cut_after_every_event(flow, &Host::memory()));
}

#[test]
fn r1001_r1030_memory_resumable_cut_after_every_event() {
    check("memory, resumable", 500, flow(true), |flow| cut_after_every_event(flow, &Host::memory()));
}

#[test]
fn s14_memory_cut_in_every_append() {
    check("memory, appends", 120, flow(false), |flow| cut_in_every_append(flow, &Host::memory()));
}

#[test]
fn s14_memory_resumable_cut_in_every_append() {
    check("memory, resumable, appends", 80, flow(true), |flow| cut_in_every_append(flow, &Host::memory()));
}

// Issue 12, L120
#[test]
fn l120_memory_agents_cut_after_every_event() {
    check("memory, agents", 40, flow_of_agents(false), |flow| cut_after_every_event(flow, &Host::memory()));
}

#[test]
fn l120_memory_resumable_agents_cut_after_every_event() {
    check("memory, resumable, agents", 30, flow_of_agents(true), |flow| cut_after_every_event(flow, &Host::memory()));
}

#[test]
fn l120_memory_agents_cut_in_every_append() {
    check("memory, agents, appends", 15, flow_of_agents(false), |flow| cut_in_every_append(flow, &Host::memory()));
}

#[cfg(feature = "sqlite")]
#[test]
fn e193_sqlite_cut_after_every_event() {
    check_on_files("sqlite", 100, union(flow(false), flow(true)), cut_after_every_event);
}

#[cfg(feature = "sqlite")]
#[test]
fn l120_sqlite_agents_cut_after_every_event() {
    let flows = union(flow_of_agents(false), flow_of_agents(true));
    check_on_files("sqlite, agents", 20, flows, cut_after_every_event);
}

#[cfg(feature = "sqlite")]
#[test]
fn l120_sqlite_agents_cut_in_every_append() {
    let flows = union(flow_of_agents(false), flow_of_agents(true));
    check_on_files("sqlite, agents, appends", 10, flows, cut_in_every_append);
}

#[cfg(feature = "sqlite")]
fn union(
    one: impl Strategy<Value = Flow> + 'static,
    other: impl Strategy<Value = Flow> + 'static,
) -> impl Strategy<Value = Flow> {
    Union::new([one.boxed(), other.boxed()])
}

/// Cuts flows, each in a database of its own.
#[cfg(feature = "sqlite")]
fn check_on_files(name: &str, cases: u32, flows: impl Strategy<Value = Flow>, cut: impl Fn(&Flow, &Host)) {
    let folder = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    check(name, cases, flows, |flow| {
        count.set(count.get() + 1);
        cut(flow, &Host::file(&folder.path().join(format!("{}.db", count.get()))));
    });
}
