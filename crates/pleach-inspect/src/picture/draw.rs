//! Draws an outline: computes sizes from the inside out, then positions from the outside in.

use pleach_context::{EdgeOutline, GraphOutline, NodeKind, Outline};
use pleach_core::NodePath;
use pleach_workflow::{NodeSummary, RunSummary};

use super::model::{BoxKind, Picture, PictureBox, PictureEdge};
use super::place::place;

/// The margin around the whole picture, and inside the border of a group.
const MARGIN: f64 = 14.0;
/// The height of the line with a group's name.
const TITLE: f64 = 34.0;
const HEIGHT: f64 = 42.0;
const START: f64 = 22.0;
/// The width of a letter, in names and in the smaller details.
const LETTER: f64 = 7.6;
const SMALL: f64 = 6.2;
/// The length to which names are cut, in letters.
const LONGEST: usize = 40;

pub(super) fn picture(outline: &Outline, runs: Option<&RunSummary>) -> Picture {
    let drawn = match &outline.graph {
        Some(inner) if outline.kind != NodeKind::Agent || !inner.nodes.is_empty() => {
            let path = runs.map(|runs| runs.root(&outline.name)).unwrap_or_default();
            graph(inner, runs.map(|runs| (runs, &path)))
        }
        _ => node(outline, runs.and_then(|runs| runs.node(&NodePath::root(), &outline.name)), None),
    };
    let mut picture = Picture { width: drawn.width + 2.0 * MARGIN, height: drawn.height + 2.0 * MARGIN, ..drawn };
    shift(&mut picture.boxes, &mut picture.edges, MARGIN, MARGIN);
    picture
}

/// The runs of an invocation, and the path of the run whose graph is drawn.
type Run<'a> = Option<(&'a RunSummary, &'a NodePath)>;

/// Draws a graph, whose runs are below a path.
fn graph(graph: &GraphOutline, run: Run<'_>) -> Picture {
    let mut inner: Vec<Picture> = graph.nodes.iter().map(|outline| inner_node(outline, run)).collect();
    inner.push(start());
    let first = inner.len() - 1;
    let ends = |edge: &EdgeOutline| (edge.from.unwrap_or(first), edge.to);
    let edges: Vec<(usize, usize)> = graph.edges.iter().map(ends).collect();
    let sizes: Vec<(f64, f64)> = inner.iter().map(|drawn| (drawn.width, drawn.height)).collect();
    let placed = place(&sizes, &edges);
    let mut whole = Picture { width: placed.width, height: placed.height, boxes: Vec::new(), edges: Vec::new() };
    let corner = |index: usize| {
        let ((x, y), (width, height)) = (placed.middles[index], sizes[index]);
        (x - width / 2.0, y - height / 2.0)
    };
    for ((edge, (from, to)), way) in graph.edges.iter().zip(&edges).zip(&placed.ways) {
        let at = |index: usize| (corner(index), sizes[index]);
        whole.edges.push(PictureEdge { points: line(at(*from), at(*to), way), label: label(edge) });
    }
    for (index, mut drawn) in inner.into_iter().enumerate() {
        let (x, y) = corner(index);
        shift(&mut drawn.boxes, &mut drawn.edges, x, y);
        whole.boxes.append(&mut drawn.boxes);
        whole.edges.append(&mut drawn.edges);
    }
    whole
}

fn inner_node(outline: &Outline, run: Run<'_>) -> Picture {
    let summary = run.and_then(|(runs, parent)| {
        // An agent next to the nodes that it called represents the run above.
        let is_caller = outline.kind == NodeKind::Agent && outline.name == parent.name();
        let above = || runs.node(&parent.parent().unwrap_or_default(), &outline.name);
        runs.node(parent, &outline.name).or_else(|| is_caller.then(above).flatten())
    });
    let nested = outline.graph.as_ref().filter(|_| outline.kind == NodeKind::Workflow);
    let inside = nested.map(|nested| graph(nested, run.zip(summary).map(|((runs, _), summary)| (runs, &summary.path))));
    node(outline, summary, inside)
}

/// Draws a box, with a graph inside for a group.
fn node(outline: &Outline, summary: Option<&NodeSummary>, inside: Option<Picture>) -> Picture {
    let name = short(&outline.name);
    let detail = summary.map(NodeSummary::text).unwrap_or_default();
    let letters = (name.chars().count() as f64 * LETTER).max(detail.chars().count() as f64 * SMALL);
    let wanted = (letters + 26.0).max(70.0);
    let (width, height, kind) = match (&inside, outline.kind) {
        (Some(inside), _) => (wanted.max(inside.width + 2.0 * MARGIN), inside.height + TITLE + MARGIN, BoxKind::Group),
        (None, NodeKind::Join) => (wanted + 14.0, HEIGHT, BoxKind::Join),
        (None, _) => (wanted, HEIGHT, BoxKind::Node),
    };
    let (status, path) = (summary.map(|summary| summary.status), summary.map(|summary| summary.path.clone()));
    let mut boxes = vec![PictureBox { x: 0.0, y: 0.0, width, height, kind, name, status, detail, path }];
    let mut edges = Vec::new();
    if let Some(mut inside) = inside {
        shift(&mut inside.boxes, &mut inside.edges, (width - inside.width) / 2.0, TITLE);
        boxes.append(&mut inside.boxes);
        edges = inside.edges;
    }
    Picture { width, height, boxes, edges }
}

fn start() -> Picture {
    let start = PictureBox {
        x: 0.0,
        y: 0.0,
        width: START,
        height: START,
        kind: BoxKind::Start,
        name: "START".to_owned(),
        status: None,
        detail: String::new(),
        path: None,
    };
    Picture { width: START, height: START, boxes: vec![start], edges: Vec::new() }
}

/// Returns the corners of a line from the border of one box to the border of another.
fn line(from: ((f64, f64), (f64, f64)), to: ((f64, f64), (f64, f64)), way: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (((x1, y1), (w1, h1)), ((x2, y2), (w2, h2))) = (from, to);
    let (first, last) = if y1 + h1 <= y2 {
        ((x1 + w1 / 2.0, y1 + h1), (x2 + w2 / 2.0, y2))
    } else if y2 + h2 <= y1 {
        // A line back up runs to the right of the middle, so that the lines of a loop are apart.
        ((x1 + w1 * 0.75, y1), (x2 + w2 * 0.75, y2 + h2))
    } else if x1 == x2 && y1 == y2 {
        // A line from a box to itself.
        let (right, middle) = (x1 + w1, y1 + h1 / 2.0);
        return vec![
            (right, middle - 8.0),
            (right + 16.0, middle - 8.0),
            (right + 16.0, middle + 8.0),
            (right, middle + 8.0),
        ];
    } else if x1 < x2 {
        ((x1 + w1, y1 + h1 / 2.0), (x2, y2 + h2 / 2.0))
    } else {
        ((x1, y1 + h1 / 2.0), (x2 + w2, y2 + h2 / 2.0))
    };
    std::iter::once(first).chain(way.iter().copied()).chain([last]).collect()
}

fn label(edge: &EdgeOutline) -> Option<String> {
    let routes: Vec<String> = edge.on.iter().map(ToString::to_string).collect();
    (!routes.is_empty()).then(|| short(&routes.join(", ")))
}

fn short(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn shift(boxes: &mut [PictureBox], edges: &mut [PictureEdge], x: f64, y: f64) {
    for one in boxes {
        one.x += x;
        one.y += y;
    }
    for point in edges.iter_mut().flat_map(|edge| &mut edge.points) {
        point.0 += x;
        point.1 += y;
    }
}
