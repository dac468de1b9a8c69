//! Table tests of the schedule: what a completion triggers, and what may start.

use std::sync::Arc;

use pleach_context::{Context, Flow, Node, NodeError};
use pleach_core::BoxFuture;
use serde_json::json;

use super::*;
use crate::{JoinNode, NodeRef, START, Workflow};

struct Stub(NodeSpec);

impl Node for Stub {
    fn spec(&self) -> &NodeSpec {
        &self.0
    }

    fn run<'a>(&'a self, _: Context, _: NodeInput) -> BoxFuture<'a, Result<Flow, NodeError>> {
        Box::pin(std::future::ready(Ok(Flow::NOTHING)))
    }
}

/// Edges as `from to` or `from route to`, separated by commas. Nodes whose name begins with `join` are joins.
fn graph(edges: &str) -> Graph {
    let mut wf = Workflow::builder("wf");
    let mut nodes: Vec<(&str, NodeRef<_, _>)> = Vec::new();
    let words: Vec<Vec<&str>> = edges.split(',').map(|edge| edge.split_whitespace().collect()).collect();
    for edge in &words {
        for name in [edge[0], edge[edge.len() - 1]] {
            if name != "START" && !nodes.iter().any(|(known, _)| *known == name) {
                let node: Arc<dyn Node> = match name.starts_with("join") {
                    true => Arc::new(JoinNode::new(name)),
                    false => Arc::new(Stub(NodeSpec::new(name))),
                };
                nodes.push((name, wf.add_dynamic(node)));
            }
        }
    }
    let node = |name: &str| nodes.iter().find(|(known, _)| *known == name).unwrap().1;
    for edge in &words {
        match edge[..] {
            ["START", to] => wf.edge(START, node(to)),
            [from, to] => wf.edge(node(from), node(to)),
            [from, route, to] => wf.route(node(from), route, node(to)),
            _ => panic!("no edge: {edge:?}"),
        };
    }
    wf.build().unwrap().graph.unwrap()
}

fn begin(graph: &Graph, limit: Option<usize>) -> Schedule {
    Schedule::new(graph, limit, NodeInput::json(json!("in")), None)
}

fn next(schedule: &mut Schedule) -> Option<(usize, Trigger, u32)> {
    schedule.next(None::<fn(usize, u32) -> Room>)
}

/// Starts all ready nodes: `a b@2` for the first run of `a` and the second of `b`.
fn start(graph: &Graph, schedule: &mut Schedule) -> String {
    let started = std::iter::from_fn(|| next(schedule)).map(|(node, _, run)| match run {
        1 => graph.names.nodes[node].to_string(),
        run => format!("{}@{run}", graph.names.nodes[node]),
    });
    started.collect::<Vec<_>>().join(" ")
}

/// Ends a run: `a` completes, `a:x` completes with a route, `a?` asks, `a~` waits for more, `a!` fails.
fn end(graph: &Graph, schedule: &mut Schedule, end: &str) {
    let name = end.split([':', '?', '~', '!']).next().unwrap();
    let node = graph.index[name] as usize;
    let output = NodeInput::json(json!(name));
    match &end[name.len()..] {
        "" => schedule.completed(graph, node, output, None, None),
        "?" => schedule.interrupted(node, vec![format!("{name}?")]),
        "~" => schedule.waiting(node),
        "!" => schedule.failed(node),
        route => schedule.completed(graph, node, output, Some(&Route::from(&route[1..])), None),
    }
}

struct Row {
    rule: &'static str,
    edges: &'static str,
    limit: Option<usize>,
    /// The runs that start first, then each end and the runs that start after it.
    begins: &'static str,
    ends: &'static [(&'static str, &'static str)],
}

const fn row(
    rule: &'static str,
    edges: &'static str,
    limit: Option<usize>,
    begins: &'static str,
    ends: &'static [(&'static str, &'static str)],
) -> Row {
    Row { rule, edges, limit, begins, ends }
}

const ROUTES: &str = "START a, a x b, a y c, a __DEFAULT__ d";
const MIXED: &str = "START a, a b, a x c";
const JOIN: &str = "START a, START b, a join, b join";
const SHARED: &str = "START a, START b, a c, b c";

const ROWS: &[Row] = &[
    row("a chain", "START a, a b", None, "a", &[("a", "b"), ("b", "")]),
    row("successors start in the order of their edges", "START b, START a", None, "b a", &[]),
    row("a route is followed", ROUTES, None, "a", &[("a:y", "c")]),
    row("an unknown route takes the default edge", ROUTES, None, "a", &[("a:z", "d")]),
    row("no route takes the default edge", ROUTES, None, "a", &[("a", "d")]),
    row("an edge without a route is followed together with a routed one", MIXED, None, "a", &[("a:x", "b c")]),
    row("an edge with a route needs it", MIXED, None, "a", &[("a", "b")]),
    row("a route that no edge takes triggers nothing", "START a, a x b", None, "a", &[("a:y", "")]),
    row("a loop runs its node again", "START a, a again a, a on b", None, "a", &[("a:again", "a@2"), ("a:on", "b")]),
    row("a join waits for all", JOIN, None, "a b", &[("b", ""), ("a", "join"), ("join", "")]),
    row(
        "a predecessor that completes twice is counted once",
        "START a, START b, a join, a again a, b join",
        None,
        "a b",
        &[("a:again", "a@2"), ("a", ""), ("b", "join")],
    ),
    row(
        "a join fires again once all have completed again",
        "START a, START b, a join, b join, a again a, b again b",
        None,
        "a b",
        &[("a:again", "a@2"), ("b:again", "join b@2"), ("join", ""), ("a", ""), ("b", "join@2")],
    ),
    row("a node that runs keeps further triggers", SHARED, None, "a b", &[("a", "c"), ("b", ""), ("c", "c@2")]),
    row("a limit admits so many", "START a, START b, START c", Some(2), "a b", &[("b", "c"), ("a", "")]),
    row("who got a trigger first starts first", SHARED, Some(1), "a", &[("a", "b"), ("b", "c"), ("c", "c@2")]),
    row("a failure makes room", "START a, START b", Some(1), "a", &[("a!", "b")]),
    row("a question makes room", "START a, START b", Some(1), "a", &[("a?", "b")]),
    row("a node with an open question does not start again", SHARED, None, "a b", &[("a", "c"), ("c?", ""), ("b", "")]),
    row("a node that waits for more starts again", SHARED, None, "a b", &[("a", "c"), ("c~", ""), ("b", "c@2")]),
    row("a failed run triggers nothing", "START a, a b", None, "a", &[("a!", "")]),
];

