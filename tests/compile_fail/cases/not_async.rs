use pleach::prelude::*;

fn number() -> u32 {
    7
}

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("number", number);
}
