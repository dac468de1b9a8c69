//! [`LoggingPlugin`]: one readable line for each step of a run.

mod excerpt;
mod lines;
mod secrets;

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// The target of the lines that go to `tracing`.
const TARGET: &str = "pleach::plugins::logging";

/// The maximum length of a line, in characters.
const LONGEST: usize = 8_000;

/// Writes one line for each step of a run: starts and ends, requests and responses of models with their tokens, tool
/// calls, and failures.
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
/// [`to_writer`](Self::to_writer) redirects them. They belong to no span, because subscribers write the fields of spans
/// before each line. Each line begins with the id of its invocation and has no line breaks. It shows at most
/// [`excerpt_length`](Self::excerpt_length) characters of each text of a user, a model or a tool.
///
/// For state, only the names of keys are shown. For calls and responses in messages, only the function name is shown,
/// so that a credential sent by a client never appears. Values in `temp:` state are replaced by `[hidden]` wherever
/// they appear. Values in arguments and results are also replaced if their names mark them as secrets, such as
/// `password` or `api_key`. The plugin cannot recognise other secrets that tools return or users write; use
/// [`hide_contents`](Self::hide_contents) to show no contents at all.
///
/// ADK: `LoggingPlugin`
pub struct LoggingPlugin {
    name: String,
    sink: Sink,
    shown: Shown,
}

/// The settings of what is shown.
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
    /// Creates the plugin, named `logging_plugin`, with lines for everything except fragments.
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

    /// Passes the lines, without a trailing line break, to a function. The function is called during runs and must not
    /// block.
    #[must_use]
    pub fn to(mut self, sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.sink = Sink::Function(Arc::new(sink));
        self
    }

    /// Writes the lines to a writer. Lines that cannot be written are lost.
    #[must_use]
    pub fn to_writer(self, writer: impl Write + Send + 'static) -> Self {
        let writer = Mutex::new(writer);
        self.to(move |line| {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            // A full or closed log must not end the run.
            let _ = writeln!(writer, "{line}");
        })
    }

    /// Sets how many characters of a text are shown: 200 by default.
    #[must_use]
    pub fn excerpt_length(mut self, characters: usize) -> Self {
        self.shown.excerpt_length = characters;
        self
    }

    /// Hides everything that users, models and tools say: texts, arguments, results and error messages. Only kinds and
    /// names are shown.
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

    /// Adds lines for the fragments of streamed answers.
    #[must_use]
    pub fn show_fragments(mut self) -> Self {
        self.shown.fragments = true;
        self
    }

    fn write(&self, invocation: &str, line: &str) {
        let line = one_line(&format!("[{invocation}] {line}"));
        match &self.sink {
            // A line names its invocation itself. With the enclosing spans, hundreds of characters of their fields
            // would come before the line.
            Sink::Tracing => tracing::info!(target: TARGET, parent: None, "{line}"),
            Sink::Function(sink) => sink(&line),
        }
    }

    /// Returns true if anyone receives the lines. If not, no line is formatted.
    fn is_on(&self) -> bool {
        match self.sink {
            Sink::Tracing => tracing::enabled!(target: TARGET, tracing::Level::INFO),
            Sink::Function(_) => true,
        }
    }
}

/// Limits the length of a line, and replaces its line breaks. Ids and names come from clients and servers, and must not
/// begin a new line.
fn one_line(line: &str) -> String {
    line.chars().take(LONGEST).map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

impl fmt::Debug for LoggingPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoggingPlugin").field("name", &self.name).field("shown", &self.shown).finish_non_exhaustive()
    }
}
