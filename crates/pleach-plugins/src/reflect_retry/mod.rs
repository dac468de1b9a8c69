//! [`ReflectAndRetryToolPlugin`]: explains a failed tool call to the model, which tries again.

mod failures;
mod guidance;

use std::fmt;
use std::sync::Arc;

use pleach_context::{Hook, InvocationContext, NodeError, Plugin, Tool, ToolContext};
use pleach_core::{BoxError, Map};
use serde_json::Value;

use crate::decided;
use crate::per_invocation::PerInvocation;
use failures::Failures;
use guidance::{Failure, RESPONSE_TYPE, reflection, surrender};

/// The scope in which the failures of a tool are counted. ADK: `TrackingScope`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrackingScope {
    /// Each invocation has its own counts.
    #[default]
    Invocation,
    /// All invocations of the process share the counts.
    Global,
}

type Extract = dyn Fn(&dyn Tool, &Map, &ToolContext, &Value) -> Option<Value> + Send + Sync;

/// Returns a tool's failure to the model, with guidance, so that the model tries again and the run does not end.
///
/// Consecutive failures are counted for each tool; a success resets the count. Beyond the limit, the run fails with the
/// tool's error, or the model is told to continue without the tool. Calls of tools that an agent does not have are
/// counted as well. Parallel calls are counted individually.
///
/// Failures are counted in memory until the invocation ends, fails or pauses; after a pause the count starts at zero.
///
/// ```
/// # use pleach_plugins::ReflectAndRetryToolPlugin;
/// let retries = ReflectAndRetryToolPlugin::new(3)
///     .throw_exception_if_retry_exceeded(false)
///     .extract_error_from_result(|_, _, _, result| result.get("error").cloned());
/// # drop(retries);
/// ```
///
/// ADK: `ReflectAndRetryToolPlugin`
pub struct ReflectAndRetryToolPlugin {
    name: String,
    max_retries: u32,
    throws: bool,
    scope: TrackingScope,
    extract: Option<Arc<Extract>>,
    of_invocations: PerInvocation<Failures>,
    of_process: Arc<Failures>,
}

/// The default is three retries.
impl Default for ReflectAndRetryToolPlugin {
    fn default() -> Self {
        Self::new(3)
    }
}

impl ReflectAndRetryToolPlugin {
    /// Creates the plugin, named `reflect_retry_tool_plugin`. If `max_retries` is 0, the first failure is beyond the
    /// limit.
    #[must_use]
    pub fn new(max_retries: u32) -> Self {
        Self {
            name: "reflect_retry_tool_plugin".to_owned(),
            max_retries,
            throws: true,
            scope: TrackingScope::default(),
            extract: None,
            of_invocations: PerInvocation::default(),
            of_process: Arc::default(),
        }
    }

    /// Sets the name of the plugin.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets whether a failure beyond the limit ends the run. By default, it does. Otherwise the model is told to
    /// continue without the tool.
    #[must_use]
    pub fn throw_exception_if_retry_exceeded(mut self, yes: bool) -> Self {
        self.throws = yes;
        self
    }

    /// Sets the scope in which failures are counted. ADK: `tracking_scope`
    #[must_use]
    pub fn tracking_scope(mut self, scope: TrackingScope) -> Self {
        self.scope = scope;
        self
    }

    /// Finds errors in the results of tools that report them as values. A value that `extract` returns is treated as a
    /// failure, unless it is null, `false`, zero or empty.
    #[must_use]
    pub fn extract_error_from_result(
        mut self,
        extract: impl Fn(&dyn Tool, &Map, &ToolContext, &Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.extract = Some(Arc::new(extract));
        self
    }

    fn failures(&self, ctx: &ToolContext) -> Arc<Failures> {
        match self.scope {
            TrackingScope::Invocation => self.of_invocations.get_or_make(ctx.invocation(), Failures::default),
            TrackingScope::Global => Arc::clone(&self.of_process),
        }
    }

    fn answer(&self, tool: &dyn Tool, args: &Map, ctx: &ToolContext, failure: Failure<'_>) -> Result<Value, BoxError> {
        if self.max_retries > 0 {
            let count = self.failures(ctx).count(tool.name());
            if count <= self.max_retries {
                return Ok(reflection(tool.name(), args, failure, count, self.max_retries));
            }
        }
        if !self.throws {
            return Ok(surrender(tool.name(), args, failure, self.max_retries));
        }
        Err(failure.text().into())
    }
}

impl Plugin for ReflectAndRetryToolPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn after_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a Map,
        ctx: &'a ToolContext,
        result: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        if result.get("response_type").and_then(Value::as_str) == Some(RESPONSE_TYPE) {
            return None;
        }
        let error = self.extract.as_ref().and_then(|extract| extract(tool, args, ctx, result)).filter(is_truthy);
        let Some(error) = error else {
            self.failures(ctx).forget(tool.name());
            return None;
        };
        decided(self.answer(tool, args, ctx, Failure::Found(&error)).map(Some))
    }

    fn on_tool_error<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a Map,
        ctx: &'a ToolContext,
        error: &'a NodeError,
    ) -> Hook<'a, Option<Value>> {
        decided(self.answer(tool, args, ctx, Failure::Raised(error)).map(Some))
    }

    fn after_run<'a>(&'a self, ic: &'a InvocationContext) -> Hook<'a, ()> {
        self.of_invocations.remove(ic);
        None
    }

    fn on_run_error<'a>(&'a self, ic: &'a InvocationContext, _: &'a NodeError) -> Hook<'a, ()> {
        self.of_invocations.remove(ic);
        None
    }
}

impl fmt::Debug for ReflectAndRetryToolPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectAndRetryToolPlugin")
            .field("name", &self.name)
            .field("max_retries", &self.max_retries)
            .field("throws", &self.throws)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}
