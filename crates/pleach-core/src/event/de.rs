//! Reading events.
// R102, R105, R107, S45

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::node_info::NodeInfoDocument;
use crate::json::{self, Key, Seen, json_fields};
use crate::{Event, Map, Message, NodePath, Route};

json_fields!(Field {
    model_version = "model_version" | "modelVersion",
    content = "content",
    grounding_metadata = "grounding_metadata" | "groundingMetadata",
    partial = "partial",
    turn_complete = "turn_complete" | "turnComplete",
    turn_complete_reason = "turn_complete_reason" | "turnCompleteReason",
    interaction_status = "interaction_status" | "interactionStatus",
    finish_reason = "finish_reason" | "finishReason",
    error_code = "error_code" | "errorCode",
    error_message = "error_message" | "errorMessage",
    interrupted = "interrupted",
    custom_metadata = "custom_metadata" | "customMetadata",
    usage_metadata = "usage_metadata" | "usageMetadata",
    live_session_resumption_update = "live_session_resumption_update" | "liveSessionResumptionUpdate",
    live_session_id = "live_session_id" | "liveSessionId",
    go_away = "go_away" | "goAway",
    voice_activity = "voice_activity" | "voiceActivity",
    input_transcription = "input_transcription" | "inputTranscription",
    output_transcription = "output_transcription" | "outputTranscription",
    avg_logprobs = "avg_logprobs" | "avgLogprobs",
    logprobs_result = "logprobs_result" | "logprobsResult",
    cache_metadata = "cache_metadata" | "cacheMetadata",
    citation_metadata = "citation_metadata" | "citationMetadata",
    interaction_id = "interaction_id" | "interactionId",
    environment_id = "environment_id" | "environmentId",
    invocation_id = "invocation_id" | "invocationId",
    author = "author",
    actions = "actions",
    output = "output",
    node_info = "node_info" | "nodeInfo",
    long_running_tool_ids = "long_running_tool_ids" | "longRunningToolIds",
    branch = "branch",
    isolation_scope = "isolation_scope" | "isolationScope",
    id = "id",
    timestamp = "timestamp",
    message = "message",
    state = "state",
    route = "route",
    node_path = "node_path",
});

/// An event while it is being read, and the convenience keys that are applied at the end.
#[derive(Default)]
struct Draft {
    event: Event,
    node_info: NodeInfoDocument,
    message: Option<Message>,
    state: Option<Map>,
    route: Option<Route>,
    node_path: Option<NodePath>,
}

impl Draft {
    fn read<'de, A: MapAccess<'de>>(&mut self, field: Field, map: &mut A) -> Result<(), A::Error> {
        let event = &mut self.event;
        macro_rules! read {
            (hot $name:ident) => {
                event.$name = json::value(map, stringify!($name))?
            };
            (own $name:ident) => {
                self.$name = json::value(map, stringify!($name))?
            };
            (uncommon $name:ident) => {{
                let value: Option<_> = json::value(map, stringify!($name))?;
                if value.is_some() || event.uncommon.is_some() {
                    event.uncommon_mut().$name = value;
                }
            }};
            (model $name:ident) => {{
                let value: Option<_> = json::value(map, stringify!($name))?;
                if value.is_some() || event.model().is_some() {
                    event.model_mut().$name = value;
                }
            }};
        }
        match field {
            Field::id => read!(hot id),
            Field::timestamp => event.set_timestamp(json::value::<Seconds, A>(map, "timestamp")?.0),
            Field::invocation_id => read!(hot invocation_id),
            Field::author => read!(hot author),
            Field::content => read!(hot content),
            Field::output => read!(hot output),
            Field::actions => read!(hot actions),
            Field::long_running_tool_ids => read!(hot long_running_tool_ids),
            Field::branch => read!(hot branch),
            Field::partial => read!(hot partial),
            Field::node_info => read!(own node_info),
            Field::message => read!(own message),
            Field::state => read!(own state),
            Field::route => read!(own route),
            Field::node_path => read!(own node_path),
            Field::isolation_scope => {
                let scope: Option<String> = json::value(map, "isolation_scope")?;
                event.set_isolation_scope(scope.map(Into::into));
            }
            Field::turn_complete => read!(uncommon turn_complete),
            Field::error_code => read!(uncommon error_code),
            Field::error_message => read!(uncommon error_message),
            Field::custom_metadata => read!(uncommon custom_metadata),
            Field::model_version => read!(model model_version),
            Field::grounding_metadata => read!(model grounding_metadata),
            Field::turn_complete_reason => read!(model turn_complete_reason),
            Field::interaction_status => read!(model interaction_status),
            Field::finish_reason => read!(model finish_reason),
            Field::interrupted => read!(model interrupted),
            Field::usage_metadata => read!(model usage_metadata),
            Field::live_session_resumption_update => read!(model live_session_resumption_update),
            Field::live_session_id => read!(model live_session_id),
            Field::go_away => read!(model go_away),
            Field::voice_activity => read!(model voice_activity),
            Field::input_transcription => read!(model input_transcription),
            Field::output_transcription => read!(model output_transcription),
            Field::avg_logprobs => read!(model avg_logprobs),
            Field::logprobs_result => read!(model logprobs_result),
            Field::cache_metadata => read!(model cache_metadata),
            Field::citation_metadata => read!(model citation_metadata),
            Field::interaction_id => read!(model interaction_id),
            Field::environment_id => read!(model environment_id),
        }
        Ok(())
    }

    fn finish<E: de::Error>(self) -> Result<Event, E> {
        let Self { mut event, mut node_info, message, state, route, node_path } = self;
        if let Some(path) = node_path {
            node_info.path = path;
        }
        node_info.put_into(&mut event);
        if let Some(Message(content)) = message {
            if event.content.is_some() {
                return Err(E::custom("'message' and 'content' are mutually exclusive: pass only one of them"));
            }
            event.set_content(Some(content));
        }
        if let Some(state) = state {
            event.actions.set_state_delta(state);
        }
        if route.is_some() {
            event.actions.set_route(route);
        }
        Ok(event)
    }
}

/// A time in seconds, written as a number or as a string that contains one.
struct Seconds(f64);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SecondsVisitor;

        impl Visitor<'_> for SecondsVisitor {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("seconds since the epoch, as a number or a numeric text")
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Seconds, E> {
                Ok(Seconds(number))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Seconds, E> {
                Ok(Seconds(number as f64))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Seconds, E> {
                Ok(Seconds(number as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Seconds, E> {
                let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
                number.map(Seconds).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(SecondsVisitor)
    }
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object (Event)")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let mut draft = Draft::default();
        let mut seen = Seen::default();
        while let Some(key) = map.next_key::<Key<Field>>()? {
            match key {
                Key::Known(field, camel) if seen.accepts(field, camel) => draft.read(field, &mut map)?,
                Key::Known(..) => json::ignore(&mut map)?,
                Key::Unknown(name) => {
                    let value = map.next_value()?;
                    draft.event.uncommon_mut().extra.insert(name, value);
                }
            }
        }
        draft.finish()
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor)
    }
}
