//! The parameters of tool handlers.

use pleach_context::{
    BadArgument, Context, FromContext, FromState, Need, NodeError, NodeInput, Shared, ToolContext, coerce_arguments,
};
use pleach_core::Map;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The arguments of a tool call. The fields of `T` are the parameters; models see their documentation.
///
/// Fields with a default and `Option`s are optional, and unknown arguments are dropped. A numeric string is accepted
/// where `T` expects a number.
///
/// If arguments cannot be read as a `T`, the model receives the name of the argument and the type it needs. The
/// message of your own `Deserialize` implementation is replaced by a fixed sentence, because it may quote the value.
/// For a message of your own, use a wider type and return an error from the tool.
// R504
#[derive(Clone, Debug)]
pub struct Args<T>(pub T);

/// The reason why a handler cannot be called.
#[derive(Debug)]
pub enum Unbound {
    /// The arguments do not fit. This result reports it to the caller, who may try again.
    // L107
    Told(Value),
    /// The call fails.
    Failed(NodeError),
}

/// A parameter of a tool handler other than its arguments.
///
/// Implemented by [`ToolContext`], [`FromState`] and [`Shared`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something a tool can ask for",
    label = "not a parameter of a tool",
    note = "a tool is an `async fn(Args<T>, …) -> Result<U, E>`: `Args<T>` comes first and has a field for every parameter (`T: Deserialize + JsonSchema`); the others are `ToolContext`, `FromState<T>` and `Shared<T>`"
)]
pub trait ToolParam: Sized {
    /// Extracts the parameter for a call.
    ///
    /// # Errors
    /// An error that names what is missing or does not fit; the call fails with it.
    fn from_call(ctx: &ToolContext) -> Result<Self, NodeError>;

    /// Adds the app-provided values that the parameter needs.
    fn needs(_needs: &mut Vec<Need>) {}
}

impl ToolParam for Context {
    fn from_call(ctx: &ToolContext) -> Result<Self, NodeError> {
        Ok(ctx.clone())
    }
}

impl<T: DeserializeOwned> ToolParam for FromState<T> {
    fn from_call(ctx: &ToolContext) -> Result<Self, NodeError> {
        Self::from_context(ctx, &mut NodeInput::Null)
    }
}

impl<T: Send + Sync + 'static> ToolParam for Shared<T> {
    fn from_call(ctx: &ToolContext) -> Result<Self, NodeError> {
        Self::from_context(ctx, &mut NodeInput::Null)
    }

    fn needs(needs: &mut Vec<Need>) {
        <Self as FromContext>::needs(needs);
    }
}

/// The parameters of a tool handler: [`Args`] first, if there are arguments, then [`ToolParam`]s.
#[diagnostic::on_unimplemented(
    message = "a tool cannot take these parameters: `{Self}`",
    note = "a tool is an `async fn(Args<T>, …) -> Result<U, E>`: `Args<T>` comes first and has a field for every parameter (`T: Deserialize + JsonSchema`); the others are `ToolContext`, `FromState<T>` and `Shared<T>`"
)]
pub trait ToolParams: Sized {
    /// Extracts all parameters for a call of the tool of this name.
    ///
    /// # Errors
    /// A parameter that is missing or does not fit.
    fn bind(tool: &str, args: &Map, ctx: &ToolContext) -> Result<Self, Unbound>;

    /// Returns the JSON schema of the arguments, or `None` without arguments.
    fn schema() -> Option<Value>;

    /// Adds the app-provided values that the handler needs.
    fn needs(needs: &mut Vec<Need>);
}

macro_rules! tool_params {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: ToolParam),*> ToolParams for ($($name,)*) {
            fn bind(_: &str, _: &Map, _ctx: &ToolContext) -> Result<Self, Unbound> {
                Ok(($($name::from_call(_ctx).map_err(Unbound::Failed)?,)*))
            }

            fn schema() -> Option<Value> {
                None
            }

            fn needs(_needs: &mut Vec<Need>) {
                $($name::needs(_needs);)*
            }
        }

        impl<Given: DeserializeOwned + JsonSchema, $($name: ToolParam),*> ToolParams for (Args<Given>, $($name,)*) {
            fn bind(tool: &str, args: &Map, _ctx: &ToolContext) -> Result<Self, Unbound> {
                let given = coerce_arguments(args).map_err(|bad| Unbound::Told(bad_arguments_reply(tool, &bad)))?;
                Ok((Args(given), $($name::from_call(_ctx).map_err(Unbound::Failed)?,)*))
            }

            fn schema() -> Option<Value> {
                Some(schemars::schema_for!(Given).to_value())
            }

            fn needs(_needs: &mut Vec<Need>) {
                $($name::needs(_needs);)*
            }
        }
    )*};
}

tool_params!(() (A) (A B) (A B C) (A B C D));

/// Returns the result for arguments that do not fit. The text is google-adk's, which models know.
fn bad_arguments_reply(tool: &str, bad: &[BadArgument]) -> Value {
    let line = |bad: &BadArgument| match &bad.name {
        Some(name) => format!("Parameter '{name}': {}", bad.reason),
        None => bad.reason.clone(),
    };
    let lines = bad.iter().map(line).collect::<Vec<_>>().join("\n");
    let error = format!(
        "Invoking `{tool}()` failed due to argument validation errors:\n{lines}\nYou could retry calling this tool with corrected argument types."
    );
    json!({"error": error})
}

/// Returns the result for missing arguments.
pub(super) fn missing_arguments_reply(tool: &str, missing: &[&str]) -> Value {
    let lines = missing.join("\n");
    let error = format!(
        "Invoking `{tool}()` failed as the following mandatory input parameters are not present:\n{lines}\nYou could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters."
    );
    json!({"error": error})
}
