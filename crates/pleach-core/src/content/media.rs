//! Media carried by parts.

use crate::Bytes;
use crate::json::json_object;

json_object! {
    /// Media sent along in the message itself. ADK: `types.Blob`
    pub struct Blob keep {
        /// The bytes; base64 in JSON.
        data: Option<Bytes> = "data",
        /// A name to show to people.
        display_name: Option<String> = "display_name" | "displayName",
        /// The IANA media type.
        mime_type: Option<String> = "mime_type" | "mimeType",
    }
}

json_object! {
    /// Media kept elsewhere. ADK: `types.FileData`
    pub struct FileData keep {
        /// A name to show to people.
        display_name: Option<String> = "display_name" | "displayName",
        /// Where the file is.
        file_uri: Option<String> = "file_uri" | "fileUri",
        /// The IANA media type.
        mime_type: Option<String> = "mime_type" | "mimeType",
    }
}

json_object! {
    /// Selects a piece of a video. ADK: `types.VideoMetadata`
    pub struct VideoMetadata keep {
        /// Where the piece ends, for example `"12.5s"`.
        end_offset: Option<String> = "end_offset" | "endOffset",
        /// Frames per second to look at.
        fps: Option<f64> = "fps",
        /// Where the piece starts.
        start_offset: Option<String> = "start_offset" | "startOffset",
    }
}
