//! Compares whole pictures of one workflow that has every kind of node and edge.

use pleach_context::Node as _;

use super::{dot, mermaid};
use crate::{START, Workflow};

fn triage() -> Workflow {
    let mut inner = Workflow::builder("review");
    let look = inner.node("look", async || {});
    inner.edge(START, look);
    let mut wf = Workflow::builder("triage");
    let (sort, left) = (wf.node("sort", async || {}), wf.node("left", async || {}));
    let review = wf.add(inner.build().expect("the graph is sound"));
    let both = wf.join("both", (left, review));
    wf.edge(START, sort).route(sort, vec!["a\"b", "c"], left.dynamic());
    wf.route(sort, crate::EdgeRoute::Default, review).edge(START, review);
    let _ = both;
    wf.build().expect("the graph is sound")
}

#[test]
fn a_workflow_is_a_mermaid_flowchart() {
    let expected = "\
flowchart TD
  n_start((START))
  n_0[\"sort\"]
  n_1[\"left\"]
  subgraph n_2[\"review\"]
    n_2_start((START))
    n_2_0[\"look\"]
    n_2_start --> n_2_0
  end
  n_3{{\"both\"}}
  n_start --> n_0
  n_start --> n_2
  n_0 -->|\"a#quot;b, c\"| n_1
  n_0 -->|\"__DEFAULT__\"| n_2
  n_1 --> n_3
  n_2 --> n_3
";
    assert_eq!(mermaid(&triage().outline()), expected);
}

#[test]
fn a_workflow_is_a_dot_digraph() {
    let expected = "\
digraph {
  compound=true
  node [shape=box, style=rounded]
  n_start [label=\"START\", shape=circle]
  n_0 [label=\"sort\"]
  n_1 [label=\"left\"]
  subgraph cluster_n_2 {
    label=\"review\"
    n_2_start [label=\"START\", shape=circle]
    n_2_0 [label=\"look\"]
    n_2_start -> n_2_0
  }
  n_3 [label=\"both\", shape=hexagon]
  n_start -> n_0
  n_start -> n_2_start [lhead=cluster_n_2]
  n_0 -> n_1 [label=\"a\\\"b, c\"]
  n_0 -> n_2_start [label=\"__DEFAULT__\", lhead=cluster_n_2]
  n_1 -> n_3
  n_2_start -> n_3 [ltail=cluster_n_2]
}
";
    assert_eq!(dot(&triage().outline()), expected);
}

/// The default edge is followed last, but drawn in declaration order.
// R624
#[test]
fn r624_edges_are_drawn_as_they_were_declared() {
    let mut wf = Workflow::builder("wf");
    let (sort, left, right) =
        (wf.node("sort", async || {}), wf.node("left", async || {}), wf.node("right", async || {}));
    wf.edge(START, sort).route(sort, crate::EdgeRoute::Default, left.dynamic()).route(sort, "x", right.dynamic());
    let graph = wf.build().expect("the graph is sound").outline().graph.expect("it has edges");
    assert_eq!(graph.edges.iter().map(|edge| edge.to).collect::<Vec<_>>(), [0, 1, 2]);
}

// A graph that is read from a stored run can have any names: they must not end a label or reach the terminal.
#[test]
fn any_name_is_escaped() {
    let mut outline = triage().outline();
    outline.graph.as_mut().unwrap().nodes[0].name = "a\"]\n\u{1b}click <b>".into();
    let mermaid = mermaid(&outline);
    assert!(mermaid.contains("[\"a#quot;]  click #lt;b#gt;\"]\n"), "{mermaid}");
    let dot = dot(&outline);
    assert!(dot.contains("label=\"a\\\"]  click <b>\""), "{dot}");
}
