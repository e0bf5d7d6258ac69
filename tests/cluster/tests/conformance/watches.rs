//! Watches: each is asked for afterwards, from the version before, and ends by its own timeout.

use serde_json::{Value, json};

use crate::ask::{Case, MERGE, METADATA, TABLE, case, delete, get, patch, post};
use crate::objects::{map, with};

pub(crate) fn cases() -> Vec<Case> {
    let labelled = |name: &str, value: &str| with(map(name, "1"), "/metadata/labels", json!({"app": value}));
    let from = |more: &str| {
        get(&format!("configmaps?watch=true&timeoutSeconds=1&resourceVersion={{first.rv}}{more}"))
    };
    vec![
        case(
            "a watch tells what was written since",
            [
                post("configmaps", map("first", "1")).remember("first"),
                post("configmaps", map("one", "1")),
                patch(MERGE, "configmaps/one", json!({"data": {"a": "2"}})),
                delete("configmaps/one", Value::Null),
                from(""),
                from("&allowWatchBookmarks=true"),
            ],
        ),
        case(
            "a watch without a version starts with what is there",
            [
                post("configmaps", map("one", "1")),
                post("configmaps", map("two", "1")),
                get("configmaps?watch=true&timeoutSeconds=1"),
                get("configmaps?watch=true&timeoutSeconds=1&resourceVersion=0"),
            ],
        ),
        case(
            "a watch can begin with the initial events",
            [
                post("configmaps", map("one", "1")),
                get(
                    "configmaps?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                ),
            ],
        ),
        case(
            "a watch by labels sees objects come and go",
            [
                post("configmaps", labelled("first", "web")).remember("first"),
                post("configmaps", labelled("one", "db")),
                patch(MERGE, "configmaps/one", json!({"metadata": {"labels": {"app": "web"}}})),
                patch(MERGE, "configmaps/first", json!({"metadata": {"labels": {"app": "db"}}})),
                patch(MERGE, "configmaps/first", json!({"data": {"a": "2"}})),
                from("&labelSelector=app%3Dweb"),
            ],
        ),
        case(
            "a watch by name sees one object",
            [
                post("configmaps", map("first", "1")).remember("first"),
                post("configmaps", map("one", "1")),
                post("configmaps", map("two", "1")),
                from("&fieldSelector=metadata.name%3Dtwo"),
            ],
        ),
        case(
            "a watch of metadata and of rows",
            [
                post("configmaps", map("first", "1")).remember("first"),
                post("configmaps", map("one", "1")),
                patch(MERGE, "configmaps/one", json!({"data": {"a": "2"}})),
                from("").accepting(METADATA),
                from("").accepting(TABLE),
            ],
        ),
        case(
            "a watch from a version of long ago is told so",
            [get("configmaps?watch=true&timeoutSeconds=1&resourceVersion=1")],
        ),
    ]
}
