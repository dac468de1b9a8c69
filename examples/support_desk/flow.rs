//! The workflow: what happens to a ticket, node by node.
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

/// Up to this amount, a regular customer's first refund is paid without asking.
const SMALL: u32 = 2000;

// The state of the desk. A key's prefix sets its scope: `user:` is for all sessions of the user, `app:` for all
// sessions, and no prefix is for this session, that is, this ticket.
const TICKET: Key<Ticket> = Key::new("ticket");
const KIND: Key<Kind> = Key::new("kind");
const DRAFT: Key<Reply> = Key::new("draft");
const USER_TICKETS: Key<u32> = Key::new("user:tickets");
const USER_REFUNDS: Key<u32> = Key::new("user:refunds");
const APP_CLOSED: Key<u32> = Key::new("app:closed");
const APP_REFUNDED: Key<u32> = Key::new("app:refunded_cents");
/// The reply, stored with the last event of a ticket, which is then done.
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

/// The reply to the customer, and what is paid.
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

/// The result of looking up an order. Not an `Option`: a node whose result is null has no output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Lookup {
    Found(Order),
    Unknown,
}

/// The results of both lookups; the fields are named as the joined nodes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Facts {
    order: Lookup,
    customer: Customer,
}

/// State that `decide` and `approve` read; the fields are named as the keys.
#[derive(Deserialize)]
struct Known {
    ticket: Ticket,
    kind: Kind,
    #[serde(rename = "user:refunds")]
    refunds: Option<u32>,
}

/// State that `settle` reads.
#[derive(Deserialize)]
struct Drafted {
    draft: Reply,
}

/// Puts the nodes together. An edge between types that do not fit does not compile.
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

// The two lookups run at the same time. Their messages are shown while they work, and stored.

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

/// The question is the result: the run ends here, and the answer is this node's output when the run resumes.
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

/// All routes end here. Output and state are in one event, so a ticket is closed and counted in one commit. Other
/// tickets may be closed at the same time, so the counters are incremented in the store.
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
    /// Looks for words. A model would do this better, and the rest of the workflow would not change.
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

/// The kind is the route that a ticket takes.
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
