//! Budgets: the effects of each limit, and the calls and tokens that are counted. Nothing is counted twice.

use std::sync::Arc;
use std::time::Duration;

use pleach::model::{LlmResponse, ModelError, ModelErrorKind, ScriptedReply};
use pleach::plugins::{BudgetPlugin, BudgetPluginBuilder, BudgetScope, BudgetSetupError, Limits, Price, PriceTable};
use pleach::prelude::*;
use pleach::{
    AgentTool, CallbackContext, IdGen, InMemorySessionService, LoopAgent, Node, ParallelAgent, RandomIds,
    SequentialAgent,
};
use pleach_contract::{CountedIds, TestClock};
use serde_json::{Value, json};

use crate::support::{key, trace};

/// An answer that reports the tokens of its request and its own tokens.
pub(crate) fn costing(text: &str, input: u64, output: u64) -> LlmResponse {
    with_usage(LlmResponse::text(text), json!({"prompt_token_count": input, "candidates_token_count": output}))
}

fn with_usage(mut response: LlmResponse, usage: Value) -> LlmResponse {
    response.info.usage_metadata = Some(usage.into());
    response
}

/// A call of `look` that reports ten input tokens and five output tokens.
fn looking() -> LlmResponse {
    let mut response = costing("", 10, 5);
    let call = pleach::FunctionCall { name: Some("look".into()), ..Default::default() };
    response.content = LlmResponse::calls([call]).content;
    response
}

fn look() -> FunctionTool {
    tool("look", "Looks.", async || "seen")
}

fn agent(name: &str, model: &ScriptedModel) -> LlmAgent {
    LlmAgent::builder(name).model(model.clone()).tool(look()).build().unwrap()
}

pub(crate) struct App {
    pub(crate) runner: Runner,
    pub(crate) sessions: Arc<InMemorySessionService>,
    pub(crate) clock: TestClock,
    pub(crate) budget: BudgetPlugin,
}

pub(crate) fn app(root: impl Node, budget: BudgetPluginBuilder) -> App {
    app_with(root, budget.build().unwrap(), Arc::new(InMemorySessionService::new()), CountedIds::new())
}

/// An app in a new process that shares its sessions with others.
pub(crate) fn app_of(root: impl Node, budget: BudgetPlugin, sessions: Arc<InMemorySessionService>) -> App {
    app_with(root, budget, sessions, RandomIds)
}

fn app_with(root: impl Node, budget: BudgetPlugin, sessions: Arc<InMemorySessionService>, ids: impl IdGen) -> App {
    let clock = TestClock::skipping();
    let builder = Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).resumable(true);
    let builder = builder.clock(clock.clone()).ids(ids).plugin(budget.clone());
    App { runner: builder.build().unwrap(), sessions, clock, budget }
}

impl App {
    /// The code and message of the last event's error, or its text if there is no error. Events without either are skipped.
    async fn last(&self) -> String {
        let session = self.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        let says = |event: &&Arc<Event>| event.content().is_some() || event.error_code().is_some();
        let last = session.events.iter().rev().find(says).unwrap();
        match (last.error_code(), last.error_message()) {
            (Some(code), Some(message)) => format!("{code}: {message}"),
            _ => last.text(),
        }
    }

    async fn state(&self) -> pleach::Map {
        self.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().state
    }

    /// The usage of the invocation that is recorded on its last event.
    async fn noted(&self) -> Value {
        let session = self.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        let noted =
            session.events.iter().rev().find_map(|event| event.custom_metadata()?.get("_pleach_budget").cloned());
        noted.unwrap_or_default()
    }
}

fn run_limit(limits: Limits) -> BudgetPluginBuilder {
    BudgetPlugin::builder().per_run(limits)
}

const STOP: &str = "I have to stop here: the budget for this is used up.";

#[tokio::test]
async fn each_limit_of_a_run_ends_it_with_a_message_that_names_it() {
    let prices = PriceTable::new().model("scripted", Price::per_million(1_000.0, 10_000.0));
    for (limits, calls, expected) in [
        (Limits::new().model_calls(2), 2, "model calls per run: 2 used, limit 2"),
        (Limits::new().input_tokens(15), 2, "input tokens per run: 20 used, limit 15"),
        (Limits::new().output_tokens(5), 1, "output tokens per run: 5 used, limit 5"),
        (Limits::new().total_tokens(31), 3, "total tokens per run: 45 used, limit 31"),
        (Limits::new().cost(0.1), 2, "cost per run: 0.12 used, limit 0.1"),
    ] {
        let model = ScriptedModel::new().then(looking()).repeating();
        let app = app(agent("helper", &model), run_limit(limits).prices(prices.clone()));
        let lines = trace(app.runner.run("ana", "s1", "go")).await;
        assert_eq!(model.requests().len(), calls, "{expected}");
        assert_eq!(app.last().await, format!("BUDGET_EXCEEDED: budget exceeded: {expected}"));
        assert!(!lines.last().unwrap().starts_with('!'), "the run itself succeeds: {lines:?}");
        assert_eq!(app.noted().await["model_calls"], calls);
    }
}

