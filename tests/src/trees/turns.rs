//! Plans the messages and answers of a user.

use serde_json::{Value, json};

use crate::dice::Dice;

/// Returns the turns of a user.
pub(super) fn turns(dice: &mut Dice, streaming: bool) -> Vec<Value> {
    let count = 2 + dice.below(3);
    (0..count)
        .map(|number| {
            let mut turn = json!({"message": format!("user says {number}")});
            if number > 0 && dice.below(4) > 0 {
                turn["answer_open"] = json!({
                    "job": {"done": number},
                    "wait": {"done": number},
                    "adk_request_confirmation": {"confirmed": dice.below(4) > 0},
                });
            }
            if streaming {
                turn["run_config"] = json!({"streaming": "sse"});
            }
            turn
        })
        .collect()
}
