use std::time::Duration;

use pleach_contract::TestClock;
use pleach_core::{Content, RandomIds};
use serde_json::json;

use super::*;
use crate::LlmResponse;

type Items = Vec<Result<LlmResponse, ModelError>>;

fn ask_at(clock: &TestClock, model: &ScriptedModel, text: &str, streaming: bool) -> Items {
    let mut request = LlmRequest::new("m");
    request.contents.push(Content::user(text).into());
    let call = ModelCall::new(&request, clock).streaming(streaming).ids(&RandomIds);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(model.generate(call).collect())
}

fn ask(model: &ScriptedModel, streaming: bool) -> Items {
    ask_at(&TestClock::skipping(), model, "hello", streaming)
}

fn texts(items: &Items) -> Vec<String> {
    let text = |item: &Result<LlmResponse, ModelError>| match item {
        Ok(response) => {
            let mark = if response.is_partial() { "~" } else { "" };
            format!("{mark}{}", response.content.as_ref().map(|content| content.text()).unwrap_or_default())
        }
        Err(error) => format!("! {error}"),
    };
    items.iter().map(text).collect()
}

#[test]
fn replies_come_in_order_and_requests_are_recorded() {
    let model = ScriptedModel::calling("weather", json!({"city": "Oslo"})).then_text("Sunny.");
    let handle = model.clone();
    let items = ask(&model, false);
    let call = items[0].as_ref().unwrap().function_calls().next().unwrap();
    assert_eq!((call.name.as_deref(), call.id.as_deref()), (Some("weather"), None));
    assert_eq!(call.args.as_ref().unwrap()["city"], json!("Oslo"));
    assert_eq!(texts(&ask_at(&TestClock::skipping(), &model, "and now?", true)), ["Sunny."]);
    let asked: Vec<_> = handle.calls().iter().map(|call| (call.request.contents[0].text(), call.streaming)).collect();
    assert_eq!(asked, [("hello".to_owned(), false), ("and now?".to_owned(), true)]);
    assert_eq!((handle.requests().len(), handle.replies_left()), (2, 0));
}

#[test]
fn an_exhausted_script_says_so() {
    let model = ScriptedModel::saying("a").named("mine");
    assert_eq!(texts(&ask(&model, false)), ["a"]);
    let items = ask(&model, false);
    assert_eq!(items[0].as_ref().unwrap_err().kind(), ModelErrorKind::ScriptExhausted);
    let text = "! model `mine` failed: the script has no reply left: call 2 of a script of 1; \
                add replies, or let the last one repeat with `.repeating()`";
    assert_eq!(texts(&items), [text]);
}

#[test]
fn the_last_reply_can_repeat() {
    let model = ScriptedModel::saying("a").then_text("b").repeating();
    let said: Vec<_> = (0..4).flat_map(|_| texts(&ask(&model, false))).collect();
    assert_eq!(said, ["a", "b", "b", "b"]);
}

#[test]
fn l155_fragments_come_before_the_whole_answer() {
    let model = ScriptedModel::new().then_fragments(["Su", "nny"]).then_fragments(["Su", "nny"]);
    assert_eq!(texts(&ask(&model, true)), ["~Su", "~nny", "Sunny"]);
    assert_eq!(texts(&ask(&model, false)), ["Sunny"]);
}

#[test]
fn several_calls_are_one_response() {
    let model = ScriptedModel::new().then_calls([("a", json!({})), ("b", json!({"x": 1}))]);
    let items = ask(&model, false);
    let names: Vec<_> = items[0].as_ref().unwrap().function_calls().map(|call| call.name.clone().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    let items = ask(&ScriptedModel::calling("f", json!([1])), false);
    let error = items[0].as_ref().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::InvalidRequest);
    assert!(error.to_string().contains("scripted call of `f` are not an object"), "{error}");
}

#[test]
fn a_stream_can_be_cut() {
    let cut = || ModelError::new("m", ModelErrorKind::StreamCut);
    let reply = ScriptedReply::fragments(["half an ", "ans"]).then_error(cut());
    let model = ScriptedModel::new().then(reply).then_error(cut());
    let items = ask(&model, true);
    assert_eq!(texts(&items)[..2], ["~half an ", "~ans"]);
    assert_eq!((items.len(), items[2].as_ref().unwrap_err().kind()), (3, ModelErrorKind::StreamCut));
    assert!(matches!(ask(&model, false)[..], [Err(_)]));
}

#[test]
fn delays_are_the_clocks() {
    let clock = TestClock::skipping();
    let slow = ScriptedReply::fragments(["a", "b"]).after(Duration::from_secs(5)).with_gaps(Duration::from_secs(1));
    let model = ScriptedModel::new().then(slow);
    assert_eq!(texts(&ask_at(&clock, &model, "x", true)), ["~a", "~b", "ab"]);
    assert_eq!(clock.sleeps(), [5, 1, 1].map(Duration::from_secs));
}

#[test]
fn a_reply_can_depend_on_the_request() {
    let model = ScriptedModel::new().then(ScriptedReply::with(|request| {
        request.contents.last().map(|content| content.text().to_uppercase()).unwrap_or_default().into()
    }));
    assert_eq!(texts(&ask(&model, false)), ["HELLO"]);
    let odd = ScriptedReply::responses([LlmResponse::text("a").as_fragment()]);
    assert_eq!(texts(&ask(&ScriptedModel::new().then(odd), false)), ["~a"]);
}

#[test]
fn a_model_is_used_through_an_arc() {
    let model: Arc<dyn Model> = Arc::new(
        ScriptedModel::saying("a").with_capabilities(ModelCapabilities::default().output_schema_and_tools(true)),
    );
    assert!(model.capabilities().output_schema_and_tools && !model.capabilities().pairs_calls_by_id);
    assert_eq!(Model::name(&model), "scripted");
}
