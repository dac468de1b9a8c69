//! [`AnswerTool`]: the function that a model calls to answer in the form of a schema.
// L60, L61

use std::sync::Arc;

use pleach_context::{NodeError, Schema, Tool, ToolContext, ToolResult};
use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use serde_json::{Value, json};

use crate::OutputWrapper;
use crate::guidance::{self, SET_MODEL_RESPONSE};

/// The function that a model calls to answer in the form of a schema.
pub(crate) struct AnswerTool {
    schema: Schema,
    declaration: Arc<FunctionDeclaration>,
    wrapper: OutputWrapper,
}

impl AnswerTool {
    pub(crate) fn new(schema: &Schema) -> Self {
        let (declaration, wrapper) = guidance::set_model_response(&schema.to_json());
        Self { schema: schema.clone(), declaration: Arc::new(declaration), wrapper }
    }

    fn take(&self, args: &Map, ctx: &ToolContext) -> Result<Value, NodeError> {
        let Some(value) = self.wrapper.value(args.clone()) else {
            return Ok(misfit("the answer is missing"));
        };
        let value = match self.schema.apply(&value) {
            Ok(value) => value,
            Err(error) => return Ok(misfit(error)),
        };
        ctx.with_actions(|actions| actions.set_set_model_response(Some(value.clone())))?;
        Ok(value)
    }
}

/// Returns the result for an answer that does not fit. The model may try again.
fn misfit(why: impl std::fmt::Display) -> Value {
    json!({"error": format!("Invoking `{SET_MODEL_RESPONSE}()` failed due to validation errors:\n{why}\nCall it again with an answer that fits the schema.")})
}

impl Tool for AnswerTool {
    fn name(&self) -> &str {
        SET_MODEL_RESPONSE
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.declaration)
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        Box::pin(async move { self.take(args, ctx).map(ToolResult::from) })
    }
}
