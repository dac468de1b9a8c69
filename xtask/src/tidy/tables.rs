//! Tables in Markdown.

/// The cells of a row of a table.
pub(super) fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
    Some(row.split('|').map(str::trim).collect())
}

/// The names in a cell, each in backticks, and a remark: the last part, or the part after a semicolon.
pub(super) fn names(cell: &str) -> impl Iterator<Item = &str> {
    let (names, remark) = match cell.split_once("; ") {
        Some((names, remark)) => (names, Some(remark)),
        None if cell.starts_with('`') || cell.is_empty() => (cell, None),
        None => ("", Some(cell)),
    };
    let names = names.split(", ").filter(|name| !name.is_empty()).map(|name| name.trim_matches('`'));
    names.chain(remark)
}
