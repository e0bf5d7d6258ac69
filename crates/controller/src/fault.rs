//! Faults for tests, only in builds with the feature `faults`: the process ends by SIGKILL right before or right after
//! its n-th write, or the answer to its n-th write is lost. `WINDLASS_FAULT` says which, such as `kill-after=3`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillBefore(u32),
    KillAfter(u32),
    LoseAnswer(u32),
}

static WRITES: AtomicU32 = AtomicU32::new(0);

fn fault() -> Option<Fault> {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    *FAULT.get_or_init(|| {
        let text = std::env::var("WINDLASS_FAULT").ok()?;
        let (what, count) = text.split_once('=')?;
        let count = count.parse().ok()?;
        Some(match what {
            "kill-before" => Fault::KillBefore(count),
            "kill-after" => Fault::KillAfter(count),
            "lose-answer" => Fault::LoseAnswer(count),
            _ => return None,
        })
    })
}

/// Right before a write.
pub(crate) fn before() -> u32 {
    let number = WRITES.fetch_add(1, Ordering::SeqCst) + 1;
    if fault() == Some(Fault::KillBefore(number)) {
        kill();
    }
    number
}

/// Right after the server has answered; true when the answer is lost.
pub(crate) fn after(number: u32) -> bool {
    if fault() == Some(Fault::KillAfter(number)) {
        kill();
    }
    fault() == Some(Fault::LoseAnswer(number))
}

/// As a machine that loses power: nothing is finished, nobody is told. The runtime has one thread, and it waits here.
fn kill() {
    let pid = std::process::id().to_string();
    let _ = std::process::Command::new("kill").args(["-KILL", &pid]).status();
}
