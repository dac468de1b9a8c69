//! Scripted people.

use pleach::prelude::*;
use pleach::testkit::{HumanError, ModelByTurn, ScriptedHuman};
use pleach::{NodeError, QuestionKind, RunRequest};
use serde_json::json;

use crate::support::alone;

/// A workflow that asks for three sizes, a colour and a name, one after the other.
fn survey() -> Runner {
    let root = alone(async |ctx: Context, _: String| {
        let mut sizes = Vec::new();
        for number in 0..3 {
            sizes.push(ctx.ask::<u32>(&format!("size-{number}"), "How large?").await?);
        }
        let colour: String = ctx.ask("colour", "Which colour?").await?;
        let name: String = ctx.ask("name", "Whose?").await?;
        Ok(json!([sizes, colour, name]))
    });
    Runner::builder("t").root(root).build().unwrap()
}

fn request() -> RunRequest {
    RunRequest::new(("ana", "s1")).message("go").invocation_id("e-1")
}

async fn output(runner: &Runner) -> serde_json::Value {
    runner.start(request()).output().await.unwrap()
}

#[tokio::test]
async fn questions_are_answered_by_id_and_pattern_until_none_is_open() {
    let human = ScriptedHuman::new()
        .answers_each("size-*", [3, 5])
        .answers("colour", "blue")
        .answers_with("*", |question| format!("{} {}", question.message, question.id).into());
    let runner = survey();
    assert!(human.converse(&runner, request()).await.unwrap().is_empty());
    // The last of several answers is used for all further questions.
    assert_eq!(output(&runner).await, json!([[3, 5, 5], "blue", "Whose? name"]));
}

#[tokio::test]
async fn a_question_without_an_answer_is_named() {
    let human = ScriptedHuman::new().answers("size-*", 1);
    let error = human.converse(&survey(), request()).await.unwrap_err();
    assert!(matches!(&error, HumanError::NoAnswer(question) if question.id == "colour"), "{error}");
    let expected = "the script has no answer to the question 'colour' of shop@1/order@1 (\"Which colour?\"): \
                    add `.answers(\"colour\", …)`, or `.leaves_open(\"colour\")`";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_with_the_question() {
    let human = ScriptedHuman::new().answers("size-*", "large");
    let error = human.converse(&survey(), request()).await.unwrap_err();
    assert!(matches!(&error, HumanError::Run(RunError::Answer { id, .. }) if id == "size-0"), "{error}");
}

#[tokio::test]
async fn questions_that_are_left_open_are_returned() {
    let human = ScriptedHuman::new().answers("size-*", 1).leaves_open("colour");
    let runner = survey();
    let open = human.converse(&runner, request()).await.unwrap();
    assert_eq!(open.iter().map(|question| question.id.as_str()).collect::<Vec<_>>(), ["colour"]);
    let rest = ScriptedHuman::new().answers("*", "x");
    assert!(rest.answer_all(&runner, "s1").await.unwrap().is_empty());
    assert_eq!(output(&runner).await, json!([[1, 1, 1], "x", "x"]));
}

#[tokio::test]
async fn a_person_waits_for_no_sleep() {
    let root = alone(async |ctx: Context, _: String| {
        ctx.sleep(std::time::Duration::from_secs(60)).await?;
        Ok(())
    });
    let runner = Runner::builder("t").root(root).build().unwrap();
    let open = ScriptedHuman::new().answers("*", 1).converse(&runner, request()).await.unwrap();
    assert_eq!(open.iter().map(|question| question.kind).collect::<Vec<_>>(), [QuestionKind::Timer]);
}

#[tokio::test]
async fn confirmations_and_results_of_long_running_tools_are_answered() {
    for (allowed, expected) in [(true, 1), (false, 0)] {
        let calls = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let count = std::sync::Arc::clone(&calls);
        let pay = tool("pay", "Pays.", move || {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async { Ok::<_, NodeError>("paid") }
        });
        let ship = tool("ship", "Ships.", async || Ok::<_, NodeError>(json!(null))).long_running();
        let model = ModelByTurn::new().then_call("pay", json!({})).then_call("ship", json!({})).then_text("Done.");
        let agent = LlmAgent::builder("clerk").model(model).tool(pay.require_confirmation()).tool(ship);
        let runner = Runner::builder("t").root(agent.build().unwrap()).build().unwrap();
        let human = ScriptedHuman::new().confirms("pay", allowed).answers_function("ship", "on its way");
        assert!(human.converse(&runner, request()).await.unwrap().is_empty());
        assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), expected);
    }
}

#[tokio::test]
async fn a_missing_result_of_a_tool_is_named_by_the_tool() {
    let ship = tool("ship", "Ships.", async || Ok::<_, NodeError>(json!(null))).long_running();
    let model = ModelByTurn::new().then_call("ship", json!({}));
    let agent = LlmAgent::builder("clerk").model(model).tool(ship).build().unwrap();
    let runner = Runner::builder("t").root(agent).build().unwrap();
    let error = ScriptedHuman::new().converse(&runner, request()).await.unwrap_err();
    assert!(error.to_string().contains("add `.answers_function(\"ship\", …)`"), "{error}");
}

