//! The parameters of handlers, and how typed nodes fit together.

mod feeds;
mod from_state;
mod input;
mod wants;

pub use feeds::{Feeds, fit};
pub use from_state::FromState;
pub(crate) use input::warn_unread;
pub use input::{Answers, Input, Resume, Shared};
pub use wants::{And, Nothing, Takes, Wants};

use smol_str::SmolStr;

use crate::{Context, InputReader, Need, NodeError, NodeInput};

/// A type that a node handler can have as a parameter.
///
/// Implemented by [`Context`], [`Input`], [`FromState`], [`Resume`], [`Answers`] and [`Shared`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something a node handler can ask for",
    label = "not a handler parameter",
    note = "write `Input(name): Input<{Self}>` for what the predecessor gives; other parameters are `Context`, `FromState<T>`, `Resume<T>`, `Answers` and `Shared<T>`",
    note = "a handler owns its parameters: take `ctx: Context`, not `&Context`, and give `&ctx` to functions of your own"
)]
pub trait FromContext: Sized {
    /// Whether the parameter takes the node's input, and the type that it takes.
    type Wants: Wants;

    /// Gets the parameter for a run.
    ///
    /// # Errors
    /// An error that names the missing or unfitting value; the run fails with it.
    fn from_context(ctx: &Context, input: &mut NodeInput) -> Result<Self, NodeError>;

    /// Returns the type that the parameter reads the node's input as; `None` if it does not read the input.
    #[must_use]
    fn reads() -> Option<InputReader> {
        None
    }

    /// Adds the app-provided values that the parameter needs.
    fn needs(_needs: &mut Vec<Need>) {}

    /// Adds the state keys that the parameter declares to read.
    fn state_params(_keys: &mut Vec<SmolStr>) {}
}

impl FromContext for Context {
    type Wants = Nothing;

    fn from_context(ctx: &Context, _: &mut NodeInput) -> Result<Self, NodeError> {
        Ok(ctx.clone())
    }
}

/// All parameters of a handler.
#[diagnostic::on_unimplemented(message = "a node handler cannot take these parameters: `{Self}`")]
pub trait Extract: Sized {
    /// The input type of the handler; [`Dynamic`](crate::Dynamic) if it takes no input.
    type In;

    /// Gets all parameters for a run.
    ///
    /// # Errors
    /// An error that names the missing or unfitting value.
    fn extract(ctx: &Context, input: &mut NodeInput) -> Result<Self, NodeError>;

    /// Returns the type that the handler reads its input as; `None` if it does not read the input.
    #[must_use]
    fn reads() -> Option<InputReader> {
        None
    }

    /// Adds the app-provided values that the handler needs.
    fn needs(needs: &mut Vec<Need>);

    /// Adds the state keys that the handler declares to read.
    fn state_params(keys: &mut Vec<SmolStr>);
}

/// Implements [`Extract`] for a tuple. `$in` is the fold of the members' `Wants`, and `$bound` are the steps of the
/// fold.
macro_rules! extract {
    (($($name:ident)*) $in:ty; $($bounded:ty: $bound:path),*) => {
        impl<$($name: FromContext),*> Extract for ($($name,)*)
        where
            $($bounded: $bound),*
        {
            type In = $in;

            fn extract(ctx: &Context, input: &mut NodeInput) -> Result<Self, NodeError> {
                Ok(($($name::from_context(ctx, input)?,)*))
            }

            fn reads() -> Option<InputReader> {
                [$($name::reads()),*].into_iter().flatten().next()
            }

            fn needs(needs: &mut Vec<Need>) {
                $($name::needs(needs);)*
            }

            fn state_params(keys: &mut Vec<SmolStr>) {
                $($name::state_params(keys);)*
            }
        }
    };
}

impl Extract for () {
    type In = crate::Dynamic;

    fn extract(_: &Context, _: &mut NodeInput) -> Result<Self, NodeError> {
        Ok(())
    }

