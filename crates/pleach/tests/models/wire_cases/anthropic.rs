//! Anthropic messages.

use serde_json::json;

use super::expected::{fails, says};
use super::wire_cases;

wire_cases! {
    a_call_runs: "a00_call_and_answer" => says("Done.").calling([("add", json!({"a": 1, "b": 2}))]);
    an_unknown_word_after_a_call_is_an_end: "a05_unknown_word_after_a_call" =>
        says("Done.").calling([("add", json!({"a": 1, "b": 2}))]);
    a_stream_may_end_with_its_reason: "a03_no_message_stop_then_eof" => says("Hello.");
    pings_after_the_reason_end_an_answer: "a03b_pings_after_the_reason" => says("Hello.");
    a_block_that_uses_an_index_again_is_another_one: "a10_call_reuses_index" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"})), ("add", json!({"a": 1, "b": 2}))]);
    a_call_that_is_begun_again_runs_once: "a10b_call_is_begun_again" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    a_call_goes_on_when_it_is_begun_again: "a10c_call_is_continued_after_its_stop" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    a_call_without_a_name_is_refused: "a17_call_without_a_name" => fails("MALFORMED_FUNCTION_CALL", "no name: `t1`");
    a_whole_call_without_a_name_is_refused: "a17b_whole_call_without_a_name" =>
        fails("MALFORMED_FUNCTION_CALL", "no name: `t1`");
    an_empty_object_before_the_input_is_replaced: "a18_input_with_a_placeholder" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    half_a_character_is_replaced: "a14_lone_surrogate_in_input" =>
        says("Done.").calling([("weather", json!({"city": "Os\u{fffd}lo"}))]);
    input_may_be_a_text: "a16_input_as_a_text" => says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    input_that_is_no_object_runs_nothing: "a16b_input_that_is_a_list" =>
        fails("MALFORMED_FUNCTION_CALL", "no JSON object: weather");
}
