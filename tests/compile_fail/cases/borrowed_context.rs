use pleach::prelude::*;

async fn count(ctx: &Context) -> Result<u32> {
    Ok(ctx.state().get("count")?)
}

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("count", count);
}
