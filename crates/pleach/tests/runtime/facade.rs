//! The facade exports every type that users pass to its functions or get from them.

use std::sync::Arc;

use pleach::handler::{Handler, IntoYield, Shape, marker};
use pleach::{
    ArtifactReference, ArtifactResult, Blob, Bytes, CodeExecutionResult, Context, Event, ExecutableCode,
    FunctionResponsePart, InMemorySessionService, MemoryResult, OutputFor, Owned, Part, SessionResult, SessionService,
    StateOps, ToolCall, ToolResponse, VideoMetadata,
};

/// The parts of a message.
type Parts = (
    Option<Box<CodeExecutionResult>>,
    Option<Box<ExecutableCode>>,
    Option<FunctionResponsePart>,
    Option<ToolCall>,
    Option<ToolResponse>,
    Option<VideoMetadata>,
);

fn output_for(event: &Event) -> &OutputFor {
    event.output_for()
}

fn grounding(model: &pleach::ModelInfo) -> Option<&Owned> {
    model.grounding_metadata.as_ref()
}

fn state_ops(event: &Event) -> &StateOps {
    event.actions().state_ops()
}

fn data(blob: &Blob) -> Option<&Bytes> {
    blob.data.as_ref()
}

fn reference(text: &str) -> ArtifactResult<ArtifactReference> {
    ArtifactReference::parse(text)
}

/// A helper that takes handlers, as users write such helpers.
fn handler<M, H: Handler<M>>(handler: H) -> H {
    handler
}

fn shape<Args, S: Shape<Args>>(function: S) -> S {
    function
}

/// Generic code that names the marker of a result type.
fn routed<T: IntoYield<marker::Routed>>(value: T) -> T {
    value
}

async fn closed(sessions: Arc<dyn SessionService>) -> SessionResult<()> {
    sessions.close().await
}

#[tokio::test]
async fn exported_signatures_name_exported_types() {
    let event = Event::message("x");
    assert!(matches!(output_for(&event), OutputFor::None));
    assert!(state_ops(&event).is_empty());
    assert!(grounding(&pleach::ModelInfo::default()).is_none());
    let part = Part::bytes("text/plain", b"x".to_vec());
    assert_eq!(part.inline_data.as_deref().and_then(data).map(|data| data.0.len()), Some(1));
    assert!(reference("artifact://").is_err());
    let none: Parts = Default::default();
    assert!(none.0.is_none());
    let _ = handler(async |_: Context| 1);
    let _ = shape(async |_: Context| 1);
    let output = routed(pleach::Output::of(1).route("a"));
    drop(output);
    let remembered: MemoryResult<()> = Ok(());
    assert!(remembered.is_ok());
    closed(Arc::new(InMemorySessionService::new())).await.unwrap();
}

#[tokio::test]
async fn ids_and_messages_are_made_of_borrowed_strings() {
    let (user, session, message) = ("ana".to_owned(), "s1".to_owned(), "hello".to_owned());
    let (runner, _) = crate::support::runner(pleach::FunctionNode::new("n", async || 1));
    assert_eq!(runner.run(&user, &session, &message).output::<u32>().await.unwrap(), 1);
    assert_eq!(pleach::EventId::from(&message), pleach::EventId::from("hello"));
}

#[test]
fn errors_of_set_up_convert_to_build_errors() {
    fn built(model: &str) -> Result<pleach::LlmAgent, pleach::BuildError> {
        let budget = pleach::plugins::BudgetPlugin::builder();
        if model.is_empty() {
            drop(budget.build()?);
        }
        pleach::LlmAgent::builder("helper").model(pleach::model(model)?).build()
    }
    let error = built("nowhere:x").unwrap_err();
    assert_eq!(error.rule(), "setup");
    assert!(error.to_string().starts_with("unknown model provider 'nowhere'"), "{error}");
    assert!(built("").unwrap_err().to_string().starts_with("the budget limits nothing"));
}
