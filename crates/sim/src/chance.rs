//! Chance by seed: the same seed gives the same history, on every machine and in every version of this program. Not
//! for secrets.

use std::time::Duration;

/// A source of chance (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The chance of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6a09_e667_f3bc_c909)
    }

    /// A source of its own for one matter, so that more draws here do not move what happens there.
    #[must_use]
    pub fn fork(&mut self, matter: u64) -> Self {
        Self::new(self.draw() ^ matter.rotate_left(17))
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw() % bound }
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of several; none of nothing.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(from.len() as u64)).unwrap_or_default();
        from.get(index)
    }

    /// A time in whole milliseconds, up to `longest`: short ones are as likely as long ones of ten times the length.
    pub fn lag(&mut self, longest: Duration) -> Duration {
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        let mut bound = longest;
        while bound > 1 && self.one_in(2) {
            bound /= 10;
        }
        Duration::from_millis(self.below(bound + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_gives_others() {
        let numbers = |seed| {
            let mut chance = Chance::new(seed);
            [chance.draw(), chance.below(1000), chance.between(3, 9)]
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut chance = Chance::new(1);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| chance.between(3, 6)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
    }
}
