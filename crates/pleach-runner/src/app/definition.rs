//! [`App`]: a root node with a name, plugins and settings.

use std::sync::Arc;

use pleach_context::{Node, Plugin};
use pleach_core::AppName;
use pleach_workflow::{BuildError, Fault};

use crate::EventsCompactionConfig;

/// A root node with a validated name, plugins and settings. ADK: `App`.
///
/// # Example
/// ```
/// # use pleach_context::{Node, Plugin};
/// # use pleach_runner::{App, RunnerBuilder};
/// # use pleach_session::SessionService;
/// # fn example(
/// #     sessions: impl SessionService, workflow: impl Node, audit: impl Plugin,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let app = App::new("shop", workflow)?.plugin(audit).resumable(true);
/// let runner = RunnerBuilder::app(app).sessions(sessions).build()?;
/// assert_eq!(runner.app_name().as_str(), "shop");
/// # Ok(())
/// # }
/// ```
// R1102
pub struct App {
    pub(crate) name: AppName,
    pub(crate) root: Arc<dyn Node>,
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    pub(crate) resumable: bool,
    pub(crate) compaction: Option<EventsCompactionConfig>,
}

impl App {
    /// Returns an app of this name.
    ///
    /// # Errors
    /// The name does not consist of a letter followed by letters, digits, `_` and `-`, or it is `user`.
    pub fn new(name: impl Into<AppName>, root: impl Node) -> Result<Self, BuildError> {
        let name = name.into();
        let mut letters = name.as_str().chars();
        let first = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic());
        let valid = first && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
        let fault =
            |rule, message: String| BuildError { name: name.to_string(), faults: vec![Fault::value(rule, message)] };
        if !valid {
            return Err(fault(
                "invalid_app_name",
                format!("Invalid app name '{name}': use a letter, then letters, digits, '_' and '-'."),
            ));
        }
        if name.as_str() == "user" {
            return Err(fault(
                "reserved_app_name",
                "App name cannot be 'user': it is the author of user messages. Choose another name.".into(),
            ));
        }
        Ok(Self { name, root: Arc::new(root), plugins: Vec::new(), resumable: false, compaction: None })
    }

    /// Adds a plugin; hooks are called in the order of registration.
    #[must_use]
    pub fn plugin(mut self, plugin: impl Plugin) -> Self {
        self.plugins.push(Arc::new(plugin));
        self
    }

    /// Sets whether checkpoints and completed runs are recorded. If they are, a resume never executes a completed run
    /// again, even if the run had no output. ADK: `ResumabilityConfig`.
    // R1030, R1011
    #[must_use]
    #[doc(alias = "ResumabilityConfig")]
    pub fn resumable(mut self, yes: bool) -> Self {
        self.resumable = yes;
        self
    }

    /// Sets when long histories are summarised. ADK: `App.events_compaction_config`.
    // R1150
    #[must_use]
    pub fn events_compaction_config(mut self, config: EventsCompactionConfig) -> Self {
        self.compaction = Some(config);
        self
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("name", &self.name).field("root", &self.root.spec().name).finish_non_exhaustive()
    }
}
