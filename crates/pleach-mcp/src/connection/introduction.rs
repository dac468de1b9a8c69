//! The first exchange: the introduction of the client, and the server's answer.

use pleach_core::Map;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, InitializeResult, ProtocolVersion};
use serde_json::{Value, json};

/// The client's introduction to the server.
pub(super) fn of_client() -> ClientConfig {
    let client = Implementation::new("pleach", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), client)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// The version that is assumed if a server names none: the first version with streamable HTTP.
const UNNAMED_VERSION: &str = "2025-03-26";

/// Reads the version and the capabilities in the answer of a server. Returns `None` if it is not an object.
pub(super) fn read(result: Value) -> Option<InitializeResult> {
    let Value::Object(result) = result else { return None };
    // rmcp has no first exchange in later versions.
    let known = Some(version(&result)).filter(|version| *version < ProtocolVersion::NO_INITIALIZE.as_str());
    let introduced = json!({
        "protocolVersion": known.unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE.as_str()),
        "capabilities": capabilities(result.get("capabilities")),
        // These members are not used, but rmcp requires them.
        "serverInfo": {"name": "", "version": ""},
    });
    serde_json::from_value(introduced).ok()
}

/// Returns the protocol version in the answer of a server.
pub(super) fn version(result: &Map) -> &str {
    let version = result.get("protocolVersion").and_then(Value::as_str).map(str::trim);
    version.filter(|version| !version.is_empty()).unwrap_or(UNNAMED_VERSION)
}

/// Returns the capabilities of a server by name. Details are ignored: lists are requested again whenever the server
/// reports a change.
fn capabilities(said: Option<&Value>) -> Map {
    let has = |name: &str| match said {
        Some(Value::Object(said)) => {
            said.get(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
        }
        // Some servers send a list of names.
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
