//! The JSON conventions of all types that the framework owns.
//!
//! Written JSON has snake_case names in google-adk's field order, and absent fields are left out. When read, snake_case
//! and camelCase may be mixed; if both spellings of a name are present, the camelCase one wins. serde's derive
//! cannot express these rules, and its `flatten` attribute copies every value into a buffer.
// R102, S45

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, Serializer};

/// The reserved newtype name under which [`FieldName`] reaches the camelCase adaptor.
pub(crate) const FIELD: &str = "$pleach::Field";

/// A framework field that is written as a key of a *map*. An object that also has unknown keys cannot be written as
/// a struct, and the camelCase adaptor must still tell the object's fields from its unknown keys.
pub(crate) struct FieldName<'a>(pub(crate) &'a str);

impl Serialize for FieldName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(FIELD, self.0)
    }
}

/// The fields of an object, found by name.
pub(crate) trait Fields: Copy {
    /// Finds a field by either spelling. The flag is true for a camelCase spelling that differs from the snake_case
    /// one.
    fn find(name: &str) -> Option<(Self, bool)>;

    /// Returns a number below 64, different for each field.
    fn bit(self) -> u32;
}

/// A key of a JSON object, looked up without copying it.
pub(crate) enum Key<F> {
    Known(F, bool),
    Unknown(String),
}

impl<'de, F: Fields> Deserialize<'de> for Key<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor<F>(PhantomData<F>);

        impl<F: Fields> Visitor<'_> for KeyVisitor<F> {
            type Value = Key<F>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Key<F>, E> {
                Ok(match F::find(name) {
                    Some((field, camel)) => Key::Known(field, camel),
                    None => Key::Unknown(name.to_owned()),
                })
            }
        }

        deserializer.deserialize_identifier(KeyVisitor(PhantomData))
    }
}

/// The fields that came in camelCase, so that a snake_case twin does not overwrite them.
#[derive(Default)]
pub(crate) struct Seen(u64);

impl Seen {
    /// Returns `true` if the value that follows is to be used.
    pub(crate) fn accepts<F: Fields>(&mut self, field: F, camel: bool) -> bool {
        let mask = 1 << field.bit();
        if camel {
            self.0 |= mask;
        }
        camel || self.0 & mask == 0
    }
}

/// Reads the value of the field `name`. An error names the field.
pub(crate) fn value<'de, T, A>(map: &mut A, name: &str) -> Result<T, A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
{
    map.next_value().map_err(|error| within(name, &error))
}

/// Reads and drops the value that belongs to the last key.
pub(crate) fn ignore<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

/// Prefixes an error with a field's name.
pub(crate) fn within<E: de::Error>(name: &str, error: &E) -> E {
    E::custom(format_args!("{name}: {error}"))
}

/// Creates the error for an unknown key. google-adk refuses such a key as well.
pub(crate) fn unknown<E: de::Error>(name: &str, owner: &str) -> E {
    E::custom(format_args!("unknown field `{name}` in {owner}"))
}

/// Reads a string into a `T`, without an owned copy when the input allows it.
pub(crate) fn text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: for<'a> From<&'a str>,
{
    struct TextVisitor<T>(PhantomData<T>);

    impl<T: for<'a> From<&'a str>> Visitor<'_> for TextVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            Ok(text.into())
        }
    }

    deserializer.deserialize_str(TextVisitor(PhantomData))
}

/// Decides whether a field is written. Only `None` is left out; `false`, `0`, `""` and `[]` are written.
// S42
pub(crate) trait Present {
    fn is_present(&self) -> bool {
        true
    }
}

impl<T> Present for Option<T> {
    fn is_present(&self) -> bool {
        self.is_some()
    }
}

impl Present for String {}
impl Present for bool {}
impl Present for crate::Map {}
impl<T> Present for Vec<T> {}

