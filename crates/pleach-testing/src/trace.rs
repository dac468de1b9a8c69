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

/// The events of a session as text that equal runs make equal: ids become counted names, times are left out, secrets of
/// credentials are hidden. A question with a deadline shows what was left when it was asked, which differs where a deadline is a fixed time and
/// the Runner has the machine's clock: give it a [`TestClock`](crate::TestClock). For `insta::assert_snapshot!(trace)`, or `assert_yaml_snapshot!`.
///
/// ```
/// use std::sync::Arc;
///
/// use pleach_core::Event;
/// use pleach_testing::Trace;
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
    /// The place of its invocation among those of the session, from 1.
    pub invocation: usize,
    /// Its author.
    pub author: String,
    /// The run that wrote it; empty for messages of the user.
    pub path: String,
    /// The branch of the conversation that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What it says and does.
    pub does: Vec<String>,
}

impl Trace {
    /// Reads events, in the order of their storage.
    #[must_use]
    pub fn of(events: &[Arc<Event>]) -> Self {
        let mut names = Names::default();
        Self { entries: events.iter().map(|event| TraceEntry::of(event, &mut names)).collect() }
    }

    /// Reads the events of a session.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], and those of [`SessionService::get_session`].
    ///
    /// # Cancel safety
    /// The call only reads.
    pub async fn of_session(sessions: &dyn SessionService, key: &SessionKey) -> SessionResult<Self> {
        let session = sessions.get_session(key, GetSessionConfig::all()).await?;
        let session = session.ok_or_else(|| SessionError::NotFound(key.clone()))?;
        Ok(Self::of(&session.events))
    }

    /// Replaces a text everywhere: what differs from run to run and is no id.
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

    /// Returns the events.
    #[must_use]
    pub fn entries(&self) -> &[TraceEntry] {
        &self.entries
    }
}

/// A line for each event, below a line for each invocation.
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
        match self.path.is_empty() {
            true => f.write_str(&self.author)?,
            false => write!(f, "{} ({})", self.path, self.author)?,
        }
        if let Some(branch) = &self.branch {
            write!(f, " [{branch}]")?;
        }
        write!(f, ": {}", self.does.join("; "))
    }
}

impl TraceEntry {
    /// Reads an event by itself.
    pub(crate) fn of_one(event: &Event) -> Self {
        Self::of(event, &mut Names::default())
    }

    fn of(event: &Event, names: &mut Names) -> Self {
        let questions = event.questions();
        let mut does = Vec::new();
        for mut fact in Fact::of(event) {
            fact.hide_secrets();
            let text = match &fact {
                // Its arguments are those of the question, which is a fact of its own.
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

/// A question, without its times: the deadline is what is left when it is asked.
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

/// The value of an answer that has nothing else.
fn result(response: &Value) -> &Value {
    let fields = response.as_object().filter(|fields| fields.len() == 1);
    fields.and_then(|fields| fields.get("result")).unwrap_or(response)
}
