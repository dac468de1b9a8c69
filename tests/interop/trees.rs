//! Checks that pleach behaves like google-adk in random trees of agents.

use pleach_tests::trees::{DIFFERENT, RECORDED, Reference, block, played, recorded, scenario};

#[test]
fn trees_of_agents_do_what_google_adk_was_recorded_to_do() {
    let recorded = recorded().unwrap();
    assert_eq!(recorded.len() as u64, RECORDED, "record them again: `trees record`");
    let mut faults = Vec::new();
    for (number, wanted) in (0..RECORDED).zip(&recorded) {
        let scenario = scenario(number);
        let trace = played(&scenario).unwrap_or_else(|error| panic!("tree_{number}: {error:#}"));
        let found = block(&scenario, &trace);
        let differs = found != *wanted;
        match DIFFERENT.iter().find(|(different, _)| *different == number) {
            None if differs => faults.push(format!("google-adk: {wanted}\npleach: {found}\n")),
            Some((_, rule)) if !differs => {
                faults.push(format!("tree_{number} is equal, and listed as different by {rule}"))
            }
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{} of {RECORDED}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn each_listed_difference_has_its_row() {
    let rows = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/parity.md")).unwrap();
    for (number, rule) in DIFFERENT {
        let has_row = rows
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
            .any(|rules| rules.split(", ").any(|row| row == *rule));
        assert!(has_row, "tree_{number}: docs/parity.md has no row of {rule}");
    }
}

#[test]
fn google_adk_behaves_in_trees_of_agents_as_recorded() {
    let Some(mut adk) = Reference::start().unwrap() else {
        pleach_contract::own_tests::skip("PLEACH_TEST_ADK_PYTHON names no Python with google-adk");
        return;
    };
    for (number, wanted) in (0..RECORDED).zip(recorded().unwrap()) {
        let scenario = scenario(number);
        assert_eq!(block(&scenario, &adk.played(&scenario).unwrap()), wanted);
    }
}
