//! Arranges calls and their responses in a history as the API demands.
//!
//! The API refuses a call without a response, a response without a call, and responses that do not follow their calls.
//! It reads the key `$ref` in a response as a reference to media.

use std::collections::{HashMap, HashSet, VecDeque};

use pleach_core::{Content, FunctionCall, FunctionResponse, Map, Part};
use pleach_model::SharedContent;
use serde_json::{Value, json};

use crate::wire::MISSING_RESULT;

/// The index of a content, and the index of a part in it.
type Place = (usize, usize);

/// Puts the responses to the calls of a content after it, one for each call, in the order of the calls.
///
/// Contents that are correct already stay shared. A call without a response gets a response that reports this. If a
/// call has several responses, the last one is kept. A response without a call becomes a text, unless a cache may hold
/// the call (`is_cached`).
pub(super) fn pair(contents: &[SharedContent], is_cached: bool) -> Vec<SharedContent> {
    let mut pairs = Pairs::of(contents);
    pairs.leave_what_is_in_place(contents);
    let mut paired = Vec::with_capacity(contents.len());
    for (number, content) in contents.iter().enumerate() {
        paired.extend(pairs.rest(content, number, is_cached));
        if let Some(answers) = pairs.answers.get(&number) {
            let calls = content.function_calls().zip(answers);
            let parts = calls.map(|(call, answer)| {
                response_part(call, answer.map(|(content, part)| &contents[content].parts()[part]))
            });
            paired.push(SharedContent::from(Content::new("user", parts)).hide_client_ids());
        }
    }
    paired
}

/// The pairs of calls and responses.
#[derive(Default)]
struct Pairs {
    /// The response to each call, by the index of the content that has the calls.
    answers: HashMap<usize, Vec<Option<Place>>>,
    /// The responses that answer a call, including those that a later one replaces.
    taken: HashSet<Place>,
    /// The responses whose calls are not in the history.
    orphans: HashSet<Place>,
    /// The calls by id. If ids are equal in one content, the first call is answered first.
    by_id: HashMap<String, VecDeque<Place>>,
    /// The calls by function, for responses without an id.
    by_name: HashMap<String, VecDeque<Place>>,
}

impl Pairs {
    fn of(contents: &[SharedContent]) -> Self {
        let mut pairs = Self::default();
        for (number, content) in contents.iter().enumerate() {
            for (place, part) in content.parts().iter().enumerate() {
                if let Some(response) = &part.function_response {
                    pairs.take(response, (number, place));
                }
            }
            for (place, call) in content.function_calls().enumerate() {
                pairs.open(call, (number, place));
            }
        }
        pairs
    }

    fn open(&mut self, call: &FunctionCall, place: Place) {
        self.answers.entry(place.0).or_default().push(None);
        if let Some(id) = non_empty(call.id.as_deref()) {
            let open = self.by_id.entry(id.to_owned()).or_default();
            // Some models number the calls of every answer from the start again.
            open.retain(|other| other.0 == place.0);
            open.push_back(place);
        }
        self.by_name.entry(call.name.clone().unwrap_or_default()).or_default().push_back(place);
    }

    fn take(&mut self, response: &FunctionResponse, place: Place) {
        let by_id = non_empty(response.id.as_deref()).and_then(|id| {
            let open = self.by_id.get_mut(id)?;
            if open.len() > 1 { open.pop_front() } else { open.front().copied() }
        });
        let answers = &self.answers;
        let mut by_name = || {
            let open = self.by_name.get_mut(response.name.as_deref().unwrap_or_default())?;
            while let Some(call) = open.pop_front() {
                if answers.get(&call.0).is_some_and(|answers| answers[call.1].is_none()) {
                    return Some(call);
                }
            }
            None
        };
        let has_id = non_empty(response.id.as_deref()).is_some();
        let call = if has_id { by_id } else { by_name() };
        if let Some((number, call)) = call
            && let Some(answer) = self.answers.get_mut(&number).and_then(|answers| answers.get_mut(call))
        {
            *answer = Some(place);
            self.taken.insert(place);
        } else {
            self.orphans.insert(place);
        }
    }

