//! [`stable_uuid`]: derives a UUID from texts.

use pleach_core::Uuid;
use sha2::{Digest, Sha256};

/// Returns a UUID that is derived from these texts: their SHA-256 as a version 8 UUID, which RFC 9562 leaves to
/// applications.
#[must_use]
pub fn stable_uuid<'a>(parts: impl IntoIterator<Item = &'a str>) -> Uuid {
    let mut hash = Sha256::new();
    for part in parts {
        // The length keeps "a" + "bc" apart from "ab" + "c".
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    bytes[6] = bytes[6] & 0x0F | 0x80;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Uuid::from_bytes(bytes)
}
