//! Chat completions: errors of the server, in bodies and in streams.

use super::wire_cases;

wire_cases! {}
