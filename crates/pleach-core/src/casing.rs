//! Conversion of casing: stored JSON is snake_case, HTTP is camelCase.
// R120

use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use smol_str::{SmolStr, SmolStrBuilder};

use crate::json::FIELD;

/// Serialises one of pleach's types in camelCase, as in the HTTP API.
///
/// # Errors
/// Returns the errors of `value`'s own `Serialize`. Serialising pleach's types never fails.
pub fn to_camel<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Value> {
    serde_json::to_value(CamelCase(value))
}

/// Serialises the wrapped value with the names of *struct fields* converted from snake_case to camelCase.
///
/// Keys of maps are user data and stay unchanged, except in [`Owned`](crate::Owned) documents. Fields of enum variants
/// also stay unchanged; no type of pleach has any.
#[derive(Clone, Copy, Debug)]
pub struct CamelCase<'a, T: ?Sized>(pub &'a T);

impl<T: Serialize + ?Sized> Serialize for CamelCase<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Adaptor(serializer))
    }
}

/// Converts `state_delta` to `stateDelta`; a trailing underscore is dropped (`type_`).
pub(crate) fn camel_key(snake: &str) -> SmolStr {
    if !snake.contains('_') {
        return snake.into();
    }
    let mut camel = SmolStrBuilder::new();
    let mut capital = false;
    for (index, letter) in snake.char_indices() {
        if letter == '_' && index > 0 {
            capital = true;
        } else if capital {
            letter.to_uppercase().for_each(|upper| camel.push(upper));
            capital = false;
        } else {
            camel.push(letter);
        }
    }
    camel.finish()
}

/// Converts `stateDelta` to `state_delta`; `None` if there is nothing to change.
pub(crate) fn snake_key(camel: &str) -> Option<String> {
    if !camel.contains(|letter: char| letter.is_ascii_uppercase()) {
        return None;
    }
    let mut snake = String::with_capacity(camel.len() + 4);
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            if !snake.is_empty() {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
        } else {
            snake.push(letter);
        }
    }
    Some(snake)
}

struct Adaptor<S>(S);

macro_rules! forward {
    ($($method:ident($($value:ident: $type:ty),*);)*) => {$(
        fn $method(self, $($value: $type),*) -> Result<S::Ok, S::Error> {
            self.0.$method($($value),*)
        }
    )*};
}

macro_rules! forward_scalars {
    () => {
        forward! {
            serialize_bool(value: bool);
            serialize_i8(value: i8);
            serialize_i16(value: i16);
            serialize_i32(value: i32);
            serialize_i64(value: i64);
            serialize_i128(value: i128);
            serialize_u8(value: u8);
            serialize_u16(value: u16);
            serialize_u32(value: u32);
            serialize_u64(value: u64);
            serialize_u128(value: u128);
            serialize_f32(value: f32);
            serialize_f64(value: f64);
            serialize_char(value: char);
            serialize_bytes(value: &[u8]);
            serialize_none();
            serialize_unit();
            serialize_unit_struct(name: &'static str);
            serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
        }

        fn is_human_readable(&self) -> bool {
            self.0.is_human_readable()
        }
    };
}

impl<S: Serializer> Serializer for Adaptor<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Nested<S::SerializeSeq>;
    type SerializeTuple = Nested<S::SerializeTuple>;
    type SerializeTupleStruct = Nested<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Nested<S::SerializeTupleVariant>;
    type SerializeMap = Nested<S::SerializeMap>;
    type SerializeStruct = Nested<S::SerializeMap>;
    type SerializeStructVariant = Nested<S::SerializeStructVariant>;

    forward_scalars!();

    fn serialize_str(self, value: &str) -> Result<S::Ok, S::Error> {
        self.0.serialize_str(value)
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&CamelCase(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &CamelCase(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &CamelCase(value))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(len).map(Nested)
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(len).map(Nested)
    }

    fn serialize_tuple_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, len).map(Nested)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.0.serialize_tuple_variant(name, index, variant, len).map(Nested)
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.0.serialize_map(len).map(Nested)
    }

    // A struct of the inner serializer would need `'static` names, so a map is used, which accepts the names made here.
    fn serialize_struct(self, _name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        self.0.serialize_map(Some(len)).map(Nested)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.0.serialize_struct_variant(name, index, variant, len).map(Nested)
    }
}

