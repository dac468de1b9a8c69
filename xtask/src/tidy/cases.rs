//! The tables of edge cases, `docs/edge-cases.md` and `docs/agent-edge-cases.md`: no case is missing, and all that they name
//! exists.
//!
//! Whether a test checks what its case says is for people to judge.

use super::pins::{Pins, attributed};
use super::tables::{cells, names};
use crate::files::Sources;
use crate::finding::Finding;

/// The tables, and the letter that their ids begin with.
const TABLES: [(&str, char); 2] = [("docs/edge-cases.md", 'E'), ("docs/agent-edge-cases.md", 'A')];

/// The part of the repository that the table refers to.
struct Known<'a> {
    pins: &'a Pins,
    /// The first cells of the rows of `docs/parity.md`.
    differences: Vec<String>,
    /// The text of a source file, by its path from the root.
    source: &'a dyn Fn(&str) -> Option<&'a str>,
}

pub(super) fn check(sources: &Sources, pins: &Pins) -> Vec<Finding> {
    let known = Known {
        pins,
        differences: sources.text("docs/parity.md").lines().filter_map(first_cell).collect(),
        source: &|path| sources.find(path),
    };
    let check = |(table, letter): &(&str, char)| {
        let finding = |(line, message)| Finding { file: (*table).into(), line, message };
        check_table(sources.text(table), *letter, &known).into_iter().map(finding).collect::<Vec<_>>()
    };
    TABLES.iter().flat_map(check).collect()
}

fn first_cell(line: &str) -> Option<String> {
    cells(line)?.first().map(|cell| (*cell).to_owned())
}

/// What is wrong with the table: lines and messages. Every heading names the first and the last case of its rows.
fn check_table(text: &str, letter: char, known: &Known<'_>) -> Vec<(usize, String)> {
    let mut wrong = Vec::new();
    let mut expected = 1..1;
    for (line, row) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        if let Some(cases) = row.strip_prefix("## ").and_then(|heading| range(heading, letter)) {
            wrong.extend(missing(line, letter, &expected));
            expected = cases;
        }
        let Some((id, cells)) = cells(row).and_then(|cells| Some((number(cells.first()?, letter)?, cells))) else {
            continue;
        };
        if expected.is_empty() {
            wrong.push((line, format!("{letter}{id} is none of the cases of its heading")));
        } else if id != expected.start {
            wrong.push((line, format!("{letter}{id} stands where {letter}{} is expected", expected.start)));
        }
        expected.start = id + 1;
        wrong.extend(check_row(&cells, known).into_iter().map(|message| (line, format!("{letter}{id}: {message}"))));
    }
    wrong.extend(missing(text.lines().count(), letter, &expected));
    wrong
}

fn missing(line: usize, letter: char, rest: &std::ops::Range<u32>) -> Option<(usize, String)> {
    (rest.start < rest.end).then(|| (line, format!("no row for {letter}{} to {letter}{}", rest.start, rest.end - 1)))
}

/// The cases of a heading.
fn range(heading: &str, letter: char) -> Option<std::ops::Range<u32>> {
    let (first, last) = heading.split_once(':')?.0.split_once('–')?;
    Some(number(first, letter)?..number(last, letter)? + 1)
}

fn number(id: &str, letter: char) -> Option<u32> {
    id.strip_prefix(letter)?.parse().ok()
}

fn check_row(cells: &[&str], known: &Known<'_>) -> Vec<String> {
    let &[_, case, covered, note] = cells else { return vec!["a row has four cells".into()] };
    let mut wrong = Vec::new();
    if case.is_empty() || (covered.is_empty() && note.is_empty()) {
        wrong.push("a case is told, and covered or explained".into());
    }
    for name in names(covered) {
        wrong.extend(match name.split_once("::") {
            Some((file, function)) => check_test(file, function, known),
            None => known.pins.scenario_fault(name, note == "agents"),
        });
    }
    wrong.extend(check_note(note, known));
    wrong
}

fn check_test(file: &str, function: &str, known: &Known<'_>) -> Option<String> {
    let Some(source) = (known.source)(file) else { return Some(format!("there is no file {file}")) };
    let is_there = attributed(source).any(|name| name == function);
    (!is_there).then(|| format!("{file} has no test `{function}`"))
}

fn check_note(note: &str, known: &Known<'_>) -> Option<String> {
    let rule = match note {
        "" | "agents" => return None,
        _ => match note.split_once(": ") {
            Some(("not in Rust" | "not yet", _)) => return None,
            Some(("differs", rule)) => rule,
            _ => {
                return Some(format!(
                    "`{note}` is no note: write `differs: RULE`, `not in Rust: REASON`, `not yet: REASON` or `agents`"
                ));
            }
        },
    };
    let told = known.differences.iter().any(|cell| cell.split(", ").any(|name| name == rule));
    (!told).then(|| format!("docs/parity.md has no row of {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(table: &str) -> Vec<(usize, String)> {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let source = "#[test]\n#[cfg(x)]\nfn checks() {}\n\nfn helper() {}\n";
        let pins = Pins { scenarios: names(&["works", "fails"]), failing: names(&["fails"]), tests: names(&[]) };
        let known = Known {
            pins: &pins,
            differences: vec!["R1, S2".into()],
            source: &|path| (path == "a.rs").then_some(source),
        };
        check_table(table, 'E', &known)
    }

    fn of_row(row: &str) -> Vec<String> {
        wrong(&format!("## E1–E1: x\n{row}")).into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn a_table_that_is_true_has_no_findings() {
        let table = "# T\n\n## E1–E2: some\n\n| id | case | covered by | note |\n| --- | --- | --- | --- |\n\
            | E1 | a | `works`, `a.rs::checks` | differs: S2 |\n| E2 | b | | not in Rust: why |\n\
            ## E3–E3: later\n| E3 | d | | not yet: why |\n\
            ## E7–E7: others\n| E7 | c | `fails` | agents |\n";
        assert_eq!(wrong(table), []);
    }

    #[test]
    fn cases_are_complete_and_in_order() {
        let row = |id: u32| format!("| E{id} | a | `works` | |\n");
        let table = |ids: &[u32]| wrong(&format!("## E1–E3: x\n{}", ids.iter().copied().map(row).collect::<String>()));
        assert_eq!(table(&[1, 2, 3]), []);
        assert_eq!(table(&[1, 3])[0], (3, "E3 stands where E2 is expected".to_owned()));
        assert_eq!(table(&[1, 2, 2, 3])[0].0, 4);
        assert_eq!(table(&[1]), [(2, "no row for E2 to E3".to_owned())]);
        assert_eq!(table(&[1, 2, 3, 4])[0], (5, "E4 is none of the cases of its heading".to_owned()));
    }

    #[test]
    fn what_is_named_exists() {
        assert_eq!(of_row("| E1 | a | `gone` | |"), ["E1: there is no scenario `gone`"]);
        assert_eq!(of_row("| E1 | a | `fails` | |"), ["E1: `fails` is known to fail"]);
        assert_eq!(of_row("| E1 | a | `b.rs::checks` | |"), ["E1: there is no file b.rs"]);
        assert_eq!(of_row("| E1 | a | `a.rs::helper` | |"), ["E1: a.rs has no test `helper`"]);
        assert_eq!(of_row("| E1 | a | `works` | differs: R9 |"), ["E1: docs/parity.md has no row of R9"]);
        assert_eq!(of_row("| E1 | a | | |"), ["E1: a case is told, and covered or explained"]);
        assert_eq!(of_row("| E1 | a | `works` | hm |").len(), 1);
    }
}
