//! Writes a picture as an SVG document.

use std::fmt::Write as _;

use pleach_workflow::internal::{colour, escape_markup};

use super::model::{BoxKind, Picture, PictureBox, PictureEdge};

/// Colours that are legible on white and on black.
const LINE: &str = "#7d8590";
const TEXT: &str = "#1f2328";
/// The colour of a node that has not run.
const IDLE: &str = "#f6f8fa";

pub(super) fn document(picture: &Picture) -> String {
    let (width, height) = (picture.width, picture.height);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"system-ui, sans-serif\">\n"
    );
    text.push_str("<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">");
    add(&mut text, format_args!("<path d=\"M0 0 8 4 0 8z\" fill=\"{LINE}\"/></marker></defs>\n"));
    picture.boxes.iter().for_each(|one| draw_box(&mut text, one));
    picture.edges.iter().for_each(|edge| draw_edge(&mut text, edge));
    text.push_str("</svg>\n");
    text
}

fn draw_box(text: &mut String, one: &PictureBox) {
    let PictureBox { x, y, width, height, kind, .. } = one;
    let middle = x + width / 2.0;
    let fill = one.status.map_or(IDLE, colour);
    match kind {
        BoxKind::Start => {
            let (radius, y) = (width / 2.0, y + height / 2.0);
            add(text, format_args!("<circle cx=\"{middle:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{LINE}\"/>\n"));
            return;
        }
        BoxKind::Join => {
            let (right, bottom, side) = (x + width, y + height, y + height / 2.0);
            add(
                text,
                format_args!(
                    "<path d=\"M{x:.1} {side:.1} {:.1} {y:.1} {:.1} {y:.1} {right:.1} {side:.1} {:.1} {bottom:.1} {:.1} {bottom:.1}z\" fill=\"{fill}\" stroke=\"{LINE}\"/>\n",
                    x + 14.0,
                    right - 14.0,
                    right - 14.0,
                    x + 14.0
                ),
            );
        }
        BoxKind::Node | BoxKind::Group => {
            let dash = if *kind == BoxKind::Group { " stroke-dasharray=\"4 3\" fill-opacity=\"0.35\"" } else { "" };
            add(
                text,
                format_args!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"7\" fill=\"{fill}\" stroke=\"{LINE}\"{dash}/>\n"
                ),
            );
        }
    }
    let name = y + if one.detail.is_empty() && *kind != BoxKind::Group { 26.0 } else { 18.0 };
    add(
        text,
        format_args!(
            "<text x=\"{middle:.1}\" y=\"{name:.1}\" font-size=\"13\" text-anchor=\"middle\" fill=\"{TEXT}\">{}</text>\n",
            escape_markup(&one.name)
        ),
    );
    if !one.detail.is_empty() {
        add(
            text,
            format_args!(
                "<text x=\"{middle:.1}\" y=\"{:.1}\" font-size=\"10.5\" text-anchor=\"middle\" fill=\"#57606a\">{}</text>\n",
                y + 32.0,
                escape_markup(&one.detail)
            ),
        );
    }
}

fn draw_edge(text: &mut String, edge: &PictureEdge) {
    let points: Vec<String> = edge.points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    add(
        text,
        format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{LINE}\" stroke-width=\"1.3\" marker-end=\"url(#arrow)\"/>\n",
            points.join(" ")
        ),
    );
    let (Some(label), Some((x, y))) = (&edge.label, middle(&edge.points)) else { return };
    add(
        text,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"10.5\" text-anchor=\"middle\" fill=\"{LINE}\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n",
            escape_markup(label)
        ),
    );
}

/// Returns the middle of a line's middle segment.
fn middle(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let place = points.len() / 2;
    let (from, to) = (points.get(place.checked_sub(1)?)?, points.get(place)?);
    Some((f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1)))
}

fn add(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a String takes any text");
}
