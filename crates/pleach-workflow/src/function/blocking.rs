//! [`Blocking`]: a function that blocks its thread, as a handler.

use std::sync::Arc;

use pleach_context::engine::on_pool;
use pleach_core::BoxFuture;

use super::Shape;

/// A plain function as a handler, which runs on tokio's pool for blocking work. Made by
/// [`FunctionNode::blocking`](super::FunctionNode::blocking).
#[derive(Debug)]
pub struct Blocking<F>(Arc<F>);

impl<F> Blocking<F> {
    pub(super) fn new(function: F) -> Self {
        Self(Arc::new(function))
    }
}

impl<F, Args> Shape<Args> for Blocking<F>
where
    F: Shape<Args>,
    F::Ret: Send + 'static,
    Args: Send + 'static,
{
    type Ret = BoxFuture<'static, F::Ret>;

    fn invoke(&self, args: Args) -> Self::Ret {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            match on_pool(move || function.invoke(args)).await {
                Some(value) => value,
                // The runtime is shutting down, and the run ends with it.
                None => std::future::pending().await,
            }
        })
    }
}
