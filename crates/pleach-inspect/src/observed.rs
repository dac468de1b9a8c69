//! [`observed_outline`]: which nodes of an invocation ran after which, read from its runs.

use std::collections::BTreeSet;

use pleach_context::{EdgeOutline, GraphOutline, NodeKind, Outline};

use crate::{NodeRun, RunTree};

/// Reads an outline from the runs of an invocation, where the workflow itself is not at hand.
///
/// Each node that ran is there once, under the node that ran it. An edge leads from a node to those whose runs were the next to begin
/// when it had ended: what the log shows, and not always an edge of the graph. Nodes that did not run are missing. `None` without
/// runs; a log with several roots gets them side by side below a node without a name.
#[must_use]
pub fn observed_outline(tree: &RunTree) -> Option<Outline> {
    let mut names: Vec<&str> = Vec::new();
    for root in tree.runs.iter().filter(|run| run.depth == 0) {
        if !names.contains(&root.name.as_str()) {
            names.push(&root.name);
        }
    }
    match names.as_slice() {
        [] => None,
        [name] => Some(node(name, &places(tree, |run| run.depth == 0), tree)),
        _ => {
            let all: Vec<usize> = places(tree, |run| run.depth == 0);
            Some(outline("", Some(graph(&[all], tree))))
        }
    }
}

fn places(tree: &RunTree, holds: impl Fn(&NodeRun) -> bool) -> Vec<usize> {
    tree.runs.iter().enumerate().filter(|(_, run)| holds(run)).map(|(place, _)| place).collect()
}

/// Describes a node by its runs.
fn node(name: &str, runs: &[usize], tree: &RunTree) -> Outline {
    let groups: Vec<Vec<usize>> =
        runs.iter().map(|place| below(*place, tree)).filter(|below| !below.is_empty()).collect();
    outline(name, (!groups.is_empty()).then(|| graph(&groups, tree)))
}

fn outline(name: &str, graph: Option<GraphOutline>) -> Outline {
    let kind = if graph.is_some() { NodeKind::Workflow } else { NodeKind::Plain };
    Outline {
        name: name.into(),
        description: String::new(),
        kind,
        rerun_on_resume: false,
        wait_for_output: false,
        graph,
    }
}

/// The places of the runs directly below one.
fn below(place: usize, tree: &RunTree) -> Vec<usize> {
    let depth = tree.runs[place].depth;
    let inside = tree.runs.iter().enumerate().skip(place + 1).take_while(|(_, run)| run.depth > depth);
    inside.filter(|(_, run)| run.depth == depth + 1).map(|(place, _)| place).collect()
}

/// Describes what ran below several runs of one node.
fn graph(groups: &[Vec<usize>], tree: &RunTree) -> GraphOutline {
    let mut names: Vec<&str> = Vec::new();
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for place in groups.iter().flatten() {
        let name = tree.runs[*place].name.as_str();
        match names.iter().position(|known| *known == name) {
            Some(index) => runs[index].push(*place),
            None => {
                names.push(name);
                runs.push(vec![*place]);
            }
        }
    }
    let index = |place: usize| names.iter().position(|name| *name == tree.runs[place].name).unwrap_or_default();
    let mut edges = BTreeSet::new();
    for group in groups {
        for (from, to) in successions(group, tree) {
            edges.insert((from.map(index), index(to)));
        }
    }
    let nodes = names.iter().zip(&runs).map(|(name, runs)| node(name, runs, tree)).collect();
    let edges = edges.into_iter().map(|(from, to)| EdgeOutline { from, to, on: Vec::new() }).collect();
    GraphOutline { nodes, edges }
}

/// Returns which run began next behind which; the first ones begin behind none.
fn successions(group: &[usize], tree: &RunTree) -> Vec<(Option<usize>, usize)> {
    let mut by_end: Vec<usize> = group.to_vec();
    by_end.sort_by_key(|place| tree.runs[*place].last);
    // The latest begin among the runs that end first: a run that ended before it is not the last one before its successors.
    let mut latest = Vec::with_capacity(by_end.len());
    for place in &by_end {
        let first = tree.runs[*place].first;
        latest.push(latest.last().map_or(first, |known: &usize| first.max(*known)));
    }
    let mut found = Vec::new();
    for to in group {
        let began = tree.runs[*to].first;
        let ended = by_end.partition_point(|place| tree.runs[*place].last < began);
        let Some(bound) = ended.checked_sub(1).map(|last| latest[last]) else {
            found.push((None, *to));
            continue;
        };
        let direct = by_end[..ended].iter().rev().take_while(|place| tree.runs[**place].last >= bound);
        found.extend(direct.map(|from| (Some(*from), *to)));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pleach_core::{Event, OutputFor};

    use super::*;

    fn edges(paths: &str) -> Vec<String> {
        let event = |path: &str| {
            let mut event = Event::of(1).with_node_path(path);
            event.set_output_for(OutputFor::Own);
            event.set_invocation_id("i");
            Arc::new(event)
        };
        let events: Vec<_> = paths.split_whitespace().map(event).collect();
        let outline = observed_outline(&RunTree::of(&events, &"i".into())).unwrap();
        let graph = outline.graph.unwrap();
        let name = |place: usize| graph.nodes[place].name.to_string();
        graph
            .edges
            .iter()
            .map(|edge| format!("{}>{}", edge.from.map(name).unwrap_or_default(), name(edge.to)))
            .collect()
    }

    #[test]
    fn what_ran_next_follows() {
        assert_eq!(edges("w@1/a@1 w@1/b@1 w@1/c@1"), [">a", "a>b", "b>c"]);
        // Two runs at once follow the same run, and the next one follows both.
        assert_eq!(edges("w@1/a@1 w@1/b@1 w@1/c@1 w@1/b@1 w@1/d@1"), [">a", "a>b", "a>c", "b>d", "c>d"]);
        // A loop leads back.
        assert_eq!(edges("w@1/a@1 w@1/b@1 w@1/a@2 w@1/b@2 w@1/c@1"), [">a", "a>b", "b>a", "b>c"]);
    }

    #[test]
    fn only_the_last_runs_before_a_run_lead_to_it() {
        // `a` and `b` run at once; `c` follows both, and `d` follows `c` alone.
        assert_eq!(edges("w@1/a@1 w@1/b@1 w@1/a@1 w@1/c@1 w@1/d@1"), [">a", ">b", "a>c", "b>c", "c>d"]);
    }
}
