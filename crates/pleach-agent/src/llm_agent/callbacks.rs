//! The callbacks of an agent: eight kinds, each with a list.
// L130, L131

use std::fmt;
use std::sync::Arc;

use pleach_context::{CallbackContext, NodeError, Tool, ToolContext};
use pleach_core::{BoxError, BoxFuture, Content, Map};
use pleach_model::{LlmRequest, LlmResponse};
use pleach_workflow::{Callback, ToolCallbacks};
use serde_json::Value;

macro_rules! callback {
    ($(#[$about:meta])* $name:ident($($arg:ident: $type:ty),*) -> $result:ty) => {
        $(#[$about])*
        ///
        /// Implemented for functions and closures that return a future of `Result<Option<_>, E>`, whose error
        /// converts into a boxed error.
        pub trait $name<'a>: Send + Sync + 'static {
            /// Calls the callback.
            fn call(&'a self, $($arg: $type),*) -> BoxFuture<'a, Result<Option<$result>, NodeError>>;
        }

        impl<'a, F, R, E> $name<'a> for F
        where
            F: Fn($($type),*) -> R + Send + Sync + 'static,
            R: Future<Output = Result<Option<$result>, E>> + Send + 'a,
            E: Into<BoxError> + 'static,
        {
            fn call(&'a self, $($arg: $type),*) -> BoxFuture<'a, Result<Option<$result>, NodeError>> {
                let called = self($($arg),*);
                Box::pin(async move { called.await.map_err(NodeError::from_handler) })
            }
        }
    };
}

callback! {
    /// A callback before or after an agent runs.
    AgentCallback(ctx: CallbackContext) -> Content
}
callback! {
    /// A callback before a model is called.
    BeforeModelCallback(ctx: CallbackContext, request: &'a mut LlmRequest) -> LlmResponse
}
callback! {
    /// A callback for each response of a model.
    AfterModelCallback(ctx: CallbackContext, response: &'a LlmResponse) -> LlmResponse
}
callback! {
    /// A callback for a failed call of a model.
    ModelErrorCallback(ctx: CallbackContext, request: &'a LlmRequest, error: &'a NodeError) -> LlmResponse
}
callback! {
    /// A callback before a tool is called.
    BeforeToolCallback(tool: &'a dyn Tool, args: &'a mut Map, ctx: ToolContext) -> Value
}
callback! {
    /// A callback for the result of a tool.
    AfterToolCallback(tool: &'a dyn Tool, args: &'a Map, ctx: ToolContext, result: &'a Value) -> Value
}
callback! {
    /// A callback for the failure of a tool.
    ToolErrorCallback(tool: &'a dyn Tool, args: &'a Map, ctx: ToolContext, error: &'a NodeError) -> Value
}

type List<T> = Vec<Arc<T>>;

/// All callbacks of an agent, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Callbacks {
    pub(crate) before_agent: List<dyn for<'a> AgentCallback<'a>>,
    pub(crate) after_agent: List<dyn for<'a> AgentCallback<'a>>,
    pub(crate) before_model: List<dyn for<'a> BeforeModelCallback<'a>>,
    pub(crate) after_model: List<dyn for<'a> AfterModelCallback<'a>>,
    pub(crate) on_model_error: List<dyn for<'a> ModelErrorCallback<'a>>,
    pub(crate) before_tool: List<dyn for<'a> BeforeToolCallback<'a>>,
    pub(crate) after_tool: List<dyn for<'a> AfterToolCallback<'a>>,
    pub(crate) on_tool_error: List<dyn for<'a> ToolErrorCallback<'a>>,
}

impl Callbacks {
    /// Calls the callbacks before or after an agent's run, one after the other, until one of them returns a content.
    pub(crate) async fn agent(
        list: &List<dyn for<'a> AgentCallback<'a>>,
        ctx: &CallbackContext,
    ) -> Result<Option<Content>, NodeError> {
        for callback in list {
            let content = callback.call(ctx.clone()).await?;
            if content.is_some() {
                return Ok(content);
            }
        }
        Ok(None)
    }

    pub(crate) async fn before_model(
        &self,
        ctx: &CallbackContext,
        request: &mut LlmRequest,
    ) -> Result<Option<LlmResponse>, NodeError> {
        for callback in &self.before_model {
            let response = callback.call(ctx.clone(), request).await?;
            if response.is_some() {
                return Ok(response);
            }
        }
        Ok(None)
    }

    pub(crate) async fn after_model(
        &self,
        ctx: &CallbackContext,
        response: &LlmResponse,
    ) -> Result<Option<LlmResponse>, NodeError> {
        for callback in &self.after_model {
            let other = callback.call(ctx.clone(), response).await?;
            if other.is_some() {
                return Ok(other);
            }
        }
        Ok(None)
    }

    pub(crate) async fn on_model_error(
        &self,
        ctx: &CallbackContext,
        request: &LlmRequest,
        error: &NodeError,
    ) -> Result<Option<LlmResponse>, NodeError> {
        for callback in &self.on_model_error {
            let response = callback.call(ctx.clone(), request, error).await?;
            if response.is_some() {
                return Ok(response);
            }
        }
        Ok(None)
    }
}

/// Treats null as no value. An empty object is a value.
fn present(value: Option<Value>) -> Option<Value> {
    value.filter(|value| !value.is_null())
}

impl ToolCallbacks for Callbacks {
    fn before_tool<'a>(&'a self, tool: &'a dyn Tool, args: &'a mut Map, ctx: &'a ToolContext) -> Callback<'a> {
        if self.before_tool.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for callback in &self.before_tool {
                if let Some(value) = present(callback.call(tool, args, ctx.clone()).await?) {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }))
    }

    fn after_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a Map,
        ctx: &'a ToolContext,
        result: &'a Value,
    ) -> Callback<'a> {
        if self.after_tool.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for callback in &self.after_tool {
                if let Some(value) = present(callback.call(tool, args, ctx.clone(), result).await?) {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }))
    }

    fn on_tool_error<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a Map,
        ctx: &'a ToolContext,
        error: &'a NodeError,
    ) -> Callback<'a> {
        if self.on_tool_error.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for callback in &self.on_tool_error {
                if let Some(value) = present(callback.call(tool, args, ctx.clone(), error).await?) {
                    return Ok(Some(value));
                }
            }
            Ok(None)
        }))
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callbacks")
    }
}
