//! [`FromState`]: parameters bound to state keys by their field names.

use std::fmt;

use pleach_core::{Map, Session};
use pleach_schema::coerce;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;
use smol_str::SmolStr;

use super::{FromContext, Nothing};
use crate::context::unreadable;
use crate::{Context, NodeError};

/// Values from the session state. The field names of `T` are the keys; `#[serde(rename = "user:locale")]` names a key
/// with a scope.
///
/// Only the keys of the fields are looked up, however large the state is; with `#[serde(flatten)]` the whole state is
/// read. An absent key is an error unless the field has a default or is an `Option`. ADK: binding of function
/// parameters by name.
// R502
#[derive(Clone, Debug)]
pub struct FromState<T>(pub T);

impl<T: DeserializeOwned> FromContext for FromState<T> {
    type Wants = Nothing;

    fn from_context(ctx: &Context, _: &mut crate::NodeInput) -> Result<Self, NodeError> {
        let state = ctx.state();
        let found = match fields_of::<T>() {
            Some(fields) => {
                fields.iter().try_for_each(|key| state.check_readable(key))?;
                fields.iter().filter_map(|key| Some((key.to_string(), state.value(key)?))).collect()
            }
            None => state.to_map(),
        };
        bind(found).map(Self).map_err(|reason| unbound(ctx, &reason))
    }

    fn state_params(keys: &mut Vec<SmolStr>) {
        keys.extend(fields_of::<T>().unwrap_or_default().iter().copied().map(SmolStr::new_static));
    }
}

impl<T: DeserializeOwned> FromState<T> {
    /// Returns the values in a loaded session, outside a run. `FromState(prefs)` unwraps them.
    ///
    /// # Errors
    /// A `ValidationError` that names the key that is missing or does not fit.
    pub fn from_session(session: &Session) -> Result<Self, NodeError> {
        let found = match fields_of::<T>() {
            Some(fields) => {
                if let Some((key, reason)) = fields.iter().find_map(|key| session.unreadable.get_key_value(*key)) {
                    return Err(unreadable(session.key(), key, reason));
                }
                fields.iter().filter_map(|key| Some(((*key).to_owned(), session.state.get(*key)?.clone()))).collect()
            }
            None => session.state.clone(),
        };
        bind(found).map(Self).map_err(|reason| NodeError::validation(format!("state of {}: {reason}", session.key())))
    }
}

/// Reads the values as a `T`. Null, which a rewind can leave, is treated as absent except for fields that need it.
fn bind<T: DeserializeOwned>(found: Map) -> Result<T, String> {
    let read = |found: &Value| coerce(found).map_err(|error| error.to_string());
    let has_nulls = found.values().any(Value::is_null);
    let mut found = Value::Object(found);
    let with_nulls = read(&found);
    if with_nulls.is_ok() || !has_nulls {
        return with_nulls;
    }
    let Value::Object(map) = &mut found else { return with_nulls };
    let nulls: Vec<String> = map.iter().filter(|(_, value)| value.is_null()).map(|(key, _)| key.clone()).collect();
    map.retain(|_, value| !value.is_null());
    // A field that must not be absent gets its null back; each iteration restores one.
    for _ in 0..=nulls.len() {
        let outcome = read(&found);
        let missing = outcome.as_ref().err().and_then(|reason| missing_field(reason));
        let Some(key) = missing.filter(|key| nulls.iter().any(|null| null == key)).map(str::to_owned) else {
            return outcome;
        };
        match &mut found {
            Value::Object(map) if !map.contains_key(&key) => drop(map.insert(key, Value::Null)),
            _ => return outcome,
        }
    }
    read(&found)
}

fn missing_field(reason: &str) -> Option<&str> {
    reason.strip_prefix("missing field ")?.split('`').nth(1)
}

fn unbound(ctx: &Context, reason: &str) -> NodeError {
    match reason.strip_prefix("missing field ") {
        Some(rest) => {
            let (key, node) = (rest.split('`').nth(1).unwrap_or(rest), ctx.node_name());
            NodeError::data(format!(
                "Missing value for parameter \"{key}\" of function \"{node}\". It was not found in state and has no default value."
            ))
            .with_hint("set the key first, or make the field an `Option`")
        }
        None => NodeError::validation(format!("state: {reason}")),
    }
}

/// Returns the field names of a struct, or `None` for types that read the whole state, such as maps.
fn fields_of<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    let mut fields = Fields(None);
    // The probe returns no values: it only learns which fields the type asks for.
    let _ = T::deserialize(&mut fields);
    fields.0
}

/// A deserializer that learns which fields a type asks for, and returns no values.
struct Fields(Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for &mut Fields {
    type Error = FieldNamesFound;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, FieldNamesFound> {
        self.0 = Some(fields);
        Err(FieldNamesFound)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldNamesFound> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, FieldNamesFound> {
        Err(FieldNamesFound)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Stops the probing deserializer once it knows the names of the fields.
#[derive(Debug)]
struct FieldNamesFound;

impl fmt::Display for FieldNamesFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only the field names were asked for")
    }
}

impl std::error::Error for FieldNamesFound {}

impl serde::de::Error for FieldNamesFound {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}
