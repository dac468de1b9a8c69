//! [`Coercing`]: the lenient deserializer for values, keys of objects, and messages.

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::CoerceError;
use crate::scalar::WholeNumber;
use crate::{to_bool, to_float};

/// JSON that deserializes leniently.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coercing<'de> {
    /// A value.
    Value(&'de Value),
    /// A key of an object: a string, or a number or flag that JSON writes as a string.
    Key(&'de str),
    /// A message. String types read its text, and all other types read the JSON in the text.
    Message { text: &'de str, parsed: &'de Value },
}

impl<'de> Coercing<'de> {
    /// Returns the value, or the string of a key.
    fn value(self) -> Result<&'de Value, &'de str> {
        match self {
            Self::Value(value) | Self::Message { parsed: value, .. } => Ok(value),
            Self::Key(key) => Err(key),
        }
    }
}

impl<'de> IntoDeserializer<'de, CoerceError> for Coercing<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

/// Passes a value that is neither an array nor an object to the visitor.
fn visit_scalar<'de, V: Visitor<'de>>(value: &Value, visitor: V) -> Result<V::Value, CoerceError> {
    match value {
        Value::Bool(flag) => visitor.visit_bool(*flag),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), ..) => visitor.visit_u64(number),
            (None, Some(number), _) => visitor.visit_i64(number),
            (None, None, float) => visitor.visit_f64(float.unwrap_or(f64::NAN)),
        },
        other => Err(CoerceError::invalid_type(kind_of(other), &visitor)),
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

/// Reads numbers and flags from the values that `convert` accepts, and from keys as JSON writes them.
macro_rules! lenient {
    ($convert:ident: $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoerceError> {
            match self.value() {
                Ok(value) => match $convert(value) {
                    Some(fitting) => visit_scalar(&Value::from(fitting), visitor),
                    None => visit_scalar(value, visitor),
                },
                Err(key) => match serde_json::from_str::<Value>(key) {
                    Ok(value @ (Value::Number(_) | Value::Bool(_))) => visit_scalar(&value, visitor),
                    _ => visitor.visit_borrowed_str(key),
                },
            }
        }
    )*};
}

/// Reads whole numbers of any size. Refuses numbers that the type cannot hold, with an error that names its range.
macro_rules! integers {
    ($($method:ident: $type:ident => $least:expr, $most:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoerceError> {
            let whole = match self.value() {
                Ok(value) => WholeNumber::of(value),
                // The visitor must see the key, because the key names the field in its error.
                Err(key) => return visit_key(key, visitor),
            };
            match whole {
                Some(whole) if whole.is_within($least, $most) => visit_whole(whole, visitor),
                Some(_) => Err(CoerceError::invalid_value(
                    Unexpected::Signed(0),
                    &format!("{} from {} to {}", stringify!($type), $type::MIN, $type::MAX).as_str(),
                )),
                None => self.deserialize_any(visitor),
            }
        }
    )*};
}

/// Passes a whole number to the visitor in the smallest type that holds it, because few visitors accept 128 bits.
fn visit_whole<'de, V: Visitor<'de>>(whole: WholeNumber, visitor: V) -> Result<V::Value, CoerceError> {
    match whole {
        WholeNumber::Signed(number) => match (u64::try_from(number), i64::try_from(number)) {
            (Ok(number), _) => visitor.visit_u64(number),
            (_, Ok(number)) => visitor.visit_i64(number),
            _ => visitor.visit_i128(number),
        },
        WholeNumber::Unsigned(number) => visitor.visit_u128(number),
        WholeNumber::Beyond => Err(CoerceError::invalid_value(Unexpected::Signed(0), &visitor)),
    }
}

/// Passes the integer in a key, as JSON writes it, to the visitor. If the key is not an integer, passes the key itself.
fn visit_key<'de, V: Visitor<'de>>(key: &'de str, visitor: V) -> Result<V::Value, CoerceError> {
    let is_integer = matches!(serde_json::from_str(key), Ok(Value::Number(_))) && !key.contains(['.', 'e', 'E']);
    if is_integer { visit_whole(WholeNumber::of_digits(key.trim()), visitor) } else { visitor.visit_borrowed_str(key) }
}

