//! The figures of Windlass, counted at the API server of a real control plane: latencies and requests come from its
//! audit log, orders from etcd's revisions, memory from the kernel. Nothing is measured inside the program.
//!
//! Run by `make bench`, which writes `bench/RESULTS.md`. Everything happens on loopback, in bounded numbers, and ends
//! by itself.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a measuring program: a failure ends it, and its output is for people"
)]

mod analyses;
mod fleet;
mod guard;
mod herd;
mod latency;
mod machine;
mod memory;
mod order;
mod report;

use report::Report;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut report = Report::new(machine::describe());
    eprintln!("bench: starting a control plane");
    windlass_bed::bed();
    // `make bench ONLY=latency` measures one part, `ONLY=herd,memory` two, for people at work on them.
    let only = std::env::var("ONLY").ok().filter(|only| !only.is_empty());
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only.split(',').any(|it| it == part));
    if wanted("latency") {
        latency::measure(&mut report).await;
    }
    if wanted("order") {
        order::measure(&mut report).await;
    }
    if wanted("herd") {
        herd::measure(&mut report).await;
    }
    if wanted("memory") {
        memory::measure(&mut report).await;
    }
    if wanted("analyses") {
        analyses::measure(&mut report).await;
    }
    if wanted("guard") {
        guard::measure(&mut report).await;
    }
    println!("{}", report.markdown());
    if only.is_none() {
        report.save();
    }
    std::process::exit(i32::from(!report.all_good()));
}
