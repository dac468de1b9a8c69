//! Serves the files of the page, which are compiled into the program.

use std::sync::Arc;

use axum::extract::{RawPathParams, State};
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY, X_FRAME_OPTIONS};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::api::Api;
use crate::error::{ApiError, text_response};

/// The content security policy of the page. Events contain texts of strangers, so the page may not run inline scripts,
/// and may not exchange data with other servers.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The files of the page: name, type, text.
const FILES: &[(&str, &str, &str)] = &[
    ("inspect.css", STYLE, include_str!("page/inspect.css")),
    ("icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("main.js", SCRIPT, include_str!("page/main.js")),
    ("api.js", SCRIPT, include_str!("page/api.js")),
    ("dom.js", SCRIPT, include_str!("page/dom.js")),
    ("exact.js", SCRIPT, include_str!("page/exact.js")),
    ("form.js", SCRIPT, include_str!("page/form.js")),
    ("home.js", SCRIPT, include_str!("page/home.js")),
    ("picture.js", SCRIPT, include_str!("page/picture.js")),
    ("questions.js", SCRIPT, include_str!("page/questions.js")),
    ("session.js", SCRIPT, include_str!("page/session.js")),
    ("state.js", SCRIPT, include_str!("page/state.js")),
    ("timeline.js", SCRIPT, include_str!("page/timeline.js")),
    ("tree.js", SCRIPT, include_str!("page/tree.js")),
];

pub(super) async fn to_page(State(api): State<Arc<Api>>) -> Response {
    match HeaderValue::from_str(&format!("{}/inspect/", api.prefix)) {
        Ok(location) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, location)]).into_response(),
        Err(_) => ApiError::no_route().into_response(),
    }
}

pub(super) async fn page() -> Response {
    served(include_str!("page/index.html"), HTML)
}

pub(super) async fn file(path: RawPathParams) -> Result<Response, ApiError> {
    let wanted = path.iter().next().map(|(_, name)| name).unwrap_or_default();
    let found = FILES.iter().find(|(name, ..)| *name == wanted);
    found.map(|(_, kind, text)| served(text, kind)).ok_or_else(ApiError::no_route)
}

fn served(text: &'static str, kind: &'static str) -> Response {
    let mut response = text_response(StatusCode::OK, text, kind);
    let headers: [(HeaderName, &'static str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code that would read an event's text as markup or as a program, or load something from another server.
    const FORBIDDEN: &[&str] = &[
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "createContextualFragment",
        "srcdoc",
        "eval(",
        "new Function",
        "setTimeout(\"",
        "javascript:",
        "http://",
        "https://",
        "import(",
    ];

    #[test]
    fn the_page_reads_no_text_as_markup_and_loads_nothing_from_elsewhere() {
        let page = ("index.html", HTML, include_str!("page/index.html"));
        for (name, _, text) in FILES.iter().chain([&page]) {
            // The namespace of SVG elements is not an address.
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for word in FORBIDDEN {
                assert!(!text.contains(word), "{name} has {word}");
            }
        }
        let html = page.2;
        assert!(!html.contains("<style") && !html.contains(" style=") && !html.contains(" on"), "nothing is inline");
        assert_eq!(html.matches("<script").count(), html.matches("<script type=\"module\" src=\"files/").count());
    }

    #[test]
    fn every_file_that_the_page_names_is_there() {
        let page = ("index.html", HTML, include_str!("page/index.html"));
        for (name, _, text) in FILES.iter().chain([&page]) {
            for quoted in text.split('"').filter(|word| word.starts_with("./") || word.starts_with("files/")) {
                let wanted = quoted.trim_start_matches("./").trim_start_matches("files/");
                assert!(FILES.iter().any(|(known, ..)| *known == wanted), "{name} names {quoted}");
            }
        }
    }
}
