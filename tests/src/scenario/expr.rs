//! Expressions: every JSON value evaluates to itself, except objects with one key that starts with `$`.

use serde_json::{Map, Number, Value};

use super::value::{text_of, to_text, truthy, walk};
use crate::normalise::same;

/// The values that an expression can read.
pub(crate) trait Scope {
    /// The value of `{"$": path}`.
    fn path(&self, path: &str) -> Result<Value, ExprError>;
    /// Returns true if the state has this key, even if its value is null.
    fn has_state(&self, key: &str) -> Result<bool, ExprError>;
    /// Returns true if the run has an answer to this question.
    fn has_resume(&self, id: &str) -> Result<bool, ExprError>;
}

/// The reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExprError {
    /// The operands have the wrong type. This is an ordinary error of the body, which can be caught.
    Type(String),
    /// The scenario itself is wrong.
    Scenario(String),
}

type Result<T, E = ExprError> = std::result::Result<T, E>;

/// Evaluates an expression.
pub(crate) fn eval(expr: &Value, scope: &dyn Scope) -> Result<Value> {
    match expr {
        Value::Array(items) => items.iter().map(|item| eval(item, scope)).collect(),
        Value::Object(map) => match single(map) {
            Some(("$", path)) => scope.path(path.as_str().ok_or_else(|| malformed("$", path))?),
            Some(("$lit", value)) => Ok(value.clone()),
            Some((op, operand)) if op.starts_with('$') => operator(op, operand, scope),
            _ => entries(map, scope).map(Value::Object),
        },
        plain => Ok(plain.clone()),
    }
}

/// Evaluates every value of a map.
pub(crate) fn entries(map: &Map<String, Value>, scope: &dyn Scope) -> Result<Map<String, Value>> {
    map.iter().map(|(key, value)| Ok((key.clone(), eval(value, scope)?))).collect()
}

fn single(map: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut entries = map.iter();
    let (key, value) = entries.next()?;
    entries.next().is_none().then_some((key.as_str(), value))
}

fn malformed(op: &str, operand: &Value) -> ExprError {
    ExprError::Scenario(format!("`{op}` cannot take {operand}"))
}

fn operator(op: &str, operand: &Value, scope: &dyn Scope) -> Result<Value> {
    match op {
        "$if" => match operand.as_array().map(Vec::as_slice) {
            Some([test, yes, no]) => eval(if truthy(&eval(test, scope)?) { yes } else { no }, scope),
            _ => Err(malformed(op, operand)),
        },
        "$and" => last_looked_at(op, operand, scope, true),
        "$or" => last_looked_at(op, operand, scope, false),
        _ => apply(op, &eval(operand, scope)?, scope),
    }
}

/// Evaluates `$and` while operands are true, or `$or` while they are false, and returns the last evaluated operand.
fn last_looked_at(op: &str, operand: &Value, scope: &dyn Scope, go_on: bool) -> Result<Value> {
    let mut value = Value::Bool(go_on);
    for operand in operand.as_array().ok_or_else(|| malformed(op, operand))? {
        value = eval(operand, scope)?;
        if truthy(&value) != go_on {
            break;
        }
    }
    Ok(value)
}

fn apply(op: &str, v: &Value, scope: &dyn Scope) -> Result<Value> {
    let wrong = || ExprError::Type(format!("`{op}` cannot be applied to {v}"));
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(wrong);
    let items = || v.as_array().map(Vec::as_slice).ok_or_else(wrong);
    let pair = || match items()? {
        [a, b] => Ok((a, b)),
        _ => Err(wrong()),
    };
    Ok(match op {
        "$concat" => items()?.iter().map(to_text).collect::<String>().into(),
        "$join" => {
            let (list, separator) = pair()?;
            let texts: Vec<String> = list.as_array().ok_or_else(wrong)?.iter().map(to_text).collect();
            texts.join(&text(separator)?).into()
        }
        "$add" => items()?.iter().try_fold(Value::from(0), |sum, item| add(&sum, item)).ok_or_else(wrong)?,
        "$sub" => pair().and_then(|(a, b)| subtract(a, b).ok_or_else(wrong))?,
        "$mul" => pair().and_then(|(a, b)| multiply(a, b).ok_or_else(wrong))?,
        "$mod" => pair().and_then(|(a, b)| modulo(a, b).ok_or_else(wrong))?,
        "$eq" => pair().map(|(a, b)| same(a, b).into())?,
        "$lt" => pair().and_then(|(a, b)| less(a, b).ok_or_else(wrong))?.into(),
        "$not" => (!truthy(v)).into(),
        "$get" => get(items()?).ok_or_else(wrong)?,
        "$len" => length(v).ok_or_else(wrong)?.into(),
        "$append" => {
            let (list, item) = pair()?;
            let list = if truthy(list) { list.as_array().ok_or_else(wrong)?.clone() } else { Vec::new() };
            list.into_iter().chain([item.clone()]).collect()
        }
        "$merge" => merge(items()?).ok_or_else(wrong)?,
        "$keys" => v.as_object().ok_or_else(wrong)?.keys().cloned().collect(),
        "$range" => (0..v.as_i64().ok_or_else(wrong)?).collect(),
        "$upper" => text(v)?.to_uppercase().into(),
        "$split" => {
            let (whole, separator) = pair()?;
            text(whole)?.split(&text(separator)?).collect()
        }
        "$text" => text_of(v).into(),
        "$has_state" => scope.has_state(&text(v)?)?.into(),
        "$has_resume" => scope.has_resume(&text(v)?)?.into(),
        _ => return Err(ExprError::Scenario(format!("unknown operator `{op}`"))),
    })
}

