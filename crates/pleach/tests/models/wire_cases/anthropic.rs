//! Anthropic messages.

use serde_json::json;

use super::expected::says;
use super::wire_cases;

wire_cases! {
    a_call_runs: "a00_call_and_answer" => says("Done.").calling([("add", json!({"a": 1, "b": 2}))]);
    an_unknown_word_after_a_call_is_an_end: "a05_unknown_word_after_a_call" =>
        says("Done.").calling([("add", json!({"a": 1, "b": 2}))]);
}
