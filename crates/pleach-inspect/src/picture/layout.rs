//! [`lay_out`]: gives the elements of a drawing their positions. Computes sizes from the inside out, then positions from the
//! outside in.

use foldhash::HashMap;
use pleach_context::NodeKind;
use pleach_workflow::NodeSummary;
use pleach_workflow::internal::{Drawing, DrawnEdge, DrawnKind, DrawnNode, Element};

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

/// Lays a drawing out.
pub(super) fn lay_out(drawing: &Drawing) -> Picture {
    let inside = lay_out_graph(drawing);
    let mut picture = Picture { width: inside.width + 2.0 * MARGIN, height: inside.height + 2.0 * MARGIN, ..inside };
    shift(&mut picture.boxes, &mut picture.edges, MARGIN, MARGIN);
    picture
}

/// Lays out the nodes of one level, each with everything inside it.
fn lay_out_graph(drawing: &Drawing) -> Picture {
    let (ids, inner) = vertices(drawing);
    let edges = edges(drawing, &ids);
    let ends: Vec<(usize, usize)> = edges.iter().map(|(_, ends)| *ends).collect();
    let sizes: Vec<(f64, f64)> = inner.iter().map(|drawn| (drawn.width, drawn.height)).collect();
    let placed = place(&sizes, &ends);
    let mut whole = Picture { width: placed.width, height: placed.height, boxes: Vec::new(), edges: Vec::new() };
    let corner = |index: usize| {
        let ((x, y), (width, height)) = (placed.middles[index], sizes[index]);
        (x - width / 2.0, y - height / 2.0)
    };
    for ((edge, (from, to)), way) in edges.iter().zip(&placed.ways) {
        let at = |index: usize| (corner(index), sizes[index]);
        let label = edge.label().map(|routes| short(&routes));
        whole.edges.push(PictureEdge { points: line(at(*from), at(*to), way), label });
    }
    for (index, mut drawn) in inner.into_iter().enumerate() {
        let (x, y) = corner(index);
        shift(&mut drawn.boxes, &mut drawn.edges, x, y);
        whole.boxes.append(&mut drawn.boxes);
        whole.edges.append(&mut drawn.edges);
    }
    whole
}

/// Returns the ids and the pictures of the nodes of one level. The start comes last, so that the nodes decide the order
/// of a row.
fn vertices(drawing: &Drawing) -> (Vec<&str>, Vec<Picture>) {
    let mut found = Vec::new();
    let mut starts = Vec::new();
    for element in &drawing.elements {
        match element {
            Element::Node(node) if node.kind == DrawnKind::Start => starts.push((node.id.as_str(), start(node))),
            Element::Node(node) => found.push((node.id.as_str(), lay_out_node(node, None))),
            Element::Group(group, inside) => {
                found.push((group.id.as_str(), lay_out_node(group, Some(lay_out_graph(inside)))));
            }
            Element::Edge(_) => {}
        }
    }
    found.into_iter().chain(starts).unzip()
}

/// Returns the edges between the nodes of one level, with the places of their ends.
fn edges<'d>(drawing: &'d Drawing, ids: &[&str]) -> Vec<(&'d DrawnEdge, (usize, usize))> {
    let places: HashMap<&str, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    let ends = |edge: &DrawnEdge| Some((*places.get(edge.from.as_str())?, *places.get(edge.to.as_str())?));
    let edges = drawing.elements.iter().filter_map(|element| match element {
        Element::Edge(edge) => Some((edge, ends(edge)?)),
        Element::Node(_) | Element::Group(..) => None,
    });
    edges.collect()
}

/// Returns the picture of a box, with a graph inside for a group.
fn lay_out_node(node: &DrawnNode, inside: Option<Picture>) -> Picture {
    let name = short(&node.name);
    let runs = node.runs.as_ref();
    let detail = runs.map(NodeSummary::text).unwrap_or_default();
    let letters = (name.chars().count() as f64 * LETTER).max(detail.chars().count() as f64 * SMALL);
    let wanted = (letters + 26.0).max(70.0);
    let (width, height, kind) = match (&inside, node.kind) {
        (Some(inside), _) => (wanted.max(inside.width + 2.0 * MARGIN), inside.height + TITLE + MARGIN, BoxKind::Group),
        (None, DrawnKind::Node(NodeKind::Join)) => (wanted + 14.0, HEIGHT, BoxKind::Join),
        (None, _) => (wanted, HEIGHT, BoxKind::Node),
    };
    let status = runs.map(|runs| runs.status);
    let path = runs.map(|runs| runs.path.clone());
    let mut boxes = vec![PictureBox { x: 0.0, y: 0.0, width, height, kind, name, status, detail, path }];
    let mut edges = Vec::new();
    if let Some(mut inside) = inside {
        shift(&mut inside.boxes, &mut inside.edges, (width - inside.width) / 2.0, TITLE);
        boxes.append(&mut inside.boxes);
        edges = inside.edges;
    }
    Picture { width, height, boxes, edges }
}

fn start(node: &DrawnNode) -> Picture {
    let start = PictureBox {
        x: 0.0,
        y: 0.0,
        width: START,
        height: START,
        kind: BoxKind::Start,
        name: node.name.clone(),
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
