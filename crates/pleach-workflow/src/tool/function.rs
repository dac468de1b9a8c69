//! [`FunctionTool`]: a handler that models and graphs call as a tool.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use pleach_context::{ConfirmationRequest, Need, NodeError, Tool, ToolContext, ToolResult, coerce_arguments};
use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::handler::ToolHandler;
use super::params::missing_arguments_reply;

type Call = dyn Fn(&str, &Map, &ToolContext) -> BoxFuture<'static, Result<ToolResult, NodeError>> + Send + Sync;

type Words = dyn Fn(&ToolContext, &Map) -> Option<ConfirmationRequest> + Send + Sync;

type Condition = dyn Fn(&ToolContext, &Map) -> bool + Send + Sync;

/// A tool made from a handler. Cheap to clone: clones are the same tool.
///
/// For missing or unfitting arguments the result is `{"error": …}`, and the handler is not called.
/// ADK: `FunctionTool`
///
/// # Example
/// ```
/// # use pleach_workflow::{Args, FunctionTool};
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// #[derive(Deserialize, JsonSchema)]
/// struct Lookup {
///     /// The number on the bill.
///     order: String,
/// }
///
/// async fn look_up(Args(lookup): Args<Lookup>) -> String {
///     format!("{} is on its way", lookup.order)
/// }
///
/// let tool = FunctionTool::new("look_up", "Finds an order.", look_up).require_confirmation();
/// # drop(tool);
/// ```
// L107
#[derive(Clone)]
pub struct FunctionTool {
    declaration: Arc<FunctionDeclaration>,
    call: Arc<Call>,
    needs: Arc<[Need]>,
    confirm: Option<Arc<Condition>>,
    words: Option<Arc<Words>>,
    long_running: bool,
}

/// Makes a tool from a handler. The handler is an `async fn` that returns a serialisable value or a `Result` of one.
/// If the tool has parameters, [`Args<T>`](crate::Args) comes first. The handler may also take [`ToolContext`],
/// [`FromState<T>`](pleach_context::FromState) and [`Shared<T>`](pleach_context::Shared).
///
/// Models see the description and the documentation of the fields of `T`.
pub fn tool<H, M>(name: impl Into<String>, description: impl Into<String>, handler: H) -> FunctionTool
where
    H: ToolHandler<M>,
{
    FunctionTool::new(name, description, handler)
}

impl FunctionTool {
    /// Returns a tool of this name and description that calls `handler`. See [`tool`].
    pub fn new<H, M>(name: impl Into<String>, description: impl Into<String>, handler: H) -> Self
    where
        H: ToolHandler<M>,
    {
        let mut declaration = FunctionDeclaration::new(name, description);
        if let Some(schema) = handler.schema() {
            let schema = titled(declaration.name.as_deref().unwrap_or_default(), schema);
            declaration = declaration.with_parameters(schema);
        }
        let mut needs = Vec::new();
        handler.needs(&mut needs);
        Self {
            declaration: Arc::new(declaration),
            call: Arc::new(move |tool: &str, args: &Map, ctx: &ToolContext| handler.call(tool, args, ctx)),
            needs: needs.into(),
            confirm: None,
            words: None,
            long_running: false,
        }
    }

    /// Declares the arguments with a JSON schema instead of the type, for handlers whose arguments are known only at
    /// run time (`Args<Map>`).
    #[must_use]
    pub fn parameters(mut self, schema: Value) -> Self {
        let declaration = Arc::unwrap_or_clone(self.declaration);
        self.declaration = Arc::new(declaration.with_parameters(schema));
        self
    }

    /// Asks a person to approve every call before the handler is called.
    // R852
    #[must_use]
    pub fn require_confirmation(mut self) -> Self {
        self.confirm = Some(Arc::new(|_, _| true));
        self
    }

    /// Asks a person to approve the calls for which `condition` is true, and calls whose arguments do not fit `T`.
    #[must_use]
    pub fn confirm_if<T: DeserializeOwned>(
        mut self,
        condition: impl Fn(&ToolContext, &T) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.confirm =
            Some(Arc::new(move |ctx, args| coerce_arguments(args).map_or(true, |args| condition(ctx, &args))));
        self
    }

