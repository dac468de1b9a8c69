//! The names with which models call the tools of a server.

use pleach_core::RESERVED_FUNCTIONS;

/// The length of the longest name that every provider accepts. The limit is OpenAI's.
const LONGEST: usize = 64;

/// Returns the name for models. It has only letters, digits, `_` and `-`, and does not begin with a digit or `-`. Other
/// characters become `_`.
///
/// # Errors
/// The reason why a tool of this name cannot be offered.
pub(crate) fn for_models(prefix: Option<&str>, name: &str) -> Result<String, &'static str> {
    let prefix = prefix.map(|prefix| format!("{prefix}_")).unwrap_or_default();
    if name.is_empty() {
        return Err("its name is empty");
    }
    if prefix.len() + name.chars().count() > LONGEST {
        return Err("its name is longer than the 64 characters that models take");
    }
    let mut chosen: String = prefix.chars().chain(name.chars()).map(|c| if is_plain(c) { c } else { '_' }).collect();
    if !chosen.starts_with(is_first) {
        chosen.insert(0, '_');
        chosen.truncate(LONGEST);
    }
    if RESERVED_FUNCTIONS.contains(&chosen.as_str()) {
        return Err("its name is reserved for a function of the runtime");
    }
    Ok(chosen)
}

/// Returns the fault of a prefix, if it has one.
pub(crate) fn fault_of_prefix(prefix: &str) -> Option<&'static str> {
    if prefix.is_empty() {
        return Some("is empty: leave it out");
    }
    if prefix.len() > LONGEST / 2 {
        return Some("is longer than 32 characters");
    }
    if !prefix.chars().all(is_plain) || !prefix.starts_with(is_first) {
        return Some("may contain only letters, digits, `_` and `-`, and must begin with a letter or `_`");
    }
    None
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_first(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_every_provider_takes() {
        for (prefix, name, expected) in [
            (None, "read_file", Ok("read_file")),
            (Some("fs"), "read-file", Ok("fs_read-file")),
            (None, "github/create.issue", Ok("github_create_issue")),
            (None, "3d print", Ok("_3d_print")),
            (None, "größe", Ok("gr__e")),
            (None, "", Err("its name is empty")),
            (None, "transfer_to_agent", Err("its name is reserved for a function of the runtime")),
            (Some("x"), "transfer_to_agent", Ok("x_transfer_to_agent")),
        ] {
            assert_eq!(for_models(prefix, name).as_deref().map_err(|e| *e), expected, "{name}");
        }
        assert!(for_models(None, &"a".repeat(64)).is_ok());
        assert!(for_models(Some("p"), &"a".repeat(63)).is_err());
        assert_eq!(for_models(None, &"1".repeat(64)).unwrap().len(), 64);
        assert_eq!(fault_of_prefix("fs"), None);
        for prefix in ["", "a b", "1a", "-a", &"a".repeat(33)] {
            assert!(fault_of_prefix(prefix).is_some(), "{prefix}");
        }
    }
}
