//! [`LoggingPlugin`]: one readable line for each step of a run.

mod excerpt;
mod lines;
mod secrets;

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// The target of the lines that go to `tracing`.
const TARGET: &str = "pleach::plugins::logging";

/// How many characters a line has at most.
const LONGEST: usize = 8_000;

/// Writes one line for each step: what runs, what is asked and answered, what is called, what it costs, what fails.
///
/// ```text
/// [e-1] run starts: app demo, user ana, session s1
/// [e-1] user: "What is the weather in Oslo?"
/// [e-1] agent helper starts
/// [e-1] helper asks gemini-3.5-flash: 1 content, 1 tool
/// [e-1] helper gets: calls weather; 31 tokens in, 7 out; STOP
/// [e-1] tool weather starts: call adk-1, {"city":"Oslo"}
/// [e-1] tool weather ends: call adk-1, {"sky":"clear"}
/// ```
///
/// Lines go to `tracing`, with the target `pleach::plugins::logging` and the level `info`, unless [`to`](Self::to) or
/// [`to_writer`](Self::to_writer) take them. They belong to no span, because subscribers write the fields of spans before each line. Each begins with the id of its invocation, has no line breaks, and shows
/// [`excerpt_length`](Self::excerpt_length) characters at most of anything that a user, a model or a tool has said.
///
/// Of state only the names of keys are shown. Of calls and responses in messages only the names of functions are shown, so that a credential
/// that a client sends appears nowhere. What `temp:` state holds is replaced by `[hidden]` wherever it appears, and so are values in
/// arguments and results whose name says that they are secret, such as `password` or `api_key`. The plugin cannot recognise other secrets
/// that tools return or users write: [`hide_contents`](Self::hide_contents) shows nothing of what anybody has said.
///
/// ADK: `LoggingPlugin`
pub struct LoggingPlugin {
    name: String,
    sink: Sink,
    shown: Shown,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
struct Shown {
    excerpt_length: usize,
    contents: bool,
    events: bool,
    nodes: bool,
    fragments: bool,
}

enum Sink {
    Tracing,
    Function(Arc<dyn Fn(&str) + Send + Sync>),
}

impl Default for LoggingPlugin {
    fn default() -> Self {
        Self::new()
    }
}

impl LoggingPlugin {
    /// Makes the plugin, named `logging_plugin`, with lines for everything but fragments.
    #[must_use]
    pub fn new() -> Self {
        let shown = Shown { excerpt_length: 200, contents: true, events: true, nodes: true, fragments: false };
        Self { name: "logging_plugin".to_owned(), sink: Sink::Tracing, shown }
    }

    /// Sets the name of the plugin.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Gives the lines, without a line break at their end, to a function. It is called in the middle of runs and must not wait.
    #[must_use]
    pub fn to(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.sink = Sink::Function(Arc::new(sink));
        self
    }

    /// Writes the lines. What cannot be written is lost.
    #[must_use]
    pub fn to_writer(self, writer: impl Write + Send + 'static) -> Self {
        let writer = Mutex::new(writer);
        self.to(move |line| {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            // A log that is full or closed must not end the run.
            let _ = writeln!(writer, "{line}");
        })
    }

    /// Sets how many characters of a text are shown. 200 unless set.
    #[must_use]
    pub fn excerpt_length(mut self, characters: usize) -> Self {
        self.shown.excerpt_length = characters;
        self
    }

    /// Shows nothing that users, models and tools say: no texts, arguments, results and error messages, only their kinds and names.
    #[must_use]
    pub fn hide_contents(mut self) -> Self {
        self.shown.contents = false;
        self
    }

    /// Leaves out the lines of stored events.
    #[must_use]
    pub fn hide_events(mut self) -> Self {
        self.shown.events = false;
        self
    }

    /// Leaves out the lines of nodes.
    #[must_use]
    pub fn hide_nodes(mut self) -> Self {
        self.shown.nodes = false;
        self
    }

    /// Adds lines for the fragments of answers that are streamed.
    #[must_use]
    pub fn show_fragments(mut self) -> Self {
        self.shown.fragments = true;
        self
    }

    fn write(&self, invocation: &str, line: &str) {
        let line = one_line(&format!("[{invocation}] {line}"));
        match &self.sink {
            // A line names its invocation. The spans around it would put hundreds of characters of fields before it.
            Sink::Tracing => tracing::info!(target: TARGET, parent: None, "{line}"),
            Sink::Function(sink) => sink(&line),
        }
    }

    /// Whether lines go anywhere: nothing is formatted for a subscriber that does not want them.
    fn is_on(&self) -> bool {
        match self.sink {
            Sink::Tracing => tracing::enabled!(target: TARGET, tracing::Level::INFO),
            Sink::Function(_) => true,
        }
    }
}

/// Ids and names come from clients and servers: none of them begins a line, or makes one endless.
fn one_line(line: &str) -> String {
    line.chars().take(LONGEST).map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

impl fmt::Debug for LoggingPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoggingPlugin").field("name", &self.name).field("shown", &self.shown).finish_non_exhaustive()
    }
}