    /// Removes the pairs that are correct in the history already.
    fn leave_what_is_in_place(&mut self, contents: &[SharedContent]) {
        let Self { answers, taken, .. } = self;
        answers.retain(|number, answers| {
            let mut calls = contents[*number].function_calls().zip(&*answers).enumerate();
            let is_in_place = calls.all(|(place, (call, answer))| {
                *answer == Some((number + 1, place)) && has_id_of(&contents[number + 1].parts()[place], call)
            });
            if is_in_place {
                for place in answers.iter().flatten() {
                    taken.remove(place);
                }
            }
            !is_in_place
        });
    }

    /// Returns a content without the responses that are moved; `None` if nothing is left.
    fn rest(&self, content: &SharedContent, number: usize, is_cached: bool) -> Option<SharedContent> {
        let is_taken = |place: usize| self.taken.contains(&(number, place));
        let becomes_text = |place: usize| !is_cached && self.orphans.contains(&(number, place));
        let count = content.parts().len();
        if !(0..count).any(|place| is_taken(place) || becomes_text(place)) {
            return Some(content.clone());
        }
        let rest = content.parts().iter().enumerate().filter(|(place, _)| !is_taken(*place));
        let rest: Vec<Part> = rest
            .map(|(place, part)| match &part.function_response {
                Some(response) if becomes_text(place) => as_text(response),
                _ => part.clone(),
            })
            .collect();
        (!rest.is_empty()).then(|| {
            let mut changed = content.clone();
            *changed.to_mut().parts_mut() = rest;
            changed
        })
    }
}

/// Returns an id unless it is empty.
fn non_empty(id: Option<&str>) -> Option<&str> {
    id.filter(|id| !id.is_empty())
}

/// Returns true if a response has the id of its call, or if the call has none.
fn has_id_of(response: &Part, call: &FunctionCall) -> bool {
    let own = response.function_response.as_ref().and_then(|response| non_empty(response.id.as_deref()));
    non_empty(call.id.as_deref()).is_none_or(|id| own == Some(id))
}

/// Returns the part that answers a call: its response with the call's id or, without a response, a part that reports
/// this.
fn response_part(call: &FunctionCall, response: Option<&Part>) -> Part {
    let mut part = response.cloned().unwrap_or_else(|| {
        let error = Map::from_iter([("error".to_owned(), json!(MISSING_RESULT))]);
        Part::function_response(FunctionResponse::new("", call.name.as_deref().unwrap_or_default(), error))
    });
    if let Some(response) = &mut part.function_response {
        response.id = non_empty(call.id.as_deref()).or(non_empty(response.id.as_deref())).map(str::to_owned);
    }
    part
}

fn as_text(response: &FunctionResponse) -> Part {
    let name = response.name.as_deref().unwrap_or_default();
    let result = Value::Object(response.response.clone().unwrap_or_default());
    Part::text(format!("Result of `{name}`: {result}"))
}

/// Turns a result with the key `$ref` into a text, in the JSON of a function response.
pub(super) fn hide_references(response: &mut Value) {
    if !has_reference(response) {
        return;
    }
    let members = response.as_object().filter(|members| members.len() == 1);
    let result = members.and_then(|members| members.get("result")).unwrap_or(response);
    *response = json!({"result": result.to_string()});
}

