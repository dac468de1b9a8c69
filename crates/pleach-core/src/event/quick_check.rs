//! The quick check of an event.

use super::data::{Event, UncommonFields};
use super::{ModelInfo, OutputFor};
use crate::quick_check::{QUICK, QuickCheck};

impl Event {
    /// Returns `true` if `check` could examine the whole event, except its state operations, and the event passed.
    pub(crate) fn passes(&self, check: &impl QuickCheck) -> bool {
        // Every field is named, so that a new field cannot be forgotten.
        let Self {
            id,
            timestamp: _,
            invocation_id,
            author,
            path,
            branch,
            output,
            content,
            actions,
            long_running_tool_ids,
            output_for,
            uncommon,
            message_as_output: _,
            partial: _,
        } = self;
        id.with_text(|id| check.text(id))
            && check.text(invocation_id.as_str())
            && check.text(author)
            && check.text(path.as_str())
            && branch.as_ref().is_none_or(|branch| check.text(branch.as_str()))
            && output.as_ref().is_none_or(|output| check.value(output, QUICK))
            && content.as_ref().is_none_or(|content| content.passes(check))
            && actions.passes(check)
            && long_running_tool_ids.iter().flat_map(|ids| ids.iter()).all(|id| check.text(id))
            && match output_for {
                OutputFor::None | OutputFor::Own => true,
                OutputFor::Paths(paths) => paths.iter().all(|path| check.text(path.as_str())),
            }
            && uncommon.as_ref().is_none_or(|uncommon| uncommon.passes(check))
    }
}

impl UncommonFields {
    fn passes(&self, check: &impl QuickCheck) -> bool {
        let Self {
            isolation_scope,
            turn_complete: _,
            error_code,
            error_message,
            custom_metadata,
            model,
            extra,
            node_extra,
        } = self;
        check.text_of(isolation_scope)
            && check.text_of(error_code)
            && check.text_of(error_message)
            && check.map_of(custom_metadata.as_ref())
            && model.as_ref().is_none_or(|model| model.passes(check))
            && extra.is_empty()
            && node_extra.is_empty()
    }
}

impl ModelInfo {
    fn passes(&self, check: &impl QuickCheck) -> bool {
        let Self {
            model_version,
            grounding_metadata,
            turn_complete_reason,
            interaction_status,
            finish_reason,
            interrupted: _,
            usage_metadata,
            live_session_resumption_update: None,
            live_session_id,
            go_away: None,
            voice_activity: None,
            input_transcription,
            output_transcription,
            avg_logprobs: _,
            logprobs_result,
            cache_metadata,
            citation_metadata,
            interaction_id,
            environment_id,
        } = self
        else {
            return false;
        };
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
            input_transcription,
            output_transcription,
            logprobs_result,
            citation_metadata,
        ];
        texts.into_iter().all(|text| check.text_of(text))
            && documents.into_iter().flatten().all(|document| check.value(document.as_value(), QUICK))
            && check.map_of(cache_metadata.as_ref())
    }
}
