use pleach::prelude::*;

async fn text(Input(_text): Input<String>) {}

fn main() {
    let mut wf = Workflow::builder("wf").input::<u32>();
    let text = wf.node("text", text);
    wf.edge(START, text);
}
