//! Where moments are drawn: in proportion, but long times in which nothing changes are drawn short, or an hour's pause
//! would leave no room for the pods.

use jiff::SignedDuration;

use super::story::{Seconds, Story, What};

/// Times up to this are always drawn in proportion.
const SHORT: SignedDuration = SignedDuration::from_secs(60);
/// How much of the whole shows how things are at the end.
const TAIL: f64 = 0.03;
/// No time is shortened to less.
const LEAST: SignedDuration = SignedDuration::from_secs(10);

/// From moments to places between 0 and 1.
pub(super) struct Axis {
    /// Moments at which something changed, and how far each is from the start, as drawn.
    knots: Vec<(Seconds, f64)>,
    /// Times that are drawn shorter than they are.
    pub(super) shortened: Vec<(Seconds, Seconds)>,
}

impl Axis {
    pub(super) fn of(story: &Story) -> Self {
        let pods = story.pods.iter().flat_map(|pod| pod.spans.iter().map(|span| span.from));
        let deeds = story.timeline.iter().filter(|entry| matches!(entry.what, What::Deed { .. }));
        let mut moments: Vec<Seconds> = pods
            .chain(deeds.map(|entry| entry.at))
            .chain(story.steps.iter().map(|step| step.at))
            .chain(story.analyses.iter().flat_map(|analysis| [analysis.from, analysis.to]))
            .chain([Seconds::default(), story.end.at])
            .collect();
        moments.sort_unstable();
        moments.dedup();
        let gaps: Vec<SignedDuration> = moments.windows(2).map(|two| two[1].0 - two[0].0).collect();
        let short: SignedDuration = gaps.iter().filter(|gap| **gap <= SHORT).sum();
        let longest = (short / 6).max(LEAST);
        let mut drawn = 0.0;
        let mut knots = vec![(Seconds::default(), 0.0)];
        let mut shortened = Vec::new();
        for (gap, two) in gaps.iter().zip(moments.windows(2)) {
            if *gap > longest {
                shortened.push((two[0], two[1]));
            }
            drawn += gap.min(&longest).as_secs_f64();
            knots.push((two[1], drawn));
        }
        let all = if drawn > 0.0 { drawn } else { 1.0 };
        for (_, place) in &mut knots {
            *place *= (1.0 - TAIL) / all;
        }
        Self { knots, shortened }
    }

    /// Where a time ends: what lasts to the end is drawn a little beyond it.
    pub(super) fn end(&self, at: Seconds) -> f64 {
        match self.knots.last() {
            Some((end, _)) if *end > at => self.place(at),
            _ => 1.0,
        }
    }

    /// Where a moment is, between 0 and 1.
    pub(super) fn place(&self, at: Seconds) -> f64 {
        let after = self.knots.partition_point(|(knot, _)| *knot <= at);
        match (after.checked_sub(1).and_then(|before| self.knots.get(before)), self.knots.get(after)) {
            (Some((from, start)), Some((to, end))) => {
                let part = (at.0 - from.0).as_secs_f64() / (to.0 - from.0).as_secs_f64();
                start + part * (end - start)
            }
            (Some((_, place)), None) => *place,
            (None, _) => 0.0,
        }
    }
}
