//! The examples of the documentation are settings that the providers take.

use serde_json::{Value as Json, json};
use windlass_analysis::providers;

const TEXT: &str = include_str!("../../../../docs/providers.md");

/// Every provider in an example, by name.
fn collect<'a>(example: &'a Json, found: &mut Vec<(&'a str, &'a Json)>) {
    match example {
        Json::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value.as_object()) {
                    ("provider", Some(provider)) => {
                        found.extend(provider.iter().map(|(name, settings)| (name.as_str(), settings)));
                    }
                    _ => collect(value, found),
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

#[test]
fn every_example_is_taken() {
    let mut names = Vec::new();
    for block in TEXT.split("```yaml\n").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        let examples: Vec<Json> =
            serde_saphyr::from_multiple(block).unwrap_or_else(|error| panic!("{error}: {block}"));
        let mut found = Vec::new();
        for example in &examples {
            collect(example, &mut found);
        }
        for (name, settings) in found {
            let read = providers::read("provider", &json!({name: settings}));
            assert_eq!(read.err(), None, "{block}");
            names.push(name.to_owned());
        }
    }
    let expected = [
        "prometheus",
        "web",
        "job",
        "kubernetes",
        "kubernetes",
        "kubernetes",
        "kubernetes",
        "datadog",
        "newRelic",
        "cloudWatch",
        "graphite",
        "influxdb",
    ];
    assert_eq!(names, expected);
}
