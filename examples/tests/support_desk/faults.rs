//! Tests of inputs that the program refuses: it exits with status 2, writes the reason to standard error, and stores
//! nothing.

use crate::program::{Desk, check};

#[test]
fn a_bad_ticket_is_named_by_file_line_and_field_and_nothing_is_stored() {
    let desk = Desk::in_empty_folder("bad_tickets");
    let cases: [(&str, &str); 10] = [
        ("{\"id\":", "column 6: EOF while parsing a value"),
        ("[1]", "no JSON object"),
        (r#"{"id":"B","user":"eva"}"#, "field `text` is missing"),
        (r#"{"id":"B","user":7,"text":"hello"}"#, "field `user`: invalid type: integer `7`, expected a string"),
        (r#"{"id":"B","user":"eva","text":" "}"#, "field `text` is empty"),
        (r#"{"id":"B","user":"eva","text":"a\u0000b"}"#, "field `text` has a NUL character"),
        (
            r#"{"id":"B","user":"eva","text":"hello","order":-1}"#,
            "field `order`: invalid value: integer `-1`, expected u32",
        ),
        (r#"{"id":"B","user":"eva","text":"hello","colour":"red"}"#, "field `colour` is unknown"),
        (
            r#"{"id":"B 2","user":"eva","text":"hello"}"#,
            "field `id`: only letters, digits and - _ . @ are allowed, not \"B 2\"",
        ),
        (r#"{"id":"A","user":"eva","text":"hello"}"#, "field `id`: A is already in line 1"),
    ];
    for (line, reason) in cases {
        desk.write("bad.jsonl", format!("{{\"id\":\"A\",\"user\":\"eva\",\"text\":\"hello\"}}\n\n{line}\n"));
        let told = format!("support_desk: bad.jsonl, line 3: {reason}; nothing was stored\n");
        check(&desk.run(&["bad.jsonl"]), 2, "", &told);
    }
    desk.write("bad.jsonl", "\n\n");
    check(&desk.run(&["bad.jsonl"]), 2, "", "support_desk: bad.jsonl contains no tickets\n");
    let absent = desk.run(&["absent.jsonl"]);
    assert_eq!((absent.status, absent.stdout.as_str()), (Some(2), ""));
    assert!(absent.stderr.starts_with("support_desk: cannot read absent.jsonl: "), "{}", absent.stderr);
    assert_eq!(desk.files(), ["bad.jsonl"]);
}

#[test]
fn a_ticket_id_belongs_to_one_user() {
    let desk = Desk::in_empty_folder("two_owners");
    desk.run(&[]);
    let before = desk.run(&["--trace"]).stdout;
    let lines = "{\"id\":\"new\",\"user\":\"eva\",\"text\":\"hello\"}\n{\"id\":\"T-102\",\"user\":\"eva\",\"text\":\"hello\"}\n";
    let told = "support_desk: ticket T-102 already belongs to ben; nothing was stored\n";
    check(&desk.run_with_input(&["-"], lines), 2, "", told);
    assert_eq!(desk.run(&["--trace"]).stdout, before);
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_left_unchanged() {
    let desk = Desk::in_empty_folder("corrupt");
    let content = "this is not a database, but it is long enough for its first bytes to be read. ".repeat(40);
    desk.write("support_desk.db", &content);
    for args in [&[][..], &["--trace"], &["--answer", "refund-T-102", "yes"]] {
        let ended = desk.run(args);
        assert_eq!((ended.status, ended.stdout.as_str()), (Some(2), ""), "{}", ended.stderr);
        assert!(ended.stderr.starts_with("support_desk: SQLite file support_desk.db is damaged: "), "{}", ended.stderr);
    }
    assert_eq!(std::fs::read_to_string(desk.folder.join("support_desk.db")).ok(), Some(content));
    assert_eq!(desk.files(), ["support_desk.db"]);
}

#[test]
fn without_a_database_there_is_nothing_to_answer_or_to_show() {
    let desk = Desk::in_empty_folder("absent");
    let told = "support_desk: there is no database my.db: nothing has been run with it yet\n";
    check(&desk.run(&["--db", "my.db", "--trace"]), 2, "", told);
    check(&desk.run(&["--db", "my.db", "--answer", "refund-T-102", "yes"]), 2, "", told);
    assert_eq!(desk.files(), Vec::<String>::new());
}

#[test]
fn an_invalid_command_line_is_refused() {
    let desk = Desk::in_empty_folder("usage");
    let cases: [(&[&str], &str); 6] = [
        (&["--verbose"], "unknown flag --verbose"),
        (&["--db"], "--db needs a file"),
        (&["--answer"], "--answer needs the id of a question"),
        (&["--answer", "refund-T-102"], "--answer needs yes or no after the id"),
        (&["--answer", "refund-T-102", "perhaps"], "an answer is yes or no, not perhaps"),
        (&["--trace", "mine.jsonl"], "what to do is given more than once"),
    ];
    for (args, reason) in cases {
        check(&desk.run(args), 2, "", &format!("support_desk: {reason}; `--help` shows the options\n"));
    }
    assert_eq!(desk.files(), Vec::<String>::new());
    assert_eq!(desk.run(&["--help"]).status, Some(0));
}
