//! Scripts: what a simulated cluster starts with, and what happens to it, line by line. A seed is turned into a script,
//! a failing script is made smaller, and scripts that are worth keeping live in `tests/scenarios`. The same text runs on
//! a real control plane, faults aside.

mod checks;
mod read;

use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;
use windlass_workloads::Holder;

use crate::readings::Sample;

pub use checks::{GivenBackground, GivenCheck, GivenMetric, Policy};
pub use read::ScriptError;

/// What a cluster starts with, and what happens to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// What it starts with.
    pub given: Given,
    /// What happens, in this order.
    pub lines: Vec<Line>,
}

/// A StatefulSet and its rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// How many pods.
    pub pods: u32,
    /// Their image.
    pub image: String,
    /// All at once, or one after the other.
    pub parallel: bool,
    /// How long a pod has to be ready before it counts as available.
    pub min_ready: Duration,
    /// The number of the first pod.
    pub first_ordinal: u32,
    /// Pods are only replaced when somebody deletes them.
    pub on_delete: bool,
    /// Whether the rollout is there from the start.
    pub managed: bool,
    /// The steps of the rollout.
    pub steps: Vec<GivenStep>,
    /// What is measured beside the steps.
    pub background: Option<GivenBackground>,
    /// How metrics are measured and judged; those that are not named are measured as usual.
    pub metrics: Vec<GivenMetric>,
    /// How many good and other analyses are kept, where that is said.
    pub kept: Option<(u32, u32)>,
    /// How long there may be no progress, and whether the run is aborted then.
    pub deadline: Option<(Duration, Overdue)>,
    /// What holds a new template.
    pub holder: Holder,
    /// How many nodes.
    pub nodes: u32,
    /// The seed of delays and order; none for a cluster that is never late.
    pub seed: Option<u64>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenStep {
    /// So many percent.
    Weight(u32),
    /// A hold for a person.
    Pause,
    /// A hold for a time.
    PauseFor(Duration),
    /// A check that has to pass.
    Check(GivenCheck),
}

/// What happens when the deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// It is told.
    Told,
    /// The run is aborted.
    Aborted,
}

/// One line of what happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// Waits until something is so.
    Wait(Condition),
    /// Lets time pass.
    Pass(Duration),
    /// Somebody does something.
    Do(Deed),
    /// Something breaks.
    Break(Fault),
}

/// Something to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The rollout is in this phase.
    Phase(String),
    /// So many steps are done.
    Step(u32),
    /// The rollout names this reason for waiting.
    Reason(String),
    /// So many pods are on the wanted revision.
    Updated(u32),
    /// So many pods are there and ready.
    Ready(u32),
    /// So many pods are there, ready or not, and none is going.
    Pods(u32),
    /// An event of this reason was told about the rollout.
    Told(String),
    /// The latest analysis is in this phase.
    Analysis(String),
    /// The latest analysis has measured so many times.
    Measured(u32),
    /// There are so many analyses.
    Analyses(u32),
    /// There is no rollout any more.
    NoRollout,
    /// Nothing happens any more until time has passed.
    Quiet,
}

/// What people and tools do.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// Another image: a new template.
    Image(String),
    /// Another number of pods.
    Scale(u32),
    /// Go on from the pause.
    Promote,
    /// Skip everything that remains.
    PromoteFull,
    /// Put everything back.
    Abort,
    /// Take up an aborted run.
    Restart,
    /// Hold everything.
    Pause,
    /// Let go.
    Resume,
    /// Other steps; none is a wrong spec.
    Steps(Vec<GivenStep>),
    /// Another check beside the steps, or none.
    Background(Option<GivenBackground>),
    /// No strategy at all: a wrong spec.
    NoStrategy,
    /// Another plugin, perhaps one that does not exist.
    Plugin(String),
    /// The workload is looked for in this namespace.
    WorkloadNamespace(String),
    /// Delete a pod.
    DeletePod(String),
    /// Ask a pod to go, if its budget allows.
    EvictPod(String),
    /// Delete the set.
    DeleteSet,
    /// Delete the rollout.
    DeleteRollout,
    /// Make the rollout again.
    CreateRollout,
    /// Make a second rollout for the same workload.
    SecondRollout,
    /// Another hand on the partition.
    Partition(i64),
    /// A tool puts the set's manifest of the start back, image and partition 0 included.
    Reapply,
    /// No more than so many pods in the namespace; none lifts the quota.
    Quota(Option<u32>),
    /// What the kubelet does with the pod of this name from now on.
    Pod(String, Behaviour),
    /// A node is lost, or comes back.
    Node(String, NodeState),
    /// The admission policies are taken away, or put back.
    Policies(bool),
    /// What a metric says from now on.
    Metric(String, Sample),
    /// Take the template of a metric away.
    DeleteTemplate(String),
    /// Put it back.
    CreateTemplate(String),
    /// Delete the latest analysis.
    DeleteAnalysis,
    /// Ask the latest analysis to end.
    TerminateAnalysis,
}

