//! Plays one run as somebody attends it who has the time: a template changes, things befall pods, a person promotes
//! what waits for one, or aborts; until the run has ended, or nothing will ever happen again.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use windlass_controller::Clock;

use super::{Outcome, Player, runtime};
use crate::actors::{Act, Order, Pace};
use crate::deed;
use crate::judge::{rollout, told};
use crate::object::{list, number, text};
use crate::resource::Resource;
use crate::script::{Deed, Line};
use crate::server::{Part, Patch};
use crate::start::Start;
use crate::store::Store;
use crate::timeline::{AnalysisState, Timeline, analysis_state};

/// How soon something has to be due to count as under way.
const SOON: Duration = Duration::from_secs(2);
/// How long a run that is over is watched, to see that nothing is written any more.
const AFTERMATH: Duration = Duration::from_secs(3600);

/// How long nothing but measuring goes on, or nothing but trying to measure, before that counts as standing still.
const ONLY_MEASURED: Duration = Duration::from_secs(2 * 3600);

/// What happens in a run, besides what it does itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Attendance {
    /// The change that begins it: a strategic patch of the pod template.
    pub template: Value,
    /// How long pods take.
    pub pace: Pace,
    /// How long a hold for a person lasts until one promotes.
    pub approve_after: Duration,
    /// The step, counted from zero, at which a person aborts.
    pub abort_at: Option<i64>,
    /// What else happens, so long after the change.
    pub agenda: Vec<(Duration, Deed)>,
    /// How long after the change nobody attends any more.
    pub limit: Duration,
}

/// What came of a run.
pub struct Attended {
    /// What happened, from the first pod of the set on.
    pub outcome: Outcome,
    /// When the template was changed.
    pub began: Timestamp,
    /// When it was over.
    pub ended: Timestamp,
    /// How it was over.
    pub over: Over,
    /// What was still to come.
    pub missed: Vec<Deed>,
}

/// How a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Every pod is on the new template.
    Completed,
    /// It was aborted, and every pod is back.
    Aborted,
    /// It stands still, and nothing is due any more.
    StandsStill,
    /// It was still under way at the limit.
    Unfinished,
    /// The rollout was never ready for a change, or the change was refused.
    NeverBegan,
}

/// Plays one run.
pub fn attend(start: Start, attendance: &Attendance) -> std::io::Result<Attended> {
    Ok(runtime()?.block_on(async { Player::new(start).attend(attendance).await }))
}

/// What a person sees of the run.
struct Sight {
    /// A hold waits for a person.
    asks: bool,
    /// The step at work, counted from zero, once the new template is known.
    step: Option<i64>,
    completed: bool,
    aborted: bool,
    measuring: Measuring,
}

/// What measuring has to do with how a run goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measuring {
    /// Nothing is measured, or time alone makes the run go on.
    Beside,
    /// Something is measured, and the run waits for something else.
    Idle,
    /// A check cannot be measured, and is tried again and again.
    InVain,
}

/// When a run was last seen to get anywhere.
struct Latest {
    moments: usize,
    at: (Instant, Timestamp),
    step: Option<i64>,
    step_at: (Instant, Timestamp),
}

impl Sight {
    fn of(store: &Store, first: &str) -> Option<Self> {
        let (_, rollout) = rollout(store)?;
        let waits_for = |reason: &str| {
            list(rollout, &["status", "waits"]).iter().any(|wait| text(wait, &["reason"]) == Some(reason))
        };
        let begun = told(rollout, "updatedRevision") != first;
        Some(Self {
            asks: begun
                && waits_for("HoldForPerson")
                && !list(rollout, &["status", "pauseConditions"]).is_empty(),
            step: number(rollout, &["status", "currentStepIndex"]).filter(|_| begun),
            completed: begun && told(rollout, "phase") == "Healthy",
            aborted: begun && waits_for("Aborted"),
            measuring: if waits_for("AnalysisError") {
                Measuring::InVain
            } else if waits_for("HoldUntil") || waits_for("AnalysisRunning") || !measures(store) {
                Measuring::Beside
            } else {
                Measuring::Idle
            },
        })
    }
}

fn measures(store: &Store) -> bool {
    store
        .all(Resource::AnalysisRuns)
        .any(|(_, run)| !matches!(analysis_state(run), AnalysisState::Over { .. }))
}

impl Latest {
    fn note(&mut self, timeline: &Timeline, sight: &Sight, now: (Instant, Timestamp)) {
        if self.moments != timeline.moments.len() {
            (self.moments, self.at) = (timeline.moments.len(), now);
        }
        if self.step != sight.step {
            (self.step, self.step_at) = (sight.step, now);
        }
    }

    /// Since when the run stands still though something is measured: a person has to decide, a pod never gets ready, or
    /// every attempt to measure fails.
    fn stands_since(&self, sight: &Sight, now: Instant) -> Option<Timestamp> {
        let long = |since: Instant| now >= since + ONLY_MEASURED;
        let stands = match sight.measuring {
            _ if sight.aborted => false,
            Measuring::Beside => false,
            Measuring::Idle => long(self.at.0),
            Measuring::InVain => long(self.step_at.0),
        };
        stands.then_some(self.at.1)
    }
}

