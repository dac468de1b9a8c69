//! The settings for sending requests.

use std::collections::BTreeMap;
use std::fmt;

use pleach_core::Map;

use crate::wire::wire_object;

wire_object! {
    /// How the requests of a model are sent. ADK: `types.HttpOptions`
    ///
    /// Debug output shows the names of headers but not their values, because these may be credentials.
    pub struct HttpOptions {
        /// The base URL of the provider.
        base_url: String = "baseUrl",
        /// The version of the provider's API.
        api_version: String = "apiVersion",
        /// Headers to add. They are user data, so their names keep their casing.
        headers: BTreeMap<String, String> = "headers",
        /// How long a request may take, in milliseconds.
        timeout: u64 = "timeout",
        /// Members to add to the body. They are user data, so their names keep their casing.
        extra_body: Map = "extraBody",
        /// The settings for retries.
        retry_options: HttpRetryOptions = "retryOptions",
    }
}

wire_object! {
    /// The settings for retrying failed requests. ADK: `types.HttpRetryOptions`
    #[derive(Debug)]
    pub struct HttpRetryOptions {
        /// The maximum number of attempts, including the first one.
        attempts: u32 = "attempts",
        /// The wait before the second attempt, in seconds.
        initial_delay: f64 = "initialDelay",
        /// The longest wait, in seconds.
        max_delay: f64 = "maxDelay",
        /// The factor between two waits.
        exp_base: f64 = "expBase",
        /// The largest random part of a wait, in seconds.
        jitter: f64 = "jitter",
        /// The statuses after which a request is sent again.
        http_status_codes: Vec<u16> = "httpStatusCodes",
    }
}

impl HttpOptions {
    /// Merges the options of a run into the options of an agent. Headers are combined, and the run's headers win.
    /// Timeout, retries and extra body are replaced if the run sets them. A run cannot change the base URL or the API
    /// version.
    // L26
    pub fn merge(&mut self, run: &Self) {
        if let Some(headers) = run.headers.as_ref().filter(|headers| !headers.is_empty()) {
            self.headers.get_or_insert_default().extend(headers.clone());
        }
        self.timeout = run.timeout.or(self.timeout);
        if run.extra_body.is_some() {
            self.extra_body.clone_from(&run.extra_body);
        }
        if run.retry_options.is_some() {
            self.retry_options.clone_from(&run.retry_options);
        }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.iter().flat_map(BTreeMap::keys).collect();
        f.debug_struct("HttpOptions")
            .field("headers", &headers)
            .field("timeout", &self.timeout)
            .field("retry_options", &self.retry_options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::HttpOptions;

    #[test]
    fn l26_options_of_a_run_win_except_for_the_address() {
        let read = |value| serde_json::from_value::<HttpOptions>(value).unwrap();
        let mut agent = read(json!({"baseUrl": "http://a", "headers": {"A": "1", "B": "1"}, "timeout": 1}));
        agent.merge(&read(json!({
            "baseUrl": "http://b", "apiVersion": "v2", "headers": {"B": "2", "C": "2"},
            "retryOptions": {"attempts": 3}, "extraBody": {"x": 1},
        })));
        let merged = json!({
            "baseUrl": "http://a", "headers": {"A": "1", "B": "2", "C": "2"}, "timeout": 1,
            "retryOptions": {"attempts": 3}, "extraBody": {"x": 1},
        });
        assert_eq!(agent, read(merged));
        assert!(!format!("{agent:?}").contains('2'), "{agent:?}");
    }
}
