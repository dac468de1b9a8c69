use pleach::prelude::*;

struct Opaque;

async fn take(Input(_opaque): Input<Opaque>) {}

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("take", take);
}