/// Reads the text of a message unchanged.
macro_rules! text {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoerceError> {
            match self {
                Self::Message { text, .. } => visitor.visit_borrowed_str(text),
                other => other.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Coercing<'de> {
    type Error = CoerceError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoerceError> {
        match self.value() {
            Ok(Value::Array(items)) => {
                let mut seq = SeqDeserializer::new(items.iter().map(Coercing::Value));
                let value = visitor.visit_seq(&mut seq)?;
                seq.end()?;
                Ok(value)
            }
            Ok(Value::Object(map)) => {
                let entries = map.iter().map(|(key, value)| (Coercing::Key(key), Coercing::Value(value)));
                visitor.visit_map(MapDeserializer::new(entries))
            }
            Ok(Value::String(text)) => visitor.visit_borrowed_str(text),
            Ok(Value::Null) => visitor.visit_unit(),
            Ok(scalar) => visit_scalar(scalar, visitor),
            Err(key) => visitor.visit_borrowed_str(key),
        }
    }

    integers! {
        deserialize_i8: i8 => i8::MIN.into(), i8::MAX.unsigned_abs().into();
        deserialize_i16: i16 => i16::MIN.into(), i16::MAX.unsigned_abs().into();
        deserialize_i32: i32 => i32::MIN.into(), i32::MAX.unsigned_abs().into();
        deserialize_i64: i64 => i64::MIN.into(), i64::MAX.unsigned_abs().into();
        deserialize_i128: i128 => i128::MIN, i128::MAX.unsigned_abs();
        deserialize_u8: u8 => 0, u8::MAX.into();
        deserialize_u16: u16 => 0, u16::MAX.into();
        deserialize_u32: u32 => 0, u32::MAX.into();
        deserialize_u64: u64 => 0, u64::MAX.into();
        deserialize_u128: u128 => 0, u128::MAX;
    }
    lenient!(to_float: deserialize_f32 deserialize_f64);
    lenient!(to_bool: deserialize_bool);
    text!(deserialize_str deserialize_string);

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CoerceError> {
        match self.value() {
            Ok(Value::Object(map)) => visitor.visit_map(Fields { fields, entries: map.iter(), open: None }),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CoerceError> {
        match self {
            Self::Value(Value::Null) => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, CoerceError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CoerceError> {
        match self.value() {
            Ok(Value::Object(map)) if map.len() == 1 => {
                let entries = map.iter().map(|(key, value)| (key.as_str(), Coercing::Value(value)));
                visitor.visit_enum(MapAccessDeserializer::new(MapDeserializer::new(entries)))
            }
            Ok(Value::Object(_)) => Err(CoerceError::invalid_value(Unexpected::Map, &"map with a single key")),
            Ok(Value::String(variant)) => visitor.visit_enum(BorrowedStrDeserializer::new(variant)),
            Err(variant) => visitor.visit_enum(BorrowedStrDeserializer::new(variant)),
            Ok(other) => Err(CoerceError::invalid_type(kind_of(other), &"string or map")),
        }
    }

    forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// The members of an object that is read as a struct. Errors name the field in which they occurred.
struct Fields<'de> {
    fields: &'static [&'static str],
    entries: serde_json::map::Iter<'de>,
    open: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = CoerceError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, CoerceError> {
        self.open = self.entries.next().map(|(key, value)| (key.as_str(), value));
        self.open.map(|(key, _)| seed.deserialize(BorrowedStrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, CoerceError> {
        let (key, value) = self.open.take().unwrap_or(("", &Value::Null));
        let field = self.fields.iter().find(|field| **field == key);
        seed.deserialize(Coercing::Value(value)).map_err(|error| match field {
            Some(field) => error.within(field),
            // Other keys come from outside, like values.
            None => error,
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}
