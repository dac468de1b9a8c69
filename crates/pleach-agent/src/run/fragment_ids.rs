//! [`FragmentIds`]: assigns ids to calls that a model streams without ids.
// L157

use pleach_core::{Content, FunctionCall, IdGen, Map};
use serde_json::Value;

use crate::ensure_call_ids;

/// The ids of the calls in the fragments of one response.
#[derive(Debug, Default)]
pub(super) struct FragmentIds(Vec<Streamed>);

/// A call in the fragments so far.
#[derive(Debug)]
struct Streamed {
    name: Option<String>,
    args: Map,
    id: String,
}

impl FragmentIds {
    /// Assigns ids to the calls of a response. A call that continues a call of an earlier fragment gets that call's
    /// id. Every other call without an id gets a new one.
    pub(super) fn identify(&mut self, content: &mut Content, is_partial: bool, ids: &dyn IdGen) {
        let mut known: Vec<&Streamed> = self.0.iter().collect();
        for call in content.parts.iter_mut().flatten().filter_map(|part| part.function_call.as_mut()) {
            let has_id = call.id.as_ref().is_some_and(|id| !id.is_empty());
            let at = known
                .iter()
                .position(|known| if has_id { call.id.as_ref() == Some(&known.id) } else { known.may_be(call) });
            if let Some(at) = at {
                call.id = Some(known.remove(at).id.clone());
            }
        }
        ensure_call_ids(content, ids);
        if is_partial {
            content.function_calls().for_each(|call| self.keep(call));
        } else {
            self.0.clear();
        }
    }

    fn keep(&mut self, call: &FunctionCall) {
        let Some(id) = &call.id else { return };
        let args = call.args.clone().unwrap_or_default();
        match self.0.iter_mut().find(|known| known.id == *id) {
            Some(known) => known.args.extend(args),
            None => self.0.push(Streamed { name: call.name.clone(), args, id: id.clone() }),
        }
    }
}

impl Streamed {
    /// Returns `true` if a later call may be the same call: it has the same function, and its arguments are the same
    /// or have grown.
    fn may_be(&self, call: &FunctionCall) -> bool {
        let args = call.args.as_ref();
        let grows = |(key, value): (&String, &Value)| match (value, args.and_then(|args| args.get(key))) {
            (_, None) => true,
            (Value::String(known), Some(Value::String(now))) => now.starts_with(known.as_str()),
            (known, Some(now)) => known == now,
        };
        self.name == call.name && self.args.iter().all(grows)
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use pleach_core::{Part, RandomIds};
    use serde_json::json;

    use super::*;

    fn said(calls: &[(&str, Value)]) -> Content {
        let call = |(name, args): &(&str, Value)| FunctionCall {
            name: Some((*name).into()),
            args: args.as_object().cloned(),
            ..FunctionCall::default()
        };
        Content::new("model", calls.iter().map(|made| Part::function_call(call(made))))
    }

    /// Returns the ids that are assigned to the calls of each response. All responses but the last are fragments.
    fn ids(responses: &[&[(&str, Value)]]) -> Vec<Vec<String>> {
        let (mut known, ids) = (FragmentIds::default(), RandomIds);
        let last = responses.len() - 1;
        let one = |(place, calls): (usize, &&[(&str, Value)])| {
            let mut content = said(calls);
            known.identify(&mut content, place < last, &ids);
            content.function_calls().filter_map(|call| call.id.clone()).collect()
        };
        responses.iter().enumerate().map(one).collect()
    }

    #[test]
    fn l157_calls_of_one_function_in_separate_fragments_get_different_ids() {
        let [paris, rome] = [("look", json!({"city": "Paris"})), ("look", json!({"city": "Rome"}))];
        let found = ids(&[from_ref(&paris), from_ref(&rome), &[paris.clone(), rome.clone()]]);
        assert_ne!(found[0], found[1]);
        assert_eq!(found[2], [found[0].clone(), found[1].clone()].concat());
    }

    #[test]
    fn l157_a_call_that_grows_keeps_its_id() {
        let grows = [json!({}), json!({"city": "Pa"}), json!({"city": "Paris"}), json!({"city": "Paris", "days": 2})];
        let calls = grows.map(|args| [("look", args)]);
        let found = ids(&[&calls[0], &calls[1], &calls[2], &calls[3]]);
        assert!(found.iter().all(|ids| *ids == found[0]), "{found:?}");
    }

    #[test]
    fn l157_pieces_of_the_arguments_belong_to_one_call() {
        let found =
            ids(&[&[("look", json!({"a": 1}))], &[("look", json!({"b": 2}))], &[("look", json!({"a": 1, "b": 2}))]]);
        assert!(found.iter().all(|ids| *ids == found[0]), "{found:?}");
    }
}
