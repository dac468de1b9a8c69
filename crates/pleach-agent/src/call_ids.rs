//! The ids of the calls that a model makes: assigns missing ids, and makes run ids from them.

use pleach_core::{Content, IdGen};
use pleach_model::CLIENT_CALL_ID_PREFIX;

/// Assigns an id to every function call of a model's answer that has none, so that its response can be found.
///
/// The model's own ids stay as they are, even if they repeat: providers expect them back.
/// ADK: `populate_client_function_call_id`
// L87
pub fn ensure_call_ids(content: &mut Content, ids: &dyn IdGen) {
    for part in content.parts.iter_mut().flatten() {
        if let Some(call) = part.function_call.as_mut().filter(|call| call.id.as_ref().is_none_or(String::is_empty)) {
            call.id = Some(format!("{CLIENT_CALL_ID_PREFIX}{}", ids.uuid()));
        }
    }
}

/// Makes the run id for the id of a call. A run id must not consist of digits only. It must not contain spaces, control
/// characters, or the characters that separate paths and branches.
pub(crate) fn run_id(call: &str) -> String {
    let is_plain = |letter: char| !matches!(letter, '/' | '@' | '.') && !letter.is_whitespace() && !letter.is_control();
    if !call.is_empty() && call.chars().all(is_plain) && !call.chars().all(|letter| letter.is_ascii_digit()) {
        return call.to_owned();
    }
    let safe: String = call.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    format!("call-{safe}")
}

#[cfg(test)]
mod tests {
    use pleach_core::{FunctionCall, Map, Part, RandomIds};
    use pleach_model::is_client_call_id;

    use super::*;

    #[test]
    fn l87_calls_without_an_id_get_one() {
        let call = |id: &str| Part::function_call(FunctionCall::new(id, "f", Map::new()));
        let nameless = Part::function_call(FunctionCall { name: Some("f".into()), ..FunctionCall::default() });
        let parts = [Part::text("a"), nameless, call(""), call("functions.f:0"), call("1"), call("1")];
        let mut content = Content::new("model", parts);
        ensure_call_ids(&mut content, &RandomIds);
        let ids: Vec<&str> = content.function_calls().map(|call| call.id.as_deref().unwrap()).collect();
        assert!(is_client_call_id(ids[0]) && is_client_call_id(ids[1]) && ids[0] != ids[1], "{ids:?}");
        assert_eq!(ids[2..], ["functions.f:0", "1", "1"]);
        assert_eq!(content.parts()[0], Part::text("a"));
    }
}
