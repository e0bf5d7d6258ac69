//! `windlass demo`: a canary, and a bad version that an analysis catches and reverts, for somebody who has nothing but this
//! program. `story` is what happens, `player` plays it on any cluster, `screen` shows it; the cluster is in memory
//! (`embedded`), or the testbed's real control plane (`real`).

mod embedded;
mod player;
mod real;
mod screen;
mod story;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use windlass_controller::{Clock, WallClock};
use windlass_sim::VirtualClock;

use self::embedded::Embedded;
use self::real::Real;
use self::screen::Screen;
use self::story::STORY;
use crate::cli::DemoArguments;
use crate::connect::Connected;
use crate::controller::stop_signal;
use crate::failure::Failure;
use crate::kubectl::Reach;

/// A cluster for the story, with the controller in it.
enum Stage {
    Embedded(Embedded),
    Real(Box<Real>),
}

impl Stage {
    /// A client of a person.
    fn client(&self) -> kube::Client {
        match self {
            Self::Embedded(embedded) => embedded.client(),
            Self::Real(real) => real.client(),
        }
    }

    /// Why the cluster ended, which it should not.
    async fn ended(&mut self) -> Failure {
        match self {
            Self::Embedded(embedded) => embedded.ended().await,
            Self::Real(real) => real.ended().await,
        }
    }

    /// A kubeconfig by which others reach it.
    async fn open(&mut self) -> Result<PathBuf, Failure> {
        match self {
            Self::Embedded(embedded) => embedded.open().await,
            Self::Real(real) => Ok(real.door().to_owned()),
        }
    }
}

/// Shows the demo.
pub(crate) fn run(arguments: &DemoArguments) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(arguments.instant)
        .build()
        .map_err(|error| Failure::Refused(format!("cannot start the runtime: {error}")))?;
    let shown = runtime.block_on(async {
        let stop = stop_signal()?;
        // Whatever was started ends with the demo, however that ends.
        tokio::select! {
            shown = demo(arguments) => shown,
            () = stop => Ok(()),
        }
    });
    match shown {
        Ok(()) | Err(Failure::PipeClosed) => Ok(ExitCode::SUCCESS),
        Err(failure) => Err(failure),
    }
}

async fn demo(arguments: &DemoArguments) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> =
        if arguments.instant { Arc::new(VirtualClock::start()) } else { Arc::new(WallClock) };
    let mut stage = if arguments.real {
        Stage::Real(Box::new(Real::start().await?))
    } else {
        Stage::Embedded(Embedded::start(&clock)?)
    };
    let reach = Reach::new(Connected { client: stage.client(), namespace: player::NAMESPACE.to_owned() });
    let mut screen = Screen::new(STORY.len(), arguments.instant)?;
    tokio::select! {
        played = player::play(&reach, clock.as_ref(), &mut screen, &STORY) => played?,
        failure = stage.ended() => return Err(failure),
    }
    screen.close(clock.now())?;
    if arguments.stay {
        screen.say(&invitation(&stage.open().await?))?;
        return Err(stage.ended().await);
    }
    screen.say(&farewell(arguments.real))
}

/// What a person can do now.
fn invitation(kubeconfig: &std::path::Path) -> String {
    let windlass = called();
    format!(
        "
The cluster stays until Ctrl-C. In another terminal:

  export KUBECONFIG={}
  kubectl set image sts/db db=app:v4-slow
  kubectl windlass get db --watch
  kubectl windlass promote db
  kubectl windlass abort db

`kubectl windlass` is this program: without kubectl, say {windlass} get db.
Images that end in -slow, -never, -crash, -pull, -flaky or -sticky do what they say.
",
        kubeconfig.display()
    )
}

/// This program, as it was called.
fn called() -> String {
    std::env::args().next().unwrap_or_else(|| "windlass".to_owned())
}

fn farewell(real: bool) -> String {
    let played = if real {
        "That was a real control plane; only the kubelets were played, by kwok."
    } else {
        "That was the real controller in a cluster in memory."
    };
    let windlass = called();
    format!(
        "
{played} What would you like next?

  the same, and then it is yours      {windlass} demo --stay
  what your own rollout would do      {windlass} plan -f web.yaml
  your first rollout, step by step    docs/getting-started.md
"
    )
}
