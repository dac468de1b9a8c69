//! Content of servers as parts of messages.

use pleach_core::{Bytes, FileData, Part};
use rmcp::model::{ContentBlock, ResourceContents};

/// Returns a block of content as a part: texts as text, bytes as media, links as files. `None` for bytes that are no base64 text and for kinds
/// that have no part.
pub(crate) fn part(block: ContentBlock) -> Option<Part> {
    match block {
        ContentBlock::Text(text) => Some(Part::text(text.text)),
        ContentBlock::Image(image) => bytes(&image.mime_type, &image.data),
        ContentBlock::Audio(audio) => bytes(&audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => resource_part(embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let file = FileData {
                file_uri: Some(link.uri),
                mime_type: link.mime_type,
                display_name: Some(link.name),
                ..FileData::default()
            };
            Some(Part { file_data: Some(Box::new(file)), ..Part::default() })
        }
        _ => None,
    }
}

/// Returns the contents of a resource as a part.
pub(crate) fn resource_part(contents: ResourceContents) -> Option<Part> {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => Some(Part::text(text)),
        ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
            bytes(mime_type.as_deref().unwrap_or("application/octet-stream"), &blob)
        }
        _ => None,
    }
}

fn bytes(mime_type: &str, base64: &str) -> Option<Part> {
    Bytes::from_base64(base64).ok().map(|data| Part::bytes(mime_type, data))
}
