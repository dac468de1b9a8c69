//! [`Clients`]: connections to this machine and to others.

use std::future::ready;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use pleach_core::with_causes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;

use crate::{Endpoint, tls};

/// Two clients: one for this machine, which uses no proxy and no resolver, and one for other machines. Neither follows
/// redirects.
#[derive(Clone, Debug)]
pub struct Clients {
    near: reqwest::Client,
    far: reqwest::Client,
}

impl Clients {
    /// Creates the clients. `connect` limits the time for a connection, by the system's clock. If the system's
    /// certificates cannot be read and `needs_encryption` is false, this is not an error: the clients then trust no
    /// server.
    ///
    /// # Errors
    /// The reason why no encrypted connections can be made.
    pub fn new(connect: Duration, needs_encryption: bool) -> Result<Self, String> {
        let tls = match tls::trusting_the_system() {
            Err(_) if !needs_encryption => tls::trusting_none(),
            tls => tls,
        };
        let tls = tls.map_err(|error| with_causes(&error))?;
        let builder = || {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .connect_timeout(connect)
                .user_agent(concat!("pleach/", env!("CARGO_PKG_VERSION")))
                // A redirect would carry keys, headers and conversations to an address that the program has not chosen.
                .redirect(Policy::none())
        };
        let near = builder().no_proxy().dns_resolver(Arc::new(ThisMachine)).build().map_err(causes)?;
        let far = builder().build().map_err(causes)?;
        Ok(Self { near, far })
    }

    /// Returns the client for an endpoint.
    #[must_use]
    pub fn of(&self, endpoint: &Endpoint) -> &reqwest::Client {
        if endpoint.is_loopback() { &self.near } else { &self.far }
    }
}

/// Returns the text of an error with all its causes, but without the URL, whose query may be a key.
#[must_use]
pub fn causes(error: reqwest::Error) -> String {
    with_causes(&error.without_url())
}

/// Resolves `localhost` and the names below it. The system's resolver might resolve a name below `localhost` to another
/// machine, which would then get unencrypted requests.
#[derive(Debug)]
struct ThisMachine;

impl Resolve for ThisMachine {
    fn resolve(&self, _: Name) -> Resolving {
        // The client replaces the port.
        let addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
        let addresses: Addrs = Box::new(addresses.into_iter());
        Box::pin(ready(Ok(addresses)))
    }
}
