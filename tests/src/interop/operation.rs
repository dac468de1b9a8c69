//! The file of `interop load`: a JSON array of operations on sessions.

use anyhow::{Context as _, ensure};
use pleach::{Event, Map, SessionKey};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One operation of a file.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum Operation {
    /// Creates a session.
    Create {
        /// The session's app.
        app: String,
        /// The session's user.
        user: String,
        /// The id with which the service is asked to create the session.
        id: String,
        /// The initial state with its scope prefixes.
        #[serde(default)]
        state: Option<Map>,
    },
    /// Appends an event.
    Append {
        /// The session's app.
        app: String,
        /// The session's user.
        user: String,
        /// The session's id.
        id: String,
        /// The event, with its own time.
        #[serde(deserialize_with = "timed")]
        event: Box<Event>,
    },
    /// Deletes a session.
    Delete {
        /// The session's app.
        app: String,
        /// The session's user.
        user: String,
        /// The session's id.
        id: String,
    },
}

impl Operation {
    /// The name of the operation in the file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Append { .. } => "append",
            Self::Delete { .. } => "delete",
        }
    }

    /// The key of the operation's session, as in the file.
    pub fn key(&self) -> SessionKey {
        let (Self::Create { app, user, id, .. } | Self::Append { app, user, id, .. } | Self::Delete { app, user, id }) =
            self;
        SessionKey::new(app.as_str(), user.as_str(), id.as_str())
    }
}

/// Reads a whole file, so a mistake at its end is found before anything is written.
///
/// # Errors
/// A value is not an operation. The text has its number, counted from 0.
pub fn read_operations(text: &str) -> anyhow::Result<Vec<Operation>> {
    let list: Vec<Value> = serde_json::from_str(text).context("this is not a JSON array of operations")?;
    let operations = list.into_iter().enumerate();
    operations.map(|(number, value)| read(value).with_context(|| format!("operation {number}"))).collect()
}

fn read(value: Value) -> anyhow::Result<Operation> {
    ensure!(value["op"] != "sql", "`sql` changes one layout's tables directly, which is not played");
    Ok(serde_json::from_value(value)?)
}

/// Refuses an event without a time. It would get the current time, and every run would write another database.
fn timed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Event>, D::Error> {
    let event = Value::deserialize(deserializer)?;
    if event["timestamp"].is_null() {
        return Err(D::Error::custom("the event has no `timestamp`"));
    }
    serde_json::from_value(event).map_err(|error| D::Error::custom(format_args!("event: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(operation: &str) -> String {
        let delete = r#"{"op": "delete", "app": "a", "user": "u", "id": "s"}"#;
        format!("{:#}", read_operations(&format!("[{delete}, {operation}]")).unwrap_err())
    }

    #[test]
    fn mistakes_are_named_by_number() {
        for (operation, expected) in [
            (r#"{"op": "sql", "backends": [], "sql": ""}"#, "operation 1: `sql` changes"),
            (r#"{"op": "drop"}"#, "operation 1: unknown variant `drop`"),
            (r#"{"app": "a"}"#, "operation 1: missing field `op`"),
            (r#"{"op": "delete", "app": "a", "user": "u", "id": "s", "state": {}}"#, "unknown field `state`"),
            (r#"{"op": "create", "app": "a", "user": "u"}"#, "operation 1: missing field `id`"),
            (r#"{"op": "append", "app": "a", "user": "u", "id": "s", "event": {}}"#, "has no `timestamp`"),
            (
                r#"{"op": "append", "app": "a", "user": "u", "id": "s", "event": {"timestamp": "x"}}"#,
                "operation 1: event: timestamp",
            ),
            ("7", "operation 1: "),
        ] {
            let fault = fault(operation);
            assert!(fault.contains(expected), "{fault}");
        }
        assert!(read_operations("{}").is_err());
    }
}
