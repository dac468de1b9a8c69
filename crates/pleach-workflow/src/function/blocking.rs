//! [`Blocking`]: a function that blocks its thread, as a handler.

use std::sync::Arc;

use pleach_core::BoxFuture;
use tracing::Span;

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
        let (function, span) = (Arc::clone(&self.0), Span::current());
        let call = tokio::task::spawn_blocking(move || span.in_scope(|| function.invoke(args)));
        Box::pin(async move {
            match call.await {
                Ok(value) => value,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime shuts down, and the run with it.
                    Err(_) => std::future::pending().await,
                },
            }
        })
    }
}
