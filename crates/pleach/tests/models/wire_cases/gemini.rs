//! Gemini.

use serde_json::json;

use super::expected::says;
use super::wire_cases;

wire_cases! {
    calls_run: "g00_calls_and_answer_whole" =>
        says("Done. Saved.").calling([("now", json!({})), ("add", json!({"a": 1, "b": 2}))]);
}
