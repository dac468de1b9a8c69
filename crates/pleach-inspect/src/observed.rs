//! [`observed_outline`]: the order in which the nodes of an invocation ran, read from its runs.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;
use pleach_context::{EdgeOutline, GraphOutline, NodeKind, Outline};

use crate::picture::Room;
use crate::{NodeRun, PictureError, RunTree};

/// Returns an outline of the nodes that ran in an invocation. It replaces the outline of the workflow if the workflow
/// itself is not available.
///
/// Each node that ran appears once, below the node that ran it. An edge leads from a node to the nodes whose runs were
/// the next to begin after its end. So the edges show what happened, and may differ from the edges of the graph. Nodes
/// that did not run are missing. If the log has several roots, they are side by side below a node without a name.
/// Returns `None` if there are no runs.
///
/// # Errors
/// [`PictureError::TooLarge`] if there are more nodes than a picture can show.
pub fn observed_outline(tree: &RunTree) -> Result<Option<Outline>, PictureError> {
    let roots = places(tree, |run| run.depth == 0);
    let names: BTreeSet<&str> = roots.iter().map(|place| tree.runs[*place].name.as_str()).collect();
    let mut reader = Reader { tree, room: Room::default() };
    match (names.first(), names.len()) {
        (None, _) => Ok(None),
        (Some(name), 1) => reader.node(name, &roots).map(Some),
        _ => Ok(Some(outline("", Some(reader.graph(&[roots])?)))),
    }
}

fn places(tree: &RunTree, holds: impl Fn(&NodeRun) -> bool) -> Vec<usize> {
    tree.runs.iter().enumerate().filter(|(_, run)| holds(run)).map(|(place, _)| place).collect()
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

/// Returns true if a run belongs to a node that was called as a tool. The id of such a run is the id of the call. The
/// ids of steps begin with `key-` or `step-`, and the ids of all other runs are numbers.
fn is_call(run: &NodeRun) -> bool {
    let is_step = ["key-", "step-"].iter().any(|form| run.run_id.starts_with(form));
    !is_step && run.run_id.parse::<u32>().is_err()
}

/// Returns the indexes of the runs directly below a run.
fn below(place: usize, tree: &RunTree) -> Vec<usize> {
    let depth = tree.runs[place].depth;
    let inside = tree.runs.iter().enumerate().skip(place + 1).take_while(|(_, run)| run.depth > depth);
    inside.filter(|(_, run)| run.depth == depth + 1).map(|(place, _)| place).collect()
}

/// Reads the nodes of a tree, and stops with an error if they are too many for a picture.
struct Reader<'t> {
    tree: &'t RunTree,
    room: Room,
}

impl<'t> Reader<'t> {
    /// Describes a node by its runs.
    fn node(&mut self, name: &str, runs: &[usize]) -> Result<Outline, PictureError> {
        self.room.node()?;
        let inner = runs.iter().map(|place| below(*place, self.tree));
        let groups: Vec<Vec<usize>> = inner.filter(|below| !below.is_empty()).collect();
        if groups.is_empty() {
            return Ok(outline(name, None));
        }
        let mut graph = self.graph(&groups)?;
        if groups.iter().flatten().any(|place| is_call(&self.tree.runs[*place])) {
            self.add_caller(name, &mut graph)?;
        }
        Ok(outline(name, Some(graph)))
    }

    /// Adds an agent as a node before the nodes that its calls ran. It is not drawn as a box around them, because it
    /// also works between their runs.
    fn add_caller(&mut self, name: &str, graph: &mut GraphOutline) -> Result<(), PictureError> {
        self.room.node()?;
        self.room.edge()?;
        let caller = graph.nodes.len();
        for edge in graph.edges.iter_mut().filter(|edge| edge.from.is_none()) {
            edge.from = Some(caller);
        }
        graph.nodes.push(Outline { kind: NodeKind::Agent, ..outline(name, None) });
        graph.edges.push(EdgeOutline { from: None, to: caller, on: Vec::new() });
        Ok(())
    }

    /// Describes the nodes that ran below several runs of one node.
    fn graph(&mut self, groups: &[Vec<usize>]) -> Result<GraphOutline, PictureError> {
        let tree = self.tree;
        let mut nodes: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut indexes: HashMap<&str, usize> = HashMap::default();
        for place in groups.iter().flatten() {
            let name = tree.runs[*place].name.as_str();
            let index = *indexes.entry(name).or_insert_with(|| {
                nodes.push((name, Vec::new()));
                nodes.len() - 1
            });
            nodes[index].1.push(*place);
        }
        let mut edges = BTreeSet::new();
        for group in groups {
            self.successions(group, |place| indexes[tree.runs[place].name.as_str()], &mut edges)?;
        }
        let edges = edges.into_iter().map(|(from, to)| EdgeOutline { from, to, on: Vec::new() }).collect();
        let nodes = nodes.iter().map(|(name, runs)| self.node(name, runs)).collect::<Result<_, _>>()?;
        Ok(GraphOutline { nodes, edges })
    }

