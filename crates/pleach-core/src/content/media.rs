//! Media carried by parts.

use crate::Bytes;
use crate::json::json_object;

json_object! {
    /// Media in the message itself. ADK: `types.Blob`
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
    /// Media stored elsewhere. ADK: `types.FileData`
    pub struct FileData keep {
        /// A name to show to people.
        display_name: Option<String> = "display_name" | "displayName",
        /// The URI of the file.
        file_uri: Option<String> = "file_uri" | "fileUri",
        /// The IANA media type.
        mime_type: Option<String> = "mime_type" | "mimeType",
    }
}

json_object! {
    /// A selection from a video. ADK: `types.VideoMetadata`
    pub struct VideoMetadata keep {
        /// The end of the selection, for example `"12.5s"`.
        end_offset: Option<String> = "end_offset" | "endOffset",
        /// The number of frames per second to sample.
        fps: Option<f64> = "fps",
        /// The start of the selection.
        start_offset: Option<String> = "start_offset" | "startOffset",
    }
}
