//! Combines the fragments of a stream into one response.

mod arguments;
mod calls;
mod json_path;

use foldhash::HashSet;
use pleach_core::{Content, IdGen, ModelInfo, Part};

use crate::{LlmResponse, is_client_call_id};
use calls::ActiveCall;

/// Combines the fragments of a stream, in the order of their arrival, into one response.
///
/// Adjacent texts are joined, thoughts separately from the answer, and keep their first signature. Calls whose
/// arguments arrive in pieces are completed. Calls without an id get one, which is the same in the fragment and in the
/// response. A call that repeats the id of an earlier call is dropped. For usage, sources and grounding, the last
/// values that were sent win.
///
/// A client of a provider [pushes](Self::push) each fragment and yields the returned one. At the end of the stream it
/// yields the result of [`finish`](Self::finish). If the stream breaks, it drops the aggregator, so that an incomplete
/// call is never seen. ADK: `StreamingResponseAggregator`
///
/// ```
/// use pleach_core::RandomIds;
/// use pleach_model::{Aggregator, LlmResponse};
///
/// let mut aggregator = Aggregator::default();
/// for text in ["Su", "nny."] {
///     assert!(aggregator.push(LlmResponse::text(text), &RandomIds).is_partial());
/// }
/// let whole = aggregator.finish().expect("there were fragments");
/// assert_eq!(whole.content.expect("there is text").text(), "Sunny.");
/// ```
// L155, L157, L216–L218
#[derive(Debug, Default)]
pub struct Aggregator {
    /// The answer so far. `None` marks the place of the call whose arguments are still arriving.
    parts: Vec<Option<Part>>,
    active: Option<ActiveCall>,
    calls: usize,
    /// Whether a call was left out because no fragment named its function.
    has_unnamed_calls: bool,
    info: ModelInfo,
    /// The error code and message of the last fragment.
    error: Option<(Option<String>, Option<String>)>,
}

impl Aggregator {
    /// Takes in a fragment, and returns it marked as a fragment, with ids on its calls.
    ///
    /// A fragment is what a provider sends: text, calls or pieces of calls, and accompanying data. If fragments report
    /// an error, the last one wins. An `error_message` without a code is the text for a finish reason other than
    /// `STOP`.
    pub fn push(&mut self, mut fragment: LlmResponse, ids: &dyn IdGen) -> LlmResponse {
        self.error = Some((fragment.error_code.clone(), fragment.error_message.clone()));
        self.keep_info(&fragment.info);
        for part in fragment.content.iter_mut().filter_map(|content| content.parts.as_mut()).flatten() {
            self.push_part(part, ids);
        }
        fragment.partial = Some(true);
        fragment
    }

    /// Returns how many calls have begun, for clients that limit their number.
    pub fn call_count(&self) -> usize {
        self.calls
    }

    /// Returns how many parts have begun, including calls, for clients that limit their number.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// Returns true if there is a call whose function no fragment has named so far. Such a call is not part of the
    /// whole answer.
    pub fn has_unnamed_calls(&self) -> bool {
        self.has_unnamed_calls || self.active.as_ref().is_some_and(|active| !active.has_name())
    }

    /// Returns the whole answer; `None` if there was no fragment.
    ///
    /// A finish reason other than `STOP` becomes the error of the answer; the content is kept.
    pub fn finish(mut self) -> Option<LlmResponse> {
        let (code, message) = self.error.take()?;
        self.close_call();
        let reason = self.info.finish_reason.as_ref().filter(|reason| *reason != "STOP");
        let (error_code, error_message) = match (reason, code) {
            (Some(reason), _) => (Some(reason.clone()), message),
            (None, Some(code)) => (Some(code), message),
            (None, None) => (None, None),
        };
        let parts = without_repeated_calls(self.parts);
        Some(LlmResponse {
            content: (!parts.is_empty()).then(|| Content::new("model", parts)),
            partial: Some(false),
            error_code,
            error_message,
            info: self.info,
            ..LlmResponse::default()
        })
    }

    /// Keeps the latest values of the data that accompanies the parts.
    fn keep_info(&mut self, new: &ModelInfo) {
        fn keep<T: Clone>(kept: &mut Option<T>, new: &Option<T>) {
            if new.is_some() {
                kept.clone_from(new);
            }
        }

        keep(&mut self.info.usage_metadata, &new.usage_metadata);
        keep(&mut self.info.grounding_metadata, &new.grounding_metadata);
        keep(&mut self.info.citation_metadata, &new.citation_metadata);
        keep(&mut self.info.finish_reason, &new.finish_reason);
        self.info.model_version.clone_from(&new.model_version);
    }

