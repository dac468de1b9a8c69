//! Checks excerpts: a code block under `<!-- from PATH -->` must be in that file, line for line. Blanks around lines
//! are ignored.

use std::path::Path;

use crate::files::Sources;
use crate::finding::Finding;

pub(super) fn check(sources: &Sources, pages: &[(&Path, &str)]) -> Vec<Finding> {
    let find = |path: &str| sources.find(path);
    pages.iter().flat_map(|(file, text)| faults(file, text, find)).collect()
}

fn faults<'a>(file: &Path, text: &str, find: impl Fn(&str) -> Option<&'a str>) -> Vec<Finding> {
    let mut faults = Vec::new();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for (index, line) in lines.iter().enumerate() {
        let Some(path) = line.strip_prefix("<!-- from ").and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let mut block = lines[index + 1..].iter().copied();
        let message = match (find(path), block.next().is_some_and(|fence| fence.starts_with("```"))) {
            (_, false) => "no block of code follows the name of its source".to_owned(),
            (None, _) => format!("the source of the excerpt, `{path}`, does not exist"),
            (Some(source), _) => {
                let excerpt: Vec<&str> = block.take_while(|line| !line.starts_with("```")).collect();
                let source: Vec<&str> = source.lines().map(str::trim).collect();
                if !excerpt.is_empty() && source.windows(excerpt.len()).any(|lines| lines == excerpt) {
                    continue;
                }
                format!("the excerpt is not in `{path}`: copy it again")
            }
        };
        faults.push(Finding::new(file, index + 1, message));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_in_its_source() {
        let find = |path: &str| (path == "a.rs").then_some("fn a() {\n    b();\n    c();\n}\n");
        let check = |excerpt: &str| {
            let page = format!("text\n\n<!-- from a.rs -->\n```rust,ignore\n{excerpt}\n```\n");
            faults(Path::new("docs/a.md"), &page, find).len()
        };
        assert_eq!((check("b();\nc();"), check("    c();\n}"), check("b();\nd();"), check("")), (0, 0, 1, 1));
        assert_eq!(faults(Path::new("a.md"), "<!-- from b.rs -->\n```\nx\n```", find).len(), 1);
        assert_eq!(faults(Path::new("a.md"), "<!-- from a.rs -->\ntext", find).len(), 1);
    }
}
