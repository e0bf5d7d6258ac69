//! Where the simulator differs from a real server, and why it may. docs/simulator.md tells the same to people.

use windlass_bed::bed;
use windlass_workloads::Holder;

/// The end of a place in an answer, perhaps after the name of a case and a colon; and the reason.
pub(crate) const KNOWN: &[(&str, &str)] = &[
    ("/description", "columns of tables are not described: kubectl does not show it"),
    (
        "a body that cannot be read is refused: /body/message",
        "the words of Go's JSON decoder are not repeated",
    ),
    (
        "a long list comes in pages: /body/message",
        "what is wrong with a made-up continue token is told in other words",
    ),
    (
        "a service, a claim, a lease and others are created with their defaults: /metadata/finalizers",
        "claims are not protected by a finalizer: the controller that takes it off is not played",
    ),
    (
        "other kinds as tables: /metadata/finalizers",
        "claims are not protected by a finalizer: the controller that takes it off is not played",
    ),
    ("/storageVersionHash", "how a resource is stored is nobody's business here"),
    (
        "a path that names nothing is not found: /body",
        "an unknown group is refused as an unknown resource is, not as a page that is missing",
    ),
    (
        "a pod's spec is fixed, but for its image: /message",
        "the difference of two specs is not printed as Go sees it",
    ),
    (
        "unknown fields are pruned: /body/message",
        "a strict patch is refused without repeating the whole object",
    ),
    (
        "unknown fields are pruned: /body/details",
        "a strict patch is refused without repeating the whole object",
    ),
];

/// What is different besides on the older kind of server of these tests.
pub(crate) const KNOWN_WITH_THE_GATE: &[(&str, &str)] = &[
    (
        "/rollingUpdate/maxUnavailable",
        "the server has the gate MaxUnavailableStatefulSet on, the simulator plays one without",
    ),
    (
        "who owns the partition alone gives it back by saying nothing: /updateStrategy/rollingUpdate",
        "the default of maxUnavailable keeps rollingUpdate there, and that gives the partition its default",
    ),
];

/// All that is known of this kind of server.
pub(crate) fn known() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let more = match bed().hold {
        Holder::Policy => &[],
        Holder::Partition => KNOWN_WITH_THE_GATE,
    };
    KNOWN.iter().chain(more)
}

/// The entry that a difference is known by.
pub(crate) fn known_as(case: &str, place: &str) -> Option<&'static str> {
    let entry = known().find(|(known, _)| match known.split_once(": ") {
        Some((only, end)) => only == case && place.ends_with(end),
        None => place.ends_with(known),
    });
    entry.map(|(known, _)| *known)
}
