//! Tests of several processes on one database: nothing is lost, nothing is stored twice, and no reader sees an
//! incomplete write.
//!
//! The other processes run programs such as `session-worker`. Every test runs on every durable backend, and does not
//! depend on the speed of a process. Tests of workers compare the stored events with the replies that the workers got
//! ([`stored`]).

#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod cuts;
mod database;
mod deadlines;
mod fence;
mod heartbeats;
mod kills;
mod memory;
mod one_session;
mod own_sessions;
mod process;
mod redactions;
mod runners;
mod stored;
mod talker;
mod waiting;
mod waits;

use cuts::*;
use database::Backend;
use deadlines::*;
use fence::*;
use heartbeats::*;
use kills::*;
use one_session::*;
use own_sessions::*;
use redactions::*;
use waits::*;

/// Makes one named test for each function and backend.
macro_rules! on_durable_backends {
    ($($name:ident = $backend:expr),* $(,)?) => {
        $(mod $name {
            on_durable_backends! { @rules $backend;
                s37_u4_no_key_of_eight_processes_is_lost,
                s37_u4_no_key_of_sessions_created_at_once_is_lost,
                s36_64_sessions_of_four_processes_are_whole_and_in_order,
                s36_two_processes_write_one_session_by_loading_it_again,
                s36_nothing_of_a_stale_append_is_stored,
                s35_the_second_of_two_processes_that_loaded_the_same_revision_is_stale,
                s34_s66_6_killed_processes_lose_nothing_and_store_nothing_twice,
                r1115_a_message_that_comes_second_is_not_stored,
                r1115_r1025_a_run_that_loses_in_the_middle_can_be_resumed,
                r1115_each_of_many_simultaneous_runs_is_whole_or_gets_an_error,
                heartbeats_show_who_works,
                a_deadline_outlives_its_process_and_comes_once,
                one_branch_of_a_select_wins,
                waits_of_a_run_outlive_kills,
                a_fork_that_is_killed_leaves_the_source_and_rests,
                a_rewind_that_is_killed_is_whole_or_absent,
                work_on_the_pool_outlives_kills,
                queued_messages_are_stored_in_order_or_lost_with_their_process,
                a_run_that_is_killed_between_two_attempts_is_resumed,
                a_deadline_of_a_killed_process_is_found_without_a_listing,
                a_redaction_outlives_kills,
                s60_s62_a_database_survives_kills_of_those_who_make_it,
            }
        })*
    };
    (@rules $backend:expr; $($rule:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $rule() {
                super::$rule($backend).await;
            }
        )*
    };
}

on_durable_backends! {
    sqlite_lite = crate::Backend::SqliteLite,
    sqlite_v1 = crate::Backend::SqliteV1,
    postgres = crate::Backend::Postgres,
    pooled_postgres = crate::Backend::PooledPostgres,
}
