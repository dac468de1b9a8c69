//! Whole pictures.

use pleach_context::{EdgeOutline, GraphOutline, NodeKind};
use pleach_core::RouteKey;

use pleach_workflow::RunStatus;

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
    let picture = Picture::of(&triage(), None);
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
fn names_in_an_svg_document_stay_texts() {
    let svg = Picture::of(&triage(), None).to_svg();
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
    let tree = RunTree::of(&events, &"i".into());
    let picture = Picture::of(&triage(), Some(&tree));
    let find = |name: &str| picture.boxes.iter().find(|one| one.name == name).unwrap();
    assert_eq!((find("sort").status, find("sort").detail.as_str()), (Some(RunStatus::Done), "done, 2 runs, 0.000 s"));
    assert_eq!(find("look").path, Some("triage@1/review@1/look@1".into()));
    assert_eq!((find("both").status, find("both").path.clone()), (None, None));
}
