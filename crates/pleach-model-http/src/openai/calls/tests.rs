//! Tests that calls are restored from their pieces, however a server cuts them.

use std::cell::Cell;

use pleach_contract::CountedIds;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Returns the ids, names and arguments of the calls that the pieces make.
fn joined(pieces: &[Value]) -> Result<Vec<(String, String, Value)>, String> {
    let ids = CountedIds::new();
    let mut calls = Calls::default();
    for piece in pieces {
        calls.push_piece(piece, |name| name.starts_with("get_"), &ids);
    }
    let parts = calls.into_parts()?;
    let call = |part: Part| {
        let call = *part.function_call.unwrap();
        (call.id.unwrap(), call.name.unwrap(), Value::Object(call.args.unwrap()))
    };
    Ok(parts.into_iter().map(call).collect())
}

/// Checks names and arguments, and that the ids differ.
fn check(pieces: &[Value], expected: &[(&str, Value)]) {
    let calls = joined(pieces).unwrap_or_else(|fault| panic!("{fault}: {pieces:?}"));
    let made: Vec<(&str, Value)> = calls.iter().map(|(_, name, arguments)| (&**name, arguments.clone())).collect();
    assert_eq!(made, expected, "{pieces:?}");
    let ids: std::collections::HashSet<&str> = calls.iter().map(|(id, ..)| &**id).collect();
    assert_eq!(ids.len(), calls.len(), "the ids differ: {calls:?}");
}

fn piece(place: Value, name: &str, arguments: &str) -> Value {
    let mut piece = place;
    piece["function"] = json!({"name": Some(name).filter(|name| !name.is_empty()), "arguments": arguments});
    piece
}

#[test]
fn l236_a_name_begins_another_call_when_the_open_one_is_whole() {
    let two = [("f", json!({"n": 1})), ("f", json!({"n": 2}))];
    for at in [json!({"index": 0}), json!({}), json!({"index": "0"})] {
        let at = || at.clone();
        check(&[piece(at(), "f", "{\"n\":1}"), piece(at(), "f", "{\"n\":2}")], &two);
        check(&[piece(at(), "f", "{\"n\":1}"), piece(at(), "f", ""), piece(at(), "", "{\"n\":2}")], &two);
        check(&[piece(at(), "f", "{\"n\":"), piece(at(), "f", "1}"), piece(at(), "f", "{\"n\":2}")], &two);
        // A last piece with a name but without arguments begins no call.
        check(&[piece(at(), "f", "{\"n\":1}"), piece(at(), "f", "")], &two[..1]);
    }
    let known = [("get_time", json!({})), ("get_city", json!({"n": 2}))];
    check(&[piece(json!({"index": 0}), "get_time", ""), piece(json!({"index": 0}), "get_city", "{\"n\":2}")], &known);
    check(
        &[piece(json!({"index": 0}), "get_", ""), piece(json!({"index": 0}), "city", "{}")],
        &[("get_city", json!({}))],
    );
}

#[test]
fn a_call_that_is_repeated_is_one() {
    let whole = || piece(json!({"index": 0, "id": "a"}), "f", "{\"n\": 1}");
    let one = [("f", json!({"n": 1}))];
    check(&[whole(), whole()], &one);
    check(&[whole(), piece(json!({"index": 1, "id": "a"}), "f", "{\"n\":1}"), whole()], &one);
    check(&[whole(), piece(json!({"id": "a"}), "f", "{\"n\""), piece(json!({"id": "a"}), "f", ":1}")], &one);
    check(&[whole(), piece(json!({"id": "a"}), "f", "")], &one);
    check(&[whole(), piece(json!({"id": "a"}), "", "{\"n\":1}")], &one);
    check(&[whole(), piece(json!({"id": "a"}), "f", "{}")], &one);
    let mut calls = Calls::default();
    calls.push_whole(&whole(), &CountedIds::new());
    calls.push_whole(&whole(), &CountedIds::new());
    assert_eq!(calls.into_parts().unwrap().len(), 1);
}

#[test]
fn one_id_for_several_calls_gives_each_an_id() {
    let at = |index: u64| json!({"index": index, "id": "call_0"});
    let two = [("f", json!({"n": 1})), ("g", json!({"n": 2}))];
    check(&[piece(at(0), "f", "{\"n\":1}"), piece(at(1), "g", "{\"n\":2}")], &two);
    check(&[piece(at(0), "f", "{\"n\":1}"), piece(at(0), "g", "{\"n\":2}")], &two);
    let same = [("f", json!({"n": 1})), ("f", json!({"n": 2}))];
    check(&[piece(at(0), "f", "{\"n\":1}"), piece(at(1), "f", "{\"n\":2}")], &same);
    check(&[piece(at(0), "f", "{\"n\":1}"), piece(at(1), "f", ""), piece(json!({"index": 1}), "", "{\"n\":2}")], &same);
}

