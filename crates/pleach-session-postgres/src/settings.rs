//! Server settings in a URL, and the text with which a transaction applies them.

use std::fmt::Write as _;
use std::sync::Arc;

/// The settings in a command line of the server, as in the `options` of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Names, spelled as by the server, and values, in their order. The last value of a name wins.
    pub(crate) values: Vec<(String, String)>,
    /// The first word that is not a setting, such as another flag.
    pub(crate) other: Option<String>,
}

impl Settings {
    pub(crate) fn read(options: &str) -> Self {
        let mut settings = Self::default();
        let mut words = words(options).into_iter().filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let setting = match word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
                Some("") => words.next(),
                setting => setting.map(str::to_owned),
            };
            match setting.as_deref().and_then(|setting| setting.split_once('=')) {
                Some((name, value)) => {
                    settings.values.push((name.to_ascii_lowercase().replace('-', "_"), value.to_owned()));
                }
                None => settings.other = settings.other.or(Some(setting.unwrap_or(word))),
            }
        }
        settings
    }

    /// Returns `true` if `name` has a value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(other, _)| other == name)
    }
}

/// Splits a command line at spaces, as the server does. A space after a backslash is part of the value.
fn words(options: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = options.chars();
    while let Some(letter) = letters.next() {
        let last = words.len() - 1;
        match letter {
            '\\' => words[last].extend(letters.next()),
            _ if letter.is_whitespace() => words.push(String::new()),
            _ => words[last].push(letter),
        }
    }
    words
}

/// The statements at the start of each transaction in a session that a pooler lends. They apply the settings until
/// the transaction ends; a session of our own has the settings from its start.
#[derive(Clone, Debug)]
pub(crate) struct Opening(Arc<str>);

impl Opening {
    pub(crate) fn new(settings: &Settings, read_only: bool) -> Self {
        let mut text = String::from("BEGIN;");
        for (name, value) in &settings.values {
            // Writing to a string cannot fail.
            let _ = write!(text, " SELECT set_config({}, {}, true);", quoted(name), quoted(value));
        }
        if read_only {
            text.push_str(" SET TRANSACTION READ ONLY;");
        }
        Self(text.into())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// Returns an SQL literal that means the same for every `standard_conforming_strings`.
pub(crate) fn quoted(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: &str, values: &[(&str, &str)], other: Option<&str>) {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(Settings::read(options), Settings { values, other: other.map(str::to_owned) }, "{options}");
    }

    #[test]
    fn a_command_line_is_split_as_the_server_does() {
        check("", &[], None);
        check("-csearch_path=x -c statement_timeout=5", &[("search_path", "x"), ("statement_timeout", "5")], None);
        check("--Lock-Timeout=1", &[("lock_timeout", "1")], None);
        check("-c a=x\\ -c\\ b=2", &[("a", "x -c b=2")], None);
        check("-c a=b=c", &[("a", "b=c")], None);
        check("-B 5 -c a=1", &[("a", "1")], Some("-B"));
        check("-c a", &[], Some("a"));
        check("-c", &[], Some("-c"));
    }

    #[test]
    fn values_are_quoted_in_the_text_that_begins_a_transaction() {
        let settings = Settings::read("-c a.b=it's\\ \\\\'; -c lock_timeout=9");
        assert_eq!(
            Opening::new(&settings, true).text(),
            "BEGIN; SELECT set_config(E'a.b', E'it\\'s \\\\\\';', true); \
             SELECT set_config(E'lock_timeout', E'9', true); SET TRANSACTION READ ONLY;"
        );
        assert_eq!(Opening::new(&Settings::default(), false).text(), "BEGIN;");
    }
}
