//! A handler cannot do what only the engine and the Runner may do: take events from the queue, record them, set the
//! history, or reach the context of its parent run.

use std::sync::Arc;

use pleach::prelude::*;

async fn takes_an_event(ctx: Context) {
    let _ = ctx.invocation().queue().take();
}

async fn records_an_event(ctx: Context) {
    ctx.invocation().record(&Arc::new(Event::new()), None, 0);
}

async fn sets_the_history(ctx: Context, history: pleach::History) {
    ctx.invocation().set_history(history);
}

async fn ends_the_run_above(ctx: Context) {
    let _ = ctx.parent().map(|above| above.take_end(false));
}

async fn appends_behind_the_runner(ctx: Context) {
    let _ = &ctx.invocation().services().sessions;
}

async fn imports_the_handle_of_a_run(_: Context) {
    use pleach::engine::RunHandle;
}

async fn asks_the_context_for_its_handle(ctx: Context) {
    let _ = ctx.engine();
}

fn main() {}
