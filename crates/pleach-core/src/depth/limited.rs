//! [`Limited`]: a serializer that refuses values nested too deep to be read back.

use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant,
};
use serde::{Serialize, Serializer};

/// The deepest JSON that can be read back: the limit of serde_json's parser is 128.
pub const DEEPEST: usize = 127;
/// The deepest result of a tool, and the deepest answer to a question. Six levels enclose the value: the event, its
/// content, the list of parts, the part, the function response and its object.
pub const DEEPEST_RESULT: usize = DEEPEST - 6;
/// The reason for refusing a deeper value.
pub(crate) const DEEP: &str = "its values are nested more than 127 levels deep";
const NOT_FINITE: &str = "NaN and infinities have no JSON form";

/// How many more levels a value may have. Wrappers, such as newtypes, are counted separately, because they add no
/// level to the JSON.
#[derive(Clone, Copy)]
pub(crate) struct DepthBudget {
    levels: usize,
    wrappers: usize,
    cut: bool,
}

impl DepthBudget {
    /// The depth that can be read back.
    pub(crate) const ALL: Self = Self::levels(DEEPEST);
    /// The depth up to which values are dropped normally. Dropping them takes less than 500 KB of stack in an
    /// unoptimised build.
    pub(crate) const DROPPED: Self = Self::levels(4 * DEEPEST);
    /// Replaces deeper values, and numbers without a JSON form, by null. Used to find the location of a fault.
    pub(crate) const CUT: Self = Self { cut: true, ..Self::levels(DEEPEST + 1) };

    const fn levels(levels: usize) -> Self {
        Self { levels, wrappers: 2 * levels, cut: false }
    }

    fn level<E: serde::ser::Error>(self) -> Result<Self, E> {
        let levels = self.levels.checked_sub(1).ok_or_else(|| E::custom(DEEP))?;
        Ok(Self { levels, ..self })
    }

    fn wrapper<E: serde::ser::Error>(self) -> Result<Self, E> {
        let wrappers = self.wrappers.checked_sub(1).ok_or_else(|| E::custom(DEEP))?;
        Ok(Self { wrappers, ..self })
    }
}

/// Forwards to another serializer, and fails for values that are nested deeper than the budget.
pub(crate) struct Limited<S> {
    pub(crate) inner: S,
    pub(crate) budget: DepthBudget,
}

/// A part of a value, with its remaining budget.
struct Part<'a, T: ?Sized>(&'a T, DepthBudget);

impl<T: Serialize + ?Sized> Serialize for Part<'_, T> {
    fn serialize<S: Serializer>(&self, inner: S) -> Result<S::Ok, S::Error> {
        let Self(part, budget) = self;
        if budget.cut && (budget.levels == 0 || budget.wrappers == 0) {
            return inner.serialize_unit();
        }
        part.serialize(Limited { inner, budget: *budget })
    }
}

macro_rules! scalars {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.inner.$method(value)
        }
    )*};
}

impl<S: Serializer> Serializer for Limited<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Limited<S::SerializeSeq>;
    type SerializeTuple = Limited<S::SerializeTuple>;
    type SerializeTupleStruct = Limited<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Limited<S::SerializeTupleVariant>;
    type SerializeMap = Limited<S::SerializeMap>;
    type SerializeStruct = Limited<S::SerializeStruct>;
    type SerializeStructVariant = Limited<S::SerializeStructVariant>;

    scalars! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char, serialize_str: &str,
        serialize_bytes: &[u8], serialize_unit_struct: &'static str,
    }

    // A JSON integer of this program has at most 64 bits. A longer integer is written as a string of its digits,
    // which every reader of integers accepts.
    fn serialize_i128(self, value: i128) -> Result<S::Ok, S::Error> {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => self.inner.serialize_i64(value),
            (_, Ok(value)) => self.inner.serialize_u64(value),
            _ => self.inner.serialize_str(&value.to_string()),
        }
    }

    fn serialize_u128(self, value: u128) -> Result<S::Ok, S::Error> {
        match u64::try_from(value) {
            Ok(value) => self.inner.serialize_u64(value),
            Err(_) => self.inner.serialize_str(&value.to_string()),
        }
    }

    // JSON has neither NaN nor infinity; serde_json would write null.
    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        if value.is_finite() || self.budget.cut {
            self.inner.serialize_f32(value)
        } else {
            Err(serde::ser::Error::custom(NOT_FINITE))
        }
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        if value.is_finite() || self.budget.cut {
            self.inner.serialize_f64(value)
        } else {
            Err(serde::ser::Error::custom(NOT_FINITE))
        }
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.serialize_some(&Part(value, self.budget.wrapper()?))
    }

    fn serialize_unit_variant(self, name: &'static str, index: u32, tag: &'static str) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, tag)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.serialize_newtype_struct(name, &Part(value, self.budget.wrapper()?))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        tag: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_newtype_variant(name, index, tag, &Part(value, self.budget.level()?))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        let budget = self.budget.level()?;
        Ok(Limited { inner: self.inner.serialize_seq(len)?, budget })
    }

    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        let budget = self.budget.level()?;
        Ok(Limited { inner: self.inner.serialize_tuple(len)?, budget })
    }

    fn serialize_tuple_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeTupleStruct, S::Error> {
        let budget = self.budget.level()?;
        Ok(Limited { inner: self.inner.serialize_tuple_struct(name, len)?, budget })
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        tag: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        let budget = self.budget.level::<S::Error>()?.level()?;
        Ok(Limited { inner: self.inner.serialize_tuple_variant(name, index, tag, len)?, budget })
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        let budget = self.budget.level()?;
        Ok(Limited { inner: self.inner.serialize_map(len)?, budget })
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        let budget = self.budget.level()?;
        Ok(Limited { inner: self.inner.serialize_struct(name, len)?, budget })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        tag: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        let budget = self.budget.level::<S::Error>()?.level()?;
        Ok(Limited { inner: self.inner.serialize_struct_variant(name, index, tag, len)?, budget })
    }

    fn collect_str<T: std::fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.collect_str(value)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! lists {
    ($($list:ident: $method:ident),* $(,)?) => {$(
        impl<S: $list> $list for Limited<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.inner.$method(&Part(value, self.budget))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        }
    )*};
}

lists! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

macro_rules! records {
    ($($record:ident),* $(,)?) => {$(
        impl<S: $record> $record for Limited<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), S::Error> {
                self.inner.serialize_field(key, &Part(value, self.budget))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.inner.end()
            }
        }
    )*};
}

records! { SerializeStruct, SerializeStructVariant }

impl<S: SerializeMap> SerializeMap for Limited<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.inner.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.inner.serialize_value(&Part(value, self.budget))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.inner.end()
    }
}
