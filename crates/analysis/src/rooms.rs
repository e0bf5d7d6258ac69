//! Places for those who wait for somebody else: so many at once in a room, and whoever comes later waits. Rooms come and go
//! with those who use them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many rooms are remembered before those that nobody is in are forgotten.
const ROOMS: usize = 1024;

/// Rooms by their names.
pub struct Rooms<Name>(Mutex<BTreeMap<Name, Arc<Semaphore>>>);

impl<Name> Default for Rooms<Name> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// A place, for as long as it is held.
pub struct Place(#[expect(dead_code, reason = "it is held")] Option<OwnedSemaphorePermit>);

impl Rooms<Option<String>> {
    /// A place among so many that all namespaces share. One of them has no more than half, so that nobody else waits for
    /// what is slow there.
    pub async fn shared(&self, namespace: Option<&str>, size: usize) -> Vec<Place> {
        let own = namespace.map(|namespace| (Some(namespace.to_owned()), size / 2));
        self.places(own.into_iter().chain([(None, size)])).await
    }
}

impl<Name: Ord> Rooms<Name> {
    /// A place in every one of these rooms, each with its number of places. Name the smallest first: whoever waits there
    /// takes no place from others.
    pub async fn places(&self, rooms: impl IntoIterator<Item = (Name, usize)>) -> Vec<Place> {
        let mut places = Vec::new();
        for (name, size) in rooms {
            // Nobody closes it, so there is always a place one day.
            places.push(Place(self.room(name, size).acquire_owned().await.ok()));
        }
        places
    }

    fn room(&self, name: Name, size: usize) -> Arc<Semaphore> {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.len() >= ROOMS {
            // Whoever is in one, or waits for it, has it too.
            rooms.retain(|_, room| Arc::strong_count(room) > 1);
        }
        rooms.entry(name).or_insert_with(|| Arc::new(Semaphore::new(size.max(1)))).clone()
    }
}
