//! Tests of processes that are killed or shut down.

use std::io::Read as _;

use serde_json::json;

use crate::backend::{Backend, Place};
use crate::client::{ANA, Sent};
use crate::program::Program;

/// Options with which the bank takes longer to confirm a payment than any test lasts.
const FOREVER: [&str; 2] = ["--bank-delay", "86400"];

/// Submits a small expense, and waits until the bank has made its payment.
fn submit_and_pay(place: &Place, program: &Program) {
    let reply = program.send("POST", ANA, &json!({"cents": 1200, "purpose": "a pen"}));
    assert!(reply.starts_with("HTTP/1.0 202"), "{reply}");
    while place.payments() == 0 {
        assert!(program.send("GET", "/health", &json!({})).contains("200 OK"));
    }
}

fn is_paid(event: &Sent) -> bool {
    event.data["outcome"]["result"] == "paid"
}

/// The payment is made, the process is killed before its result is stored, and the next process finishes it.
pub(crate) async fn a_payment_that_a_kill_cuts_off_is_made_once(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let first = Program::start(&place, &FOREVER);
    submit_and_pay(&place, &first);
    first.kill();
    let next = Program::start(&place, &[]);
    drop(next.read_events(&format!("{ANA}/e1/events"), is_paid));
    assert_eq!(place.payments(), 1);
    let status = next.send("GET", &format!("{ANA}/e1"), &json!({}));
    assert!(status.contains(r#""progress":"done""#), "{status}");
}

pub(crate) async fn a_service_that_ends_lets_its_payments_finish(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let program = Program::start(&place, &["--bank-delay", "1"]);
    submit_and_pay(&place, &program);
    program.terminate();
    program.finish();
    // The payment must be done, because this process could not make it.
    let next = Program::start(&place, &FOREVER);
    let status = next.send("GET", &format!("{ANA}/e1"), &json!({}));
    assert!(status.contains(r#""progress":"done""#), "{status}");
    assert_eq!(place.payments(), 1);
}

pub(crate) async fn a_payment_that_outlasts_the_drain_continues_in_the_next_process(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let program = Program::start(&place, &["--bank-delay", "86400", "--drain", "0"]);
    submit_and_pay(&place, &program);
    let mut events = program.read_events(&format!("{ANA}/e1/events"), |event| event.node() == "check");
    program.terminate();
    let mut rest = String::new();
    // The stream ends with the service, or is cut off with its connection.
    events.read_to_string(&mut rest).ok();
    program.finish();
    let next = Program::start(&place, &[]);
    drop(next.read_events(&format!("{ANA}/e1/events"), is_paid));
    assert_eq!(place.payments(), 1);
}
