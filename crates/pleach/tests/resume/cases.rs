//! The number of cases that are drawn, and their seed.

use std::fmt::Debug;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

/// Checks `property` on `PLEACH_PROPTEST_CASES` values, or on `cases` values if the variable is not set.
///
/// The seed is fixed, so every run draws the same values; `PLEACH_PROPTEST_SEED` sets another seed. A failure names
/// the seed and the smallest value that fails.
pub(crate) fn check<S: Strategy>(name: &str, cases: u32, strategy: S, property: impl Fn(&S::Value))
where
    S::Value: Debug,
{
    let number = |variable: &str| std::env::var(variable).ok().map(|text| text.parse::<u64>().expect("a number"));
    let cases = number("PLEACH_PROPTEST_CASES").map_or(cases, |cases| u32::try_from(cases).unwrap_or(u32::MAX));
    let seed = number("PLEACH_PROPTEST_SEED").unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    match runner.run(&strategy, |value| {
        property(&value);
        Ok(())
    }) {
        Ok(()) => {}
        Err(TestError::Fail(reason, value)) => panic!("{name}, seed {seed}: {reason}\nsmallest case: {value:?}"),
        Err(other) => panic!("{name}, seed {seed}: {other}"),
    }
}
