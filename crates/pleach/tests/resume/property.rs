//! The cases: every kind of app, cut off everywhere, in memory and in SQLite.

use crate::cases::check;
use crate::check::{live, resumed};
use crate::flow::{Flow, flow};
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

#[cfg(feature = "sqlite")]
#[test]
fn e193_sqlite_cut_after_every_event() {
    let folder = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    let kinds = proptest::strategy::Union::new([
        proptest::strategy::Strategy::boxed(flow(false)),
        proptest::strategy::Strategy::boxed(flow(true)),
    ]);
    check("sqlite", 100, kinds, |flow| {
        count.set(count.get() + 1);
        cut_after_every_event(flow, &Host::file(&folder.path().join(format!("{}.db", count.get()))));
    });
}
