//! [`Census`]: counts the values in a JSON text before the text is parsed, because the parsed value takes many times
//! the memory of the text.

use std::fmt;

use http::StatusCode;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use super::problem::{Problem, Step};
use crate::ServerLimits;
use crate::error::ApiError;

/// The lists whose entries are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    /// No list is counted separately.
    None,
    /// A message with parts, or events with parts.
    Messages,
}

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Values,
    Events,
    Parts,
    Levels,
}

/// The counts of a text so far.
#[derive(Debug)]
struct Census<'l> {
    limits: &'l ServerLimits,
    values: usize,
    events: usize,
    parts: usize,
    levels: usize,
    /// The path to the counted list.
    path: Vec<Step>,
    /// The limit that was exceeded, and the place.
    passed: Option<(Counted, Vec<Step>)>,
}

/// The role of a value in its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Body,
    Events,
    Event,
    Message,
    Parts,
    Other,
}

/// Refuses a text that exceeds a limit.
///
/// A malformed text within the limits is not refused here: the parser reports the fault.
///
/// # Errors
/// 422 for too many events, parts or values, with the limit and the place; 400 for too many levels.
pub(super) fn check(text: &str, lists: Lists, limits: &ServerLimits) -> Result<(), ApiError> {
    let path = vec![Step::name("body")];
    let mut census = Census { limits, values: 0, events: 0, parts: 0, levels: 0, path, passed: None };
    let role = if lists == Lists::Messages { Role::Body } else { Role::Other };
    let mut text = serde_json::Deserializer::from_str(text);
    let read = Seed { census: &mut census, role }.deserialize(&mut text);
    match census.passed {
        Some((counted, place)) => Err(counted.refusal(place, limits)),
        // If the server's limit is as high as the parser's own limit, the parser may reach its limit first.
        None if read.as_ref().is_err_and(is_too_deep) => Err(Counted::Levels.refusal(Vec::new(), limits)),
        None => Ok(()),
    }
}

/// serde_json has no error kind for this limit. A test checks that its error text has not changed.
fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit exceeded")
}

impl Counted {
    fn refusal(self, place: Vec<Step>, limits: &ServerLimits) -> ApiError {
        let (name, limit) = match self {
            Self::Values => ("values", limits.values),
            Self::Events => ("events", limits.events),
            Self::Parts => ("parts", limits.parts),
            Self::Levels => {
                let levels = limits.levels.min(ServerLimits::MOST_LEVELS);
                let detail = format!(
                    "There was an error parsing the body: it is nested too deep; at most {levels} levels are accepted."
                );
                return ApiError::new(StatusCode::BAD_REQUEST, detail);
            }
        };
        let text = format!("The request has too many {name}: at most {limit} are accepted (limit `{name}`)");
        ApiError::Invalid(vec![Problem::new("too_long", place, text)])
    }
}

impl Census<'_> {
    /// Increments a count.
    fn count<E: serde::de::Error>(&mut self, counted: Counted) -> Result<(), E> {
        let (count, limit) = match counted {
            Counted::Values => (&mut self.values, self.limits.values),
            Counted::Events => (&mut self.events, self.limits.events),
            Counted::Parts => (&mut self.parts, self.limits.parts),
            Counted::Levels => (&mut self.levels, self.limits.levels),
        };
        *count += 1;
        if *count <= limit {
            return Ok(());
        }
        self.passed = Some((counted, self.path.clone()));
        Err(E::custom("too many"))
    }
}

impl Role {
    /// Returns the role of a member of the value.
    fn member(self, name: &str) -> Self {
        match (self, name) {
            (Self::Body, "events") => Self::Events,
            (Self::Body, "newMessage" | "new_message") | (Self::Event, "content" | "message") => Self::Message,
            (Self::Message, "parts") => Self::Parts,
            _ => Self::Other,
        }
    }

    /// Returns the role of an item of the list, and its counter.
    fn item(self) -> (Self, Option<Counted>) {
        match self {
            Self::Events => (Self::Event, Some(Counted::Events)),
            Self::Parts => (Self::Other, Some(Counted::Parts)),
            _ => (Self::Other, None),
        }
    }
}

/// One value of the text.
struct Seed<'c, 'l> {
    census: &'c mut Census<'l>,
    role: Role,
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.census.count(Counted::Values)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { census, role } = self;
        census.count(Counted::Levels)?;
        let mut index = 0;
        while items.next_element_seed(Item { census: &mut *census, list: role, index })?.is_some() {
            index += 1;
        }
        census.levels -= 1;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { census, role } = self;
        census.count(Counted::Levels)?;
        while let Some((role, step)) = members.next_key_seed(Member(role))? {
            let depth = census.path.len();
            census.path.extend(step);
            members.next_value_seed(Seed { census: &mut *census, role })?;
            census.path.truncate(depth);
        }
        census.levels -= 1;
        Ok(())
    }
}

