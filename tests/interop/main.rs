//! Compares every database layout with google-adk, through the program `interop`. Also reads the databases that earlier
//! releases of pleach have written.
//!
//! `expected.json` has the recorded values that google-adk 2.13.0 reads from a database. Cases that also need google-adk itself
//! use the Python that `PLEACH_TEST_ADK_PYTHON` names. Without it they print SKIPPED and pass.
// S130, S131

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod adk;
mod database;
mod expected;
mod inbox;
mod payloads;
mod program;
mod reading;
mod released;
mod settled;
mod trees;
mod waits;
mod writing;

use database::Layout;

/// Makes a test for every case and layout.
macro_rules! on_every_layout {
    ($($module:ident::$case:ident),* $(,)?) => {
        on_every_layout! { @lite Lite $($module::$case)* }
        on_every_layout! { @v1 V1 $($module::$case)* }
        on_every_layout! { @postgres Postgres $($module::$case)* }
    };
    (@$name:ident $layout:ident $($module:ident::$case:ident)*) => {
        mod $name {
            $(#[tokio::test]
            async fn $case() {
                crate::$module::$case(crate::Layout::$layout).await;
            })*
        }
    };
}

on_every_layout! {
    reading::s131_a_golden_database_is_dumped_as_google_adk_reads_it,
    reading::s131_b_loaded_database_is_dumped_as_google_adk_reads_it,
    reading::s131_b_loaded_database_is_read_by_google_adk,
    settled::google_adk_ignores_notes_and_its_changes_are_noticed,
    waits::google_adk_reads_waits_appends_and_deletes,
    writing::s131_c_both_append_to_one_session,
    writing::s131_d_google_adk_finds_its_session_stale,
    writing::s131_d_we_find_our_session_stale,
    writing::appends_at_the_same_time_are_stored_or_stale,
    writing::appends_at_the_same_time_are_all_stored_with_retries,
    writing::the_exit_status_shows_the_outcome,
    writing::refused_operations_are_listed_and_the_rest_is_played,
    inbox::the_inbox_notices_what_google_adk_asks_answers_and_deletes,
    payloads::google_adk_reads_references_appends_and_deletes,
    released::sessions_of_a_release_are_read_and_continued,
    released::sessions_of_this_version_are_read_and_continued,
}
