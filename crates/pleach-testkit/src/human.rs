//! [`ScriptedHuman`]: answers the open questions of a session from a script.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pleach_core::{Question, QuestionKind, SIGNAL};
use pleach_runner::{RunError, RunRequest, Runner, SessionRef};
use serde::Serialize;
use serde_json::{Value, json};

/// The maximum number of answers, more than any test conversation needs.
const MANY: usize = 10_000;

/// A person that answers from a script: questions, confirmations, and the results of long-running tools.
///
/// The first rule that matches a question provides the answer. A rule with several answers gives them to its questions
/// one after the other, and then repeats the last one. The same question gets the same answer when it is asked again.
/// All clones are the same person. In a [select](pleach_context::Context::select), the first branch with a rule is
/// answered. Branches without a rule are skipped if another branch has one.
///
/// ```
/// use pleach_testkit::ScriptedHuman;
///
/// let human = ScriptedHuman::new()
///     .answers("manager", true) // the id of the question
///     .answers("item-*", 3) // every id that begins so
///     .answers_each("date", ["monday", "tuesday"])
///     .answers_function("ship_parcel", "shipped") // the result of a long-running tool
///     .confirms("pay", true) // a call of the tool `pay`
///     .signals("parcel", "arrived") // a wait for a signal
///     .leaves_open("lawyer");
/// # drop(human);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedHuman {
    rules: Arc<Vec<Rule>>,
    told: Arc<Mutex<AnswersGiven>>,
}

/// Why a [`ScriptedHuman`] stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HumanError {
    /// No rule matches an open question.
    #[error("{}", unanswered(.0))]
    NoAnswer(Box<Question>),
    /// A run failed, or an answer was refused.
    #[error("{0}")]
    Run(RunError),
    /// The session still has questions after very many answers.
    #[error(
        "stopped after {MANY} answers: the session still asks (last question: '{0}'). Look for a loop that never ends"
    )]
    NoEnd(String),
}

#[derive(Clone, Debug)]
struct Rule {
    fits: Fits,
    says: Says,
}

#[derive(Clone, Debug)]
enum Fits {
    /// Question ids. `*` matches any text.
    Id(String),
    Function(String),
    /// The confirmation of a call of this tool, or of a node.
    Confirmation(String),
    /// A wait for the signal with this name.
    Signal(String),
}

#[derive(Clone)]
enum Says {
    Each(Vec<Value>),
    With(Arc<dyn Fn(&Question) -> Value + Send + Sync>),
    Nothing,
}

/// The answers so far.
#[derive(Debug, Default)]
struct AnswersGiven {
    /// The number of times that each rule was used.
    used: BTreeMap<usize, usize>,
    /// The answers by invocation, id, run and select: each select asks separately.
    answers: BTreeMap<[String; 4], Value>,
}

/// A script's decision about a question.
#[derive(Debug)]
enum Reply {
    Answer(Value),
    /// The question stays open on purpose.
    Open,
    NoRule,
}

impl ScriptedHuman {
    /// Creates a person without answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers questions with this id, in which `*` matches any text. Waits for signals are matched only by patterns
    /// that begin with `pleach_signal:`; see [`signals`](Self::signals).
    ///
    /// # Panics
    /// If the answer has no JSON form.
    #[must_use]
    pub fn answers(self, id: impl Into<String>, answer: impl Serialize) -> Self {
        self.rule(Fits::Id(id.into()), Says::Each(vec![json_of(answer)]))
    }

    /// Answers the questions with this id one after the other, and further ones with the last answer.
    ///
    /// # Panics
    /// If there is no answer, or if one has no JSON form.
    #[must_use]
    pub fn answers_each(self, id: impl Into<String>, answers: impl IntoIterator<Item = impl Serialize>) -> Self {
        let answers: Vec<Value> = answers.into_iter().map(json_of).collect();
        assert!(!answers.is_empty(), "`answers_each` needs an answer");
        self.rule(Fits::Id(id.into()), Says::Each(answers))
    }

    /// Answers questions with this id, in which `*` matches any text, with the result of a function.
    #[must_use]
    pub fn answers_with(
        self,
        id: impl Into<String>,
        answer: impl Fn(&Question) -> Value + Send + Sync + 'static,
    ) -> Self {
        self.rule(Fits::Id(id.into()), Says::With(Arc::new(answer)))
    }

