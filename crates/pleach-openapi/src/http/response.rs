//! Turns an answer into a result for the model.

use pleach_context::ToolResult;
use pleach_core::json_of_foreign_text;
use pleach_http::Secrets;
use serde_json::json;

use super::clean::{clean, clean_text};
use super::client::Answer;
use crate::document::{essence, is_json};

/// The maximum length in bytes of an error's body in a result.
const ERROR_TEXT: usize = 4 << 10;

/// Returns the result of a call. JSON stays unchanged, a text becomes `{"text": …}`, and images, sounds, videos and PDF
/// files become media. An answer whose status is not a success becomes `{"error": …, "status": …, "body": …}`.
/// ADK: `RestApiTool.call`
pub(crate) fn result(operation: &str, answer: Answer, secrets: &Secrets) -> ToolResult {
    if !answer.status.is_success() {
        return failed(operation, &answer, secrets);
    }
    let media = essence(answer.content_type.as_deref().unwrap_or_default());
    if is_media(&media, &answer.body) {
        let about = json!({"content_type": media, "bytes": answer.body.len()});
        return ToolResult::from(about).with_bytes(media, answer.body);
    }
    if let Some(value) = json_of_foreign_text(&answer.body) {
        return clean(secrets, value).into();
    }
    match std::str::from_utf8(&answer.body) {
        Ok(text) => json!({"text": clean_text(secrets, text)}).into(),
        // Text in another encoding is still readable for the most part.
        Err(_) if media.starts_with("text/") || is_json(&media) || media.ends_with("xml") => {
            json!({"text": clean_text(secrets, &String::from_utf8_lossy(&answer.body))}).into()
        }
        Err(_) => {
            let media = if media.is_empty() { "no type".to_owned() } else { media.chars().take(100).collect() };
            let bytes = answer.body.len();
            error(&format!("{operation} answered with {bytes} bytes of {media}, which cannot be shown"))
        }
    }
}

/// Returns the result of a call that has no answer.
pub(crate) fn error(text: &str) -> ToolResult {
    json!({"error": text}).into()
}

fn failed(operation: &str, answer: &Answer, secrets: &Secrets) -> ToolResult {
    let status = answer.status.as_u16();
    let mut fields = json!({"error": format!("{operation} answered {}", answer.status), "status": status});
    if let Some(location) = answer.location.as_deref().filter(|_| answer.status.is_redirection()) {
        let location: String = location.chars().take(500).collect();
        fields["location"] = clean_text(secrets, &location).into();
    }
    fields["body"] = match json_of_foreign_text(&answer.body) {
        Some(value) if answer.body.len() <= ERROR_TEXT => clean(secrets, value),
        _ => {
            let text = clean_text(secrets, &String::from_utf8_lossy(&answer.body));
            match text.char_indices().find(|(place, letter)| place + letter.len_utf8() > ERROR_TEXT) {
                Some((end, _)) => format!("{}…", &text[..end]).into(),
                None if answer.is_cut => format!("{text}…").into(),
                None => text.into(),
            }
        }
    };
    fields.into()
}

/// Returns true if models accept media of this type, and the bytes begin like a file of this type. Other bytes would be
/// stored in the session, and fail all its later requests to the model.
fn is_media(media: &str, bytes: &[u8]) -> bool {
    let begins = |starts: &[&[u8]]| starts.iter().any(|start| bytes.starts_with(start));
    let has = |place: usize, mark: &[u8]| bytes.get(place..place + mark.len()) == Some(mark);
    match media {
        "application/pdf" => begins(&[b"%PDF-"]),
        "image/png" => begins(&[b"\x89PNG\r\n\x1a\n"]),
        "image/jpeg" => begins(&[b"\xff\xd8\xff"]),
        "image/gif" => begins(&[b"GIF87a", b"GIF89a"]),
        "image/webp" => begins(&[b"RIFF"]) && has(8, b"WEBP"),
        "audio/wav" | "audio/x-wav" => begins(&[b"RIFF"]) && has(8, b"WAVE"),
        "audio/mpeg" | "audio/mp3" => begins(&[b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"]),
        "audio/ogg" => begins(&[b"OggS"]),
        "audio/flac" => begins(&[b"fLaC"]),
        "video/mp4" => has(4, b"ftyp"),
        "video/webm" => begins(&[b"\x1a\x45\xdf\xa3"]),
        _ => false,
    }
}
