//! The table of rules, and the macros that turn it into named tests.

/// The input of a contract test: the service with a value that keeps its store alive, such as a temporary folder.
///
/// A test that cannot run in every place returns an `Option`: `None` skips it.
pub trait Opened {
    /// The service, or several services on one store.
    type Tested;
    /// A value that must live as long as the store.
    type Alive;

    /// Returns the pair, or `None` to skip the test. Whoever returns `None` has printed the reason.
    fn opened(self) -> Option<(Self::Tested, Self::Alive)>;
}

impl<S, A> Opened for (S, A) {
    type Tested = S;
    type Alive = A;

    fn opened(self) -> Option<(S, A)> {
        Some(self)
    }
}

impl<S, A> Opened for Option<(S, A)> {
    type Tested = S;
    type Alive = A;

    fn opened(self) -> Self {
        self
    }
}

/// The services to which a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Every service.
    All,
    /// Every service except those on google-adk's v1 layout.
    Plain,
    /// Services on google-adk's v1 layout, whose ids and times differ.
    V1,
}

/// One rule of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The group of the rule.
    pub group: &'static str,
    /// The name of the rule's function and tests.
    pub name: &'static str,
    /// The services to which the rule applies.
    pub services: For,
}

/// Passes the whole table to another macro, after that macro's own arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! session_rules {
    ([$($then:tt)*] $($told:tt)*) => {
        $($then)*! {
            $($told)*
            all {
                create: [
                    case_1_a_session_without_id_gets_a_uuid,
                    case_6_7_an_id_in_use_is_refused_and_its_state_ignored,
                    case_8_the_same_id_for_others_is_another_session,
                    case_14_16_delete_and_create_again,
                    case_62_create_refuses_nul_and_names_the_field,
                    case_66_any_text_is_an_id,
                ]
                load: [
                    s4_s5_a_returned_session_is_an_independent_copy,
                    case_11_12_15_missing_things_are_not_errors,
                    case_13_the_empty_user_is_a_user,
                    case_62_a_name_with_nul_is_not_found,
                    case_39_the_newest_events,
                    case_41_42_43_44_events_after_a_time,
                    case_48_sessions_are_listed_oldest_activity_first,
                    s32_a_listing_can_be_paged,
                    case_111_a_long_history_comes_back_in_order,
                    find_sessions_names_every_user_with_that_id,
                    apps_with_sessions_are_listed_in_order,
                ]
                state: [
                    case_18_temp_keys_reach_the_object_and_not_the_store,
                    case_19_26_temp_keys_of_a_new_session_are_dropped,
                    case_20_21_a_delta_replaces_whole_values_and_keeps_null,
                    case_22_only_a_delta_changes_the_stored_state,
                    case_24_25_27_28_scopes_go_by_prefix,
                    case_57_integers_of_64_bits_are_exact,
                    case_112_deep_state_survives,
                    s47_state_nested_too_deep_is_refused_by_name,
                    s21_app_and_user_state_are_shared_and_stay,
                ]
                append: [
                    case_17_a_partial_event_changes_nothing,
                    case_35_appending_to_a_deleted_session_is_not_found,
                    case_36_the_same_event_twice_is_stored_once,
                    case_37_another_event_with_a_taken_id_is_refused,
                    case_38_an_event_may_lack_an_invocation,
                    case_55_all_bytes_survive,
                    case_62_append_refuses_nul_and_stores_nothing,
                    s41_golden_events_come_back_equal,
                    s14_a_failed_append_leaves_the_object_alone,
                ]
                fence: [
                    case_29_the_second_writer_is_stale,
                    case_30_31_equal_and_older_times_do_not_hide_a_writer,
                    s35_a_clock_that_does_not_move_moves_the_revision_on,
                    s35_times_that_return_do_not_repeat_a_revision,
                    s33_a_session_made_again_refuses_old_heads,
                    s34_a_lost_answer_can_be_asked_for_again,
                    s34_a_repeated_append_is_known_by_its_place_not_by_its_time,
                ]
                claim: [
                    a_claim_moves_the_revision_on_and_stores_nothing,
                    one_racing_claim_wins,
                    a_claim_never_repeats_a_revision,
                    a_claim_at_the_time_of_an_earlier_claim_is_a_new_one,
                    a_repeated_append_after_a_claim_does_not_go_back,
                    readers_see_through_claims,
                    a_deleted_session_cannot_be_claimed,
                    a_head_is_checked_and_nothing_changes,
                ]
                settled: [
                    settled_sessions_are_left_out_for_their_program,
                    a_settled_session_that_changes_is_listed_again,
                    a_note_of_another_revision_has_no_effect,
                    notes_of_a_deleted_session_are_gone,
                    notes_of_two_programs_coexist,
                    notes_during_appends_hide_no_event,
                ]
                redact: [
                    a_redaction_replaces_values_and_nothing_else,
                    a_redaction_moves_the_revision_on,
                    readers_see_through_redactions,
                    a_redaction_of_what_the_engine_reads_is_refused,
                    a_replaced_event_differs_in_values_only,
                    a_redaction_leaves_the_same_questions_open,
                    a_redaction_leaves_permissions_as_they_are,
                    a_redaction_leaves_what_is_still_to_be_called,
                    a_redaction_leaves_the_effective_answer,
                    concurrent_redactions_are_all_applied,
                    the_state_is_not_redacted_with_the_event,
                ]
                since: [
                    events_since_a_revision_were_appended_after_it,
                    events_since_the_newest_revision_are_none_and_the_state_is_fresh,
                    events_since_a_revision_of_a_deleted_session_are_unknown,
                    events_after_an_event_follow_the_order_of_appends,
                    refresh_brings_a_session_up_to_date,
                    u1_append_with_reload_lands_whatever_others_do,
                    s38_health_check_and_flush_of_a_sound_store_succeed,
                ]
                ops: [
                    operations_apply_to_the_stored_values,
                    operations_are_applied_in_order,
                    a_repeated_append_applies_its_operations_once,
                    a_repeated_append_is_recognised_by_the_values_of_its_numbers,
                    a_union_keeps_the_stored_items,
                    an_operation_that_does_not_fit_stores_nothing,
                    a_stale_append_applies_no_operation,
                    additions_of_many_sessions_are_all_applied,
                    operations_and_plain_deltas_do_not_block_each_other,
                    app_and_user_state_are_read_without_a_session,
                    an_event_without_a_time_gets_one,
                    events_after_a_far_time_keep_their_order,
                ]
                inbox: [
                    questions_are_listed_until_they_are_answered,
                    questions_are_listed_by_user_and_assignee,
                    a_listing_of_questions_can_be_paged,
                    questions_of_a_deleted_session_are_gone,
                    every_kind_of_question_and_answer_is_noticed,
                    the_inbox_agrees_with_the_histories,
                    an_inbox_that_is_read_by_many_while_it_changes_ends_right,
                ]
                deadlines: [
                    deadlines_are_found_since_a_look,
                    deadlines_are_found_after_sessions_are_deleted,
                ]
                concurrent: [
                    case_9_one_racing_create_wins,
                    case_10_racing_creates_without_id_all_win,
                    case_71_one_of_five_copies_is_stored,
                    s36_the_same_append_twice_at_once_is_stored_once,
                    case_72_concurrent_keys_of_shared_state_all_survive,
                    s36_many_sessions_append_at_once,
                    s36_two_writers_of_one_session_land_in_order_or_are_stale,
                    s36_a_dropped_append_is_whole_or_absent,
                ]
            }
            plain {
                ids: [
                    case_2_3_a_blank_id_is_replaced,
                    case_4_5_blanks_around_an_id_are_cut_off,
                ]
                times: [
                    case_49_51_54_any_finite_time_is_kept_exactly,
                ]
            }
            v1 {
                ids: [
                    v1_case_2_3_4_5_an_id_is_kept_as_it_is,
                ]
                times: [
                    v1_case_45_the_time_of_a_filter_is_rounded,
                    v1_case_46_47_events_are_in_order_of_time_and_id,
                    v1_case_49_50_51_54_times_are_whole_microseconds,
                ]
            }
        }
    };
}

