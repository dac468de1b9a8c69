//! [`Origins`]: the origins whose pages may call the server.
// H91, H92

use http::Uri;
use regex::Regex;

use crate::hosts::{host_of, without_port};

/// The prefix of an origin that is a pattern.
const PATTERN: &str = "regex:";

/// The origins whose pages may call the server, besides its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    literals: Vec<String>,
    patterns: Option<Regex>,
    /// The hosts of the literals, in lower case.
    hosts: Vec<String>,
}

impl Origins {
    /// Reads origins: literals, `*`, and patterns after `regex:`, which must match a whole origin.
    ///
    /// # Errors
    /// An invalid pattern.
    pub(crate) fn new(origins: impl IntoIterator<Item = String>) -> Result<Self, regex::Error> {
        let (mut literals, mut patterns) = (Vec::new(), Vec::new());
        for origin in origins {
            match origin.strip_prefix(PATTERN) {
                Some("") => {}
                Some(pattern) => patterns.push(format!("(?:{pattern})")),
                None => literals.push(origin),
            }
        }
        let hosts = literals.iter().filter_map(|origin| host_of(origin)).collect();
        let patterns =
            if patterns.is_empty() { None } else { Some(Regex::new(&format!(r"\A(?:{})\z", patterns.join("|")))?) };
        Ok(Self { literals, patterns, hosts })
    }

    /// Returns true if any origin is configured.
    pub(crate) fn are_configured(&self) -> bool {
        !self.literals.is_empty() || self.patterns.is_some()
    }

    /// Returns true if pages of every origin may call.
    pub(crate) fn are_all(&self) -> bool {
        self.literals.iter().any(|literal| literal == "*")
    }

    pub(crate) fn allow(&self, origin: &str) -> bool {
        self.are_all()
            || self.literals.iter().any(|literal| literal == origin)
            || self.patterns.as_ref().is_some_and(|patterns| patterns.is_match(origin))
    }

    /// Returns true if one of the literal origins has this host.
    pub(crate) fn vouch_for(&self, host: &str) -> bool {
        let host = without_port(host).to_lowercase();
        let host = host.trim_end_matches('.');
        self.hosts.iter().any(|known| known == host)
    }
}

/// Returns the scheme of a request that arrived without a proxy.
pub(crate) fn scheme_of(uri: &Uri) -> &str {
    uri.scheme_str().unwrap_or("http")
}
