//! A content that belongs to a session's event and is shared with it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use pleach_core::{Content, Event, Part};
use serde::{Serialize, Serializer};

/// The prefix of call ids that the runtime makes if the model has sent none.
pub const CLIENT_CALL_ID_PREFIX: &str = "adk-";

/// Returns true if the id of a call was made by the runtime, not by the model.
#[must_use]
pub fn is_client_call_id(id: &str) -> bool {
    id.starts_with(CLIENT_CALL_ID_PREFIX)
}

/// A content of a request. It is shared with the event that holds it, and copied only when it is changed.
///
/// It derefs to [`Content`], and has the same JSON form. After [`hide_client_ids`](Self::hide_client_ids), the JSON
/// leaves out ids that the runtime made; the content is not copied for this.
///
/// ```
/// use std::sync::Arc;
///
/// use pleach_core::Event;
/// use pleach_model::SharedContent;
///
/// let event = Arc::new(Event::message("hello"));
/// let mut content = SharedContent::of(&event).expect("the event has a message");
/// assert_eq!(content.text(), "hello");
/// content.to_mut().role = Some("model".into());
/// assert_eq!(event.content().and_then(|content| content.role()), Some("user"));
/// ```
#[derive(Clone)]
pub struct SharedContent {
    source: Source,
    hides_client_ids: bool,
}

#[derive(Clone)]
enum Source {
    /// The message of an event.
    Message(Arc<Event>),
    /// The summary that an event holds.
    Summary(Arc<Event>),
    Own(Arc<Content>),
}

/// A fallback for an event without a message; [`SharedContent::of`] never creates a handle for such an event.
static EMPTY: Content = Content { parts: None, role: None, extra: None };

impl SharedContent {
    /// Shares the message of an event; `None` if it has none.
    #[must_use]
    pub fn of(event: &Arc<Event>) -> Option<Self> {
        event.content()?;
        Some(Source::Message(event.clone()).into())
    }

    /// Shares the summary in an event; `None` if it has none.
    #[must_use]
    pub fn summary_of(event: &Arc<Event>) -> Option<Self> {
        event.actions().compaction()?;
        Some(Source::Summary(event.clone()).into())
    }

    /// Returns true if the content is the same object that `event` holds.
    #[must_use]
    pub fn is_shared_with(&self, event: &Arc<Event>) -> bool {
        match &self.source {
            Source::Message(own) | Source::Summary(own) => Arc::ptr_eq(own, event),
            Source::Own(_) => false,
        }
    }

    /// Returns the content for modification. A shared content is first copied from the event. The content still has the
    /// ids that its JSON leaves out, so that calls and responses can be paired.
    pub fn to_mut(&mut self) -> &mut Content {
        if !matches!(self.source, Source::Own(_)) {
            self.source = Source::Own(Arc::new(self.content().clone()));
        }
        let Source::Own(own) = &mut self.source else { unreachable!("a content of its own has just been made") };
        Arc::make_mut(own)
    }

    /// Leaves ids that the runtime made out of the JSON.
    ///
    /// Use it for models that pair calls with responses by order. A client that writes its own JSON checks
    /// [`is_client_call_id`].
    // L52
    #[must_use]
    pub fn hide_client_ids(mut self) -> Self {
        self.hides_client_ids = self.parts().iter().any(has_client_id);
        self
    }

    fn content(&self) -> &Content {
        match &self.source {
            Source::Message(event) => event.content().unwrap_or(&EMPTY),
            Source::Summary(event) => event.actions().compaction().map_or(&EMPTY, |summary| &summary.compacted_content),
            Source::Own(content) => content,
        }
    }

    /// Returns the content as its JSON shows it.
    fn visible(&self) -> Cow<'_, Content> {
        if !self.hides_client_ids {
            return Cow::Borrowed(self.content());
        }
        let mut content = self.content().clone();
        content.parts_mut().iter_mut().for_each(drop_client_ids);
        Cow::Owned(content)
    }
}

