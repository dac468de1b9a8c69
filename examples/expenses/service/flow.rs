//! The workflow of an expense.
//!
//! ```text
//! START ─ check ┬ small ─────────────────────── pay
//!               └ large: approve ─ decide ┬ approved: pay
//!                                         └ rejected: reject
//! ```

use std::time::Duration;

use pleach::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::bank::{Bank, BankError};
use super::expense::{Decision, OUTCOME, Outcome, REPORT, Report};

/// The id of the question, and the role that it is assigned to.
const APPROVAL: &str = "approval";
const MANAGERS: &str = "managers";

/// The company's rules for expenses.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The largest amount that needs no approval.
    pub(crate) free_cents: u32,
    /// How long a manager may take to answer. After that the expense is rejected.
    pub(crate) answer_within: Duration,
    /// The number of attempts for a payment.
    pub(crate) attempts: u32,
}

/// The routes of `check`.
#[derive(Routes)]
enum Size {
    Small,
    Large,
}

/// The routes of `decide`.
#[derive(Routes)]
enum Verdict {
    Approved,
    Rejected,
}

/// The state that `pay` reads. The name of the field is the state key.
#[derive(Deserialize)]
struct Filed {
    report: Report,
}

/// Builds the workflow from its nodes. An edge between types that do not fit does not compile.
pub(crate) fn workflow() -> Result<Workflow<Report>, BuildError> {
    let mut wf = Workflow::builder("expense").input::<Report>();
    let (check, approve) = (wf.node("check", check), wf.node("approve", approve));
    let (decide, reject) = (wf.node("decide", decide), wf.node("reject", reject));
    // A node with steps must run again on a resume, and reuses the stored results of its steps.
    let pay = wf.add(FunctionNode::new("pay", pay).rerun_on_resume(true));
    wf.edge(START, check)
        .route(check, Size::Small, pay)
        .route(check, Size::Large, approve)
        .edge(approve, decide)
        .route(decide, Verdict::Approved, pay)
        .route(decide, Verdict::Rejected, reject);
    wf.build()
}

async fn check(
    ctx: Context,
    Shared(policy): Shared<Policy>,
    Input(report): Input<Report>,
) -> Result<Output<Report, Size>> {
    REPORT.set(&ctx, &report)?;
    let size = if report.cents <= policy.free_cents { Size::Small } else { Size::Large };
    Ok(Output::of(report).route(size))
}

/// Asks the managers. The node's output is their answer, or the default if no one answers.
async fn approve(ctx: Context, Shared(policy): Shared<Policy>, Input(report): Input<Report>) -> RequestInput<Decision> {
    let (employee, euros) = (ctx.user_id(), f64::from(report.cents) / 100.0);
    let unanswered = json!({"approved": false, "note": "no manager has answered in time"});
    RequestInput::ask(APPROVAL, format!("Pay {euros:.2} to {employee} for {}?", report.purpose))
        .assign_to(MANAGERS)
        .with_payload(json!({"employee": employee, "report": report}))
        .with_deadline(ctx.now() + policy.answer_within)
        .with_default(unanswered)
}

async fn decide(Input(decision): Input<Decision>) -> Output<Decision, Verdict> {
    let verdict = if decision.approved { Verdict::Approved } else { Verdict::Rejected };
    Output::of(decision).route(verdict)
}

/// Pays once, even after failures and restarts: a step with a stored result does not run again, and a repeated call of
/// the bank has the same key.
async fn pay(
    ctx: Context,
    Shared(bank): Shared<Bank>,
    Shared(policy): Shared<Policy>,
    FromState(Filed { report }): FromState<Filed>,
) -> Result<Outcome> {
    let step = Step::new("transfer").retry(RetryConfig::attempts(policy.attempts).on::<BankError>());
    let transfer = async || Ok(bank.pay(ctx.user_id(), report.cents, &ctx.idempotency_key()).await?);
    let outcome = Outcome::Paid { receipt: ctx.step(step, transfer).await? };
    OUTCOME.set(&ctx, &outcome)?;
    Ok(outcome)
}

async fn reject(ctx: Context, Input(Decision { by, note, .. }): Input<Decision>) -> Result<Outcome> {
    let outcome = Outcome::Rejected { by, note };
    OUTCOME.set(&ctx, &outcome)?;
    Ok(outcome)
}