    /// Sets how a person is asked to approve a call. `words` makes the request from the call's arguments: the text, who
    /// is asked, and how long the answer may take. Every call needs an approval unless [`confirm_if`](Self::confirm_if)
    /// selects the calls. If the arguments do not fit `T`, the default text is used.
    ///
    /// ```
    /// # use pleach_context::ConfirmationRequest;
    /// # use pleach_workflow::{Args, tool};
    /// # use schemars::JsonSchema;
    /// # use serde::Deserialize;
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Refund {
    ///     cents: u32,
    /// }
    ///
    /// let refund = tool("refund", "Pays back.", async |Args(refund): Args<Refund>| refund.cents)
    ///     .confirm_with(|_, refund: &Refund| ConfirmationRequest::new(format!("Refund {} cents?", refund.cents)));
    /// # drop(refund);
    /// ```
    #[must_use]
    pub fn confirm_with<T: DeserializeOwned>(
        mut self,
        words: impl Fn(&ToolContext, &T) -> ConfirmationRequest + Send + Sync + 'static,
    ) -> Self {
        self.confirm.get_or_insert_with(|| Arc::new(|_, _| true));
        self.words = Some(Arc::new(move |ctx, args| coerce_arguments(args).ok().map(|args| words(ctx, &args))));
        self
    }

    /// Marks the tool as long-running: it starts work whose result a client sends later, and its description asks the
    /// model not to call it again in the meantime. The later result is free-form: it is not checked against the
    /// handler's result type, which describes only the start. ADK: `LongRunningFunctionTool`
    #[must_use]
    #[doc(alias = "LongRunningFunctionTool")]
    pub fn long_running(mut self) -> Self {
        if !self.long_running {
            self.long_running = true;
            let declaration = Arc::make_mut(&mut self.declaration);
            let description = declaration.description.take();
            let reply = description.into_iter().chain([LONG_RUNNING.to_owned()]).collect::<Vec<_>>().join("\n\n");
            declaration.description = Some(reply);
        }
        self
    }
}

/// The note at the end of a long-running tool's description.
const LONG_RUNNING: &str = "This tool only starts something that takes long. Once it has answered that its work is pending, do not call it again for the same work.";

/// Returns the schema of the arguments for the declaration: titled after the tool, without the Rust type's description.
fn titled(tool: &str, mut schema: Value) -> Value {
    if let Value::Object(fields) = &mut schema {
        fields.remove("$schema");
        fields.remove("description");
        fields.insert("title".to_owned(), format!("{tool}Params").into());
    }
    schema
}

impl Tool for FunctionTool {
    fn name(&self) -> &str {
        self.declaration.name.as_deref().unwrap_or_default()
    }

    fn description(&self) -> &str {
        self.declaration.description.as_deref().unwrap_or_default()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.declaration)
    }

    fn is_long_running(&self) -> bool {
        self.long_running
    }

    fn check_require_confirmation<'a>(
        &'a self,
        args: &'a Map,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<bool, NodeError>> {
        let required = self.confirm.as_ref().is_some_and(|condition| condition(ctx, args));
        Box::pin(ready(Ok(required)))
    }

    fn confirmation(&self, args: &Map, ctx: &ToolContext) -> Option<ConfirmationRequest> {
        self.words.as_ref().and_then(|words| words(ctx, args))
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        let missing: Vec<&str> = self.declaration.required().filter(|name| !args.contains_key(*name)).collect();
        if !missing.is_empty() {
            return Box::pin(ready(Ok(missing_arguments_reply(self.name(), &missing).into())));
        }
        (self.call)(self.name(), args, ctx)
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        needs.extend_from_slice(&self.needs);
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("name", &self.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::Args;

    /// About the struct.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct City {
        /// City name.
        city: String,
        days: Option<i64>,
    }

    #[test]
    fn l59_a_declaration_says_what_the_arguments_are() {
        let weather = tool("weather", "The weather.", async |Args(_): Args<City>, _: ToolContext| "sun");
        let declared = weather.declaration().unwrap();
        let properties = json!({
            "city": {"type": "string", "description": "City name."},
            "days": {"type": ["integer", "null"], "format": "int64"},
        });
        let parameters =
            json!({"type": "object", "title": "weatherParams", "properties": properties, "required": ["city"]});
        let expected = json!({"name": "weather", "description": "The weather.", "parameters_json_schema": parameters});
        assert_eq!(serde_json::to_value(declared).unwrap(), expected);
        assert_eq!(declared.parameters().collect::<Vec<_>>(), ["city", "days"]);
        assert_eq!(declared.required().collect::<Vec<_>>(), ["city"]);
    }

    #[test]
    fn l59_a_long_running_tool_says_so_once() {
        let job = |description: &str| tool("job", description, async || ()).long_running().long_running();
        assert_eq!(job("Starts.").description(), format!("Starts.\n\n{LONG_RUNNING}"));
        assert_eq!(job("").description(), LONG_RUNNING);
        assert!(job("").is_long_running());
    }
}
