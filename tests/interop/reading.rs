//! Cases in which one side has written everything, and the other side reads it.

use crate::adk::{Adk, Service};
use crate::database::{Database, Layout};
use crate::expected::{compare_adk, compare_dump, compare_filtered};
use crate::program::answer;

pub(crate) async fn s131_a_golden_database_is_dumped_as_google_adk_reads_it(layout: Layout) {
    let Some(database) = Database::golden(layout).await else { return };
    compare_dump(&answer(&["dump", &database.url()], ""));
}

pub(crate) async fn s131_b_loaded_database_is_dumped_as_google_adk_reads_it(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    compare_dump(&answer(&["dump", &database.url()], ""));
}

pub(crate) async fn s131_b_loaded_database_is_read_by_google_adk(layout: Layout) {
    let Some(database) = Database::loaded(layout).await else { return };
    let Some(mut adk) = Adk::open(&database) else { return };
    compare_adk(&mut adk);
    let recorded = match layout {
        Layout::Lite => "adk_sqlite_service.db",
        Layout::V1 => "adk_database_service.db",
        Layout::Postgres => "adk_postgres.sql",
    };
    compare_filtered(&mut adk, recorded);
    if let Layout::Lite = layout {
        // google-adk's other service reads this layout as well. It cannot filter by time there, because it would
        // compare numbers with strings.
        let (_, file) = database.adk();
        compare_adk(&mut Adk::open_as(Service::Database, &file).unwrap());
    }
}
