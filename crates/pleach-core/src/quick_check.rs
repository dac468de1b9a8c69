//! [`QuickCheck`]: a check of the parts that nearly all events have, without serialising them.

use serde_json::Value;

use crate::{Content, FunctionCall, FunctionResponse, Map, Part};

/// The depth of values up to which a quick check decides. Deeper values need the full check.
pub(crate) const QUICK: usize = 32;

/// A quick check of the texts and values of an event. If it fails, or if the event has an uncommon part, the full check
/// decides.
pub(crate) trait QuickCheck {
    /// Checks a string or a key.
    fn text(&self, text: &str) -> bool;

    /// Checks a value of at most `levels` levels; a deeper value fails.
    fn value(&self, value: &Value, levels: usize) -> bool {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(_) | Value::Object(_) if levels == 0 => false,
            Value::Array(items) => items.iter().all(|item| self.value(item, levels - 1)),
            Value::Object(members) => self.members(members, levels - 1),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }

    /// Checks the keys and values of an object, whose values may have at most `levels` levels.
    fn members(&self, members: &Map, levels: usize) -> bool {
        members.iter().all(|(key, value)| self.text(key) && self.value(value, levels))
    }

    /// Checks a string, if there is one.
    fn text_of<T: AsRef<str>>(&self, text: &Option<T>) -> bool {
        text.as_ref().is_none_or(|text| self.text(text.as_ref()))
    }

    /// Checks an object, if there is one.
    fn map_of(&self, map: Option<&Map>) -> bool {
        map.is_none_or(|map| self.members(map, QUICK))
    }
}

/// A check of the depth only: every text passes.
pub(crate) struct Depth;

impl QuickCheck for Depth {
    #[inline]
    fn text(&self, _: &str) -> bool {
        true
    }
}

/// A check that no text contains U+0000, which not every store accepts.
pub(crate) struct Clean;

impl QuickCheck for Clean {
    #[inline]
    fn text(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        // Keys and names are shorter than a large block.
        let by_blocks = blocks_are_clean::<16>(bytes).or_else(|| blocks_are_clean::<4>(bytes));
        by_blocks.unwrap_or_else(|| !bytes.contains(&0))
    }
}

/// Returns whether all bytes differ from 0; `None` if there are fewer bytes than one block has.
#[inline]
fn blocks_are_clean<const SIZE: usize>(bytes: &[u8]) -> Option<bool> {
    // Without a branch for each byte, a block takes a handful of instructions. The last block may overlap the one
    // before it.
    let is_clean = |block: &[u8; SIZE]| !block.iter().fold(false, |found, byte| found | (*byte == 0));
    let last = bytes.last_chunk()?;
    Some(bytes.as_chunks().0.iter().all(is_clean) && is_clean(last))
}

impl Content {
    /// Returns `true` if `check` could examine the whole message, and it passed.
    pub(crate) fn passes(&self, check: &impl QuickCheck) -> bool {
        let Self { parts, role, extra: None } = self else { return false };
        check.text_of(role) && parts.iter().flatten().all(|part| part.passes(check))
    }
}

impl Part {
    fn passes(&self, check: &impl QuickCheck) -> bool {
        // Every field is named, so that a new field cannot be forgotten.
        let Self {
            text,
            function_call,
            function_response,
            thought: _,
            thought_signature: _,
            media_resolution: None,
            code_execution_result: None,
            executable_code: None,
            file_data: None,
            inline_data: None,
            video_metadata: None,
            tool_call: None,
            tool_response: None,
            part_metadata: None,
            audio_transcription: None,
            media_processing: None,
            speech_metadata: None,
            extra: None,
        } = self
        else {
            return false;
        };
        check.text_of(text)
            && function_call.as_ref().is_none_or(|call| call.passes(check))
            && function_response.as_ref().is_none_or(|response| response.passes(check))
    }
}

impl FunctionCall {
    fn passes(&self, check: &impl QuickCheck) -> bool {
        let Self { id, args, name, partial_args: None, will_continue: _, extra: None } = self else { return false };
        check.text_of(id) && check.text_of(name) && check.map_of(args.as_ref())
    }
}

impl FunctionResponse {
    fn passes(&self, check: &impl QuickCheck) -> bool {
        let Self { will_continue: _, scheduling, parts: None, id, name, response, extra: None } = self else {
            return false;
        };
        check.text_of(scheduling) && check.text_of(id) && check.text_of(name) && check.map_of(response.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts the byte at every position of texts that are about as long as a block.
    #[test]
    fn a_nul_is_found_at_every_place() {
        for length in 0..=50 {
            let clean = "x".repeat(length);
            assert!(Clean.text(&clean), "{length}");
            for place in 0..length {
                let mut text = clean.clone();
                text.replace_range(place..=place, "\0");
                assert!(!Clean.text(&text), "{place} of {length}");
            }
        }
    }
}
