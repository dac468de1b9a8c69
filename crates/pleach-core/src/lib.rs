//! Plain data and pure rules of the pleach agent runtime.
//!
//! This crate owns the record of a run ([`Event`], [`EventActions`], [`Content`]) and the session that stores it
//! ([`Session`], [`Scope`]). It owns the names in that record ([`NodePath`], [`Branch`], the ids) and the JSON of
//! all these types. It starts no task, reads no clock and does no I/O: time and ids come in through [`Clock`] and
//! [`IdGen`].

mod actions;
mod branch;
mod bytes;
mod casing;
mod causes;
mod check;
mod clock;
mod compaction;
mod content;
mod delta;
mod depth;
#[doc(hidden)]
pub mod engine_notes;
mod event;
mod event_depth;
mod flag;
mod foreign_json;
mod ids;
mod json;
mod nul;
mod owned;
mod path;
#[doc(hidden)]
pub mod private_files;
mod question;
mod quick_check;
mod request_input;
mod reserved;
mod route;
mod routes;
mod scope;
mod session;
mod setup;
mod signal;
mod state_op;
mod text;

use std::error::Error;
use std::future::Future;
use std::pin::Pin;

pub use actions::{EventActions, ToolConfirmation, UiWidget};
pub use branch::Branch;
pub use bytes::Bytes;
pub use casing::{CamelCase, to_camel};
pub use causes::{with_causes, without_data};
pub use check::{Unstorable, check_event, check_map, check_storable, to_storable_json};
pub use clock::{Clock, DISTINCT_TIMES, IdGen, RandomIds, micros, next_time, seconds};
pub use compaction::EventCompaction;
pub use content::{
    Blob, CodeExecutionResult, Content, ExecutableCode, FileData, FunctionCall, FunctionDeclaration, FunctionResponse,
    FunctionResponsePart, Message, Part, ToolCall, ToolResponse, VideoMetadata,
};
pub use delta::{ScopedDelta, apply, merge_view, split_delta, take_temp};
pub use depth::limited::{DEEPEST, DEEPEST_RESULT};
pub use depth::{bounded, discard, into_json, is_bounded, nests_within, to_json};
pub use event::{Event, ModelInfo, NodeInfo, OutputFor};
pub use event_depth::{bound_event, bound_message, discard_event};
pub use flag::to_bool;
pub use foreign_json::{big_integers_as_strings, is_big_integer, json_of_foreign_text, mend_json, read_foreign_json};
pub use ids::{AppName, EventId, InvocationId, SessionId, SessionKey, UserId};
pub use nul::{replace_nul, replace_nul_in, without_nul};
pub use owned::{AuthConfig, AuthDocument, Owned};
pub use path::NodePath;
pub use question::{NODE_CONFIRMATION, Question, QuestionKind, SIGNAL, TIMER};
pub use request_input::{REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, RESERVED_FUNCTIONS, RequestInput};
pub use reserved::{
    CREDENTIAL_KINDS, RefusedKey, StateRights, drop_reserved_metadata, is_credential, is_reserved_metadata_key,
    is_reserved_state_key,
};
pub use route::{DEFAULT_ROUTE, Route, RouteKey};
pub use routes::{AnyRoute, IntoRoute, Routes};
pub use scope::Scope;
pub use session::{Revision, Session, SessionHead, UnreadableKeys};
pub use setup::SetupError;
pub use signal::KEPT_SIGNAL;
pub use state_op::{StateOp, StateOpError, StateOps, is_same_number};
pub use uuid::Uuid;

/// A JSON object, whose keys are kept sorted.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A boxed error of unknown type.
pub type BoxError = Box<dyn Error + Send + Sync>;
