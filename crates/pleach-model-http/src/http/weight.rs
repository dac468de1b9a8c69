//! How much memory a JSON document takes once it is read: many small values take a multiple of their text.

/// How much memory a document may take.
const LARGEST: usize = 512 << 20;

/// Texts up to this length are not looked at: nothing in them takes much.
const SHORT: usize = 64 << 10;

/// About what an object with members takes, each of its members, and any other value.
const OBJECT: usize = 640;
const MEMBER: usize = 96;
const VALUE: usize = 32;

/// Whether a document would take too much memory. Its texts do not count: they take what they are long.
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
