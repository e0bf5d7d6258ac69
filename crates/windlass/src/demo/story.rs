//! The story of the demo, as data: what is said, what is done, and what has to come of it.

use std::time::Duration;

/// The name of the database and of its rollout.
pub(super) const NAME: &str = "db";
/// Both and what is measured, as a person would write them.
pub(super) const MANIFEST: &str = include_str!("db.yaml");

/// One scene.
pub(super) struct Scene {
    /// What is shown, in a few words.
    pub(super) title: &'static str,
    /// What a viewer should know.
    pub(super) words: &'static str,
    /// What a person would type.
    pub(super) command: &'static str,
    pub(super) deed: Deed,
    pub(super) end: End,
    /// How text that cannot move shows the end.
    pub(super) look: Look,
    /// How long the end is left to be looked at.
    pub(super) rest: Duration,
}

/// What is done at the start of a scene.
pub(super) enum Deed {
    /// The database, its rollout and what is measured come to be.
    Create,
    /// Another image: a new template.
    SetImage(&'static str),
    /// The pause that is shown ends.
    Promote,
}

/// What a scene ends with.
pub(super) enum End {
    /// Every pod is on the wanted version and available.
    Healthy,
    /// A person is asked.
    NeedsPerson,
    /// Aborted, and every pod is available on the stable version.
    Reverted,
}

/// What is looked at.
pub(super) enum Look {
    /// `kubectl windlass get`.
    Get,
    /// `kubectl windlass why`.
    Why,
}

/// A good version, then a bad one.
pub(super) const STORY: [Scene; 4] = [
    Scene {
        title: "Version 1 runs on five pods",
        words: "A database of five pods, and its rollout: 20%, a look by a person, 60%, a short rest, 100%; and beside the \
                steps an analysis that counts the restarts of updated pods.",
        command: "kubectl apply -f db.yaml",
        deed: Deed::Create,
        end: End::Healthy,
        look: Look::Get,
        rest: Duration::from_secs(5),
    },
    Scene {
        title: "Version 2 enters on one pod and waits for a person",
        words: "The API server holds it in the very write that changes the image; one pod enters, then a person is asked.",
        command: "kubectl set image sts/db db=app:v2-slow",
        deed: Deed::SetImage("app:v2-slow"),
        end: End::NeedsPerson,
        look: Look::Get,
        rest: Duration::from_secs(5),
    },
    Scene {
        title: "Promoted, version 2 reaches every pod",
        words: "It looks good, so the person goes on: two more pods, three seconds of rest, then all.",
        command: "kubectl windlass promote db",
        deed: Deed::Promote,
        end: End::Healthy,
        look: Look::Get,
        rest: Duration::from_secs(4),
    },
    Scene {
        title: "Version 3 crashes: an analysis notices, and every pod is back on version 2",
        words: "Version 3 is bad. Its first pod is let in, the analysis beside the steps counts its restarts, and the rollout \
                goes back by itself. Nobody has to look; the other four pods served all the time.",
        command: "kubectl set image sts/db db=app:v3-crash",
        deed: Deed::SetImage("app:v3-crash"),
        end: End::Reverted,
        look: Look::Why,
        rest: Duration::from_secs(9),
    },
];
