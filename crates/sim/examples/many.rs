//! Scratch.
use windlass_sim::{Ending, play, seed};
fn main() {
    let from: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let count: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let start = std::time::Instant::now();
    let mut bad = 0;
    for s in from..from + count {
        let outcome = std::panic::catch_unwind(|| play(&seed::script(s), Ending::WhenStable).unwrap());
        match outcome {
            Ok(o) => {
                if let Some(v) = o.violations.first() {
                    bad += 1;
                    println!("seed {s}: {v}");
                }
            }
            Err(_) => {
                println!("seed {s} panicked");
                bad += 1;
            }
        }
    }
    println!("{count} seeds, {bad} bad, {:?}", start.elapsed());
}
