//! Runs the example `support_desk` as a program. Every call is a separate process.

mod answers;
mod cut_off;
#[path = "../example/mod.rs"]
mod example;
mod faults;
mod program;

use program::{Desk, check};

const FIRST_RUN: &str = r#"6 tickets, kept in support_desk.db

T-101  ana: "Where is my parcel?"
    looking up order 1007
    looking up customer ana
 => Your tea pot is on its way and arrives on Friday.
T-102  ben: "The coffee machine leaks. I want my money back."
    looking up order 1012
    looking up customer ben
 ?  Refund 189.00 to ben (no refund so far)?
T-103  cleo: "I cannot log in any more."
 => cleo, a link for a new password is on its way to you.
T-104  ana: "One cup came broken: a refund, please."
    looking up order 1009
    looking up customer ana
    paying 12.50
 => We are sorry about the blue cup and pay 12.50 back.
T-105  dora: "Do you sell gift cards?"
 => A colleague will write to you today.
T-106  ana: "The second cup broke, too. Refund, please."
    looking up order 1010
    looking up customer ana
 ?  Refund 12.50 to ana (refunds so far: 1)?

4 closed, 2 waiting for a person:

  refund-T-102: Refund 189.00 to ben (no refund so far)?
    cargo run --example support_desk -- --answer refund-T-102 yes

  refund-T-106: Refund 12.50 to ana (refunds so far: 1)?
    cargo run --example support_desk -- --answer refund-T-106 yes

See every stored step: cargo run --example support_desk -- --trace
"#;

#[test]
fn a_first_run_closes_what_it_can_and_leaves_questions_open() {
    let desk = Desk::in_empty_folder("first_run");
    check(&desk.run(&[]), 0, FIRST_RUN, "");
    assert_eq!(desk.files(), ["support_desk.db"]);
}

#[test]
fn a_second_run_asks_again_and_runs_nothing() {
    let desk = Desk::in_empty_folder("second_run");
    desk.run(&[]);
    let stored = desk.run(&["--trace"]).stdout;
    let again = desk.run(&[]);
    assert_eq!(again.stdout.matches("(closed before)").count(), 4);
    assert!(again.stdout.contains("--answer refund-T-102 yes"), "{}", again.stdout);
    assert_eq!(desk.run(&["--trace"]).stdout, stored);
}

#[test]
fn tickets_may_come_from_a_file_or_from_standard_input() {
    let desk = Desk::in_empty_folder("sources");
    let ticket = |id| format!("{{\"id\":\"{id}\",\"user\":\"eva\",\"text\":\"hello\"}}\r\n\n");
    let told = |id| {
        format!(
            "1 ticket, kept in my.db\n\n{id}  eva: \"hello\"\n => A colleague will write to you today.\n\n1 closed.\n\nSee every stored step: cargo run --example support_desk -- --db my.db --trace\n"
        )
    };
    desk.write("mine.jsonl", ticket("A"));
    check(&desk.run(&["--db", "my.db", "mine.jsonl"]), 0, &told("A"), "");
    check(&desk.run_with_input(&["-", "--db", "my.db"], &ticket("B")), 0, &told("B"), "");
}
