//! `get`: one rollout, drawn or printed, once or at every change.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::follow::Follow;
use super::picture::Picture;
use super::reach::Reach;
use super::render;
use super::terminal::Terminal;
use crate::cli::Output;
use crate::failure::Failure;

/// Ages move on the screen this often, as long as somebody looks at it.
const AGES: Duration = Duration::from_secs(1);

/// Shows one rollout.
pub(super) async fn get(
    reach: &Reach,
    name: &str,
    watch: bool,
    output: Option<Output>,
) -> Result<ExitCode, Failure> {
    let wide = output == Some(Output::Wide);
    match output {
        Some(Output::Json | Output::Yaml | Output::Name) if watch => {
            return Err(Failure::Refused("--watch draws the tree; leave out -o, or say -o wide".to_owned()));
        }
        Some(output @ (Output::Json | Output::Yaml | Output::Name)) => {
            let mut document = reach.document(name).await?;
            document.metadata.managed_fields = None;
            let text = match output {
                Output::Name => format!("rolloutplugin.argoproj.io/{name}\n"),
                output => serialised(&document, output)?,
            };
            Terminal::new().print(&text)?;
        }
        Some(Output::Wide) | None if watch => live(reach, name, wide).await?,
        Some(Output::Wide) | None => {
            let picture = reach.picture(name).await?;
            let terminal = Terminal::new();
            terminal.print(&render::get_within(Timestamp::now(), &picture, wide, terminal.columns()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A resource as JSON or YAML.
pub(crate) fn serialised(object: &impl Serialize, output: Output) -> Result<String, Failure> {
    match output {
        Output::Yaml => windlass_api::to_yaml(object).map_err(|error| Failure::Output(error.to_string())),
        _ => serde_json::to_string_pretty(object)
            .map(|text| format!("{text}\n"))
            .map_err(|error| Failure::Output(error.to_string())),
    }
}

/// Draws at every change, until interrupted.
async fn live(reach: &Reach, name: &str, wide: bool) -> Result<(), Failure> {
    // A name that is wrong is said at once.
    reach.rollout(name).await?;
    let mut terminal = Terminal::new();
    let mut follow = Follow::new(reach, name, true);
    let mut shown: Option<Picture> = None;
    let mut drawn = String::new();
    let mut ages = tokio::time::interval(AGES);
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    loop {
        tokio::select! {
            heard = &mut interrupted => {
                return heard.map_err(|error| Failure::Refused(format!("cannot listen for signals: {error}")));
            }
            picture = follow.next() => shown = Some(picture?),
            _ = ages.tick(), if terminal.is_terminal() && shown.is_some() => {}
        }
        let Some(picture) = &shown else { continue };
        let text = render::get_within(Timestamp::now(), picture, wide, terminal.columns());
        if text != drawn {
            terminal.draw(&text)?;
            drawn = text;
        }
    }
}
