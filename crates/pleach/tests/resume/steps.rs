//! Nodes that do their work in steps.

use std::time::Duration;

use futures::future::try_join_all;
use pleach::prelude::*;
use serde_json::{Value, json};

use crate::bodies::{again, label, question};
use crate::flow::{StepsEnd, Task, Trouble, Work};
use crate::world::World;

/// The parts of a node that works in steps.
#[derive(Clone)]
struct Plan {
    names: Vec<(&'static str, String)>,
    together: bool,
    end: StepsEnd,
    trouble: Trouble,
    retry: bool,
}

impl Plan {
    fn of(task: &Task) -> Self {
        let Work::Steps { count, together, keyed, end } = task.work else { unreachable!() };
        let place = |number: u8| match number {
            _ if keyed => format!("key-k{number}"),
            2 => "step-1".to_owned(),
            _ => format!("step-{}", number + 1),
        };
        // Two steps share a name, so the second one gets a number.
        let names = (0..count).map(|number| (["s", "s", "t"][usize::from(number)], place(number)));
        Self { names: names.collect(), together, end, trouble: task.trouble.clone(), retry: task.retry }
    }

    fn step(&self, name: &'static str, place: &str) -> Step {
        let step = Step::new(name);
        let step = place.strip_prefix("key-").map_or(step.clone(), |key| step.key(key));
        if self.retry { step.retry(again()) } else { step }
    }

    /// Begins a step when it is called, not when it is polled, so that simultaneous steps are numbered in order.
    fn one<'a>(
        &'a self,
        ctx: &'a Context,
        world: &'a World,
        number: usize,
        input: &'a Value,
    ) -> impl Future<Output = Result<Option<String>, NodeError>> + Send + 'a {
        let (name, place) = &self.names[number];
        let path = format!("{}/{name}@{place}", ctx.node_path());
        ctx.step(self.step(name, place), move || {
            let path = path.clone();
            async move {
                world.enter_at(path.clone());
                tokio::task::yield_now().await;
                if self.trouble.late {
                    world.fail_at(path, self.trouble.fails)?;
                }
                // One step has no result, which is recorded as well.
                Ok((number != 1).then(|| label(name, &json!([number, input]))))
            }
        })
    }

    async fn all(&self, ctx: &Context, world: &World, input: &Value) -> Result<Vec<Option<String>>, NodeError> {
        let numbers = 0..self.names.len();
        if self.together {
            return try_join_all(numbers.map(|number| self.one(ctx, world, number, input))).await;
        }
        let mut results = Vec::new();
        for number in numbers {
            results.push(self.one(ctx, world, number, input).await?);
        }
        Ok(results)
    }
}

/// Selects with the same question id each time. The names of the signals contain the path of the run.
async fn select(ctx: &Context) -> Result<String, NodeError> {
    let select = ctx.select().ask(&question(ctx, 0), "?", |answer: String| format!("answered {answer}"));
    let select = select.sleep(Duration::from_secs(60), || "late".to_owned());
    let name = |number| format!("{}#{number}", ctx.node_path());
    let select = select.signal(name(1), |payload: String| format!("first signal {payload}"));
    select.signal(name(2), |payload: String| format!("second signal {payload}")).await
}

pub(crate) fn steps(name: &str, task: &Task, world: &World) -> FunctionNode<Dynamic, String> {
    let (plan, world) = (Plan::of(task), world.clone());
    let node = FunctionNode::new(name, move |ctx: Context, Input(input): Input<Dynamic>| {
        let (plan, world) = (plan.clone(), world.clone());
        async move {
            plan.trouble.begin(&ctx, &world).await?;
            let results = plan.all(&ctx, &world, &input.0).await?;
            let answer = match plan.end {
                StepsEnd::Own => None,
                StepsEnd::Asks => Some(ctx.ask::<String>(&question(&ctx, 0), "?").await?),
                StepsEnd::Sleeps => {
                    ctx.sleep(Duration::from_secs(60)).await?;
                    None
                }
                StepsEnd::Selects => {
                    let first = select(&ctx).await?;
                    let then = ctx.ask::<String>(&question(&ctx, 1), "?").await?;
                    Some(format!("{first}, {then}, {}", select(&ctx).await?))
                }
            };
            plan.trouble.end(&ctx, &world)?;
            Ok::<_, NodeError>(label(ctx.node_name(), &json!([results, answer])))
        }
    });
    node.rerun_on_resume(true)
}
