//! Adds instructions to a request.

use std::mem;

use pleach_core::{Content, Part};

use crate::request::StaticPrefix;
use crate::{LlmRequest, SharedContent};

/// The separator between two instructions.
const BLANK_LINE: &str = "\n\n";

impl LlmRequest {
    /// Appends texts to the system instruction, with blank lines between them.
    ///
    /// An empty text is separated like any other, but there is no separator between an empty instruction and the first
    /// text.
    // L30, L31
    pub fn append_instructions<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        for (place, text) in texts.into_iter().enumerate() {
            let text = text.as_ref();
            match &mut self.config.system_instruction {
                Some(instruction) if place > 0 || !instruction.is_empty() => {
                    instruction.reserve(BLANK_LINE.len() + text.len());
                    instruction.push_str(BLANK_LINE);
                    instruction.push_str(text);
                }
                instruction => *instruction = Some(text.to_owned()),
            }
        }
    }

    /// Appends an instruction that may contain media.
    ///
    /// Its texts go to the system instruction. Each file is replaced there by a reference, and becomes a content of the
    /// user with the same reference, after the request's other contents.
    // L34
    pub fn append_instruction_content(&mut self, instruction: &Content) {
        let mut texts = Vec::new();
        let mut media = 0;
        for part in instruction.parts() {
            if let Some(text) = part.text.as_ref().filter(|text| !text.is_empty()) {
                texts.push(text.clone());
            } else if let Some(reference) = Reference::from_part(part, media) {
                media += 1;
                texts.push(reference.in_instruction);
                self.contents.push(Content::new("user", [Part::text(reference.in_content), reference.data]).into());
                self.static_prefix = StaticPrefix::Unplaced;
            }
        }
        self.append_instructions(texts);
    }

    /// Replaces the conversation, and inserts the contents that instructions have added.
    ///
    /// The contents that the request already has are treated as contents of instructions. If they contain media of a
    /// static instruction, they become the beginning of the request. Otherwise they are inserted before the user's
    /// latest contents or, if the model is in the middle of a turn, after the response to its call.
    /// ADK: `_add_instructions_to_user_content`
    // L33–L35
    pub fn set_conversation(&mut self, conversation: Vec<SharedContent>) {
        let instructions = mem::replace(&mut self.contents, conversation);
        self.insert_instruction_contents(instructions);
    }

    /// Adds instructions that [`place_last_instructions`](Self::place_last_instructions) puts after all others. Tools
    /// use it: if their instructions differ between requests, the beginning of the system instruction still stays the
    /// same.
    /// ADK: `_append_dynamic_instructions`
    pub fn append_last_instructions<T: Into<String>>(&mut self, texts: impl IntoIterator<Item = T>) {
        self.last_instructions.extend(texts.into_iter().map(Into::into));
    }

    /// Moves the instructions of [`append_last_instructions`](Self::append_last_instructions) to the end of the system
    /// instruction. Agents call this after all tools are declared.
    pub fn place_last_instructions(&mut self) {
        let last = mem::take(&mut self.last_instructions);
        self.append_instructions(last);
    }

    /// Inserts contents that instruct the model for this request only. They are inserted where
    /// [`set_conversation`](Self::set_conversation) inserts the contents of instructions.
    // L35
    pub fn insert_instruction_contents(&mut self, contents: Vec<SharedContent>) {
        if contents.is_empty() {
            return;
        }
        let place = match self.static_prefix {
            StaticPrefix::Unplaced => {
                self.static_prefix = StaticPrefix::Until(contents.len());
                0
            }
            StaticPrefix::Until(end) => self.latest_user_contents().max(end),
            StaticPrefix::None => self.latest_user_contents(),
        };
        self.contents.splice(place..place, contents);
    }

    /// Returns the index where the user's latest contents begin. A content that answers a call is not one of them.
    fn latest_user_contents(&self) -> usize {
        let is_of_turn =
            |content: &SharedContent| content.role() != Some("user") || content.function_responses().next().is_some();
        self.contents.iter().rposition(is_of_turn).map_or(0, |place| place + 1)
    }
}

