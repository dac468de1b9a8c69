//! The ADK 2.x agent runtime in Rust.
//!
//! A workflow is a graph of nodes, and every step of a run is stored as an event in a session. So a run streams its
//! events, pauses for a person, survives a crash and continues in another process.
//!
//! ```
//! use pleach::prelude::*;
//!
//! async fn greet(Input(name): Input<String>) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<()> {
//!     let mut wf = Workflow::builder("hello");
//!     let greet = wf.node("greet", greet);
//!     wf.edge(START, greet);
//!     let runner = Runner::builder("demo").root(wf.build()?).build()?;
//!     assert_eq!(runner.run("ana", "s1", "Otter").output::<String>().await?, "Hello, Otter!");
//!     Ok(())
//! }
//! ```
//!
//! This crate only re-exports items of the other `pleach-…` crates. It is the only crate that depends on all of them.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `inmemory` (default) | sessions in process memory |
//! | `sqlite` | sessions and memory in SQLite files, which google-adk can read and write as well |
//! | `postgres` | sessions in a Postgres database, which google-adk can read and write as well |
//! | `anthropic` | models of Anthropic |
//! | `dev` | the HTTP API with the inspector, and a browser UI that is served from a folder |
//! | `gemini` | models of Gemini |
//! | `inspector` | the HTTP API, and pages that show sessions and act on them |
//! | `mcp` | tools, resources and prompts of MCP servers |
//! | `openai` | models of OpenAI, Ollama and every server with OpenAI's chat completions |
//! | `openapi` | tools from OpenAPI documents |
//! | `otel` | traces and metrics through OpenTelemetry |
//! | `testkit` | tools for tests of workflows and agents: a clock, scripted people, faults, the resume property |
//! | `models` | models of all providers |
//! | `server` | the HTTP and SSE API of ADK |
//! | `full` | all of these except `testkit` |

mod connect;
mod connect_error;
mod connect_model;
mod connect_model_error;
#[cfg(feature = "inmemory")]
mod runner_ext;
#[cfg(feature = "sqlite")]
mod sqlite_url;

pub mod handler;
pub mod inspect;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
pub mod models;
#[cfg(feature = "openapi")]
pub mod openapi;
#[cfg(feature = "otel")]
pub mod otel;
pub mod plugins;
pub mod prelude;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "testkit")]
pub mod testkit;

pub use connect::{connect, connect_read_only};
pub use connect_error::ConnectError;
pub use connect_model::model;
pub use connect_model_error::ConnectModelError;
#[cfg(feature = "inmemory")]
pub use runner_ext::RunnerExt;

pub use pleach_agent::{
    AgentTool, BuiltInPlanner, CodeExecutor, CodeOutput, IncludeContents, LlmAgent, LlmAgentBuilder, LlmSummarizer,
    LoadArtifacts, LoopAgent, NodeTool, OutputFile, ParallelAgent, Planner, ProcessorPlace, RequestProcessor,
    SequentialAgent, ShellAgentBuilder, TemplateError, TemplateSource, exit_loop, get_user_choice,
    inject_session_state, load_artifacts, load_memory, preload_memory, request_input,
};
pub use pleach_artifact::{
    ArtifactError, ArtifactKey, ArtifactReference, ArtifactResult, ArtifactScope, ArtifactService, ArtifactVersion,
    FileArtifactService, InMemoryArtifactService, SaveArtifact, USER_PREFIX,
};
pub use pleach_auth::{AuthCredential, AuthError, hide_secrets, hide_secrets_of};
pub use pleach_context::History;
pub use pleach_context::{
    AbortSignal, AgentMode, AgentSpec, Answers, CallbackContext, ChildFailure, Confirmation, ConfirmationRequest,
    Context, CredentialService, DeadEnd, Dynamic, EdgeOutline, Extract, Fail, Flow, FromContext, FromState,
    GraphOutline, Hook, InMemoryCredentialService, Input, InputKind, InputReader, Instruction, InvocationContext, Key,
    ModelDemand, Need, NeededType, Node, NodeError, NodeFault, NodeInput, NodeKind, NodeSpec, Outline, Plugin,
    ReadonlyContext, Result, ResultExt, Resume, RetryCondition, RetryConfig, RunConfig, RunOptions, Scheduling,
    SecondParent, Select, SessionStateCredentialService, SessionView, Shared, SharedToolset, ShellKind, State,
    StateNumber, Step, StreamingMode, SystemClock, Tool, ToolContext, ToolResult, Toolset, TypedNode, Yield,
};
pub use pleach_core::{
    AnyRoute, AppName, AuthConfig, AuthDocument, Blob, BoxError, BoxFuture, Branch, Bytes, CamelCase, Clock,
    CodeExecutionResult, Content, DEFAULT_ROUTE, Event, EventActions, EventCompaction, EventId, ExecutableCode,
    FileData, FunctionCall, FunctionDeclaration, FunctionResponse, FunctionResponsePart, IdGen, IntoRoute,
    InvocationId, Map, ModelInfo, NodeInfo, NodePath, OutputFor, Owned, Part, Question, QuestionKind,
    REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT, RandomIds, RefusedKey, RequestInput, Revision, Route,
    RouteKey, Routes, SIGNAL, Session, SessionHead, SessionId, SessionKey, SetupError, StateOp, StateOpError, StateOps,
    StateRights, TIMER, ToolCall, ToolConfirmation, ToolResponse, UiWidget, UnreadableKeys, UserId, Uuid,
    VideoMetadata, is_reserved_metadata_key, is_reserved_state_key, to_camel, with_causes,
};
pub use pleach_macros::Routes;
pub use pleach_memory::{
    AddEvents, AddMemory, DeleteMemory, InMemoryMemoryService, MemoryEntry, MemoryError, MemoryResult, MemoryService,
    SearchMemory, SearchMemoryResponse,
};
#[cfg(feature = "sqlite")]
pub use pleach_memory_sqlite::{SqliteMemoryOptions, SqliteMemoryService};
pub use pleach_payloads::PayloadSessions;
pub use pleach_runner::{
    AnswerOptions, App, Detached, DrainOptions, Drained, DrainedRun, DueDeadlines, EventsCompactionConfig, Follow,
    FollowOptions, FollowStatus, GivenAnswer, ListUnfinished, ListUnfinishedResponse, MayAnswer, Message, Overdue,
    QuestionRef, Retry, Run, RunEnd, RunError, RunEvent, RunProgress, RunRequest, Runner, RunnerBuilder, RunnerLoad,
    SessionRef, SessionStatus, SignalOptions, SignalOutcome, answer_event,
};
pub use pleach_schema::{AnswerError, AnswerType, Field, FieldType, Schema, SchemaError, json_or_text};
pub use pleach_session::{
    CreateSession, EventsSummarizer, GetSessionConfig, InboxItem, KnownState, ListCursor, ListQuestions,
    ListQuestionsResponse, ListSessions, ListSessionsResponse, LogPlace, LostPayload, MODEL_WAIT, NewDeadlines,
    QuestionCursor, REDACTED, Redaction, RedactionError, RedactionFault, SessionError, SessionFault, SessionResult,
    SessionService, SessionServiceExt, Since, Summary, effective_events, forward_session_service, open_questions,
    summary_event,
};
#[cfg(feature = "inmemory")]
pub use pleach_session_inmemory::InMemorySessionService;
#[cfg(feature = "postgres")]
pub use pleach_session_postgres::{PostgresOptions, PostgresSessionService};
#[cfg(feature = "sqlite")]
pub use pleach_session_sqlite::{
    PerAgentSessionService, SqliteLayout, SqliteOptions, SqliteSessionService, Synchronous,
};
pub use pleach_workflow::{
    Args, BuildError, EdgeRoute, Fault, FunctionNode, FunctionTool, JoinNode, NodeRef, Output, ParallelWorker, START,
    Source, Sources, Start, Targets, ToolNode, Workflow, WorkflowBuilder, confirmation_gate, dot, dot_of_run, mermaid,
    mermaid_of_run, tool,
};

