//! The base URL of a model, and the URLs of paths below it.

use pleach_http::Endpoint;
use reqwest::Url;

use crate::ModelSetupError;

/// Reads a base URL.
///
/// # Errors
/// The URL cannot be used.
pub(crate) fn read_base_url(model: &str, text: &str) -> Result<Endpoint, ModelSetupError> {
    Endpoint::parse(text).map_err(|fault| ModelSetupError::BaseUrl {
        model: model.to_owned(),
        reason: fault.with_advice("send it with `.header(…)` instead"),
    })
}

/// Returns true if a base URL is this one, with or without a trailing slash.
pub(crate) fn is_at(base: &Endpoint, url: &str) -> bool {
    base.url().as_str().trim_end_matches('/') == url
}

/// Returns true if a base URL ends in a version of an API, such as `v1beta`.
pub(crate) fn has_version(base: &Endpoint) -> bool {
    let last = base.url().path_segments().and_then(|mut segments| segments.rfind(|segment| !segment.is_empty()));
    let number = last.and_then(|segment| segment.strip_prefix('v'));
    number.is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns the URL of a path below a base URL. The base URL's query comes before the path's query.
pub(crate) fn below(base: &Endpoint, path: &str) -> Url {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let mut url = base.url().clone();
    url.set_path(&format!("{}/{path}", base.url().path().trim_end_matches('/')));
    if let Some(query) = query {
        let own = base.url().query().map(|own| format!("{own}&")).unwrap_or_default();
        url.set_query(Some(&format!("{own}{query}")));
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_that_cannot_be_used_says_why_and_is_not_shown() {
        for (url, reason) in [
            ("api.example.com", "cannot be read"),
            ("ftp://example.com", "must begin with `https://`"),
            ("https://me:hush@example.com", "contains a user name or password: send it with `.header(…)` instead"),
        ] {
            let error = read_base_url("m", url).err().unwrap().to_string();
            assert!(error.contains(reason) && !error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_path_is_added_before_the_query() {
        let below = |base, path| below(&read_base_url("m", base).unwrap(), path).to_string();
        assert_eq!(below("https://a/v1/", "chat/completions"), "https://a/v1/chat/completions");
        assert_eq!(below("https://a?api-version=1", "x?alt=sse"), "https://a/x?api-version=1&alt=sse");
    }

    #[test]
    fn a_version_is_the_last_segment() {
        for (url, expected) in
            [("https://a/v1", true), ("https://a/v1beta/", true), ("https://a/v1/x", false), ("https://a", false)]
        {
            assert_eq!(has_version(&read_base_url("m", url).unwrap()), expected, "{url}");
        }
    }
}