fn has_client_id(part: &Part) -> bool {
    let call = part.function_call.as_ref().and_then(|call| call.id.as_deref());
    let response = part.function_response.as_ref().and_then(|response| response.id.as_deref());
    call.is_some_and(is_client_call_id) || response.is_some_and(is_client_call_id)
}

fn drop_client_ids(part: &mut Part) {
    if let Some(call) = &mut part.function_call {
        call.id.take_if(|id| is_client_call_id(id));
    }
    if let Some(response) = &mut part.function_response {
        response.id.take_if(|id| is_client_call_id(id));
    }
}

impl Deref for SharedContent {
    type Target = Content;

    fn deref(&self) -> &Content {
        self.content()
    }
}

impl From<Source> for SharedContent {
    fn from(source: Source) -> Self {
        Self { source, hides_client_ids: false }
    }
}

impl From<Content> for SharedContent {
    fn from(content: Content) -> Self {
        Arc::new(content).into()
    }
}

impl From<Arc<Content>> for SharedContent {
    fn from(content: Arc<Content>) -> Self {
        Source::Own(content).into()
    }
}

/// Contents are equal if their JSON is equal.
impl PartialEq for SharedContent {
    fn eq(&self, other: &Self) -> bool {
        self.visible() == other.visible()
    }
}

impl fmt::Debug for SharedContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.content().fmt(f)
    }
}

impl Serialize for SharedContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.visible().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use pleach_core::{Content, EventCompaction, FunctionCall, FunctionResponse, Map};
    use serde_json::json;

    use super::*;

    fn call(id: &str) -> Part {
        Part::function_call(FunctionCall::new(id, "f", Map::new()))
    }

    #[test]
    fn l52_ids_of_the_runtime_are_hidden_and_those_of_the_model_are_sent() {
        let response = Part::function_response(FunctionResponse::new("adk-1", "f", Map::new()));
        let event = Arc::new(Event::message(Content::new("model", [call("adk-1"), call("c2"), response])));
        let shared = SharedContent::of(&event).unwrap();
        assert_eq!(serde_json::to_value(&shared).unwrap()["parts"][0]["function_call"]["id"], json!("adk-1"));
        let hidden = shared.clone().hide_client_ids();
        let json = serde_json::to_value(&hidden).unwrap();
        let ids: Vec<_> = json["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part.get("function_call").or(part.get("function_response")).unwrap().get("id").cloned())
            .collect();
        assert_eq!(ids, [None, Some(json!("c2")), None]);
        assert!(hidden.is_shared_with(&event));
        assert_ne!(hidden, shared);
        let mut changed = hidden.clone();
        assert_eq!(changed.to_mut().parts()[0].function_call.as_ref().unwrap().id.as_deref(), Some("adk-1"));
        assert_eq!(serde_json::to_value(&changed).unwrap(), json);
        assert_eq!(event.function_calls().next().unwrap().id.as_deref(), Some("adk-1"));
    }

    #[test]
    fn a_content_is_copied_when_it_is_changed_and_once() {
        let event = Arc::new(Event::message("a"));
        let mut first = SharedContent::of(&event).unwrap();
        let second = first.clone();
        assert!(second.is_shared_with(&event));
        let place = std::ptr::from_ref(first.to_mut());
        assert_eq!(std::ptr::from_ref(first.to_mut()), place);
        first.to_mut().parts_mut().push(Part::text("b"));
        assert_eq!((first.text(), second.text()), ("ab".to_owned(), "a".to_owned()));
        assert!(!first.is_shared_with(&event) && second.is_shared_with(&event));
    }

    #[test]
    fn a_summary_is_shared_with_its_event() {
        assert!(SharedContent::of(&Arc::new(Event::from_author("a"))).is_none());
        let mut event = Event::from_author("a");
        let compacted_content = Content::model("summary");
        let compaction = EventCompaction { start_timestamp: 1.0, end_timestamp: 2.0, compacted_content };
        event.actions_mut().set_compaction(Some(compaction));
        let event = Arc::new(event);
        let summary = SharedContent::summary_of(&event).unwrap();
        assert_eq!(summary.text(), "summary");
        assert!(summary.is_shared_with(&event));
    }
}
