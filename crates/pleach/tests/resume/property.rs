//! Draws the cases: every kind of app is cut off at every point, in memory, in SQLite and in Postgres.

#[cfg(any(feature = "sqlite", feature = "postgres"))]
use proptest::strategy::{Strategy, Union};

#[cfg(feature = "postgres")]
use pleach_contract::own_tests::Schema;

use crate::cases::check;
use crate::check::{live, resumed};
use crate::flow::{Flow, flow, flow_of_agents};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::host::Database;
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
    check("memory", 700, flow(false), |flow| cut_after_every_event(flow, &Host::memory()));
}

#[test]
fn r1001_r1030_memory_resumable_cut_after_every_event() {
    check("memory, resumable", 300, flow(true), |flow| cut_after_every_event(flow, &Host::memory()));
}

#[test]
fn s14_memory_cut_in_every_append() {
    check("memory, appends", 120, flow(false), |flow| cut_in_every_append(flow, &Host::memory()));
}

#[test]
fn s14_memory_resumable_cut_in_every_append() {
    check("memory, resumable, appends", 40, flow(true), |flow| cut_in_every_append(flow, &Host::memory()));
}

// L120
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
    check_on_files("sqlite", 40, union(flow(false), flow(true)), cut_after_every_event);
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

#[cfg(feature = "postgres")]
#[test]
fn e193_postgres_cut_after_every_event() {
    check_on_schemas("postgres", 10, union(flow(false), flow(true)), cut_after_every_event);
}

#[cfg(feature = "postgres")]
#[test]
fn s14_postgres_cut_in_every_append() {
    check_on_schemas("postgres, appends", 4, union(flow(false), flow(true)), cut_in_every_append);
}

#[cfg(feature = "postgres")]
#[test]
fn l120_postgres_agents_cut_after_every_event() {
    let flows = union(flow_of_agents(false), flow_of_agents(true));
    check_on_schemas("postgres, agents", 4, flows, cut_after_every_event);
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
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
        let file = folder.path().join(format!("{}.db", count.get()));
        cut(flow, &Host::database(Database::File(file)));
    });
}

/// Cuts flows, each in a schema of its own.
#[cfg(feature = "postgres")]
fn check_on_schemas(name: &str, cases: u32, flows: impl Strategy<Value = Flow>, cut: impl Fn(&Flow, &Host)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if runtime.block_on(Schema::for_test()).is_none() {
        return;
    }
    check(name, cases, flows, |flow| {
        let schema = runtime.block_on(Schema::for_test()).unwrap();
        cut(flow, &Host::database(Database::Server(schema.url())));
    });
}
