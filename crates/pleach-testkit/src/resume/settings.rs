//! [`Settings`]: the settings of a property.

use std::sync::Arc;

use pleach_core::{AppName, BoxError, BoxFuture};
use pleach_runner::{Message, RunnerBuilder};
use pleach_session::SessionService;

use crate::{Effects, ScriptedHuman};

/// Opens the store of a process.
pub(super) type Open = Arc<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn SessionService>, BoxError>> + Send + Sync>;

/// The settings of a property.
pub(super) struct Settings {
    pub(super) app: Box<dyn Fn(AppName) -> RunnerBuilder + Send + Sync>,
    pub(super) inputs: Vec<Message>,
    pub(super) human: ScriptedHuman,
    pub(super) effects: Effects,
    /// Whether the test has set the record that the effects are read from.
    pub(super) reads_effects: bool,
    /// Opens the store; `None` for process memory.
    pub(super) open: Option<Open>,
    /// The places that are not compared.
    pub(super) ignored: Vec<String>,
    /// Whether a message may fail.
    pub(super) may_fail: bool,
}

impl Settings {
    pub(super) fn new(app: impl Fn(AppName) -> RunnerBuilder + Send + Sync + 'static) -> Self {
        Self {
            app: Box::new(app),
            inputs: Vec::new(),
            human: ScriptedHuman::new(),
            effects: Effects::new(),
            reads_effects: false,
            open: None,
            ignored: Vec::new(),
            may_fail: false,
        }
    }
}
