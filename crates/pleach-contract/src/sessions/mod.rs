//! The contract of session services: one async function for each rule, and the macros that make named tests of them.
//!
//! [`session_contract!`](crate::session_contract) tests one service, and [`shared_session_contract!`](crate::shared_session_contract)
//! several services on one store.
//!
//! The names of rules begin with the rule (S-number) or the row of the edge-case table that they pin. Where google-adk's tables
//! force a difference, its *v1* layout has its own rules (`v1_…`). Everything else is tested in each backend. The table in
//! `docs/sessions.md` lists the rules.

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod append;
mod claim;
mod concurrent;
mod create;
mod deadlines;
mod fence;
mod fixtures;
mod inbox;
mod load;
mod ops;
mod redact;
mod rules;
mod settled;
mod sharing;
mod since;
mod state;
mod v1;

pub use rules::Opened;

// The macros call the rules by name, and pleach's own tests of its backends use the fixtures.
#[doc(hidden)]
pub use append::*;
#[doc(hidden)]
pub use claim::*;
#[doc(hidden)]
pub use concurrent::*;
#[doc(hidden)]
pub use create::*;
#[doc(hidden)]
pub use deadlines::*;
#[doc(hidden)]
pub use fence::*;
#[doc(hidden)]
pub use fixtures::{CREATED, chain, created, event, ids, loaded, object};
#[doc(hidden)]
pub use inbox::*;
#[doc(hidden)]
pub use load::*;
#[doc(hidden)]
pub use ops::*;
#[doc(hidden)]
pub use redact::*;
#[doc(hidden)]
pub use rules::{For, RULES, Rule};
#[doc(hidden)]
pub use settled::*;
#[doc(hidden)]
pub use sharing::*;
#[doc(hidden)]
pub use since::*;
#[doc(hidden)]
pub use state::*;
#[doc(hidden)]
pub use v1::*;

use fixtures::key;
