//! Chat completions: errors of the server, in bodies and in streams.

use super::expected::{fails, says};
use super::wire_cases;

wire_cases! {
    half_a_character_in_a_whole_answer_is_replaced: "o08d_lone_surrogate_whole_json" => says("Hi \u{fffd} there");
    an_error_in_a_choice_is_an_error: "o10_error_in_choice" =>
        fails("ModelError", "(502): the provider failed: Provider disconnected");
    a_list_of_details_is_shown: "o10e_error_422_detail_list" =>
        fails("ModelError", "(422): the request is not valid: body.messages.0: field required");
    a_bare_message_is_shown: "o10f_error_400_message_only" =>
        fails("ctx", "(400 ctx): the request is not valid: context too long");
    a_plain_text_is_shown: "o10g_error_plain_text" =>
        fails("ModelError", "(400): the request is not valid: prompt is too long: 9999 tokens");
    a_list_of_errors_is_shown: "o10h_error_errors_list" =>
        fails("ModelError", "(400): the request is not valid: bad model");
    a_model_that_is_not_there_is_named: "o10i_model_not_found" =>
        fails("ModelError", "no such model: model 'x' not found, try pulling it first; check the model's name");
    a_status_of_failure_beside_an_answer_is_an_error: "o10j_status_beside_an_answer" =>
        fails("1008", "the call failed: insufficient balance");
    a_title_and_its_detail_are_shown: "o10k_title_and_detail" =>
        fails("https://example.com/probs/credit", "Out of credit: Your balance is 30.");
    comments_after_the_reason_end_an_answer: "o16_comments_after_the_reason" => says("Hello.");
    blanks_before_the_reason_are_a_timeout: "o16b_blanks_before_the_reason" => fails("ModelError", "no content came");
}
