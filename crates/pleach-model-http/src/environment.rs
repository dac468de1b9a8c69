//! Reads environment variables.

use secrecy::SecretString;

/// A lookup of variables: in the process, or in the table of a test.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Looks a variable up in the process. An empty variable is treated as absent.
pub(crate) fn process(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Returns the first of the variables that is set.
pub(crate) fn first(lookup: Lookup<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| lookup(name)).map(|value| value.trim().to_owned())
}

/// Returns the first of the keys that is set.
pub(crate) fn key(lookup: Lookup<'_>, names: &[&str]) -> Option<SecretString> {
    first(lookup, names).map(SecretString::from)
}

/// Joins the names of variables for a message.
pub(crate) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}
