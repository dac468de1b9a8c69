//! Checks rule ids: `docs/rules.md` must explain every cited id, and name a test or scenario that pins the rule.
//!
//! An id is cited in a comment, in the name of a function or in a document. This check cannot decide whether a test
//! checks its rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::pins::{Pins, function};
use super::tables::{cells, names};
use crate::files::Sources;
use crate::files::comment;
use crate::finding::Finding;

const PAGE: &str = "docs/rules.md";

const PARITY: &str = "docs/parity.md";

/// The letters that ids begin with.
const LETTERS: &str = "RSLHEU";

/// The letter of edge cases of agents, which only the page uses.
const AGENT_CASES: &str = "A";

/// Words that look like ids, but are not.
const NOT_RULES: &[&str] = &["S256"];

/// An id in a file.
#[derive(Debug, PartialEq, Eq)]
struct Citation {
    id: String,
    line: usize,
    /// True if rustdoc shows the id. Its readers do not have the page.
    in_docs: bool,
}

/// A row of the page.
struct Rule<'a> {
    line: usize,
    id: &'a str,
    text: &'a str,
    pins: Vec<&'a str>,
    /// True if the page says why nothing pins it.
    is_excused: bool,
}

pub(super) fn check(sources: &Sources, pins: &Pins) -> Vec<Finding> {
    let page = sources.text(PAGE);
    let mut findings: Vec<Finding> = page_faults(page, pins, &differences(sources.text(PARITY)))
        .into_iter()
        .map(|(line, message)| Finding { file: PAGE.into(), line, message })
        .collect();
    let known = explained(page);
    for (file, text) in &sources.files {
        if file == Path::new(PAGE) {
            continue;
        }
        for (line, message) in citation_faults(&citations(file, text), &known) {
            findings.push(Finding { file: file.clone(), line, message });
        }
    }
    findings
}

fn explained(page: &str) -> BTreeSet<&str> {
    rules(page).map(|rule| rule.id).collect()
}

/// Returns the rows of a page whose first cell is an id.
fn rules(page: &str) -> impl Iterator<Item = Rule<'_>> {
    page.lines().enumerate().filter_map(|(index, line)| {
        let cells = cells(line)?;
        let id = cells.first().copied().filter(|id| is_id(id) || is_id_of(AGENT_CASES, id))?;
        let cell = |number: usize| cells.get(number).copied().unwrap_or_default();
        let pins = names(cell(2)).filter(|name| !is_excuse(name)).collect();
        Some(Rule { line: index + 1, id, text: cell(1), pins, is_excused: names(cell(2)).any(is_excuse) })
    })
}

fn page_faults(page: &str, pins: &Pins, differences: &BTreeSet<&str>) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for Rule { line, id, text, pins: names, is_excused } in rules(page) {
        if let Some(earlier) = first.insert(id, line) {
            faults.push((line, format!("{id} is explained in line {earlier} already")));
        }
        if text.is_empty() {
            faults.push((line, format!("{id} has no explanation")));
        }
        if let Some(fault) = difference_fault(text, differences) {
            faults.push((line, format!("{id}: {fault}")));
        }
        if names.is_empty() && !is_excused {
            faults.push((line, format!("{id} has no pin: name the test or the scenario that checks it")));
        }
        faults.extend(names.iter().filter_map(|name| pins.fault(name)).map(|fault| (line, format!("{id}: {fault}"))));
    }
    faults
}

/// Returns the rules that have a row in `docs/parity.md`. The first cell of a row may name several rules.
fn differences(parity: &str) -> BTreeSet<&str> {
    let first = parity.lines().filter_map(|line| cells(line)?.first().copied());
    first.flat_map(|cell| [cell].into_iter().chain(cell.split(", "))).collect()
}

/// Returns a fault if a text ends in `(differs: RULE)` and `docs/parity.md` has no row for the rule.
fn difference_fault(text: &str, differences: &BTreeSet<&str>) -> Option<String> {
    let rule = text.rsplit_once("(differs: ")?.1.strip_suffix(')')?;
    (!differences.contains(rule)).then(|| format!("{PARITY} has no row of {rule}"))
}

/// Returns true if a cell is a reason why nothing pins a case.
fn is_excuse(cell: &str) -> bool {
    cell.starts_with("not in Rust: ") || cell.starts_with("not yet: ")
}

fn citation_faults(citations: &[Citation], known: &BTreeSet<&str>) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    for Citation { id, line, in_docs } in citations {
        if *in_docs {
            faults
                .push((*line, format!("{id} in a doc comment: readers cannot follow it, put it into a `//` comment")));
        }
        if !known.contains(id.as_str()) {
            faults.push((*line, format!("{id} is not explained in {PAGE}")));
        }
    }
    faults
}

