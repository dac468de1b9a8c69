//! Writing events.
// S41, S42

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use super::data::UncommonFields;
use crate::json::{FieldName, Present};
use crate::{Event, Map};

/// The target that fields are written to. An object that also has unknown keys must be written as a map, because the
/// names of a struct's fields are `'static`.
trait Target {
    type Error;

    fn put<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Self::Error>;

    /// Writes a value, and leaves `None` out.
    fn put_some<T: Serialize>(&mut self, name: &'static str, value: &Option<T>) -> Result<(), Self::Error> {
        if value.is_present() { self.put(name, value) } else { Ok(()) }
    }
}

struct AsStruct<S>(S);

impl<S: SerializeStruct> Target for AsStruct<S> {
    type Error = S::Error;

    fn put<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), S::Error> {
        self.0.serialize_field(name, value)
    }
}

struct AsMap<M>(M);

impl<M: SerializeMap> Target for AsMap<M> {
    type Error = M::Error;

    fn put<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), M::Error> {
        self.0.serialize_entry(&FieldName(name), value)
    }
}

/// A value that is written as the fields of an object.
trait Members {
    const NAME: &'static str;
    const COUNT: usize;

    fn write<W: Target>(&self, out: &mut W) -> Result<(), W::Error>;

    fn serialize_with<S: Serializer>(&self, serializer: S, extra: Option<&Map>) -> Result<S::Ok, S::Error> {
        match extra.filter(|extra| !extra.is_empty()) {
            None => {
                let mut out = AsStruct(serializer.serialize_struct(Self::NAME, Self::COUNT)?);
                self.write(&mut out)?;
                out.0.end()
            }
            Some(extra) => {
                let mut out = AsMap(serializer.serialize_map(None)?);
                self.write(&mut out)?;
                for (key, value) in extra {
                    out.0.serialize_entry(key, value)?;
                }
                out.0.end()
            }
        }
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_with(serializer, self.extra())
    }
}

impl Members for Event {
    const NAME: &'static str = "Event";
    const COUNT: usize = 35;

    fn write<W: Target>(&self, out: &mut W) -> Result<(), W::Error> {
        match self.uncommon.as_deref() {
            Some(uncommon) => write_head(self, uncommon, out)?,
            None => {
                out.put_some("content", &self.content)?;
                out.put_some("partial", &self.partial)?;
            }
        }
        out.put("invocation_id", &self.invocation_id)?;
        out.put("author", &self.author)?;
        out.put("actions", &self.actions)?;
        out.put_some("output", &self.output)?;
        out.put("node_info", &NodeInfoJson(self))?;
        out.put_some("long_running_tool_ids", &self.long_running_tool_ids)?;
        out.put_some("branch", &self.branch)?;
        if let Some(scope) = self.isolation_scope() {
            out.put("isolation_scope", scope)?;
        }
        out.put("id", &self.id)?;
        out.put("timestamp", &self.timestamp())
    }
}

/// Writes the fields that google-adk inherits from `LlmResponse`. They come first, as in google-adk.
fn write_head<W: Target>(event: &Event, uncommon: &UncommonFields, out: &mut W) -> Result<(), W::Error> {
    let model = uncommon.model.as_deref();
    macro_rules! put_model {
        ($($name:ident)*) => {
            if let Some(model) = model {
                $(out.put_some(stringify!($name), &model.$name)?;)*
            }
        };
    }
    put_model!(model_version);
    out.put_some("content", &event.content)?;
    put_model!(grounding_metadata);
    out.put_some("partial", &event.partial)?;
    out.put_some("turn_complete", &uncommon.turn_complete)?;
    put_model!(turn_complete_reason interaction_status finish_reason);
    out.put_some("error_code", &uncommon.error_code)?;
    out.put_some("error_message", &uncommon.error_message)?;
    put_model!(interrupted);
    out.put_some("custom_metadata", &uncommon.custom_metadata)?;
    put_model!(usage_metadata live_session_resumption_update live_session_id go_away voice_activity
        input_transcription output_transcription avg_logprobs logprobs_result cache_metadata
        citation_metadata interaction_id environment_id);
    Ok(())
}

struct NodeInfoJson<'a>(&'a Event);

impl Serialize for NodeInfoJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_with(serializer, self.0.uncommon.as_ref().map(|uncommon| &uncommon.node_extra))
    }
}

impl Members for NodeInfoJson<'_> {
    const NAME: &'static str = "NodeInfo";
    const COUNT: usize = 3;

    fn write<W: Target>(&self, out: &mut W) -> Result<(), W::Error> {
        let info = self.0.node_info();
        out.put("path", info.path())?;
        out.put_some("output_for", &info.output_for())?;
        out.put_some("message_as_output", &info.message_as_output())
    }
}
