//! `pleach sessions trace`: the events of a session, a line each.

use pleach::Event;

use crate::args::One;
use crate::fault::Fault;
use crate::screen::{Screen, printable, short, time};
use crate::store::{load, open};

/// The characters of a text or a value that are shown.
const VALUE: usize = 120;

/// The function whose arguments and answers hold secrets.
const CREDENTIAL: &str = "adk_request_credential";

pub(super) async fn run(one: One, screen: &mut Screen) -> Result<(), Fault> {
    let store = open(&one.store.url).await?;
    for event in &load(&*store, &one).await?.events {
        if screen.is_json {
            screen.value(&**event)?;
        } else {
            screen.line(line(event))?;
        }
    }
    Ok(())
}

/// Returns an event as `TIME  PATH or AUTHOR  what it holds`.
fn line(event: &Event) -> String {
    let by = if event.path().is_root() { event.author() } else { event.path().as_str() };
    let mut parts = Vec::new();
    if !event.text().is_empty() {
        parts.push(format!("says {:?}", short(&event.text(), VALUE)));
    }
    for call in event.function_calls() {
        let name = call.name.as_deref().unwrap_or_default();
        let args = call.args.as_ref().filter(|_| name != CREDENTIAL).map(|args| serde_json::json!(args).to_string());
        parts.push(format!("calls {}({})", printable(name), short(&args.unwrap_or_default(), VALUE)));
    }
    for response in event.function_responses() {
        let name = response.name.as_deref().unwrap_or_default();
        let result = response.response.as_ref().filter(|_| name != CREDENTIAL);
        let result = result.map(|result| serde_json::json!(result).to_string()).unwrap_or_default();
        parts.push(format!("{} answers {}", printable(name), short(&result, VALUE)));
    }
    if let Some(output) = event.output() {
        parts.push(format!("gives {}", short(&output.to_string(), VALUE)));
    }
    if let Some(route) = event.actions().route() {
        parts.push(format!("takes {}", short(&serde_json::json!(route).to_string(), VALUE)));
    }
    for (name, value) in event.actions().state_delta() {
        parts.push(format!("sets {} = {}", printable(name), short(&value.to_string(), VALUE)));
    }
    if let Some(agent) = event.actions().transfer_to_agent() {
        parts.push(format!("transfers to {}", printable(agent)));
    }
    if let Some(code) = event.error_code() {
        let message = event.error_message().unwrap_or_default();
        parts.push(format!("fails with {}: {}", printable(code), short(message, VALUE)));
    }
    if event.actions().end_of_agent() == Some(true) {
        parts.push("ends".to_owned());
    }
    format!("{}  {}  {}", time(event.timestamp()), printable(by), parts.join("; ")).trim_end().to_owned()
}
