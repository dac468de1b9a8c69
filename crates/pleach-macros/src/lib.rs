//! The derive macros of pleach.

mod routes;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes an enum of unit variants the routes of a node. The route of a variant is its name in snake case, or the name
/// in `#[route("name")]`.
#[proc_macro_derive(Routes, attributes(route))]
pub fn derive_routes(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    routes::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
