//! Runs the example `research_team` as a program, with its scripts.

#[path = "../example/mod.rs"]
mod example;

use std::process::Command;

const REPORT: &str = r#"How do sea otters keep warm?

coordinator calls search {"queries":["How do sea otters keep warm?","keep warm?"]}
        queries gives ["How do sea otters keep warm?","keep warm?"]
            look_up gives [{"score":2,"text":"Sea otters have no blubber. Their fur, the densest of all mammals, kee…
            look_up gives [{"score":2,"text":"Sea otters burn energy two to three times as fast as land mammals of t…
        look_up gives [[{"score":2,"text":"Sea otters have no blubber. Their fur, the densest of all mammals, ke…
        rank gives "Metabolism of otters: Sea otters burn energy two to three times as fast as land mammals o…
coordinator gets {"result":"Metabolism of otters: Sea otters burn energy two to three times as fast as land…
coordinator calls analyst {"request":"How do sea otters keep warm?"}
    analyst says "3 findings answer the question; none contradicts another."
coordinator gets {"result":"3 findings answer the question; none contradicts another."}
coordinator calls transfer_to_agent {"agent_name":"writer"}
coordinator gets {"result":null}
    writer says "What the collection has about it:\n- Sea otters burn energy two to three times as fast as…

What the collection has about it:
- Sea otters burn energy two to three times as fast as land mammals of their size, which keeps them warm. [Metabolism of otters]
- A walrus keeps warm by blubber that is up to fifteen centimetres thick. [Walrus]
- Sea otters have no blubber. Their fur, the densest of all mammals, keeps a layer of air next to the skin. [Fur of the sea otter]
"#;

#[test]
fn the_team_searches_judges_and_reports() {
    assert_eq!(run("report", &[]), REPORT);
}

#[test]
fn a_question_without_findings_gets_an_honest_report() {
    let output = run("nothing", &["What", "does", "tea", "cost?"]);
    assert!(output.contains("        rank gives \"nothing was found\"\n"), "{output}");
    assert!(output.ends_with("\n\nThe collection has no answer to this.\n"), "{output}");
}

fn run(test: &str, words: &[&str]) -> String {
    let mut command = Command::new(example::program("research_team"));
    let output = command
        .args(["--model", "scripted"])
        .args(words)
        .current_dir(example::empty_folder("research_team", test))
        .output()
        .expect("the example starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}
