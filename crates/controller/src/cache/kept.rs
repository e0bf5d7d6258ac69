//! A set of objects by name, where newer versions replace older ones and never the other way round.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Objects by name, each with its version.
pub(crate) struct Kept<K, T> {
    by_key: BTreeMap<K, (u64, Arc<T>)>,
}

impl<K, T> Default for Kept<K, T> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new() }
    }
}

impl<K: Ord + Clone, T: PartialEq> Kept<K, T> {
    /// True when this is news.
    pub(crate) fn keep(&mut self, key: K, version: u64, value: Arc<T>) -> bool {
        match self.by_key.get_mut(&key) {
            Some((known, _)) if *known > version => false,
            Some(entry) => {
                let news = *entry.1 != *value;
                *entry = (version, value);
                news
            }
            None => {
                self.by_key.insert(key, (version, value));
                true
            }
        }
    }

    pub(crate) fn forget(&mut self, key: &K) -> Option<Arc<T>> {
        self.by_key.remove(key).map(|(_, value)| value)
    }

    /// Keeps what `stays`; true when something was forgotten.
    pub(crate) fn retain(&mut self, stays: impl Fn(&K, &T) -> bool) -> bool {
        let before = self.by_key.len();
        self.by_key.retain(|key, (_, value)| stays(key, value));
        self.by_key.len() < before
    }

    pub(crate) fn get(&self, key: &K) -> Option<&Arc<T>> {
        self.by_key.get(key).map(|(_, value)| value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_key.values().map(|(_, value)| value)
    }

    /// Everything, each in the version in which it is known.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (u64, &Arc<T>)> {
        self.by_key.values().map(|(version, value)| (*version, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.by_key.keys()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_version_never_replaces_a_newer_one() {
        let mut kept = Kept::default();
        assert!(kept.keep("web", 7, Arc::new("new")));
        assert!(!kept.keep("web", 6, Arc::new("old")));
        assert_eq!(**kept.get(&"web").unwrap(), "new");
    }

    #[test]
    fn the_same_again_is_no_news() {
        let mut kept = Kept::default();
        assert!(kept.keep("web", 7, Arc::new("same")));
        assert!(!kept.keep("web", 8, Arc::new("same")));
        assert!(kept.keep("web", 9, Arc::new("other")));
    }
}