/// Applies the adaptor to the members of a compound value.
struct Nested<C>(C);

macro_rules! nested {
    ($($trait:ident::$method:ident($($name:ident: $type:ty)?);)*) => {$(
        impl<C: $trait> $trait for Nested<C> {
            type Ok = C::Ok;
            type Error = C::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($name: $type,)? value: &T) -> Result<(), C::Error> {
                self.0.$method($($name,)? &CamelCase(value))
            }

            fn end(self) -> Result<C::Ok, C::Error> {
                self.0.end()
            }
        }
    )*};
}

nested! {
    SerializeSeq::serialize_element();
    SerializeTuple::serialize_element();
    SerializeTupleStruct::serialize_field();
    SerializeTupleVariant::serialize_field();
    SerializeStructVariant::serialize_field(name: &'static str);
}

impl<C: SerializeMap> SerializeMap for Nested<C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), C::Error> {
        self.0.serialize_key(&MapKey(key))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), C::Error> {
        self.0.serialize_value(&CamelCase(value))
    }

    fn serialize_entry<K, V>(&mut self, key: &K, value: &V) -> Result<(), C::Error>
    where
        K: Serialize + ?Sized,
        V: Serialize + ?Sized,
    {
        self.0.serialize_entry(&MapKey(key), &CamelCase(value))
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.0.end()
    }
}

impl<C: SerializeMap> SerializeStruct for Nested<C> {
    type Ok = C::Ok;
    type Error = C::Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), C::Error> {
        self.0.serialize_entry(camel_key(name).as_str(), &CamelCase(value))
    }

    fn end(self) -> Result<C::Ok, C::Error> {
        self.0.end()
    }
}

/// A key of a map, which is user data unless it is marked as a field of the framework.
struct MapKey<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for MapKey<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(KeyAdaptor(serializer, false))
    }
}

struct KeyAdaptor<S>(S, bool);

impl<S: Serializer> Serializer for KeyAdaptor<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = S::SerializeSeq;
    type SerializeTuple = S::SerializeTuple;
    type SerializeTupleStruct = S::SerializeTupleStruct;
    type SerializeTupleVariant = S::SerializeTupleVariant;
    type SerializeMap = S::SerializeMap;
    type SerializeStruct = S::SerializeStruct;
    type SerializeStructVariant = S::SerializeStructVariant;

    forward_scalars!();

    fn serialize_str(self, key: &str) -> Result<S::Ok, S::Error> {
        if self.1 {
            return self.0.serialize_str(&camel_key(key));
        }
        self.0.serialize_str(key)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        if name == FIELD {
            return value.serialize(KeyAdaptor(self.0, true));
        }
        self.0.serialize_newtype_struct(name, value)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, value)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(len)
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(len)
    }

    fn serialize_tuple_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, len)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.0.serialize_tuple_variant(name, index, variant, len)
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.0.serialize_map(len)
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        self.0.serialize_struct(name, len)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.0.serialize_struct_variant(name, index, variant, len)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{camel_key, snake_key, to_camel};

    #[test]
    fn keys_change_both_ways() {
        for (snake, camel) in [("state_delta", "stateDelta"), ("id", "id"), ("oauth2_x", "oauth2X")] {
            assert_eq!(camel_key(snake), camel);
            assert_eq!(snake_key(camel).as_deref().unwrap_or(camel), snake);
        }
        assert_eq!(camel_key("type_"), "type");
        let long = "a_field_name_that_is_longer_than_an_inline_text";
        assert_eq!(snake_key(&camel_key(long)).unwrap(), long);
    }

    #[test]
    fn structs_are_renamed_and_maps_are_not() {
        #[derive(serde::Serialize)]
        struct Inner {
            some_field: i32,
        }
        #[derive(serde::Serialize)]
        struct Outer {
            user_map: serde_json::Value,
            inner_list: Vec<Option<Inner>>,
            a_pair: (Inner, char),
        }
        let outer = Outer {
            user_map: json!({"a_b": 1}),
            inner_list: vec![Some(Inner { some_field: 1 }), None],
            a_pair: (Inner { some_field: 2 }, 'x'),
        };
        let expected = json!({
            "userMap": {"a_b": 1}, "innerList": [{"someField": 1}, null], "aPair": [{"someField": 2}, "x"],
        });
        assert_eq!(to_camel(&outer).unwrap(), expected);
    }
}
