//! [`DevUi`]: the folder and the logo of the browser UI.

use std::path::PathBuf;

/// A browser UI that the server hosts at `/dev-ui/`. The wheel of google-adk contains one in `google/adk/cli/browser`.
// H100, H101
#[derive(Clone, Debug)]
pub struct DevUi {
    pub(crate) folder: PathBuf,
    pub(crate) logo: Option<Logo>,
}

/// The logo that the UI shows instead of its own.
#[derive(Clone, Debug)]
pub(crate) struct Logo {
    pub(crate) text: String,
    pub(crate) image_url: String,
}

impl DevUi {
    /// Returns a UI with the files of this folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), logo: None }
    }

    /// Sets the logo: its text and the address of its image. ADK: `--logo-text`, `--logo-image-url`
    #[must_use]
    pub fn logo(mut self, text: impl Into<String>, image_url: impl Into<String>) -> Self {
        self.logo = Some(Logo { text: text.into(), image_url: image_url.into() });
        self
    }
}
