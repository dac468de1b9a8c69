//! Checks that the files and anchors of links exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::anchors;
use crate::files::prose;
use crate::finding::Finding;

pub(super) fn check(root: &Path, pages: &[(&Path, &str)]) -> Vec<Finding> {
    let known: BTreeMap<&Path, BTreeSet<String>> =
        pages.iter().map(|(file, text)| (*file, anchors::of(text))).collect();
    let of_page = |(file, text): &(&Path, &str)| {
        let found = prose(text).flat_map(|(line, text)| targets(text).map(move |target| (line, target)));
        let dead = found.filter_map(|(line, target)| Some((line, dead(root, file, target, &known)?)));
        dead.map(|(line, message)| Finding::new(*file, line, message)).collect::<Vec<_>>()
    };
    pages.iter().flat_map(of_page).collect()
}

/// Returns the reason why a link is dead; `None` if it is not.
fn dead(root: &Path, file: &Path, target: &str, known: &BTreeMap<&Path, BTreeSet<String>>) -> Option<String> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let place = match path {
        "" => file.to_path_buf(),
        path => normal(&file.parent().unwrap_or(Path::new("")).join(path)),
    };
    if !known.contains_key(place.as_path()) && !root.join(&place).exists() {
        return Some(format!("the link leads to `{path}`, which does not exist"));
    }
    let (anchor, anchors) = (anchor?, known.get(place.as_path())?);
    (!anchors.contains(anchor)).then(|| format!("`{}` has no heading for `#{anchor}`", place.display()))
}

/// Returns the targets of the links on a line that lead to files of the repository.
pub(super) fn targets(line: &str) -> impl Iterator<Item = &str> {
    let outside_code = line.split('`').enumerate().filter(|(index, _)| index % 2 == 0);
    // The text of a link may be code; its target is in the next piece in that case.
    outside_code.flat_map(|(_, piece)| piece.split("](").skip(1)).filter_map(|rest| {
        let target = rest.split([')', ' ']).next()?;
        (!target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")).then_some(target)
    })
}

/// Returns a path with `.` and `..` resolved.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_files_and_anchors_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        let page = "# Top\n[a](#top) [b](#gone) [`c`](b.md#sub) [d](b.md#gone)\n[e](absent.md) `[f](x)`\n[g](../README.md) <https://x.org/#y>\n";
        let pages = [(Path::new("docs/a.md"), page), (Path::new("docs/b.md"), "## Sub\n")];
        let faults = check(root, &pages);
        let found: Vec<(usize, bool)> =
            faults.iter().map(|fault| (fault.line, fault.message.contains("heading"))).collect();
        assert_eq!(found, [(2, true), (2, true), (3, false)], "{faults:?}");
    }
}
