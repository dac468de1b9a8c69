//! Checks the table of contents: `docs/SUMMARY.md` must list every page once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::links::{normal, targets};
use crate::files::prose;
use crate::finding::Finding;

const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn check(pages: &[(&Path, &str)]) -> Vec<Finding> {
    let fault = |line, message| Finding::new(SUMMARY, line, message);
    let Some((_, summary)) = pages.iter().find(|(file, _)| *file == Path::new(SUMMARY)) else {
        return vec![fault(1, "it does not exist".to_owned())];
    };
    let mut listed: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    for (line, text) in prose(summary) {
        for target in targets(text) {
            listed.entry(normal(&Path::new("docs").join(target))).or_default().push(line);
        }
    }
    let own =
        pages.iter().map(|(file, _)| *file).filter(|file| file.starts_with("docs") && *file != Path::new(SUMMARY));
    let missing = own.filter(|file| !listed.contains_key(*file));
    let missing = missing.map(|file| fault(1, format!("`{}` is not listed", file.display())));
    let twice = listed.iter().filter(|(_, lines)| lines.len() > 1);
    let twice = twice.map(|(file, lines)| fault(lines[1], format!("`{}` is listed twice", file.display())));
    missing.chain(twice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_listed_once() {
        let check = |summary: &str| {
            let pages = [("README.md", ""), ("docs/a.md", ""), ("docs/adr/1.md", ""), (SUMMARY, summary)];
            let faults = check(&pages.map(|(file, text)| (Path::new(file), text)));
            faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>()
        };
        assert_eq!(check("- [A](a.md)\n  - [One](adr/1.md)\n"), [] as [&str; 0]);
        assert_eq!(
            check("- [A](a.md)\n- [B](a.md)\n"),
            ["`docs/adr/1.md` is not listed", "`docs/a.md` is listed twice"]
        );
    }
}