fn has_reference(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key("$ref") || members.values().any(has_reference),
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, name: &str) -> Part {
        Part::function_call(FunctionCall::new(id, name, Map::new()))
    }

    fn response(id: &str, name: &str, result: u64) -> Part {
        Part::function_response(FunctionResponse::new(id, name, Map::from_iter([("result".to_owned(), json!(result))])))
    }

    /// Checks what the contents become: `id:result`, `call id`, texts.
    fn check(contents: Vec<(&str, Vec<Part>)>, expected: &[&[&str]]) {
        let contents: Vec<SharedContent> =
            contents.into_iter().map(|(role, parts)| Content::new(role, parts).into()).collect();
        let shown = |part: &Part| match (&part.function_call, &part.function_response, &part.text) {
            (Some(call), ..) => format!("call {}", call.id.as_deref().unwrap_or_default()),
            (_, Some(response), _) => {
                let members = response.response.as_ref().unwrap();
                let result = members.get("result").map_or("missing".to_owned(), Value::to_string);
                format!("{}:{result}", response.id.as_deref().unwrap_or_default())
            }
            (.., text) => text.clone().unwrap_or_default(),
        };
        let paired = pair(&contents, false);
        let paired: Vec<Vec<String>> =
            paired.iter().map(|content| content.parts().iter().map(shown).collect()).collect();
        assert_eq!(paired, expected);
    }

    #[test]
    fn as_many_responses_follow_as_there_are_calls_in_their_order() {
        // The history is correct already.
        check(
            vec![
                ("model", vec![call("a", "f"), call("b", "g")]),
                ("user", vec![response("a", "f", 1), response("b", "g", 2)]),
            ],
            &[&["call a", "call b"], &["a:1", "b:2"]],
        );
        // The responses are separated, in another order and mixed with other parts, and one is missing.
        check(
            vec![
                ("user", vec![Part::text("hi")]),
                ("model", vec![call("a", "f"), call("b", "g"), call("c", "h")]),
                ("user", vec![response("b", "g", 2), Part::text("wait")]),
                ("user", vec![response("a", "f", 1)]),
                ("model", vec![Part::text("done")]),
            ],
            &[&["hi"], &["call a", "call b", "call c"], &["a:1", "b:2", "c:missing"], &["wait"], &["done"]],
        );
        check(vec![("model", vec![call("a", "f")])], &[&["call a"], &["a:missing"]]);
    }

    #[test]
    fn calls_without_ids_are_paired_by_function_and_responses_get_the_ids() {
        check(
            vec![
                ("model", vec![call("", "f"), call("", "g"), call("", "f")]),
                ("user", vec![response("", "g", 2), response("", "f", 1), response("", "f", 3)]),
            ],
            &[&["call ", "call ", "call "], &[":1", ":2", ":3"]],
        );
        check(vec![("model", vec![call("a", "f")]), ("user", vec![response("", "f", 1)])], &[&["call a"], &["a:1"]]);
    }

    #[test]
    fn ids_that_are_used_again_belong_to_the_last_calls() {
        check(
            vec![
                ("model", vec![call("a", "f")]),
                ("user", vec![response("a", "f", 1)]),
                ("model", vec![call("a", "f"), call("b", "f")]),
                ("user", vec![response("b", "f", 3), response("a", "f", 2)]),
            ],
            &[&["call a"], &["a:1"], &["call a", "call b"], &["a:2", "b:3"]],
        );
        check(
            vec![
                ("model", vec![call("a", "f"), call("a", "g")]),
                ("user", vec![response("a", "f", 1), response("a", "g", 2)]),
            ],
            &[&["call a", "call a"], &["a:1", "a:2"]],
        );
    }

    #[test]
    fn the_last_response_counts_and_one_without_a_call_is_a_text() {
        check(
            vec![
                ("model", vec![call("a", "f")]),
                ("user", vec![response("a", "f", 1)]),
                ("user", vec![response("a", "f", 2), response("x", "h", 3)]),
            ],
            &[&["call a"], &["a:2"], &["Result of `h`: {\"result\":3}"]],
        );
        // The call may be in the cache.
        let contents = [SharedContent::from(Content::new("user", [response("x", "h", 3)]))];
        assert!(pair(&contents, true)[0].parts()[0].function_response.is_some());
    }

    #[test]
    fn a_result_with_references_is_a_text() {
        for (response, expected) in [
            (json!({"a": {"ref": 1, "$defs": {}}}), json!({"a": {"ref": 1, "$defs": {}}})),
            (json!({"a": [{"$ref": "x"}]}), json!({"result": r#"{"a":[{"$ref":"x"}]}"#})),
            (json!({"result": {"$ref": "x"}}), json!({"result": r#"{"$ref":"x"}"#})),
        ] {
            let mut hidden = response;
            hide_references(&mut hidden);
            assert_eq!(hidden, expected);
        }
    }
}
