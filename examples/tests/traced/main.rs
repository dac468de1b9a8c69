//! Runs the example `traced` as a program. The process that answers must add to the trace of the process that asked.

#[path = "../example/mod.rs"]
mod example;

use std::path::Path;
use std::process::Command;

/// The printed line of one span.
#[derive(Debug, PartialEq)]
struct Line {
    trace: String,
    span: String,
    parent: String,
    what: String,
}

#[test]
fn two_processes_export_one_trace() {
    let folder = example::empty_folder("traced", "two_processes");
    let (before, asked) = run(&folder, &["ask"]);
    let (after, answered) = run(&folder, &["answer", "yes"]);

    let names = |lines: &[Line]| lines.iter().map(|line| line.what.clone()).collect::<Vec<_>>();
    let expected = |node: &str, workflow: &str, lines: &[Line]| {
        // The request of each process has its own trace, to which the invocation's span is linked.
        let request = &lines[2];
        assert_eq!(names(lines), [node, &format!("{workflow}, linked to {}", request.trace), "request"]);
        assert_ne!(request.trace, lines[0].trace);
    };
    expected("invoke_node approve: interrupted", "invoke_workflow orders: interrupted", &before);
    expected("invoke_node ship: completed", "invoke_workflow orders: completed", &after);
    let [(node, root), (next, resumed)] = [(&before[0], &before[1]), (&after[0], &after[1])];
    assert!([node, next, resumed].iter().all(|line| line.trace == root.trace), "{before:?} {after:?}");
    // The part that started the invocation is the root span, and the other part is below it.
    assert_eq!(root.parent, "0".repeat(16));
    assert_eq!((&node.parent, &resumed.parent, &next.parent), (&root.span, &root.span, &resumed.span));
    assert_ne!(root.span, resumed.span);

    let expect = |lines: &[String], line: &str| assert!(lines.iter().any(|found| found == line), "{line}: {lines:#?}");
    expect(&asked, "pleach.questions.open {pleach.question.kind=user_input} 1");
    expect(&answered, "pleach.questions.open {pleach.question.kind=user_input} -1");
    expect(&asked, "pleach.node.duration {pleach.node.name=approve, pleach.outcome=interrupted} 1");
    expect(&answered, "pleach.runs.active {pleach.app.name=traced} 0");
    let run = "gen_ai.invoke_workflow.duration {gen_ai.workflow.name=orders, pleach.outcome=completed, pleach.resumed=true} 1";
    expect(&answered, run);
}

/// Runs a process, and returns its printed spans and metric points.
fn run(folder: &Path, args: &[&str]) -> (Vec<Line>, Vec<String>) {
    let output =
        Command::new(example::program("traced")).args(args).current_dir(folder).output().expect("the example starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    let (metrics, spans): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("metric "));
    let metrics = metrics.into_iter().map(|line| line.trim_start_matches("metric ").to_owned());
    (spans.into_iter().map(line).collect(), metrics.collect())
}

fn line(text: &str) -> Line {
    let mut words = text.splitn(4, ' ').map(str::to_owned);
    let mut word = || words.next().expect("a line has four parts");
    Line { trace: word(), span: word(), parent: word(), what: word() }
}
