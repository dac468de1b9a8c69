//! Gemini.

use serde_json::json;

use super::expected::{fails, says};
use super::wire_cases;

wire_cases! {
    calls_run: "g00_calls_and_answer_whole" =>
        says("Done. Saved.").calling([("now", json!({})), ("add", json!({"a": 1, "b": 2}))]);
    an_unknown_word_is_an_end: "g12_unknown_word_after_a_call" =>
        says("Done.").calling([("add", json!({"a": 1, "b": 2}))]);
    a_result_with_references_is_sent_without: "g01_ref_in_tool_result" =>
        says("Done").calling([("weather", json!({"city": "Oslo"}))]);
    no_content_is_said_to_be_none: "g05d_content_null" => fails("MODEL_RETURNED_NO_CONTENT", "without saying");
    a_stream_may_come_as_a_list: "g08_array_stream" => says("Hi there");
    half_a_character_is_replaced: "g11_lone_surrogate_in_args" =>
        says("Done").calling([("weather", json!({"city": "Os\u{fffd}lo"}))]);
    two_calls_of_one_id_both_run: "g13_one_id_for_two_calls" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"})), ("add", json!({"a": 1, "b": 2}))]);
    an_odd_part_loses_no_other_one: "g14_part_of_another_shape" =>
        says("Hi. Done.").calling([("add", json!({"a": 1, "b": 2}))]);
    the_words_of_a_failure_are_shown: "g15_message_of_a_failure" => fails("ERROR", "Provider disconnected");
    a_list_joins_the_halves_of_a_character: "g08b_array_stream_cut_in_a_character" => says("Hi 😀");
    other_candidates_are_ignored_at_whatever_place: "g16_candidates_out_of_order" => says("Hi there");
    other_candidates_of_a_whole_answer_are_ignored: "g16b_whole_candidates_out_of_order" => says("Hi");
    a_call_without_a_name_is_refused: "g17_call_without_a_name" => fails("MALFORMED_FUNCTION_CALL", "no name");
    a_whole_call_without_a_name_is_refused: "g17b_whole_call_without_a_name" =>
        fails("MALFORMED_FUNCTION_CALL", "no name");
    arguments_that_are_a_list_run_nothing: "g18_arguments_that_are_a_list" =>
        fails("MALFORMED_FUNCTION_CALL", "no JSON object: weather");
    a_limit_runs_no_call: "g12b_limit_after_a_call" => fails("MAX_TOKENS", "largest number").after_saying("Wait.");
}
