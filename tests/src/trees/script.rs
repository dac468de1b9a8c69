//! Plans the answers of an agent's model, call by call.

use serde_json::{Value, json};

use super::plan::{Agent, Kind, Mode, Planner};

/// The agents that an agent can reach: its parent and its peers.
pub(super) struct Reach<'a> {
    pub(super) parent: &'a Agent,
    pub(super) peers: Vec<&'a Agent>,
}

/// The action of a model in one answer.
#[derive(Clone, Debug)]
enum Act {
    Say,
    /// Transfers to an agent.
    Transfer(String),
    /// Calls a tool.
    Tool(&'static str),
    /// Calls a sub-agent.
    Delegate(String),
    Finish,
}

/// The number of texts at the end of each script, which is more than a scenario can use.
const LAST_TEXTS: usize = 8;

/// Returns the answers of an agent's model.
pub(super) fn script(planner: &mut Planner, agent: &Agent, mode: Mode, reach: Option<&Reach<'_>>) -> Vec<Value> {
    let mut acts = acts(agent, mode, reach);
    let mut script: Vec<Value> = Vec::new();
    for _ in 0..planner.dice.below(6) {
        let act = planner.dice.one_of(&acts).clone();
        match &act {
            // pleach counts the runs of a sub-agent that is called several times: L185.
            Act::Delegate(called) => acts.retain(|act| !matches!(act, Act::Delegate(name) if name == called)),
            Act::Finish if agent.ends_for_good => acts = vec![Act::Finish],
            _ => {}
        }
        let beside = match planner.dice.below(8) {
            0 => beside(&act, agent, planner),
            _ => None,
        };
        let answer =
            answer(planner, agent, &[Some(act), beside].into_iter().flatten().collect::<Vec<_>>(), script.len());
        script.push(answer);
    }
    for _ in 0..LAST_TEXTS {
        let finishes = mode == Mode::Task && (agent.ends_for_good || planner.dice.below(3) > 0);
        let last = if finishes { Act::Finish } else { Act::Say };
        let answer = answer(planner, agent, &[last], script.len());
        script.push(answer);
    }
    script
}

/// Returns the possible actions of the agent.
fn acts(agent: &Agent, mode: Mode, reach: Option<&Reach<'_>>) -> Vec<Act> {
    let mut acts = vec![Act::Say];
    for sub in &agent.subs {
        acts.push(match sub.kind {
            Kind::Llm(Mode::Task | Mode::SingleTurn) => Act::Delegate(sub.name.clone()),
            _ => Act::Transfer(sub.name.clone()),
        });
    }
    if let Some(reach) = reach.filter(|reach| matches!(reach.parent.kind, Kind::Llm(_))) {
        if !agent.has("disallow_transfer_to_parent") {
            acts.push(Act::Transfer(reach.parent.name.clone()));
        }
        let peers = reach.peers.iter().filter(|_| !agent.has("disallow_transfer_to_peers"));
        let peers = peers.filter(|peer| !matches!(peer.kind, Kind::Llm(Mode::Task | Mode::SingleTurn)));
        acts.extend(peers.map(|peer| Act::Transfer(peer.name.clone())));
    }
    acts.extend(agent.tools.iter().map(|name| Act::Tool(name)));
    if mode == Mode::Task {
        acts.push(Act::Finish);
    }
    acts
}

/// Returns a second call for the same answer.
fn beside(act: &Act, agent: &Agent, planner: &mut Planner) -> Option<Act> {
    let plain = |name: &&str| ["look", "note"].contains(name);
    let tools: Vec<&'static str> = agent.tools.iter().copied().filter(plain).collect();
    match act {
        // google-adk continues with the first response of a batch: L117.
        Act::Say | Act::Tool("job" | "wait" | "pay") => None,
        _ if tools.is_empty() => None,
        _ => Some(Act::Tool(planner.dice.one_of::<&str>(&tools))),
    }
}

/// Describes one answer of the model.
fn answer(planner: &mut Planner, agent: &Agent, acts: &[Act], number: usize) -> Value {
    let name = &agent.name;
    let text = format!("{name} says {number}");
    let calls: Vec<Value> = acts
        .iter()
        .enumerate()
        .filter_map(|(index, act)| {
            let (function, args) = match act {
                Act::Say => return None,
                Act::Transfer(target) => ("transfer_to_agent", json!({ "agent_name": target })),
                Act::Tool(tool) => (*tool, json!({})),
                Act::Delegate(sub) => (sub.as_str(), json!({"request": format!("{name} asks {number}")})),
                Act::Finish => ("finish_task", json!({"result": format!("{name} result {number}")})),
            };
            let mut call = json!({"name": function, "args": args});
            if planner.named_calls {
                call["id"] = format!("{name}-{number}-{index}").into();
            }
            Some(call)
        })
        .collect();
    if calls.is_empty() {
        return said(planner, &text);
    }
    match planner.dice.below(6) {
        0 => json!({"text": text, "calls": calls}),
        _ => json!({ "calls": calls }),
    }
}

/// Describes a text, in fragments if answers are streamed.
fn said(planner: &mut Planner, text: &str) -> Value {
    if !planner.streaming || planner.dice.below(2) == 0 {
        return text.into();
    }
    let (first, second) = text.split_at(text.len() / 2);
    json!({"chunks": [
        {"text": first, "partial": true},
        {"text": second, "partial": true},
        {"text": text},
    ]})
}
