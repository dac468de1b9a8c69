//! [`FinishTool`]: the function that an agent calls to end its task.
// L192

use std::sync::Arc;

use pleach_context::{NodeError, Schema, Tool, ToolContext, ToolResult};
use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use pleach_model::LlmRequest;
use serde_json::{Value, json};

use crate::OutputWrapper;
use crate::guidance::{self, FINISH_TASK, FINISH_TASK_GUIDANCE};

/// The result of the call that ends a task.
pub(crate) const FINISHED: &str = "Task completed.";

/// The function that an agent calls to end its task.
pub(crate) struct FinishTool {
    schema: Option<Schema>,
    declaration: Arc<FunctionDeclaration>,
    wrapper: OutputWrapper,
}

impl FinishTool {
    pub(crate) fn new(schema: Option<&Schema>) -> Self {
        let json = schema.map(Schema::to_json);
        let (declaration, wrapper) = guidance::finish_task(json.as_ref());
        Self { schema: schema.cloned(), declaration: Arc::new(declaration), wrapper }
    }

    /// Returns the result as the model passed it, without a check.
    pub(crate) fn given(&self, args: &Map) -> Value {
        match &self.schema {
            None => Value::Object(args.clone()),
            Some(_) => self.wrapper.value(args.clone()).unwrap_or_default(),
        }
    }

    /// Returns the result in the arguments: the wrapped value if the schema does not describe an object, otherwise
    /// the arguments.
    ///
    /// # Errors
    /// The reason why the arguments do not fit.
    pub(crate) fn result(&self, args: &Map) -> Result<Value, String> {
        let Some(schema) = &self.schema else {
            return match args.get("result") {
                Some(Value::String(_)) => Ok(Value::Object(args.clone())),
                _ => Err("`result` must be a string".to_owned()),
            };
        };
        let value = self.wrapper.value(args.clone()).ok_or("`result` is missing")?;
        schema.apply(&value).map_err(|error| error.to_string())
    }
}

/// Returns the answer to a call that the model made together with a call that delegates another task.
pub(crate) fn finished_too_early() -> Value {
    json!({"error": format!(
        "`{FINISH_TASK}()` did not end the task: it was called beside an agent that still works on a part of it. Call it again, alone, when that agent has given its result."
    )})
}

/// Returns the answer to a call whose arguments do not fit.
fn refused(why: &str) -> Value {
    json!({"error": format!(
        "Invoking `{FINISH_TASK}()` failed due to validation errors:\n{why}\nCall it again with arguments that fit."
    )})
}

impl Tool for FinishTool {
    fn name(&self) -> &str {
        FINISH_TASK
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.declaration)
    }

    fn process_request<'a>(
        &'a self,
        _: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        request.append_tools([Arc::clone(&self.declaration)]);
        request.append_instructions([FINISH_TASK_GUIDANCE]);
        Box::pin(std::future::ready(Ok(())))
    }

    fn run<'a>(&'a self, args: &'a Map, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        let reply = match self.result(args) {
            Ok(_) => json!({"result": FINISHED}),
            Err(why) => refused(&why),
        };
        Box::pin(std::future::ready(Ok(reply.into())))
    }
}