#[test]
fn r622_r624_r628_what_a_completion_starts() {
    for Row { rule, edges, limit, begins, ends } in ROWS {
        let graph = graph(edges);
        let mut schedule = begin(&graph, *limit);
        assert_eq!(start(&graph, &mut schedule), *begins, "{rule}: at first");
        for (ended, starts) in *ends {
            end(&graph, &mut schedule, ended);
            assert_eq!(start(&graph, &mut schedule), *starts, "{rule}: after {ended}");
        }
    }
}

/// Compares the input, the use of a sub-branch, the branch and the predecessor of every run of the last node.
#[test]
fn r402_r628_what_a_trigger_carries() {
    let rows = [
        ("one successor", "START a", "a", json!("in"), false, None, None),
        ("several successors have branches of their own", "START a, START b", "b", json!("in"), true, None, None),
        ("the output of the predecessor and its branch", "START a, a b", "b", json!("a"), false, Some("w.a"), Some(0)),
        ("a fan-out", "START a, a c, a b", "b", json!("a"), true, Some("w.a"), Some(0)),
        (
            "a join: outputs by name, on the common branch",
            JOIN,
            "join",
            json!({"a": "a", "b": "b"}),
            false,
            Some("w"),
            Some(1),
        ),
    ];
    for (rule, edges, last, input, use_sub_branch, branch, by) in rows {
        let graph = graph(edges);
        let mut schedule = begin(&graph, None);
        let mut found = None;
        while let Some((node, trigger, _)) = next(&mut schedule) {
            let name = graph.names.nodes[node].clone();
            if name == last {
                found = Some(trigger);
                continue;
            }
            let branch = Some(Branch::from(format!("w.{name}").as_str()));
            schedule.completed(&graph, node, NodeInput::json(json!(name.as_str())), None, branch);
        }
        let trigger = found.unwrap();
        assert_eq!(trigger.input.to_value(), input, "{rule}");
        assert_eq!(trigger.use_sub_branch, use_sub_branch, "{rule}");
        let found = trigger.branch.flatten();
        assert_eq!(found.as_ref().map(|branch| branch.to_string()).as_deref(), branch, "{rule}");
        assert_eq!(trigger.by, by, "{rule}");
    }
}

#[test]
fn r623_while_a_resume_replays_only_runs_that_need_no_room_exceed_the_limit() {
    use Room::{Again, New, None as Free};
    for (rule, rooms, exceeds) in [
        ("new runs wait", [New, New, New], ""),
        ("one that history answers starts", [New, Free, New], "c"),
        ("so does every other one", [Free, Again, Free], "b d"),
        ("one that is executed again waits", [Again, Again, Again], ""),
    ] {
        let graph = graph("START a, START b, START c, START d");
        let mut schedule = begin(&graph, Some(1));
        let mut started = Vec::new();
        assert_eq!(next(&mut schedule).unwrap().0, 0);
        while let Some((node, ..)) = schedule.next(Some(|node: usize, _: u32| rooms[node - 1])) {
            started.push(graph.names.nodes[node].as_str());
            schedule.replays(node);
        }
        assert_eq!(started.join(" "), exceeds, "{rule}");
        // A run that was held back keeps its place.
        let rest: Vec<&str> = ["b", "c", "d"].into_iter().filter(|name| !started.contains(name)).collect();
        for name in rest {
            schedule.failed(graph.index["a"] as usize);
            schedule.running = 0;
            assert_eq!(start(&graph, &mut schedule), name, "{rule}");
        }
    }
}

#[test]
fn r622_the_questions_of_all_nodes_are_open() {
    let graph = graph("START b, START a");
    let mut schedule = begin(&graph, None);
    start(&graph, &mut schedule);
    end(&graph, &mut schedule, "b?");
    end(&graph, &mut schedule, "a?");
    assert_eq!(schedule.interrupts(), ["a?", "b?"]);
}

#[test]
fn r642_terminal_outputs_leave_out_nulls() {
    let graph = graph("START a, a x b, a y c");
    let mut schedule = begin(&graph, None);
    start(&graph, &mut schedule);
    end(&graph, &mut schedule, "a:x");
    start(&graph, &mut schedule);
    assert!(schedule.terminal_outputs(&graph).is_empty());
    end(&graph, &mut schedule, "b");
    let outputs: Vec<Value> = schedule.terminal_outputs(&graph).iter().map(NodeInput::to_value).collect();
    assert_eq!(outputs, [json!("b")]);
}