fn get(operands: &[Value]) -> Option<Value> {
    let [object, key, default @ ..] = operands else { return None };
    let found = walk(object, [to_text(key).as_str()]);
    Some(match default.first() {
        Some(default) if found.is_null() => default.clone(),
        _ => found,
    })
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Null => Some(0),
        Value::String(text) => Some(text.chars().count()),
        Value::Array(items) => Some(items.len()),
        Value::Object(map) => Some(map.len()),
        _ => None,
    }
}

fn merge(maps: &[Value]) -> Option<Value> {
    let mut merged = Map::new();
    for map in maps.iter().filter(|map| truthy(map)) {
        merged.extend(map.as_object()?.clone());
    }
    Some(Value::Object(merged))
}

/// The number of a value, where true is 1.
fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::Bool(flag) => Some(i64::from(*flag).into()),
        _ => None,
    }
}

fn arithmetic(a: &Value, b: &Value, whole: fn(i64, i64) -> Option<i64>, float: fn(f64, f64) -> f64) -> Option<Value> {
    let (a, b) = (number(a)?, number(b)?);
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => whole(a, b).map(Value::from),
        _ => Some(float(a.as_f64()?, b.as_f64()?).into()),
    }
}

fn add(a: &Value, b: &Value) -> Option<Value> {
    arithmetic(a, b, i64::checked_add, |a, b| a + b)
}

fn subtract(a: &Value, b: &Value) -> Option<Value> {
    arithmetic(a, b, i64::checked_sub, |a, b| a - b)
}

fn multiply(a: &Value, b: &Value) -> Option<Value> {
    arithmetic(a, b, i64::checked_mul, |a, b| a * b)
}

/// The remainder has the sign of the divisor, as in Python.
fn modulo(a: &Value, b: &Value) -> Option<Value> {
    let whole = |a: i64, b: i64| {
        let rest = a.checked_rem(b)?;
        Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
    };
    arithmetic(a, b, whole, |a, b| a - b * (a / b).floor())
}

fn less(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a < b),
        _ => {
            let (a, b) = (number(a)?, number(b)?);
            match (a.as_i64(), b.as_i64()) {
                (Some(a), Some(b)) => Some(a < b),
                _ => Some(a.as_f64()? < b.as_f64()?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Fixed;

    impl Scope for Fixed {
        fn path(&self, path: &str) -> Result<Value> {
            Ok(walk(&json!({"n": 4, "o": {"k": null}}), path.split('.')))
        }
        fn has_state(&self, key: &str) -> Result<bool> {
            Ok(key == "there")
        }
        fn has_resume(&self, _: &str) -> Result<bool> {
            Ok(false)
        }
    }

    fn check(expr: Value, expected: Value) {
        assert_eq!(eval(&expr, &Fixed), Ok(expected), "{expr}");
    }

    #[test]
    fn plain_values_are_themselves_and_paths_are_read() {
        check(json!({"a": [1, {"$": "n"}], "b": null}), json!({"a": [1, 4], "b": null}));
        check(json!({"$lit": {"$": "n"}}), json!({"$": "n"}));
        check(json!({"$": "n", "other": 1}), json!({"$": "n", "other": 1}));
    }

    #[test]
    fn numbers() {
        check(json!({"$add": [1, 2, {"$": "n"}]}), json!(7));
        check(json!({"$add": [1, 0.5]}), json!(1.5));
        check(json!({"$sub": [1, 3]}), json!(-2));
        check(json!({"$mul": [3, true]}), json!(3));
        check(json!({"$mod": [-1, 3]}), json!(2));
        check(json!({"$lt": [1, 1.5]}), json!(true));
        check(json!({"$lt": ["b", "a"]}), json!(false));
        check(json!({"$range": 3}), json!([0, 1, 2]));
        assert!(matches!(eval(&json!({"$add": [1, "x"]}), &Fixed), Err(ExprError::Type(_))));
        assert!(matches!(eval(&json!({"$mod": [1, 0]}), &Fixed), Err(ExprError::Type(_))));
    }

    #[test]
    fn logic_returns_the_last_evaluated_operand() {
        check(json!({"$or": [0, "a", {"$unknown": 1}]}), json!("a"));
        check(json!({"$and": [1, "", {"$unknown": 1}]}), json!(""));
        check(json!({"$if": [[], 1, 2]}), json!(2));
        check(json!({"$not": {}}), json!(true));
        check(json!({"$eq": [1, 1.0]}), json!(true));
        check(json!({"$eq": [1, true]}), json!(false));
        check(json!({"$has_state": "there"}), json!(true));
    }

    #[test]
    fn texts_lists_and_maps() {
        check(json!({"$concat": ["a", null, {"b": 1}, 2.0]}), json!("anull{\"b\":1}2"));
        check(json!({"$join": [["a", 1], "-"]}), json!("a-1"));
        check(json!({"$split": ["a,b", ","]}), json!(["a", "b"]));
        check(json!({"$len": "äb"}), json!(2));
        check(json!({"$append": [null, 1]}), json!([1]));
        check(json!({"$merge": [null, {"a": 1}, {"a": 2}]}), json!({"a": 2}));
        check(json!({"$keys": {"b": 1, "a": 1}}), json!(["a", "b"]));
        check(json!({"$get": [[1, 2], -1]}), json!(2));
        check(json!({"$get": [{"$": "o"}, "k", "d"]}), json!("d"));
    }

    #[test]
    fn an_unknown_operator_is_a_fault_of_the_scenario() {
        assert!(matches!(eval(&json!({"$sum": [1]}), &Fixed), Err(ExprError::Scenario(_))));
    }
}
