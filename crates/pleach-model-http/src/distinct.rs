//! Gives the calls of one answer distinct ids.

use std::collections::{HashMap, HashSet};

use pleach_core::{IdGen, Part};
use pleach_model::CLIENT_CALL_ID_PREFIX;
use serde_json::Value;

/// Removes calls that were sent twice. A call with the id of another call gets an id of its own.
///
/// If two calls have the same id and name, and one of them has no arguments, they are the same call: it was sent twice,
/// or its arguments came late.
pub(crate) fn distinct(parts: Vec<Part>, ids: &dyn IdGen) -> Vec<Part> {
    let mut known: HashSet<String> = HashSet::new();
    let mut seen: HashMap<(String, Option<String>), Seen> = HashMap::new();
    let mut distinct: Vec<Part> = Vec::with_capacity(parts.len());
    for mut part in parts {
        if let Some(call) = &mut part.function_call
            && let Some(id) = call.id.clone().filter(|id| !id.is_empty())
        {
            let arguments = call.args.as_ref().filter(|arguments| !arguments.is_empty());
            let arguments = arguments.map(|arguments| Value::Object(arguments.clone()).to_string());
            let others = seen.entry((id.clone(), call.name.clone())).or_default();
            match others.take(arguments, distinct.len()) {
                Taken::New if known.insert(id) => {}
                Taken::New => call.id = Some(format!("{CLIENT_CALL_ID_PREFIX}{}", ids.uuid())),
                Taken::Known => continue,
                Taken::ArgumentsOf(place) => {
                    if let Some(begun) = &mut distinct[place].function_call {
                        begun.args = call.args.take();
                    }
                    continue;
                }
            }
        }
        distinct.push(part);
    }
    distinct
}

/// The calls of one id and name.
#[derive(Default)]
struct Seen {
    /// The index, among the parts, of a call without arguments.
    empty: Option<usize>,
    /// The arguments of the other calls, as text.
    full: HashSet<String>,
}

/// The relation of a call to earlier calls with its id and name.
enum Taken {
    New,
    Known,
    /// It has the late arguments of the call at this index.
    ArgumentsOf(usize),
}

impl Seen {
    fn take(&mut self, arguments: Option<String>, place: usize) -> Taken {
        let Some(arguments) = arguments else {
            if self.empty.is_some() || !self.full.is_empty() {
                return Taken::Known;
            }
            self.empty = Some(place);
            return Taken::New;
        };
        if !self.full.insert(arguments) {
            return Taken::Known;
        }
        self.empty.take().map_or(Taken::New, Taken::ArgumentsOf)
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::{FunctionCall, RandomIds};
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn a_call_that_is_begun_twice_is_one() {
        let call = |arguments: Value| {
            Part::function_call(FunctionCall::new("0", "a", arguments.as_object().cloned().unwrap_or_default()))
        };
        let (empty, full) = (|| call(json!({})), || call(json!({"n": 1})));
        for parts in [vec![full(), empty()], vec![empty(), full()], vec![empty(), empty(), full(), empty(), full()]] {
            assert_eq!(distinct(parts, &RandomIds), [full()]);
        }
        assert_eq!(distinct(vec![empty(), empty()], &RandomIds), [empty()]);
    }

    #[test]
    fn a_repeated_call_counts_once_and_different_calls_get_different_ids() {
        let call = |name: &str, arguments: Value| {
            Part::function_call(FunctionCall::new("0", name, arguments.as_object().cloned().unwrap_or_else(Map::new)))
        };
        let parts = vec![
            call("a", json!({"n": 1})),
            call("a", json!({"n": 1})),
            call("a", json!({"n": 2})),
            call("b", json!({})),
        ];
        let calls: Vec<Box<FunctionCall>> =
            distinct(parts, &RandomIds).into_iter().filter_map(|part| part.function_call).collect();
        let names: Vec<_> = calls.iter().filter_map(|call| call.name.as_deref()).collect();
        let ids: HashSet<_> = calls.iter().filter_map(|call| call.id.as_deref()).collect();
        assert_eq!((names, ids.len()), (vec!["a", "a", "b"], 3));
    }
}
