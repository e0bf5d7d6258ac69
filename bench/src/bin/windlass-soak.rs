//! `make soak SEEDS=1000000`: seeds on every core until they are done or the time is over, with figures on the way.
#![expect(clippy::print_stdout, reason = "a command that prints its figures")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass_sim::Soaked;

/// Plays of a failing script that are spent on making it smaller.
const TRIES: usize = 300;

/// How often it says how far it is.
const SAYS: Duration = Duration::from_secs(30);

struct Wanted {
    from: u64,
    seeds: u64,
    threads: usize,
    limit: Duration,
}

fn main() -> ExitCode {
    match wanted() {
        Ok(wanted) => soak(&wanted),
        Err(message) => {
            println!("{message}");
            ExitCode::from(2)
        }
    }
}

fn wanted() -> Result<Wanted, String> {
    let number = |name: &str, usual: u64| match std::env::var(name) {
        Err(_) => Ok(usual),
        Ok(text) => text.parse().map_err(|_| format!("{name}={text} is not a number")),
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(Wanted {
        from: number("FROM", 0)?,
        seeds: number("SEEDS", 1_000_000)?,
        threads: usize::try_from(number("THREADS", cores as u64)?).unwrap_or(cores).max(1),
        limit: Duration::from_secs(60 * number("MINUTES", 60)?),
    })
}

fn soak(wanted: &Wanted) -> ExitCode {
    let (next, over) = (AtomicU64::new(wanted.from), AtomicBool::new(false));
    let (done, broken) = (AtomicU64::new(0), AtomicU64::new(0));
    let (end, started) = (wanted.from + wanted.seeds, Instant::now());
    // What breaks says so with its seed; a panic's own words would come between the figures.
    std::panic::set_hook(Box::new(|_| {}));
    let all = std::thread::scope(|scope| {
        let work = || {
            let mut soaked = Soaked::default();
            while !over.load(Ordering::Relaxed) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    break;
                }
                let before = soaked.broken.len();
                soaked.play(seed, TRIES);
                done.fetch_add(1, Ordering::Relaxed);
                for broken_now in soaked.broken.iter().skip(before) {
                    broken.fetch_add(1, Ordering::Relaxed);
                    println!("{broken_now}");
                }
            }
            soaked
        };
        let workers: Vec<_> = (0..wanted.threads).map(|_| scope.spawn(work)).collect();
        let mut said = Instant::now();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(100));
            over.fetch_or(started.elapsed() >= wanted.limit, Ordering::Relaxed);
            if said.elapsed() >= SAYS {
                said = Instant::now();
                let count = done.load(Ordering::Relaxed);
                let rate = rate(count, started.elapsed());
                println!("{count} rollouts, {rate} a second, {} violations", broken.load(Ordering::Relaxed));
            }
        }
        let mut all = Soaked::default();
        workers.into_iter().filter_map(|worker| worker.join().ok()).for_each(|soaked| all.add(soaked));
        all
    });
    let took = started.elapsed();
    println!("soak: {all}in {} s, {} rollouts a second", took.as_secs(), rate(all.seeds, took));
    if all.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn rate(count: u64, took: Duration) -> u64 {
    count.saturating_mul(1000) / u64::try_from(took.as_millis()).unwrap_or(1).max(1)
}
