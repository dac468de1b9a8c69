//! [`Routes`]: sets of routes that are known when a workflow is built.

use crate::Route;

/// A set of routes that a node chooses from: an enum of unit variants with `#[derive(Routes)]`.
///
/// A handler that returns `Output<T, R>` chooses one of the routes `R`. Building the workflow fails unless each route
/// has an edge or the node has a default edge. The route of a variant is its name in snake case, or the name in
/// `#[route("name")]`.
pub trait Routes: 'static {
    /// The routes; `None` if they are not known before the node runs.
    const ROUTES: Option<&'static [&'static str]>;
}

/// Any route: the set of an `Output<T>` that declares no routes.
#[derive(Clone, Debug)]
pub enum AnyRoute {}

impl Routes for AnyRoute {
    const ROUTES: Option<&'static [&'static str]> = None;
}

/// A value that chooses a route: a string, an integer, a boolean, a list of these, or a variant of [`Routes`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a route",
    label = "not a route",
    note = "a route is a string, an integer, a boolean, a list of these, or an enum that derives `Routes`"
)]
pub trait IntoRoute {
    /// The set that the route belongs to.
    type Among: Routes;

    /// Returns the route.
    fn into_route(self) -> Route;
}

impl<T: Into<Route>> IntoRoute for T {
    type Among = AnyRoute;

    fn into_route(self) -> Route {
        self.into()
    }
}
