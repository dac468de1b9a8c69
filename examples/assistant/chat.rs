//! A chat: the messages, the agent's tool calls, and its questions.

use std::pin::pin;

use pleach::prelude::*;
use pleach::{Event, FunctionCall, GetSessionConfig, Question, REQUEST_CONFIRMATION, Run, Session, SessionKey};
use serde_json::{Value, json};

use crate::Result;
use crate::args::new_session;
use crate::terminal::{Line, Terminal};

const USER: &str = "user";

/// The number of earlier messages that are shown when a chat continues.
const LAST_MESSAGES: usize = 6;

/// The length to which a tool's arguments and results are cut, in characters.
const WIDEST: usize = 120;

pub(crate) struct Chat {
    runner: Runner,
    pub(crate) terminal: Terminal,
    session: String,
    all_answered: bool,
}

/// The next step after an answer.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Next {
    Message,
    End,
}

impl Chat {
    pub(crate) fn new(runner: Runner, terminal: Terminal, session: String) -> Self {
        Self { runner, terminal, session, all_answered: true }
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    pub(crate) fn start_anew(&mut self) -> Result<()> {
        self.session = new_session();
        self.terminal.line(&format!("Chat {}", self.session))
    }

    /// Sends a message, shows the answer, and asks the user the agent's questions.
    pub(crate) async fn say(&mut self, message: &str) -> Result<Next> {
        let run = self.runner.run(USER, self.session.as_str(), message);
        self.follow(run).await?;
        self.settle_questions().await
    }

    /// Asks the user the agent's questions until none is open.
    pub(crate) async fn settle_questions(&mut self) -> Result<Next> {
        loop {
            let open = match self.runner.questions((USER, self.session.as_str())).await {
                Ok(open) => open,
                Err(RunError::SessionNotFound(_)) => return Ok(Next::Message),
                Err(error) => return Err(error.into()),
            };
            // All questions of one invocation are answered together.
            let Some(first) = open.first() else { return Ok(Next::Message) };
            let asked = open.iter().filter(|question| question.invocation_id == first.invocation_id);
            let mut answers = Vec::new();
            for question in asked {
                let Some(yes) = self.confirm(question)? else {
                    self.terminal.line("The question stays open.")?;
                    return Ok(Next::End);
                };
                answers.push((question, json!({"confirmed": yes})));
            }
            let run = self.runner.answer_all((USER, self.session.as_str()), answers)?;
            if !self.follow(run).await? {
                return Ok(Next::Message);
            }
        }
    }

    /// Asks whether a tool may be called; `None` if the input ends.
    fn confirm(&mut self, question: &Question) -> Result<Option<bool>> {
        let call = question.payload.as_ref().and_then(|payload| payload.get("originalFunctionCall"));
        let (name, args) =
            call.map(|call| (call["name"].as_str().unwrap_or_default(), &call["args"])).unwrap_or_default();
        // The call is never shortened: a person cannot allow what they cannot read.
        self.terminal.line(&format!("  ? {name} {args}"))?;
        loop {
            match self.terminal.ask("  Allow it? [y/n] ")? {
                Line::Text(answer) => match answer.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Ok(Some(true)),
                    "n" | "no" => return Ok(Some(false)),
                    _ => self.terminal.line("  Please answer y or n.")?,
                },
                Line::Interrupted => return Ok(Some(false)),
                Line::End => return Ok(None),
            }
        }
    }

    /// Shows a run as it proceeds. Returns whether it reached its end or a question.
    async fn follow(&mut self, run: Run) -> Result<bool> {
        let mut run = run.streaming();
        let mut refusal = None;
        let mut interrupted = pin!(interrupted(self.terminal.is_interactive()));
        loop {
            let event = tokio::select! {
                event = run.next() => event,
                () = &mut interrupted => {
                    // Dropping the run cancels it, and closes the connection to the model. Stored events stay.
                    drop(run);
                    self.terminal.line("(cancelled)")?;
                    return Ok(false);
                }
            };
            match event {
                Some(Ok(event)) => {
                    self.show(&event)?;
                    refusal = refusal_in(&event);
                }
                Some(Err(error)) => return self.failed(&error.to_string()),
                None => break,
            }
        }
        self.terminal.end_line()?;
        // If an answer was blocked or cut short, the run itself has not failed.
        refusal.map_or(Ok(true), |refusal| self.failed(&refusal))
    }

    fn show(&mut self, event: &RunEvent) -> Result<()> {
        self.terminal.piece(&event.fragment())?;
        for step in steps(event) {
            self.terminal.line(&step)?;
        }
        Ok(())
    }

    /// Shows why there is no answer. The chat continues, because the next message may get an answer.
    fn failed(&mut self, error: &str) -> Result<bool> {
        self.all_answered = false;
        self.terminal.line(&format!("! {error}"))?;
        Ok(false)
    }

    pub(crate) async fn show_history(&mut self) -> Result<()> {
        self.show_messages(usize::MAX).await
    }

    pub(crate) async fn show_last_messages(&mut self) -> Result<()> {
        self.show_messages(LAST_MESSAGES).await
    }

    async fn show_messages(&mut self, count: usize) -> Result<()> {
        let key = SessionKey::new(self.runner.app_name().clone(), USER, self.session.as_str());
        let session = self.runner.sessions().get_session(&key, GetSessionConfig::all()).await?;
        let messages = session.as_ref().map(messages).unwrap_or_default();
        for message in &messages[messages.len().saturating_sub(count)..] {
            self.terminal.line(message)?;
        }
        Ok(())
    }

    /// Closes the database. Returns whether every message got an answer.
    pub(crate) async fn close(self) -> Result<bool> {
        self.runner.close().await?;
        Ok(self.all_answered)
    }
}

/// Waits for Ctrl-C. If no person is typing, waits forever, so that Ctrl-C ends the program.
async fn interrupted(is_interactive: bool) {
    if is_interactive && tokio::signal::ctrl_c().await.is_ok() {
        return;
    }
    std::future::pending().await
}

/// Returns the reason why an answer is missing or incomplete, such as `MAX_TOKENS` or `SAFETY`.
fn refusal_in(event: &Event) -> Option<String> {
    let code = event.error_code().filter(|_| !event.is_partial())?;
    Some(event.error_message().map_or_else(|| code.to_owned(), |message| format!("{code}: {message}")))
}

/// Returns the messages of a session, one per line.
fn messages(session: &Session) -> Vec<String> {
    let said = session.events.iter().filter(|event| !event.text().is_empty());
    said.map(|event| format!("{}{}", if event.is_from_user() { "> " } else { "" }, event.text())).collect()
}

/// Returns the tool calls and results of an event, one per line.
fn steps(event: &Event) -> Vec<String> {
    // Fragments contain only pieces of calls, and a call that waits for confirmation is shown with the question.
    if event.is_partial() || event.is_interrupt() || !event.actions().requested_tool_confirmations().is_empty() {
        return Vec::new();
    }
    let is_own = |call: &&FunctionCall| call.name.as_deref() != Some(REQUEST_CONFIRMATION);
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    let calls = event.function_calls().filter(is_own);
    let calls = calls.map(|call| format!("  * {} {}", name(&call.name), short(&json!(call.args))));
    let results = event.function_responses();
    calls.chain(results.map(|result| format!("  = {}", short(&json!(result.response))))).collect()
}

/// Returns a value as text, cut if it is long.
fn short(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
