//! [`layers`]: assigns the vertices of a graph to rows.

/// Returns the row of each vertex: an edge leads to a row below, unless it closes a loop. `edges` are pairs of vertices.
pub(super) fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in forward(count, edges) {
        next[from].push(to);
    }
    let mut waits = vec![0_usize; count];
    next.iter().flatten().for_each(|to| waits[*to] += 1);
    let mut rows = vec![0_usize; count];
    let mut ready: Vec<usize> = (0..count).filter(|vertex| waits[*vertex] == 0).collect();
    while let Some(vertex) = ready.pop() {
        for to in &next[vertex] {
            rows[*to] = rows[*to].max(rows[vertex] + 1);
            waits[*to] -= 1;
            if waits[*to] == 0 {
                ready.push(*to);
            }
        }
    }
    rows
}

/// Returns the edges except those that close a loop, in the order in which a walk from the first vertices meets them.
fn forward(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    edges.iter().filter(|(from, to)| from != to).for_each(|(from, to)| next[*from].push(*to));
    let (mut seen, mut open) = (vec![false; count], vec![false; count]);
    let mut kept = Vec::new();
    for first in 0..count {
        if seen[first] {
            continue;
        }
        // The vertices on the walk's path, each with the number of its edges that the walk has taken.
        let mut way = vec![(first, 0)];
        (seen[first], open[first]) = (true, true);
        while let Some((vertex, taken)) = way.last_mut() {
            let (from, place) = (*vertex, *taken);
            *taken += 1;
            let Some(to) = next[from].get(place).copied() else {
                open[from] = false;
                way.pop();
                continue;
            };
            if !open[to] {
                kept.push((from, to));
            }
            if !seen[to] {
                (seen[to], open[to]) = (true, true);
                way.push((to, 0));
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lead_down_and_loops_are_cut() {
        assert_eq!(layers(4, &[(0, 1), (1, 2), (0, 2), (2, 3)]), [0, 1, 2, 3]);
        assert_eq!(layers(3, &[(0, 1), (1, 2), (2, 1)]), [0, 1, 2]);
        assert_eq!(layers(2, &[(0, 0), (0, 1), (1, 0)]), [0, 1]);
        assert_eq!(layers(0, &[]), [0; 0]);
        let chain: Vec<(usize, usize)> = (0..100_000).map(|place| (place, place + 1)).collect();
        assert_eq!(layers(100_001, &chain)[100_000], 100_000);
    }
}
