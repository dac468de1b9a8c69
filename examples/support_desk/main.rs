//! A support desk: `cargo run --example support_desk`.
//!
//! The desk classifies tickets, looks up orders and customers, pays small refunds, and asks a person about the others.
//! Every step is an event in an SQLite file. So the program may be stopped at any point, even with `kill -9`, and
//! continues where it stopped.
//!
//! Read [`flow`] first: it has the workflow. The other modules are the program around it.

mod args;
mod desk;
mod fault;
mod flow;
mod screen;
mod shop;
mod tickets;
mod trace;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use args::{Action, Args, Source};
use desk::{Case, Desk, Outcome, Standing};
use fault::Fault;
use flow::Approval;
use screen::Screen;
use tickets::Ticket;

// One thread is enough: the nodes of a workflow take turns in the task that runs it.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) if fault.is_closed_pipe() => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("support_desk: {}", fault.with_causes());
            ExitCode::from(fault.status())
        }
    }
}

async fn run() -> Result<(), Fault> {
    let args = Args::parse(std::env::args_os().skip(1))?;
    let mut screen = Screen::new();
    match &args.action {
        Action::Help => screen.line(args::HELP),
        Action::Work(source) => work(&args, source, &mut screen).await,
        Action::Answer(question, approval) => answer(&args, question, *approval, &mut screen).await,
        Action::Trace => {
            let desk = Desk::open_existing(&args).await?;
            let sessions = desk.sessions().await?;
            desk.close().await?;
            screen.line(trace::of(&sessions).trim_end())
        }
    }
}

/// Works on all tickets, and then asks all open questions.
async fn work(args: &Args, source: &Source, screen: &mut Screen) -> Result<(), Fault> {
    // All tickets are checked before the first one is stored.
    let tickets = tickets::read(source)?;
    let desk = Desk::open(args).await?;
    desk.check_owners(&tickets).await?;
    let noun = if tickets.len() == 1 { "ticket" } else { "tickets" };
    screen.line(&format!("{} {noun}, kept in {}\n", tickets.len(), args.db.display()))?;
    screen.start(tickets.len());
    let mut open = Vec::new();
    for ticket in &tickets {
        screen.ticket(ticket)?;
        if let Outcome::Waiting(case) = work_on(&desk, ticket, screen).await? {
            open.push(case);
        }
        screen.next();
    }
    screen.finish();
    if *source != Source::Stdin && io::stdin().is_terminal() && io::stdout().is_terminal() {
        open = ask(&desk, open, screen).await?;
    }
    screen.summary(args, tickets.len() - open.len(), &open)?;
    desk.close().await
}

/// Does the remaining work for one ticket, and shows the outcome.
async fn work_on(desk: &Desk, ticket: &Ticket, screen: &mut Screen) -> Result<Outcome, Fault> {
    let outcome = match desk.standing(ticket).await? {
        Standing::Ended(Outcome::Closed(reply)) => {
            screen.reply(&reply, " (closed before)")?;
            return Ok(Outcome::Closed(reply));
        }
        Standing::Ended(waiting) => waiting,
        Standing::New => desk.begin(ticket, screen).await?,
        Standing::CutOff(invocation) => {
            screen.step("continuing where the last run stopped")?;
            desk.resume(ticket, &invocation, screen).await?
        }
    };
    screen.outcome(&outcome)?;
    Ok(outcome)
}

/// Asks the person at the terminal, and returns the questions that stay open.
async fn ask(desk: &Desk, open: Vec<Case>, screen: &mut Screen) -> Result<Vec<Case>, Fault> {
    let mut left = Vec::new();
    for case in open {
        let Some(approval) = screen.ask(&case)? else {
            left.push(case);
            continue;
        };
        // Another process may have answered while this one waited at the prompt.
        match desk.open_question(&case.question.id).await {
            Ok(case) => {
                let outcome = desk.answer(&case, approval, screen).await?;
                screen.outcome(&outcome)?;
            }
            Err(Fault::NotOpen { .. }) => screen.line("    This question was answered elsewhere in the meantime.")?,
            Err(fault) => return Err(fault),
        }
    }
    Ok(left)
}

/// Answers a question of an earlier run.
async fn answer(args: &Args, question: &str, approval: Approval, screen: &mut Screen) -> Result<(), Fault> {
    let desk = Desk::open_existing(args).await?;
    let case = desk.open_question(question).await?;
    screen.line(&format!("{}  {}", case.session.session_id, case.question.message))?;
    let outcome = desk.answer(&case, approval, screen).await?;
    screen.outcome(&outcome)?;
    desk.close().await
}
