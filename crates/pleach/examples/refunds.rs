//! A person in the loop, both ways: `cargo run --features sqlite --example refunds`.
#![expect(clippy::print_stdout, reason = "examples print what they do")]

use pleach::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Order {
    id: u32,
    cents: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Approval {
    yes: bool,
}

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error("refused")]
    Refused,
    #[error(transparent)]
    Node(#[from] NodeError),
}

// (a) the question is the result: the answer becomes the output, so this node outputs an `Approval`
async fn second() -> RequestInput<Approval> {
    RequestInput::ask("legal", "Fine with you?")
}

async fn done(Input(a): Input<Approval>) -> bool {
    a.yes
}

// (b) ask in the middle: the node runs again from its start when an answer has come
async fn refund(ctx: Context, Input(o): Input<Order>) -> Result<u32, PayError> {
    let a: Approval = ctx.ask("manager", format!("Refund {} of order {}?", o.cents, o.id)).await?;
    if a.yes { Ok(o.cents) } else { Err(PayError::Refused) } // error_code "PayError"
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut wf = Workflow::builder("refunds").input::<Order>(); // START now outputs an `Order`
    let refund = wf.add(FunctionNode::new("refund", refund).rerun_on_resume(true));
    let (second, done) = (wf.node("second", second), wf.node("done", done));
    wf.edge(START, refund).edge(refund, second).edge(second, done);
    let runner = Runner::builder("demo").root(wf.build()?).sessions(connect("memory:").await?).build()?;

    let mut run = runner.run("ana", "s1", Message::data(Order { id: 7, cents: 1200 }));
    while let Some(event) = run.next().await {
        if let Some(q) = event?.request {
            println!("{}: {}", q.id, q.message);
        }
    }
    // any process, any day; an unknown id or a value that does not fit is an error, and nothing is stored
    let run = runner.answer("s1", "manager", Approval { yes: true })?;
    if let Err(RunError::Waiting(open)) = run.output::<bool>().await {
        println!("still open: {open:?}");
    }
    Ok(())
}
