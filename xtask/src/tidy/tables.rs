//! Reads tables in Markdown.

/// Returns the cells of a table row.
pub(super) fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
    Some(row.split('|').map(str::trim).collect())
}

/// Returns the names in a cell, which are in backticks. A remark may follow as the last part or after a semicolon.
pub(super) fn names(cell: &str) -> impl Iterator<Item = &str> {
    let (names, remark) = match cell.split_once("; ") {
        Some((names, remark)) => (names, Some(remark)),
        None if cell.starts_with('`') || cell.is_empty() => (cell, None),
        None => ("", Some(cell)),
    };
    let names = names.split(", ").filter(|name| !name.is_empty()).map(|name| name.trim_matches('`'));
    names.chain(remark)
}
