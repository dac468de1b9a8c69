//! The workflow of a ticket.
//!
//! ```text
//! START ─ classify ┬ refund, delivery: order, customer ─ facts ─ decide ┬ pay: pay ───────────┬ close
//!                  │                                                    ├ ask: approve ─ settle ┤  (pay or reply)
//!                  │                                                    └ reply ────────────────┤
//!                  ├ account: reset ────────────────────────────────────────────────────────────┤
//!                  └ anything else: forward ────────────────────────────────────────────────────┘
//! ```

use pleach::Route;
use pleach::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shop::{Customer, Order, Shop};
use crate::tickets::Ticket;

/// The largest amount, in cents, of a regular customer's first refund that is paid without asking.
const SMALL: u32 = 2000;

// The state keys of the desk. The prefix of a key sets its scope: keys with `user:` are shared by all sessions of the
// user, keys with `app:` by all sessions, and keys without a prefix belong to this session, that is, to this ticket.
const TICKET: Key<Ticket> = Key::new("ticket");
const KIND: Key<Kind> = Key::new("kind");
const DRAFT: Key<Reply> = Key::new("draft");
const USER_TICKETS: Key<u32> = Key::new("user:tickets");
const USER_REFUNDS: Key<u32> = Key::new("user:refunds");
const APP_CLOSED: Key<u32> = Key::new("app:closed");
const APP_REFUNDED: Key<u32> = Key::new("app:refunded_cents");
/// The state key of the reply. The reply is stored with the last event of a ticket.
pub(crate) const REPLY: Key<Reply> = Key::new("reply");

/// The subject of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Refund,
    Delivery,
    Account,
    Other,
}

/// The reply to the customer, and the amount that is paid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) cents: u32,
}

/// A person's decision about a refund.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Approval {
    pub(crate) yes: bool,
}

/// The result of looking up an order. It is not an `Option`, because a node whose result is null has no output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Lookup {
    Found(Order),
    Unknown,
}

/// The results of both lookups. The fields have the names of the joined nodes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Facts {
    order: Lookup,
    customer: Customer,
}

/// The state that `decide` and `approve` read. The fields have the names of the state keys.
#[derive(Deserialize)]
struct Known {
    ticket: Ticket,
    kind: Kind,
    #[serde(rename = "user:refunds")]
    refunds: Option<u32>,
}

/// The state that `settle` reads.
#[derive(Deserialize)]
struct Drafted {
    draft: Reply,
}

/// Builds the workflow from its nodes. An edge between types that do not fit does not compile.
pub(crate) fn flow() -> Result<Workflow<Ticket, Reply>, BuildError> {
    let mut wf = Workflow::builder("desk").input::<Ticket>();
    let classify = wf.node("classify", classify);
    let (order, customer) = (wf.node("order", order), wf.node("customer", customer));
    let facts = wf.join_as::<Facts>("facts", (order, customer));
    let decide = wf.node("decide", decide);
    let (approve, settle) = (wf.node("approve", approve), wf.node("settle", settle));
    let pay = wf.node("pay", pay);
    let (reset, forward) = (wf.node("reset", reset), wf.node("forward", forward));
    let close = wf.node("close", close);

    wf.edge(START, classify)
        .route(classify, Kind::Refund, (order, customer))
        .route(classify, Kind::Delivery, (order, customer))
        .route(classify, Kind::Account, reset)
        .route(classify, DEFAULT, forward)
        .edge(facts, decide)
        .route(decide, "pay", pay)
        .route(decide, "ask", approve)
        .route(decide, "reply", close)
        .edge(approve, settle)
        .route(settle, "pay", pay)
        .route(settle, "reply", close)
        .edge(pay, close)
        .edge(reset, close)
        .edge(forward, close);
    wf.build_to(close)
}

async fn classify(ctx: Context, Input(ticket): Input<Ticket>) -> Result<Output<Ticket>> {
    let kind = Kind::of(&ticket);
    TICKET.set(&ctx, &ticket)?;
    KIND.set(&ctx, &kind)?;
    Ok(Output::of(ticket).route(kind))
}

// The two lookups run at the same time. Their messages are stored, and are shown while they work.

async fn order(ctx: Context, Input(ticket): Input<Ticket>, shop: Shared<Shop>) -> Result<Lookup> {
    let Some(number) = ticket.order else { return Ok(Lookup::Unknown) };
    ctx.emit(Event::message(format!("looking up order {number}"))).await?;
    Ok(shop.order(number).cloned().map_or(Lookup::Unknown, Lookup::Found))
}