macro_rules! table {
    (
        all { $($all:ident: [$($all_rule:ident,)*])* }
        plain { $($plain:ident: [$($plain_rule:ident,)*])* }
        v1 { $($v1:ident: [$($v1_rule:ident,)*])* }
    ) => {
        &[
            $($(rule(stringify!($all), stringify!($all_rule), For::All),)*)*
            $($(rule(stringify!($plain), stringify!($plain_rule), For::Plain),)*)*
            $($(rule(stringify!($v1), stringify!($v1_rule), For::V1),)*)*
        ]
    };
}

/// All rules.
pub const RULES: &[Rule] = crate::session_rules!([table]);

const fn rule(group: &'static str, name: &'static str, services: For) -> Rule {
    Rule { group, name, services }
}

/// Makes a named `#[tokio::test]` of each rule that a session service must keep.
///
/// The argument is an expression that is evaluated in each test. Its value is a future of [`Opened`](crate::sessions::Opened): a
/// new, empty service, with a value that must live as long as its store. Each test has a store of its own.
///
/// Add `v1` as the second argument for services on google-adk's v1 layout, whose ids and times differ.
///
/// The tests need a dependency on `tokio` with the features `macros` and `rt-multi-thread`. Put them into a module: the names of
/// tests are the names of rules.
///
/// ```text
/// async fn open() -> (MySessionService, TempDir) { … }
///
/// mod contract {
///     pleach_contract::session_contract!(super::open());
/// }
/// ```
#[macro_export]
macro_rules! session_contract {
    ($open:expr) => {
        $crate::session_rules! { [$crate::session_contract_of] { plain } { $open } }
    };
    ($open:expr, v1) => {
        $crate::session_rules! { [$crate::session_contract_of] { v1 } { $open } }
    };
}

