use pleach_core::{FunctionCall, Owned, RandomIds};
use serde_json::{Value, json};

use super::*;

fn thought(text: &str) -> Part {
    Part { thought: Some(true), ..Part::text(text) }
}

fn signed(part: Part, signature: &str) -> Part {
    Part { thought_signature: Some(signature.as_bytes().into()), ..part }
}

fn call(value: Value) -> Part {
    Part::function_call(serde_json::from_value(value).unwrap())
}

/// Pushes one part at a time, and returns the fragments and the whole response.
fn aggregate(parts: impl IntoIterator<Item = Part>) -> (Vec<LlmResponse>, LlmResponse) {
    let mut aggregator = Aggregator::default();
    let fragment = |part| LlmResponse::of(Content::new("model", [part]));
    let fragments = parts.into_iter().map(|part| aggregator.push(fragment(part), &RandomIds)).collect();
    (fragments, aggregator.finish().unwrap())
}

fn whole(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
    aggregate(parts).1.content.map(|content| content.parts.unwrap()).unwrap_or_default()
}

fn calls(parts: impl IntoIterator<Item = Part>) -> Vec<FunctionCall> {
    whole(parts).into_iter().filter_map(|part| part.function_call).map(|call| *call).collect()
}

#[test]
fn l217_adjacent_texts_of_a_kind_are_joined() {
    let (fragments, response) = aggregate(["Su", "nny"].map(Part::text));
    assert!(fragments.iter().all(LlmResponse::is_partial));
    assert_eq!(response.partial, Some(false));
    assert_eq!(response.content, Some(Content::model("Sunny")));

    let picture = Part::bytes("image/png", vec![1]);
    let parts = [thought("a"), thought("b"), Part::text("c"), picture.clone(), Part::text("d"), Part::text("e")];
    assert_eq!(whole(parts), [thought("ab"), Part::text("c"), picture, Part::text("de")]);
}

#[test]
fn l217_the_first_signature_is_kept_byte_for_byte() {
    let parts = [Part::text("a"), signed(Part::text("b"), "one"), signed(Part::text("c"), "two")];
    assert_eq!(whole(parts), [signed(Part::text("abc"), "one")]);
    // A signature without text stays on its own part.
    let alone = signed(Part::default(), "one");
    assert_eq!(whole([Part::text("a"), alone.clone()]), [Part::text("a"), alone]);
}

#[test]
fn l217_a_part_with_nothing_on_it_is_left_out() {
    assert_eq!(whole([Part::text("a"), Part::text(""), thought(""), Part::text("b")]), [Part::text("ab")]);
    let (_, response) = aggregate([Part::text("")]);
    assert_eq!(response.content, None);
}

#[test]
fn l216_without_a_fragment_there_is_no_answer() {
    assert_eq!(Aggregator::default().finish(), None);
}

#[test]
fn l217_the_last_usage_and_the_finish_reason_count() {
    let mut aggregator = Aggregator::default();
    let mut first = LlmResponse::text("a");
    first.info.usage_metadata = Some(Owned::new(json!({"totalTokenCount": 1})));
    first.info.model_version = Some("v1".into());
    first.info.grounding_metadata = Some(Owned::new(json!({"x": 1})));
    let mut second = LlmResponse::text("b");
    second.info.usage_metadata = Some(Owned::new(json!({"totalTokenCount": 2})));
    second.info.finish_reason = Some("MAX_TOKENS".into());
    second.info.model_version = Some("v2".into());
    second.error_message = Some("too long".into());
    aggregator.push(first, &RandomIds);
    aggregator.push(second, &RandomIds);
    let response = aggregator.finish().unwrap();
    assert_eq!(response.info.usage_metadata.unwrap().get("total_token_count"), Some(&json!(2)));
    assert_eq!(response.info.grounding_metadata.unwrap().get("x"), Some(&json!(1)));
    assert_eq!(response.info.model_version.as_deref(), Some("v2"));
    assert_eq!(response.content, Some(Content::model("ab")));
    assert_eq!(
        (response.error_code.as_deref(), response.error_message.as_deref()),
        (Some("MAX_TOKENS"), Some("too long"))
    );
}

#[test]
fn l217_the_error_of_the_last_fragment_counts() {
    let error_of = |fragments: Vec<LlmResponse>| {
        let mut aggregator = Aggregator::default();
        for fragment in fragments {
            aggregator.push(fragment, &RandomIds);
        }
        aggregator.finish().unwrap().error_code
    };
    let blocked = LlmResponse::error("PROHIBITED_CONTENT", "no");
    assert_eq!(error_of(vec![LlmResponse::text("a"), blocked.clone()]).as_deref(), Some("PROHIBITED_CONTENT"));
    assert_eq!(error_of(vec![blocked, LlmResponse::text("a")]), None);
    let mut stop = LlmResponse::text("a");
    stop.info.finish_reason = Some("STOP".into());
    assert_eq!(error_of(vec![stop]), None);
}

