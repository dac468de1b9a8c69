//! Workflows that the resume property must reject, and workflows that it must accept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pleach::prelude::*;
use pleach::testkit::{Effects, ResumeFailure, ResumeFault, ResumeProperty, ScriptedHuman};
use pleach::{NodeError, connect};
use serde_json::json;

use crate::support::{alone, order};

/// The number of the run that a body belongs to. The property makes two whole runs, 0 and 1, and cuts all others off.
fn number(ctx: &Context) -> usize {
    let app = &ctx.invocation().session_key().app_name;
    app.as_str().rsplit('-').next().unwrap().parse().unwrap()
}

async fn fails(property: ResumeProperty) -> ResumeFailure {
    property.check().await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_not_empty_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("s.db").display());
    let human = ScriptedHuman::new().answers("ship", true);
    let check = || {
        let url = url.clone();
        let property = ResumeProperty::new(order(&Effects::new())).input("1200").human(&human);
        property.sessions(move || {
            let url = url.clone();
            async move { connect(&url).await }
        })
    };
    assert!(!check().check().await.unwrap().crashes.is_empty());
    let failure = fails(check()).await;
    assert!(matches!(&failure.fault, ResumeFault::Setup(_)), "{failure}");
    assert!(failure.to_string().contains("not empty"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_crash_that_is_never_reached_is_reported() {
    let property = ResumeProperty::new(alone(async |ctx: Context, _: String| {
        // Runs that are cut off write less.
        if number(&ctx) < 2 {
            ctx.emit(Event::message("noted")).await?;
        }
        Ok("done")
    }));
    let failure = fails(property.input("1")).await;
    let ResumeFault::NotReproducible(differences) = &failure.fault else { panic!("{failure}") };
    assert!(differences[0].place.starts_with("write "), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn whole_runs_that_write_different_events_are_not_reproducible() {
    let property = ResumeProperty::new(alone(async |ctx: Context, _: String| {
        if number(&ctx) == 1 {
            ctx.emit(Event::message("only here")).await?;
        }
        Ok("done")
    }));
    let failure = fails(property.input("1")).await;
    assert!(matches!(&failure.fault, ResumeFault::NotReproducible(_)) && failure.crash.is_none(), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn an_app_with_a_heartbeat_survives_every_crash() {
    let human = ScriptedHuman::new().answers("ship", true);
    let property = ResumeProperty::app(|name| {
        Runner::builder(name).root(order(&Effects::new())).heartbeat(Duration::from_secs(20))
    });
    let report = property.input("1200").human(&human).check().await.unwrap();
    assert!(report.crashes.len() > 10);
}

#[tokio::test(start_paused = true)]
async fn a_workflow_that_has_changed_is_named() {
    let begun = Arc::new(Mutex::new(BTreeSet::new()));
    let property = ResumeProperty::app(move |name| {
        let (app, begun) = (name.to_string(), Arc::clone(&begun));
        let mut wf = Workflow::builder(if begun.lock().unwrap().contains(&app) { "new" } else { "old" });
        let first = wf.node("first", async || 1);
        let second = wf.node("second", move || {
            begun.lock().unwrap().insert(app.clone());
            async { 2 }
        });
        wf.edge(START, first).edge(first, second);
        Runner::builder(name).root(wf.build().unwrap())
    });
    let failure = fails(property.input("1")).await;
    assert!(matches!(&failure.fault, ResumeFault::Changed { .. }), "{failure}");
}

/// A workflow that charges in a step, with this key and these effects.
fn charges(effects: &Effects, key: fn(&Context) -> String) -> Workflow {
    let effects = effects.clone();
    alone(move |ctx, _| {
        let effects = effects.clone();
        async move {
            let charge = async || {
                effects.record("charge", key(&ctx));
                Ok(())
            };
            ctx.step("charge", charge).await?;
            Ok("done")
        }
    })
}

#[tokio::test(start_paused = true)]
async fn effects_with_a_key_of_ones_own_are_refused() {
    let effects = Effects::new();
    let property = ResumeProperty::new(charges(&effects, |_| "order-12".to_owned())).input("1").effects(&effects);
    let failure = fails(property).await;
    assert!(failure.to_string().contains("order-12"), "{failure}");
    // The key has a part of its own besides the key of the run.
    let key = |ctx: &Context| format!("{}-first", ctx.idempotency_key());
    ResumeProperty::new(charges(&effects, key)).input("1").effects(&effects).check().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_repeated_effect_with_a_longer_key_is_found() {
    let effects = Effects::new();
    let noted = effects.clone();
    let workflow = alone(move |ctx, _| {
        let noted = noted.clone();
        async move {
            noted.record("charge", format!("charge-{}", ctx.idempotency_key()));
            let receipt: u32 = ctx.step("receipt", async || Ok(7)).await?;
            Ok(receipt)
        }
    });
    let failure = fails(ResumeProperty::new(workflow).input("1").effects(&effects)).await;
    assert!(matches!(&failure.fault, ResumeFault::Repeated(effects) if effects == &["charge"]), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn effects_that_nothing_records_are_refused() {
    let property = ResumeProperty::new(charges(&Effects::new(), Context::idempotency_key));
    let failure = fails(property.input("1").effects(&Effects::new())).await;
    assert!(failure.to_string().contains("effects"), "{failure}");
}

/// The number of times that the body of each run of the property has begun.
#[derive(Clone, Default)]
struct StartCounts(Arc<Mutex<BTreeMap<usize, u32>>>);

impl StartCounts {
    fn next(&self, ctx: &Context) -> u32 {
        let mut begun = self.0.lock().unwrap();
        let count = begun.entry(number(ctx)).or_default();
        *count += 1;
        *count
    }
}

/// A property of a workflow whose question depends on how often the body has begun.
fn asks(question: fn(u32) -> RequestInput<bool>) -> ResumeProperty {
    let begun = StartCounts::default();
    let workflow = alone(move |ctx, _| {
        let begun = begun.clone();
        async move {
            // After an answer the body begins again, so only the start before the question matters.
            let count = begun.next(&ctx);
            let answer: bool = ctx.ask_with(question(count)).await?;
            Ok(answer)
        }
    });
    ResumeProperty::new(workflow).input("1").human(&ScriptedHuman::new().answers("ok", true))
}

#[tokio::test(start_paused = true)]
async fn the_text_the_payload_and_the_assignee_of_a_question_are_compared() {
    let questions: [fn(u32) -> RequestInput<bool>; 3] = [
        |count| RequestInput::ask("ok", format!("Pay {count}?")),
        |count| RequestInput::ask("ok", "Pay?").with_payload(json!(count)),
        |count| RequestInput::ask("ok", "Pay?").assign_to(format!("lead-{count}")),
    ];
    for question in questions {
        let failure = fails(asks(question)).await;
        let ResumeFault::Differs(differences) = &failure.fault else { panic!("{failure}") };
        assert!(differences[0].place.starts_with("question 'ok'"), "{failure}");
    }
    asks(|_| RequestInput::ask("ok", "Pay?").with_payload(json!({"a": 1}))).check().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_chosen_by_chance_is_found() {
    let begun = StartCounts::default();
    let property = ResumeProperty::app(move |name| {
        let begun = begun.clone();
        let mut wf = Workflow::builder("shop");
        let choose = FunctionNode::new("choose", move |ctx: Context| {
            let count = begun.next(&ctx);
            async move { Ok::<_, NodeError>(Event::from_author("shop").with_route(if count == 1 { "a" } else { "b" })) }
        });
        let choose = wf.add(choose.rerun_on_resume(true));
        let (a, b) = (wf.node("a", async || {}), wf.node("b", async || {}));
        wf.edge(START, choose).route(choose, "a", a).route(choose, "b", b);
        Runner::builder(name).root(wf.build().unwrap())
    });
    let failure = fails(property.input("1")).await;
    let ResumeFault::Differs(differences) = &failure.fault else { panic!("{failure}") };
    assert!(differences.iter().any(|at| at.place == "route of shop/choose"), "{failure}");
}
