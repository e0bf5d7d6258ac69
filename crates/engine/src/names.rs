//! Newtypes for the names that must not be mixed up.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(from = "String")]
        // Shared: every look at a workload repeats the names of all its pods.
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a name as it was read.
            pub fn new(name: impl AsRef<str>) -> Self {
                Self(name.as_ref().into())
            }

            /// The name as written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                Self(name.into())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
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
name!(
    /// The name of a check.
    CheckName
);
