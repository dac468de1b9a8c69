//! Replacing U+0000 in a whole event.

use super::ModelInfo;
use super::data::{Event, UncommonFields};
use crate::Content;
use crate::check::{check_event, check_ops, is_storable};
use crate::depth::fits;
use crate::depth::limited::DepthBudget;
use crate::nul::{replace_nul, replace_nul_in, replace_nul_in_map, replace_nul_in_text};
use crate::quick_check::{Clean, Depth};

impl Event {
    /// Replaces U+0000, which no store accepts, by U+FFFD in every string, key and value of the event. Returns
    /// `true` if there was any.
    ///
    /// Use it for events with strings from models, tools and other programs. The names that the runtime sets are not
    /// changed: the author, the path, the ids and the route. An event that nests too deep is not changed; see
    /// [`bound_event`](crate::bound_event).
    pub fn replace_nul(&mut self) -> bool {
        if self.passes(&Clean) && self.actions.state_ops().is_empty() || self.is_clean() || self.is_too_deep() {
            return false;
        }
        // Every field is named, so that a new field cannot be forgotten.
        let Self {
            id: _,
            timestamp: _,
            invocation_id: _,
            author: _,
            path: _,
            branch: _,
            output,
            content,
            actions,
            long_running_tool_ids,
            output_for: _,
            uncommon,
            message_as_output: _,
            partial: _,
        } = self;
        let mut found = output.as_mut().is_some_and(replace_nul);
        found |= content.as_deref_mut().is_some_and(Content::replace_nul);
        found |= actions.replace_nul();
        found |= long_running_tool_ids.as_deref_mut().is_some_and(replace_nul_in);
        found | uncommon.as_deref_mut().is_some_and(UncommonFields::replace_nul)
    }

    /// Returns `true` if no string contains U+0000. The check makes no copy, even of media.
    fn is_clean(&self) -> bool {
        self.actions.state_ops().is_empty() && check_event(self).is_ok()
    }

    fn is_too_deep(&self) -> bool {
        check_ops(self).is_err() || !(self.passes(&Depth) || fits(self, DepthBudget::ALL))
    }
}

impl Content {
    /// Replaces U+0000, which no store accepts, by U+FFFD in every string, key and value. Returns `true` if there
    /// was any.
    ///
    /// The values must not nest too deep; see [`bound_message`](crate::bound_message).
    pub fn replace_nul(&mut self) -> bool {
        !self.passes(&Clean) && !is_storable(self) && replace_nul_in(self)
    }
}

impl UncommonFields {
    fn replace_nul(&mut self) -> bool {
        let Self {
            isolation_scope: _,
            turn_complete: _,
            error_code,
            error_message,
            custom_metadata,
            model,
            extra,
            node_extra,
        } = self;
        let mut found = false;
        for text in [error_code, error_message].into_iter().flatten() {
            found |= replace_nul_in_text(text);
        }
        for map in custom_metadata.iter_mut().chain([extra, node_extra]) {
            found |= replace_nul_in_map(map);
        }
        found | model.as_deref_mut().is_some_and(ModelInfo::replace_nul)
    }
}

impl ModelInfo {
    fn replace_nul(&mut self) -> bool {
        let Self {
            model_version,
            grounding_metadata,
            turn_complete_reason,
            interaction_status,
            finish_reason,
            interrupted: _,
            usage_metadata,
            live_session_resumption_update,
            live_session_id,
            go_away,
            voice_activity,
            input_transcription,
            output_transcription,
            avg_logprobs: _,
            logprobs_result,
            cache_metadata,
            citation_metadata,
            interaction_id,
            environment_id,
        } = self;
        let texts = [
            model_version,
            turn_complete_reason,
            interaction_status,
            finish_reason,
            live_session_id,
            interaction_id,
            environment_id,
        ];
        let documents = [
            grounding_metadata,
            usage_metadata,
            live_session_resumption_update,
            go_away,
            voice_activity,
            input_transcription,
            output_transcription,
            logprobs_result,
            citation_metadata,
        ];
        let mut found = cache_metadata.as_mut().is_some_and(replace_nul_in_map);
        found |= texts.into_iter().flatten().fold(false, |found, text| found | replace_nul_in_text(text));
        documents.into_iter().flatten().fold(found, |found, document| found | replace_nul_in(document))
    }
}
