//! The paths of streamed arguments: `$.a.b[0]['k']`.
// L218

use pleach_core::Map;
use serde_json::Value;

/// The largest array index that a path may contain.
const MAX_INDEX: usize = 10_000;

/// The number of array elements that may be left empty in total, between elements that are set.
pub(super) const MAX_GAPS: usize = 10_000;

/// The maximum depth of a path; values nested deeper cannot be read back from JSON.
const MAX_DEPTH: usize = 100;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// Reads a path. Text that is not a step is skipped.
pub(super) fn parse(path: &str) -> Vec<Step> {
    let mut rest = path.strip_prefix("$.").or(path.strip_prefix('$')).unwrap_or(path);
    let mut steps = Vec::new();
    while let Some(first) = rest.chars().next() {
        match step(rest) {
            Some((step, after)) => {
                steps.push(step);
                rest = after;
            }
            None => rest = &rest[first.len_utf8()..],
        }
    }
    steps
}

/// Returns the step at the beginning of a text, and the rest.
fn step(text: &str) -> Option<(Step, &str)> {
    if let Some(inside) = text.strip_prefix('[') {
        return index(inside).or_else(|| quoted(inside));
    }
    let name = text.strip_prefix('.').unwrap_or(text);
    let end = name_end(name, |c| matches!(c, '.' | '[' | ']'));
    let (name, after) = name.split_at(end);
    (!name.is_empty()).then(|| (Step::Key(unescaped(name)), after))
}

fn index(inside: &str) -> Option<(Step, &str)> {
    let (digits, after) = inside.split_once(']')?;
    let digits = digits.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number too large for `usize` also exceeds the largest index.
    is_number.then(|| (Step::Index(digits.parse().unwrap_or(usize::MAX)), after))
}

fn quoted(inside: &str) -> Option<(Step, &str)> {
    let quote = inside.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let text = &inside[1..];
    let end = name_end(text, |c| c == quote);
    let after = text[end..].strip_prefix(quote)?.strip_prefix(']')?;
    Some((Step::Key(unescaped(&text[..end])), after))
}

/// Returns the position of the first unescaped character that ends a name. A backslash at the end of the text also ends
/// the name. Without either, returns the length of the text.
fn name_end(text: &str, ends: impl Fn(char) -> bool) -> usize {
    let mut letters = text.char_indices();
    while let Some((place, letter)) = letters.next() {
        let is_end = if letter == '\\' { letters.next().is_none() } else { ends(letter) };
        if is_end {
            return place;
        }
    }
    text.len()
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        plain.push_str(before);
        let mut letters = escape.chars();
        let Some(letter) = letters.next() else { break };
        rest = letters.as_str();
        let code = escape.strip_prefix('u').and_then(|code| code.get(..4));
        match code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32) {
            Some(coded) => {
                plain.push(coded);
                rest = &rest[4..];
            }
            None => plain.push(match letter {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            }),
        }
    }
    plain.push_str(rest);
    plain
}

/// Returns the value at the end of a path.
pub(super) fn get<'a>(target: &'a Map, steps: &[Step]) -> Option<&'a Value> {
    let (Step::Key(first), rest) = steps.split_first()? else { return None };
    rest.iter().try_fold(target.get(first)?, |value, step| match step {
        Step::Key(key) => value.as_object()?.get(key),
        Step::Index(index) => value.as_array()?.get(*index),
    })
}

/// Sets the value at the end of a path, and creates the containers on the way. A path has no effect if it leads through
/// a scalar, too far into an array or too deep, or if it needs more than the remaining `gaps`.
pub(super) fn set(target: &mut Map, steps: &[Step], value: Value, gaps: &mut usize) {
    let Some((Step::Key(first), rest)) = steps.split_first() else { return };
    if steps.len() > MAX_DEPTH || steps.iter().any(|step| matches!(step, Step::Index(index) if *index > MAX_INDEX)) {
        return;
    }
    let mut place = target.entry(first.as_str()).or_insert(Value::Null);
    for step in rest {
        let Some(next) = enter(place, step, gaps) else { return };
        place = next;
    }
    *place = value;
}

/// Returns the value to which a step leads. A null becomes the container that the step needs.
fn enter<'a>(value: &'a mut Value, step: &Step, gaps: &mut usize) -> Option<&'a mut Value> {
    match step {
        Step::Key(key) => {
            if value.is_null() {
                *value = Value::Object(Map::new());
            }
            Some(value.as_object_mut()?.entry(key.as_str()).or_insert(Value::Null))
        }
        Step::Index(index) => {
            if value.is_null() {
                *value = Value::Array(Vec::new());
            }
            let items = value.as_array_mut()?;
            if items.len() <= *index {
                *gaps = gaps.checked_sub(index - items.len())?;
                items.resize(index + 1, Value::Null);
            }
            items.get_mut(*index)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn l218_paths_are_read_as_google_adk_reads_them() {
        let key = |text: &str| Step::Key(text.to_owned());
        for (path, steps) in [
            ("$.a.b[0]['k']", vec![key("a"), key("b"), Step::Index(0), key("k")]),
            ("a", vec![key("a")]),
            ("$", vec![]),
            ("$['a b'].c", vec![key("a b"), key("c")]),
            (r#"$["it\"s"]"#, vec![key("it\"s")]),
            (r"$['it\'s\n\u0041\q']", vec![key("it's\nAq")]),
            (r"$.a\.b", vec![key("a.b")]),
            ("$.a[ 12 ]", vec![key("a"), Step::Index(12)]),
            ("$.a[x]", vec![key("a"), key("x")]),
            ("$..a", vec![key("a")]),
            ("$.ä.ö", vec![key("ä"), key("ö")]),
            (r"$.a\", vec![key("a")]),
        ] {
            assert_eq!(parse(path), steps, "{path}");
        }
    }

    #[test]
    fn l218_containers_are_made_on_the_way_and_limits_hold() {
        let check = |paths: &[&str], expected: Value| {
            let (mut target, mut gaps) = (Map::new(), MAX_GAPS);
            for (number, path) in paths.iter().enumerate() {
                set(&mut target, &parse(path), json!(number), &mut gaps);
            }
            assert_eq!(Value::Object(target), expected, "{paths:?}");
        };
        check(&["$.a.b[1].c", "$.a.b[0]"], json!({"a": {"b": [1, {"c": 0}]}}));
        check(&["$.a", "$.a.b", "$.a[0]"], json!({"a": 0}));
        check(&["$.a", "$.a"], json!({"a": 1}));
        check(&["$", "$[0]", "$.a[10001]", "$.a[99999999999999999999999]"], json!({}));
        // A few short paths cannot create many long arrays.
        let (mut target, mut gaps) = (Map::new(), MAX_GAPS);
        for number in 0..100 {
            set(&mut target, &parse(&format!("$.a{number}[9000]")), json!(1), &mut gaps);
        }
        assert_eq!(target.values().filter_map(|value| Some(value.as_array()?.len())).sum::<usize>(), 9_001);
        check(&[&format!("$.a{}", ".b".repeat(1_000))], json!({}));
        assert_eq!(get(json!({"a": [1, {"b": 2}]}).as_object().unwrap(), &parse("$.a[1].b")), Some(&json!(2)));
    }
}
