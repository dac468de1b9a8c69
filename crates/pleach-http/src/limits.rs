//! [`within`]: waiting with a time limit.

use std::pin::pin;

use futures_util::future::{Either, select};

/// Waits for `future` until `end` completes, for example a sleep of a clock. Returns `None` if `end` completes first.
///
/// If both are ready, the output wins.
///
/// # Cancel safety
/// Dropping the future drops both.
pub async fn within<F: Future>(end: impl Future<Output = ()>, future: F) -> Option<F::Output> {
    match select(pin!(future), pin!(end)).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(((), _)) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn an_output_that_is_ready_wins_over_the_end() {
        assert_eq!(within(ready(()), ready(1)).now_or_never(), Some(Some(1)));
        assert_eq!(within(pending(), ready(1)).now_or_never(), Some(Some(1)));
        assert_eq!(within(ready(()), pending::<u8>()).now_or_never(), Some(None));
        assert_eq!(within(pending(), pending::<u8>()).now_or_never(), None);
    }
}
