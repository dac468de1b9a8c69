//! Requests to models.

use std::fmt;
use std::sync::Arc;

use pleach_core::{Content, FunctionDeclaration};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{GenerateConfig, RequestTool, SharedContent};

/// A request to a model: contents and settings. ADK: `LlmRequest`
///
/// The contents are shared with the session's events: building a request copies none of them, and cloning it is cheap.
///
/// JSON: `{"model", "contents", "config"}` in snake_case; [`to_camel`](pleach_core::to_camel) returns the names of the
/// wire.
///
/// ```
/// use pleach_core::{Content, FunctionDeclaration};
/// use pleach_model::LlmRequest;
///
/// let mut request = LlmRequest::new("gemini-3.5-flash");
/// request.append_instructions(["Be brief.", "Answer in French."]);
/// request.append_tools([FunctionDeclaration::new("weather", "The weather in a city.")]);
/// request.contents.push(Content::user("Oslo?").into());
/// assert_eq!(request.config.system_instruction.as_deref(), Some("Be brief.\n\nAnswer in French."));
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct LlmRequest {
    /// The name of the model.
    pub model: Option<String>,
    /// The conversation, oldest content first.
    pub contents: Vec<SharedContent>,
    /// The settings with which the model generates.
    pub config: GenerateConfig,
    pub(crate) static_prefix: StaticPrefix,
    pub(crate) last_instructions: Vec<String>,
}

/// The position of the contents that a static instruction has added. It stays the same, so that the beginning of the
/// request hits the provider's cache.
// L34
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum StaticPrefix {
    /// There are no such contents.
    #[default]
    None,
    /// The contents have not been placed yet.
    Unplaced,
    /// The contents before this index.
    Until(usize),
}

impl LlmRequest {
    /// Creates a request to the model with this name, without contents.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..Self::default() }
    }

    /// Declares functions that the model may call, after the ones already declared.
    ///
    /// If two functions have the same name, both are declared; check with [`declares`](Self::declares) first.
    // L56
    pub fn append_tools<D>(&mut self, declarations: impl IntoIterator<Item = D>)
    where
        D: Into<Arc<FunctionDeclaration>>,
    {
        let mut declarations = declarations.into_iter().map(Into::into).peekable();
        if declarations.peek().is_none() {
            return;
        }
        let tools = self.config.tools.get_or_insert_default();
        let existing = tools.iter_mut().find_map(|tool| match tool {
            RequestTool::Functions(functions) if !functions.is_empty() => Some(functions),
            _ => None,
        });
        match existing {
            Some(functions) => functions.extend(declarations),
            None => tools.push(RequestTool::Functions(declarations.collect())),
        }
    }

    /// Iterates over the declared functions, in order.
    pub fn declarations(&self) -> impl Iterator<Item = &FunctionDeclaration> {
        let functions = self.config.tools.iter().flatten().flat_map(|tool| match tool {
            RequestTool::Functions(functions) => functions.as_slice(),
            RequestTool::Provider(_) => &[],
        });
        functions.map(|declared| &**declared)
    }

    /// Returns true if a function of this name is declared.
    pub fn declares(&self, name: &str) -> bool {
        self.declarations().any(|declaration| declaration.name.as_deref() == Some(name))
    }

    /// Requires an answer in JSON that fits the JSON Schema.
    // L26
    pub fn set_output_schema(&mut self, schema: Value) {
        self.config.response_schema = Some(schema);
        self.config.response_mime_type = Some("application/json".to_owned());
    }

    /// Ensures that the request ends with a content of the user. Otherwise providers refuse it or return no answer.
    ///
    /// A request without contents gets a content that refers to the system instruction. If the last content is the
    /// model's, the request gets a content that asks the model to continue. Clients of providers call this.
    /// ADK: `_maybe_append_user_content`
    // L213
    pub fn ensure_user_turn(&mut self) {
        let text = match self.contents.last() {
            None => "Do what the system instruction asks for.",
            Some(last) if last.role() == Some("user") => return,
            Some(_) => {
                "Continue with what was asked for before, as instructed. When nothing is left to do, summarize the result or stop."
            }
        };
        self.contents.push(Content::user(text).into());
    }
}

/// Debug output shows the size of the request, but none of its contents.
impl fmt::Debug for LlmRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmRequest")
            .field("model", &self.model)
            .field("contents", &self.contents.len())
            .field("declarations", &self.declarations().count())
            .finish_non_exhaustive()
    }
}

impl Serialize for LlmRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("LlmRequest", 3)?;
        if let Some(model) = &self.model {
            object.serialize_field("model", model)?;
        }
        object.serialize_field("contents", &self.contents)?;
        object.serialize_field("config", &self.config)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::{Event, Owned, to_camel};
    use serde_json::json;

    use super::*;

    #[test]
    fn l56_all_declarations_are_in_one_tool() {
        let mut request = LlmRequest::new("m");
        request.append_tools::<FunctionDeclaration>([]);
        assert_eq!(request.config.tools, None);
        request.config.tools = Some(vec![RequestTool::Provider(Owned::new(json!({"google_search": {}})))]);
        request.append_tools([FunctionDeclaration::new("a", "")]);
        request.append_tools([FunctionDeclaration::new("b", "does b"), FunctionDeclaration::new("a", "")]);
        assert!(request.declares("b") && !request.declares("c"));
        let declared = [json!({"name": "a"}), json!({"name": "b", "description": "does b"}), json!({"name": "a"})];
        assert_eq!(
            to_camel(&request).unwrap(),
            json!({
                "model": "m",
                "contents": [],
                "config": {"tools": [{"googleSearch": {}}, {"functionDeclarations": declared}]},
            })
        );
    }

    #[test]
    fn l26_a_schema_demands_json() {
        let mut request = LlmRequest::default();
        request.set_output_schema(json!({"type": "object"}));
        let config = json!({"responseMimeType": "application/json", "responseSchema": {"type": "object"}});
        assert_eq!(to_camel(&request).unwrap(), json!({"contents": [], "config": config}));
    }

    #[test]
    fn l213_a_request_ends_with_the_user() {
        let mut request = LlmRequest::default();
        request.ensure_user_turn();
        request.ensure_user_turn();
        assert_eq!(request.contents.len(), 1);
        request.contents.push(Content::model("done").into());
        request.ensure_user_turn();
        let roles: Vec<_> = request.contents.iter().map(|content| content.role()).collect();
        assert_eq!(roles, [Some("user"), Some("model"), Some("user")]);
    }

    /// No operation on the request copies any part of a long history.
    #[test]
    fn a_request_over_ten_thousand_events_shares_their_contents() {
        let events: Vec<Arc<Event>> = (0..10_000).map(|n| Arc::new(Event::message(format!("message {n}")))).collect();
        let mut request = LlmRequest::new("m");
        request.contents = events.iter().filter_map(SharedContent::of).collect();
        request.append_instructions(["Be brief."]);
        request.contents.push(Content::user("now").into());
        let copy = request.clone();
        request.contents[5_000].to_mut().parts_mut().clear();
        let shared = |request: &LlmRequest| {
            request.contents.iter().zip(&events).filter(|(content, event)| content.is_shared_with(event)).count()
        };
        assert_eq!((shared(&copy), shared(&request)), (10_000, 9_999));
        assert_eq!(format!("{copy:?}"), "LlmRequest { model: Some(\"m\"), contents: 10001, declarations: 0, .. }");
    }
}