async fn customer(ctx: Context, Input(ticket): Input<Ticket>, shop: Shared<Shop>) -> Result<Customer> {
    ctx.emit(Event::message(format!("looking up customer {}", ticket.user))).await?;
    Ok(shop.customer(&ticket.user))
}

async fn decide(ctx: Context, Input(facts): Input<Facts>, FromState(known): FromState<Known>) -> Result<Output<Reply>> {
    let order = match facts.order {
        Lookup::Found(order) if order.user == known.ticket.user => order,
        _ => return Ok(reply("We find no such order of yours. Which number stands on the bill?")),
    };
    if known.kind == Kind::Delivery {
        return Ok(reply(format!("Your {} {}.", order.item, order.delivery)));
    }
    let text = format!("We are sorry about the {} and pay {} back.", order.item, money(order.cents));
    let draft = Reply { text, cents: order.cents };
    DRAFT.set(&ctx, &draft)?;
    let (first, regular) = (known.refunds.unwrap_or_default() == 0, facts.customer.orders > 1);
    let harmless = draft.cents <= SMALL && first && regular;
    Ok(Output::of(draft).route(if harmless { "pay" } else { "ask" }))
}

/// Asks a person. The result of this node is a question, so the run pauses here. When the run resumes, the answer is
/// this node's output.
async fn approve(Input(draft): Input<Reply>, FromState(known): FromState<Known>) -> RequestInput<Approval> {
    let Known { ticket, refunds, .. } = known;
    let before = match refunds.unwrap_or_default() {
        0 => "no refund so far".to_owned(),
        n => format!("refunds so far: {n}"),
    };
    let question = format!("Refund {} to {} ({before})?", money(draft.cents), ticket.user);
    // `--answer` names this id, so it contains the ticket.
    RequestInput::ask(format!("refund-{}", ticket.id), question).with_payload(ticket.text)
}

async fn settle(Input(approval): Input<Approval>, FromState(state): FromState<Drafted>) -> Output<Reply> {
    if approval.yes {
        Output::of(state.draft).route("pay")
    } else {
        reply("We have looked at it closely and cannot pay this back.")
    }
}

async fn pay(ctx: Context, Input(reply): Input<Reply>) -> Result<Reply> {
    ctx.emit(Event::message(format!("paying {}", money(reply.cents)))).await?;
    USER_REFUNDS.add(&ctx, 1)?;
    APP_REFUNDED.add(&ctx, reply.cents)?;
    Ok(reply)
}

async fn reset(Input(ticket): Input<Ticket>) -> Reply {
    Reply { text: format!("{}, a link for a new password is on its way to you.", ticket.user), cents: 0 }
}

async fn forward() -> Reply {
    Reply { text: "A colleague will write to you today.".to_owned(), cents: 0 }
}

/// Closes a ticket; all routes end here. The output and the state changes are in one event, so closing and counting a
/// ticket are one commit. Other tickets may be closed at the same time, so the counters are incremented in the store.
async fn close(ctx: Context, Input(reply): Input<Reply>) -> Result<Reply> {
    USER_TICKETS.add(&ctx, 1)?;
    APP_CLOSED.add(&ctx, 1)?;
    REPLY.set(&ctx, &reply)?;
    Ok(reply)
}

fn reply(text: impl Into<String>) -> Output<Reply> {
    Output::of(Reply { text: text.into(), cents: 0 }).route("reply")
}

fn money(cents: u32) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

impl Kind {
    /// Classifies a ticket by words in its text. A model would do this better, and the rest of the workflow would not
    /// change.
    fn of(ticket: &Ticket) -> Self {
        let text = ticket.text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&["refund", "money back"]) {
            Self::Refund
        } else if has(&["parcel", "deliver", "arrive"]) {
            Self::Delivery
        } else if has(&["log in", "login", "password"]) {
            Self::Account
        } else {
            Self::Other
        }
    }
}

/// The kind of a ticket is also its route.
impl From<Kind> for Route {
    fn from(kind: Kind) -> Self {
        Self::from(match kind {
            Kind::Refund => "refund",
            Kind::Delivery => "delivery",
            Kind::Account => "account",
            Kind::Other => "other",
        })
    }
}