    fn needs(_: &mut Vec<Need>) {}

    fn state_params(_: &mut Vec<SmolStr>) {}
}

/// The `Wants` of two parameters, or of a parameter and the fold of the parameters after it.
type Both<A, B> = <A as And<B>>::Both;

extract!((A) <A::Wants as Wants>::In; );
extract!((A B) <Both<A::Wants, B::Wants> as Wants>::In; A::Wants: And<B::Wants>);
extract!((A B C) <Both<A::Wants, Both<B::Wants, C::Wants>> as Wants>::In; A::Wants: And<Both<B::Wants, C::Wants>>, B::Wants: And<C::Wants>);
extract!((A B C D) <Both<A::Wants, Both<B::Wants, Both<C::Wants, D::Wants>>> as Wants>::In; A::Wants: And<Both<B::Wants, Both<C::Wants, D::Wants>>>, B::Wants: And<Both<C::Wants, D::Wants>>, C::Wants: And<D::Wants>);
extract!((A B C D E) <Both<A::Wants, Both<B::Wants, Both<C::Wants, Both<D::Wants, E::Wants>>>> as Wants>::In; A::Wants: And<Both<B::Wants, Both<C::Wants, Both<D::Wants, E::Wants>>>>, B::Wants: And<Both<C::Wants, Both<D::Wants, E::Wants>>>, C::Wants: And<Both<D::Wants, E::Wants>>, D::Wants: And<E::Wants>);
extract!((A B C D E F) <Both<A::Wants, Both<B::Wants, Both<C::Wants, Both<D::Wants, Both<E::Wants, F::Wants>>>>> as Wants>::In; A::Wants: And<Both<B::Wants, Both<C::Wants, Both<D::Wants, Both<E::Wants, F::Wants>>>>>, B::Wants: And<Both<C::Wants, Both<D::Wants, Both<E::Wants, F::Wants>>>>, C::Wants: And<Both<D::Wants, Both<E::Wants, F::Wants>>>, D::Wants: And<Both<E::Wants, F::Wants>>, E::Wants: And<F::Wants>);
extract!((A B C D E F G) <Both<A::Wants, Both<B::Wants, Both<C::Wants, Both<D::Wants, Both<E::Wants, Both<F::Wants, G::Wants>>>>>> as Wants>::In; A::Wants: And<Both<B::Wants, Both<C::Wants, Both<D::Wants, Both<E::Wants, Both<F::Wants, G::Wants>>>>>>, B::Wants: And<Both<C::Wants, Both<D::Wants, Both<E::Wants, Both<F::Wants, G::Wants>>>>>, C::Wants: And<Both<D::Wants, Both<E::Wants, Both<F::Wants, G::Wants>>>>, D::Wants: And<Both<E::Wants, Both<F::Wants, G::Wants>>>, E::Wants: And<Both<F::Wants, G::Wants>>, F::Wants: And<G::Wants>);
extract!((A B C D E F G H) <Both<A::Wants, Both<B::Wants, Both<C::Wants, Both<D::Wants, Both<E::Wants, Both<F::Wants, Both<G::Wants, H::Wants>>>>>>> as Wants>::In; A::Wants: And<Both<B::Wants, Both<C::Wants, Both<D::Wants, Both<E::Wants, Both<F::Wants, Both<G::Wants, H::Wants>>>>>>>, B::Wants: And<Both<C::Wants, Both<D::Wants, Both<E::Wants, Both<F::Wants, Both<G::Wants, H::Wants>>>>>>, C::Wants: And<Both<D::Wants, Both<E::Wants, Both<F::Wants, Both<G::Wants, H::Wants>>>>>, D::Wants: And<Both<E::Wants, Both<F::Wants, Both<G::Wants, H::Wants>>>>, E::Wants: And<Both<F::Wants, Both<G::Wants, H::Wants>>>, F::Wants: And<Both<G::Wants, H::Wants>>, G::Wants: And<H::Wants>);