#[test]
fn l157_l217_calls_without_an_id_get_one_in_fragment_and_response() {
    let (fragments, response) = aggregate([call(json!({"name": "f", "args": {"a": 1}})), call(json!({"name": "f"}))]);
    let ids: Vec<_> = response.function_calls().map(|call| call.id.clone().unwrap()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| is_client_call_id(id)), "{ids:?}");
    let shown: Vec<_> =
        fragments.iter().flat_map(LlmResponse::function_calls).map(|call| call.id.clone().unwrap()).collect();
    assert_eq!(shown, ids);
}

#[test]
fn l217_a_call_that_repeats_an_id_of_the_models_is_dropped() {
    let once = || call(json!({"id": "c1", "name": "f", "args": {"a": 1}}));
    assert_eq!(calls([once(), Part::text("x"), once()]).len(), 1);
    assert_eq!(calls([call(json!({"name": ""})), call(json!({}))]).len(), 0);
}

#[test]
fn l218_arguments_come_in_pieces() {
    let piece = |args: Value, more: bool| call(json!({"partialArgs": args, "willContinue": more}));
    let (fragments, response) = aggregate([
        Part::text("Look:"),
        signed(call(json!({"name": "f", "willContinue": true})), "s"),
        piece(json!([{"jsonPath": "$.city", "stringValue": "Os", "willContinue": true}]), true),
        piece(json!([{"jsonPath": "$.city", "stringValue": "lo"}, {"jsonPath": "$.days[1]", "numberValue": 3}]), true),
        piece(
            json!([{"jsonPath": "$.deep['a']", "boolValue": true}, {"jsonPath": "$.n", "nullValue": "NULL_VALUE"}]),
            true,
        ),
        piece(json!([{"jsonPath": "$.empty"}]), true),
        call(json!({})),
        Part::text("done"),
    ]);
    let parts = response.content.unwrap().parts.unwrap();
    assert_eq!((&parts[0], &parts[2], parts.len()), (&Part::text("Look:"), &Part::text("done"), 3));
    let whole = parts[1].function_call.as_ref().unwrap();
    assert_eq!(parts[1].thought_signature.as_ref().unwrap().as_ref(), b"s");
    let args = json!({"city": "Oslo", "days": [null, 3], "deep": {"a": true}, "n": null});
    assert_eq!(Value::Object(whole.args.clone().unwrap()), args);
    assert_eq!((whole.will_continue, &whole.partial_args), (None, &None));
    let mut ids: Vec<_> = fragments.iter().flat_map(LlmResponse::function_calls).map(|call| call.id.as_ref()).collect();
    ids.dedup();
    assert_eq!(ids, [whole.id.as_ref()]);
}

#[test]
fn l218_a_call_closes_when_another_begins_and_at_the_end() {
    let open = |name: &str, id: Option<&str>, text: &str| {
        call(json!({
            "name": name, "id": id, "willContinue": true, "partialArgs": [{"jsonPath": "$.a", "stringValue": text}],
        }))
    };
    let found = |parts: Vec<Part>| -> Vec<(String, Value)> {
        let each = |call: FunctionCall| (call.name.unwrap(), call.args.unwrap()["a"].clone());
        calls(parts).into_iter().map(each).collect()
    };
    let expect = |pairs: &[(&str, &str)]| -> Vec<(String, Value)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect()
    };
    assert_eq!(found(vec![open("f", None, "1"), open("g", None, "2")]), expect(&[("f", "1"), ("g", "2")]));
    assert_eq!(found(vec![open("f", None, "1"), open("f", None, "2")]), expect(&[("f", "12")]));
    // Two calls of one function that the model distinguishes by ids.
    assert_eq!(found(vec![open("f", Some("a"), "1"), open("f", Some("b"), "2")]), expect(&[("f", "1"), ("f", "2")]));
    let plain = call(json!({"name": "g", "args": {"a": "2"}}));
    assert_eq!(found(vec![open("f", None, "1"), plain]), expect(&[("f", "1"), ("g", "2")]));
    // A scalar replaces a text, and a text replaces a scalar.
    let scalar = call(json!({"willContinue": true, "partialArgs": [{"jsonPath": "$.a", "boolValue": true}]}));
    assert_eq!(calls([open("f", None, "1"), scalar.clone()])[0].args.as_ref().unwrap()["a"], json!(true));
    let nameless = call(json!({"willContinue": false, "partialArgs": [{"jsonPath": "$.a", "stringValue": "1"}]}));
    assert_eq!(whole([Part::text("a"), nameless]), [Part::text("a")]);
}

/// Text that arrives while a call is open stays after the call.
#[test]
fn l217_parts_stay_in_the_order_of_arrival() {
    let open = call(json!({"id": "c", "name": "f", "willContinue": true}));
    let close = call(json!({"willContinue": false}));
    let parts = whole([open, Part::text("a"), close, Part::text("b")]);
    assert!(parts[0].function_call.is_some());
    assert_eq!(parts[1..], [Part::text("ab")]);
}
