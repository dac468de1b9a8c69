//! The service: the workflow of an expense, and the HTTP API around it.
//!
//! | module | content |
//! | --- | --- |
//! | `expense` | the data: reports, decisions, outcomes |
//! | `bank` | the payments, which must not happen twice |
//! | `flow` | the workflow |
//! | `state` | what all requests share: the Runner, and the token that ends streams |
//! | `routes` | the API: submit, status, retry |
//! | `inbox` | open questions and answers |
//! | `caller` | the sender of a request |
//! | `events` | the stream of an expense's events |
//! | `problem` | errors as statuses and bodies |
//! | `recovery` | continues expenses that earlier processes have left unfinished |

mod bank;
mod caller;
mod events;
mod expense;
mod flow;
mod inbox;
mod problem;
mod recovery;
mod routes;
mod state;

pub(crate) use bank::Bank;
pub(crate) use flow::Policy;
pub(crate) use recovery::recover_always;
pub(crate) use routes::router;
pub(crate) use state::Service;
