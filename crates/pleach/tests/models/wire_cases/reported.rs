//! Behaviour of these servers that users of other clients have reported.

use serde_json::json;

use super::expected::{fails, says};
use super::wire_cases;

wire_cases! {
    arguments_may_come_before_the_name: "r01_arguments_before_the_name" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    members_of_pieces_may_be_null: "r02_null_members_in_pieces" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    foreign_members_of_deltas_are_passed_over: "r03_deltas_with_foreign_members" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    an_error_after_text_is_an_error: "r04_error_event_after_text" => fails("overloaded_error", "Overloaded");
    an_error_after_a_call_runs_no_call: "r05_error_chunk_after_a_call" => fails("server_error", "upstream went away");
    a_reason_without_content_is_named: "r06_reason_without_content" => fails("UNEXPECTED_TOOL_CALL", "");
    a_malformed_call_runs_no_call: "r07_malformed_call_beside_a_call" => fails("MALFORMED_FUNCTION_CALL", "");
    the_word_end_ends_an_answer: "r08_the_word_end_after_a_call" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    a_reason_beside_the_reason_is_passed_over: "r09_reason_is_a_number" => says("Once upon a time");
    a_result_with_nul_is_kept: "r10_nul_in_a_tool_result" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    content_without_parts_is_an_error_that_says_so: "r11_stop_without_parts" => fails("MODEL_RETURNED_NO_CONTENT", "no parts");
    two_calls_without_an_index_both_run: "r12_two_calls_without_an_index_in_one_chunk" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"})), ("add", json!({"a": 1, "b": 2}))]);
}
