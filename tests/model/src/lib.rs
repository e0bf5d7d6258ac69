//! An exhaustive check of the engine in a small world: every state that three pods, two stages, one crash and one person
//! with every button can lead to is visited, and in none of them is a rule broken.
//!
//! # Why a search of our own
//!
//! `stateright` would do for the rules that hold in every state. It cannot tell whether a world comes to rest: by its own
//! documentation `Property::eventually` is right on acyclic paths only, because it takes a circle for two paths that
//! meet, and two paths that meet for one. A controller that looks again and again is all circles. So `search.rs` is a
//! breadth-first search in two hundred lines, `endings.rs` judges circles by weak fairness, and nothing is added to what
//! we depend on.
//!
//! # What is in the world
//!
//! - A StatefulSet of three pods and its controller, `OrderedReady`, with the policies that Windlass installs (`set.rs`).
//!   Its controller may work on the spec that it saw last instead of the latest.
//! - A rollout with its status: the memo, what a person pushed, the pause (`memory.rs`, `look.rs`).
//! - Windlass, as `crates/controller/src/reconcile.rs` goes about it: look, decide, send one request, look again. Between
//!   a look and the arrival of its request anything may happen, and the server refuses a request whose precondition does
//!   not hold any more. A crash comes before or after any request. Watches may stand still.
//! - A person who may promote, promote in full, abort, restart, pause, resume and change the template at any moment.
//!
//! # What must hold
//!
//! At every look: `audit` finds nothing, a second look changes nothing (rule 7), and I2, I4 and I7 once more, judged on
//! the small state (`look.rs`). In every state I1, against what people and plan have let through so far: that also holds
//! I5 and I6, because what was pushed for one template lets nothing through of another (`world.rs`). I2 at the arrival
//! of every deletion. And I9 with I3: on every fair path, from every state, the world comes to rest, and there it is
//! healthy, aborted with every pod back, held for a person, paused, or a person is told that stable is forgotten.
//!
//! # What is bounded, and what is left out
//!
//! - How often each disturbance happens: `Budget`, set in `tests/model.rs` for each world. Pods become ready, controllers
//!   look and holds end as often as they like.
//! - Time is "now" or "long ago" (`moments.rs`): hold and deadline are equally long, and time passes in steps of that.
//! - Runs and pods are told apart by the smallest numbers that do (`names.rs`). A record of a run that nobody remembers
//!   is forgotten, and so is what the engine never reads again (`memory.rs`).
//! - There is one stalled watch for the set and its pods together, the set's controller sees its pods as they are, and
//!   its cache holds either the latest spec or the one it last worked on.
//! - Left out: scaling, `Parallel`, `minReadySeconds`, pods that never become ready, claiming and giving back, invalid and
//!   edited plans, renamed revisions, tampering. The properties of the engine have these at random.

pub mod actions;
mod endings;
pub mod look;
pub mod memory;
pub mod moments;
mod names;
pub mod search;
pub mod set;
pub mod world;
