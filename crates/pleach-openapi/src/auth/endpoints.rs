//! [`Endpoints`]: the servers that issue tokens. They get secrets, so a document alone cannot choose them.

use pleach_core::Map;
use reqwest::Url;

use crate::document::{Base, Scheme};

/// The token endpoints of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    pub(crate) token: Base,
    pub(crate) refresh: Base,
}

impl Endpoints {
    /// Returns the endpoints of a flow. `given` is the address that the program has chosen, `base` is the address of
    /// the API.
    ///
    /// # Errors
    /// The reason why secrets cannot be sent there.
    pub(crate) fn of(scheme: &Scheme, flow: &str, given: Option<&Base>, base: &Base) -> Result<Self, String> {
        if let Some(given) = given {
            return Ok(Self { token: given.clone(), refresh: given.clone() });
        }
        let declared = |member: &str| {
            let text = self::flow(scheme, flow)?.get(member)?.as_str()?;
            Some(pinned(scheme, member, text, base))
        };
        let token = declared("tokenUrl").unwrap_or_else(|| {
            let name = &scheme.name;
            Err(format!("`{name}` has no `tokenUrl`: give the address by `.token_url(\"{name}\", …)`"))
        })?;
        let refresh = declared("refreshUrl").transpose()?.unwrap_or_else(|| token.clone());
        Ok(Self { token, refresh })
    }
}

/// Reads an address to which secrets may be sent.
///
/// # Errors
/// The reason why the address cannot be used.
pub(crate) fn secret_url(text: &str) -> Result<Base, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("cannot be read: {error}"))?;
    let base = Base::new(url)?;
    if base.is_safe() { Ok(base) } else { Err("gets secrets, so it must begin with `https://`".to_owned()) }
}

/// Returns the flow of this name.
pub(crate) fn flow<'s>(scheme: &'s Scheme, name: &str) -> Option<&'s Map> {
    scheme.json.get("flows")?.get(name)?.as_object()
}

/// Returns true if users can sign in.
pub(crate) fn has_sign_in(scheme: &Scheme) -> bool {
    flow(scheme, "authorizationCode")
        .is_some_and(|flow| flow.get("authorizationUrl").is_some_and(|url| url.is_string()))
}

/// Returns the reason why users cannot be sent to the address of a sign-in.
pub(crate) fn fault_of_sign_in(scheme: &Scheme) -> Option<String> {
    let text = flow(scheme, "authorizationCode")?.get("authorizationUrl")?.as_str()?;
    let url = Url::parse(text).ok();
    // Only a client opens the address, so it may have a query.
    let is_safe = url.is_some_and(|mut url| {
        url.set_query(None);
        Base::new(url).is_ok_and(|base| base.is_safe())
    });
    (!is_safe).then(|| format!("`{}` has an `authorizationUrl` that does not begin with `https://`", scheme.name))
}

/// Reads an address from the document. It must be on the API's own server. The program must name any other server that
/// gets the secrets.
fn pinned(scheme: &Scheme, member: &str, text: &str, base: &Base) -> Result<Base, String> {
    let name = &scheme.name;
    let help = format!("give the address by `.token_url(\"{name}\", …)`");
    let url = secret_url(text).map_err(|reason| format!("the `{member}` of `{name}` {reason}: {help}"))?;
    if url.endpoint().has_origin_of(base.endpoint()) {
        return Ok(url);
    }
    let host = url.endpoint().host();
    Err(format!("the `{member}` of `{name}` leads to `{host}`, which is not the server of the API: {help}"))
}
