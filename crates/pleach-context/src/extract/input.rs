//! The parameters that read the input, the answers and the app's values.

use std::any::{Any, TypeId};
use std::ops::Deref;
use std::sync::Arc;

use pleach_core::{Content, Map};
use pleach_schema::{AnswerError, read_answer};
use serde::de::DeserializeOwned;

use super::{FromContext, Nothing, Takes};
use crate::{Context, Dynamic, InputKind, InputReader, Need, NodeError, NodeInput};

/// The output of the predecessor, or the user's message for the first nodes.
///
/// A message is read as text if `T` is a string type, and as JSON otherwise. `Input<Content>` is the message itself,
/// `Input<NodeInput>` is the unread input, and `Input<Dynamic>` is any JSON value.
///
/// An input that is not a `T` fails the node with a `ValidationError` that names the field and the type it needs.
/// Messages of your own `Deserialize` implementations are replaced by a fixed sentence, because error texts are stored
/// and such a message may quote the value. For a message of your own, use a wider type and check the value in the
/// handler.
// R304, R504
#[derive(Clone, Debug)]
pub struct Input<T>(pub T);

impl<T: DeserializeOwned + 'static> FromContext for Input<T> {
    type Wants = Takes<T>;

    fn from_context(_: &Context, input: &mut NodeInput) -> Result<Self, NodeError> {
        let input = std::mem::take(input);
        if TypeId::of::<T>() == TypeId::of::<Content>()
            && let Some(content) = input.content()
        {
            let content: Box<dyn Any> = Box::new(content.clone());
            if let Ok(content) = content.downcast::<T>() {
                return Ok(Self(*content));
            }
        }
        input.parse().map(Self)
    }

    fn reads() -> Option<InputReader> {
        (InputKind::of::<T>() == InputKind::Typed).then(InputReader::of::<T>)
    }
}

impl FromContext for Input<Dynamic> {
    type Wants = Takes<Dynamic>;

    fn from_context(_: &Context, input: &mut NodeInput) -> Result<Self, NodeError> {
        Ok(Self(Dynamic(std::mem::take(input).into_value())))
    }
}

/// The unread input.
impl FromContext for Input<NodeInput> {
    type Wants = Takes<Dynamic>;

    fn from_context(_: &Context, input: &mut NodeInput) -> Result<Self, NodeError> {
        Ok(Self(std::mem::take(input)))
    }
}

/// The answer to this node's question, if the run resumes with one.
///
/// If there are several answers, `T` is read from the map of question id to answer. An answer that cannot be read as a
/// `T` is ignored, with a warning in the log, so that the node asks again.
#[derive(Clone, Debug)]
pub struct Resume<T>(pub Option<T>);

impl<T: DeserializeOwned> FromContext for Resume<T> {
    type Wants = Nothing;

    fn from_context(ctx: &Context, _: &mut NodeInput) -> Result<Self, NodeError> {
        let answers = ctx.resume_inputs();
        let answer = match answers.len() {
            0 => return Ok(Self(None)),
            1 => answers.values().next().map(read_answer),
            _ => Some(read_answer(&serde_json::Value::Object(answers.clone()))),
        };
        let taken = answer.transpose();
        Ok(Self(taken.inspect_err(|error| warn_unread(ctx, error)).unwrap_or_default()))
    }
}

/// Logs a warning about a stored answer that cannot be read as the parameter's type. Stored schemas do not describe
/// that type, so such an answer can be stored.
pub(crate) fn warn_unread(ctx: &Context, error: &AnswerError) {
    tracing::warn!(node = %ctx.node_path(), misfit = %error, "a stored answer does not fit the type that the node reads: the node asks again");
}

/// All answers to this node's questions, by question id; empty unless the run resumes.
#[derive(Clone, Debug)]
pub struct Answers(pub Map);

impl FromContext for Answers {
    type Wants = Nothing;

    fn from_context(ctx: &Context, _: &mut NodeInput) -> Result<Self, NodeError> {
        Ok(Self(ctx.resume_inputs().clone()))
    }
}

/// A value that the app provides: a pool, a client, settings. Building the Runner fails if nothing provides it.
#[derive(Debug)]
pub struct Shared<T>(pub Arc<T>);

impl<T: Send + Sync + 'static> FromContext for Shared<T> {
    type Wants = Nothing;

    fn from_context(ctx: &Context, _: &mut NodeInput) -> Result<Self, NodeError> {
        let found = ctx.inner.invocation.services().provided.get::<T>();
        found.map(Self).ok_or_else(|| {
            NodeError::new(
                "WorkflowConfigurationError",
                format!(
                    "nothing provides a `{}`: call `.provide(…)` on the builder of the runner",
                    std::any::type_name::<T>()
                ),
            )
        })
    }

    fn needs(needs: &mut Vec<Need>) {
        needs.push(Need::of::<T>());
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
