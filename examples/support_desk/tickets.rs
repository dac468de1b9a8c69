//! Reads tickets: one JSON object per line. If a ticket is faulty, the error names the file, line and field, and no
//! ticket is returned.

use std::collections::HashMap;
use std::io::Read as _;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::args::Source;
use crate::fault::Fault;

/// The tickets that come with the program.
const SHIPPED: &str = include_str!("tickets.jsonl");

/// A customer's request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ticket {
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) text: String,
    /// The number of the order that the ticket is about, if any.
    pub(crate) order: Option<u32>,
}

/// Reads and checks all tickets.
pub(crate) fn read(source: &Source) -> Result<Vec<Ticket>, Fault> {
    let mut bytes = Vec::new();
    let (name, read) = match source {
        Source::Shipped => return parse("tickets.jsonl", SHIPPED.as_bytes()),
        Source::Stdin => ("standard input".to_owned(), std::io::stdin().lock().read_to_end(&mut bytes)),
        Source::File(path) => {
            let read = std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
            (path.display().to_string(), read)
        }
    };
    match read {
        Ok(_) => parse(&name, &bytes),
        Err(source) => Err(Fault::Unreadable { name, source }),
    }
}

fn parse(name: &str, bytes: &[u8]) -> Result<Vec<Ticket>, Fault> {
    let mut tickets: Vec<Ticket> = Vec::new();
    let mut lines = HashMap::new();
    for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        let bad = |reason| Fault::Ticket { name: name.to_owned(), line, reason };
        let ticket = ticket(text).map_err(bad)?;
        // A session is identified by user and ticket, so two tickets with the same id would share a conversation.
        if let Some(first) = lines.insert(ticket.id.clone(), line) {
            return Err(bad(format!("field `id`: {} is already in line {first}", ticket.id)));
        }
        tickets.push(ticket);
    }
    if tickets.is_empty() {
        return Err(Fault::NoTickets { name: name.to_owned() });
    }
    Ok(tickets)
}

/// Reads one line field by field, because serde alone would not name the faulty field.
fn ticket(line: &[u8]) -> Result<Ticket, String> {
    let line: Value = serde_json::from_slice(line).map_err(|error| {
        // The error's position is relative to this one line.
        let place = format!(" at line {} column {}", error.line(), error.column());
        format!("column {}: {}", error.column(), error.to_string().replace(&place, ""))
    })?;
    let Value::Object(mut fields) = line else { return Err("no JSON object".to_owned()) };
    let ticket = Ticket {
        id: name(&mut fields, "id")?,
        user: name(&mut fields, "user")?,
        text: text(&mut fields, "text")?,
        order: fields.remove("order").map_or(Ok(None), |value| typed("order", value))?,
    };
    match fields.keys().next() {
        Some(unknown) => Err(format!("field `{unknown}` is unknown")),
        None => Ok(ticket),
    }
}

fn typed<T: DeserializeOwned>(field: &str, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("field `{field}`: {error}"))
}

fn text(fields: &mut Map<String, Value>, field: &str) -> Result<String, String> {
    let value = fields.remove(field).ok_or_else(|| format!("field `{field}` is missing"))?;
    let text: String = typed(field, value)?;
    if text.trim().is_empty() {
        return Err(format!("field `{field}` is empty"));
    }
    // No session service stores this character, so the ticket would be refused when other tickets are already done.
    if text.contains('\0') {
        return Err(format!("field `{field}` has a NUL character"));
    }
    Ok(text)
}

/// Reads a text that needs no quoting on a command line.
fn name(fields: &mut Map<String, Value>, field: &str) -> Result<String, String> {
    let name = text(fields, field)?;
    let fits = |c: char| c.is_alphanumeric() || "-_.@".contains(c);
    if name.chars().all(fits) {
        Ok(name)
    } else {
        Err(format!("field `{field}`: only letters, digits and - _ . @ are allowed, not {name:?}"))
    }
}
