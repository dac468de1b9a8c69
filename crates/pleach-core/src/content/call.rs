//! Function calls and their responses.

use serde_json::Value;

use crate::content::{Blob, FileData};
use crate::json::json_object;
use crate::{Map, Owned};

json_object! {
    /// The description of a function that a model may call. ADK: `types.FunctionDeclaration`
    pub struct FunctionDeclaration keep {
        /// The name of the function.
        name: Option<String> = "name",
        /// A description of what the function does.
        description: Option<String> = "description",
        /// The JSON schema of the arguments: an object.
        parameters_json_schema: Option<Value> = "parameters_json_schema" | "parametersJsonSchema",
    }
}

impl FunctionDeclaration {
    /// Declares a function that takes no arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let description = Some(description.into()).filter(|text: &String| !text.is_empty());
        Self { name: Some(name.into()), description, ..Self::default() }
    }

    /// Sets the JSON schema of the arguments.
    pub fn with_parameters(mut self, schema: Value) -> Self {
        self.parameters_json_schema = Some(schema);
        self
    }

    /// Returns the names of the arguments.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let properties = self.member("properties").and_then(Value::as_object).into_iter().flatten();
        properties.map(|(name, _)| name.as_str())
    }

    /// Returns the names of the arguments that a call must have.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.member("required").and_then(Value::as_array).into_iter().flatten();
        required.filter_map(Value::as_str)
    }

    fn member(&self, name: &str) -> Option<&Value> {
        self.parameters_json_schema.as_ref()?.get(name)
    }
}

json_object! {
    /// A model's request to call a function. ADK: `types.FunctionCall`
    pub struct FunctionCall keep {
        /// The id of the call; the response has the same id.
        id: Option<String> = "id",
        /// The arguments: user data, whose keys are never renamed.
        args: Option<Map> = "args",
        /// The name of the function.
        name: Option<String> = "name",
        /// Pieces of the arguments while a call is streamed.
        partial_args: Option<Box<Owned>> = "partial_args" | "partialArgs",
        /// Whether more pieces follow.
        will_continue: Option<bool> = "will_continue" | "willContinue",
    }
}

impl FunctionCall {
    /// Creates a call with an id and arguments.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: Map) -> Self {
        Self { id: Some(id.into()), name: Some(name.into()), args: Some(args), ..Self::default() }
    }
}

json_object! {
    /// The result of a function call. ADK: `types.FunctionResponse`
    pub struct FunctionResponse keep {
        /// Whether more responses to the same call follow.
        will_continue: Option<bool> = "will_continue" | "willContinue",
        /// The time at which the model should react, for example `WHEN_IDLE`.
        scheduling: Option<String> = "scheduling",
        /// Media that belong to the response.
        parts: Option<Vec<FunctionResponsePart>> = "parts",
        /// The id of the call.
        id: Option<String> = "id",
        /// The name of the function.
        name: Option<String> = "name",
        /// The result: user data, whose keys are never renamed.
        response: Option<Map> = "response",
    }
}

impl FunctionResponse {
    /// Creates the response to the call `id` of the function `name`.
    pub fn new(id: impl Into<String>, name: impl Into<String>, response: Map) -> Self {
        Self { id: Some(id.into()), name: Some(name.into()), response: Some(response), ..Self::default() }
    }
}

json_object! {
    /// One piece of media in a function response. ADK: `types.FunctionResponsePart`
    pub struct FunctionResponsePart keep {
        /// Media in the message itself.
        inline_data: Option<Blob> = "inline_data" | "inlineData",
        /// Media stored elsewhere.
        file_data: Option<FileData> = "file_data" | "fileData",
        /// How the media are to be processed.
        media_processing: Option<Box<Owned>> = "media_processing" | "mediaProcessing",
    }
}

json_object! {
    /// Code that a model wrote for execution. ADK: `types.ExecutableCode`
    pub struct ExecutableCode keep {
        /// The program text.
        code: Option<String> = "code",
        /// The programming language, for example `PYTHON`.
        language: Option<String> = "language",
        /// The id of this piece of code.
        id: Option<String> = "id",
    }
}

json_object! {
    /// The result of running a model's code. ADK: `types.CodeExecutionResult`
    pub struct CodeExecutionResult keep {
        /// The outcome, for example `OUTCOME_OK`.
        outcome: Option<String> = "outcome",
        /// The output of the program, or the reason why it failed.
        output: Option<String> = "output",
        /// The id of the code.
        id: Option<String> = "id",
    }
}

json_object! {
    /// A call of a tool that runs on the model's side. ADK: `types.ToolCall`
    pub struct ToolCall keep {
        /// The id of the call.
        id: Option<String> = "id",
        /// The kind of tool.
        tool_type: Option<String> = "tool_type" | "toolType",
        /// The arguments: user data, whose keys are never renamed.
        args: Option<Map> = "args",
    }
}

json_object! {
    /// The result of a tool on the model's side. ADK: `types.ToolResponse`
    pub struct ToolResponse keep {
        /// The id of the call.
        id: Option<String> = "id",
        /// The kind of tool.
        tool_type: Option<String> = "tool_type" | "toolType",
        /// The result: user data, whose keys are never renamed.
        response: Option<Map> = "response",
    }
}
