//! Chat completions: the words for the end of an answer.

use super::expected::fails;
use super::wire_cases;

wire_cases! {
    a_limit_of_tokens_is_an_error: "o00_limit_of_tokens" => fails("MAX_TOKENS", "largest number").after_saying("Hel");
    silence_before_the_end_is_a_timeout: "o00_silence_before_the_end" => fails("ModelError", "no answer in time");
}
