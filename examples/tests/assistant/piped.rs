//! Tests without a terminal, with the script in place of a model.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use crate::{assistant, example};

const NO_KEY: &str = "with a script, because there is no model: say `help`. /help shows the commands.";

#[test]
fn lines_are_messages_answers_and_commands() {
    let folder = example::empty_folder("assistant", "piped");
    let input = "note buy milk\nnotes\ndelete buy milk\nyes\n/nonsense\n\n";
    let expected = format!(
        "Chat s1 {NO_KEY}
  * add_note {{\"text\":\"buy milk\"}}
  = {{\"kept\":\"buy milk\"}}
I have kept \"buy milk\".
  * list_notes {{}}
  = {{\"notes\":[\"buy milk\"]}}
Your notes:
- buy milk
  * delete_note {{\"text\":\"buy milk\"}}
  ? delete_note {{\"text\":\"buy milk\"}}
  = {{\"deleted\":\"buy milk\"}}
I have deleted \"buy milk\".
unknown command /nonsense; /help shows the commands
Continue with --session s1
"
    );
    assert_eq!(run(&folder, &["--session", "s1"], input), (Some(0), expected, String::new()));
}

#[test]
fn a_question_without_an_answer_stays_open_for_the_next_process() {
    let folder = example::empty_folder("assistant", "open_question");
    run(&folder, &["--session", "s1"], "note buy milk\n");
    let (_, asked, _) = run(&folder, &["--session", "s2"], "delete buy milk\n");
    assert!(asked.ends_with("The question stays open.\nContinue with --session s2\n"), "{asked}");
    let expected = format!(
        "Chat s2 {NO_KEY}
> delete buy milk
  ? delete_note {{\"text\":\"buy milk\"}}
  = {{\"error\":\"This tool call is rejected.\"}}
That did not work: This tool call is rejected.
  * list_notes {{}}
  = {{\"notes\":[\"buy milk\"]}}
Your notes:
- buy milk
Continue with --session s2
"
    );
    assert_eq!(run(&folder, &["--session", "s2"], "no\nnotes\n"), (Some(0), expected, String::new()));
}

#[test]
fn a_new_chat_knows_nothing_of_the_old_one() {
    let folder = example::empty_folder("assistant", "anew");
    let (_, output, _) = run(&folder, &["--session", "s1"], "hello\n/new\n/history\n/quit\nnotes\n");
    let (_, after) = output.split_once("answers instead.\n").expect("the script answers");
    let lines: Vec<_> = after.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("Chat chat-"), "{output}");
    assert_eq!(lines[1], lines[0].replace("Chat ", "Continue with --session "));
}

#[test]
fn an_invalid_command_line_is_refused() {
    let folder = example::empty_folder("assistant", "usage");
    let cases: [(&[&str], &str); 5] = [
        (&["--loud"], "invalid option '--loud'; `--help` shows the options"),
        (&["file"], "unexpected argument \"file\"; `--help` shows the options"),
        (&["--session", " "], "the id of a session must not be blank"),
        (&["--model", "tiny"], "the model 'tiny' has no provider. Write `PROVIDER:MODEL`, for example `openai:tiny`"),
        (
            &["--db", "file.db"],
            "unknown scheme 'file.db' in the session URL. Use `memory:`, `sqlite:FILE`, `sqlite:///FILE` or `postgresql://HOST/DATABASE`",
        ),
    ];
    for (args, reason) in cases {
        let (status, output, error) = run(&folder, args, "");
        assert_eq!((status, output.as_str()), (Some(2), ""));
        assert_eq!(error, format!("assistant: {reason}\n"));
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

fn run(folder: &Path, args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = assistant(folder, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the example starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    // A program that reads no input may already have ended.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the example ends");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}
