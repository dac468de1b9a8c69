//! [`place`]: computes the positions of a graph's vertices, row by row.

use super::layers::layers;

/// The free space between two boxes of a row, and between two rows.
const GAP: f64 = 28.0;
const ROW_GAP: f64 = 44.0;
/// The width of the gap in which a line passes through a row.
const LANE: f64 = 10.0;
/// If lines pass through more rows than this in total, they are drawn straight.
const MOST_LANES: usize = 4000;
/// The number of times that the rows are sorted and shifted.
const SWEEPS: usize = 6;

/// The positions of everything in a graph.
pub(super) struct Placed {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The middle of each vertex.
    pub(super) middles: Vec<(f64, f64)>,
    /// For each edge, the middles of the gaps that it passes on its way.
    pub(super) ways: Vec<Vec<(f64, f64)>>,
}

/// A vertex of the drawing: a vertex of the graph, or the gap where a line passes through a row.
struct Spot {
    width: f64,
    row: usize,
    x: f64,
    /// The adjacent spots in the rows above and below.
    above: Vec<usize>,
    below: Vec<usize>,
}

/// Places vertices of these sizes so that edges lead down and rarely cross.
pub(super) fn place(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Placed {
    let rows = layers(sizes.len(), edges);
    let mut spots: Vec<Spot> = sizes.iter().zip(&rows).map(|((width, _), row)| Spot::new(*width, *row)).collect();
    let passed: usize = edges.iter().map(|(from, to)| rows[*from].abs_diff(rows[*to]).saturating_sub(1)).sum();
    let ways: Vec<Vec<usize>> = edges.iter().map(|edge| way(&mut spots, *edge, passed <= MOST_LANES)).collect();
    let mut order = ordered(&spots);
    for _ in 0..SWEEPS {
        sort(&mut order, &mut spots, |spot| &spot.above);
        order.reverse();
        sort(&mut order, &mut spots, |spot| &spot.below);
        order.reverse();
    }
    align(&order, &mut spots);
    finish(sizes, &rows, &spots, &ways)
}

impl Spot {
    fn new(width: f64, row: usize) -> Self {
        Self { width, row, x: 0.0, above: Vec::new(), below: Vec::new() }
    }
}

/// Joins the ends of an edge through the rows between them. Returns the spots in between, from the start of the edge to
/// its end.
fn way(spots: &mut Vec<Spot>, (from, to): (usize, usize), has_lanes: bool) -> Vec<usize> {
    let (upper, lower) = if spots[from].row <= spots[to].row { (from, to) } else { (to, from) };
    let mut lanes = Vec::new();
    let mut last = upper;
    if has_lanes {
        for row in spots[upper].row + 1..spots[lower].row {
            spots.push(Spot::new(LANE, row));
            let lane = spots.len() - 1;
            join(spots, last, lane);
            lanes.push(lane);
            last = lane;
        }
    }
    if spots[upper].row < spots[lower].row {
        join(spots, last, lower);
    }
    if upper != from {
        lanes.reverse();
    }
    lanes
}

fn join(spots: &mut [Spot], upper: usize, lower: usize) {
    spots[upper].below.push(lower);
    spots[lower].above.push(upper);
}

/// Returns the spots of each row.
fn ordered(spots: &[Spot]) -> Vec<Vec<usize>> {
    let rows = spots.iter().map(|spot| spot.row + 1).max().unwrap_or(0);
    let mut order = vec![Vec::new(); rows];
    for (index, spot) in spots.iter().enumerate() {
        order[spot.row].push(index);
    }
    order
}

/// Sorts each row by the middle of its spots' neighbours, and places the spots side by side.
fn sort(order: &mut [Vec<usize>], spots: &mut [Spot], near: impl Fn(&Spot) -> &Vec<usize>) {
    for row in order {
        let wanted = |spots: &[Spot], index: usize| middle(spots, near(&spots[index])).unwrap_or(spots[index].x);
        let mut keyed: Vec<(f64, usize)> = row.iter().map(|index| (wanted(spots, *index), *index)).collect();
        keyed.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        *row = keyed.into_iter().map(|(_, index)| index).collect();
        let total: f64 = row.iter().map(|index| spots[*index].width + GAP).sum();
        let mut x = -total / 2.0;
        for index in row.iter() {
            spots[*index].x = x + (spots[*index].width + GAP) / 2.0;
            x += spots[*index].width + GAP;
        }
    }
}

fn middle(spots: &[Spot], near: &[usize]) -> Option<f64> {
    let sum: f64 = near.iter().map(|index| spots[*index].x).sum();
    (!near.is_empty()).then(|| sum / near.len() as f64)
}

/// Moves the spots of each row towards their neighbours, as far as the adjacent spots allow.
fn align(order: &[Vec<usize>], spots: &mut [Spot]) {
    for sweep in 0..SWEEPS {
        for step in 0..order.len() {
            let row = if sweep % 2 == 0 { &order[step] } else { &order[order.len() - 1 - step] };
            let near = |spot: &Spot| if sweep % 2 == 0 { spot.above.clone() } else { spot.below.clone() };
            let wanted: Vec<f64> =
                row.iter().map(|index| middle(spots, &near(&spots[*index])).unwrap_or(spots[*index].x)).collect();
            spread(row, spots, &wanted);
        }
    }
}

/// Places the spots of a row as near to their wanted positions as their widths allow. Each position is the mean of two:
/// one from placing the spots from the left, one from placing them from the right.
fn spread(row: &[usize], spots: &mut [Spot], wanted: &[f64]) {
    let apart = |spots: &[Spot], left: usize, right: usize| (spots[left].width + spots[right].width) / 2.0 + GAP;
    let (mut from_left, mut from_right) = (wanted.to_vec(), wanted.to_vec());
    for place in 1..row.len() {
        let bound = from_left[place - 1] + apart(spots, row[place - 1], row[place]);
        from_left[place] = from_left[place].max(bound);
    }
    for place in (1..row.len()).rev() {
        let bound = from_right[place] - apart(spots, row[place - 1], row[place]);
        from_right[place - 1] = from_right[place - 1].min(bound);
    }
    for (place, index) in row.iter().enumerate() {
        spots[*index].x = f64::midpoint(from_left[place], from_right[place]);
    }
}

fn finish(sizes: &[(f64, f64)], rows: &[usize], spots: &[Spot], ways: &[Vec<usize>]) -> Placed {
    let count = spots.iter().map(|spot| spot.row + 1).max().unwrap_or(0);
    let mut heights = vec![0.0_f64; count];
    for ((_, height), row) in sizes.iter().zip(rows) {
        heights[*row] = heights[*row].max(*height);
    }
    let mut tops = Vec::with_capacity(count);
    let mut y = 0.0;
    for height in &heights {
        tops.push(y);
        y += height + ROW_GAP;
    }
    let left = spots.iter().map(|spot| spot.x - spot.width / 2.0).fold(f64::INFINITY, f64::min);
    let right = spots.iter().map(|spot| spot.x + spot.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
    let point = |index: usize| {
        let spot = &spots[index];
        (spot.x - left, tops[spot.row] + heights[spot.row] / 2.0)
    };
    Placed {
        width: (right - left).max(0.0),
        height: (y - ROW_GAP).max(0.0),
        middles: (0..sizes.len()).map(point).collect(),
        ways: ways.iter().map(|way| way.iter().map(|index| point(*index)).collect()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_of_a_row_do_not_overlap_and_rows_follow_each_other() {
        let sizes = [(40.0, 40.0), (100.0, 30.0), (120.0, 50.0), (90.0, 30.0), (60.0, 30.0)];
        let placed = place(&sizes, &[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (0, 4)]);
        for left in 0..sizes.len() {
            for right in left + 1..sizes.len() {
                let ((x1, y1), (x2, y2)) = (placed.middles[left], placed.middles[right]);
                let wide = (sizes[left].0 + sizes[right].0) / 2.0;
                let high = (sizes[left].1 + sizes[right].1) / 2.0;
                assert!((x1 - x2).abs() >= wide || (y1 - y2).abs() >= high, "{left} and {right} overlap");
            }
        }
        assert!(placed.middles[0].1 < placed.middles[1].1 && placed.middles[1].1 < placed.middles[4].1);
        assert_eq!(placed.ways[6].len(), 1, "the long edge passes the middle row");
        assert!(
            placed.middles.iter().all(|(x, y)| *x >= 0.0 && *y >= 0.0 && *x <= placed.width && *y <= placed.height)
        );
    }

    #[test]
    fn a_chain_is_straight() {
        let placed = place(&[(40.0, 30.0), (90.0, 30.0), (60.0, 30.0)], &[(0, 1), (1, 2)]);
        assert!(placed.middles.iter().all(|(x, _)| (x - placed.middles[0].0).abs() < 0.01), "{:?}", placed.middles);
    }
}
