//! State rules for random programs: the values that a node reads, the stored values, and the result of replaying the stored deltas.

use std::collections::BTreeMap;

use pleach::prelude::*;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{key, runner};

/// One step of a random node.
#[derive(Clone, Debug)]
enum Step {
    Set(String, Value),
    Modify(String, i64),
    Emit(BTreeMap<String, Value>),
}

fn a_key() -> impl Strategy<Value = String> {
    let scope = prop_oneof![Just(""), Just("user:"), Just("app:"), Just("temp:"), Just("APP:"), Just("app:user:")];
    (scope, "[abc]{1,2}").prop_map(|(scope, name)| format!("{scope}{name}"))
}

fn a_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~äß😀]{0,6}".prop_map(Value::from),
        prop::collection::vec(any::<i8>(), 0..3).prop_map(|items| json!(items)),
        (any::<i8>(), any::<i8>()).prop_map(|(a, b)| json!({"nested": {"a": a, "b": [b, null]}})),
    ]
}

fn a_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (a_key(), a_value()).prop_map(|(key, value)| Step::Set(key, value)),
        1 => (a_key(), any::<i8>()).prop_map(|(key, item)| Step::Modify(key, item.into())),
        2 => prop::collection::btree_map(a_key(), a_value(), 0..3).prop_map(Step::Emit),
    ]
}

/// Plays the steps on the context and on a plain map, and compares both after each step.
async fn play(ctx: Context, steps: Vec<Step>) -> Result<(), NodeError> {
    let mut model = BTreeMap::new();
    for step in steps {
        match step {
            Step::Set(key, value) => {
                ctx.state().set(key.clone(), &value)?;
                model.insert(key, value);
            }
            Step::Modify(key, item) => {
                let append = |value: &mut Value| match value {
                    Value::Array(items) => items.push(item.into()),
                    other => *other = json!([item]),
                };
                ctx.state().modify(&key, append)?;
                append(model.entry(key).or_insert(Value::Null));
            }
            Step::Emit(delta) => {
                let mut event = Event::message("tick");
                for (key, value) in &delta {
                    event = event.with_state(key, value.clone());
                }
                // Pending changes win over the event's own changes (R411).
                let pending = ctx.actions().state_delta().clone();
                ctx.emit(event).await?;
                model.extend(delta.into_iter().filter(|(key, _)| !pending.contains_key(key)));
            }
        }
        let seen: BTreeMap<String, Value> = ctx.state().to_map().into_iter().collect();
        assert_eq!(seen, model);
        for (key, value) in &model {
            assert_eq!(ctx.state().value(key).as_ref(), Some(value));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn s14_s16_r160_r163_reads_see_pending_changes_and_the_stored_deltas_replay_to_the_stored_state(
        steps in prop::collection::vec(a_step(), 0..12)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move {
            let node = FunctionNode::new("node", move |ctx: Context| play(ctx, steps.clone()));
            let (runner, sessions) = runner(node);
            runner.run("ana", "s1", "go").output::<Value>().await.unwrap();
            let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
            let mut replayed = BTreeMap::new();
            for event in &session.events {
                for (key, value) in event.actions().state_delta() {
                    assert!(!key.starts_with("temp:"), "temp: is never stored");
                    replayed.insert(key.clone(), value.clone());
                }
            }
            assert_eq!(session.state.into_iter().collect::<BTreeMap<_, _>>(), replayed);
        });
    }
}
