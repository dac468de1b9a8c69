//! Checks the files that the builder of the UI sends. Dangerous files are refused, and no file is stored.
// H95

use std::sync::LazyLock;

use axum::extract::Request;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use regex::Regex;

use crate::api::Api;
use crate::body::{Payload, Problem, Step};
use crate::error::ApiError;

/// The field of the form that contains the files.
const FIELD: &str = "files";

/// The key with which an agent's document could call functions with any arguments.
static ARGS: LazyLock<Regex> = LazyLock::new(|| {
    let key = r#"(?:^|[{,])[\s\-?]*["']?args["']?\s*:"#;
    Regex::new(&format!("(?m){key}")).expect("the pattern is fixed")
});

/// Reads a form with files, and checks the files.
///
/// # Errors
/// 422 for a form without files. 400 for a file whose name leads out of the app's folder or does not end in .yaml or
/// .yml, and for a document that calls functions.
pub(super) async fn check(api: &Api, request: Request) -> Result<(), ApiError> {
    let boundary = boundary(request.headers());
    let text = match api.payload(request).await? {
        Payload::Other(text) => text,
        Payload::Absent | Payload::Json(_) => String::new(),
    };
    let files: Vec<File<'_>> = boundary.iter().flat_map(|boundary| files(&text, boundary)).collect();
    if files.is_empty() {
        let place = vec![Step::name("body"), Step::name(FIELD)];
        return Err(ApiError::Invalid(vec![Problem::new("missing", place, "Field required")]));
    }
    files.iter().try_for_each(check_name)?;
    files.iter().try_for_each(check_content)
}

/// A file of a form.
struct File<'a> {
    name: &'a str,
    content: &'a str,
}

fn boundary(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let (kind, parameters) = kind.split_once(';')?;
    let is_form = kind.trim().eq_ignore_ascii_case("multipart/form-data");
    parameter(parameters, "boundary").filter(|boundary| is_form && !boundary.is_empty()).map(str::to_owned)
}

/// Returns a parameter of a header, without its quotes.
fn parameter<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let pairs = text.split(';').filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim());
    values.next().map(|value| value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value))
}

fn files<'a>(text: &'a str, boundary: &str) -> Vec<File<'a>> {
    let part = |part: &'a str| {
        let (head, content) = part.split_once("\r\n\r\n")?;
        let line = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-disposition").then_some(value)
        })?;
        let name = parameter(line, "filename").filter(|_| parameter(line, "name") == Some(FIELD))?;
        Some(File { name, content })
    };
    text.split(&format!("--{boundary}")).filter_map(part).collect()
}

fn check_name(file: &File<'_>) -> Result<(), ApiError> {
    let name = file.name.replace('\\', "/");
    let is_document = [".yaml", ".yml"].iter().any(|end| name.to_ascii_lowercase().ends_with(end));
    let leads_elsewhere =
        name.starts_with('/') || name.contains([':', '\0']) || name.split('/').any(|part| part == "..");
    let refuse = |why: &str| Err(ApiError::bad_request(format!("Invalid upload filename: '{}': {why}.", file.name)));
    match (leads_elsewhere, is_document) {
        (true, _) => refuse("it leads out of the app"),
        (_, false) => refuse("only .yaml and .yml are accepted"),
        _ => Ok(()),
    }
}

fn check_content(file: &File<'_>) -> Result<(), ApiError> {
    if ARGS.is_match(file.content) {
        let detail = format!("Blocked key 'args' found in '{}': it calls functions.", file.name);
        return Err(ApiError::bad_request(detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h95_documents_that_call_functions_are_found() {
        for text in ["args: 1", "a:\n  - args:\n", "{a: 1, \"args\": 2}", "- 'args' : x", "? args\n: 1\nb: {args: 2}"] {
            assert!(ARGS.is_match(text), "{text}");
        }
        for text in ["kwargs: 1", "arguments: 1", "description: no args", "args_schema: x"] {
            assert!(!ARGS.is_match(text), "{text}");
        }
    }
}
