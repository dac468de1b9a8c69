//! JSON pointers (RFC 6901).

use std::borrow::Cow;

use serde_json::Value;

/// Returns the unescaped tokens of a pointer; `None` if it is not a pointer, or points to the whole event.
pub(super) fn tokens(pointer: &str) -> Option<Vec<Cow<'_, str>>> {
    pointer.strip_prefix('/')?.split('/').map(unescaped).collect()
}

/// Converts the names of fields to snake case. Keys of user data are not changed.
pub(super) fn in_snake_case(mut tokens: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    let fields: &[usize] = match tokens.iter().map(|token| &**token).collect::<Vec<_>>()[..] {
        ["content", ..] => &[3],
        ["actions", "compaction", ..] => &[2, 5],
        ["actions", ..] => &[1],
        _ => &[0],
    };
    for field in fields {
        if let Some(token) = tokens.get_mut(*field) {
            *token = snake_case(token).into();
        }
    }
    tokens
}

fn snake_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn unescaped(token: &str) -> Option<Cow<'_, str>> {
    let mut parts = token.split('~');
    let first = parts.next()?;
    let mut text = Cow::Borrowed(first);
    for part in parts {
        let letter = match part.chars().next()? {
            '0' => '~',
            '1' => '/',
            _ => return None,
        };
        text.to_mut().push(letter);
        text.to_mut().push_str(&part[1..]);
    }
    Some(text)
}

/// Returns the value that a token names in an object or a list.
pub(super) fn child<'v>(value: &'v mut Value, token: &str) -> Option<&'v mut Value> {
    match value {
        Value::Object(map) => map.get_mut(token),
        Value::Array(list) => list.get_mut(index(token)?),
        _ => None,
    }
}

/// Reads an index: digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let is_index = token == "0" || !token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit());
    token.parse().ok().filter(|_| is_index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_unescaped() {
        for (pointer, expected) in [
            ("/output", Some(vec!["output"])),
            ("/a/b~1c/~0d/~01", Some(vec!["a", "b/c", "~d", "~1"])),
            ("/", Some(vec![""])),
            ("/a//b", Some(vec!["a", "", "b"])),
            ("", None),
            ("output", None),
            ("#/output", None),
            ("/a~", None),
            ("/a~2", None),
        ] {
            let found = tokens(pointer);
            let found = found.as_ref().map(|tokens| tokens.iter().map(|token| &**token).collect());
            assert_eq!(found, expected, "{pointer}");
        }
    }

    #[test]
    fn fields_may_be_in_camel_case_and_keys_stay() {
        for (pointer, expected) in [
            ("/errorMessage", "error_message"),
            ("/customMetadata/myKey", "custom_metadata/myKey"),
            ("/output/cardNumber", "output/cardNumber"),
            ("/content/parts/0/functionCall/args/cardNumber", "content/parts/0/function_call/args/cardNumber"),
            ("/content/parts/0/partMetadata/myKey", "content/parts/0/part_metadata/myKey"),
            ("/actions/stateDelta/user:myKey", "actions/state_delta/user:myKey"),
            (
                "/actions/compaction/compactedContent/parts/0/inlineData",
                "actions/compaction/compacted_content/parts/0/inline_data",
            ),
        ] {
            assert_eq!(in_snake_case(tokens(pointer).unwrap()).join("/"), expected);
        }
    }

    #[test]
    fn an_index_is_written_in_one_way() {
        for (token, expected) in
            [("0", Some(0)), ("10", Some(10)), ("01", None), ("+1", None), ("-1", None), ("-", None), ("", None)]
        {
            assert_eq!(index(token), expected, "{token}");
        }
    }
}
