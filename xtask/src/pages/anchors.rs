//! Finds the anchors of a page: its headings, as GitHub and mdBook name them, and explicit anchors.

use std::collections::{BTreeSet, HashMap};

use crate::files::prose;

/// Returns the anchors of a page.
pub(super) fn of(text: &str) -> BTreeSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let hashes = line.len() - line.trim_start_matches('#').len();
        if (1..=6).contains(&hashes) && line[hashes..].starts_with(' ') {
            let slug = slug(line[hashes..].trim());
            let count = seen.entry(slug.clone()).or_default();
            anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
            *count += 1;
        }
        let named = line.split("id=\"").skip(1).chain(line.split("name=\"").skip(1));
        anchors.extend(named.filter_map(|rest| rest.split_once('"')).map(|(name, _)| name.to_owned()));
    }
    anchors
}

/// Returns the anchor of a heading: in lower case, without punctuation, and with hyphens for blanks.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        let page = "# `ctx.step`, and more\n## How far?\n## How far?\n```rust\n# use x;\n```\n<a id=\"own\"></a>\n";
        let expected = ["ctxstep-and-more", "how-far", "how-far-1", "own"];
        assert_eq!(of(page), expected.map(str::to_owned).into());
    }
}
