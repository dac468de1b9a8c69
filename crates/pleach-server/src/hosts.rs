//! Names and addresses of hosts in headers.

use std::net::{IpAddr, Ipv6Addr};

/// Returns an authority without its port. A malformed authority is returned unchanged, so that
/// `127.0.0.1:80.evil.example` is not treated as a loopback address.
pub(crate) fn without_port(authority: &str) -> &str {
    let (host, rest) = if let Some(inner) = authority.strip_prefix('[') {
        match inner.split_once(']') {
            Some(parts) => parts,
            None => return authority,
        }
    } else if authority.matches(':').count() == 1 {
        let place = authority.find(':').unwrap_or(authority.len());
        authority.split_at(place)
    } else {
        return authority;
    };
    let is_port = |rest: &str| {
        rest.strip_prefix(':').is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if rest.is_empty() || is_port(rest) { host } else { authority }
}

/// Returns true if an authority, with or without a port, is this machine.
pub(crate) fn is_loopback(authority: &str) -> bool {
    let host = without_port(authority).to_lowercase();
    let host = host.trim_end_matches('.');
    // An IPv6 address may name its network interface.
    let local = host.split_once('%').and_then(|(address, _)| address.parse::<Ipv6Addr>().ok()).map(IpAddr::V6);
    let address = local.or_else(|| host.parse().ok());
    host == "localhost" || address.is_some_and(|address| address.to_canonical().is_loopback())
}

/// Returns the host of a URL, in lower case and without brackets.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?.0,
        None => authority.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h90_only_this_machine_is_loopback() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "localhost:8000",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:5",
            "::1",
            "[::ffff:127.0.0.1]:80",
            "[::1%25lo]:80",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1:8000.evil.example",
            "localhost%lo",
            "127.0.0.1%lo",
            "[fe80::1%25lo]",
            "localhost:x",
            "localhost:",
            "[::1",
            "[::1]x",
            "0.0.0.0",
            "10.0.0.1",
            "localhost.evil.example",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn h90_the_host_of_an_origin() {
        for (url, host) in [
            ("http://App.example", Some("app.example")),
            ("https://user@a.example:8443/path", Some("a.example")),
            ("http://[::1]:80", Some("::1")),
            ("null", None),
            ("http://", None),
            ("*", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }
}
