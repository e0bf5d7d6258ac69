//! Scratch.
use windlass_sim::{Ending, play, script::Script, seed};
fn main() {
    let arg = std::env::args().nth(1).unwrap_or_default();
    let script: Script = if let Ok(seed) = arg.parse::<u64>() {
        seed::script(seed)
    } else {
        std::fs::read_to_string(&arg).unwrap().parse().unwrap()
    };
    println!("{script}");
    let start = std::time::Instant::now();
    let outcome = play(&script, Ending::WhenStable).unwrap();
    let took = start.elapsed();
    for moment in &outcome.timeline.moments {
        println!("{} {}", moment.at, moment.what);
    }
    println!("stuck {:?}", outcome.stuck);
    for v in &outcome.violations {
        println!("VIOLATION {v}");
    }
    println!("{:?} {took:?}", outcome.statistics);
}