#[test]
fn ids_that_change_or_come_late_continue_the_call() {
    let one = [("f", json!({"n": 1}))];
    let at = |id: &str| json!({"index": 0, "id": id});
    check(&[piece(at("a"), "f", "{\"n\""), piece(at("b"), "", ":1}")], &one);
    check(&[piece(json!({"index": 0}), "f", ""), piece(at("a"), "f", "{\"n\":1}")], &one);
    check(&[piece(at("a"), "", ""), piece(json!({"index": 0}), "f", "{\"n\":1}")], &one);
    // A piece at another index belongs to the call with its id.
    check(&[piece(at("a"), "f", "{\"n\""), piece(json!({"index": 3, "id": "a"}), "", ":1}")], &one);
}

#[test]
fn pieces_with_new_ids_and_the_name_are_one_call_where_they_are_whole_only_together() {
    let pieces = |at: &Value, texts: &[&str]| -> Vec<Value> {
        let with_id = |(number, text): (usize, &&str)| {
            let mut at = at.clone();
            at["id"] = json!(format!("id_{number}"));
            piece(at, "f", text)
        };
        texts.iter().enumerate().map(with_id).collect()
    };
    let (one, two) = (("f", json!({"n": 1})), ("f", json!({"n": 2})));
    for at in [json!({"index": 0}), json!({"index": "0"}), json!({})] {
        for texts in
            [&["{\"n\"", ":1}"][..], &["", "{\"n\"", ":", "1", "}"], &["{\"n\"", "", ":1", "}", ""], &["{", "\"n\":1}"]]
        {
            check(&pieces(&at, texts), std::slice::from_ref(&one));
            assert_eq!(joined(&pieces(&at, texts)).unwrap()[0].0, "id_0");
        }
        check(&pieces(&at, &["{\"n\"", ":1}", "{\"n", "\":2}"]), &[one.clone(), two.clone()]);
        // A piece that is whole by itself is a call.
        check(&pieces(&at, &["{\"n\":1}", "{\"n\":2}"]), &[one.clone(), two.clone()]);
        check(&pieces(&at, &["{\"n\":1}", "{\"n\"", ":2}"]), &[one.clone(), two.clone()]);
        check(&pieces(&at, &["", ""]), &[("f", json!({})), ("f", json!({}))]);
        check(&pieces(&at, &["", "{}"]), &[("f", json!({})), ("f", json!({}))]);
        check(&pieces(&at, &["{\"n\":", "{}", ",\"m\":", "null", "}"]), &[("f", json!({"n": {}, "m": null}))]);
        assert!(joined(&pieces(&at, &["{\"n\"", "{\"n\":2}", ":1}"])).is_err());
        assert!(joined(&pieces(&at, &["{\"n\"", ":1"])).is_err());
    }
    // If an id comes again, each id belongs to a call of its own.
    let at = |id: &str| json!({"index": 0, "id": id});
    let alternating = [
        piece(at("a"), "f", "{\"n\""),
        piece(at("b"), "f", "{\"n\""),
        piece(at("a"), "f", ":1}"),
        piece(at("b"), "f", ":2}"),
    ];
    check(&alternating, &[one, two]);
}

#[test]
fn pieces_of_one_call_do_not_count_as_calls() {
    let mut calls = Calls::default();
    let texts = std::iter::once("{\"n\":\"".to_owned()).chain((0..5_000).map(|_| "x".to_owned()));
    for (number, text) in texts.chain(["\"}".to_owned()]).enumerate() {
        let announced =
            calls.push_piece(&piece(json!({"index": 0, "id": number}), "f", &text), |_| false, &CountedIds::new());
        assert_eq!((announced.is_some(), calls.len()), (number == 0, 1));
    }
    assert_eq!(calls.into_parts().unwrap().len(), 1);
}

#[test]
fn an_empty_object_before_the_arguments_is_replaced() {
    let one = [("f", json!({"n": 1}))];
    let at = || json!({"index": 0, "id": "a"});
    check(&[piece(at(), "f", "{}"), piece(json!({"index": 0}), "", "{\"n\":1}")], &one);
    check(&[piece(at(), "f", "{}"), piece(at(), "f", "{\"n\""), piece(at(), "f", ":1}")], &one);
    check(&[piece(at(), "f", "{}{\"n\":1}")], &one);
    check(&[piece(at(), "f", "{}{\"n\""), piece(json!({"index": 0}), "", ":1}")], &one);
    let object = json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": {}}});
    check(&[object, piece(json!({"index": 0}), "", "{\"n\":1}")], &one);
}

