//! Conversations with the servers of providers, as users have reported them. Each file of the folder `files` is one conversation.
//!
//! A file is `{"provider": "openai" (default) | "anthropic" | "gemini", "streaming": false?, "messages": [..]?,
//! "replies": [..], "tool_result": ..?}`. The server sends the replies in order, one for each request. A reply has
//! `events`, `json`, or `raw` with the media type `ct`, and `status` if it is not 200. The text in `then_forever` is
//! written again and again. There is one module for each topic, with the expected outcomes of its files.

mod case;
mod expected;
mod history;
mod play;
mod server;

mod anthropic;
mod gemini;
mod openai_calls;
mod openai_errors;
mod openai_finish;
mod openai_text;
mod reported;
mod warnings;

/// Makes a test for each case, and the list of the files that have a test.
macro_rules! wire_cases {
    ($($test:ident: $file:literal => $expected:expr;)*) => {
        pub(super) const FILES: &[&str] = &[$($file),*];

        $(#[tokio::test]
        async fn $test() {
            super::play::check($file, $expected).await;
        })*
    };
}
use wire_cases;

#[test]
fn each_file_has_an_expectation() {
    let tables = [
        anthropic::FILES,
        gemini::FILES,
        openai_calls::FILES,
        openai_errors::FILES,
        openai_finish::FILES,
        openai_text::FILES,
        reported::FILES,
        warnings::FILES,
    ];
    let mut expected = tables.concat();
    expected.sort_unstable();
    assert_eq!(case::names(), expected);
}
