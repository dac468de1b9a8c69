//! The traits of tool handlers.

use std::future::{Future, ready};

use pleach_context::{Dynamic, Need, NodeError, ToolContext, ToolResult};
use pleach_core::{BoxError, BoxFuture, Map};
use serde::Serialize;
use serde_json::Value;

use super::kept::unkept;
use super::params::{ToolParams, Unbound};
use crate::function::{ResultWhoseErrorIsNotSerializable, Shape, marker};

/// A function that can be a tool: an `async fn` whose parameters are [`ToolParams`] and whose result is a
/// [`ToolReply`]. The marker `M` is inferred.
pub trait ToolHandler<M>: Send + Sync + 'static {
    /// Returns the JSON schema of the arguments, or `None` without arguments.
    fn schema(&self) -> Option<Value>;

    /// Starts a call of the tool with this name. If arguments do not fit, the result reports them.
    fn call(&self, tool: &str, args: &Map, ctx: &ToolContext) -> BoxFuture<'static, Result<ToolResult, NodeError>>;

    /// Adds the app-provided values that the handler needs.
    fn needs(&self, needs: &mut Vec<Need>);
}

impl<F, P, HowItReturns> ToolHandler<(P, HowItReturns)> for F
where
    F: Shape<P>,
    P: ToolParams,
    F::Ret: Future + Send + 'static,
    <F::Ret as Future>::Output: ToolReply<HowItReturns>,
{
    fn schema(&self) -> Option<Value> {
        P::schema()
    }

    fn call(&self, tool: &str, args: &Map, ctx: &ToolContext) -> BoxFuture<'static, Result<ToolResult, NodeError>> {
        match P::bind(tool, args, ctx) {
            Ok(params) => {
                let body = self.invoke(params);
                Box::pin(async move { body.await.into_reply() })
            }
            Err(Unbound::Told(reply)) => Box::pin(ready(Ok(reply.into()))),
            Err(Unbound::Failed(error)) => Box::pin(ready(Err(error))),
        }
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        P::needs(needs);
    }
}

/// A value that the handler of a tool can return. The marker `M` is inferred.
///
/// Implemented for every `Serialize` type (null means no result), [`Dynamic`], [`ToolResult`], and `Result` of them.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not the result of a tool",
    note = "return a type that derives `serde::Serialize`, a `Dynamic`, a `ToolResult`, or a `Result` of one of them whose error is `Into<Box<dyn Error + Send + Sync>>`"
)]
pub trait ToolReply<M>: 'static {
    /// Turns the value into the result of a call.
    ///
    /// # Errors
    /// The error of a `Result`.
    fn into_reply(self) -> Result<ToolResult, NodeError>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + 'static> ToolReply<marker::AnySerializable> for T {
    fn into_reply(self) -> Result<ToolResult, NodeError> {
        // The handler has done its work. A failure would end the run, and a resume would call the handler again.
        let value = pleach_core::into_json(self)
            .unwrap_or_else(|error| unkept(&format!("the value has no JSON form: {error}")));
        Ok(value.into())
    }
}

impl ToolReply<marker::Untyped> for Dynamic {
    fn into_reply(self) -> Result<ToolResult, NodeError> {
        Ok(self.0.into())
    }
}

impl ToolReply<marker::Untyped> for ToolResult {
    fn into_reply(self) -> Result<ToolResult, NodeError> {
        Ok(self)
    }
}

impl<T: ToolReply<M>, E: Into<BoxError> + 'static, M: 'static> ToolReply<ResultWhoseErrorIsNotSerializable<M>>
    for Result<T, E>
{
    fn into_reply(self) -> Result<ToolResult, NodeError> {
        self.map_err(NodeError::from_handler)?.into_reply()
    }
}