#[test]
fn the_older_form_of_a_call_has_its_members_at_the_top() {
    check(&[json!({"name": "f", "arguments": "{\"n\""}), json!({"arguments": ":1}"})], &[("f", json!({"n": 1}))]);
}

#[test]
fn calls_that_cannot_be_read_are_named() {
    let fault = |pieces: &[Value]| joined(pieces).unwrap_err();
    let at = || json!({"index": 0, "id": "a"});
    let joined_up = "the arguments of these calls are several JSON objects: f";
    assert_eq!(fault(&[piece(at(), "f", "{\"n\":1}{\"n\":2}")]), joined_up);
    assert_eq!(fault(&[piece(at(), "f", "{\"n\":1}"), piece(json!({"index": 0}), "", "{\"n\":2}")]), joined_up);
    assert_eq!(fault(&[piece(at(), "f", "{\"n\":")]), "the arguments of these calls are no JSON object: f");
    assert_eq!(fault(&[piece(at(), "", "{\"n\":1}")]), "a call has no name: `a`");
    assert_eq!(fault(&[piece(json!({}), "", "{}")]), "a call has no name");
    let mut calls = Calls::default();
    calls.push_whole(&piece(at(), "", ""), &CountedIds::new());
    assert_eq!(calls.into_parts().unwrap_err(), "a call has no name: `a`");
    // An empty piece is not a call.
    assert_eq!(joined(&[piece(at(), "", "")]), Ok(vec![]));
}

#[test]
fn a_call_is_announced_once_and_a_repetition_never() {
    let ids = CountedIds::new();
    let mut calls = Calls::default();
    let mut push = |piece: Value| calls.push_piece(&piece, |_| false, &ids).map(|call| call.name.unwrap());
    let at = || json!({"index": 0, "id": "a"});
    assert_eq!(push(piece(at(), "f", "{\"n\"")).as_deref(), Some("f"));
    assert_eq!(push(piece(at(), "", ":1}")), None);
    assert_eq!(push(piece(at(), "f", "{\"n\":1}")), None);
    assert_eq!(push(piece(json!({"index": 0}), "f", "")), None);
    assert_eq!(push(piece(json!({"index": 0}), "", "{")).as_deref(), Some("f"));
}

/// How a server writes the index of a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Index {
    Number,
    Text,
    /// Always 0.
    Zero,
    Missing,
}

/// The pieces on which a server writes ids.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ids {
    Every,
    First,
    /// A new id on each piece.
    Fresh,
    /// The same id on every piece of all calls.
    Shared,
    Missing,
}

/// The habits of a server.
#[derive(Clone, Copy, Debug)]
struct Habits {
    index: Index,
    ids: Ids,
    /// Whether the name is on every piece.
    names: bool,
    /// Whether an empty object comes before the arguments.
    placeholder: bool,
    /// Whether the whole call follows its pieces.
    repeats: bool,
    /// Whether arguments are a JSON value instead of its text.
    objects: bool,
    /// Whether the pieces of the calls alternate.
    alternates: bool,
}

impl Habits {
    /// Turns off combinations of habits that no reader could undo.
    fn possible(mut self) -> Self {
        let by_id = self.ids == Ids::Every;
        self.alternates &= by_id || (matches!(self.index, Index::Number | Index::Text) && self.ids != Ids::Shared);
        self.repeats &= !matches!(self.ids, Ids::Missing | Ids::Fresh);
        // A piece with a name after an empty object begins a call, unless it has the id as well.
        self.placeholder &= !self.names || by_id;
        self
    }

    /// Returns the pieces of the arguments. If every piece has a new id and the name, a piece without arguments or with
    /// an object would be a call, so there are no such pieces.
    fn cut(&self, call: &Made) -> Vec<String> {
        let mut pieces = call.cut();
        if self.ids == Ids::Fresh && self.names {
            pieces.retain(|text| !text.is_empty());
            if pieces
                .iter()
                .any(|text| text.parse::<Value>().is_ok_and(|value| value.is_object() && value != json!({})))
            {
                return vec![pieces.concat()];
            }
        }
        pieces
    }

    fn pieces(&self, place: usize, call: &Made) -> Vec<Value> {
        let id = if self.ids == Ids::Shared { "call_0".to_owned() } else { format!("call_{place}") };
        let fresh = Cell::new(0);
        let with = |is_first: bool, arguments: Value| {
            let mut piece = match self.index {
                Index::Number => json!({"index": place}),
                Index::Text => json!({"index": place.to_string()}),
                Index::Zero => json!({"index": 0}),
                Index::Missing => json!({}),
            };
            if matches!(self.ids, Ids::Every | Ids::Shared) || (self.ids == Ids::First && is_first) {
                piece["id"] = json!(id);
            }
            if self.ids == Ids::Fresh {
                piece["id"] = json!(format!("{id}_{}", fresh.replace(fresh.get() + 1)));
            }
            piece["function"] = json!({"arguments": arguments});
            if self.names || is_first {
                piece["function"]["name"] = json!(call.name);
            }
            piece
        };
        let whole = || if self.objects { call.arguments.clone() } else { json!(call.arguments.to_string()) };
        let mut pieces = Vec::new();
        if self.placeholder && call.arguments != json!({}) {
            pieces.push(with(true, json!("{}")));
        }
        if self.objects {
            pieces.push(with(pieces.is_empty(), whole()));
        } else {
            for text in self.cut(call) {
                pieces.push(with(pieces.is_empty(), json!(text)));
            }
        }
        if self.repeats {
            pieces.push(with(true, whole()));
        }
        pieces
    }
}

