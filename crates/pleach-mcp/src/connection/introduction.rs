//! The first exchange: what the server learns of its client, and what is kept of its answer.

use pleach_core::Map;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, InitializeResult, ProtocolVersion};
use serde_json::{Value, json};

/// The introduction that the client gives to the server.
pub(super) fn of_client() -> ClientConfig {
    let client = Implementation::new("pleach", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), client)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// The version of a server that does not name one: the first that has HTTP.
const UNNAMED_VERSION: &str = "2025-03-26";

/// Reads the answer of a server: the version and the capabilities, and nothing else. `None` if it is no object.
pub(super) fn read(result: Value) -> Option<InitializeResult> {
    let Value::Object(result) = result else { return None };
    // rmcp speaks later versions without a first exchange.
    let known = Some(version(&result)).filter(|version| *version < ProtocolVersion::NO_INITIALIZE.as_str());
    let introduced = json!({
        "protocolVersion": known.unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE.as_str()),
        "capabilities": capabilities(result.get("capabilities")),
        // It is not used; rmcp wants both members.
        "serverInfo": {"name": "", "version": ""},
    });
    serde_json::from_value(introduced).ok()
}

/// Returns the version of the protocol that the answer of a server names.
pub(super) fn version(result: &Map) -> &str {
    let version = result.get("protocolVersion").and_then(Value::as_str).map(str::trim);
    version.filter(|version| !version.is_empty()).unwrap_or(UNNAMED_VERSION)
}

/// Returns what a server can do, by name. Whatever it says of the details: lists are asked for again when it says that they have changed.
fn capabilities(said: Option<&Value>) -> Map {
    let has = |name: &str| match said {
        Some(Value::Object(said)) => {
            said.get(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
        }
        // Some servers list the names.
        Some(Value::Array(said)) => said.iter().any(|value| value.as_str() == Some(name)),
        _ => false,
    };
    let names = ["prompts", "resources", "tools"].into_iter().filter(|name| has(name));
    names.map(|name| (name.to_owned(), json!({}))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_introductions_are_read() {
        for (result, version, has) in [
            (
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": "yes"}}}),
                "2025-06-18",
                [true, false, false],
            ),
            (json!({"protocolVersion": 1, "capabilities": null, "serverInfo": 7}), UNNAMED_VERSION, [false; 3]),
            (
                json!({"capabilities": {"tools": true, "prompts": [], "resources": false, "logging": 3}}),
                UNNAMED_VERSION,
                [true, true, false],
            ),
            (
                json!({"capabilities": ["resources", 4], "instructions": [1], "_meta": "x"}),
                UNNAMED_VERSION,
                [false, false, true],
            ),
            (json!({}), UNNAMED_VERSION, [false; 3]),
        ] {
            let read = read(result.clone()).unwrap();
            assert_eq!(read.protocol_version.as_str(), version, "{result}");
            let said = &read.capabilities;
            assert_eq!([said.tools.is_some(), said.prompts.is_some(), said.resources.is_some()], has, "{result}");
        }
        assert_eq!(read(json!([])), None);
    }
}
