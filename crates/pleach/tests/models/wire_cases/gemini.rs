//! Gemini.

use serde_json::json;

use super::expected::{fails, says};
use super::wire_cases;

wire_cases! {
    calls_run: "g00_calls_and_answer_whole" =>
        says("Done. Saved.").calling([("now", json!({})), ("add", json!({"a": 1, "b": 2}))]);
    an_unknown_word_is_an_end: "g12_unknown_word_after_a_call" =>
        says("Done.").calling([("add", json!({"a": 1, "b": 2}))]);
    a_limit_runs_no_call: "g12b_limit_after_a_call" => fails("MAX_TOKENS", "largest number").after_saying("Wait.");
}
