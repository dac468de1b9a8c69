//! Random trees of agents as scenarios.
//!
//! [`scenario`] makes the scenario of a number: a root agent, shell agents or a graph with agents, the texts and calls of their
//! models, and the turns of a user. The same number always makes the same scenario. [`recorded()`] returns google-adk's
//! behaviour in them. The plans avoid cases in which pleach differs on purpose (`docs/parity.md`) and name the rule at that place.

mod agent;
mod graph;
mod plan;
mod recorded;
mod reference;
mod script;
mod turns;

pub use recorded::{block, file, played, recorded};
pub use reference::Reference;

use serde_json::{Value, json};

use crate::dice::Dice;
use plan::Planner;

/// The number of recorded scenarios, which have the numbers from 0 on.
pub const RECORDED: u64 = 500;

/// The recorded scenarios in which pleach differs on purpose, each with the rule of its row in `docs/parity.md`. The list may only
/// shrink.
pub const DIFFERENT: &[(u64, &str)] = &[(307, "L193"), (350, "L140"), (387, "L191")];

/// Returns the scenario of a number.
pub fn scenario(number: u64) -> Value {
    let mut planner = Planner::new(Dice::new(number));
    let root = match planner.dice.below(10) {
        0..=4 => planner.root_agent(),
        5 => planner.root_shell(),
        _ => planner.root_graph(),
    };
    let streaming = planner.streaming;
    let turns = turns::turns(&mut planner.dice, streaming);
    let mut scenario = json!({
        "name": format!("tree_{number}"),
        "features": ["trees"],
        "root": root.node,
        "turns": turns,
    });
    if !root.library.is_empty() {
        scenario["library"] = root.library.into();
    }
    if planner.resumable {
        scenario["app"] = json!({"name": "conf_app", "resumable": true});
    }
    if root.runs_side_by_side {
        scenario["compare"] = "per_node".into();
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_selects_one_scenario() {
        for number in 0..50 {
            assert_eq!(scenario(number), scenario(number));
        }
        assert_ne!(scenario(1)["root"], scenario(2)["root"]);
    }
}
