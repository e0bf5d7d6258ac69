//! The definitions as they are installed, in full: a change of one is a change for every user.

use windlass_api::{crds, definition_yaml};

#[test]
fn each_definition_is_the_one_that_was_reviewed() {
    for crd in crds() {
        insta::assert_snapshot!(crd.spec.names.plural.clone(), definition_yaml(&crd).unwrap());
    }
}

#[test]
fn the_first_columns_are_upstreams() {
    let crd = &crds()[0];
    let columns: Vec<&str> = crd.spec.versions[0]
        .additional_printer_columns
        .as_ref()
        .unwrap()
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(columns, ["Status", "Plugin", "Age", "Step", "Updated", "Ready", "Message"]);
}
