//! [`Seed`]: reproducible choices. [`each_seed`]: runs a test with many seeds.

use std::future::Future;

/// The variable that chooses one seed for [`each_seed`].
pub const SEED_VARIABLE: &str = "PLEACH_TEST_SEED";

/// A generator of reproducible choices. Equal seeds make the same choices on every machine.
///
/// ```
/// use pleach_testkit::Seed;
///
/// let (mut one, mut other) = (Seed::new(7), Seed::new(7));
/// assert_eq!(one.below(1_000), other.below(1_000));
/// ```
#[derive(Clone, Debug)]
pub struct Seed {
    state: u64,
}

impl Seed {
    /// Creates a generator with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Chooses a number below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        // The number is less than `limit`, so it fits into a usize.
        usize::try_from(self.next() % limit).unwrap_or_default()
    }

    /// Chooses true with a probability between 0 and 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        // 53 bits fill the mantissa.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64 <= probability && probability > 0.0
    }

    /// Returns the next number of SplitMix64 (Steele, Lea, Flood 2014).
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// Runs a test with the seeds from 0 up to, but not including, `count`. If the environment variable `PLEACH_TEST_SEED`
/// is set, every test with seeds uses only that seed, so also select the test by name. If the test panics, its seed is
/// printed to standard error.
///
/// ```
/// use pleach_testkit::{Seed, each_seed};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// each_seed(100, async |seed| assert!(Seed::new(seed).below(6) < 6)).await;
/// # }
/// ```
///
/// # Panics
/// Panics if the test panics, if `count` is 0, or if the variable is not a number.
///
/// # Cancel safety
/// Dropping the future drops the test of the current seed.
pub async fn each_seed<F: Future<Output = ()>>(count: u64, test: impl Fn(u64) -> F) {
    assert!(count > 0, "`each_seed` needs at least one seed");
    let chosen = std::env::var(SEED_VARIABLE).ok().filter(|text| !text.is_empty());
    let chosen = chosen.map(|text| text.parse::<u64>().expect("PLEACH_TEST_SEED is a number"));
    let seeds = chosen.map_or(0..count, |seed| seed..seed.saturating_add(1));
    for seed in seeds {
        let _named = Named(seed);
        test(seed).await;
    }
}

/// Prints the seed of a test that panics.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            eprintln!("failed with seed {seed}: {SEED_VARIABLE}={seed} runs every test with seeds with this seed only");
        }
    }
}
