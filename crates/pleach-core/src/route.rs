//! Routes: how a node chooses its outgoing edges.
// R103, R624

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

/// The route key of an edge that is taken if no other routed edge matches. ADK: `DEFAULT_ROUTE`
pub const DEFAULT_ROUTE: &str = "__DEFAULT__";

/// A value that an edge can be marked with.
///
/// Values compare as in Python: `true` equals `1`, `false` equals `0`, and a string equals only a string.
// R624
#[derive(Clone, Debug)]
pub enum RouteKey {
    /// A name.
    Str(SmolStr),
    /// A number.
    Int(i64),
    /// A boolean.
    Bool(bool),
}

impl RouteKey {
    /// The key of the default edge.
    pub const DEFAULT: Self = Self::Str(SmolStr::new_static(DEFAULT_ROUTE));

    fn number(&self) -> Option<i64> {
        match self {
            Self::Str(_) => None,
            Self::Int(number) => Some(*number),
            Self::Bool(truth) => Some(i64::from(*truth)),
        }
    }
}

impl PartialEq for RouteKey {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Str(ours), Self::Str(theirs)) => ours == theirs,
            _ => self.number().is_some() && self.number() == other.number(),
        }
    }
}

impl Eq for RouteKey {}

impl Hash for RouteKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Str(text) => text.hash(state),
            Self::Int(_) | Self::Bool(_) => self.number().hash(state),
        }
    }
}

impl fmt::Display for RouteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str(text) => f.write_str(text),
            Self::Int(number) => number.fmt(f),
            Self::Bool(truth) => truth.fmt(f),
        }
    }
}

/// The route of a finished node: one value or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// A single value. JSON: the bare value.
    One(RouteKey),
    /// Several values, each of which may match an edge. JSON: an array.
    Many(Vec<RouteKey>),
}

impl Route {
    /// Returns the values as a slice, for both forms.
    pub fn keys(&self) -> &[RouteKey] {
        match self {
            Self::One(key) => std::slice::from_ref(key),
            Self::Many(keys) => keys,
        }
    }
}

macro_rules! key_from {
    ($($source:ty => |$value:ident| $key:expr),* $(,)?) => {$(
        impl From<$source> for RouteKey {
            fn from($value: $source) -> Self {
                $key
            }
        }

        impl From<$source> for Route {
            fn from(value: $source) -> Self {
                Self::One(value.into())
            }
        }
    )*};
}

key_from! {
    &str => |text| Self::Str(text.into()),
    String => |text| Self::Str(text.into()),
    SmolStr => |text| Self::Str(text),
    bool => |truth| Self::Bool(truth),
    i32 => |number| Self::Int(number.into()),
    i64 => |number| Self::Int(number),
}

impl From<RouteKey> for Route {
    fn from(key: RouteKey) -> Self {
        Self::One(key)
    }
}

impl<T: Into<RouteKey>> From<Vec<T>> for Route {
    fn from(keys: Vec<T>) -> Self {
        Self::Many(keys.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<RouteKey>, const N: usize> From<[T; N]> for Route {
    fn from(keys: [T; N]) -> Self {
        Self::Many(keys.into_iter().map(Into::into).collect())
    }
}

impl Serialize for RouteKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Str(text) => serializer.serialize_str(text),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
        }
    }
}

impl Serialize for Route {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(key) => key.serialize(serializer),
            Self::Many(keys) => keys.serialize(serializer),
        }
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = RouteKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, an integer or a boolean")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RouteKey, E> {
        Ok(text.into())
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<RouteKey, E> {
        Ok(truth.into())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<RouteKey, E> {
        Ok(number.into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<RouteKey, E> {
        i64::try_from(number).map(RouteKey::Int).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }
}

impl<'de> Deserialize<'de> for RouteKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

struct RouteVisitor;

impl<'de> Visitor<'de> for RouteVisitor {
    type Value = Route;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, an integer, a boolean or an array of these")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Route, E> {
        Ok(text.into())
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Route, E> {
        Ok(truth.into())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Route, E> {
        Ok(number.into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Route, E> {
        KeyVisitor.visit_u64(number).map(Route::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Route, A::Error> {
        let mut keys = Vec::with_capacity(seq.size_hint().unwrap_or(0));
        while let Some(key) = seq.next_element()? {
            keys.push(key);
        }
        Ok(Route::Many(keys))
    }
}

impl<'de> Deserialize<'de> for Route {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RouteVisitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::{DEFAULT_ROUTE, Route, RouteKey};

    // R624: keys compare by value, with true equal to 1 and false to 0, and a string equals only a string.
    #[test]
    fn keys_compare_by_value() {
        assert_eq!(RouteKey::from(true), RouteKey::from(1));
        assert_eq!(RouteKey::from(false), RouteKey::from(0));
        assert_ne!(RouteKey::from("True"), RouteKey::from(true));
        assert_ne!(RouteKey::from("1"), RouteKey::from(1));
        assert_ne!(RouteKey::from(2), RouteKey::from(true));
        let set = HashSet::from([RouteKey::from(1), RouteKey::from("a")]);
        assert!(set.contains(&true.into()) && set.contains(&"a".into()) && !set.contains(&false.into()));
    }

    #[test]
    fn json_is_the_bare_value() {
        for (route, json) in [
            (Route::from("a"), json!("a")),
            (Route::from(7), json!(7)),
            (Route::from(false), json!(false)),
            (Route::from(["a", "b"]), json!(["a", "b"])),
            (Route::from(vec![RouteKey::from(true), 1.into(), "x".into()]), json!([true, 1, "x"])),
        ] {
            assert_eq!(serde_json::to_value(&route).unwrap(), json);
            let read: Route = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(read).unwrap(), json);
        }
        assert!(serde_json::from_value::<Route>(json!({"a": 1})).is_err());
        assert!(serde_json::from_value::<Route>(json!(u64::MAX)).is_err());
    }

    #[test]
    fn default_is_an_ordinary_text() {
        assert_eq!(RouteKey::DEFAULT, DEFAULT_ROUTE.into());
        assert_eq!(Route::from("a").keys(), [RouteKey::from("a")]);
    }
}
