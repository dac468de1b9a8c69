//! `pleach sessions redact`: removes values from an event.

use pleach::{Redaction, SessionServiceExt as _, to_camel};
use serde_json::json;

use super::confirm::confirms;
use crate::args::Redact;
use crate::fault::Fault;
use crate::screen::{Screen, printable};
use crate::store::{find, open};

pub(super) async fn run(args: Redact, screen: &mut Screen) -> Result<(), Fault> {
    let store = open(&args.one.store).await?;
    let key = find(&*store, &args.one).await?;
    let (event, name) = (printable(&args.event), printable(&key.to_string()));
    let question = format!("Remove {} from event {event} of session {name}?", printable(&args.paths.join(", ")));
    if !args.yes && !confirms(&question)? {
        return Err(Fault::Unconfirmed { what: "redacted" });
    }
    let redaction = Redaction::new(args.paths, args.reason);
    let redacted = store.redact(&key, &args.event.into(), &redaction).await?;
    if screen.is_json {
        let redacted = to_camel(&*redacted).map_err(std::io::Error::from)?;
        return screen.value(&json!({ "redacted": redacted }));
    }
    screen.line(format_args!("event {event} of session {name} was redacted"))
}
