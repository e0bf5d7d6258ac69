//! The figures as a table, each with its bound and what peers need for the same work.

use std::fmt::Write;

/// What was found.
pub(crate) struct Report {
    machine: Vec<(String, String)>,
    rows: Vec<Row>,
}

struct Row {
    what: String,
    found: String,
    bound: String,
    peers: String,
    good: bool,
}

impl Report {
    pub(crate) fn new(machine: Vec<(String, String)>) -> Self {
        Self { machine, rows: Vec::new() }
    }

    /// Adds a figure: what was measured, what came out, the bound, what peers need, and whether it is within.
    pub(crate) fn add(&mut self, what: &str, found: impl Into<String>, bound: &str, peers: &str, good: bool) {
        let found = found.into();
        let mark = if good { "" } else { "   <- OUT OF BOUNDS" };
        eprintln!("bench: {what}: {found} (bound: {bound}){mark}");
        self.rows.push(Row {
            what: what.to_owned(),
            found,
            bound: bound.to_owned(),
            peers: peers.to_owned(),
            good,
        });
    }

    pub(crate) fn all_good(&self) -> bool {
        self.rows.iter().all(|row| row.good)
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from(
            "# Results\n\nWritten by `make bench`. Counted at the API server (audit log, etcd revisions) and the kernel, never\n\
             inside the program. Peers: what Argo's RolloutPlugin / Kruise Rollouts needed for the same work on the same bed.\n\n\
             | figure | found | bound | peers | |\n|---|---|---|---|---|\n",
        );
        for row in &self.rows {
            let mark = if row.good { "ok" } else { "**out of bounds**" };
            writeln!(text, "| {} | {} | {} | {} | {mark} |", row.what, row.found, row.bound, row.peers)
                .unwrap();
        }
        text.push_str("\n## Machine\n\n| | |\n|---|---|\n");
        for (key, value) in &self.machine {
            writeln!(text, "| {key} | {value} |").unwrap();
        }
        text
    }

    pub(crate) fn save(&self) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md");
        std::fs::write(path, self.markdown()).unwrap();
        eprintln!("bench: kept in bench/RESULTS.md");
    }
}