/// How a pod behaves, whatever its image says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// As its image says.
    Well,
    /// It never gets ready.
    Never,
    /// It crashes again and again.
    Crash,
    /// It gets unready for a moment.
    Flap,
    /// It is evicted: it fails and stays.
    Fail,
    /// It takes this long to get ready.
    Slow(Duration),
}

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Its kubelet is silent.
    Lost,
    /// It is back.
    Back,
}

/// What breaks. Requests are counted from the line on; the first is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The controller ends right before its n-th request.
    CrashBefore(u32),
    /// The controller ends right after its n-th request was done.
    CrashAfter(u32),
    /// The n-th request is done, but its answer never comes.
    Lose(u32),
    /// The n-th request is not done, and answered with this code.
    Refuse(u32, u16),
    /// The n-th request is not done, and not answered.
    Hang(u32),
    /// The n-th request is done, but its answer takes so long.
    Slow(u32, Duration),
    /// Every change reaches the controller late, for as long as it says.
    Late(Duration, Duration),
    /// The watches end, and everything is listed again.
    Relist,
    /// The latest changes come once more.
    Repeat,
    /// The controller is stopped for so long; another takes over when its lease has run out, and then it goes on.
    Stop(Duration),
    /// The controller's clock is moved by so many seconds.
    Clock(i64),
}

/// A duration as scripts write it.
struct Written(Duration);

impl fmt::Display for Written {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let duration = SignedDuration::try_from(self.0).unwrap_or(SignedDuration::MAX);
        let text = format!("{duration:#}");
        out.write_str(&text.replace(' ', ""))
    }
}

impl fmt::Display for Script {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.given)?;
        self.lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}

impl fmt::Display for Given {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "given pods {}", self.pods)?;
        writeln!(out, "given image {}", self.image)?;
        writeln!(out, "given steps {}", Steps(&self.steps))?;
        if self.parallel {
            writeln!(out, "given parallel")?;
        }
        if !self.min_ready.is_zero() {
            writeln!(out, "given min-ready {}", Written(self.min_ready))?;
        }
        if self.first_ordinal > 0 {
            writeln!(out, "given first-ordinal {}", self.first_ordinal)?;
        }
        if self.on_delete {
            writeln!(out, "given on-delete")?;
        }
        if !self.managed {
            writeln!(out, "given no rollout")?;
        }
        if let Some(background) = &self.background {
            writeln!(out, "given background {background}")?;
        }
        self.metrics.iter().try_for_each(|metric| writeln!(out, "given metric {metric}"))?;
        if let Some((good, other)) = self.kept {
            writeln!(out, "given kept {good} {other}")?;
        }
        if let Some((limit, overdue)) = self.deadline {
            let then = match overdue {
                Overdue::Told => "",
                Overdue::Aborted => " abort",
            };
            writeln!(out, "given deadline {}{then}", Written(limit))?;
        }
        if self.holder == Holder::Partition {
            writeln!(out, "given hold partition")?;
        }
        if self.nodes != Self::default().nodes {
            writeln!(out, "given nodes {}", self.nodes)?;
        }
        self.seed.map_or(Ok(()), |seed| writeln!(out, "given seed {seed}"))
    }
}

impl Default for Given {
    fn default() -> Self {
        Self {
            pods: 5,
            image: "app:v1".to_owned(),
            parallel: false,
            min_ready: Duration::ZERO,
            first_ordinal: 0,
            on_delete: false,
            managed: true,
            steps: vec![
                GivenStep::Weight(20),
                GivenStep::Pause,
                GivenStep::Weight(60),
                GivenStep::PauseFor(Duration::from_secs(600)),
                GivenStep::Weight(100),
            ],
            background: None,
            metrics: Vec::new(),
            kept: None,
            deadline: None,
            holder: Holder::Policy,
            nodes: 3,
            seed: None,
        }
    }
}

struct Steps<'a>(&'a [GivenStep]);

