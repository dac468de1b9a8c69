//! Reading JSON into Rust types as leniently as ADK's validation.
//!
//! `"42"` fits an integer, `1` fits a float, `"true"` fits a bool, but a number never fits a string. An integer of
//! more than 64 bits is represented by a string of its digits, which fits 128-bit integers, floats and strings.
// R504

mod arguments;
mod deserializer;
mod error;

use pleach_core::{Content, is_big_integer};
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::json_or_text;
pub use arguments::{BadArgument, coerce_arguments};
pub use error::CoerceError;

pub(crate) use deserializer::Coercing;

/// Reads `value` as a `T`, leniently.
///
/// # Errors
/// Names the field and the expected type, but never the value.
pub fn coerce<T: DeserializeOwned>(value: &Value) -> Result<T, CoerceError> {
    read(value).or_else(|misfit| match with_big_numbers(value) {
        Some(numbers) => read(&numbers).map_err(|_| misfit),
        None => Err(misfit),
    })
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, CoerceError> {
    T::deserialize(Coercing::Value(value))
}

/// Returns the value with a float in place of each string that is an integer of more than 64 bits; `None` if there
/// is no such string.
///
/// Such integers are strings, so that no digit is lost. But a type that accepts any number, such as
/// `serde_json::Number`, does not accept a string.
fn with_big_numbers(value: &Value) -> Option<Value> {
    let mut numbers = value.clone();
    replace_big_texts(&mut numbers).then_some(numbers)
}

fn replace_big_texts(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let number = is_big_integer(text).then(|| text.parse().ok()).flatten().and_then(Number::from_f64);
            let found = number.is_some();
            if let Some(number) = number {
                *value = Value::Number(number);
            }
            found
        }
        Value::Array(items) => items.iter_mut().fold(false, |found, item| found | replace_big_texts(item)),
        Value::Object(members) => members.values_mut().fold(false, |found, member| found | replace_big_texts(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Reads a message as a `T`: its text if `T` is a string, otherwise the JSON in its text.
///
/// # Errors
/// Names the field and the expected type, but never the value.
// R304
pub fn coerce_content<T: DeserializeOwned>(content: &Content) -> Result<T, CoerceError> {
    let text = content.text();
    T::deserialize(Coercing::Message { text: &text, parsed: &json_or_text(&text) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::{to_bool, to_float, to_int};

    #[derive(Debug, Deserialize, PartialEq)]
    struct Order {
        id: u32,
        price: f64,
        paid: bool,
        items: Vec<i64>,
        note: Option<String>,
    }

    #[test]
    fn r504_text_fits_numbers_and_flags_at_any_depth() {
        let value = json!({"id": "42", "price": 3, "paid": "yes", "items": ["1", 2.0, true], "note": null});
        let order: Order = coerce(&value).unwrap();
        assert_eq!(order, Order { id: 42, price: 3.0, paid: true, items: vec![1, 2, 1], note: None });
    }

    #[test]
    fn r504_a_number_is_no_text_and_a_fraction_no_integer() {
        assert!(coerce::<String>(&json!(5)).is_err());
        assert!(coerce::<i64>(&json!(1.5)).is_err());
        assert!(coerce::<i64>(&json!("abc")).is_err());
    }

    #[test]
    fn r504_text_is_a_number_only_as_a_plain_one() {
        let int = |text: &str| coerce::<i64>(&json!(text)).ok();
        for (text, number) in [("1_000", 1000), (" +1.00 ", 1), ("-1_0.0", -10), ("007", 7)] {
            assert_eq!(int(text), Some(number), "{text}");
        }
        for text in ["1e2", "1.", ".0", "1__0", "_1", "1_", "1_.0", "1._0", "+-1", "0x1", "1.5", ""] {
            assert_eq!(int(text), None, "{text}");
        }
        assert_eq!(to_int(&json!("123456789012345678901234567890")), Some(json!(1.234_567_890_123_456_8e29)));
        assert_eq!(to_float(&json!("1_0.5e1")), Some(105.0));
        assert_eq!(to_float(&json!("inf")), None);
        assert_eq!(to_float(&json!("1__0")), None);
        assert_eq!((to_bool(&json!("On")), to_bool(&json!(" on"))), (Some(true), None));
    }

    #[test]
    fn integers_beyond_64_bits_fit_types_that_can_hold_them() {
        let digits = "1234567890123456789012345";
        let big: i128 = 1_234_567_890_123_456_789_012_345;
        let value = json!(digits);
        assert_eq!(coerce::<i128>(&value).unwrap(), big);
        assert_eq!(coerce::<u128>(&json!(u128::MAX.to_string())).unwrap(), u128::MAX);
        assert_eq!(coerce::<i128>(&json!(i128::MIN.to_string())).unwrap(), i128::MIN);
        assert_eq!(coerce::<i128>(&json!(u64::MAX)).unwrap(), i128::from(u64::MAX));
        assert_eq!(coerce::<Vec<Option<i128>>>(&json!([digits, -1, null])).unwrap(), [Some(big), Some(-1), None]);
        assert_eq!(coerce::<BTreeMap<i128, u128>>(&json!({digits: digits})).unwrap().keys().next(), Some(&big));
        assert_eq!(coerce::<String>(&value).unwrap(), digits);
        assert_eq!(coerce::<Value>(&value).unwrap(), value);
        assert_eq!(coerce::<f64>(&value).unwrap(), 1.234_567_890_123_456_8e24);
        assert_eq!(coerce::<Number>(&value).unwrap().as_f64(), Some(1.234_567_890_123_456_8e24));
        let misfit = |text: &str| coerce::<i64>(&json!(text)).unwrap_err().to_string();
        let range = "invalid value: integer, expected i64 from -9223372036854775808 to 9223372036854775807";
        for text in [digits, "9223372036854775808", "-9223372036854775809", &"9".repeat(400)] {
            assert_eq!(misfit(text), range);
        }
        let range = "invalid value: integer, expected u128 from 0 to 340282366920938463463374607431768211455";
        for text in ["-1", &"9".repeat(400)] {
            assert_eq!(coerce::<u128>(&json!(text)).unwrap_err().to_string(), range);
        }
        assert_eq!(coerce_content::<i128>(&Content::user(digits)).unwrap(), big);
        assert_eq!(coerce_content::<Vec<i128>>(&Content::user(format!("[{digits}]"))).unwrap(), [big]);
    }

    #[test]
    fn keys_of_maps_are_read_as_numbers_and_flags() {
        let read = coerce::<BTreeMap<u8, i32>>(&json!({"7": "1", "255": 2}));
        assert_eq!(read.unwrap(), BTreeMap::from([(7, 1), (255, 2)]));
        assert_eq!(coerce::<BTreeMap<bool, i32>>(&json!({"true": 1})).unwrap(), BTreeMap::from([(true, 1)]));
        assert_eq!(coerce::<BTreeMap<String, i32>>(&json!({"7": 1})).unwrap()["7"], 1);
        for key in ["256", "x", "1_0", "7.0"] {
            assert!(coerce::<BTreeMap<u8, i32>>(&json!({key: 1})).is_err(), "{key}");
        }
    }

    /// The deserializers of values, keys and messages agree in everything that they share.
    #[test]
    fn options_newtypes_and_enums_are_read_in_values_keys_and_messages() {
        #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
        enum Size {
            Small,
        }
        #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
        struct Id(Option<u8>);

        assert_eq!(coerce::<Vec<Size>>(&json!(["Small"])).unwrap(), [Size::Small]);
        assert_eq!(coerce::<BTreeMap<Size, Id>>(&json!({"Small": "1"})).unwrap()[&Size::Small], Id(Some(1)));
        assert_eq!(coerce::<BTreeMap<Id, u8>>(&json!({"2": 1})).unwrap()[&Id(Some(2))], 1);
        assert_eq!(coerce_content::<Size>(&Content::user("Small")).unwrap(), Size::Small);
        assert_eq!(coerce_content::<Id>(&Content::user("3")).unwrap(), Id(Some(3)));
        assert_eq!(coerce_content::<Option<String>>(&Content::user("null")).unwrap().as_deref(), Some("null"));
        assert_eq!(coerce::<Option<String>>(&json!(null)).unwrap(), None);
    }

    #[test]
    fn e18_e21_a_message_gives_its_text_or_the_json_in_it() {
        assert_eq!(coerce_content::<String>(&Content::user("12")).unwrap(), "12");
        assert_eq!(coerce_content::<i64>(&Content::user("12")).unwrap(), 12);
        assert_eq!(coerce_content::<Option<String>>(&Content::user("go")).unwrap().as_deref(), Some("go"));
        assert_eq!(coerce_content::<Value>(&Content::user("{\"q\":1}")).unwrap(), json!({"q": 1}));
        assert!(coerce_content::<BTreeMap<String, Value>>(&Content::user("hello")).is_err());
    }
}
