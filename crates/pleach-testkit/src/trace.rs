//! [`Trace`]: a session's events as deterministic text, for snapshots.

mod names;

use std::fmt;
use std::sync::Arc;

use pleach_core::{Event, Question, QuestionKind, REQUEST_INPUT, SessionKey};
use pleach_inspect::Fact;
use pleach_session::{GetSessionConfig, SessionError, SessionResult, SessionService};
use serde::Serialize;
use serde_json::Value;

use names::Names;
pub(crate) use names::{is_stable, uuids};

/// The events of a session as text that is equal for equal runs: ids become counted names, times are left out, and
/// secrets of credentials are hidden. A question with a deadline shows the time that was left when it was asked. That
/// time varies if the deadline is a fixed time and the Runner uses the machine's clock; use a
/// [`TestClock`](crate::TestClock). A trace can be passed to `insta::assert_snapshot!(trace)` or
/// `assert_yaml_snapshot!`.
///
/// ```
/// use std::sync::Arc;
///
/// use pleach_core::Event;
/// use pleach_testkit::Trace;
///
/// let event = Event::from_author("shop").with_node_path("shop@1/price@1").with_output(12).with_route("cheap");
/// let trace = Trace::of(&[Arc::new(event)]);
/// assert_eq!(trace.to_string(), "invocation 1\n  shop@1/price@1 (shop): gives 12; takes \"cheap\"\n");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Trace {
    entries: Vec<TraceEntry>,
}

/// One event of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TraceEntry {
    /// The number of the invocation within the session, from 1.
    pub invocation: usize,
    /// The author of the event.
    pub author: String,
    /// The run that wrote the event; empty for messages of the user.
    pub path: String,
    /// The branch of the conversation to which the event belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The statements and actions of the event.
    pub does: Vec<String>,
}

impl Trace {
    /// Returns the trace of these events, which must be in the order in which they were stored.
    #[must_use]
    pub fn of(events: &[Arc<Event>]) -> Self {
        let mut names = Names::default();
        Self { entries: events.iter().map(|event| TraceEntry::of(event, &mut names)).collect() }
    }

    /// Loads a session and returns its trace.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], and the errors of [`SessionService::get_session`].
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn of_session(sessions: &dyn SessionService, key: &SessionKey) -> SessionResult<Self> {
        let session = sessions.get_session(key, GetSessionConfig::all()).await?;
        let session = session.ok_or_else(|| SessionError::NotFound(key.clone()))?;
        Ok(Self::of(&session.events))
    }

    /// Replaces a text everywhere. Use it for texts that differ from run to run and are not ids.
    #[must_use]
    pub fn redact(mut self, text: &str, name: &str) -> Self {
        if text.is_empty() {
            return self;
        }
        for entry in &mut self.entries {
            entry.author = entry.author.replace(text, name);
            entry.path = entry.path.replace(text, name);
            entry.branch = entry.branch.take().map(|branch| branch.replace(text, name));
            entry.does.iter_mut().for_each(|does| *does = does.replace(text, name));
        }
        self
    }

    /// Returns the entries, one for each event.
    #[must_use]
    pub fn entries(&self) -> &[TraceEntry] {
        &self.entries
    }
}

/// The text has a line for each event, below a line for each invocation.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut invocation = 0;
        for entry in &self.entries {
            if entry.invocation != invocation {
                invocation = entry.invocation;
                writeln!(f, "invocation {invocation}")?;
            }
            writeln!(f, "  {entry}")?;
        }
        Ok(())
    }
}

impl fmt::Display for TraceEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.author)?
        } else {
            write!(f, "{} ({})", self.path, self.author)?
        }
        if let Some(branch) = &self.branch {
            write!(f, " [{branch}]")?;
        }
        write!(f, ": {}", self.does.join("; "))
    }
}

