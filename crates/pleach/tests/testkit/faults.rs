//! Fault plans whose faults can never occur, and fault plans whose faults have not occurred.

use std::time::Duration;

use pleach::testkit::{FaultPlan, FaultySessions, Operation, each_seed};
use pleach::{InMemorySessionService, SessionError, SessionService};

/// Returns true if a plan is refused when it is made.
fn is_refused(plan: impl FnOnce() -> FaultPlan + std::panic::UnwindSafe) -> bool {
    std::panic::catch_unwind(plan).is_err()
}

#[test]
fn plans_that_cannot_strike_are_refused() {
    assert!(is_refused(|| FaultPlan::new().fail(Operation::Append, 0)));
    assert!(is_refused(|| FaultPlan::new().fail_from(Operation::Append, 0)));
    assert!(is_refused(|| FaultPlan::new().lose_reply(Operation::Append, 0)));
    assert!(is_refused(|| FaultPlan::new().lose_append(0)));
    assert!(is_refused(|| FaultPlan::new().delay(Operation::Append, 0, Duration::ZERO)));
    for rate in [10.0, -0.1, 1.5, f64::NAN] {
        assert!(is_refused(move || FaultPlan::new().rates(rate, 0.0)), "{rate}");
        assert!(is_refused(move || FaultPlan::new().rates(0.0, rate)), "{rate}");
    }
    drop(FaultPlan::new().fail(Operation::Append, 1).rates(0.0, 1.0));
}

#[tokio::test]
#[should_panic(expected = "at least one seed")]
async fn no_seeds_are_no_test() {
    each_seed(0, async |_| unreachable!("it has no seed")).await;
}

#[tokio::test]
async fn calls_of_health_checks_flushes_and_closes_fail_by_plan() {
    let plan =
        FaultPlan::new().fail(Operation::HealthCheck, 1).fail(Operation::Flush, 1).lose_reply(Operation::Close, 1);
    let sessions = FaultySessions::new(InMemorySessionService::new(), plan);
    let failed = sessions.health_check().await.unwrap_err();
    assert!(failed.to_string().contains("health_check"), "{failed}");
    assert!(sessions.flush().await.is_err() && sessions.close().await.is_err());
    sessions.health_check().await.unwrap();
    assert_eq!((sessions.calls(Operation::HealthCheck), sessions.faults()), (2, 3));
}

#[tokio::test]
async fn a_store_that_is_gone_is_gone_for_every_operation() {
    let sessions = FaultySessions::new(InMemorySessionService::new(), FaultPlan::new().fail_all_from(2));
    sessions.list_apps().await.unwrap();
    assert!(matches!(sessions.health_check().await, Err(SessionError::Unavailable { .. })));
    assert!(matches!(sessions.list_apps().await, Err(SessionError::Unavailable { .. })));
}

#[tokio::test]
async fn faults_that_did_not_strike_are_named() {
    let plan = FaultPlan::new().fail(Operation::Flush, 1).fail(Operation::Flush, 3).fail_from(Operation::Claim, 2);
    let sessions = FaultySessions::new(InMemorySessionService::new(), plan);
    assert!(sessions.flush().await.is_err());
    sessions.flush().await.unwrap();
    assert_eq!(sessions.unused(), [(Operation::Flush, 3), (Operation::Claim, 2)]);
    assert!(sessions.flush().await.is_err());
    assert_eq!(sessions.unused(), [(Operation::Claim, 2)]);
}