impl Player {
    async fn attend(mut self, attendance: &Attendance) -> Attended {
        let ready = self.get_ready(attendance.limit).await;
        self.cast.order(self.clock.now(), &Order::Pace(attendance.pace));
        let began = self.clock.now();
        let mut agenda: VecDeque<(Instant, Deed)> = {
            let mut agenda = attendance.agenda.clone();
            agenda.sort_by_key(|(after, _)| *after);
            agenda.into_iter().map(|(after, deed)| (Instant::now() + after, deed)).collect()
        };
        let first = self.revision();
        let (over, ended) = if ready && self.change(&attendance.template) {
            self.go_on(attendance, &mut agenda, &first).await
        } else {
            (Over::NeverBegan, self.clock.now())
        };
        self.look_back(over).await;
        let missed = agenda.into_iter().map(|(_, deed)| deed).collect();
        Attended { outcome: self.conclude(), began, ended, over, missed }
    }

    /// The set comes up, a controller begins to serve, and the rollout gets healthy. False if that never comes.
    async fn get_ready(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        // Nobody looks at this part, and a controller that did would look at every pod.
        loop {
            self.tend_cast();
            match self.cast.next(self.clock.now()).map(|at| self.clock.instant(at)) {
                Some(next) if next <= until => sleep_until(next).await,
                _ => break,
            }
        }
        loop {
            self.tend();
            let healthy =
                |store: &Store| rollout(store).is_some_and(|(_, it)| told(it, "phase") == "Healthy");
            if self.cluster.with(|server, _| healthy(server.store())) {
                return true;
            }
            if self.nothing_before(until) {
                return false;
            }
            self.step(until).await;
        }
    }

    /// The revision that the set wants.
    fn revision(&self) -> String {
        let key = self.start.set_key();
        self.cluster.with(|server, _| {
            let set = server.store().get(Resource::StatefulSets, &key);
            set.and_then(|set| text(set, &["status", "updateRevision"])).unwrap_or_default().to_owned()
        })
    }

    /// Changes the template. False if that is refused.
    fn change(&mut self, template: &Value) -> bool {
        let patch = Patch::Strategic(json!({"spec": {"template": template}}));
        let act = Act::Patch(Resource::StatefulSets, self.start.set_key(), Part::Whole, patch);
        let answer = self.cluster.with(|server, now| act.send(now, &deed::person(), server));
        if let Err(refusal) = &answer {
            self.stuck.push(format!("the change was refused: {}", refusal.message));
        }
        answer.is_ok()
    }

    async fn go_on(
        &mut self,
        attendance: &Attendance,
        agenda: &mut VecDeque<(Instant, Deed)>,
        first: &str,
    ) -> (Over, Timestamp) {
        let until = Instant::now() + attendance.limit;
        let mut abort_at = attendance.abort_at;
        let mut asked = None;
        let begun = (Instant::now(), self.clock.now());
        let mut latest = Latest { moments: 0, at: begun, step: None, step_at: begun };
        loop {
            self.tend();
            let now = Instant::now();
            let Some(sight) = self.cluster.with(|server, _| Sight::of(server.store(), first)) else {
                return (Over::StandsStill, self.clock.now());
            };
            latest.note(&self.timeline, &sight, (now, self.clock.now()));
            if sight.completed && self.nothing_before(now + SOON) {
                return (Over::Completed, self.clock.now());
            }
            asked = asked.or(Some(now)).filter(|_| sight.asks);
            let approval = asked.map(|since| since + attendance.approve_after);
            let due = if let (Some(at), Some(step)) = (abort_at, sight.step)
                && step >= at
            {
                abort_at = None;
                Some(Deed::Abort)
            } else if agenda.front().is_some_and(|(at, _)| *at <= now) {
                agenda.pop_front().map(|(_, deed)| deed)
            } else {
                approval.filter(|at| *at <= now).map(|_| Deed::Promote)
            };
            if let Some(deed) = due {
                self.carry_out(&Line::Do(deed)).await;
                continue;
            }
            if now >= until {
                return (Over::Unfinished, self.clock.now());
            }
            let awaited = approval.into_iter().chain(agenda.front().map(|(at, _)| *at)).min();
            if let Some(since) = latest.stands_since(&sight, now).filter(|_| awaited.is_none()) {
                return (Over::StandsStill, since);
            }
            if self.nothing_before(until) && (sight.aborted || awaited.is_none()) {
                let over = if sight.aborted { Over::Aborted } else { Over::StandsStill };
                return (over, self.clock.now());
            }
            self.step(awaited.map_or(until, |at| at.min(until))).await;
        }
    }

    /// Nothing is under way, and nothing is due before then.
    fn nothing_before(&self, then: Instant) -> bool {
        self.next().is_none_or(|next| next > then) && self.controllers.iter().all(|it| it.is_quiet(then))
    }

