//! Calls, whole or in pieces.
// L234, L236

use pleach_core::{Bytes, FunctionCall, IdGen, Part};
use pleach_model::CLIENT_CALL_ID_PREFIX;
use serde_json::Value;

use super::arguments;

/// The calls of one answer, in the order in which they began.
#[derive(Default)]
pub(super) struct Calls(Vec<Call>);

struct Call {
    /// The place that the provider gives it.
    index: Option<u64>,
    /// The provider's id.
    given_id: Option<String>,
    id: String,
    name: String,
    arguments: String,
    signature: Option<Bytes>,
}

impl Calls {
    /// How many calls have begun.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a whole call in.
    pub(super) fn push_whole(&mut self, call: &Value, ids: &dyn IdGen) {
        let index = Some(self.0.len() as u64);
        self.begin(index, given_id(call), ids);
        self.extend(self.0.len() - 1, call);
    }

    /// Takes a piece of a call in; returns the call as it begins, when the piece begins one.
    pub(super) fn push_piece(&mut self, piece: &Value, ids: &dyn IdGen) -> Option<FunctionCall> {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = given_id(piece);
        let place = self.place(index, id);
        let begins = place.is_none();
        let place = place.unwrap_or_else(|| self.begin(index, id, ids));
        self.extend(place, piece);
        let call = &self.0[place];
        begins.then(|| FunctionCall {
            id: Some(call.id.clone()),
            name: Some(call.name.clone()).filter(|name| !name.is_empty()),
            will_continue: Some(true),
            ..FunctionCall::default()
        })
    }

    /// The call that a piece belongs to: that of its index, unless it has an id of its own. A piece without an index
    /// belongs to the last call.
    fn place(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let belongs = |call: &Call| match (index, id) {
            (Some(_), _) if call.index != index => false,
            // Some servers give every call the same index.
            (_, Some(id)) => call.given_id.as_deref() == Some(id) || (index.is_some() && call.given_id.is_none()),
            (_, None) => true,
        };
        self.0.iter().rposition(belongs)
    }

    fn begin(&mut self, index: Option<u64>, id: Option<&str>, ids: &dyn IdGen) -> usize {
        self.0.push(Call {
            index,
            given_id: id.map(str::to_owned),
            id: id.map_or_else(|| format!("{CLIENT_CALL_ID_PREFIX}{}", ids.uuid()), str::to_owned),
            name: String::new(),
            arguments: String::new(),
            signature: None,
        });
        self.0.len() - 1
    }

    fn extend(&mut self, place: usize, piece: &Value) {
        let call = &mut self.0[place];
        let function = piece.get("function");
        if let Some(name) = function.and_then(|function| function.get("name")?.as_str())
            // Some servers repeat the name on every piece.
            && name != call.name
        {
            call.name.push_str(name);
        }
        match function.and_then(|function| function.get("arguments")) {
            Some(Value::String(text)) => call.arguments.push_str(text),
            Some(Value::Null) | None => {}
            Some(whole) => call.arguments = whole.to_string(),
        }
        if call.signature.is_none() {
            call.signature = signature(piece);
        }
    }

    /// Returns the calls.
    ///
    /// # Errors
    /// The names of the calls whose arguments cannot be read, or that have no name.
    pub(super) fn into_parts(self) -> Result<Vec<Part>, Vec<String>> {
        let mut parts = Vec::new();
        let mut unreadable = Vec::new();
        for call in self.0 {
            match arguments::read(&call.arguments).filter(|_| !call.name.is_empty()) {
                Some(arguments) => {
                    let function_call = FunctionCall::new(call.id, call.name, arguments);
                    parts.push(Part { thought_signature: call.signature, ..Part::function_call(function_call) });
                }
                None => unreadable.push(call.name),
            }
        }
        if unreadable.is_empty() { Ok(parts) } else { Err(unreadable) }
    }
}

fn given_id(call: &Value) -> Option<&str> {
    call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
}

/// The signature of Gemini on a call, from servers in front of it.
fn signature(call: &Value) -> Option<Bytes> {
    let google = call.get("extra_content").and_then(|extra| extra.get("google")?.get("thought_signature"));
    let fields = || call.get("provider_specific_fields")?.get("thought_signature");
    Bytes::from_base64(google.or_else(fields)?.as_str()?).ok()
}
