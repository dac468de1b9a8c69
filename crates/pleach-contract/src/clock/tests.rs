use futures_util::FutureExt as _;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_skipped_sleep_advances_the_clock() {
    let clock = TestClock::skipping();
    let before = clock.now();
    clock.sleep(60 * SECOND).await;
    clock.sleep(5 * SECOND).await;
    assert_eq!(clock.now() - before, 65.0);
    assert_eq!((clock.sleeps(), clock.sleeping()), (vec![60 * SECOND, 5 * SECOND], 0));
}

#[tokio::test]
async fn only_chosen_sleeps_are_skipped_and_no_time_passes() {
    let clock = TestClock::skipping_only(|duration| duration < 10 * SECOND);
    let before = clock.now();
    let mut long = clock.sleep(10 * SECOND);
    for _ in 0..100 {
        clock.sleep(9 * SECOND).await;
    }
    assert!((&mut long).now_or_never().is_none());
    assert_eq!((clock.now(), clock.sleeping(), clock.sleeps().len()), (before, 1, 101));
    clock.advance(10 * SECOND).await;
    assert!(long.now_or_never().is_some());
}

#[tokio::test]
async fn readings_of_a_ticking_clock_differ() {
    let clock = TestClock::ticking_from(UNIX_EPOCH + 100 * SECOND);
    assert_eq!([clock.now(), clock.now(), clock.clone().now()], [100.0, 101.0, 102.0]);
    clock.sleep(10 * SECOND).await;
    assert_eq!((clock.time(), clock.now()), (UNIX_EPOCH + 113 * SECOND, 113.0));
}

#[tokio::test]
async fn sleeps_of_a_duration_are_ended_and_no_others() {
    for clock in [TestClock::new(), TestClock::running()] {
        let shown = TestClock::new();
        let [mut short, mut long, dropped] = [SECOND, 60 * SECOND, 60 * SECOND].map(|duration| clock.sleep(duration));
        drop(dropped);
        assert!((&mut short).now_or_never().is_none() && (&mut long).now_or_never().is_none());
        assert_eq!((clock.end_sleeps_of(60 * SECOND), clock.end_sleeps_of(60 * SECOND), clock.sleeping()), (1, 0, 1));
        assert!(long.now_or_never().is_some() && (&mut short).now_or_never().is_none());
        assert!(clock.time().duration_since(shown.time()).unwrap() < SECOND);
        assert_eq!(clock.sleeps(), [SECOND, 60 * SECOND, 60 * SECOND]);
        // A sleep that was ended is no longer waited for.
        assert_eq!(clock.advance_to_next_sleep().await.as_secs_f64().round(), 1.0);
        assert!(short.now_or_never().is_some());
    }
}

#[tokio::test]
async fn a_task_is_woken_when_its_sleep_is_ended() {
    let clock = TestClock::new();
    let sleep = tokio::spawn(clock.sleep(Duration::MAX));
    tokio::task::yield_now().await;
    clock.advance(Duration::MAX).await;
    assert!(!sleep.is_finished());
    assert_eq!(clock.end_sleeps_of(Duration::MAX), 1);
    sleep.await.unwrap();
}

#[tokio::test]
async fn a_jump_shows_at_least_the_time_and_ends_what_came_due() {
    let clock = TestClock::new();
    let (due, later) = (clock.sleep(60 * SECOND), clock.sleep(61 * SECOND));
    for time in [1_800_000_060.0, 1_800_000_000.0, -1.0, f64::NAN] {
        clock.jump_to(time);
        assert_eq!(clock.now(), 1_800_000_060.0, "{time}");
    }
    assert!(due.now_or_never().is_some() && later.now_or_never().is_none());
    for time in [1_800_000_060.123_456_7, 1_800_000_061.1, 1_800_000_061.1f64.next_up()] {
        clock.jump_to(time);
        assert!((time..time + 2e-6).contains(&clock.now()), "{time}");
    }
    clock.jump_to(f64::INFINITY);
    assert!(clock.now() < 1_800_000_062.0);
}

#[tokio::test(start_paused = true)]
async fn a_sleep_takes_tokios_time_and_then_advances_the_clock() {
    let clock = TestClock::passing_in_sleeps();
    let before = (clock.now(), Instant::now());
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(clock.now(), before.0);
    clock.sleep(5 * SECOND).await;
    assert_eq!((clock.now() - before.0, before.1.elapsed()), (5.0, 65 * SECOND));
}