impl fmt::Display for Steps<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            if index > 0 {
                out.write_str(" ")?;
            }
            match step {
                GivenStep::Weight(weight) => write!(out, "{weight}")?,
                GivenStep::Pause => out.write_str("pause")?,
                GivenStep::PauseFor(time) => write!(out, "pause:{}", Written(*time))?,
                GivenStep::Check(check) => write!(out, "check:{check}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait(condition) => write!(out, "wait {condition}"),
            Self::Pass(time) => write!(out, "pass {}", Written(*time)),
            Self::Do(deed) => write!(out, "{deed}"),
            Self::Break(fault) => write!(out, "{fault}"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phase(phase) => write!(out, "phase {phase}"),
            Self::Step(step) => write!(out, "step {step}"),
            Self::Reason(reason) => write!(out, "reason {reason}"),
            Self::Updated(count) => write!(out, "updated {count}"),
            Self::Ready(count) => write!(out, "ready {count}"),
            Self::Pods(count) => write!(out, "pods {count}"),
            Self::Told(reason) => write!(out, "told {reason}"),
            Self::Analysis(phase) => write!(out, "analysis {phase}"),
            Self::Measured(count) => write!(out, "measured {count}"),
            Self::Analyses(count) => write!(out, "analyses {count}"),
            Self::NoRollout => out.write_str("no rollout"),
            Self::Quiet => out.write_str("quiet"),
        }
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(image) => write!(out, "image {image}"),
            Self::Scale(pods) => write!(out, "scale {pods}"),
            Self::Promote => out.write_str("promote"),
            Self::PromoteFull => out.write_str("promote full"),
            Self::Abort => out.write_str("abort"),
            Self::Restart => out.write_str("restart"),
            Self::Pause => out.write_str("pause"),
            Self::Resume => out.write_str("resume"),
            Self::Steps(steps) if steps.is_empty() => out.write_str("no steps"),
            Self::Steps(steps) => write!(out, "steps {}", Steps(steps)),
            Self::NoStrategy => out.write_str("no strategy"),
            Self::Plugin(name) => write!(out, "plugin {name}"),
            Self::WorkloadNamespace(namespace) => write!(out, "workload-namespace {namespace}"),
            Self::DeletePod(pod) => write!(out, "delete pod {pod}"),
            Self::EvictPod(pod) => write!(out, "evict pod {pod}"),
            Self::DeleteRollout => out.write_str("delete rollout"),
            Self::CreateRollout => out.write_str("create rollout"),
            Self::SecondRollout => out.write_str("create second rollout"),
            Self::Partition(partition) => write!(out, "partition {partition}"),
            Self::Reapply => out.write_str("reapply"),
            Self::Quota(Some(pods)) => write!(out, "quota {pods}"),
            Self::Quota(None) => out.write_str("quota off"),
            Self::Pod(pod, behaviour) => write!(out, "pod {pod} {behaviour}"),
            Self::Node(node, NodeState::Lost) => write!(out, "node {node} lost"),
            Self::Node(node, NodeState::Back) => write!(out, "node {node} back"),
            Self::Policies(true) => out.write_str("policies on"),
            Self::Policies(false) => out.write_str("policies off"),
            Self::Metric(metric, sample) => {
                write!(out, "metric {metric}")?;
                sample.says.iter().try_for_each(|says| write!(out, " {says}"))?;
                if sample.after.is_zero() { Ok(()) } else { write!(out, " after {}", Written(sample.after)) }
            }
            Self::DeleteTemplate(metric) => write!(out, "delete template {metric}"),
            Self::CreateTemplate(metric) => write!(out, "create template {metric}"),
            Self::Background(Some(background)) => write!(out, "background {background}"),
            Self::Background(None) => out.write_str("no background"),
            Self::DeleteSet => out.write_str("delete set"),
            Self::DeleteAnalysis => out.write_str("delete analysis"),
            Self::TerminateAnalysis => out.write_str("terminate analysis"),
        }
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => out.write_str("well"),
            Self::Never => out.write_str("never"),
            Self::Crash => out.write_str("crash"),
            Self::Flap => out.write_str("flap"),
            Self::Fail => out.write_str("fail"),
            Self::Slow(time) => write!(out, "slow {}", Written(*time)),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CrashBefore(number) => write!(out, "fault crash-before {number}"),
            Self::CrashAfter(number) => write!(out, "fault crash-after {number}"),
            Self::Lose(number) => write!(out, "fault lose {number}"),
            Self::Refuse(number, code) => write!(out, "fault refuse {number} {code}"),
            Self::Hang(number) => write!(out, "fault hang {number}"),
            Self::Slow(number, time) => write!(out, "fault slow {number} {}", Written(*time)),
            Self::Late(by, time) => write!(out, "fault late {} {}", Written(*by), Written(*time)),
            Self::Relist => out.write_str("fault relist"),
            Self::Repeat => out.write_str("fault repeat"),
            Self::Stop(time) => write!(out, "fault stop {}", Written(*time)),
            Self::Clock(seconds) => write!(out, "fault clock {seconds}"),
        }
    }
}

impl Fault {
    /// Its kind, for counting.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CrashBefore(_) => "crash before",
            Self::CrashAfter(_) => "crash after",
            Self::Lose(_) => "answer lost",
            Self::Refuse(_, 409) => "409",
            Self::Refuse(_, 429) => "429",
            Self::Refuse(_, 500) => "500",
            Self::Refuse(_, 503) => "503",
            Self::Refuse(..) => "other refusal",
            Self::Hang(_) => "no answer",
            Self::Slow(..) => "slow answer",
            Self::Late(..) => "late watch",
            Self::Relist => "watch lost",
            Self::Repeat => "event repeated",
            Self::Stop(_) => "leader stopped",
            Self::Clock(_) => "clock step",
        }
    }
}