    /// Provides the result of a long-running tool.
    ///
    /// # Panics
    /// If the result has no JSON form.
    #[must_use]
    pub fn answers_function(self, function: impl Into<String>, result: impl Serialize) -> Self {
        self.rule(Fits::Function(function.into()), Says::Each(vec![json_of(result)]))
    }

    /// Ends waits for a signal, as [`Runner::signal`] would with this payload while the run waits.
    ///
    /// # Panics
    /// If the payload has no JSON form.
    #[must_use]
    pub fn signals(self, name: impl Into<String>, payload: impl Serialize) -> Self {
        self.rule(Fits::Signal(name.into()), Says::Each(vec![json_of(payload)]))
    }

    /// Allows or refuses calls of a tool that ask for confirmation. A confirmation that names no tool is matched by the
    /// name of its node.
    #[must_use]
    pub fn confirms(self, name: impl Into<String>, allowed: bool) -> Self {
        self.rule(Fits::Confirmation(name.into()), Says::Each(vec![json!({"confirmed": allowed})]))
    }

    /// Leaves questions with this id open, until their deadline or forever. Waits for signals are matched as in
    /// [`answers`](Self::answers).
    #[must_use]
    pub fn leaves_open(self, id: impl Into<String>) -> Self {
        self.rule(Fits::Id(id.into()), Says::Nothing)
    }

    fn rule(mut self, fits: Fits, says: Says) -> Self {
        Arc::make_mut(&mut self.rules).push(Rule { fits, says });
        self
    }

    /// Answers the questions of a session one after the other, and reads each run to its end, until only questions are
    /// open that the script leaves open. Sleeps are not questions to a person. Returns the questions that stay open,
    /// including sleeps.
    ///
    /// # Errors
    /// [`HumanError::NoAnswer`] with the question that no rule matches; earlier answers are stored. [`HumanError::Run`]
    /// if a run fails.
    ///
    /// # Cancel safety
    /// Dropping the future drops the run of the last answer.
    pub async fn answer_all(
        &self,
        runner: &Runner,
        session: impl Into<SessionRef>,
    ) -> Result<Vec<Question>, HumanError> {
        let session = session.into();
        let mut last = String::new();
        for _ in 0..MANY {
            let open = runner.questions(session.clone()).await.map_err(HumanError::Run)?;
            let unanswered = |question: &Question| HumanError::NoAnswer(Box::new(question.clone()));
            let Some((question, value)) = self.first_answer(&open).map_err(unanswered)? else { return Ok(open) };
            last.clone_from(&question.id);
            let run = runner.answer(session.clone(), question, value).map_err(HumanError::Run)?;
            finish(run).await.map_err(HumanError::Run)?;
        }
        Err(HumanError::NoEnd(last))
    }

    /// Sends a message, and answers questions until the session waits for no further answer: [`Runner::start`] followed
    /// by [`answer_all`](Self::answer_all).
    ///
    /// # Errors
    /// The errors of [`answer_all`](Self::answer_all).
    ///
    /// # Cancel safety
    /// Dropping the future drops the run.
    pub async fn converse(&self, runner: &Runner, request: RunRequest) -> Result<Vec<Question>, HumanError> {
        let session = request.session.clone();
        finish(runner.start(request)).await.map_err(HumanError::Run)?;
        self.answer_all(runner, session).await
    }

    /// Returns a person with the same script and no answers so far.
    pub(crate) fn anew(&self) -> Self {
        Self { rules: Arc::clone(&self.rules), told: Arc::default() }
    }

