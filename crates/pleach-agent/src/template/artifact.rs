//! The text of artifacts in instructions.
// L15

use pleach_core::{Blob, Part};

/// The media types of texts that do not begin with `text/`.
const TEXTS: &[&str] = &[
    "application/csv",
    "application/json",
    "application/svg+xml",
    "application/xml",
    "image/svg",
    "image/svg+xml",
    "image/xml",
];

/// The name suffixes of texts. They apply to every media type except images, audio, video and PDF.
const TEXT_NAMES: &[&str] = &[".csv", ".txt", ".json", ".xml"];

/// Returns the text of an artifact, or one line about it in brackets if it has no text.
pub(super) fn text(part: &Part, name: &str) -> String {
    if let Some(blob) = &part.inline_data {
        return blob_text(blob, name);
    }
    if let Some(text) = &part.text {
        return text.clone();
    }
    let about = part.file_data.as_ref().and_then(|file| file.mime_type.as_deref()).unwrap_or("unknown");
    format!("[Artifact: {name}, type: {about}]")
}

fn blob_text(blob: &Blob, name: &str) -> String {
    let declared = blob.mime_type.as_deref().unwrap_or_default();
    let declared = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let kind = if declared.is_empty() { "application/octet-stream" } else { &declared };
    let Some(data) = &blob.data else { return format!("[Artifact: {name}, type: {kind}, no data]") };
    if is_text(kind, name) {
        return String::from_utf8_lossy(data).into_owned();
    }
    format!("[Binary artifact: {name}, type: {kind}, size: {:.1} KB]", data.len() as f64 / 1024.0)
}

fn is_text(kind: &str, name: &str) -> bool {
    let is_medium =
        ["image/", "audio/", "video/"].iter().any(|medium| kind.starts_with(medium)) || kind == "application/pdf";
    let name = name.to_ascii_lowercase();
    TEXTS.contains(&kind)
        || kind.starts_with("text/")
        || (!is_medium && TEXT_NAMES.iter().any(|suffix| name.ends_with(suffix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l15_an_artifact_is_its_text_or_a_line_about_it() {
        let file = pleach_core::FileData { mime_type: Some("audio/mp3".into()), ..Default::default() };
        let file = Part { file_data: Some(Box::new(file)), ..Part::default() };
        let without_data = Part { inline_data: Some(Box::default()), ..Part::default() };
        for (part, name, expected) in [
            (Part::text("plain"), "a", "plain"),
            (Part::bytes("text/plain; charset=utf-8", b"a\xffb".as_slice()), "a", "a\u{fffd}b"),
            (Part::bytes("Application/JSON", b"{}".as_slice()), "a", "{}"),
            (Part::bytes("image/svg+xml", b"<svg/>".as_slice()), "a", "<svg/>"),
            (Part::bytes("application/x-thing", b"1,2".as_slice()), "A.CSV", "1,2"),
            (
                Part::bytes("", vec![0; 1536]),
                "b.bin",
                "[Binary artifact: b.bin, type: application/octet-stream, size: 1.5 KB]",
            ),
            (Part::bytes("image/png", vec![0; 10]), "b.txt", "[Binary artifact: b.txt, type: image/png, size: 0.0 KB]"),
            (file, "c", "[Artifact: c, type: audio/mp3]"),
            (without_data, "d", "[Artifact: d, type: application/octet-stream, no data]"),
        ] {
            assert_eq!(text(&part, name), expected);
        }
    }
}