/// Inserts contents for one request into its conversation: before the user's message that began the invocation, or at
/// the front if the conversation does not contain that message. ADK: `RunConfig.model_input_context`
// L54
pub fn insert_input_context(conversation: &mut Vec<SharedContent>, context: &[Content], message: Option<&Content>) {
    if context.is_empty() {
        return;
    }
    let place = message.and_then(|message| conversation.iter().rposition(|content| **content == *message));
    let place = place.unwrap_or(0);
    conversation.splice(place..place, context.iter().cloned().map(SharedContent::from));
}

/// A file in an instruction, and the references to it.
struct Reference {
    in_instruction: String,
    in_content: String,
    data: Part,
}

impl Reference {
    /// Creates the reference with this number to the file in a part; `None` if the part has no file.
    fn from_part(part: &Part, number: usize) -> Option<Self> {
        if let Some(blob) = &part.inline_data {
            let id = format!("inline_data_{number}");
            let about = [quoted(&blob.display_name), labelled("type", &blob.mime_type)];
            let data = Part { inline_data: Some(blob.clone()), ..Part::default() };
            return Some(Self::new("inline binary data", "inline data", &id, about, data));
        }
        let file = part.file_data.as_ref()?;
        let id = format!("file_data_{number}");
        let about = [quoted(&file.display_name), labelled("URI", &file.file_uri), labelled("type", &file.mime_type)];
        let data = Part { file_data: Some(file.clone()), ..Part::default() };
        Some(Self::new("file data", "file data", &id, about, data))
    }

    fn new(kind: &str, short: &str, id: &str, about: impl IntoIterator<Item = Option<String>>, data: Part) -> Self {
        let about: Vec<String> = about.into_iter().flatten().collect();
        let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
        Self {
            in_instruction: format!("[Reference to {kind}: {id}{about}]"),
            in_content: format!("Referenced {short}: {id}"),
            data,
        }
    }
}

fn quoted(name: &Option<String>) -> Option<String> {
    name.as_ref().filter(|name| !name.is_empty()).map(|name| format!("'{name}'"))
}

fn labelled(label: &str, value: &Option<String>) -> Option<String> {
    value.as_ref().filter(|value| !value.is_empty()).map(|value| format!("{label}: {value}"))
}

#[cfg(test)]
mod tests {
    use pleach_core::{Blob, FileData, FunctionResponse, Map};

    use super::*;

    fn instruction(pieces: &[&[&str]]) -> Option<String> {
        let mut request = LlmRequest::default();
        pieces.iter().for_each(|texts| request.append_instructions(*texts));
        request.config.system_instruction
    }

    #[test]
    fn l30_l31_instructions_are_joined_by_blank_lines() {
        for (pieces, joined) in [
            (&[][..], None),
            (&[&[][..]], None),
            (&[&["a"]], Some("a")),
            (&[&["a", "b"], &["c"]], Some("a\n\nb\n\nc")),
            (&[&[""], &["a"]], Some("a")),
            (&[&["a"], &[""], &["b"]], Some("a\n\n\n\nb")),
        ] {
            assert_eq!(instruction(pieces).as_deref(), joined, "{pieces:?}");
        }
    }

    #[test]
    fn last_instructions_come_after_all_others() {
        let mut request = LlmRequest::default();
        request.append_last_instructions(["of a tool"]);
        request.append_instructions(["of another tool"]);
        request.place_last_instructions();
        assert_eq!(request.config.system_instruction.as_deref(), Some("of another tool\n\nof a tool"));
    }

    fn picture() -> Part {
        let blob = Blob { display_name: Some("logo".into()), mime_type: Some("image/png".into()), ..Blob::default() };
        Part { inline_data: Some(Box::new(blob)), ..Part::default() }
    }

