//! Names of content types.

/// Returns true if a content type is JSON.
pub(crate) fn is_json(media: &str) -> bool {
    let essence = essence(media);
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// Returns the type and subtype in lower case, without parameters.
pub(crate) fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the content type to send for a content type of the document.
pub(super) fn sent_type(media: &str) -> String {
    match essence(media).as_str() {
        "*/*" | "application/*" => "application/json".to_owned(),
        _ => media.trim().to_owned(),
    }
}
