//! Databases that releases of pleach have written. Each later version reads them and continues their sessions.
//!
//! `stories` has the beginnings of the sessions and their continuations. `set` has the stored data of a release.
//! `tests/golden/README.md` describes when and how a set is made.

mod set;
mod stories;
mod world;

use crate::database::Layout;
use set::Set;

/// The releases whose databases are in `tests/golden`.
const RELEASES: &[&str] = &["0.1"];

/// Every session of every release is read as it was written, and continues.
pub(crate) async fn sessions_of_a_release_are_read_and_continued(layout: Layout) {
    for release in RELEASES {
        let Some(set) = Set::golden(release, layout).await else { return };
        let expected = set.expected();
        set.check(&expected).await;
        stories::go_on(&set.world().await).await;
    }
}

/// The same check for this version. It shows that the code for making a set works.
pub(crate) async fn sessions_of_this_version_are_read_and_continued(layout: Layout) {
    let Some(set) = Set::empty(layout).await else { return };
    let world = set.writing().await;
    stories::begin(&world).await;
    let expected = world.listing().await;
    world.close().await;
    set.check(&expected).await;
    set.keep(&expected).await;
    stories::go_on(&set.world().await).await;
}
