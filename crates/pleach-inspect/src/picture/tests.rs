//! Tests of whole pictures.

use pleach_context::{EdgeOutline, GraphOutline, NodeKind};
use pleach_core::RouteKey;

use pleach_workflow::{RunStatus, RunSummary};

use super::*;

fn outline(name: &str, kind: NodeKind, graph: Option<GraphOutline>) -> Outline {
    let description = String::new();
    Outline { name: name.into(), description, kind, rerun_on_resume: false, wait_for_output: false, graph }
}

fn triage() -> Outline {
    let edge =
        |from, to, on: &[&str]| EdgeOutline { from, to, on: on.iter().map(|key| RouteKey::from(*key)).collect() };
    let look = GraphOutline { nodes: vec![outline("look", NodeKind::Function, None)], edges: vec![edge(None, 0, &[])] };
    let nodes = vec![
        outline("sort", NodeKind::Function, None),
        outline("<left>", NodeKind::Function, None),
        outline("review", NodeKind::Workflow, Some(look)),
        outline("both", NodeKind::Join, None),
    ];
    let edges = vec![
        edge(None, 0, &[]),
        edge(Some(0), 1, &["a\"&b"]),
        edge(Some(0), 2, &[]),
        edge(Some(1), 3, &[]),
        edge(Some(2), 3, &[]),
        edge(Some(3), 0, &["again"]),
    ];
    outline("triage", NodeKind::Workflow, Some(GraphOutline { nodes, edges }))
}

#[test]
fn a_group_is_around_its_nodes_and_everything_is_inside_the_picture() {
    let picture = Picture::of(&triage(), None).unwrap();
    let find = |name: &str| picture.boxes.iter().find(|one| one.name == name).unwrap();
    let (group, look) = (find("review"), find("look"));
    assert_eq!((group.kind, find("both").kind, look.kind), (BoxKind::Group, BoxKind::Join, BoxKind::Node));
    assert!(look.x >= group.x && look.x + look.width <= group.x + group.width);
    assert!(look.y >= group.y && look.y + look.height <= group.y + group.height);
    let points = picture.edges.iter().flat_map(|edge| &edge.points);
    assert!(points.clone().all(|(x, y)| *x >= 0.0 && *y >= 0.0 && *x <= picture.width && *y <= picture.height));
    assert_eq!((picture.boxes.len(), picture.edges.len()), (7, 7));
}

#[test]
fn an_svg_document_escapes_names() {
    let svg = Picture::of(&triage(), None).unwrap().to_svg();
    assert!(svg.contains(">&lt;left&gt;</text>") && svg.contains(">a&quot;&amp;b</text>"), "{svg}");
    assert!(!svg.contains("<left>") && svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

#[test]
fn nodes_have_the_status_of_their_runs() {
    let event = |path: &str| {
        let mut event = pleach_core::Event::of(1).with_node_path(path);
        event.set_output_for(pleach_core::OutputFor::Own);
        event.set_invocation_id("i");
        std::sync::Arc::new(event)
    };
    let events = [event("triage@1/sort@1"), event("triage@1/sort@2"), event("triage@1/review@1/look@1")];
    let picture = Picture::of(&triage(), Some(&RunSummary::of(&events, &"i".into()))).unwrap();
    let find = |name: &str| picture.boxes.iter().find(|one| one.name == name).unwrap();
    assert_eq!((find("sort").status, find("sort").detail.as_str()), (Some(RunStatus::Done), "done, 2 runs, 0.000 s"));
    assert_eq!(find("look").path, Some("triage@1/review@1/look@1".into()));
    assert_eq!((find("both").status, find("both").path.clone()), (None, None));
}

fn log(paths: &[&str]) -> Vec<std::sync::Arc<pleach_core::Event>> {
    let event = |path: &&str| {
        let mut event = pleach_core::Event::of(1).with_node_path(*path);
        event.set_output_for(pleach_core::OutputFor::Own);
        event.set_invocation_id("i");
        std::sync::Arc::new(event)
    };
    paths.iter().map(event).collect()
}

/// A log of another program may have several roots, or a root with an id other than the first one.
#[test]
fn the_runs_of_any_root_have_their_status() {
    for (paths, inner) in [(["v@1", "w@1/a@1"], "w"), (["w@7/b@1", "w@7/a@1"], "a"), (["w@1/a@1", "w@2/a@1"], "a")] {
        let events = log(&paths);
        let outline = crate::observed_outline(&crate::RunTree::of(&events, &"i".into())).unwrap().unwrap();
        let picture = Picture::of(&outline, Some(&RunSummary::of(&events, &"i".into()))).unwrap();
        let found = picture.boxes.iter().find(|one| one.name == inner).unwrap();
        assert!(found.status.is_some() && found.path.is_some(), "{paths:?}: {found:?}");
    }
}

/// The agent `h` called the workflow `t`, and is drawn next to it.
#[test]
fn every_picture_of_an_invocation_shows_the_runs_of_the_agent_that_called() {
    let events = log(&["h@1", "h@1/t@adk-1/a@1", "h@1"]);
    let invocation = "i".into();
    let outline = crate::observed_outline(&crate::RunTree::of(&events, &invocation)).unwrap().unwrap();
    let picture = Picture::of(&outline, Some(&RunSummary::of(&events, &invocation))).unwrap();
    let caller = picture.boxes.iter().find(|one| one.name == "h").unwrap();
    assert_eq!((caller.status, caller.path.clone()), (Some(RunStatus::Done), Some("h@1".into())));
    let mermaid = pleach_workflow::mermaid_of_run(&outline, &events, &invocation);
    assert!(mermaid.contains(&format!("[\"h<br/>{}\"]\n  style ", caller.detail)), "{mermaid}");
    let dot = pleach_workflow::dot_of_run(&outline, &events, &invocation);
    assert!(dot.contains(&format!("[label=\"h\\n{}\", style=\"rounded,filled\"", caller.detail)), "{dot}");
}

#[test]
fn a_workflow_of_too_many_nodes_has_no_picture() {
    let many = |count: usize| {
        let nodes = (0..count).map(|number| outline(&format!("n{number}"), NodeKind::Function, None)).collect();
        outline("w", NodeKind::Workflow, Some(GraphOutline { nodes, edges: Vec::new() }))
    };
    assert_eq!(Picture::of(&many(1000), None).unwrap().boxes.len(), 1001);
    let refused = Picture::of(&many(1001), None).unwrap_err();
    assert_eq!((refused.code(), refused), ("PictureTooLarge", PictureError::TooLarge { what: "nodes", most: 1000 }));
}