    fn file() -> Part {
        let file = FileData { file_uri: Some("gs://a/b".into()), ..FileData::default() };
        Part { file_data: Some(Box::new(file)), ..Part::default() }
    }

    // Compared with `LlmRequest.append_instructions` of google-adk 2.13.0.
    #[test]
    fn l34_media_of_an_instruction_are_referred_to() {
        let mut request = LlmRequest::default();
        let nameless = Part::bytes("", Vec::new());
        let instruction = Content::new("user", [Part::text("See"), picture(), file(), Part::text("."), nameless]);
        request.append_instruction_content(&instruction);
        assert_eq!(
            request.config.system_instruction.as_deref(),
            Some(
                "See\n\n[Reference to inline binary data: inline_data_0 ('logo', type: image/png)]\n\n\
                 [Reference to file data: file_data_1 (URI: gs://a/b)]\n\n.\n\n\
                 [Reference to inline binary data: inline_data_2]"
            )
        );
        let texts: Vec<String> = request.contents.iter().map(|content| content.text()).collect();
        let expected = [
            "Referenced inline data: inline_data_0",
            "Referenced file data: file_data_1",
            "Referenced inline data: inline_data_2",
        ];
        assert_eq!(texts, expected);
        assert_eq!(request.contents[0].parts()[1], picture());
        assert_eq!(request.contents[1].parts()[1], file());
    }

    fn contents(words: &str) -> Vec<SharedContent> {
        let content = |word: &str| match word.split_once(':') {
            Some(("m", text)) => Content::model(text),
            Some(("r", id)) => {
                Content::new("user", [Part::function_response(FunctionResponse::new(id, "f", Map::new()))])
            }
            _ => Content::user(word),
        };
        words.split_whitespace().map(content).map(SharedContent::from).collect()
    }

    fn words(request: &LlmRequest) -> String {
        let word = |content: &SharedContent| match content.function_responses().next() {
            Some(response) => format!("r:{}", response.id.as_deref().unwrap_or_default()),
            None if content.role() == Some("model") => format!("m:{}", content.text()),
            None => content.text(),
        };
        request.contents.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn l35_instructions_come_before_the_latest_words_of_the_user() {
        for (conversation, expected) in [
            ("", "I"),
            ("a", "I a"),
            ("a m:b c d", "a m:b I c d"),
            ("a m:b", "a m:b I"),
            ("a m:b r:1", "a m:b r:1 I"),
            ("a m:b r:1 c", "a m:b r:1 I c"),
        ] {
            let mut request = LlmRequest { contents: contents("I"), ..LlmRequest::default() };
            request.set_conversation(contents(conversation));
            assert_eq!(words(&request), expected, "{conversation}");
        }
    }

    #[test]
    fn l34_l35_static_media_stay_the_beginning() {
        let mut request = LlmRequest::default();
        request.append_instruction_content(&Content::new("user", [picture()]));
        request.contents.push(Content::user("I").into());
        request.set_conversation(contents("a"));
        request.insert_instruction_contents(contents("J"));
        assert_eq!(words(&request), "Referenced inline data: inline_data_0 I J a");
    }

    #[test]
    fn l54_input_context_comes_before_the_message_of_the_invocation() {
        let mut request = LlmRequest { contents: contents("a m:b a m:c"), ..LlmRequest::default() };
        let mut insert = |texts: &[&str], message: Option<&Content>| {
            let context: Vec<Content> = texts.iter().map(|text| Content::user(*text)).collect();
            insert_input_context(&mut request.contents, &context, message);
            words(&request)
        };
        assert_eq!(insert(&["x", "y"], Some(&Content::user("a"))), "a m:b x y a m:c");
        insert(&["z"], Some(&Content::user("gone")));
        assert_eq!(insert(&["first"], None), "first z a m:b x y a m:c");
    }
}
