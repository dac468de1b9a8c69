//! [`ServerLimits`]: limits how much of a server one client may use.

use std::time::Duration;

/// Limits how much of a server one client may use. The reply to a request that exceeds a limit has an error status and
/// names the limit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerLimits {
    /// The largest body of a request, in bytes: 20 MiB by default. A larger body is answered with 413.
    pub body_bytes: usize,
    /// How many events a session may be created with: 1,000 by default. More are answered with 422.
    pub events: usize,
    /// How many parts a message, or all events of a new session together, may have: 10,000 by default. More are
    /// answered with 422.
    pub parts: usize,
    /// How many values the JSON of a body may have: 250,000 by default. Each list, object, string, number and constant
    /// is one value. More are answered with 422. A value needs many times the memory of its text, so this limits the
    /// memory of a request.
    pub values: usize,
    /// How deeply lists and objects of a body may be nested: [`MOST_LEVELS`](Self::MOST_LEVELS) by default, which is
    /// also the maximum. A deeper body is answered with 400.
    pub levels: usize,
    /// How long the head of a request may take to arrive, and then its body: 30 seconds each by default. If the head is
    /// late, the connection is closed; if the body is late, the reply is 408. A session that is created with events
    /// must also be stored within this time. Otherwise the session is removed, and the reply is 503.
    pub request_time: Duration,
    /// How many runs of one user of an app may be active at once: 1,000 by default. Further runs are answered with 429.
    pub runs_per_user: usize,
    /// How many streams of one user of an app may follow sessions at once: 100 by default. Further streams are answered
    /// with 429.
    pub followers_per_user: usize,
    /// How long the run of one request may take: without limit by default. After this time the run is aborted, and the
    /// reply is 504, or an error in the stream.
    pub run_time: Option<Duration>,
    /// How long a client of `/run_sse` may leave an event of its stream unread: five minutes by default. After this
    /// time the client is treated as disconnected. Streams that follow a session have no such limit. A request also
    /// waits this long for other runs of its session; then the reply is 409.
    pub slow_client_timeout: Duration,
    /// How many connections may be open at once: 10,000 by default. Requests on further connections are answered with
    /// 503, except requests to `/health`.
    pub connections: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body_bytes: 20 << 20,
            events: 1_000,
            parts: 10_000,
            values: 250_000,
            levels: Self::MOST_LEVELS,
            request_time: Duration::from_secs(30),
            runs_per_user: 1_000,
            followers_per_user: 100,
            run_time: None,
            slow_client_timeout: Duration::from_secs(300),
            connections: 10_000,
        }
    }
}

impl ServerLimits {
    /// The maximum depth of JSON that a server accepts.
    pub const MOST_LEVELS: usize = 127;

    /// Returns the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the largest body of a request, in bytes.
    #[must_use]
    pub fn body_bytes(mut self, bytes: usize) -> Self {
        self.body_bytes = bytes;
        self
    }

    /// Sets how many events a session may be created with.
    #[must_use]
    pub fn events(mut self, events: usize) -> Self {
        self.events = events;
        self
    }

    /// Sets how many parts a message, or all events of a new session together, may have.
    #[must_use]
    pub fn parts(mut self, parts: usize) -> Self {
        self.parts = parts;
        self
    }

    /// Sets how many values the JSON of a body may have.
    #[must_use]
    pub fn values(mut self, values: usize) -> Self {
        self.values = values;
        self
    }

    /// Sets how deeply lists and objects of a body may be nested.
    #[must_use]
    pub fn levels(mut self, levels: usize) -> Self {
        self.levels = levels;
        self
    }

    /// Sets how long the head and the body of a request may each take to arrive, and how long storing a session with
    /// events may take.
    #[must_use]
    pub fn request_time(mut self, time: Duration) -> Self {
        self.request_time = time;
        self
    }

    /// Sets how many runs of one user of an app may be active at once.
    #[must_use]
    pub fn runs_per_user(mut self, runs: usize) -> Self {
        self.runs_per_user = runs;
        self
    }

    /// Sets how many streams of one user of an app may follow sessions at once.
    #[must_use]
    pub fn followers_per_user(mut self, followers: usize) -> Self {
        self.followers_per_user = followers;
        self
    }

    /// Sets how long the run of one request may take.
    #[must_use]
    pub fn run_time(mut self, time: impl Into<Option<Duration>>) -> Self {
        self.run_time = time.into();
        self
    }

    /// Sets how long a client of `/run_sse` may leave an event of its stream unread, and how long a request waits for
    /// other runs of its session.
    #[must_use]
    pub fn slow_client_timeout(mut self, time: Duration) -> Self {
        self.slow_client_timeout = time;
        self
    }

    /// Sets how many connections are open at once.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }
}
