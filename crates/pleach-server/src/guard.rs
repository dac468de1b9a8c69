//! Checks the host and the origin of a request, so that foreign web pages cannot use the server.
// H90, H91

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Uri};

use crate::hosts::{host_of, is_loopback};
use crate::origins::{Origins, scheme_of};

/// The kind of address that the server listens on, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bind {
    /// The routes are nested in another service, which listens and checks hosts itself.
    Unknown,
    Loopback,
    Network,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Host,
    Origin,
}

impl Refusal {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Host => "Forbidden: host not allowed",
            Self::Origin => "Forbidden: origin not allowed",
        }
    }
}

/// Checks the host and the origin of a request.
///
/// # Errors
/// The [`Refusal`] names what is not allowed: the host or the origin.
pub(crate) fn check(headers: &HeaderMap, uri: &Uri, bind: Bind, origins: &Origins) -> Result<(), Refusal> {
    if !host_is_allowed(headers, bind, origins) {
        return Err(Refusal::Host);
    }
    match headers.get(ORIGIN) {
        None => Ok(()),
        Some(origin) => match origin.to_str() {
            Ok(origin) if origin_is_allowed(origin, headers, uri, bind, origins) => Ok(()),
            _ => Err(Refusal::Origin),
        },
    }
}

/// Returns `true` if the host of a request is allowed. A server on a loopback address can only be reached from this
/// machine. So a request with another host comes from a page whose domain name was made to point to this machine. The
/// origin of such a page equals the host, so checking the origin does not reveal it.
fn host_is_allowed(headers: &HeaderMap, bind: Bind, origins: &Origins) -> bool {
    if bind != Bind::Loopback || origins.are_all() {
        return true;
    }
    let mut hosts = headers.get_all(HOST).iter();
    let Some(host) = hosts.next() else { return true };
    let Some(host) = host.to_str().ok().map(str::trim).filter(|host| !host.contains(',') && hosts.next().is_none())
    else {
        return false;
    };
    is_loopback(host) || origins.vouch_for(host)
}

fn origin_is_allowed(origin: &str, headers: &HeaderMap, uri: &Uri, bind: Bind, origins: &Origins) -> bool {
    let origin = first_value(origin);
    if origins.allow(origin) {
        return true;
    }
    if bind == Bind::Loopback && !origins.are_configured() && !host_of(origin).is_some_and(|host| is_loopback(&host)) {
        return false;
    }
    own_origin(headers, uri).is_some_and(|own| own == origin)
}

/// Returns the server's own origin, as the client addressed it. The headers of proxies are considered.
fn own_origin(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(first_value);
    if let Some((proto, host)) = header("forwarded").and_then(forwarded) {
        return Some(format!("{proto}://{host}"));
    }
    let host = header("x-forwarded-host").or_else(|| header("host"))?;
    let proto = header("x-forwarded-proto").unwrap_or_else(|| scheme_of(uri));
    Some(format!("{proto}://{host}"))
}

/// Reads `proto` and `host` of a `Forwarded` header.
fn forwarded(value: &str) -> Option<(&str, &str)> {
    let pairs = || value.split(';').filter_map(|pair| pair.split_once('='));
    let find = |wanted: &str| {
        let value = pairs().rfind(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))?.1.trim();
        Some(value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value))
    };
    Some((find("proto")?, find("host")?))
}

fn first_value(value: &str) -> &str {
    value.split(',').next().unwrap_or(value).trim()
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn outcome(bind: Bind, origins: &[&str], headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let origins = Origins::new(origins.iter().map(|origin| (*origin).to_owned())).unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        check(&map, &Uri::from_static("/list-apps"), bind, &origins)
    }

    #[test]
    fn h90_a_loopback_server_takes_its_own_hosts_only() {
        let host = |host| outcome(Bind::Loopback, &["https://app.example:8443", "regex:https://.*"], &[("host", host)]);
        for known in ["localhost:1", "127.0.0.1", "[::1]:5", "localhost.", "app.example", "APP.example.:9"] {
            assert_eq!(host(known), Ok(()), "{known}");
        }
        for foreign in ["evil.example", "127.0.0.1:80.evil.example", "a,localhost", "other.app.example", ""] {
            assert_eq!(host(foreign), Err(Refusal::Host), "{foreign}");
        }
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(outcome(Bind::Loopback, &[], &twice), Err(Refusal::Host));
        assert_eq!(outcome(Bind::Loopback, &[], &[]), Ok(()));
        for (bind, origins) in [(Bind::Loopback, &["*"][..]), (Bind::Network, &[]), (Bind::Unknown, &[])] {
            assert_eq!(outcome(bind, origins, &[("host", "evil.example")]), Ok(()));
        }
    }

    #[test]
    fn h91_without_configured_origins_only_the_own_one_is_let_in() {
        let from = |origin, more: &[(&'static str, &str)]| {
            let headers = [&[("host", "127.0.0.1:8000"), ("origin", origin)], more].concat();
            outcome(Bind::Loopback, &[], &headers)
        };
        assert_eq!(from("http://127.0.0.1:8000", &[]), Ok(()));
        for foreign in [
            "null",
            "http://127.0.0.1:8001",
            "http://localhost:8000",
            "http://evil.example",
            "",
            "https://127.0.0.1:8000",
        ] {
            assert_eq!(from(foreign, &[]), Err(Refusal::Origin), "{foreign}");
        }
        assert_eq!(from("https://127.0.0.1:8000", &[("x-forwarded-proto", "https")]), Ok(()));
        assert_eq!(from("http://evil.example", &[("x-forwarded-host", "evil.example")]), Err(Refusal::Origin));
        let proxied = [
            ("host", "10.0.0.1"),
            ("origin", "https://a.example"),
            ("forwarded", "for=x;proto=https;host=\"a.example\""),
        ];
        assert_eq!(outcome(Bind::Network, &[], &proxied), Ok(()));
        assert_eq!(outcome(Bind::Network, &[], &proxied[..2]), Err(Refusal::Origin));
    }

    #[test]
    fn h91_configured_origins_are_literal_or_match_as_a_whole() {
        let from = |origin| {
            let origins = ["http://app.example", r"regex:https://.*\.ok\.example", "regex:"];
            outcome(Bind::Loopback, &origins, &[("host", "localhost:1"), ("origin", origin)])
        };
        for known in ["http://app.example", "https://a.ok.example", "http://localhost:1"] {
            assert_eq!(from(known), Ok(()), "{known}");
        }
        for foreign in
            ["https://app.example", "https://a.ok.example.evil", "xhttps://a.ok.example", "http://localhost:2"]
        {
            assert_eq!(from(foreign), Err(Refusal::Origin), "{foreign}");
        }
    }
}
