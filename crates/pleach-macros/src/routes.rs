//! `#[derive(Routes)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "`Routes` can only be derived for an enum"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "an enum of routes has no generic parameters"));
    }
    if data.variants.is_empty() {
        return Err(Error::new_spanned(&input.ident, "an enum of routes has at least one variant"));
    }
    let mut routes: Vec<LitStr> = Vec::new();
    for variant in &data.variants {
        let route = route_of(variant)?;
        if routes.iter().any(|earlier| earlier.value() == route.value()) {
            let message = format!("two variants have the route `{}`", route.value());
            return Err(Error::new_spanned(variant, message));
        }
        routes.push(route);
    }
    let name = &input.ident;
    let variants = data.variants.iter().map(|variant| &variant.ident);
    Ok(quote! {
        #[automatically_derived]
        impl ::pleach::Routes for #name {
            const ROUTES: ::core::option::Option<&'static [&'static str]> =
                ::core::option::Option::Some(&[#(#routes),*]);
        }

        #[automatically_derived]
        impl ::core::convert::From<#name> for ::pleach::RouteKey {
            fn from(route: #name) -> Self {
                ::core::convert::From::from(match route {
                    #(#name::#variants => #routes,)*
                })
            }
        }

        #[automatically_derived]
        impl ::pleach::IntoRoute for #name {
            type Among = Self;

            fn into_route(self) -> ::pleach::Route {
                ::pleach::Route::One(::core::convert::Into::into(self))
            }
        }
    })
}

/// Returns the route of a variant, from its attribute or its name.
fn route_of(variant: &Variant) -> Result<LitStr> {
    if !matches!(variant.fields, Fields::Unit) {
        return Err(Error::new_spanned(variant, "a route has no fields: return what it holds as the output's value"));
    }
    let mut named = variant.attrs.iter().filter(|attr| attr.path().is_ident("route"));
    let Some(attr) = named.next() else {
        let name = variant.ident.unraw().to_string();
        return Ok(LitStr::new(&snake_case(&name), variant.ident.span()));
    };
    if let Some(second) = named.next() {
        return Err(Error::new_spanned(second, "a variant has one route"));
    }
    let route: LitStr =
        attr.parse_args().map_err(|error| Error::new(error.span(), "expected a text: `#[route(\"name\")]`"))?;
    match route.value().as_str() {
        "" => Err(Error::new_spanned(route, "a route must not be empty")),
        "__DEFAULT__" => {
            Err(Error::new_spanned(route, "the default route is not a route of a node: use `DEFAULT` on an edge"))
        }
        _ => Ok(route),
    }
}

/// Converts a name to snake case: `TooShort` becomes `too_short`, `HTTPError` becomes `http_error`.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (place, letter) in letters.iter().enumerate() {
        let after_lower = place > 0 && (letters[place - 1].is_lowercase() || letters[place - 1].is_numeric());
        let ends_acronym = place > 0
            && letters[place - 1].is_uppercase()
            && letters.get(place + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && (after_lower || ends_acronym) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    #[test]
    fn names_become_snake_case() {
        for (name, snake) in
            [("Ok", "ok"), ("TooShort", "too_short"), ("HTTPError", "http_error"), ("V2Only", "v2_only"), ("A", "a")]
        {
            assert_eq!(snake_case(name), snake);
        }
    }
}
