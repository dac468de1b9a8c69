//! Checks that the table of rules and backends in `docs/sessions.md` is generated from the same rules as the tests.

use std::path::Path;

use pleach_contract::sessions::{For, RULES};

const BEGIN: &str = "<!-- rules: written by this crate's test; PLEACH_BLESS=1 rewrites it -->\n";
const END: &str = "<!-- end of rules -->\n";

/// The services for which contract tests are generated, and whether they have the v1 layout.
const SERVICES: [(&str, bool); 5] =
    [("memory", false), ("strict wrapper", false), ("SQLite lite", false), ("SQLite v1", true), ("Postgres", true)];

/// Splits a name into its numbers and its text: `case_17_a_partial_event` is about row 17 of the edge cases. A name that begins
/// with the id of a rule is about that rule.
fn split(name: &str) -> (String, String) {
    let plain = name.strip_prefix("v1_").unwrap_or(name);
    let is_number = |word: &&str| {
        let digits = word.trim_start_matches(['s', 'u']);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let rest = plain.strip_prefix("case_").unwrap_or(plain);
    let numbers: Vec<_> = rest.split('_').take_while(is_number).collect();
    let about: Vec<_> = rest.split('_').skip(numbers.len()).collect();
    let kind = if rest.len() < plain.len() { "case " } else { "" };
    (format!("{kind}{}", numbers.join(", ")).to_uppercase().replace("CASE", "case"), about.join(" "))
}

fn table() -> String {
    let names = SERVICES.map(|(name, _)| name).join(" | ");
    let mut text = format!("| about | rule | what holds | {names} |\n|---|---|---|{}\n", "---|".repeat(SERVICES.len()));
    for rule in RULES {
        let (number, about) = split(rule.name);
        let ticks = SERVICES.map(|(_, is_v1)| match rule.services {
            For::All => " ✓ |",
            For::V1 if is_v1 => " ✓ |",
            For::Plain if !is_v1 => " ✓ |",
            For::V1 | For::Plain => " |",
        });
        text.push_str(&format!("| {} | {number} | {about} |{}\n", rule.group, ticks.concat()));
    }
    text
}

#[test]
fn the_table_of_rules_in_the_docs_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sessions.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("docs/sessions.md has the mark of the table");
    let (found, after) = rest.split_once(END).expect("docs/sessions.md has the mark after the table");
    if std::env::var_os("PLEACH_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}\n{}\n{END}{after}", table())).unwrap();
        return;
    }
    assert_eq!(found.trim(), table().trim(), "run this test with PLEACH_BLESS=1");
}
