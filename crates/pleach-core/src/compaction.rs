//! [`EventCompaction`]: the record that a span of events was summarised.

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Content;
use crate::json::json_object;

/// A summary that replaces the events of a time span when prompts are built.
///
/// ADK: `EventCompaction`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventCompaction {
    /// The time of the first summarised event, in seconds since the epoch.
    pub start_timestamp: f64,
    /// The time of the last summarised event, in seconds since the epoch.
    pub end_timestamp: f64,
    /// The summary.
    pub compacted_content: Content,
}

impl Serialize for EventCompaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("EventCompaction", 3)?;
        object.serialize_field("start_timestamp", &self.start_timestamp)?;
        object.serialize_field("end_timestamp", &self.end_timestamp)?;
        object.serialize_field("compacted_content", &self.compacted_content)?;
        object.end()
    }
}

json_object! {
    /// An [`EventCompaction`] as read, before the check that no field is missing.
    struct Document refuse as "EventCompaction" {
        /// See [`EventCompaction::start_timestamp`].
        start_timestamp: Option<f64> = "start_timestamp" | "startTimestamp",
        /// See [`EventCompaction::end_timestamp`].
        end_timestamp: Option<f64> = "end_timestamp" | "endTimestamp",
        /// See [`EventCompaction::compacted_content`].
        compacted_content: Option<Content> = "compacted_content" | "compactedContent",
    }
}

impl<'de> Deserialize<'de> for EventCompaction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn required<T, E: de::Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
            value.ok_or_else(|| E::missing_field(name))
        }

        let read = Document::deserialize(deserializer)?;
        Ok(Self {
            start_timestamp: required(read.start_timestamp, "start_timestamp")?,
            end_timestamp: required(read.end_timestamp, "end_timestamp")?,
            compacted_content: required(read.compacted_content, "compacted_content")?,
        })
    }
}