    /// Adds the edges between the runs of a group. Each run follows the last runs that ended before it began. The first
    /// runs have no predecessors.
    fn successions(
        &mut self,
        group: &[usize],
        index: impl Fn(usize) -> usize,
        edges: &mut BTreeSet<(Option<usize>, usize)>,
    ) -> Result<(), PictureError> {
        let tree = self.tree;
        let mut by_end: Vec<usize> = group.to_vec();
        by_end.sort_by_key(|place| tree.runs[*place].last);
        // For each run in the order of their ends: the latest start of this run and the runs that ended before it. Only
        // runs that ended after this start are the last ones before a successor.
        let mut latest = Vec::with_capacity(by_end.len());
        for place in &by_end {
            let first = tree.runs[*place].first;
            latest.push(latest.last().map_or(first, |known: &usize| first.max(*known)));
        }
        // Runs that begin after the same runs have ended have the same predecessors.
        let mut waves: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for to in group {
            let began = tree.runs[*to].first;
            let ended = by_end.partition_point(|place| tree.runs[*place].last < began);
            waves.entry(ended).or_default().insert(index(*to));
        }
        for (ended, wave) in waves {
            let mut before: BTreeSet<Option<usize>> = BTreeSet::new();
            match ended.checked_sub(1).map(|last| latest[last]) {
                None => drop(before.insert(None)),
                Some(bound) => {
                    let direct = by_end[..ended].iter().rev().take_while(|place| tree.runs[**place].last >= bound);
                    for from in direct {
                        self.room.step()?;
                        before.insert(Some(index(*from)));
                    }
                }
            }
            for edge in before.iter().flat_map(|from| wave.iter().map(|to| (*from, *to))) {
                if edges.insert(edge) {
                    self.room.edge()?;
                }
            }
        }
        Ok(())
    }
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
        let outline = observed_outline(&RunTree::of(&events, &"i".into())).unwrap().unwrap();
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
        // Two parallel runs follow the same run, and the next run follows both.
        assert_eq!(edges("w@1/a@1 w@1/b@1 w@1/c@1 w@1/b@1 w@1/d@1"), [">a", "a>b", "a>c", "b>d", "c>d"]);
        // A loop has an edge back.
        assert_eq!(edges("w@1/a@1 w@1/b@1 w@1/a@2 w@1/b@2 w@1/c@1"), [">a", "a>b", "b>a", "b>c"]);
    }

    #[test]
    fn only_the_last_runs_before_a_run_lead_to_it() {
        // `a` and `b` run in parallel; `c` follows both, and `d` follows only `c`.
        assert_eq!(edges("w@1/a@1 w@1/b@1 w@1/a@1 w@1/c@1 w@1/d@1"), [">a", ">b", "a>c", "b>c", "c>d"]);
    }

    #[test]
    fn an_agent_leads_to_the_workflow_that_it_called() {
        assert_eq!(edges("h@1 h@1/t@adk-1/a@1 h@1/t@adk-1/b@1 h@1"), ["h>t", ">h"]);
        assert_eq!(edges("h@1/t@call_1/a@1 h@1/u@call_2/a@1"), ["h>t", "t>u", ">h"]);
        assert_eq!(edges("n@1/s@step-1 n@1/s@key-a"), [">s", "s>s"]);
    }

    /// Two waves of parallel runs: each run of the second wave begins after all runs of the first have ended.
    #[test]
    fn more_nodes_or_lines_than_a_picture_shows_are_refused() {
        let waves = |runs: usize| {
            let all = |wave: &str| (0..runs).map(|run| format!("w@1/{wave}{run}@1 ")).collect::<String>();
            // Each run begins before the first run of its wave ends.
            format!("{0}{0}{1}{1}", all("a"), all("b"))
        };
        assert_eq!(edges(&waves(20)).len(), 20 + 20 * 20);
        let refused = |paths: &str| {
            let event = |path: &str| {
                let mut event = Event::of(1).with_node_path(path);
                event.set_invocation_id("i");
                Arc::new(event)
            };
            let events: Vec<_> = paths.split_whitespace().map(event).collect();
            observed_outline(&RunTree::of(&events, &"i".into())).unwrap_err().to_string()
        };
        assert!(refused(&waves(300)).contains("more than 4000 lines"), "{}", refused(&waves(300)));
        let row: String = (0..1200).map(|run| format!("w@1/n{run}@1 ")).collect();
        assert!(refused(&row).contains("more than 1000 nodes"), "{}", refused(&row));
    }
}
