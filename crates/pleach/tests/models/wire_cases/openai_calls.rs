//! Chat completions: calls, whole and in pieces, and their arguments.

use serde_json::json;

use super::expected::says;
use super::wire_cases;

wire_cases! {
    a_call_runs: "o00_call_and_answer" =>
        says("Done.").thinking("hmm").calling([("weather", json!({"city": "Oslo", "unit": "c"}))])
            .running([("weather", json!({"city": "Oslo"}))]);
}
