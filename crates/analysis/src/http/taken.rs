//! What one measurement takes from the others: places, and memory for its answers.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::redirect::Origin;
use super::{LARGE, LARGE_AT_ONCE, LARGEST, Limits, Room, Unmeasured};
use crate::rooms::{Place, Rooms};

/// What a measurement has taken so far. Whoever has a place among the large answers waits nowhere else with it: those who
/// have the places that it waits for might wait for this one. With all of them it waits until its value is judged; whoever
/// judges takes none of them.
pub(super) struct Taken<'a> {
    rooms: &'a Rooms<Room>,
    limits: Limits,
    namespace: &'a str,
    /// How much was answered, on all pages together.
    bytes: usize,
    /// The places at the host that was asked last: whoever asks for the next page does not stand in line again.
    at_host: Option<(Origin, Vec<Place>)>,
    /// The places among the large answers.
    large: Vec<Place>,
}

impl<'a> Taken<'a> {
    pub(super) fn new(rooms: &'a Rooms<Room>, limits: Limits, namespace: &'a str) -> Self {
        Self { rooms, limits, namespace, bytes: 0, at_host: None, large: Vec::new() }
    }

    /// Who asks.
    pub(super) fn namespace(&self) -> &'a str {
        self.namespace
    }

    /// Takes a place in every room that a request to this host goes through, unless it has them.
    pub(super) async fn host(&mut self, origin: &Origin) -> Result<(), Unmeasured> {
        if self.at_host.as_ref().is_some_and(|(known, _)| known == origin) {
            return Ok(());
        }
        self.at_host = None;
        self.large.clear();
        let Limits { per_host, in_all, wait } = self.limits;
        let (host, namespace) = (origin.to_string(), self.namespace.to_owned());
        let rooms = [
            (Room::HostOf(host.clone(), namespace.clone()), per_host / 2),
            (Room::Of(namespace), in_all / 2),
            (Room::Host(host), per_host),
            (Room::All, in_all),
        ];
        let places = timeout(wait, self.rooms.places(rooms)).await.map_err(|_| {
            let wait = words_of(wait);
            Unmeasured::Crowded(format!(
                "waited {wait} behind other requests, to {origin} or of the same namespace, which are slow or not judged yet"
            ))
        })?;
        self.at_host = Some((origin.clone(), places));
        Ok(())
    }

    /// Everything is read, and takes its places until it is judged.
    pub(super) fn places(self) -> Vec<Place> {
        self.at_host.into_iter().flat_map(|(_, places)| places).chain(self.large).collect()
    }

    /// There is more to be read.
    pub(super) async fn more(&mut self, bytes: usize, clock: &mut Clock<'_>) -> Result<(), Unmeasured> {
        self.bytes += bytes;
        let origin = clock.origin;
        if self.bytes > LARGEST {
            return Err(format!("the answer of {origin} is larger than 1 MiB: ask for less").into());
        }
        if self.bytes > LARGE && self.large.is_empty() {
            let of = Room::LargeOf(self.namespace.to_owned());
            let rooms = [(of, LARGE_AT_ONCE / 2), (Room::Large, LARGE_AT_ONCE)];
            let places = clock.stopped(timeout(self.limits.wait, self.rooms.places(rooms))).await;
            self.large = places.map_err(|_| {
                Unmeasured::Crowded(format!(
                    "the answer of {origin} is larger than 8 KiB, and many such are being read or judged: ask for less"
                ))
            })?;
        }
        Ok(())
    }
}

/// How long a request may still take. What it waits for others is not its own time, nor the host's.
pub(super) struct Clock<'a> {
    origin: &'a Origin,
    whole: Duration,
    ends: Instant,
}

impl<'a> Clock<'a> {
    pub(super) fn start(origin: &'a Origin, whole: Duration) -> Self {
        Self { origin, whole, ends: Instant::now() + whole }
    }

    /// Something that the host takes its time for.
    pub(super) async fn run<T>(&self, step: impl Future<Output = T>) -> Result<T, String> {
        let done = timeout_at(self.ends, step).await;
        done.map_err(|_| format!("no answer from {} within {}", self.origin, words_of(self.whole)))
    }

    /// Something that others take their time for.
    async fn stopped<T>(&mut self, step: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let done = step.await;
        self.ends += began.elapsed();
        done
    }
}

/// A length of time, for people.
pub(super) fn words_of(time: Duration) -> String {
    if time.subsec_millis() == 0 { format!("{}s", time.as_secs()) } else { format!("{}ms", time.as_millis()) }
}