/// Returns the ids that a file cites. In Rust, these are the ids in comments and at the beginning of functions' names;
/// in other files, all ids.
fn citations(file: &Path, text: &str) -> Vec<Citation> {
    let is_rust = file.extension().is_some_and(|extension| extension == "rs");
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut cite = |id: &str, in_docs| found.push(Citation { id: id.to_owned(), line: index + 1, in_docs });
        if !is_rust {
            ids(line).for_each(|id| cite(id, false));
            continue;
        }
        if let Some(comment) = comment(line) {
            ids(comment.text).for_each(|id| cite(id, comment.is_doc));
        }
        let name = function(line).unwrap_or_default();
        let leading = name.split('_').map(id_of).take_while(Option::is_some).flatten();
        leading.for_each(|id| cite(&id, false));
    }
    found
}

/// Returns the ids in a text.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| is_id(word))
}

/// Returns true if a word is one of our letters and a number, with an optional small letter at the end.
fn is_id(word: &str) -> bool {
    is_id_of(LETTERS, word)
}

fn is_id_of(letters: &str, word: &str) -> bool {
    let Some(rest) = word.strip_prefix(|first| letters.contains(first)) else { return false };
    let digits = rest.strip_suffix(|last: char| last.is_ascii_lowercase()).unwrap_or(rest);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && digits.len() <= 4 && !digits.starts_with('0') && !NOT_RULES.contains(&word)
}

/// Returns the id that a word of a function's name stands for.
fn id_of(word: &str) -> Option<String> {
    let (first, rest) = word.split_at_checked(1)?;
    let id = first.to_uppercase() + rest;
    is_id(&id).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cited(file: &str, text: &str) -> Vec<(String, usize, bool)> {
        let found = citations(Path::new(file), text);
        found.into_iter().map(|Citation { id, line, in_docs }| (id, line, in_docs)).collect()
    }

    fn pins() -> Pins {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Pins { scenarios: names(&["works", "fails"]), failing: names(&["fails"]), tests: names(&["checks"]) }
    }

    fn of_row(row: &str) -> Vec<String> {
        page_faults(row, &pins(), &BTreeSet::from(["S2"])).into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn ids_are_words_of_a_letter_and_a_number() {
        let text = "R12, S64a (E1–E44); S66.4 and `L1` — not RR1, R, R0283, UTF8, x_R1, S256, R12345 or U+0000";
        assert_eq!(ids(text).collect::<Vec<_>>(), ["R12", "S64a", "E1", "E44", "S66", "L1"]);
    }

    #[test]
    fn rust_cites_in_comments_and_in_names_of_functions() {
        let text = "//! R1\n/// S2\n// R3\nconst L1: u8 = 1;\nf(\"R4\"); // R5\nasync fn r6_s7a_it_works() {\nfn read_u8() {\n";
        let expected =
            [("R1", 1, true), ("S2", 2, true), ("R3", 3, false), ("R5", 5, false), ("R6", 6, false), ("S7a", 6, false)];
        let expected = expected.map(|(id, line, in_docs)| (id.to_owned(), line, in_docs));
        assert_eq!(cited("src/a.rs", text), expected);
        assert_eq!(cited("docs/a.md", "see R1"), [("R1".to_owned(), 1, false)]);
        assert_eq!(cited("schema/a.sql", "-- S65: both"), [("S65".to_owned(), 1, false)]);
    }

    #[test]
    fn what_is_cited_is_explained_and_not_in_doc_comments() {
        let known = explained("| R1 | a | `checks` |\n| E2 | b | `works` |\n");
        let faults = |text| citation_faults(&citations(Path::new("a.rs"), text), &known);
        assert_eq!(faults("// R1, E2\n"), []);
        assert_eq!(faults("//\n// R9\n"), [(2, "R9 is not explained in docs/rules.md".to_owned())]);
        assert_eq!(faults("/// R1\n").len(), 1);
    }

    #[test]
    fn a_rule_has_a_text_and_pins_that_exist() {
        assert_eq!(of_row("| R1 | a | `works`, `checks` |"), [] as [&str; 0]);
        assert_eq!(of_row("| R1 | | `works` |"), ["R1 has no explanation"]);
        assert_eq!(of_row("| R1 | a | |"), ["R1 has no pin: name the test or the scenario that checks it"]);
        assert_eq!(of_row("| R1 | a | `gone` |"), ["R1: there is no test and no scenario `gone`"]);
        assert_eq!(of_row("| R1 | a | `fails` |"), ["R1: `fails` is known to fail"]);
        assert_eq!(of_row("| A1 | a (differs: S2) | not in Rust: why, or so |"), [] as [&str; 0]);
        assert_eq!(of_row("| E1 | a (differs: R9) | `works`; not yet: why |"), ["E1: docs/parity.md has no row of R9"]);
        let twice = "| R1 | a | `works` |\n| R1 | b | `works` |";
        assert_eq!(
            page_faults(twice, &pins(), &BTreeSet::new()),
            [(2, "R1 is explained in line 1 already".to_owned())]
        );
    }
}
