//! Tests of answers from another process, and of the history after them.

use crate::program::{Desk, check};

const T_102: &str = r#"T-102  ben: closed, 14 events
   user says "{\"id\":\"T-102\",\"user\":\"ben\",\"text\":\"The coffee machine leaks. I want my money back.\",\"order\":1012}"
└─ desk@1
   ├─ classify@1  by desk, finished once
   │      route refund
   │      output {"id":"T-102","order":1012,"text":"The coffee machine leaks. I want my money back.","user":"ben"}
   │      state kind = "refund"
   │      state ticket = {"id":"T-102","order":1012,"text":"The coffee machine leaks. I want my money back.","user":"ben"}
   ├─ order@1  by desk, finished once
   │      says "looking up order 1012"
   │      output {"found":{"cents":18900,"delivery":"was delivered last week","item":"coffee machine","number":1012,"user":"ben"}}
   ├─ customer@1  by desk, finished once
   │      says "looking up customer ben"
   │      output {"name":"ben","orders":1}
   ├─ facts@1  by desk, finished once
   │      output {"customer":{"name":"ben","orders":1},"order":{"found":{"cents":18900,"delivery":"was delivered last week","item":"coffee machine","number":1012,"user":"ben"}}}
   ├─ decide@1  by desk, finished once
   │      route ask
   │      output {"cents":18900,"text":"We are sorry about the coffee machine and pay 189.00 back."}
   │      state draft = {"cents":18900,"text":"We are sorry about the coffee machine and pay 189.00 back."}
   ├─ approve@1  by desk, finished once
   │      asks refund-T-102: "Refund 189.00 to ben (no refund so far)?"
   │      answered {"yes":true}
   ├─ settle@1  by desk, finished once
   │      route pay
   │      output {"cents":18900,"text":"We are sorry about the coffee machine and pay 189.00 back."}
   ├─ pay@1  by desk, finished once
   │      says "paying 189.00"
   │      output {"cents":18900,"text":"We are sorry about the coffee machine and pay 189.00 back."}
   │      state app:refunded_cents = 20150
   │      state user:refunds = 1
   └─ close@1  by desk, finished once
          output {"cents":18900,"text":"We are sorry about the coffee machine and pay 189.00 back."}
          state app:closed = 5
          state reply = {"cents":18900,"text":"We are sorry about the coffee machine and pay 189.00 back."}
          state user:tickets = 1
"#;

#[test]
fn an_answer_resumes_in_another_process_and_every_node_has_run_once() {
    let desk = Desk::in_empty_folder("answer_yes");
    desk.run(&[]);
    let told = "T-102  Refund 189.00 to ben (no refund so far)?\n    paying 189.00\n => We are sorry about the coffee machine and pay 189.00 back.\n";
    check(&desk.run(&["--answer", "refund-T-102", "yes"]), 0, told, "");
    let trace = desk.run(&["--trace"]).stdout;
    assert_eq!(trace.split("\n\n").find(|part| part.starts_with("T-102")), Some(T_102.trim_end()), "{trace}");
    assert!(!trace.contains(" times") && !trace.contains("not finished"), "{trace}");
}

#[test]
fn a_refusal_pays_nothing() {
    let desk = Desk::in_empty_folder("answer_no");
    desk.run(&[]);
    let told =
        "T-106  Refund 12.50 to ana (refunds so far: 1)?\n => We have looked at it closely and cannot pay this back.\n";
    check(&desk.run(&["--answer", "refund-T-106", "no"]), 0, told, "");
    let closed = desk.run(&[]).stdout;
    assert!(closed.contains("\n5 closed, 1 waiting for a person:\n"), "{closed}");
}

#[test]
fn a_question_is_answered_once_and_only_by_its_id() {
    let desk = Desk::in_empty_folder("answer_unknown");
    desk.run(&[]);
    let unknown = "support_desk: no question \"T-102\" is open; open questions: refund-T-102, refund-T-106\n";
    check(&desk.run(&["--answer", "T-102", "yes"]), 2, "", unknown);
    desk.run(&["--answer", "refund-T-102", "no"]);
    let before = desk.run(&["--trace"]).stdout;
    let answered = "support_desk: no question \"refund-T-102\" is open; open questions: refund-T-106\n";
    check(&desk.run(&["--answer", "refund-T-102", "yes"]), 2, "", answered);
    assert_eq!(desk.run(&["--trace"]).stdout, before);
}
