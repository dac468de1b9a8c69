use pleach::prelude::*;

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("count", async |ctx: &Context| ctx.state().contains("count"));
}
