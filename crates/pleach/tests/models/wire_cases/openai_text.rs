//! Chat completions: texts and thoughts.

use super::expected::says;
use super::wire_cases;

wire_cases! {
    another_choice_is_ignored: "o11f_second_choice_index_1" => says("Hi there");
    a_list_of_thinking_is_a_thought: "o12c_magistral_thinking_list" => says("Hi").thinking("hmm");
    the_number_of_a_choice_may_be_a_text: "o11h_choice_index_as_text" => says("Hi");
    a_character_is_joined_whether_its_choice_is_numbered_or_not: "o11i_half_a_character_and_no_index" => says("Hi 😀");
    another_choice_that_comes_first_is_ignored: "o11g_another_choice_first" => says("Hi");
}
