//! Tables in Markdown.

/// The cells of a row of a table.
pub(super) fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
    Some(row.split('|').map(str::trim).collect())
}

/// The names in a cell, each in backticks.
pub(super) fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(", ").filter(|name| !name.is_empty()).map(|name| name.trim_matches('`'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_cells_and_cells_have_names() {
        assert_eq!(cells("| a | `b`, `c` |"), Some(vec!["a", "`b`, `c`"]));
        assert_eq!(cells("a | b"), None);
        assert_eq!(names("`b`, `c`").collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(names("").count(), 0);
    }
}
