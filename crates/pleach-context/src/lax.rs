//! Reading JSON into Rust types the way ADK's validation does: leniently between text and numbers.
//!
//! `"42"` fits an integer, `1` fits a float, `"true"` fits a bool; a number never fits a text.
// R504

mod misfit;

use pleach_core::Content;
use pleach_schema::{json_or_text, to_bool, to_float, to_int};
use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use crate::NodeError;
pub(crate) use misfit::Misfit;

/// A borrowed JSON value that deserialises leniently.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lax<'de>(pub(crate) &'de Value);

/// Reads `value` as a `T`, leniently.
///
/// # Errors
/// A `ValidationError` that names the field and what is wanted, never the value.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, NodeError> {
    T::deserialize(Lax(value)).map_err(NodeError::from)
}

/// Reads a message as a `T`: its text where a text is wanted, else its text parsed as JSON.
///
/// # Errors
/// A `ValidationError` that names the field and what is wanted, never the value.
// R304
pub fn from_content<T: DeserializeOwned>(content: &Content) -> Result<T, NodeError> {
    let text = content.text();
    let parsed = json_or_text(&text);
    T::deserialize(Text { text: &text, parsed: Lax(&parsed) }).map_err(NodeError::from)
}

impl From<Misfit> for NodeError {
    fn from(misfit: Misfit) -> Self {
        Self::validation(misfit.to_string())
    }
}

impl<'de> IntoDeserializer<'de, Misfit> for Lax<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

/// Shows a value that is neither a list nor an object.
fn visit_scalar<'de, V: Visitor<'de>>(value: &Value, visitor: V) -> Result<V::Value, Misfit> {
    match value {
        Value::Bool(flag) => visitor.visit_bool(*flag),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => visitor.visit_u64(number),
            (None, Some(number), _) => visitor.visit_i64(number),
            (None, None, float) => visitor.visit_f64(float.unwrap_or(f64::NAN)),
        },
        other => Err(Misfit::invalid_type(kind_of(other), &visitor)),
    }
}

fn kind_of(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(flag) => Unexpected::Bool(*flag),
        Value::Number(number) if number.is_f64() => Unexpected::Float(0.0),
        Value::Number(_) => Unexpected::Signed(0),
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

macro_rules! lenient {
    ($convert:ident: $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            match $convert(self.0) {
                Some(fitting) => visit_scalar(&Value::from(fitting), visitor),
                None => visit_scalar(self.0, visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Lax<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
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
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Null => visitor.visit_unit(),
            scalar => visit_scalar(scalar, visitor),
        }
    }

    lenient!(to_int: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
                     deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128);
    lenient!(to_float: deserialize_f32 deserialize_f64);
    lenient!(to_bool: deserialize_bool);

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let Value::Object(map) = self.0 else { return self.deserialize_any(visitor) };
        visitor.visit_map(Fields { fields, entries: map.iter(), open: None })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(variant) => visitor.visit_enum(BorrowedStrDeserializer::new(variant)),
            Value::Object(map) if map.len() == 1 => {
                let entries = map.iter().map(|(key, value)| (key.as_str(), Lax(value)));
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(entries)))
            }
            Value::Object(_) => Err(Misfit::invalid_value(Unexpected::Map, &"map with a single key")),
            other => Err(Misfit::invalid_type(kind_of(other), &"string or map")),
        }
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// A key of an object: a text, or the number or flag that is written there.
#[derive(Clone, Copy, Debug)]
struct Key<'de>(&'de str);

impl<'de> IntoDeserializer<'de, Misfit> for Key<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! written {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            match serde_json::from_str::<Value>(self.0) {
                Ok(value @ (Value::Number(_) | Value::Bool(_))) => visit_scalar(&value, visitor),
                _ => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_borrowed_str(self.0)
    }

    written!(deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
             deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
             deserialize_f32 deserialize_f64);

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The members of an object that is read as a struct; errors name the field they are in.
struct Fields<'de> {
    fields: &'static [&'static str],
    entries: serde_json::map::Iter<'de>,
    open: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        self.open = self.entries.next().map(|(key, value)| (key.as_str(), value));
        self.open.map(|(key, _)| seed.deserialize(BorrowedStrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let (key, value) = self.open.take().unwrap_or(("", &Value::Null));
        let field = self.fields.iter().find(|field| **field == key);
        seed.deserialize(Lax(value)).map_err(|misfit| match field {
            Some(field) => misfit.within(field),
            // Other keys come from outside, like values.
            None => misfit,
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// A message: the text for a text type, parsed JSON for every other type.
#[derive(Clone, Copy, Debug)]
struct Text<'de> {
    text: &'de str,
    parsed: Lax<'de>,
}

macro_rules! parsed {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            self.parsed.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Misfit;

    parsed!(deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
            deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
            deserialize_f32 deserialize_f64 deserialize_seq deserialize_map deserialize_unit
            deserialize_ignored_any);

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_borrowed_str(self.text)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.parsed.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
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
