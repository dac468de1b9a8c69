//! The types of request bodies.

use pleach_core::{Content, Event, Map, Part};
use serde::Deserialize;

use super::Payload;
use super::event_words::spell_out;
use super::shape::{Kind, Shape};
use super::tables::{ARTIFACT, CREATE, MEMORY, RUN, UPDATE};
use super::typed::{Typed, of_kind, optional, required};
use crate::error::ApiError;

/// A request to run an agent. ADK: `RunAgentRequest`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunBody {
    pub(crate) app_name: Option<String>,
    pub(crate) user_id: String,
    pub(crate) session_id: String,
    pub(crate) new_message: Option<Content>,
    #[serde(default)]
    pub(crate) streaming: bool,
    pub(crate) state_delta: Option<Map>,
    pub(crate) function_call_event_id: Option<String>,
    pub(crate) invocation_id: Option<String>,
    pub(crate) custom_metadata: Option<Map>,
    pub(crate) service_tier: Option<String>,
}

/// A request to create a session. ADK: `CreateSessionRequest`
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateBody {
    pub(crate) session_id: Option<String>,
    pub(crate) state: Option<Map>,
    pub(crate) events: Option<Vec<Event>>,
    pub(crate) options: Option<Map>,
}

/// The initial state of a session, which is the whole body.
#[derive(Debug, Default)]
pub(crate) struct StateBody(pub(crate) Map);

/// A change of a session's state. ADK: `UpdateSessionRequest`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdateBody {
    pub(crate) state_delta: Map,
}

/// The session that becomes a memory. ADK: `UpdateMemoryRequest`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemoryBody {
    pub(crate) session_id: String,
}

/// The user's answer to whether telemetry is allowed.
#[cfg(feature = "dev")]
#[derive(Debug, Deserialize)]
pub(crate) struct TelemetryBody {
    pub(crate) telemetry: bool,
}

#[cfg(feature = "dev")]
impl Typed for TelemetryBody {
    const SHAPE: &'static Shape = &super::tables::TELEMETRY;
}

#[cfg(feature = "dev")]
impl TelemetryBody {
    pub(crate) fn of(payload: Payload) -> Result<Self, ApiError> {
        required(payload)
    }
}

/// A request of the inspector that starts or continues a run. It has exactly one of these members.
#[cfg(feature = "inspect")]
#[derive(Debug, Deserialize)]
pub(crate) struct MoveBody {
    pub(crate) message: Option<String>,
    pub(crate) answer: Option<AnswerBody>,
    /// The invocation to resume.
    pub(crate) resume: Option<String>,
}

/// An answer in the inspector.
#[cfg(feature = "inspect")]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerBody {
    pub(crate) question_id: String,
    pub(crate) invocation_id: String,
    pub(crate) value: serde_json::Value,
}

/// A request for a fork in the inspector.
#[cfg(feature = "inspect")]
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForkBody {
    pub(crate) event_id: String,
    pub(crate) session_id: Option<String>,
}

#[cfg(feature = "inspect")]
impl Typed for MoveBody {
    const SHAPE: &'static Shape = &super::tables::MOVE;
}

#[cfg(feature = "inspect")]
impl Typed for ForkBody {
    const SHAPE: &'static Shape = &super::tables::FORK;
}

#[cfg(feature = "inspect")]
impl MoveBody {
    pub(crate) fn of(payload: Payload) -> Result<Self, ApiError> {
        required(payload)
    }
}

#[cfg(feature = "inspect")]
impl ForkBody {
    pub(crate) fn of(payload: Payload) -> Result<Self, ApiError> {
        required(payload)
    }
}

/// A new version of an artifact. ADK: `SaveArtifactRequest`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactBody {
    pub(crate) filename: String,
    pub(crate) artifact: Part,
    pub(crate) custom_metadata: Option<Map>,
}

macro_rules! typed {
    ($($body:ident: $shape:ident;)*) => {$(
        impl Typed for $body {
            const SHAPE: &'static Shape = &$shape;
        }
    )*};
}

typed! {
    RunBody: RUN;
    CreateBody: CREATE;
    UpdateBody: UPDATE;
    MemoryBody: MEMORY;
    ArtifactBody: ARTIFACT;
}

impl RunBody {
    pub(crate) fn of(payload: Payload) -> Result<Self, ApiError> {
        required(payload)
    }
}

impl CreateBody {
    /// Reads the body; events without a time get `now`, in seconds since the epoch.
    pub(crate) fn of(mut payload: Payload, now: f64) -> Result<Self, ApiError> {
        if let Payload::Json(body) = &mut payload {
            spell_out(body, now).map_err(ApiError::Invalid)?;
        }
        Ok(optional(payload)?.unwrap_or_default())
    }
}

impl StateBody {
    pub(crate) fn of(payload: Payload) -> Result<Self, ApiError> {
        match payload {
            Payload::Absent | Payload::Json(serde_json::Value::Null) => Ok(Self::default()),
            Payload::Json(value) => of_kind(Kind::Object, value).map(Self),
            Payload::Other(text) => of_kind(Kind::Object, text.into()).map(Self),
        }
    }
}

impl UpdateBody {
    pub(crate) fn of(payload: Payload) -> Result<Self, ApiError> {
        required(payload)
    }
}

impl MemoryBody {
    pub(crate) fn of(payload: Payload) -> Result<Self, ApiError> {
        required(payload)
    }
}

impl ArtifactBody {
    pub(crate) fn of(payload: Payload) -> Result<Self, ApiError> {
        required(payload)
    }
}