impl TraceEntry {
    /// Returns the entry of a single event.
    pub(crate) fn of_one(event: &Event) -> Self {
        Self::of(event, &mut Names::default())
    }

    fn of(event: &Event, names: &mut Names) -> Self {
        let questions = event.questions();
        let mut does = Vec::new();
        for mut fact in Fact::of(event) {
            fact.hide_secrets();
            let text = match &fact {
                // The question has its own fact, with the same arguments as the call.
                Fact::Calls { id, name, .. } if is_question_only(&questions, id, name) => continue,
                Fact::Asks { id, .. } => questions.iter().find(|question| question.id == *id).map(asks),
                _ => says(&fact),
            };
            does.extend(text.map(|text| names.replace(&text)));
        }
        if does.is_empty() {
            does.push("nothing".to_owned());
        }
        Self {
            invocation: names.invocation(event.invocation_id().as_str()),
            author: event.author().to_owned(),
            path: names.replace(event.path().as_str()),
            branch: event.branch().map(|branch| names.replace(branch.as_ref())),
            does,
        }
    }
}

fn is_question_only(questions: &[Question], id: &str, name: &str) -> bool {
    let is_tool = |question: &Question| question.kind == QuestionKind::LongRunning;
    name == REQUEST_INPUT || questions.iter().any(|question| question.id == id && !is_tool(question))
}

/// Returns the text of a question without times. Its deadline is shown as the time left when it is asked.
fn asks(question: &Question) -> String {
    let mut text = match question.kind {
        QuestionKind::Timer => "sleeps".to_owned(),
        QuestionKind::UserInput => format!("asks {}", question.id),
        QuestionKind::Confirmation => format!("asks {} to confirm", question.id),
        QuestionKind::Credential => format!("asks {} for a credential", question.id),
        _ => format!("waits for {} ({})", question.function, question.id),
    };
    if !question.message.is_empty() {
        text.push_str(&format!(" {:?}", question.message));
    }
    if let Some(payload) = question.payload.as_ref().filter(|_| question.kind == QuestionKind::UserInput) {
        text.push_str(&format!(" with {payload}"));
    }
    if let Some(assignee) = &question.assignee {
        text.push_str(&format!(" of {assignee}"));
    }
    if let Some(deadline) = question.deadline {
        text.push_str(&format!(" for {:.0} s", deadline - question.asked_at));
    }
    text
}

fn says(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::Says { text } => format!("says {text:?}"),
        Fact::Thinks { text } => format!("thinks {text:?}"),
        Fact::Calls { name, args, .. } => format!("calls {name} {args}"),
        Fact::Answers { id, name, response } if name == REQUEST_INPUT => format!("answers {id} {}", result(response)),
        Fact::Answers { name, response, .. } => format!("answers {name} {}", result(response)),
        Fact::Shows { what, bytes: Some(bytes) } => format!("shows {what} of {bytes} bytes"),
        Fact::Shows { what, bytes: None } => format!("shows {what}"),
        Fact::Gives { output } => format!("gives {output}"),
        Fact::Takes { route } => format!("takes {route}"),
        Fact::Sets { key, value } => format!("sets {key} = {value}"),
        Fact::Saves { file, version } => format!("saves {file} version {version}"),
        Fact::Transfers { agent } => format!("transfers to {agent}"),
        Fact::Escalates => "escalates".to_owned(),
        Fact::Fails { code, message } => format!("fails with {code}: {message}"),
        Fact::Rewinds { .. } => "rewinds".to_owned(),
        Fact::Summarises => "summarises".to_owned(),
        Fact::Ends => "ends".to_owned(),
        Fact::Notes => "notes progress".to_owned(),
        _ => return None,
    })
}

/// Returns the value of an answer that consists of a single value; otherwise the whole answer.
fn result(response: &Value) -> &Value {
    let fields = response.as_object().filter(|fields| fields.len() == 1);
    fields.and_then(|fields| fields.get("result")).unwrap_or(response)
}