pub use pleach_context::telemetry;

/// The default route: `wf.route(check, DEFAULT, other)`.
pub const DEFAULT: EdgeRoute = EdgeRoute::Default;

/// Compiles and runs the programs of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles and runs the programs of the page on models.
#[cfg(all(doctest, feature = "models"))]
#[doc = include_str!("../../../docs/models.md")]
struct Models;

/// Compiles and runs the programs of the page on MCP servers.
#[cfg(all(doctest, feature = "mcp"))]
#[doc = include_str!("../../../docs/mcp.md")]
struct Mcp;

/// Compiles and runs the programs of the page on OpenAPI documents.
#[cfg(all(doctest, feature = "openapi"))]
#[doc = include_str!("../../../docs/openapi.md")]
struct OpenApi;

/// Compiles and runs the programs of the page on agents.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/agents.md")]
struct Agents;

/// Compiles and runs the programs of the page on steps.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/steps.md")]
struct Steps;

/// Compiles and runs the programs of the page on traces and metrics.
#[cfg(all(doctest, feature = "inmemory", feature = "otel"))]
#[doc = include_str!("../../../docs/tracing.md")]
struct Tracing;

/// Compiles and runs the programs of the page on tests.
#[cfg(all(doctest, feature = "inmemory", feature = "testkit"))]
#[doc = include_str!("../../../docs/testing-your-workflow.md")]
struct Testing;

/// Compiles and runs the programs of the page on tools.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tools.md")]
struct Tools;

/// Compiles and runs the programs of the page on plugins.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/plugins.md")]
struct Plugins;

/// Compiles the programs of the page on the server.
#[cfg(all(doctest, feature = "dev", feature = "sqlite"))]
#[doc = include_str!("../../../docs/server.md")]
struct ServerPage;

/// Compiles and runs the programs of the getting-started page.
#[cfg(all(doctest, feature = "inmemory", feature = "sqlite"))]
#[doc = include_str!("../../../docs/getting-started.md")]
struct GettingStarted;

/// Compiles and runs the programs of the page on concepts.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/concepts.md")]
struct Concepts;

/// Compiles and runs the programs of the page on questions.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/human-in-the-loop.md")]
struct HumanInTheLoop;

/// Compiles and runs the programs of the page on parallel work.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/parallel.md")]
struct Parallel;

/// Compiles and runs the programs of the page on state.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/state.md")]
struct StatePage;

/// Compiles and runs the program of the page on sessions.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/sessions.md")]
struct Sessions;

/// Compiles and runs the program of the page on deleting data.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/deleting-data.md")]
struct DeletingData;

/// Compiles and runs the programs of the page on errors.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/errors.md")]
struct Errors;

/// Compiles the program of the page on deployment.
#[cfg(all(doctest, feature = "inmemory", feature = "server"))]
#[doc = include_str!("../../../docs/deployment.md")]
struct Deployment;

/// Compiles and runs the programs of the page for users of LangGraph.
#[cfg(all(doctest, feature = "inmemory"))]
#[doc = include_str!("../../../docs/from-langgraph.md")]
struct FromLangGraph;
