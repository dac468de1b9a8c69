//! A chain, a route and a loop: `cargo run --example hello`.
#![expect(clippy::print_stdout, reason = "examples print what they do")]

use pleach::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Draft {
    text: String,
}

async fn draft(Input(topic): Input<String>) -> Draft {
    Draft { text: format!("Three facts about {topic}.") }
}

async fn check(Input(d): Input<Draft>) -> Output<Draft> {
    let route = if d.text.len() > 40 { "ok" } else { "short" };
    Output::of(d).route(route)
}

async fn longer(Input(d): Input<Draft>) -> Draft {
    Draft { text: d.text + " And one more." }
}

async fn publish(Input(d): Input<Draft>) -> String {
    d.text
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut wf = Workflow::builder("hello");
    let (draft, check) = (wf.node("draft", draft), wf.node("check", check));
    let (longer, publish) = (wf.node("longer", longer), wf.node("publish", publish));
    wf.edge(START, draft).edge(draft, check).route(check, "ok", publish);
    wf.route(check, "short", longer).edge(longer, check); // a loop is an edge back
    let runner = Runner::builder("demo").root(wf.build()?).sessions(connect("memory:").await?).build()?;

    let mut run = runner.run("ana", "s1", "otters"); // starts when polled; drop cancels; `run.detach()` continues
    while let Some(event) = run.next().await {
        println!("{:?}", event?);
    }
    println!("{}", run.output::<String>().await?); // this alone also works: it drains the run itself
    Ok(())
}
