//! [`Instruction`]: a text, or a function that makes one.

use std::fmt;
use std::sync::Arc;

use pleach_core::BoxFuture;

use crate::{NodeError, ReadonlyContext};

type Provider = dyn Fn(ReadonlyContext) -> BoxFuture<'static, Result<String, NodeError>> + Send + Sync;

/// What a model is asked to do and how to behave. ADK: `Union[str, InstructionProvider]`
// L10
#[derive(Clone)]
pub enum Instruction {
    /// A template: `{key}` is replaced by the value of the session state.
    Template(Arc<str>),
    /// A function that makes the text; its result is used as it is.
    Provider(Arc<Provider>),
}

impl Instruction {
    /// Makes an instruction of an async function.
    pub fn provider<F, R>(provider: F) -> Self
    where
        F: Fn(ReadonlyContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, NodeError>> + Send + 'static,
    {
        Self::Provider(Arc::new(move |ctx| Box::pin(provider(ctx))))
    }
}

impl From<&str> for Instruction {
    fn from(text: &str) -> Self {
        Self::Template(text.into())
    }
}

impl From<String> for Instruction {
    fn from(text: String) -> Self {
        Self::Template(text.into())
    }
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(text) => f.debug_tuple("Template").field(text).finish(),
            Self::Provider(_) => f.write_str("Provider"),
        }
    }
}
