use pleach::prelude::*;

async fn both(Input(_a): Input<String>, Input(_b): Input<u32>) {}

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("both", both);
}
