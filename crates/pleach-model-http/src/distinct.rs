//! Calls of one answer that have the same id.

use std::collections::{HashMap, HashSet};

use pleach_core::{IdGen, Part};
use pleach_model::CLIENT_CALL_ID_PREFIX;
use serde_json::Value;

/// The parts without calls that are sent twice. A call that has the id of another one gets an id of its own.
pub(crate) fn distinct(parts: Vec<Part>, ids: &dyn IdGen) -> Vec<Part> {
    // What was called under each id.
    let mut seen: HashMap<String, HashSet<String>> = HashMap::new();
    let mut distinct = Vec::with_capacity(parts.len());
    for mut part in parts {
        if let Some(call) = &mut part.function_call
            && let Some(id) = call.id.clone().filter(|id| !id.is_empty())
        {
            let others = seen.entry(id).or_default();
            if !others.insert(format!("{:?} {}", call.name, Value::Object(call.args.clone().unwrap_or_default()))) {
                continue;
            }
            if others.len() > 1 {
                call.id = Some(format!("{CLIENT_CALL_ID_PREFIX}{}", ids.uuid()));
            }
        }
        distinct.push(part);
    }
    distinct
}

#[cfg(test)]
mod tests {
    use pleach_core::{FunctionCall, RandomIds};
    use serde_json::{Map, json};

    use super::*;

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
