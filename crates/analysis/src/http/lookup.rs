//! The addresses of names. A lookup takes a thread from those that all who wait for something share, values to be judged
//! among them, and cannot be ended: it goes on when nobody waits for it any more. So few are under way at once, and a
//! place is held until a lookup has really ended.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use futures::FutureExt;
use futures::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

use super::reach;
use crate::providers::Reach;
use crate::rooms::Rooms;

/// How many names are looked up at once; half of them for one namespace at most, so that nobody else waits for names that
/// take long.
const LOOKUPS: usize = 64;

tokio::task_local! {
    /// The namespace that asks. Whoever makes connections is told nothing but the address, and is called by the task of
    /// the request that needs one.
    static ASKING: String;
}

/// Something that a namespace asks.
pub(super) async fn asked_by<T>(namespace: &str, asked: impl Future<Output = T>) -> T {
    ASKING.scope(namespace.to_owned(), asked).await
}

/// Finds the addresses of a name, and waits for that.
type Look = Box<dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// Whoever looks names up. All connections of a process share one.
#[derive(Clone)]
pub(super) struct Lookups(Arc<Parts>);

struct Parts {
    /// Places for all, and for each namespace.
    rooms: Rooms<Option<String>>,
    look: Look,
}

impl Default for Lookups {
    fn default() -> Self {
        Self::new(Box::new(look_up))
    }
}

fn look_up(name: &str) -> io::Result<Vec<SocketAddr>> {
    Ok((name, 0_u16).to_socket_addrs()?.collect())
}

impl Lookups {
    fn new(look: Look) -> Self {
        Self(Arc::new(Parts { rooms: Rooms::default(), look }))
    }

    /// The addresses of a name, for a namespace, when it is its turn.
    async fn find(self, namespace: Option<String>, name: String) -> io::Result<Vec<SocketAddr>> {
        let own = namespace.map(|namespace| (Some(namespace), LOOKUPS / 2));
        let places = self.0.rooms.places(own.into_iter().chain([(None, LOOKUPS)])).await;
        let looked_up = tokio::task::spawn_blocking(move || {
            let _places = places;
            (self.0.look)(&name)
        });
        looked_up.await.map_err(io::Error::other)?
    }
}

/// Finds the addresses that may be reached.
#[derive(Clone)]
pub(super) struct Resolver {
    lookups: Lookups,
    reach: Reach,
}

impl Resolver {
    pub(super) fn new(lookups: Lookups, reach: Reach) -> Self {
        Self { lookups, reach }
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<vec::IntoIter<SocketAddr>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { lookups, reach } = self.clone();
        let namespace = ASKING.try_with(String::clone).ok();
        reached(lookups, namespace, name.as_str().to_owned(), reach).boxed()
    }
}

async fn reached(
    lookups: Lookups,
    namespace: Option<String>,
    name: String,
    reach: Reach,
) -> io::Result<vec::IntoIter<SocketAddr>> {
    let found = lookups.find(namespace, name).await?;
    reach::check_all(&found, reach).map_err(io::Error::other)?;
    Ok(found.into_iter())
}

#[cfg(test)]
mod tests {
    use std::iter::repeat_n;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, mpsc};
    use std::time::Duration;

    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::super::client::{Encryption, client};
    use super::*;
    use crate::providers::Trust;

    type Found = io::Result<Vec<SocketAddr>>;

    #[tokio::test]
    async fn lookups_that_take_long_have_few_threads_even_if_nobody_waits_for_them() {
        let (open, door) = mpsc::channel::<()>();
        let (door, begun) = (Mutex::new(door), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&begun);
        let lookups = Lookups::new(Box::new(move |name: &str| -> Found {
            if name == "slow" {
                counted.fetch_add(1, Ordering::SeqCst);
                // It comes to an end when nobody keeps the door shut any more.
                assert!(door.lock().unwrap().recv().is_err());
            }
            Ok(Vec::new())
        }));
        let find = |namespace: &str, name: &str| -> JoinHandle<Found> {
            tokio::spawn(lookups.clone().find(Some(namespace.to_owned()), name.to_owned()))
        };
        let slow: Vec<JoinHandle<Found>> = (0..LOOKUPS).map(|_| find("shop", "slow")).collect();
        while begun.load(Ordering::SeqCst) < LOOKUPS / 2 {
            tokio::task::yield_now().await;
        }
        for one in slow {
            one.abort();
            assert!(one.await.unwrap_err().is_cancelled());
        }
        assert!(find("other", "quick").await.unwrap().is_ok());
        assert!(timeout(Duration::from_millis(50), find("shop", "quick")).await.is_err());
        assert_eq!(begun.load(Ordering::SeqCst), LOOKUPS / 2);
        drop(open);
        assert!(find("shop", "quick").await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn names_are_looked_up_for_the_namespace_whose_request_needs_them() {
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&begun);
        let lookups = Lookups::new(Box::new(move |_: &str| -> Found {
            counted.fetch_add(1, Ordering::SeqCst);
            Err(io::Error::other("there is no such name"))
        }));
        let client = client(&Trust::default(), Encryption::Off, lookups.clone()).unwrap();
        let request = || http::Request::get("http://name.invalid/").body(String::new()).unwrap();
        let share = repeat_n((Some("shop".to_owned()), LOOKUPS / 2), LOOKUPS / 2);
        let _taken = lookups.0.rooms.places(share).await;
        let waits = timeout(Duration::from_millis(50), asked_by("shop", client.request(request())));
        assert!(waits.await.is_err());
        assert_eq!(begun.load(Ordering::SeqCst), 0);
        assert!(asked_by("other", client.request(request())).await.is_err());
        assert_eq!(begun.load(Ordering::SeqCst), 1);
    }
}
