//! The contract of session services, for everyone who writes one: a named test for each rule. The crate also has the clock and
//! the ids that tests of services, models, tools and Runners share.
//!
//! [`session_contract!`] makes the tests of a service, [`shared_session_contract!`] those of several services on one store, and
//! [`StrictSessionService`] is a wrapper that exposes code which relies on shared memory. `docs/sessions.md` has the rules.
//!
//! The facade exports this crate in `pleach::testkit`. The crate stays below the Runner, so that the tests of backends are not
//! compiled again when the Runner changes.

mod clock;
mod ids;
#[cfg(feature = "own-tests")]
#[doc(hidden)]
pub mod own_tests;
pub mod sessions;
mod strict;

pub use clock::TestClock;
pub use ids::CountedIds;
pub use strict::StrictSessionService;