#[tokio::test]
async fn a_node_that_asks_for_confirmation_is_confirmed_by_its_name() {
    let pay = tool("pay", "Pays.", async || Ok::<_, NodeError>("paid"));
    let mut wf = Workflow::builder("wf");
    let pay = wf.tool(pay.require_confirmation());
    wf.edge(START, pay);
    let runner = Runner::builder("t").root(wf.build().unwrap()).build().unwrap();
    let human = ScriptedHuman::new().confirms("pay", true);
    let request = RunRequest::new(("ana", "s1")).message("{}").invocation_id("e-1");
    assert!(human.converse(&runner, request.clone()).await.unwrap().is_empty());
    assert_eq!(runner.start(request).output::<String>().await.unwrap(), "paid");
}

#[tokio::test]
async fn an_agent_with_the_name_of_a_tool_confirms_nothing() {
    let erase = tool("erase", "Erases.", async || Ok::<_, NodeError>("erased")).require_confirmation();
    let model = ModelByTurn::new().then_call("erase", json!({}));
    let agent = LlmAgent::builder("pay").model(model).tool(erase).build().unwrap();
    let runner = Runner::builder("t").root(agent).build().unwrap();
    let error = ScriptedHuman::new().confirms("pay", true).converse(&runner, request()).await.unwrap_err();
    assert!(matches!(&error, HumanError::NoAnswer(question) if question.kind == QuestionKind::Confirmation), "{error}");
    assert!(error.to_string().contains("`.confirms(\"erase\", …)`"), "{error}");
}

#[tokio::test]
async fn a_wait_for_a_signal_is_answered_by_rules_of_signals_only() {
    let runner = || {
        let root =
            alone(async |ctx: Context, _: String| ctx.wait_for_signal::<String>("parcel").await.map_err(Into::into));
        Runner::builder("t").root(root).build().unwrap()
    };
    for human in [ScriptedHuman::new().answers("*", "x"), ScriptedHuman::new().answers_with("*", |_| "x".into())] {
        let error = human.converse(&runner(), request()).await.unwrap_err();
        assert!(error.to_string().contains("signal 'parcel'"), "{error}");
    }
    let script = || ScriptedHuman::new().answers("*", "x").signals("other", "y");
    for human in [script().answers("pleach_signal:*", "arrived"), script().signals("parcel", "arrived")] {
        let runner = runner();
        assert!(human.converse(&runner, request()).await.unwrap().is_empty());
        assert_eq!(output(&runner).await, json!("arrived"));
    }
    let open = script().leaves_open("*").leaves_open("pleach_signal:*").converse(&runner(), request()).await.unwrap();
    assert_eq!(open[0].kind, QuestionKind::Signal);
}

#[tokio::test]
async fn arguments_that_are_no_object_fail_the_call_of_the_model() {
    let weather = tool("weather", "Weather.", async || Ok::<_, NodeError>("sunny"));
    let model = ModelByTurn::new().then_call("weather", json!("Oslo")).then_text("Sunny.");
    let agent = LlmAgent::builder("helper").model(model).tool(weather).build().unwrap();
    let runner = Runner::builder("t").root(agent).build().unwrap();
    let error = runner.start(request()).output::<String>().await.unwrap_err();
    assert!(error.to_string().contains("`weather` are not an object"), "{error}");
}

/// A select may have a branch without a rule before the branch with a rule. This is not an error.
#[tokio::test]
async fn the_branch_of_a_select_that_has_a_rule_is_answered() {
    let root = || {
        alone(async |ctx: Context, _: String| {
            let days = std::time::Duration::from_secs(86_400);
            let select = ctx.select().ask("first", "?", |_: u32| "first").ask("second", "?", |_: u32| "second");
            Ok(select.signal("paid", |(): ()| "paid").sleep(days, || "late").await?)
        })
    };
    let runner = || Runner::builder("t").root(root()).build().unwrap();
    for (human, expected) in [
        (ScriptedHuman::new().answers("second", 1), "second"),
        (ScriptedHuman::new().signals("paid", ()), "paid"),
        (ScriptedHuman::new().signals("paid", ()).answers("*", 1), "first"),
    ] {
        let runner = runner();
        assert!(human.converse(&runner, request()).await.unwrap().is_empty());
        assert_eq!(output(&runner).await, json!(expected));
    }
    let runner = runner();
    let error = ScriptedHuman::new().answers("third", 1).converse(&runner, request()).await.unwrap_err();
    assert!(matches!(&error, HumanError::NoAnswer(question) if question.id == "first"), "{error}");
    let open = ScriptedHuman::new().leaves_open("second").answer_all(&runner, "s1").await.unwrap();
    assert_eq!(open.len(), 4);
}

/// A loop of selects does not get the first of several answers again and again.
#[tokio::test]
async fn each_select_of_a_loop_gets_the_next_answer() {
    let root = alone(async |ctx: Context, _: String| {
        let mut rounds = Vec::new();
        while rounds.last() != Some(&3) {
            rounds.push(ctx.select().ask("round", "?", |answer: u32| answer).await?);
        }
        Ok(rounds)
    });
    let runner = Runner::builder("t").root(root).build().unwrap();
    let human = ScriptedHuman::new().answers_each("round", [1, 2, 3]);
    assert!(human.converse(&runner, request()).await.unwrap().is_empty());
    assert_eq!(output(&runner).await, json!([1, 2, 3]));
}
