//! Chat completions: calls, sent whole or in pieces, and their arguments.

use serde_json::json;

use super::expected::{fails, says};
use super::wire_cases;

wire_cases! {
    a_call_runs: "o00_call_and_answer" =>
        says("Done.").thinking("hmm").calling([("weather", json!({"city": "Oslo", "unit": "c"}))])
            .running([("weather", json!({"city": "Oslo"}))]);
    a_name_at_a_used_index_begins_another_call: "o01d_same_function_same_index_without_id" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"})), ("weather", json!({"city": "Bergen"}))]);
    a_long_number_keeps_its_digits: "o07b_25_digit_id" =>
        says("Done.").calling([("weather", json!({"city": "a", "wei": "1234567890123456789012345"}))])
            .running([("weather", json!({"city": "a"}))]);
    a_lone_surrogate_in_arguments_is_replaced: "o08c_lone_surrogate_in_arguments" =>
        says("Done.").calling([("weather", json!({"city": "Oslo \u{fffd}"}))]);
    a_nul_in_arguments_is_replaced: "o09b_nul_in_arguments" =>
        says("Done.").calling([("weather", json!({"city": "Os\u{fffd}lo"}))]);
    two_calls_of_one_id_both_run: "o13c_same_id_for_two_calls" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"})), ("add", json!({"a": 1, "b": 2}))]);
    two_whole_calls_of_one_id_both_run: "o13d_same_id_for_two_calls_whole" =>
        says("Done").calling([("weather", json!({"city": "Oslo"})), ("add", json!({"a": 1, "b": 2}))]);
    an_index_may_be_a_text: "o13g_index_as_text" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"})), ("add", json!({"a": 1, "b": 2}))]);
    the_older_form_of_a_call_runs: "o13i_legacy_function_call" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    a_call_in_the_message_of_a_chunk_runs: "o14b_call_in_message_of_last_chunk" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    an_id_that_each_answer_uses_again_is_sent_once: "o13j_same_id_in_each_answer" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"})), ("add", json!({"a": 1, "b": 2}))]);
    a_call_that_is_repeated_runs_once: "o13k_whole_call_repeated" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    an_empty_object_before_the_arguments_is_replaced: "o13l_placeholder_before_the_arguments" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
    new_ids_and_the_name_on_every_piece_are_one_call: "o01e_new_id_and_name_on_every_piece" =>
        says("Done.").calling([("weather", json!({"city": "Rome"}))]);
    an_empty_object_in_one_piece_with_the_arguments_is_replaced: "o13m_placeholder_and_arguments_in_one_piece" =>
        says("Done.").calling([("weather", json!({"city": "Rome"}))]);
    a_call_without_a_name_is_refused: "o17_call_without_a_name" => fails("MALFORMED_FUNCTION_CALL", "no name: `a`");
    a_whole_call_without_a_name_is_refused: "o17b_whole_call_without_a_name" =>
        fails("MALFORMED_FUNCTION_CALL", "no name: `a`");
    two_objects_in_the_arguments_of_a_call_are_refused: "o15_two_objects_in_one_arguments" =>
        fails("MALFORMED_FUNCTION_CALL", "several JSON objects: weather");
    a_raw_newline_in_arguments_is_read: "o15b_raw_newline_in_arguments" =>
        says("Done.").calling([("weather", json!({"city": "Os\nlo\t"}))]);
}
