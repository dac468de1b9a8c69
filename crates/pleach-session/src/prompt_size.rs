//! An estimate of the length of a prompt.
// R1150

use pleach_core::{Content, Map, Part};

/// Estimates the number of tokens in a prompt with these contents; `None` if they have no text, call or response.
pub fn estimated_tokens<'a>(contents: impl IntoIterator<Item = &'a Content>) -> Option<u64> {
    match contents.into_iter().map(characters).sum::<usize>() {
        0 => None,
        // A rule of thumb: one token is four characters.
        total => Some(total as u64 / 4),
    }
}

/// Returns the number of characters in a content that cost tokens.
fn characters(content: &Content) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
    let json = |map: &Option<Map>| {
        let full = map.as_ref().filter(|map| !map.is_empty());
        full.and_then(|map| serde_json::to_string(map).ok()).map_or(0, |json| json.chars().count())
    };
    let of_part = |part: &Part| {
        let call = part.function_call.as_ref().map_or(0, |call| text(&call.name) + json(&call.args));
        let answer = part.function_response.as_ref().map_or(0, |one| text(&one.name) + json(&one.response));
        text(&part.text) + call + answer
    };
    content.parts().iter().map(of_part).sum()
}