#[tokio::test]
async fn the_answer_at_the_end_is_a_text_of_the_app() {
    let model = ScriptedModel::new().then(looking()).repeating();
    let app = app(agent("helper", &model), run_limit(Limits::new().model_calls(1)).answer("Enough for today."));
    assert_eq!(app.runner.run("ana", "s1", "go").reply().await.unwrap(), "Enough for today.");
    let of_next = app.runner.run("ana", "s1", "again").reply().await.unwrap();
    assert_eq!(
        (of_next.as_str(), model.requests().len()),
        ("Enough for today.", 2),
        "each run has a budget of its own"
    );
}

#[tokio::test]
async fn a_tool_beyond_its_limit_is_an_error_that_the_model_sees() {
    let two = ScriptedReply::calls([("look", json!({})), ("look", json!({}))]);
    let model = ScriptedModel::new().then(two).then_text("done");
    let app = app(agent("helper", &model), run_limit(Limits::new().tool_calls(1)));
    assert_eq!(app.runner.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let request = &model.requests()[1];
    let parts = request.contents.last().unwrap().parts();
    let responses: Vec<_> = parts.iter().filter_map(|part| part.function_response.as_ref()?.response.clone()).collect();
    let refused =
        json!({"error": "budget exceeded: tool calls per run: 1 used, limit 1", "error_code": "BUDGET_EXCEEDED"});
    assert_eq!(json!(responses), json!([{"result": "seen"}, refused]));
    assert_eq!(app.noted().await["tool_calls"], 1);
}

#[tokio::test]
async fn agents_side_by_side_do_not_exceed_the_calls() {
    let model = ScriptedModel::new().then(ScriptedReply::text("hi").after(Duration::from_secs(1))).repeating();
    let agents = ["a", "b", "c", "d"].map(|name| agent(name, &model));
    let mut all = ParallelAgent::builder("all");
    for agent in agents {
        all = all.sub_agent(agent);
    }
    let app = app(all.build().unwrap(), BudgetPlugin::builder().per_user(Limits::new().model_calls(2)));
    trace(app.runner.run("ana", "s1", "go")).await;
    assert_eq!(model.requests().len(), 2);
    assert_eq!(app.state().await["user:_pleach_budget:model_calls"], 2);
}

#[tokio::test]
async fn loops_end_and_a_run_that_asks_for_ever_fails() {
    let model = ScriptedModel::saying("hi").repeating();
    let round = LoopAgent::builder("round").sub_agent(agent("helper", &model)).build().unwrap();
    let budget = || run_limit(Limits::new().model_calls(3));
    let looped = app(round, budget());
    let lines = trace(looped.runner.run("ana", "s1", "go")).await;
    let refused = lines.iter().filter(|line| line.contains("BUDGET_EXCEEDED")).count();
    assert_eq!((refused, model.requests().len()), (2, 3), "{lines:?}");

    let model = ScriptedModel::saying("hi").repeating();
    let mut wf = Workflow::builder("wf");
    let helper = wf.add(LlmAgent::builder("helper").model(model.clone()).build().unwrap());
    let again = wf.node("again", async || Event::new().with_route("again"));
    wf.edge(START, helper).edge(helper, again).route(again, "again", helper);
    let cycle = app(wf.build().unwrap(), budget());
    let lines = trace(cycle.runner.run("ana", "s1", "go")).await;
    let expected = "! RuntimeError: Error in plugin 'budget' during 'before_model_callback' callback: budget exceeded: \
                    model calls per run: 3 used, limit 3; the run has asked for models 100 times since";
    assert_eq!((lines.last().unwrap().as_str(), model.requests().len()), (expected, 3));
}

#[tokio::test]
async fn a_streamed_answer_is_counted_once_even_if_it_is_cut_short() {
    let usage = |output: u64| json!({"prompt_token_count": 10, "candidates_token_count": output});
    let parts = || [with_usage(LlmResponse::text("one "), usage(1)), with_usage(LlmResponse::text("two"), usage(4))];
    let model = ScriptedModel::new().then(ScriptedReply::fragments(parts()));
    let streamed = app(agent("helper", &model), run_limit(Limits::new().total_tokens(1_000)));
    trace(streamed.runner.run("ana", "s1", "go").streaming()).await;
    assert_eq!(streamed.noted().await, json!({"input_tokens": 10, "output_tokens": 4, "model_calls": 1}));

    let cut = ModelError::new("scripted", ModelErrorKind::StreamCut);
    let model = ScriptedModel::new().then(ScriptedReply::fragments(parts()).then_error(cut)).then(costing("x", 1, 1));
    let broken = app(agent("helper", &model), BudgetPlugin::builder().per_user(Limits::new().total_tokens(16)));
    let lines = trace(broken.runner.run("ana", "s1", "go").streaming()).await;
    assert!(lines.last().unwrap().starts_with("! ModelError"), "{lines:?}");
    // The usage of the broken stream is stored with the next answer.
    trace(broken.runner.run("ana", "s1", "go")).await;
    let state = broken.state().await;
    assert_eq!(
        (&state["user:_pleach_budget:input_tokens"], &state["user:_pleach_budget:output_tokens"]),
        (&json!(11), &json!(5))
    );
    trace(broken.runner.run("ana", "s1", "go")).await;
    assert_eq!(broken.last().await, "BUDGET_EXCEEDED: budget exceeded: total tokens per user: 16 used, limit 16");
}

#[tokio::test]
async fn an_answer_of_another_hook_is_not_counted() {
    async fn answered(
        _: CallbackContext,
        request: &mut pleach::model::LlmRequest,
    ) -> Result<Option<LlmResponse>, NodeError> {
        Ok((request.contents.len() < 2).then(|| LlmResponse::text("from the cache")))
    }
    let model = ScriptedModel::saying("from the model");
    let helper = LlmAgent::builder("helper").model(model.clone()).before_model(answered).build().unwrap();
    let app = app(
        helper,
        BudgetPlugin::builder().per_run(Limits::new().model_calls(1)).per_user(Limits::new().model_calls(1)),
    );
    assert_eq!(app.runner.run("ana", "s1", "go").reply().await.unwrap(), "from the cache");
    assert_eq!(app.runner.run("ana", "s1", "go").reply().await.unwrap(), "from the model");
    assert_eq!(app.state().await["user:_pleach_budget:model_calls"], 1);
}

#[tokio::test]
async fn answers_of_other_hooks_leave_the_budget_to_later_agents() {
    let cached = |name: &str| {
        let cached = async |_: CallbackContext, _: &mut pleach::model::LlmRequest| {
            Ok::<_, NodeError>(Some(LlmResponse::text("cached")))
        };
        LlmAgent::builder(name).model(ScriptedModel::new()).before_model(cached).build().unwrap()
    };
    let model = ScriptedModel::new().then(costing("asked", 1, 1));
    let agents = SequentialAgent::builder("all").sub_agent(cached("one")).sub_agent(cached("two"));
    let all = agents.sub_agent(agent("three", &model)).build().unwrap();
    let app = app(all, run_limit(Limits::new().model_calls(1)));
    trace(app.runner.run("ana", "s1", "go")).await;
    assert_eq!((app.last().await.as_str(), app.noted().await["model_calls"].clone()), ("asked", json!(1)));
}

#[tokio::test]
async fn an_agent_that_is_called_as_a_tool_spends_its_callers_budget() {
    let expert = ScriptedModel::new().then(costing("42", 7, 3)).repeating();
    let ask = || ScriptedReply::calls([("expert", json!({"request": "?"})), ("expert", json!({"request": "!"}))]);
    let model = ScriptedModel::new().then(ask()).then_text("done");
    let expert = LlmAgent::builder("expert").model(expert).build().unwrap();
    let root = LlmAgent::builder("root").model(model).tool(AgentTool::new(expert)).build().unwrap();
    let limits = || Limits::new().model_calls(10).total_tokens(100);
    let app = app(root, BudgetPlugin::builder().per_run(limits()).per_app(limits()));
    assert_eq!(app.runner.run("ana", "s1", "go").reply().await.unwrap(), "done");
    assert_eq!(app.noted().await, json!({"input_tokens": 14, "output_tokens": 6, "model_calls": 4}));
    let state = app.state().await;
    assert_eq!(
        (&state["app:_pleach_budget:model_calls"], &state["app:_pleach_budget:input_tokens"]),
        (&json!(4), &json!(14))
    );
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_by_a_limit_of_cost() {
    let prices = PriceTable::new().model("other", Price::per_million(1.0, 1.0));
    let budget = || run_limit(Limits::new().cost(5.0));
    let priced = app(agent("helper", &ScriptedModel::saying("hi")), budget().prices(prices.clone()));
    let lines = trace(priced.runner.run("ana", "s1", "go")).await;
    let expected = "! RuntimeError: Error in plugin 'budget' during 'before_model_callback' callback: cost is limited, but \
                    model `scripted` has no price: add it with `PriceTable::model`, or set a price for `other_models`";
    assert_eq!(lines.last().unwrap(), expected);
    let prices = prices.other_models(Price::per_million(2.0, 2.0));
    let default = app(agent("helper", &ScriptedModel::new().then(costing("hi", 1, 1))), budget().prices(prices));
    assert_eq!(default.runner.run("ana", "s1", "go").reply().await.unwrap(), "hi");
    assert_eq!(default.noted().await["cost_nanos"], 4_000);
}

#[tokio::test]
async fn thoughts_count_once_whether_candidates_have_them_or_not() {
    let gemini = json!({"prompt_token_count": 10, "candidates_token_count": 5, "thoughts_token_count": 20, "total_token_count": 35});
    let openai = json!({"prompt_token_count": 10, "candidates_token_count": 25, "thoughts_token_count": 20, "total_token_count": 35});
    for usage in [gemini, openai] {
        let model = ScriptedModel::new().then(with_usage(LlmResponse::text("hi"), usage));
        let app = app(agent("helper", &model), run_limit(Limits::new().total_tokens(1_000)));
        trace(app.runner.run("ana", "s1", "go")).await;
        assert_eq!(app.noted().await, json!({"input_tokens": 10, "output_tokens": 25, "model_calls": 1}));
    }
}

#[tokio::test]
async fn wall_time_is_that_of_the_runners_clock() {
    let slow = ScriptedReply::calls([("look", json!({}))]).after(Duration::from_secs(40));
    let model = ScriptedModel::new().then(slow).repeating();
    let app = app(agent("helper", &model), run_limit(Limits::new().wall_time(Duration::from_secs(100))));
    trace(app.runner.run("ana", "s1", "go")).await;
    assert_eq!(app.last().await, "BUDGET_EXCEEDED: budget exceeded: wall time per run: 120.0 s used, limit 100.0 s");
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn an_agent_whose_answer_must_fit_a_schema_ends_with_the_budget() {
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    struct Weather {
        sky: String,
    }
    let model = ScriptedModel::saying("hi").repeating();
    let helper = LlmAgent::builder("helper").model(model).output_schema::<Weather>().build().unwrap();
    let app = app(helper, run_limit(Limits::new().model_calls(0)));
    let lines = trace(app.runner.run("ana", "s1", "go")).await;
    assert!(!lines.last().unwrap().starts_with('!'), "{lines:?}");
    assert_eq!(app.last().await, "BUDGET_EXCEEDED: budget exceeded: model calls per run: 0 used, limit 0");
}

#[tokio::test]
async fn agents_in_a_row_each_say_that_the_budget_is_used_up() {
    let model = ScriptedModel::saying("hi").repeating();
    let row =
        SequentialAgent::builder("row").sub_agent(agent("a", &model)).sub_agent(agent("b", &model)).build().unwrap();
    let app = app(row, run_limit(Limits::new().model_calls(1)));
    let lines = trace(app.runner.run("ana", "s1", "go")).await;
    assert_eq!(model.requests().len(), 1);
    assert!(lines.iter().any(|line| line.contains("BUDGET_EXCEEDED")), "{lines:?}");
    assert_eq!(app.budget.used(BudgetScope::Run, &app.state().await, 0.0), Default::default());
    let said = app.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert!(said.events.iter().any(|event| event.text() == STOP));
}

#[test]
fn invalid_limits_are_refused_when_the_budget_is_built() {
    let limits = Limits::new;
    let priced = |price| PriceTable::new().model("m", price);
    let hour = Duration::from_secs(3_600);
    let check = |builder: BudgetPluginBuilder, expected: BudgetSetupError| {
        assert_eq!(builder.build().unwrap_err(), expected);
    };
    let budget = BudgetPlugin::builder;
    check(budget(), BudgetSetupError::NoLimits);
    check(budget().per_user(limits().window(hour)), BudgetSetupError::NoLimits);
    check(budget().per_run(limits().cost(1.0)), BudgetSetupError::NoPrices(BudgetScope::Run));
    let nan = Price::per_million(f64::NAN, 1.0);
    check(budget().per_run(limits().cost(1.0)).prices(priced(nan)), BudgetSetupError::Price("m".into()));
    let good = Price::per_million(1.0, 1.0);
    check(budget().per_app(limits().cost(-1.0)).prices(priced(good)), BudgetSetupError::Cost(BudgetScope::App));
    check(budget().per_user(limits().wall_time(hour)), BudgetSetupError::WallTime(BudgetScope::User));
    check(budget().per_run(limits().model_calls(1).window(hour)), BudgetSetupError::Window(BudgetScope::Run));
    let zero = limits().model_calls(1).window(Duration::ZERO);
    check(budget().per_app(zero), BudgetSetupError::Window(BudgetScope::App));
    check(budget().named("").per_run(limits().model_calls(1)), BudgetSetupError::Name);
}
