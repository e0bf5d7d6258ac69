//! The addresses of names. A lookup takes a thread from those that all who wait for something share, values to be judged
//! among them, and cannot be ended: it goes on when nobody waits for it any more. So few are under way at once, and a
//! place is held until a lookup has really ended.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Who asks. Whoever makes connections is told nothing but the address, and is called by the task of the request that
    /// needs one.
    static ASKING: Asking;
}

/// Who asks, as whoever makes its connection knows it.
#[derive(Clone)]
pub(super) struct Asking(Arc<Standing>);

struct Standing {
    namespace: String,
    stands_in_line: AtomicBool,
}

impl Asking {
    pub(super) fn new(namespace: &str) -> Self {
        Self(Arc::new(Standing { namespace: namespace.to_owned(), stands_in_line: AtomicBool::new(false) }))
    }

    /// Something that it asks.
    pub(super) async fn run<T>(&self, asked: impl Future<Output = T>) -> T {
        ASKING.scope(self.clone(), asked).await
    }

    /// It waits until others have looked up their names, or did when it was given up.
    pub(super) fn stands_in_line(&self) -> bool {
        self.0.stands_in_line.load(Ordering::SeqCst)
    }

    /// A place that others may have.
    async fn in_line<T>(&self, place: impl Future<Output = T>) -> T {
        self.0.stands_in_line.store(true, Ordering::SeqCst);
        let place = place.await;
        self.0.stands_in_line.store(false, Ordering::SeqCst);
        place
    }
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

    /// The addresses of a name, when it is the turn of whoever asks.
    async fn find(self, asking: Option<Asking>, name: String) -> io::Result<Vec<SocketAddr>> {
        let places = match &asking {
            Some(asking) => asking.in_line(self.0.rooms.shared(Some(&asking.0.namespace), LOOKUPS)).await,
            None => self.0.rooms.shared(None, LOOKUPS).await,
        };
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
        let asking = ASKING.try_with(Asking::clone).ok();
        reached(lookups, asking, name.as_str().to_owned(), reach).boxed()
    }
}

async fn reached(
    lookups: Lookups,
    asking: Option<Asking>,
    name: String,
    reach: Reach,
) -> io::Result<vec::IntoIter<SocketAddr>> {
    let found = lookups.find(asking, name).await?;
    reach::check_all(&found, reach).map_err(io::Error::other)?;
    Ok(found.into_iter())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::iter::repeat_n;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Mutex, mpsc};
    use std::time::Duration;

    use jiff::Timestamp;
    use serde_json::json;
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::super::Unmeasured;
    use super::super::client::{Encryption, client};
    use super::*;
    use crate::providers::{self, Setting, Settings, Trust};

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
            tokio::spawn(lookups.clone().find(Some(Asking::new(namespace)), name.to_owned()))
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
        let (shop, other) = (Asking::new("shop"), Asking::new("other"));
        let waits = timeout(Duration::from_millis(50), shop.run(client.request(request())));
        assert!(waits.await.is_err());
        assert!(begun.load(Ordering::SeqCst) == 0 && shop.stands_in_line());
        assert!(other.run(client.request(request())).await.is_err());
        assert!(begun.load(Ordering::SeqCst) == 1 && !other.stands_in_line());
    }

    #[tokio::test]
    async fn whoever_waits_behind_the_lookups_of_others_is_not_asked_and_has_no_error() {
        let asker = super::super::Asker::default();
        let _taken = asker.lookups.0.rooms.places(repeat_n((None, LOOKUPS), LOOKUPS)).await;
        let web = json!({"web": {"url": "http://metrics.invalid/", "timeoutSeconds": 1}});
        let Ok(Settings::Http(provider)) = providers::read("provider", &web) else { panic!("no provider") };
        let empty = BTreeMap::new();
        let now = Timestamp::UNIX_EPOCH;
        let setting = Setting { now, namespace: "shop", secret: &empty, environment: &empty };
        let error = asker.measure(provider.as_ref(), &setting, &mut Vec::new()).await.err().unwrap();
        let told = "the name of metrics.invalid:80 is not looked up yet: those of others take long";
        assert_eq!(error, Unmeasured::Crowded(told.to_owned()));
    }
}