/// A call that a model makes, and the positions where a server cuts its arguments.
#[derive(Clone, Debug)]
struct Made {
    name: String,
    arguments: Value,
    cuts: Vec<prop::sample::Index>,
}

impl Made {
    fn cut(&self) -> Vec<String> {
        let letters: Vec<char> = self.arguments.to_string().chars().collect();
        let mut cuts: Vec<usize> = self.cuts.iter().map(|cut| cut.index(letters.len() + 1)).collect();
        cuts.extend([0, letters.len()]);
        cuts.sort_unstable();
        // Equal cuts give pieces without a text.
        cuts.windows(2).map(|ends| letters[ends[0]..ends[1]].iter().collect()).collect()
    }
}

fn made() -> impl Strategy<Value = Made> {
    let text = prop::string::string_regex("[a-c{}\\[\\]\"\\\\:, \n\u{e4}\u{1f600}]{0,6}").unwrap();
    let leaf = prop_oneof![any::<i64>().prop_map(Value::from), text.prop_map(Value::from), Just(Value::Null)];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            vec(("[a-c{}]{1,2}", inner), 0..3).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    let arguments = vec(("[a-c]{1,2}", value), 0..3).prop_map(|members| Value::Object(members.into_iter().collect()));
    let name = prop::sample::select(vec!["get_weather", "get_time", "get_", "get_weather_in"]);
    (name, arguments, vec(any::<prop::sample::Index>(), 0..4)).prop_map(|(name, arguments, cuts)| Made {
        name: name.to_owned(),
        arguments,
        cuts,
    })
}

fn habits() -> impl Strategy<Value = Habits> {
    let index = prop::sample::select(vec![Index::Number, Index::Text, Index::Zero, Index::Missing]);
    let ids = prop::sample::select(vec![Ids::Every, Ids::First, Ids::Fresh, Ids::Shared, Ids::Missing]);
    (index, ids, any::<[bool; 5]>()).prop_map(|(index, ids, [names, placeholder, repeats, objects, alternates])| {
        Habits { index, ids, names, placeholder, repeats, objects, alternates }.possible()
    })
}

/// Returns the pieces of all calls, one call after the other or alternating.
fn cut(calls: &[Made], habits: Habits) -> Vec<Value> {
    let mut queues: Vec<_> =
        calls.iter().enumerate().map(|(place, call)| habits.pieces(place, call).into_iter()).collect();
    if !habits.alternates {
        return queues.into_iter().flatten().collect();
    }
    let mut pieces = Vec::new();
    loop {
        let round: Vec<Value> = queues.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return pieces;
        }
        pieces.extend(round);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn calls_come_out_as_they_were_made(calls in vec(made(), 0..5), habits in habits()) {
        let mut calls = calls;
        if habits.ids == Ids::Shared {
            // Equal calls with one id are the same call, and a call without arguments looks like a repetition.
            let mut seen = Vec::new();
            calls.retain(|call| {
                let key = (call.name.clone(), call.arguments.clone());
                let is_new = call.arguments != json!({}) && !seen.contains(&key);
                seen.push(key);
                is_new
            });
        }
        let pieces = cut(&calls, habits);
        let found = joined(&pieces);
        let made: Vec<(String, Value)> = calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect();
        let found = found.map_err(|fault| TestCaseError::fail(format!("{fault}: {habits:?} {pieces:?}")))?;
        let named: Vec<(String, Value)> =
            found.iter().map(|(_, name, arguments)| (name.clone(), arguments.clone())).collect();
        prop_assert_eq!(named, made, "{:?} {:?}", habits, pieces);
        let ids: std::collections::BTreeSet<&String> = found.iter().map(|(id, ..)| id).collect();
        prop_assert_eq!(ids.len(), found.len());
        if matches!(habits.ids, Ids::Every | Ids::First) {
            let given: Vec<String> = (0..found.len()).map(|place| format!("call_{place}")).collect();
            let kept: Vec<String> = found.iter().map(|(id, ..)| id.clone()).collect();
            prop_assert_eq!(kept, given);
        }
    }
}
