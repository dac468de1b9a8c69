//! The JSON of [`EventActions`].
// R103, S42, S43

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::EventActions;
use crate::json::{self, Key, Present, Seen, json_fields};

json_fields!(Field {
    skip_summarization = "skip_summarization" | "skipSummarization",
    state_delta = "state_delta" | "stateDelta",
    artifact_delta = "artifact_delta" | "artifactDelta",
    transfer_to_agent = "transfer_to_agent" | "transferToAgent",
    transfer_reason = "transfer_reason" | "transferReason",
    escalate = "escalate",
    requested_auth_configs = "requested_auth_configs" | "requestedAuthConfigs",
    requested_tool_confirmations = "requested_tool_confirmations" | "requestedToolConfirmations",
    compaction = "compaction",
    end_of_agent = "end_of_agent" | "endOfAgent",
    agent_state = "agent_state" | "agentState",
    rewind_before_invocation_id = "rewind_before_invocation_id" | "rewindBeforeInvocationId",
    route = "route",
    render_ui_widgets = "render_ui_widgets" | "renderUiWidgets",
    set_model_response = "set_model_response" | "setModelResponse",
});

const FIELDS: usize = 15;

fn optional<S, T>(object: &mut S, name: &'static str, value: Option<&Option<T>>) -> Result<(), S::Error>
where
    S: SerializeStruct,
    T: Serialize,
{
    match value {
        Some(value) if value.is_present() => object.serialize_field(name, value),
        _ => Ok(()),
    }
}

impl Serialize for EventActions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let uncommon = self.uncommon.as_deref();
        let mut object = serializer.serialize_struct("EventActions", FIELDS)?;
        macro_rules! write_uncommon {
            ($($name:ident)*) => {
                $(optional(&mut object, stringify!($name), uncommon.map(|uncommon| &uncommon.$name))?;)*
            };
        }
        write_uncommon!(skip_summarization);
        object.serialize_field("state_delta", self.state_delta())?;
        object.serialize_field("artifact_delta", self.artifact_delta())?;
        write_uncommon!(transfer_to_agent transfer_reason escalate);
        object.serialize_field("requested_auth_configs", self.requested_auth_configs())?;
        object.serialize_field("requested_tool_confirmations", self.requested_tool_confirmations())?;
        write_uncommon!(compaction end_of_agent agent_state rewind_before_invocation_id);
        if let Some(route) = self.route() {
            object.serialize_field("route", route)?;
        }
        write_uncommon!(render_ui_widgets set_model_response);
        object.end()
    }
}

struct ActionsVisitor;

impl ActionsVisitor {
    fn read<'de, A: MapAccess<'de>>(actions: &mut EventActions, field: Field, map: &mut A) -> Result<(), A::Error> {
        macro_rules! read {
            ($name:ident: maybe) => {{
                let value = json::value::<Option<_>, A>(map, stringify!($name))?;
                if value.is_some() || actions.uncommon.is_some() {
                    actions.uncommon_mut().$name = value;
                }
            }};
            ($name:ident: always) => {{
                let value = json::value(map, stringify!($name))?;
                let empty = std::collections::BTreeMap::is_empty(&value);
                if !empty || actions.uncommon.is_some() {
                    actions.uncommon_mut().$name = value;
                }
            }};
        }
        match field {
            Field::state_delta => actions.set_state_delta(json::value(map, "state_delta")?),
            Field::route => actions.set_route(json::value(map, "route")?),
            Field::artifact_delta => read!(artifact_delta: always),
            Field::requested_auth_configs => read!(requested_auth_configs: always),
            Field::requested_tool_confirmations => read!(requested_tool_confirmations: always),
            Field::skip_summarization => read!(skip_summarization: maybe),
            Field::transfer_to_agent => read!(transfer_to_agent: maybe),
            Field::transfer_reason => read!(transfer_reason: maybe),
            Field::escalate => read!(escalate: maybe),
            Field::compaction => read!(compaction: maybe),
            Field::end_of_agent => read!(end_of_agent: maybe),
            Field::agent_state => read!(agent_state: maybe),
            Field::rewind_before_invocation_id => read!(rewind_before_invocation_id: maybe),
            Field::render_ui_widgets => read!(render_ui_widgets: maybe),
            Field::set_model_response => read!(set_model_response: maybe),
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for ActionsVisitor {
    type Value = EventActions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object (EventActions)")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventActions, A::Error> {
        let mut actions = EventActions::default();
        let mut seen = Seen::default();
        while let Some(key) = map.next_key::<Key<Field>>()? {
            match key {
                Key::Known(field, camel) if seen.accepts(field, camel) => {
                    Self::read(&mut actions, field, &mut map)?;
                }
                Key::Known(..) => json::ignore(&mut map)?,
                Key::Unknown(name) => return Err(json::unknown(&name, "EventActions")),
            }
        }
        Ok(actions)
    }
}

impl<'de> Deserialize<'de> for EventActions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ActionsVisitor)
    }
}
