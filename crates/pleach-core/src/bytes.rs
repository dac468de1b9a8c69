//! Binary data inside JSON.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that JSON carries as base64.
///
/// They are written in the URL-safe alphabet with padding, and read in both alphabets, with or without padding, as in
/// google-genai.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Vec<u8>);

const URL_SAFE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

impl Bytes {
    /// Reads base64 text of either alphabet.
    ///
    /// # Errors
    /// Fails if the text is not base64.
    pub fn from_base64(text: &str) -> Result<Self, base64::DecodeError> {
        if !text.contains(['+', '/']) {
            return URL_SAFE.decode(text).map(Self);
        }
        let url_safe = text.replace('+', "-").replace('/', "_");
        URL_SAFE.decode(url_safe).map(Self)
    }

    /// Writes the bytes as URL-safe base64 with padding.
    pub fn to_base64(&self) -> String {
        URL_SAFE.encode(&self.0)
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Prints only the length, because binary data does not belong in logs.
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} bytes)", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_base64(&text).map_err(|error| D::Error::custom(format_args!("not base64: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    // S8 and edge cases 55, 56: URL-safe with padding out, either alphabet in.
    #[test]
    fn either_alphabet_is_read() {
        let bytes = Bytes(vec![0xff, 0xd8, 0xff, 0xe0]);
        assert_eq!(bytes.to_base64(), "_9j_4A==");
        for text in ["_9j_4A==", "/9j/4A==", "_9j_4A", "/9j/4A"] {
            assert_eq!(Bytes::from_base64(text).unwrap(), bytes);
        }
        let all = Bytes((0..=255).collect());
        assert_eq!(Bytes::from_base64(&all.to_base64()).unwrap(), all);
        let error = serde_json::from_str::<Bytes>("\"not base64!\"").unwrap_err();
        assert!(error.to_string().starts_with("not base64: "), "{error}");
        assert_eq!(format!("{bytes:?}"), "Bytes(4 bytes)");
    }
}
