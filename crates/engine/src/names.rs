//! Newtypes for the names that must not be mixed up.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps a name as it was read.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// The name as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

name!(
    /// One version of a pod template, by the name the workload's controller gave it.
    Revision
);
name!(
    /// A pod's name. A replacement may carry the same one.
    PodName
);
name!(
    /// A pod's identity. A replacement never carries the same one.
    PodUid
);
name!(
    /// The identity of a workload; a workload that was deleted and made again has another.
    WorkloadUid
);
name!(
    /// The name of a rollout in the namespace at hand.
    RolloutName
);
