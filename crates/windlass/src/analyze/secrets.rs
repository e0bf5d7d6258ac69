//! Secrets that were given on the command line or in files, in place of those of a cluster.

use std::collections::BTreeMap;

use crate::cli::SecretValue;
use crate::failure::Failure;

/// Secrets by name, each with its keys.
#[derive(Clone, Default)]
pub(crate) struct Secrets(BTreeMap<String, BTreeMap<String, String>>);

impl Secrets {
    /// Those that were given; `@file` is read, without the line break at its end.
    pub(crate) fn read(given: &[SecretValue]) -> Result<Self, Failure> {
        let mut all: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for SecretValue { name, key, value } in given {
            let value = match value.strip_prefix('@') {
                None => value.clone(),
                Some(path) => std::fs::read_to_string(path)
                    .map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
                    .map_err(|error| {
                        Failure::Refused(format!("cannot read {path} for {name}/{key}: {error}"))
                    })?,
            };
            all.entry(name.clone()).or_default().insert(key.clone(), value);
        }
        Ok(Self(all))
    }

    /// One key.
    pub(crate) fn key(&self, name: &str, key: &str) -> Option<&str> {
        self.0.get(name)?.get(key).map(String::as_str)
    }

    /// A whole Secret.
    pub(crate) fn whole(&self, name: &str) -> BTreeMap<String, String> {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// Every value.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        self.0.values().flat_map(BTreeMap::values).map(String::as_str)
    }
}
