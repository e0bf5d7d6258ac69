//! `simulate`: plays a rollout of the files in a cluster in memory, and says what happened and whether it went well.
//!
//! `setting` turns files and flags into a play, `metrics` what is measured in it; the simulator plays it; `story` is what happened, told from the change
//! of the template on, `analyses` those of it; `verdict` judges it; `text`, `picture` and `svg` show it. All of them are pure.

mod analyses;
mod axis;
mod metrics;
mod picture;
mod setting;
mod story;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod verdict;

use std::process::ExitCode;

use serde::Serialize;

use self::setting::Setting;
use self::story::Story;
use self::verdict::Verdict;
use crate::cli::{Connection, Output, SimulateArguments, SimulateOutput};
use crate::failure::Failure;
use crate::files::Manifests;
use crate::kubectl::{Terminal, serialised};
use crate::plan;

/// Plays the rollout and prints what came of it. The exit code says whether it ended well.
pub(crate) fn run(connection: &Connection, arguments: &SimulateArguments) -> Result<ExitCode, Failure> {
    let manifests = plan::manifests(&arguments.files, arguments.recursive)?;
    let simulated = simulate(&manifests, plan::namespace(connection), arguments)?;
    let terminal = Terminal::new();
    match terminal.print(&simulated.shown(arguments.output, terminal.columns())?) {
        Err(Failure::PipeClosed) | Ok(()) => {}
        Err(failure) => return Err(failure),
    }
    Ok(if simulated.verdict.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A run that was played, and what is to be said of it.
#[derive(Serialize)]
struct Simulated {
    #[serde(flatten)]
    verdict: Verdict,
    #[serde(flatten)]
    story: Story,
}

fn simulate(
    manifests: &Manifests,
    namespace: &str,
    arguments: &SimulateArguments,
) -> Result<Simulated, Failure> {
    let setting = Setting::of(manifests, namespace, arguments)?;
    let attended = windlass_sim::attend(setting.start.clone(), &setting.attendance)
        .map_err(|error| Failure::Refused(format!("cannot start the simulation: {error}")))?;
    let story = Story::of(&setting, &attended);
    let verdict = Verdict::on(&story, &attended, arguments);
    Ok(Simulated { verdict, story })
}

impl Simulated {
    fn shown(&self, output: SimulateOutput, columns: usize) -> Result<String, Failure> {
        match output {
            SimulateOutput::Text => Ok(text::text(&self.story, &self.verdict, columns)),
            SimulateOutput::Svg => Ok(svg::svg(&self.story, &self.verdict)),
            SimulateOutput::Json => serialised(self, Output::Json),
        }
    }
}
