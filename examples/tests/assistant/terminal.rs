//! Tests on a pseudo-terminal, with a model at a base URL.

use std::path::Path;

use rexpect::session::{PtySession, spawn_command};
use serde_json::{Value, json};

use crate::server::{Answer, PATIENCE, Server};
use crate::{assistant, example};

#[test]
fn an_answer_streams_a_tool_is_confirmed_and_another_process_knows_the_chat() {
    let folder = example::empty_folder("assistant", "chat");
    let server = Server::start(vec![
        Answer::Text(vec!["Hel", "lo Ana."]),
        Answer::Call("add_note", r#"{"text": "milk"}"#),
        Answer::Text(vec!["Kept."]),
        Answer::Call("delete_note", r#"{"text": "milk"}"#),
        Answer::Text(vec!["Deleted."]),
        Answer::Text(vec!["You are Ana."]),
    ]);

    let mut terminal = open(&folder, &server);
    say(&mut terminal, "I am Ana");
    expect(&mut terminal, "Hel");
    // The rest of the answer is sent only after its beginning is on the screen.
    server.send_fragment();
    expect(&mut terminal, "lo Ana.\r\n");
    say(&mut terminal, "a note please");
    expect(&mut terminal, "  * add_note {\"text\":\"milk\"}\r\n");
    expect(&mut terminal, "  = {\"kept\":\"milk\"}\r\n");
    expect(&mut terminal, "Kept.\r\n");
    say(&mut terminal, "away with it");
    expect(&mut terminal, "  ? delete_note {\"text\":\"milk\"}\r\n");
    answer(&mut terminal, "perhaps");
    expect(&mut terminal, "Please answer y or n.");
    answer(&mut terminal, "y");
    expect(&mut terminal, "  = {\"deleted\":\"milk\"}\r\n");
    expect(&mut terminal, "Deleted.\r\n");
    end(terminal);

    let mut terminal = open(&folder, &server);
    expect(&mut terminal, "> away with it\r\n");
    expect(&mut terminal, "Deleted.\r\n");
    say(&mut terminal, "Who am I?");
    expect(&mut terminal, "You are Ana.\r\n");
    end(terminal);

    let requests: Vec<Value> = (0..6).map(|_| server.request()).collect();
    assert!(requests.iter().all(|request| request["model"] == "tiny" && request["stream"] == true));
    assert_eq!(requests[2]["messages"][5]["content"], r#"{"kept":"milk"}"#);
    let messages = requests[5]["messages"].as_array().unwrap();
    let role_and_text = |message: &Value| (message["role"].clone(), message["content"].clone());
    let sent: Vec<_> = messages.iter().skip(1).map(role_and_text).collect();
    let expected = [
        ("user", json!("I am Ana")),
        ("assistant", json!("Hello Ana.")),
        ("user", json!("a note please")),
        ("assistant", json!(null)),
        ("tool", json!(r#"{"kept":"milk"}"#)),
        ("assistant", json!("Kept.")),
        ("user", json!("away with it")),
        ("assistant", json!(null)),
        ("tool", json!(r#"{"deleted":"milk"}"#)),
        ("assistant", json!("Deleted.")),
        ("user", json!("Who am I?")),
    ];
    assert_eq!(sent, expected.map(|(role, text)| (json!(role), text)));
    let typed = std::fs::read_to_string(folder.join("chats.history")).unwrap();
    assert!(typed.ends_with("I am Ana\na note please\naway with it\nWho am I?\n"), "{typed}");
}

#[test]
fn ctrl_c_ends_the_answer_and_not_the_program() {
    let folder = example::empty_folder("assistant", "cancel");
    let server = Server::start(vec![Answer::Unfinished("Once upon"), Answer::Text(vec!["Here I am."])]);
    let mut terminal = open(&folder, &server);
    say(&mut terminal, "a long story");
    expect(&mut terminal, "Once upon");
    terminal.send_control('c').unwrap();
    expect(&mut terminal, "(cancelled)\r\n");
    server.wait_until_gone();
    expect(&mut terminal, "> ");
    terminal.send_control('c').unwrap();
    expect(&mut terminal, "(Ctrl-D or /quit ends the program)\r\n");
    say(&mut terminal, "still there?");
    expect(&mut terminal, "Here I am.\r\n");
    end(terminal);
}

#[test]
fn a_refused_key_is_shown_and_the_chat_continues() {
    let folder = example::empty_folder("assistant", "refused");
    let server = Server::start(vec![Answer::Refusal(401, "no such key"), Answer::Text(vec!["Welcome."])]);
    let mut terminal = open(&folder, &server);
    say(&mut terminal, "one");
    expect(&mut terminal, "! assistant@1 failed");
    expect(&mut terminal, "(401 refused): the credential is missing or wrong");
    say(&mut terminal, "two");
    expect(&mut terminal, "Welcome.\r\n");
    end_with(terminal, 1);
}

#[test]
fn an_answer_that_is_cut_short_is_marked() {
    let folder = example::empty_folder("assistant", "cut_short");
    let server = Server::start(vec![Answer::TooLong("Once upon a")]);
    let mut terminal = open(&folder, &server);
    say(&mut terminal, "a long story");
    expect(&mut terminal, "Once upon a\r\n! MAX_TOKENS");
    end_with(terminal, 1);
}

/// Starts the program on a terminal, with the session `s1`.
fn open(folder: &Path, server: &Server) -> PtySession {
    let args = ["--session", "s1", "--db", "sqlite:chats.db", "--model", "openai:tiny"];
    let mut command = assistant(folder, &args);
    command.env("OPENAI_BASE_URL", &server.base_url).env("TERM", "xterm").env("NO_PROXY", "127.0.0.1");
    let patience = u64::try_from(PATIENCE.as_millis()).unwrap();
    let mut terminal = spawn_command(command, Some(patience)).unwrap();
    expect(&mut terminal, "Chat s1 with tiny.");
    terminal
}

#[track_caller]
fn expect(terminal: &mut PtySession, text: &str) {
    if let Err(error) = terminal.exp_string(text) {
        panic!("{text:?} does not come: {error}");
    }
}

/// Types a message at the prompt.
fn say(terminal: &mut PtySession, message: &str) {
    expect(terminal, "> ");
    terminal.send_line(message).unwrap();
    // The editor echoes the typed message. All text after the line break comes from the program.
    expect(terminal, "\r\n");
}

fn answer(terminal: &mut PtySession, word: &str) {
    expect(terminal, "Allow it? [y/n] ");
    terminal.send_line(word).unwrap();
}

/// Ends the program with Ctrl-D.
fn end(terminal: PtySession) {
    end_with(terminal, 0);
}

fn end_with(mut terminal: PtySession, status: i32) {
    expect(&mut terminal, "> ");
    terminal.send_control('d').unwrap();
    expect(&mut terminal, "Continue with --session s1\r\n");
    terminal.exp_eof().unwrap();
    let ended = terminal.process().wait().unwrap();
    assert!(format!("{ended:?}").ends_with(&format!(", {status})")), "{ended:?}");
}
