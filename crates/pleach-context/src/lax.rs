//! Reading JSON into Rust types the way ADK's validation does: leniently between text and numbers.
//!
//! `"42"` fits an integer, `1` fits a float, `"true"` fits a bool; a number never fits a text.
// R504

use pleach_core::Content;
use pleach_schema::{json_or_text, to_bool, to_float, to_int};
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

use crate::NodeError;

/// A borrowed JSON value that deserialises leniently.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lax<'de>(pub(crate) &'de Value);

/// Reads `value` as a `T`, leniently.
///
/// # Errors
/// A `ValidationError` that says what does not fit.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, NodeError> {
    T::deserialize(Lax(value)).map_err(|error| NodeError::validation(without_value(&error)))
}

/// Reads a message as a `T`: its text where a text is wanted, else its text parsed as JSON.
///
/// # Errors
/// A `ValidationError` that says what does not fit.
// R304
pub fn from_content<T: DeserializeOwned>(content: &Content) -> Result<T, NodeError> {
    let text = content.text();
    let parsed = json_or_text(&text);
    T::deserialize(Text { text: &text, parsed: Lax(&parsed) })
        .map_err(|error| NodeError::validation(without_value(&error)))
}

/// What does not fit, without the value: error texts are stored, and values may be secret or temporary.
pub(crate) fn without_value(error: &Error) -> String {
    let text = error.to_string();
    let shown = |text: &str| {
        let (what, rest) = text.split_once(": ").filter(|(what, _)| what.starts_with("invalid "))?;
        let (given, wanted) = rest.rsplit_once(", expected ")?;
        let kind = given.split(['"', '`']).next().unwrap_or(given).trim_end();
        Some(format!("{what}: {kind}, expected {wanted}"))
    };
    shown(&text).unwrap_or(text)
}

impl<'de> IntoDeserializer<'de, Error> for Lax<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! lenient {
    ($convert:ident: $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match $convert(self.0) {
                Some(fitting) => Value::from(fitting).$method(visitor),
                None => self.0.$method(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Lax<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                let mut seq = SeqDeserializer::new(items.iter().map(Lax));
                let value = visitor.visit_seq(&mut seq)?;
                seq.end()?;
                Ok(value)
            }
            Value::Object(map) => {
                let entries = map.iter().map(|(key, value)| (Key(key), Lax(value)));
                visitor.visit_map(MapDeserializer::new(entries))
            }
            scalar => scalar.deserialize_any(visitor),
        }
    }

    lenient!(to_int: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
                     deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128);
    lenient!(to_float: deserialize_f32 deserialize_f64);
    lenient!(to_bool: deserialize_bool);

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A key of an object: a text, or the number or flag that is written there.
#[derive(Clone, Copy, Debug)]
struct Key<'de>(&'de str);

impl<'de> IntoDeserializer<'de, Error> for Key<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! written {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match serde_json::from_str::<Value>(self.0) {
                Ok(value @ (Value::Number(_) | Value::Bool(_))) => value.$method(visitor),
                _ => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    written!(deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
             deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
             deserialize_f32 deserialize_f64);

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        BorrowedStrDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A message: text for whoever wants a text, parsed JSON for everybody else.
#[derive(Clone, Copy, Debug)]
struct Text<'de> {
    text: &'de str,
    parsed: Lax<'de>,
}

macro_rules! parsed {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.parsed.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Error;

    parsed!(deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
            deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
            deserialize_f32 deserialize_f64 deserialize_seq deserialize_map deserialize_unit
            deserialize_ignored_any);

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.parsed.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.parsed.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char bytes byte_buf unit_struct tuple tuple_struct identifier
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

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
        let order: Order = from_value(&value).unwrap();
        assert_eq!(order, Order { id: 42, price: 3.0, paid: true, items: vec![1, 2, 1], note: None });
    }

    #[test]
    fn r504_a_number_is_no_text_and_a_fraction_no_integer() {
        assert!(from_value::<String>(&json!(5)).is_err());
        assert!(from_value::<i64>(&json!(1.5)).is_err());
        assert_eq!(from_value::<i64>(&json!("abc")).unwrap_err().class(), "ValidationError");
    }

    #[test]
    fn r504_text_is_a_number_only_as_a_plain_one() {
        let int = |text: &str| from_value::<i64>(&json!(text)).ok();
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
    fn keys_of_maps_are_read_as_the_numbers_and_flags_that_they_hold() {
        use std::collections::BTreeMap;

        let read = from_value::<BTreeMap<u8, i32>>(&json!({"7": "1", "255": 2}));
        assert_eq!(read.unwrap(), BTreeMap::from([(7, 1), (255, 2)]));
        assert_eq!(from_value::<BTreeMap<bool, i32>>(&json!({"true": 1})).unwrap(), BTreeMap::from([(true, 1)]));
        assert_eq!(from_value::<BTreeMap<String, i32>>(&json!({"7": 1})).unwrap()["7"], 1);
        assert!(from_value::<BTreeMap<u8, i32>>(&json!({"256": 1})).is_err());
        assert!(from_value::<BTreeMap<u8, i32>>(&json!({"x": 1})).is_err());
    }

    #[test]
    fn e18_e21_a_message_gives_its_text_or_the_json_in_it() {
        assert_eq!(from_content::<String>(&Content::user("12")).unwrap(), "12");
        assert_eq!(from_content::<i64>(&Content::user("12")).unwrap(), 12);
        assert_eq!(from_content::<Option<String>>(&Content::user("go")).unwrap().as_deref(), Some("go"));
        assert_eq!(from_content::<Value>(&Content::user("{\"q\":1}")).unwrap(), json!({"q": 1}));
        assert!(from_content::<std::collections::BTreeMap<String, Value>>(&Content::user("hello")).is_err());
    }
}
