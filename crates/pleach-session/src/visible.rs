//! Decides which contents and parts of a log a prompt can show.
// L41, L43

use pleach_core::{Content, Part, REQUEST_CONFIRMATION, REQUEST_CREDENTIAL};

/// The function name that google-adk uses for messages between its own parts.
const FRAMEWORK: &str = "adk_framework";

/// Returns `true` if a part is shown to a model, or at least keeps its content in the conversation.
#[must_use]
pub fn is_visible_part(part: &Part, shows_thoughts: impl FnOnce() -> bool) -> bool {
    let says = part.text.as_ref().is_some_and(|text| !text.is_empty())
        || part.inline_data.is_some()
        || part.file_data.is_some()
        || part.executable_code.is_some()
        || part.code_execution_result.is_some();
    let always = || {
        part.function_call.is_some()
            || part.function_response.is_some()
            || part.thought_signature.as_ref().is_some_and(|signature| !signature.is_empty())
            || part.tool_call.is_some()
            || part.tool_response.is_some()
    };
    (says && !part.is_thought()) || always() || (says && shows_thoughts())
}

/// Returns `true` if a content is about a credential, a confirmation or the framework itself. Prompts omit such
/// contents.
#[must_use]
pub fn is_internal_content(content: &Content) -> bool {
    content.parts().iter().any(|part| {
        part.function_call.as_ref().is_some_and(|call| is_internal(&call.name))
            || part.function_response.as_ref().is_some_and(|response| is_internal(&response.name))
    })
}

fn is_internal(name: &Option<String>) -> bool {
    matches!(name.as_deref(), Some(FRAMEWORK | REQUEST_CREDENTIAL | REQUEST_CONFIRMATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l43_thoughts_and_empty_parts_are_invisible() {
        let thought = |part: Part| Part { thought: Some(true), ..part };
        let signed = Part { thought_signature: Some(vec![1].into()), ..Part::default() };
        for (part, expected) in [
            (Part::text("a"), true),
            (Part::text(""), false),
            (Part::default(), false),
            (thought(Part::text("a")), false),
            (thought(Part::function_call(Default::default())), true),
            (Part::function_response(Default::default()), true),
            (thought(signed.clone()), true),
            (signed, true),
            (Part::bytes("image/png", vec![1]), true),
            (thought(Part::bytes("image/png", vec![1])), false),
        ] {
            assert_eq!(is_visible_part(&part, || false), expected, "{part:?}");
        }
        assert!(is_visible_part(&thought(Part::text("a")), || true));
    }
}
