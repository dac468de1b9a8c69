//! Bodies that return a value and emit nothing: callbacks of agents, hooks of plugins, instructions.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use pleach::NodeError;
use serde_json::Value;

use super::env::{Env, Failure};
use super::run::{End, play};
use super::step::{Step, emits, steps};

/// A body that returns a value. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Body(Arc<[Step]>);

impl Body {
    /// Reads the steps of the body that `what` names.
    pub(crate) fn read(value: &Value, what: &str) -> anyhow::Result<Self> {
        let steps = steps(value).with_context(|| what.to_owned())?;
        ensure!(!emits(&steps), "{what} must not emit");
        Ok(Self(steps.into()))
    }

    /// Plays the steps and reads the value that they return. Null means no value.
    pub(crate) async fn play<T>(
        self,
        mut env: Env,
        read: impl FnOnce(Value) -> Result<T, NodeError>,
    ) -> Result<Option<T>, NodeError> {
        let end = play(&self.0, &mut env).await.map_err(|Failure { error, .. }| error)?;
        match end {
            End::Through | End::Stopped | End::Returned(Value::Null) => Ok(None),
            End::Returned(value) => read(value).map(Some),
            End::ReturnedEvent(_) => Err(env.fault("this body returns no events").error),
        }
    }
}
