//! Workflows for several tests.

use pleach::prelude::*;
use pleach::testkit::Effects;

/// A workflow of one node that runs again on a resume.
pub(crate) fn alone<F, Fut, T>(body: F) -> Workflow
where
    F: Fn(Context, String) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<T>> + Send + 'static,
    T: serde::Serialize + 'static,
{
    let mut wf = Workflow::builder("shop");
    let node = FunctionNode::new("order", move |ctx: Context, Input(input): Input<String>| body(ctx, input));
    let node = wf.add(node.rerun_on_resume(true));
    wf.edge(START, node);
    wf.build().unwrap()
}

/// A workflow that charges in a step, asks, ships in a step and counts its sales.
pub(crate) fn order(effects: &Effects) -> Workflow {
    let effects = effects.clone();
    alone(move |ctx, cents| {
        let effects = effects.clone();
        async move {
            let charge = async || {
                effects.record(format!("charge {cents}"), ctx.idempotency_key());
                Ok("r-1".to_owned())
            };
            let receipt: String = ctx.step("charge", charge).await?;
            let ship: bool = ctx.ask("ship", "Ship it?").await?;
            if ship {
                let send = async || {
                    effects.record("ship", ctx.idempotency_key());
                    Ok(())
                };
                ctx.step("send", send).await?;
                ctx.state().set("user:sold", cents.clone())?;
            }
            Ok(format!("{receipt} {ship}"))
        }
    })
}
