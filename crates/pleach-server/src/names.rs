//! Names of apps in requests.
// H27

use crate::error::ApiError;

/// Returns the error for a name that is not the name of an app.
pub(crate) fn unknown_app(name: &str) -> ApiError {
    if is_internal(name) {
        return ApiError::InternalApp(name.to_owned());
    }
    not_served(name)
}

/// Returns the error for a name that is not the name of an app, on a server that hides no names.
pub(crate) fn not_served(name: &str) -> ApiError {
    if is_valid(name) {
        return ApiError::not_found(format!("Agent not found: '{name}'. No app of this name is served."));
    }
    ApiError::not_found(format!(
        "Invalid agent name: '{name}'. A name consists of identifiers that are joined by dots."
    ))
}

fn is_internal(name: &str) -> bool {
    name.starts_with("__")
}

/// Returns true if the name consists of identifiers joined by dots.
pub(crate) fn is_valid(name: &str) -> bool {
    name.split('.').all(|word| {
        let mut letters = word.chars();
        let first = letters.next().is_some_and(|letter| letter.is_alphabetic() || letter == '_');
        first && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h27_names_are_identifiers_joined_by_dots() {
        for name in ["nope", "a.b", "_a1", "straße"] {
            assert!(is_valid(name), "{name}");
        }
        for name in ["", "a b", "../x", "a..b", ".a", "a/b", "a\\b", "1a", "a-b", "a\n"] {
            assert!(!is_valid(name), "{name}");
        }
    }
}
