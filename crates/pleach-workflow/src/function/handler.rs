//! The traits of handler functions, in two steps so that compiler errors name the part that does not fit.

use std::future::{Future, ready};

use pleach_context::{AnswerType, Context, Extract, Flow, InputReader, Need, NodeError, NodeInput};
use pleach_core::BoxFuture;
use smol_str::SmolStr;

use super::into_yield::IntoYield;

/// A function of these parameters: the shape of a handler, without requirements on its types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    note = "a handler is an `async fn` of up to 8 parameters; a closure must be `Fn`, so it must not move captured values out"
)]
pub trait Shape<Args>: Send + Sync + 'static {
    /// The return type: for a handler, a future.
    type Ret;

    /// Calls the function.
    fn invoke(&self, args: Args) -> Self::Ret;
}

macro_rules! shapes {
    ($(($($name:ident),*))*) => {$(
        impl<Func, Ret, $($name),*> Shape<($($name,)*)> for Func
        where
            Func: Fn($($name),*) -> Ret + Send + Sync + 'static,
        {
            type Ret = Ret;

            #[allow(non_snake_case, reason = "the type parameters name the arguments")]
            fn invoke(&self, ($($name,)*): ($($name,)*)) -> Ret {
                self($($name),*)
            }
        }
    )*};
}

shapes! {
    () (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) (A, B, C, D, E, F, G)
    (A, B, C, D, E, F, G, H)
}

/// A function that can be a node: an `async fn` whose parameters are [`FromContext`](pleach_context::FromContext) and
/// whose result is [`IntoYield`]. The marker `M` is inferred.
pub trait Handler<M>: Send + Sync + 'static {
    /// The input type.
    type In;
    /// The output type.
    type Out;

    /// Starts a run.
    fn call(&self, ctx: &Context, input: NodeInput) -> BoxFuture<'static, Result<Flow, NodeError>>;

    /// Extracts the parameters without calling the function.
    ///
    /// # Errors
    /// A parameter that is missing or does not fit.
    fn check(&self, ctx: &Context, input: NodeInput) -> Result<(), NodeError>;

    /// Adds the app-provided values that the handler needs.
    fn needs(&self, needs: &mut Vec<Need>);

    /// Adds the state keys that the handler declares to read.
    fn state_params(&self, keys: &mut Vec<SmolStr>);

    /// Returns the type that the handler reads its input as, if it reads the input.
    fn reads(&self) -> Option<InputReader> {
        None
    }

    /// Returns the type of the answer if the handler's result is a question.
    fn answer_type(&self) -> Option<AnswerType> {
        None
    }

    /// Returns the routes that the handler chooses among, if its result type names them.
    fn routes(&self) -> Option<&'static [&'static str]> {
        None
    }
}

impl<F, Args, HowItReturns> Handler<(Args, HowItReturns)> for F
where
    F: Shape<Args>,
    Args: Extract,
    F::Ret: Future + Send + 'static,
    <F::Ret as Future>::Output: IntoYield<HowItReturns>,
{
    type In = Args::In;
    type Out = <<F::Ret as Future>::Output as IntoYield<HowItReturns>>::Out;

    fn call(&self, ctx: &Context, mut input: NodeInput) -> BoxFuture<'static, Result<Flow, NodeError>> {
        match Args::extract(ctx, &mut input) {
            Ok(args) => {
                let body = self.invoke(args);
                Box::pin(async move { body.await.into_flow() })
            }
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn check(&self, ctx: &Context, mut input: NodeInput) -> Result<(), NodeError> {
        Args::extract(ctx, &mut input).map(drop)
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        Args::needs(needs);
    }

    fn state_params(&self, keys: &mut Vec<SmolStr>) {
        Args::state_params(keys);
    }

    fn reads(&self) -> Option<InputReader> {
        Args::reads()
    }

    fn answer_type(&self) -> Option<AnswerType> {
        <<F::Ret as Future>::Output as IntoYield<HowItReturns>>::answer_type()
    }

    fn routes(&self) -> Option<&'static [&'static str]> {
        <<F::Ret as Future>::Output as IntoYield<HowItReturns>>::routes()
    }
}
