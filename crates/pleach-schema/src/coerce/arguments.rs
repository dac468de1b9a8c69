//! Reading named arguments into a Rust type, and reporting every argument that does not fit.

use std::borrow::Cow;
use std::cell::Cell;

use pleach_core::Map;
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::{CoerceError, Coercing, with_big_numbers};

/// An argument that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadArgument {
    /// The name of the argument; `None` if the fault concerns the arguments as a whole, for example a missing one.
    pub name: Option<String>,
    /// A description of the fault, without the value.
    pub reason: String,
}

/// Reads named arguments as a `T`, leniently between strings and numbers.
///
/// # Errors
/// Returns every argument that does not fit. A fault of the arguments as a whole is reported only if each single
/// argument fits.
// R504
pub fn coerce_arguments<T: DeserializeOwned>(args: &Map) -> Result<T, Vec<BadArgument>> {
    let mut rest = Cow::Borrowed(args);
    let first = loop {
        let bad = match read(&rest) {
            Ok(value) => return Ok(value),
            Err(bad) => bad,
        };
        let changed = bad.name.as_ref().and_then(|name| Some((name, with_big_numbers(rest.get(name)?)?)));
        let Some((name, numbers)) = changed else { break bad };
        let mut others = rest.clone().into_owned();
        others.insert(name.clone(), numbers);
        match read::<T>(&others) {
            Err(still) if still.name == bad.name => break bad,
            _ => rest = Cow::Owned(others),
        }
    };
    let mut rest = rest.into_owned();
    let mut all = vec![first];
    // Deserialization stops at the first bad argument. Removing it makes the next one appear.
    while let Some(name) = all.last().and_then(|bad| bad.name.as_deref()) {
        rest.remove(name);
        match read::<T>(&rest) {
            Err(bad) if bad.name.is_some() => all.push(bad),
            _ => break,
        }
    }
    Err(all)
}

fn read<T: DeserializeOwned>(args: &Map) -> Result<T, BadArgument> {
    let at = Cell::new(None);
    T::deserialize(Arguments { args, at: &at })
        .map_err(|error| BadArgument { name: at.get().map(str::to_owned), reason: error.to_string() })
}

/// A deserializer of arguments. It records in `at` which argument is being read.
struct Arguments<'de, 'c> {
    args: &'de Map,
    at: &'c Cell<Option<&'de str>>,
}

impl<'de> Deserializer<'de> for Arguments<'de, '_> {
    type Error = CoerceError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoerceError> {
        let Self { args, at } = self;
        let entries = args.iter().map(|(name, value)| {
            at.set(Some(name));
            (name.as_str(), Coercing::Value(value))
        });
        let done = std::iter::from_fn(|| {
            at.set(None);
            None
        });
        visitor.visit_map(MapDeserializer::new(entries.chain(done)))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoerceError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, CoerceError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoerceError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, CoerceError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Add {
        x: i64,
        #[serde(default)]
        y: u8,
        list: Option<Vec<i64>>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Whole(Add);

    #[derive(Debug, Deserialize, PartialEq)]
    struct Nothing;

    fn check<T: DeserializeOwned + std::fmt::Debug + PartialEq>(args: Value, expected: Result<T, &[(&str, &str)]>) {
        let read = coerce_arguments::<T>(args.as_object().unwrap());
        let bad = |bad: Vec<BadArgument>| -> Vec<(String, String)> {
            bad.into_iter().map(|bad| (bad.name.unwrap_or_default(), bad.reason)).collect()
        };
        let expected = expected.map_err(|bad| {
            bad.iter().map(|(name, reason)| (String::from(*name), String::from(*reason))).collect::<Vec<_>>()
        });
        assert_eq!(read.map_err(bad), expected, "{args}");
    }

    #[test]
    fn l107_every_bad_argument_is_named() {
        check(json!({"x": "5", "other": 1}), Ok(Add { x: 5, y: 0, list: None }));
        check(json!({"x": 5, "y": 2, "list": ["1"]}), Ok(Whole(Add { x: 5, y: 2, list: Some(vec![1]) })));
        check(json!({"other": 1}), Ok(Nothing));
        check::<Add>(json!({"y": 1}), Err(&[("", "missing field `x`")]));
        check::<Add>(
            json!({"y": 300, "x": "secret", "list": [1, {}]}),
            Err(&[
                ("list", "invalid type: map, expected i64"),
                ("x", "invalid type: string, expected i64"),
                ("y", "invalid value: integer, expected u8 from 0 to 255"),
            ]),
        );
        check::<i64>(json!({"x": 1}), Err(&[("", "invalid type: map, expected i64")]));
    }

    #[test]
    fn integers_beyond_64_bits_are_passed_in_the_form_that_each_argument_accepts() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct Ids {
            exact: Value,
            any: serde_json::Number,
            #[serde(default)]
            amounts: Vec<serde_json::Number>,
            #[serde(default)]
            short: i32,
        }
        let number = || serde_json::Number::from_f64(1e24).unwrap();
        let digits = "1000000000000000000000000";
        let ids = Ids { exact: json!(digits), any: number(), amounts: vec![number()], short: 0 };
        check(json!({"any": digits, "amounts": [digits], "exact": digits}), Ok(ids));
        let range = "invalid value: integer, expected i32 from -2147483648 to 2147483647";
        check::<Ids>(json!({"any": digits, "exact": 1, "short": digits}), Err(&[("short", range)]));
        let not_a_number = "invalid type: string, expected a JSON number";
        check::<Ids>(json!({"any": "x", "exact": 1, "short": digits}), Err(&[("any", not_a_number), ("short", range)]));
    }
}
