//! [`Dice`]: numbers that are the same in every run.

/// A generator of numbers from a seed (SplitMix64).
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Makes the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Makes the generator of the seed in the variable `PLEACH_FUZZ_SEED`, or of `seed` if the variable is not set.
    pub fn of_environment(seed: u64) -> Self {
        Self(number_of("PLEACH_FUZZ_SEED").unwrap_or(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit as u64) as usize
    }

    /// One of several.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// The number of steps of a fuzz program: the value of the variable `PLEACH_FUZZ_STEPS`, or `short` if it is not set.
pub fn steps(short: usize) -> usize {
    number_of("PLEACH_FUZZ_STEPS").and_then(|steps| steps.try_into().ok()).unwrap_or(short)
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
