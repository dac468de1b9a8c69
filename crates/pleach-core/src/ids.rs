//! Newtypes for ids, so that a swapped argument does not compile.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::text::Text;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Text);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// Returns `true` if the id is the empty text.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<&String> for $name {
            fn from(text: &String) -> Self {
                Self(text.as_str().into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<Arc<str>> for $name {
            fn from(text: Arc<str>) -> Self {
                Self(text.into())
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.0.as_str()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.0.as_str()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::json::text(deserializer)
            }
        }
    };
}

text_id! {
    /// The name of an application: the first part of a session's identity. Cloning is cheap.
    AppName
}
text_id! {
    /// The id of a user of an application: the second part of a session's identity. Cloning is cheap.
    UserId
}
text_id! {
    /// The id of a session of one user: the third part of a session's identity. Cloning is cheap.
    SessionId
}
text_id! {
    /// The id of an invocation; all its events have it. Cloning is cheap.
    InvocationId
}

impl InvocationId {
    /// Creates the id of a new invocation: `e-` and the UUID. ADK: `new_invocation_context_id`.
    #[must_use]
    pub fn of_uuid(uuid: Uuid) -> Self {
        let mut text = String::with_capacity(2 + Hyphenated::LENGTH);
        text.push_str("e-");
        text.push_str(uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
        Self::from(text)
    }
}

/// The identity of a session: the same [`SessionId`] under another user or app is another session.
///
/// Its JSON is `{"app_name": "a", "user_id": "u", "session_id": "s"}`.
// S1
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey {
    /// The name of the application.
    pub app_name: AppName,
    /// The id of the user within the application.
    pub user_id: UserId,
    /// The id of the session, unique among the user's sessions.
    pub session_id: SessionId,
}

impl SessionKey {
    /// Creates a key from its parts.
    pub fn new(app_name: impl Into<AppName>, user_id: impl Into<UserId>, session_id: impl Into<SessionId>) -> Self {
        Self { app_name: app_name.into(), user_id: user_id.into(), session_id: session_id.into() }
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.app_name, self.user_id, self.session_id)
    }
}

/// The id of an event: usually a random UUID, but any text when read from elsewhere.
///
/// A UUID is stored as its 16 bytes and formatted only when needed. Ids are compared, ordered and hashed by their text,
/// however they were created.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EventId(Repr);

// Invariant: `Text` never holds the canonical text of a UUID, so equal texts have equal representations.
#[derive(Clone, PartialEq, Eq)]
enum Repr {
    Uuid(Uuid),
    Text(Text),
}

impl Hash for Repr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // Nearly all ids are UUIDs, and a hasher processes a single number in one step.
            Self::Uuid(uuid) => state.write_u128(uuid.as_u128()),
            Self::Text(text) => text.hash(state),
        }
    }
}

impl EventId {
    /// Returns `true` if the id is the empty text, because the event is not complete yet.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Repr::Text(text) if text.is_empty())
    }

    /// Calls `read` with the text of the id, without allocating.
    pub fn with_str<R>(&self, read: impl FnOnce(&str) -> R) -> R {
        match &self.0 {
            Repr::Uuid(uuid) => {
                let mut buffer = Uuid::encode_buffer();
                read(uuid.hyphenated().encode_lower(&mut buffer))
            }
            Repr::Text(text) => read(text.as_str()),
        }
    }

    /// Calls `read` with an id that is not a UUID.
    pub(crate) fn with_text(&self, read: impl FnOnce(&str) -> bool) -> bool {
        match &self.0 {
            Repr::Uuid(_) => true,
            Repr::Text(text) => read(text.as_str()),
        }
    }

    fn parse(text: &str) -> Option<Uuid> {
        if text.len() != uuid::fmt::Hyphenated::LENGTH {
            return None;
        }
        let uuid = Uuid::try_parse(text).ok()?;
        // `try_parse` accepts any case, but only the canonical form may be stored as a UUID, because otherwise the text
        // would change.
        let mut buffer = Uuid::encode_buffer();
        (uuid.hyphenated().encode_lower(&mut buffer) == text).then_some(uuid)
    }
}

impl Default for EventId {
    fn default() -> Self {
        Self(Repr::Text(Text::default()))
    }
}

impl From<Uuid> for EventId {
    fn from(uuid: Uuid) -> Self {
        Self(Repr::Uuid(uuid))
    }
}

impl From<&str> for EventId {
    fn from(text: &str) -> Self {
        Self::parse(text).map_or_else(|| Self(Repr::Text(text.into())), Self::from)
    }
}

impl From<&String> for EventId {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<String> for EventId {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&EventId> for EventId {
    fn from(id: &EventId) -> Self {
        id.clone()
    }
}

impl PartialEq<str> for EventId {
    fn eq(&self, other: &str) -> bool {
        self.with_str(|text| text == other)
    }
}

impl PartialEq<&str> for EventId {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialOrd for EventId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EventId {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            // The bytes of two UUIDs sort like their lower-case texts.
            (Repr::Uuid(ours), Repr::Uuid(theirs)) => ours.cmp(theirs),
            _ => self.with_str(|ours| other.with_str(|theirs| ours.cmp(theirs))),
        }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_str(|text| f.write_str(text))
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_str(|text| f.debug_tuple("EventId").field(&text).finish())
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.with_str(|text| serializer.serialize_str(text))
    }
}

impl<'de> Deserialize<'de> for EventId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::json::text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::{AppName, EventId, InvocationId, SessionKey};
    use crate::Uuid;

    const CANONICAL: &str = "89fe0000-0000-4000-8000-00000000000a";

    // R1103
    #[test]
    fn the_id_of_an_invocation_is_a_uuid_with_a_prefix() {
        let uuid = Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        assert_eq!(InvocationId::of_uuid(uuid), "e-01234567-89ab-cdef-0123-456789abcdef");
    }

    #[test]
    fn event_ids_keep_their_text() {
        for text in ["", "chat-03", CANONICAL, &CANONICAL.to_uppercase(), &CANONICAL.replace('-', "")] {
            assert_eq!(EventId::from(text).to_string(), text);
            let json = serde_json::to_string(&EventId::from(text)).unwrap();
            assert_eq!(serde_json::from_str::<EventId>(&json).unwrap(), EventId::from(text));
        }
    }

    #[test]
    fn event_ids_compare_by_text() {
        let uuid = EventId::from(Uuid::parse_str(CANONICAL).unwrap());
        assert_eq!(uuid, EventId::from(CANONICAL));
        assert_ne!(uuid, EventId::from(CANONICAL.to_uppercase()));
        let texts = ["10", "9", CANONICAL, "89fe0000-0000-4000-8000-000000000009", "Zz", "aa", "\u{e4}"];
        let sorted: Vec<String> = texts
            .iter()
            .map(|text| EventId::from(*text))
            .collect::<BTreeSet<_>>()
            .iter()
            .map(EventId::to_string)
            .collect();
        let mut expected = texts;
        expected.sort_unstable();
        assert_eq!(sorted, expected);
        assert!(EventId::default().is_empty() && !uuid.is_empty());
    }

    #[test]
    fn ids_are_found_by_text() {
        let map = HashMap::from([(AppName::from("shop"), 1), (AppName::default(), 2)]);
        assert_eq!((map.get("shop"), map.get("")), (Some(&1), Some(&2)));
        assert_eq!(AppName::from(String::new()), AppName::default());
        assert_eq!(SessionKey::new("a", "u", "s").to_string(), "a/u/s");
    }
}