    fn push_part(&mut self, part: &mut Part, ids: &dyn IdGen) {
        if part.function_call.is_some() {
            self.push_call(part, ids);
        } else if !is_empty(part) && !self.joins(part) {
            self.parts.push(Some(part.clone()));
        }
    }

    /// Joins a text with the previous one, if that is of the same kind.
    fn joins(&mut self, part: &Part) -> bool {
        let Some(Some(last)) = self.parts.last_mut() else { return false };
        if !is_text(part) || !is_text(last) || part.is_thought() != last.is_thought() {
            return false;
        }
        last.text.get_or_insert_default().push_str(part.text.as_deref().unwrap_or_default());
        if last.thought_signature.is_none() {
            last.thought_signature.clone_from(&part.thought_signature);
        }
        true
    }

    fn push_call(&mut self, part: &mut Part, ids: &dyn IdGen) {
        let Some(call) = part.function_call.as_deref_mut() else { return };
        if !calls::is_piece(call, self.active.is_some()) {
            self.close_call();
            if call.name.as_ref().is_some_and(|name| !name.is_empty()) {
                calls::ensure_id(call, ids);
                self.parts.push(Some(part.clone()));
                self.calls += 1;
            } else {
                // A call without any data marks the end of a call, and may arrive twice.
                self.has_unnamed_calls |= call.args.as_ref().is_some_and(|args| !args.is_empty());
            }
            return;
        }
        if self.active.as_ref().is_some_and(|active| active.is_other_than(call)) {
            self.close_call();
        }
        let active = self.active.get_or_insert_with(|| {
            self.parts.push(None);
            self.calls += 1;
            ActiveCall::new(call, ids)
        });
        active.take(call);
        active.keep_signature(part.thought_signature.as_ref());
        if part.function_call.as_ref().is_none_or(|call| call.will_continue != Some(true)) {
            self.close_call();
        }
    }

    /// Puts the completed call into its place.
    fn close_call(&mut self) {
        let Some(active) = self.active.take() else { return };
        if let Some(place) = self.parts.iter().rposition(Option::is_none) {
            match active.into_part() {
                part @ Some(_) => self.parts[place] = part,
                None => {
                    self.has_unnamed_calls = true;
                    self.parts.remove(place);
                }
            }
        }
    }
}

/// Returns true if a part has text that can be joined with its neighbours: it has no other content.
fn is_text(part: &Part) -> bool {
    part.text.as_ref().is_some_and(|text| !text.is_empty()) && is_nothing_but_text(part)
}

/// Returns true if a part has no text, signature or other content. It may still be marked as a thought.
fn is_empty(part: &Part) -> bool {
    let has_text = part.text.as_ref().is_some_and(|text| !text.is_empty());
    !has_text && part.thought_signature.is_none() && is_nothing_but_text(part)
}

/// Returns true if a part has no content other than text and a signature. It may be marked as a thought.
fn is_nothing_but_text(part: &Part) -> bool {
    // Every field is listed, so that a new one cannot be forgotten.
    matches!(
        part,
        Part {
            text: _,
            thought: _,
            thought_signature: _,
            media_resolution: None,
            code_execution_result: None,
            executable_code: None,
            file_data: None,
            function_call: None,
            function_response: None,
            inline_data: None,
            video_metadata: None,
            tool_call: None,
            tool_response: None,
            part_metadata: None,
            audio_transcription: None,
            media_processing: None,
            speech_metadata: None,
            extra: None,
        }
    )
}

/// Removes calls that repeat the id, name and arguments of an earlier call. A call whose id was made by the runtime is
/// never a repetition.
fn without_repeated_calls(parts: Vec<Option<Part>>) -> Vec<Part> {
    let mut seen: HashSet<String> = HashSet::default();
    let is_new = |part: &Part| match part.function_call.as_ref() {
        Some(call) if call.id.as_ref().is_some_and(|id| !id.is_empty() && !is_client_call_id(id)) => {
            seen.insert(format!("{:?} {:?} {:?}", call.id, call.name, call.args))
        }
        _ => true,
    };
    parts.into_iter().flatten().filter(is_new).collect()
}

#[cfg(test)]
mod tests;
