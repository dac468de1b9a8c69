//! Where a model is reached: its base URL, and which of them may be used.

use std::net::IpAddr;

use reqwest::Url;

use crate::ModelSetupError;

/// A base URL that was checked.
#[derive(Clone)]
pub(crate) struct Endpoint(Url);

impl Endpoint {
    /// Reads a base URL.
    pub(crate) fn parse(model: &str, text: &str) -> Result<Self, ModelSetupError> {
        let fault = |reason: &str| ModelSetupError::BaseUrl { model: model.to_owned(), reason: reason.to_owned() };
        let url = Url::parse(text.trim()).map_err(|error| fault(&format!("cannot be read: {error}")))?;
        if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
            return Err(fault("must begin with `https://` or `http://` and name a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fault("contains a user name or password: send it with `.header(…)` instead"));
        }
        Ok(Self(url))
    }

    /// Returns the host, if what is sent to it can be read on the way: plain HTTP to another machine.
    pub(crate) fn exposed_host(&self) -> Option<&str> {
        (self.0.scheme() == "http" && !self.is_loopback()).then(|| self.0.host_str().unwrap_or_default())
    }

    /// Whether both are on one server.
    pub(crate) fn is_on_the_server_of(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    pub(crate) fn has_query(&self) -> bool {
        self.0.query().is_some_and(|query| !query.is_empty())
    }

    /// Returns names and values of the query, as they are written and as they are meant.
    pub(crate) fn query_values(&self) -> impl Iterator<Item = (String, String)> {
        let written = self.0.query().unwrap_or_default().split('&').map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or(("key", pair));
            (name.to_owned(), value.to_owned())
        });
        written.chain(self.0.query_pairs().into_owned())
    }

    pub(crate) fn is(&self, url: &str) -> bool {
        self.0.as_str().trim_end_matches('/') == url
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether the host is this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether the base URL ends in a version of an API, such as `v1beta`.
    pub(crate) fn has_version(&self) -> bool {
        let last = self.0.path_segments().and_then(|mut segments| segments.rfind(|segment| !segment.is_empty()));
        let number = last.and_then(|segment| segment.strip_prefix('v'));
        number.is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
    }

    /// Returns the URL of a path below the base URL. A query of the base URL is kept.
    pub(crate) fn join(&self, path: &str) -> Url {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut url = self.0.clone();
        url.set_path(&format!("{}/{path}", self.0.path().trim_end_matches('/')));
        if let Some(query) = query {
            let own = self.0.query().map(|own| format!("{own}&")).unwrap_or_default();
            url.set_query(Some(&format!("{own}{query}")));
        }
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_encryption() {
        for (url, exposed) in [
            ("https://api.example.com/v1", None),
            ("http://localhost:11434/v1", None),
            ("http://127.0.0.2/v1", None),
            ("http://[::1]:8000/v1", None),
            ("http://10.0.0.1/v1", Some("10.0.0.1")),
            ("http://localhost.example.com", Some("localhost.example.com")),
        ] {
            assert_eq!(Endpoint::parse("m", url).unwrap().exposed_host(), exposed, "{url}");
        }
    }

    #[test]
    fn a_base_url_that_cannot_be_used_says_why_and_is_not_shown() {
        for (url, reason) in [
            ("api.example.com", "cannot be read"),
            ("ftp://example.com", "must begin with `https://`"),
            ("https://me:hush@example.com", "contains a user name or password"),
        ] {
            let error = Endpoint::parse("m", url).err().unwrap().to_string();
            assert!(error.contains(reason) && !error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_path_is_added_before_the_query() {
        let join = |base, path| Endpoint::parse("m", base).unwrap().join(path).to_string();
        assert_eq!(join("https://a/v1/", "chat/completions"), "https://a/v1/chat/completions");
        assert_eq!(join("https://a?api-version=1", "x?alt=sse"), "https://a/x?api-version=1&alt=sse");
    }
}