/// An item of a list.
struct Item<'c, 'l> {
    census: &'c mut Census<'l>,
    list: Role,
    index: usize,
}

impl<'de> DeserializeSeed<'de> for Item<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Self { census, list, index } = self;
        let (role, counted) = list.item();
        if let Some(counted) = counted {
            census.count(counted)?;
        }
        let depth = census.path.len();
        census.path.extend(counted.map(|_| Step::Index(index)));
        Seed { census: &mut *census, role }.deserialize(deserializer)?;
        census.path.truncate(depth);
        Ok(())
    }
}

/// Reads the name of a member. Returns the member's role and, if its items are counted, its step in the path.
struct Member(Role);

impl<'de> DeserializeSeed<'de> for Member {
    type Value = (Role, Option<Step>);

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Member {
    type Value = (Role, Option<Step>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let role = self.0.member(name);
        Ok((role, (role != Role::Other).then(|| Step::name(name))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limits() -> ServerLimits {
        ServerLimits::new().values(60).events(3).parts(4).levels(6)
    }

    fn refusal(text: &str, lists: Lists) -> String {
        match check(text, lists, &limits()) {
            Ok(()) => String::new(),
            Err(ApiError::Invalid(problems)) => {
                let problem = problems[0].to_json();
                format!("{} {}", problem["loc"], problem["msg"].as_str().unwrap())
            }
            Err(ApiError::Detail(status, detail)) => format!("{status} {detail}"),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check_refusal(body: serde_json::Value, expected: &str) {
        let found = refusal(&body.to_string(), Lists::Messages);
        assert!(if expected.is_empty() { found.is_empty() } else { found.contains(expected) }, "{body}: {found}");
    }

    #[test]
    fn each_limit_is_named_with_the_place_that_passes_it() {
        check_refusal(json!({"events": [{}, {}, {}]}), "");
        check_refusal(
            json!({"events": [{}, {}, {}, {}]}),
            r#"["body","events"] The request has too many events: at most 3"#,
        );
        check_refusal(json!({"events": [1, 2, "x", null]}), "too many events");
        check_refusal(json!({"newMessage": {"parts": [1, 2, 3, 4]}}), "");
        let message =
            r#"["body","newMessage","parts"] The request has too many parts: at most 4 are accepted (limit `parts`)"#;
        check_refusal(json!({"newMessage": {"parts": [1, 2, 3, 4, 5]}}), message);
        check_refusal(json!({"new_message": {"parts": [[], [], [], [], []]}}), r#"["body","new_message","parts"]"#);
        // The limit is for the parts of all events together.
        let events = json!({"events": [{"content": {"parts": [1, 2, 3]}}, {"message": {"parts": [4, 5]}}]});
        check_refusal(events, r#"["body","events",1,"message","parts"] The request has too many parts"#);
        check_refusal(json!({"a": vec![0; 57]}), "");
        check_refusal(json!({"a": vec![0; 60]}), r#"["body"] The request has too many values: at most 60"#);
        check_refusal(json!([[[[[[]]]]]]), "");
        check_refusal(
            json!([[[[[[[]]]]]]]),
            "400 Bad Request There was an error parsing the body: it is nested too deep; at most 6",
        );
        check_refusal(json!({"a": {"a": {"a": {"a": {"a": {"a": {}}}}}}}), "nested too deep");
    }

    #[test]
    fn members_of_user_data_may_have_the_names_of_lists() {
        let names = json!({"events": [1, 2, 3, 4, 5], "newMessage": {"parts": [1, 2, 3, 4, 5]}});
        assert_eq!(refusal(&names.to_string(), Lists::None), "");
        check_refusal(json!({"state": names}), "");
        check_refusal(json!({"parts": [1, 2, 3, 4, 5]}), "");
    }

    /// The rest of a text is not read. To show this, the text after the limit is not JSON.
    #[test]
    fn no_more_is_read_than_the_limit_takes() {
        let many =
            |start: &str, item: &str, count: usize| format!("{start}{}{{not json", format!("{item},").repeat(count));
        for (text, expected) in [
            (many(r#"{"events":["#, "{}", 4), "too many events"),
            (many(r#"{"newMessage":{"parts":["#, "{}", 5), "too many parts"),
            (many(r#"{"x":["#, "0", 59), "too many values"),
            ("[".repeat(7), "nested too deep"),
            // With one item fewer, the limit is not reached, and the parser finds the fault.
            (many(r#"{"events":["#, "{}", 2), ""),
        ] {
            let found = refusal(&text, Lists::Messages);
            assert!(if expected.is_empty() { found.is_empty() } else { found.contains(expected) }, "{text}: {found}");
        }
    }
}
