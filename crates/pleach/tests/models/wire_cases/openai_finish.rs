//! Chat completions: the words for the end of an answer.

use serde_json::json;

use super::expected::{fails, says};
use super::wire_cases;

wire_cases! {
    a_limit_of_tokens_is_an_error: "o00_limit_of_tokens" => fails("MAX_TOKENS", "largest number").after_saying("Hel");
    silence_before_the_end_is_a_timeout: "o00_silence_before_the_end" => fails("ModelError", "no answer in time");
    a_word_of_failure_runs_no_call: "o05_finish_07_abort" => fails("abort", "the provider failed");
    a_lack_of_resources_runs_no_call: "o05_finish_08_insufficient_system_resource" =>
        fails("insufficient_system_resource", "the provider failed");
    an_unknown_word_after_a_text_is_an_end: "o05t_finish_text_COMPLETE" => says("Hello.");
    a_word_in_capitals_is_known: "o05u_finish_text_STOP" => says("Hello.");
    the_word_of_the_server_in_front_hides_no_failure: "o10c_native_finish_network_error" =>
        fails("network_error", "the provider failed");
    an_unknown_word_after_a_call_is_an_end: "o05v_unknown_word_after_a_call" =>
        says("Done.").calling([("weather", json!({"city": "Oslo"}))]);
}
