//! Chat completions: texts and thoughts.

use super::expected::says;
use super::wire_cases;

wire_cases! {
    another_choice_is_ignored: "o11f_second_choice_index_1" => says("Hi there");
    a_list_of_thinking_is_a_thought: "o12c_magistral_thinking_list" => says("Hi").thinking("hmm");
    another_choice_that_comes_first_is_ignored: "o11g_another_choice_first" => says("Hi");
}
