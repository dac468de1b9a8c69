//! Bodies of responses, read up to a limit.

use std::time::Duration;

use reqwest::Response;

/// The maximum number of bytes that are read from the body of an error.
pub const ERROR_BYTES: usize = 64 << 10;

/// The time limit for the body of an error. It is short, because the status is already known.
pub const ERROR_WAIT: Duration = Duration::from_secs(5);

/// The reason why a body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyFault {
    /// The body is larger than the limit.
    #[error("the body is too large")]
    TooLarge,
    /// The connection broke. The text has all causes, without the URL.
    #[error("{0}")]
    Broken(String),
}

/// Returns true if a response announces more bytes than `limit`. Such a body need not be read at all.
#[must_use]
pub fn announces_more_than(response: &Response, limit: usize) -> bool {
    response.content_length().is_some_and(|length| usize::try_from(length).map_or(true, |length| length > limit))
}

/// Reads a body of at most `limit` bytes. A response that announces more is refused before anything is read.
///
/// # Errors
/// The body is larger than `limit`, or the connection breaks.
///
/// # Cancel safety
/// Dropping the future loses the bytes that were read.
pub async fn read_whole(response: &mut Response, limit: usize) -> Result<Vec<u8>, BodyFault> {
    if announces_more_than(response, limit) {
        return Err(BodyFault::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| BodyFault::Broken(crate::causes(error)))? {
        if body.len() + chunk.len() > limit {
            return Err(BodyFault::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads the body of an error into `body`, up to [`ERROR_BYTES`] or `limit`, whichever is less. `note` gets the size of
/// each piece. Returns true if `body` is the whole body.
///
/// Callers wait up to [`ERROR_WAIT`], and then use the bytes that have arrived. A broken connection is not reported as
/// a further error.
///
/// # Cancel safety
/// Dropping the future leaves the bytes that were read in `body`.
pub async fn read_error(
    response: &mut Response,
    body: &mut Vec<u8>,
    limit: usize,
    mut note: impl FnMut(usize),
) -> bool {
    let limit = limit.min(ERROR_BYTES);
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                note(chunk.len());
                let rest = limit - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(rest)]);
                if chunk.len() > rest {
                    return false;
                }
            }
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn response(body: &str) -> Response {
        http::Response::new(body.to_owned()).into()
    }

    fn whole(body: &str, limit: usize) -> Result<Vec<u8>, String> {
        let read = read_whole(&mut response(body), limit).now_or_never().expect("a body in memory");
        read.map_err(|fault| fault.to_string())
    }

    fn error(body: &str, limit: usize) -> (String, bool) {
        let (mut read, mut noted) = (Vec::new(), 0);
        let is_whole = read_error(&mut response(body), &mut read, limit, |count| noted += count).now_or_never();
        assert_eq!(noted, body.len());
        (String::from_utf8(read).expect("text"), is_whole.expect("a body in memory"))
    }

    #[test]
    fn a_body_is_read_up_to_its_limit() {
        assert_eq!(whole("abc", 3), Ok(b"abc".to_vec()));
        assert_eq!(whole("", 0), Ok(Vec::new()));
        assert_eq!(whole("abcd", 3), Err("the body is too large".to_owned()));
        assert!(announces_more_than(&response("abcd"), 3) && !announces_more_than(&response("abc"), 3));
    }

    #[test]
    fn the_beginning_of_an_error_is_kept() {
        assert_eq!(error("abc", 3), ("abc".to_owned(), true));
        assert_eq!(error("abcd", 3), ("abc".to_owned(), false));
        let (text, is_whole) = error(&"x".repeat(ERROR_BYTES + 1), usize::MAX);
        assert_eq!((text.len(), is_whole), (ERROR_BYTES, false));
    }
}
