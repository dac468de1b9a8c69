use pleach::prelude::*;

async fn divide(Input(n): Input<u32>) -> std::result::Result<u32, String> {
    100u32.checked_div(n).ok_or_else(|| "by nothing".to_owned())
}

fn main() {
    let mut wf = Workflow::builder("wf");
    wf.node("divide", divide);
}