/// Makes a named `#[tokio::test]` of each rule about several services on one store, as in several processes.
///
/// The argument is used as in [`session_contract!`](crate::session_contract), with a `Vec` of at least two services in place of
/// the service. Stores that only one process can open do not need these rules.
///
/// ```text
/// async fn open_four() -> (Vec<MySessionService>, TempDir) { … }
///
/// mod shared_contract {
///     pleach_contract::shared_session_contract!(super::open_four());
/// }
/// ```
#[macro_export]
macro_rules! shared_session_contract {
    ($open:expr) => {
        $crate::session_contract_tests! { { $open }
            shared: [
                s35_a_writer_in_another_service_is_noticed,
                s66_6_7_services_write_shared_state_at_once_and_lose_nothing,
            ]
        }
    };
}

/// Selects the rules for a kind of service.
#[doc(hidden)]
#[macro_export]
macro_rules! session_contract_of {
    ({ plain } { $open:expr } all { $($all:tt)* } plain { $($plain:tt)* } v1 { $($v1:tt)* }) => {
        $crate::session_contract_tests! { { $open } $($all)* $($plain)* }
    };
    ({ v1 } { $open:expr } all { $($all:tt)* } plain { $($plain:tt)* } v1 { $($v1:tt)* }) => {
        $crate::session_contract_tests! { { $open } $($all)* $($v1)* }
    };
}

/// Defines the tests.
#[doc(hidden)]
#[macro_export]
macro_rules! session_contract_tests {
    ({ $open:expr } $($group:ident: [$($rule:ident,)*])*) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                let Some((services, _alive)) = $crate::sessions::Opened::opened($open.await) else {
                    return;
                };
                $crate::sessions::$rule(&services).await;
            }
        )*)*
    };
}
