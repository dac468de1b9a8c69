//! Chat completions: texts and thoughts.

use super::wire_cases;

wire_cases! {}
