//! The operations of the API, as a table.

use serde_json::{Value, json};

use crate::body::reference;

/// One operation.
pub(super) struct Operation {
    pub(super) method: &'static str,
    /// The path, with its parameters in braces as in the document.
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: &'static [Query],
    pub(super) body: Body,
    pub(super) answer: Answer,
}

/// A parameter of the query string.
pub(super) struct Query {
    pub(super) name: &'static str,
    /// The JSON Schema type of the parameter.
    pub(super) kind: &'static str,
    pub(super) summary: &'static str,
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(super) enum Body {
    None,
    /// A body of the named shape, or no body.
    Optional(&'static str),
    Required(&'static str),
    /// An object whose members are user data, or no body.
    State,
}

/// The reply to a request that succeeds.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// JSON without a named schema.
    Json,
    Null,
    Named(&'static str),
    List(&'static str),
    Strings,
    /// Server-sent events.
    Stream,
}

impl Answer {
    /// Returns the media type and the schema.
    pub(super) fn media(self) -> (&'static str, Value) {
        let schema = match self {
            Self::Json => json!({}),
            Self::Null => json!({ "type": "null" }),
            Self::Named(name) => reference(name),
            Self::List(name) => json!({ "type": "array", "items": reference(name) }),
            Self::Strings => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Stream => return ("text/event-stream", json!({ "type": "string" })),
        };
        ("application/json", schema)
    }
}

const fn get(path: &'static str, id: &'static str, summary: &'static str, answer: Answer) -> Operation {
    Operation { method: "get", path, id, summary, query: &[], body: Body::None, answer }
}

const fn post(path: &'static str, id: &'static str, summary: &'static str, body: Body, answer: Answer) -> Operation {
    Operation { method: "post", body, ..get(path, id, summary, answer) }
}

const fn patch(path: &'static str, id: &'static str, summary: &'static str, body: Body, answer: Answer) -> Operation {
    Operation { method: "patch", ..post(path, id, summary, body, answer) }
}

const fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation { method: "delete", ..get(path, id, summary, Answer::Null) }
}

const fn with(query: &'static [Query], operation: Operation) -> Operation {
    Operation { query, ..operation }
}

const SESSIONS: &str = "/apps/{app_name}/users/{user_id}/sessions";
const SESSION: &str = "/apps/{app_name}/users/{user_id}/sessions/{session_id}";
const ABORT: &str = "/apps/{app_name}/users/{user_id}/sessions/{session_id}/abort";
const EVENTS: &str = "/apps/{app_name}/users/{user_id}/sessions/{session_id}/events";
const ARTIFACTS: &str = "/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts";
const ARTIFACT: &str = "/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}";
const VERSIONS: &str = "/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}/versions";
const ALL_METADATA: &str =
    "/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}/versions/metadata";
const VERSION: &str =
    "/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}/versions/{version_id}";
const METADATA: &str =
    "/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts/{artifact_name}/versions/{version_id}/metadata";

/// All operations, in the order of the routes.
pub(super) static OPERATIONS: &[Operation] = &[
    get("/health", "health", "Says that the server is alive", Answer::Json),
    get("/version", "version", "Returns the version of the server", Answer::Json),
    with(
        &[Query { name: "detailed", kind: "boolean", summary: "Whether to describe each app" }],
        get("/list-apps", "list_apps", "Lists the apps", Answer::Json),
    ),
    post(
        "/agent-identity/finalize",
        "finalize_agent_identity",
        "Always fails: there are no agent identities",
        Body::None,
        Answer::Json,
    ),
    get("/apps/{app_name}/app-info", "get_app_info", "Describes the agents of an app", Answer::Json),
    get(SESSIONS, "list_sessions", "Lists the sessions of a user, without events", Answer::List("Session")),
    post(
        SESSIONS,
        "create_session",
        "Creates a session",
        Body::Optional("CreateSessionRequest"),
        Answer::Named("Session"),
    ),
    get(SESSION, "get_session", "Returns a session with its events", Answer::Named("Session")),
    post(
        SESSION,
        "create_session_with_id",
        "Creates a session with this id; the body is its state",
        Body::State,
        Answer::Named("Session"),
    ),
    patch(
        SESSION,
        "update_session",
        "Changes the state of a session",
        Body::Required("UpdateSessionRequest"),
        Answer::Named("Session"),
    ),
    delete(SESSION, "delete_session", "Removes a session"),
    post(
        ABORT,
        "abort_session",
        "Ends the last invocation of a session, which cannot be resumed",
        Body::None,
        Answer::Json,
    ),
    with(
        &[
            Query { name: "after", kind: "string", summary: "The id of the last event that the client has" },
            Query { name: "wait", kind: "boolean", summary: "Whether the stream continues after the end of a run" },
        ],
        get(EVENTS, "follow_session", "Streams the events of a session, and those that its run adds", Answer::Stream),
    ),
    get(ARTIFACTS, "list_artifacts", "Lists the names of artifacts", Answer::Strings),
    post(
        ARTIFACTS,
        "save_artifact",
        "Saves a new version of an artifact",
        Body::Required("SaveArtifactRequest"),
        Answer::Json,
    ),
    with(
        &[Query { name: "version", kind: "integer", summary: "The version; the latest one when absent" }],
        get(ARTIFACT, "load_artifact", "Returns an artifact", Answer::Named("Part")),
    ),
    delete(ARTIFACT, "delete_artifact", "Removes an artifact with all its versions"),
    get(VERSIONS, "list_artifact_versions", "Lists the versions of an artifact", Answer::Json),
    get(ALL_METADATA, "list_artifact_metadata", "Returns what is known of all versions of an artifact", Answer::Json),
    get(VERSION, "load_artifact_version", "Returns a version of an artifact", Answer::Named("Part")),
    get(METADATA, "get_artifact_metadata", "Returns what is known of a version of an artifact", Answer::Json),
    patch(
        "/apps/{app_name}/users/{user_id}/memory",
        "update_memory",
        "Adds a session to the memory",
        Body::Required("UpdateMemoryRequest"),
        Answer::Null,
    ),
    post(
        "/run",
        "run_agent",
        "Runs an agent and returns all events",
        Body::Required("RunAgentRequest"),
        Answer::List("Event"),
    ),
    post(
        "/run_sse",
        "run_agent_sse",
        "Runs an agent and streams its events",
        Body::Required("RunAgentRequest"),
        Answer::Stream,
    ),
];
