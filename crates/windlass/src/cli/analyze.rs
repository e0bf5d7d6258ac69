//! The flags of `analyze`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const HELP: &str = "\
Takes every AnalysisTemplate, ClusterAnalysisTemplate and AnalysisRun of the files, fills in the arguments, asks each \
metric once, and says what its value is, what the conditions make of it, and why. Limits and counts play no part: there \
is one measurement. Templates that others in the files refer to are measured as part of those. Nothing is written, and no \
cluster is asked: metrics of the providers job and kubernetes are left out. Secrets are shown as *****.

Examples:
  windlass analyze -f template.yaml --arg service=db
  windlass analyze -f template.yaml --metric error-rate -o json
  windlass analyze -f template.yaml --secret prometheus/token=@token.txt   (key token of the Secret prometheus)
  windlass analyze -f lag.yaml --pod db-0 --pod db-1                       (a metric with forEachPod)
  kubectl get analysistemplate -o yaml | windlass analyze -f -

Exit codes: 0 every value is good; 1 a value is bad, or there is none, or the files are wrong; 2 of a value nobody can \
tell (Inconclusive), or the command line is wrong. Metrics that are in dryRun decide nothing";

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArguments {
    /// A file or folder with manifests, - for standard input; repeat it for several
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Look into the folders of folders too
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// The value of an argument, wherever the template would take it from; repeat it for several
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = pair)]
    pub(crate) arguments: Vec<(String, String)>,
    /// A key of a Secret, for arguments and for providers that read one; @FILE takes the value from a file
    #[arg(long = "secret", value_name = "NAME/KEY=VALUE", value_parser = secret)]
    pub(crate) secrets: Vec<SecretValue>,
    /// A pod that a metric with forEachPod is asked for; repeat it for several
    #[arg(long = "pod", value_name = "NAME")]
    pub(crate) pods: Vec<String>,
    /// Only this metric, by the name that is printed; repeat it for several
    #[arg(long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// How the result is printed
    #[arg(short, long, value_enum, default_value_t = AnalyzeOutput::Text)]
    pub(crate) output: AnalyzeOutput,
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnalyzeOutput {
    /// For a terminal
    Text,
    /// For a program
    Json,
}

/// A key of a Secret, and its value as it was given.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretValue {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) value: String,
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.name, self.key)
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected name=value, such as service=db".to_owned()),
    }
}

fn secret(text: &str) -> Result<SecretValue, String> {
    let read = || {
        let (place, value) = text.split_once('=')?;
        let (name, key) = place.split_once('/').filter(|(name, key)| !name.is_empty() && !key.is_empty())?;
        Some(SecretValue { name: name.to_owned(), key: key.to_owned(), value: value.to_owned() })
    };
    read().ok_or_else(|| {
        "expected name/key=value or name/key=@file, such as prometheus/token=@token.txt".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_has_a_name_and_a_value() {
        assert_eq!(pair("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(pair("a="), Ok(("a".to_owned(), String::new())));
        assert!(pair("a").is_err() && pair("=b").is_err());
    }

    #[test]
    fn a_secret_has_a_name_a_key_and_a_value_that_is_not_shown() {
        let read = secret("db/password=a=b/c").unwrap();
        assert_eq!((read.name.as_str(), read.key.as_str(), read.value.as_str()), ("db", "password", "a=b/c"));
        assert_eq!(format!("{read:?}"), "db/password");
        assert!(secret("db=a").is_err() && secret("/a=b").is_err() && secret("a/=b").is_err());
    }
}
