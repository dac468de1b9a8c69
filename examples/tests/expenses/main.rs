//! Tests of the example `expenses`: its routes on every backend, and the program when it is killed or shut down.
#![expect(clippy::unwrap_used, reason = "test code: a panic is how a rule fails")]

mod api;
mod backend;
mod client;
#[cfg(unix)]
#[expect(dead_code, reason = "a test has a temporary folder here, for its database and its ledger")]
#[path = "../example/mod.rs"]
mod example;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod program;
mod races;
#[path = "../../expenses/service/mod.rs"]
mod service;
mod streams;

/// Defines one named test per rule and backend.
macro_rules! on_each_backend {
    ($($name:ident = $backend:expr),* $(,)?) => {
        $(mod $name {
            on_each_backend! { @rules $backend;
                api::a_small_expense_is_paid_without_a_question,
                api::a_large_expense_is_paid_when_a_manager_approves,
                api::a_rejected_expense_is_not_paid,
                api::an_expense_that_no_manager_answers_is_rejected_at_its_deadline,
                api::an_answer_that_does_not_fit_is_refused_with_its_field_and_changes_nothing,
                api::missing_things_are_not_found,
                api::a_question_is_answered_by_the_person_or_role_that_is_asked,
                api::a_report_that_is_sent_twice_is_filed_once,
                api::the_inbox_has_pages,
                api::a_failed_payment_is_tried_again_by_an_operator,
                races::one_of_two_simultaneous_answers_wins,
                races::one_of_two_answers_in_two_processes_wins,
                races::an_answer_and_the_deadline_at_once_pay_at_most_once,
                streams::a_stream_goes_over_a_pause_to_the_end,
                streams::a_client_that_comes_back_gets_what_it_has_missed,
                streams::streams_end_when_the_service_stops,
            }
        })*
    };
    (@rules $backend:expr; $($module:ident::$rule:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $rule() {
                crate::$module::$rule($backend).await;
            }
        )*
    };
}

/// Defines the tests that need data to outlive a process.
#[cfg(unix)]
macro_rules! on_durable_backends {
    ($($name:ident = $backend:expr),* $(,)?) => {
        $(mod $name {
            #[tokio::test]
            async fn a_payment_that_a_kill_cuts_off_is_made_once() {
                crate::process::a_payment_that_a_kill_cuts_off_is_made_once($backend).await;
            }

            #[tokio::test]
            async fn a_service_that_ends_lets_its_payments_finish() {
                crate::process::a_service_that_ends_lets_its_payments_finish($backend).await;
            }

            #[tokio::test]
            async fn a_payment_that_outlasts_the_drain_continues_in_the_next_process() {
                crate::process::a_payment_that_outlasts_the_drain_continues_in_the_next_process($backend).await;
            }
        })*
    };
}

on_each_backend! {
    memory = crate::backend::Backend::Memory,
    sqlite = crate::backend::Backend::Sqlite,
    postgres = crate::backend::Backend::Postgres,
}

#[cfg(unix)]
on_durable_backends! {
    sqlite_process = crate::backend::Backend::Sqlite,
    postgres_process = crate::backend::Backend::Postgres,
}