    /// Returns the first question that the script answers, with its answer.
    ///
    /// # Errors
    /// An earlier question that no rule matches, unless a rule matches another branch of its select.
    pub(crate) fn first_answer<'q>(&self, open: &'q [Question]) -> Result<Option<(&'q Question, Value)>, &'q Question> {
        for question in open {
            let is_branch = |other: &&Question| {
                let run = |question: &Question| (question.invocation_id.clone(), question.node_path.clone());
                question.select.is_some() && other.select == question.select && run(other) == run(question)
            };
            match self.reply(question) {
                Reply::Answer(value) => return Ok(Some((question, value))),
                Reply::NoRule if !open.iter().filter(is_branch).any(|other| self.rule_for(other).is_some()) => {
                    return Err(question);
                }
                Reply::NoRule | Reply::Open => {}
            }
        }
        Ok(None)
    }

    fn rule_for(&self, question: &Question) -> Option<(usize, &Rule)> {
        let is_timer = question.kind == QuestionKind::Timer;
        self.rules.iter().enumerate().find(|(_, rule)| !is_timer && rule.fits.question(question))
    }

    fn reply(&self, question: &Question) -> Reply {
        if question.kind == QuestionKind::Timer {
            return Reply::Open;
        }
        let Some((place, rule)) = self.rule_for(question) else { return Reply::NoRule };
        let select = question.select.clone().unwrap_or_default();
        let asked = [question.invocation_id.to_string(), question.id.clone(), question.node_path.to_string(), select];
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(said) = told.answers.get(&asked) {
            return Reply::Answer(said.clone());
        }
        let answer = match &rule.says {
            Says::Nothing => return Reply::Open,
            Says::With(answer) => answer(question),
            Says::Each(answers) => {
                let used = told.used.entry(place).or_default();
                *used += 1;
                answers[(*used - 1).min(answers.len() - 1)].clone()
            }
        };
        told.answers.insert(asked, answer.clone());
        Reply::Answer(answer)
    }
}

impl Fits {
    fn question(&self, question: &Question) -> bool {
        match self {
            // A person does not send signals: a pattern that matches everything must not end the wait for a signal.
            Self::Id(pattern) if question.kind == QuestionKind::Signal => {
                pattern.starts_with(SIGNAL) && fits(pattern, &question.id)
            }
            Self::Id(pattern) => fits(pattern, &question.id),
            Self::Signal(name) => question.kind == QuestionKind::Signal && question.message == *name,
            Self::Function(function) => question.function == *function,
            Self::Confirmation(name) => {
                question.kind == QuestionKind::Confirmation
                    && called(question).unwrap_or_else(|| question.node_path.name()) == name
            }
        }
    }
}

impl fmt::Debug for Says {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(answers) => f.debug_tuple("Each").field(answers).finish(),
            Self::With(_) => f.write_str("With(…)"),
            Self::Nothing => f.write_str("Nothing"),
        }
    }
}

/// Returns the tool whose call is to be confirmed.
fn called(question: &Question) -> Option<&str> {
    let payload = question.payload.as_ref()?;
    let call = payload.get("originalFunctionCall").unwrap_or(payload);
    ["name", "tool", "tool_name"].iter().find_map(|field| call.get(field)?.as_str())
}

/// Returns true if a text matches a pattern, in which `*` matches any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| fits(rest, &text[at..]))
}

/// Reads a run to its end. Its questions are not errors.
async fn finish(mut run: pleach_runner::Run) -> Result<(), RunError> {
    while let Some(event) = run.next().await {
        event?;
    }
    Ok(())
}

fn json_of(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("an answer of a script has a JSON form")
}

pub(crate) fn unanswered(question: &Question) -> String {
    let Question { id, function, message, node_path, .. } = question;
    let kind = match question.kind {
        QuestionKind::LongRunning => {
            return format!(
                "the script has no result for the long-running tool '{function}' (call '{id}' of {node_path}): add `.answers_function(\"{function}\", …)`"
            );
        }
        QuestionKind::Signal => {
            return format!(
                "the script does not send the signal '{message}' that {node_path} waits for: add `.signals(\"{message}\", …)`, or `.leaves_open(\"{id}\")`"
            );
        }
        QuestionKind::Confirmation => {
            let name = called(question).unwrap_or_else(|| node_path.name());
            return format!(
                "the script has no answer to the confirmation '{id}' of {node_path} (\"{message}\"): add `.confirms(\"{name}\", …)`, or `.leaves_open(\"{id}\")`"
            );
        }
        QuestionKind::Credential => "credential",
        _ => "question",
    };
    format!(
        "the script has no answer to the {kind} '{id}' of {node_path} (\"{message}\"): add `.answers(\"{id}\", …)`, or `.leaves_open(\"{id}\")`"
    )
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("a*", "a", true),
            ("*b", "ab", true),
            ("*b", "abc", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("*", "", true),
            ("ä*", "äö", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