    /// It is over: what is said must be true, and nothing is written any more.
    async fn look_back(&mut self, over: Over) {
        let judge = self.judge.clone();
        self.cluster.with(|server, now| match over {
            Over::Completed | Over::Aborted => judge.at_the_end(now, server.store()),
            Over::StandsStill => judge.at_rest(now, server.store()),
            Over::Unfinished | Over::NeverBegan => {}
        });
        if over == Over::Unfinished {
            return;
        }
        let writes = self.writes();
        self.pass(AFTERMATH).await;
        if self.writes() > writes {
            let more = self.writes() - writes;
            self.judge.find(self.clock.now(), "rule 7", format!("{more} writes at rest"));
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::script::{Behaviour, Given};
    use crate::timeline::Happening;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Five pods with the steps 20, pause, 60, pause:10m, 100.
    fn attendance() -> Attendance {
        Attendance {
            template: json!({"spec": {"containers": [{"name": "app", "image": "app:v2"}]}}),
            pace: Pace { start: SignedDuration::from_secs(5), stop: SignedDuration::from_secs(2) },
            approve_after: 5 * MINUTE,
            abort_at: None,
            agenda: Vec::new(),
            limit: 600 * MINUTE,
        }
    }

    fn played(attendance: &Attendance) -> Attended {
        let attended = attend(Start::from(&Given::default()), attendance).unwrap();
        assert_eq!(attended.outcome.violations, [], "nothing is broken");
        attended
    }

    /// When a line was played, in seconds after the change.
    fn lines(attended: &Attended) -> Vec<(i64, String)> {
        let line = |moment: &crate::timeline::Moment| match &moment.what {
            Happening::Line { text } => {
                Some((moment.at.duration_since(attended.began).as_secs(), text.clone()))
            }
            _ => None,
        };
        attended.outcome.timeline.moments.iter().filter_map(line).collect()
    }

    #[test]
    fn a_hold_for_a_person_is_promoted_after_its_time_and_pods_take_theirs() {
        let attended = played(&attendance());
        assert_eq!(attended.over, Over::Completed);
        // One pod of 7 s, 5 minutes until somebody promotes.
        assert_eq!(lines(&attended), [(307, "promote".to_owned())]);
        // Five pods, one after the other, and both pauses.
        assert_eq!(attended.ended.duration_since(attended.began).as_secs(), 5 * 7 + 300 + 600);
    }

    #[test]
    fn a_promotion_may_come_at_once() {
        let attended = played(&Attendance { approve_after: Duration::ZERO, ..attendance() });
        assert_eq!((attended.over, lines(&attended)), (Over::Completed, vec![(7, "promote".to_owned())]));
    }

    #[test]
    fn a_person_aborts_when_the_step_is_reached() {
        let attended = played(&Attendance { abort_at: Some(3), ..attendance() });
        assert_eq!(attended.over, Over::Aborted);
        assert_eq!(lines(&attended).last(), Some(&(307 + 14, "abort".to_owned())));
    }

    #[test]
    fn a_run_whose_pod_never_gets_ready_stands_still() {
        let agenda = vec![(Duration::ZERO, Deed::Pod("web-4".to_owned(), Behaviour::Never))];
        let attended = played(&Attendance { agenda, ..attendance() });
        assert_eq!(attended.over, Over::StandsStill);
    }

    #[test]
    fn a_pod_that_behaves_again_later_lets_the_run_go_on() {
        let befalls = |after, behaviour| (after, Deed::Pod("web-4".to_owned(), behaviour));
        let agenda = vec![befalls(30 * MINUTE, Behaviour::Well), befalls(Duration::ZERO, Behaviour::Crash)];
        let attended = played(&Attendance { agenda, ..attendance() });
        assert_eq!(attended.over, Over::Completed);
        assert!(attended.ended.duration_since(attended.began) > SignedDuration::from_mins(30 + 5 + 10));
    }

    #[test]
    fn what_would_befall_a_pod_after_the_end_is_not_waited_for() {
        let late = Deed::Pod("web-4".to_owned(), Behaviour::Crash);
        let agenda = vec![(300 * MINUTE, late.clone())];
        let attended = played(&Attendance { agenda, ..attendance() });
        assert_eq!((attended.over, attended.missed), (Over::Completed, vec![late]));
    }

    #[test]
    fn a_run_is_left_at_the_limit() {
        let attended = played(&Attendance { limit: MINUTE, ..attendance() });
        assert_eq!(attended.over, Over::Unfinished);
        assert_eq!(attended.ended.duration_since(attended.began), SignedDuration::from_mins(1));
    }

    #[test]
    fn a_rollout_that_is_paused_by_a_person_never_begins() {
        let mut start = Start::from(&Given::default());
        start.rollout["spec"]["paused"] = json!(true);
        let attended = attend(start, &attendance()).unwrap();
        assert_eq!(attended.over, Over::NeverBegan);
    }
}
