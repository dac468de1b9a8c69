//! The example `traced`, run as a program: the process that answers adds to the trace of the one that asked.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a process printed about one span.
#[derive(Debug, PartialEq)]
struct Line {
    trace: String,
    span: String,
    parent: String,
    what: String,
}

#[test]
fn two_processes_export_one_trace() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("traced");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder of an earlier test run can be removed");
    }
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let before = run(&folder, &["ask"]);
    let after = run(&folder, &["answer", "yes"]);

    let names = |lines: &[Line]| lines.iter().map(|line| line.what.clone()).collect::<Vec<_>>();
    let expected = |node: &str, workflow: &str, lines: &[Line]| {
        // The request of each process is a trace of its own, and linked.
        let request = &lines[2];
        assert_eq!(names(lines), [node, &format!("{workflow}, linked to {}", request.trace), "request"]);
        assert_ne!(request.trace, lines[0].trace);
    };
    expected("invoke_node approve: interrupted", "invoke_workflow orders: interrupted", &before);
    expected("invoke_node ship: completed", "invoke_workflow orders: completed", &after);
    let [(node, root), (next, resumed)] = [(&before[0], &before[1]), (&after[0], &after[1])];
    assert!([node, next, resumed].iter().all(|line| line.trace == root.trace), "{before:?} {after:?}");
    // The part that started the invocation is the root, the other one is below it.
    assert_eq!(root.parent, "0".repeat(16));
    assert_eq!((&node.parent, &resumed.parent, &next.parent), (&root.span, &root.span, &resumed.span));
    assert_ne!(root.span, resumed.span);
}

fn run(folder: &Path, args: &[&str]) -> Vec<Line> {
    let output = Command::new(program()).args(args).current_dir(folder).output().expect("the example starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    text.lines().map(line).collect()
}

fn line(text: &str) -> Line {
    let mut words = text.splitn(4, ' ').map(str::to_owned);
    let mut word = || words.next().expect("a line has four parts");
    Line { trace: word(), span: word(), parent: word(), what: word() }
}

/// The example that cargo builds with the tests of its package.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests lie in a folder of the target folder");
    let program = profile.join("examples").join(format!("traced{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: `cargo test -p pleach-examples` builds it", program.display());
    program
}
