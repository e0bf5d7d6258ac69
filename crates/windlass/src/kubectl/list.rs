//! `list`: all rollouts of a namespace, or of all.

use std::process::ExitCode;

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::json;
use windlass_api::rollout_plugin::RolloutPlugin;

use super::get::serialised;
use super::picture::Rolling;
use super::reach::Reach;
use super::render;
use super::terminal::Terminal;
use crate::cli::Output;
use crate::failure::Failure;

/// Lists rollouts.
pub(super) async fn list(
    reach: &Reach,
    all_namespaces: bool,
    output: Option<Output>,
) -> Result<ExitCode, Failure> {
    let mut documents = reach.list(all_namespaces).await?;
    for document in &mut documents {
        document.metadata.managed_fields = None;
    }
    let terminal = Terminal::new();
    match output {
        Some(output @ (Output::Json | Output::Yaml)) => {
            let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": documents});
            terminal.print(&serialised(&list, output)?)?;
        }
        _ if documents.is_empty() => Terminal::warn(&nothing(reach, all_namespaces)),
        Some(Output::Name) => {
            let names: Result<Vec<_>, _> =
                documents.into_iter().map(|document| rollout(document).map(|found| found.spoken())).collect();
            terminal.print(&format!(
                "{}
",
                names?.join(
                    "
"
                )
            ))?;
        }
        Some(Output::Wide) | None => {
            let rollouts: Result<Vec<_>, _> = documents.into_iter().map(rollout).collect();
            let wide = output == Some(Output::Wide);
            terminal.print(&render::list(Timestamp::now(), &rollouts?, all_namespaces, wide))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(reach: &Reach, all_namespaces: bool) -> String {
    if all_namespaces {
        "No rollouts in any namespace".to_owned()
    } else {
        format!("No rollouts in namespace {}", reach.namespace)
    }
}

fn rollout(document: DynamicObject) -> Result<RolloutPlugin, Failure> {
    let name = document.metadata.name.clone().unwrap_or_default();
    document.try_parse().map_err(|error| Failure::Output(format!("rollout {name} cannot be read: {error}")))
}
