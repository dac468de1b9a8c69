//! The output: lines on standard output and, on a terminal, a progress bar below them.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::Args;
use crate::desk::{Case, Outcome};
use crate::fault::Fault;
use crate::flow::{Approval, Reply};
use crate::tickets::Ticket;

/// Standard output.
#[derive(Debug)]
pub(crate) struct Screen {
    /// The progress bar. It is hidden until there is something to count, and if standard output is not a terminal.
    bar: ProgressBar,
    /// Whether steps are written as lines. On a terminal they are not, because the bar shows them.
    lines: bool,
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self { bar: ProgressBar::hidden(), lines: !io::stdout().is_terminal() }
    }

    /// Writes one line, above the bar if there is one.
    pub(crate) fn line(&self, text: &str) -> Result<(), Fault> {
        Ok(self.bar.suspend(|| writeln!(io::stdout(), "{text}"))?)
    }

    /// Starts counting tickets.
    pub(crate) fn start(&mut self, tickets: usize) {
        if !self.lines {
            self.bar = ProgressBar::with_draw_target(Some(tickets as u64), ProgressDrawTarget::stdout());
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
            self.bar.set_style(style.expect("the template is a constant that is tested by every run"));
        }
    }

    /// Counts one finished ticket.
    pub(crate) fn next(&self) {
        self.bar.inc(1);
    }

    /// Removes the bar.
    pub(crate) fn finish(&mut self) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
    }

    /// Shows the current ticket. Its text is written with `{:?}`, because it may contain any characters, even those
    /// that move the cursor.
    pub(crate) fn ticket(&self, ticket: &Ticket) -> Result<(), Fault> {
        self.bar.set_message(ticket.id.clone());
        self.line(&format!("{}  {}: {:?}", ticket.id, ticket.user, ticket.text))
    }

    /// Shows the current step.
    pub(crate) fn step(&self, text: &str) -> Result<(), Fault> {
        self.bar.set_message(text.to_owned());
        if self.lines { self.line(&format!("    {text}")) } else { Ok(()) }
    }

    /// Shows the outcome of a ticket.
    pub(crate) fn outcome(&self, outcome: &Outcome) -> Result<(), Fault> {
        match outcome {
            Outcome::Closed(reply) => self.reply(reply, ""),
            Outcome::Waiting(case) => self.line(&format!(" ?  {}", case.question.message)),
        }
    }

    /// Shows the reply to the customer.
    pub(crate) fn reply(&self, reply: &Reply, note: &str) -> Result<(), Fault> {
        self.line(&format!(" => {}{note}", reply.text))
    }

    /// Asks the person at the terminal; `None` if the input ends.
    pub(crate) fn ask(&self, case: &Case) -> Result<Option<Approval>, Fault> {
        self.line(&format!("\n{}  {:?}", case.session.session_id, case.ticket_text()))?;
        loop {
            write!(io::stdout(), "    {} [y/n] ", case.question.message)?;
            io::stdout().flush()?;
            let mut word = String::new();
            // Nothing else is running in this program, so the thread may block here.
            if io::stdin().lock().read_line(&mut word)? == 0 {
                self.line("")?;
                return Ok(None);
            }
            match word.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(Some(Approval { yes: true })),
                "n" | "no" => return Ok(Some(Approval { yes: false })),
                _ => {}
            }
        }
    }

    /// Shows what was done and what can be done next.
    pub(crate) fn summary(&self, args: &Args, closed: usize, open: &[Case]) -> Result<(), Fault> {
        match open.len() {
            0 => self.line(&format!("\n{closed} closed."))?,
            waiting => self.line(&format!("\n{closed} closed, {waiting} waiting for a person:"))?,
        }
        for Case { question, .. } in open {
            self.line(&format!("\n  {}: {}", question.id, question.message))?;
            self.line(&format!("    {}", args.command(&format!("--answer {} yes", question.id))))?;
        }
        self.line(&format!("\nSee every stored step: {}", args.command("--trace")))
    }
}