/// Implements [`Fields`] for an enum of field names.
macro_rules! json_fields {
    ($field:ident { $($name:ident = $snake:literal $(| $camel:literal)?),+ $(,)? }) => {
        #[derive(Clone, Copy)]
        #[expect(non_camel_case_types, reason = "the variants are the JSON names")]
        enum $field { $($name),+ }

        impl $crate::json::Fields for $field {
            fn find(name: &str) -> Option<(Self, bool)> {
                match name {
                    $($snake => Some((Self::$name, false)),
                    $($camel => Some((Self::$name, true)),)?)+
                    _ => None,
                }
            }

            fn bit(self) -> u32 {
                self as u32
            }
        }
    };
}

/// Declares a struct with the JSON conventions of this module.
///
/// `keep` adds a public field `extra` for unknown keys, which are written back unchanged. `refuse as "Name"` makes
/// unknown keys an error in which the object is called `Name`.
macro_rules! json_object {
    (
        $(#[$doc:meta])*
        $vis:vis struct $object:ident keep {
            $($(#[$field_doc:meta])* $name:ident: $type:ty = $snake:literal $(| $camel:literal)?,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $vis struct $object {
            $($(#[$field_doc])* pub $name: $type,)+
            /// Keys that this version does not know; they are kept as read and written back unchanged.
            pub extra: Option<Box<$crate::Map>>,
        }

        impl serde::Serialize for $object {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::{SerializeMap as _, SerializeStruct as _};
                use $crate::json::{FieldName, Present as _};

                if let Some(extra) = &self.extra {
                    let mut map = serializer.serialize_map(None)?;
                    $(if self.$name.is_present() {
                        map.serialize_entry(&FieldName($snake), &self.$name)?;
                    })+
                    for (key, value) in &**extra {
                        map.serialize_entry(key, value)?;
                    }
                    return map.end();
                }
                let mut object = serializer.serialize_struct(
                    stringify!($object), [$($snake),+].len())?;
                $(if self.$name.is_present() {
                    object.serialize_field($snake, &self.$name)?;
                })+
                object.end()
            }
        }

        json_object!(@read $object, |object, name, map| {
            object.extra.get_or_insert_default().insert(name, map.next_value()?);
        }, { $($name = $snake $(| $camel)?,)+ });
    };
    (
        $(#[$doc:meta])*
        $vis:vis struct $object:ident refuse as $label:literal {
            $($(#[$field_doc:meta])* $name:ident: $type:ty = $snake:literal $(| $camel:literal)?,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $vis struct $object {
            $($(#[$field_doc])* pub $name: $type,)+
        }

        impl serde::Serialize for $object {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                use $crate::json::Present as _;

                let mut object = serializer.serialize_struct(
                    stringify!($object), [$($snake),+].len())?;
                $(if self.$name.is_present() {
                    object.serialize_field($snake, &self.$name)?;
                })+
                object.end()
            }
        }

        json_object!(@read $object, |object, name, map| {
            return Err($crate::json::unknown(&name, $label));
        }, { $($name = $snake $(| $camel)?,)+ });
    };
    (@read $object:ident, |$this:ident, $key:ident, $map:ident| $unknown:block,
        { $($name:ident = $snake:literal $(| $camel:literal)?,)+ }
    ) => {
        const _: () = {
            $crate::json::json_fields!(Field { $($name = $snake $(| $camel)?),+ });

            struct ObjectVisitor;

            impl<'de> serde::de::Visitor<'de> for ObjectVisitor {
                type Value = $object;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str(concat!("an object (", stringify!($object), ")"))
                }

                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut $map: A,
                ) -> Result<$object, A::Error> {
                    use $crate::json::{self, Key};

                    let mut $this = $object::default();
                    let mut seen = json::Seen::default();
                    while let Some(key) = $map.next_key::<Key<Field>>()? {
                        match key {
                            Key::Known(field, camel) if !seen.accepts(field, camel) => {
                                json::ignore(&mut $map)?;
                            }
                            $(Key::Known(Field::$name, _) => {
                                $this.$name = json::value(&mut $map, $snake)?;
                            })+
                            Key::Unknown($key) => $unknown,
                        }
                    }
                    Ok($this)
                }
            }

            impl<'de> serde::Deserialize<'de> for $object {
                fn deserialize<D: serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<Self, D::Error> {
                    deserializer.deserialize_map(ObjectVisitor)
                }
            }
        };
    };
}

pub(crate) use {json_fields, json_object};
