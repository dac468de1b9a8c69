//! Estimates the memory that a JSON document takes once it is read. Many small values take far more memory than their
//! text.

/// The maximum memory that a document may take, in bytes.
const LARGEST: usize = 512 << 20;

/// Documents up to this length are not checked, because they cannot take much memory.
const SHORT: usize = 64 << 10;

/// The approximate sizes of an object with members, of each member, and of any other value.
const OBJECT: usize = 640;
const MEMBER: usize = 96;
const VALUE: usize = 32;

/// Returns true if a document would take too much memory. Strings are not counted, because they take no more than their
/// length.
pub(super) fn is_too_heavy(json: &[u8]) -> bool {
    json.len() > SHORT && weight(json) > LARGEST
}

fn weight(json: &[u8]) -> usize {
    let (mut weight, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match (in_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{') => weight = weight.saturating_add(OBJECT),
            (false, b':') => weight = weight.saturating_add(MEMBER),
            (false, b'[' | b',') => weight = weight.saturating_add(VALUE),
            _ => {}
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_values_are_heavy_and_a_long_text_is_not() {
        assert_eq!(weight(br#"{"a": ["{[,\"", 1], "b": {}}"#), 2 * OBJECT + 2 * MEMBER + 3 * VALUE);
        assert!(is_too_heavy("{\"a\":1},".repeat(1 << 20).as_bytes()));
        assert!(!is_too_heavy("{\"a\":1},".repeat(1 << 12).as_bytes()));
        assert!(!is_too_heavy(format!("[\"{}\"]", "{".repeat(2 << 20)).as_bytes()));
    }
}
