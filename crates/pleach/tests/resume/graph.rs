//! Makes a workflow from plain data through the public API.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{EdgeRoute, JoinNode, Node, NodeRef, WorkflowBuilder};
use serde_json::Value;

use crate::bodies::{self, label};
use crate::cast::{Around, Shared, agent};
use crate::flow::{Block, Flow, Tail, Task, Work};
use crate::world::World;

type Handle = NodeRef<Dynamic, Dynamic>;

/// The nodes that the next block follows, each with an optional route. No node means START.
type Ends = Vec<(Option<Handle>, Option<EdgeRoute>)>;

/// The root of a case.
pub(crate) fn root(flow: &Flow, world: &World) -> Shared {
    match &flow.agent {
        Some(plan) => agent("a", plan, Around::root(world)),
        None => Shared(Arc::new(workflow(flow, world))),
    }
}

fn workflow(flow: &Flow, world: &World) -> Workflow {
    let mut graph = Graph { wf: Workflow::builder("wf"), names: &mut 0, world, is_nested: false };
    graph.wf.max_concurrency(flow.limit);
    let ends = graph.blocks(vec![(None, None)], &flow.blocks);
    graph.tail(ends, &flow.tail);
    graph.wf.build().unwrap()
}

struct Graph<'a> {
    wf: WorkflowBuilder<Dynamic>,
    /// The number of names in use. No two nodes share a name, even across nested workflows.
    names: &'a mut u32,
    world: &'a World,
    is_nested: bool,
}

impl Graph<'_> {
    fn name(&mut self) -> String {
        *self.names += 1;
        format!("n{}", *self.names)
    }

    fn add(&mut self, node: Arc<dyn Node>, from: &Ends) -> Handle {
        let node = self.wf.add_dynamic(node);
        for end in from {
            self.link(end, node);
        }
        node
    }

    fn link(&mut self, (from, route): &(Option<Handle>, Option<EdgeRoute>), to: Handle) {
        match (from, route) {
            (None, _) => self.wf.edge(START, to),
            (Some(from), None) => self.wf.edge(*from, to),
            (Some(from), Some(route)) => self.wf.route(*from, route.clone(), to),
        };
    }

    /// Adds a node whose output is made from its input.
    fn plain(&mut self, from: &Ends) -> Handle {
        let name = self.name();
        self.add(bodies::plain(&name), from)
    }

    fn blocks(&mut self, mut ends: Ends, blocks: &[Block]) -> Ends {
        for block in blocks {
            ends = self.block(ends, block);
        }
        ends
    }

    fn block(&mut self, ends: Ends, block: &Block) -> Ends {
        let node = match block {
            Block::Task(task) => self.task(&ends, task),
            Block::Fork(lanes) => {
                let ends: Ends = lanes.iter().flat_map(|lane| self.blocks(ends.clone(), lane)).collect();
                let join = JoinNode::new(self.name());
                self.add(Arc::new(join), &ends)
            }
            Block::Loop { rounds, body } => return self.repeat(&ends, *rounds, body),
            Block::Choice { taken, lanes } => self.choice(&ends, *taken, lanes),
            Block::Nested { retry, blocks } => {
                let name = self.name();
                let wf = Workflow::builder(name);
                let mut inner = Graph { wf, names: self.names, world: self.world, is_nested: true };
                inner.blocks(vec![(None, None)], blocks);
                if *retry {
                    inner.wf.retry(RetryConfig::attempts(6).initial_delay(0.1).jitter(0.0));
                }
                let inner = inner.wf.build().unwrap();
                self.add(Arc::new(inner), &ends)
            }
        };
        vec![(Some(node), None)]
    }

    fn task(&mut self, ends: &Ends, task: &Task) -> Handle {
        let name = self.name();
        let node = bodies::node(&name, task, self.world, self.is_nested);
        // Workers and tools need an input that not every node outputs.
        let before = match task.work {
            Work::Worker { items, .. } => bodies::feeder(&format!("f_{name}"), items),
            Work::Tool => bodies::plain(&format!("f_{name}")),
            _ => return self.add(node, ends),
        };
        let before = self.add(before, ends);
        self.add(node, &vec![(Some(before), None)])
    }

    /// Adds a loop. Its gate counts the rounds in the session state, on the event with its route.
    fn repeat(&mut self, ends: &Ends, rounds: u8, body: &[Block]) -> Ends {
        let entry = self.plain(ends);
        let ends = self.blocks(vec![(Some(entry), None)], body);
        let name = self.name();
        let gate = FunctionNode::new(name.clone(), move |ctx: Context, Input(input): Input<Dynamic>| {
            let key = format!("round_{name}");
            async move {
                let done = ctx.state().value(&key).and_then(|count| count.as_u64()).unwrap_or(0);
                let output = Output::of(label(ctx.node_name(), &input.0));
                if done < u64::from(rounds) {
                    output.route("again").state(key, done + 1)
                } else {
                    output.route("on").state(key, Value::from(0))
                }
            }
        });
        let gate = self.add(Arc::new(gate), &ends);
        self.link(&(Some(gate), Some("again".into())), entry);
        vec![(Some(gate), Some("on".into()))]
    }

    fn choice(&mut self, ends: &Ends, taken: usize, lanes: &[Vec<Block>]) -> Handle {
        let name = self.name();
        let router = FunctionNode::new(name, move |ctx: Context, Input(input): Input<Dynamic>| async move {
            Output::of(label(ctx.node_name(), &input.0)).route(format!("lane{taken}"))
        });
        let router = self.add(Arc::new(router), ends);
        let mut ends = Vec::new();
        for (index, lane) in lanes.iter().enumerate() {
            let route = if index + 1 == lanes.len() { DEFAULT } else { format!("lane{index}").into() };
            ends.extend(self.blocks(vec![(Some(router), Some(route))], lane));
        }
        self.plain(&ends)
    }

    fn tail(&mut self, ends: Ends, tail: &Tail) {
        let (lanes, filters) = match tail {
            Tail::None => return,
            Tail::Merge(lanes) => (lanes, false),
            Tail::Filter(lanes) => (lanes, true),
        };
        let lanes: Vec<Handle> = lanes.iter().map(|lane| self.task(&ends, lane)).collect();
        let ends: Ends = lanes.iter().map(|lane| (Some(*lane), None)).collect();
        let last = if filters { self.filter(&ends) } else { self.plain(&ends) };
        self.plain(&vec![(Some(last), None)]);
    }

    /// Adds a node that has an output for its first predecessor only and waits for its output after the others.
    fn filter(&mut self, ends: &Ends) -> Handle {
        let name = self.name();
        let node = FunctionNode::new(name, |ctx: Context, Input(input): Input<Dynamic>| async move {
            let first = ctx.in_nodes().first().is_some_and(|first| first == ctx.triggered_by());
            Dynamic(if first { label(ctx.node_name(), &input.0).into() } else { Value::Null })
        });
        self.add(Arc::new(node.wait_for_output(true)), ends)
    }
}
