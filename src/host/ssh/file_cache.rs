//! Values that come from files and serve many connections, such as known hosts and keys.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use tokio::time::Instant;

/// The time for which a value is used without a look at its files.
const MAX_AGE: Duration = Duration::from_secs(2);

/// A value, and the time when its files were looked at.
#[derive(Debug)]
struct Entry<V> {
    value: V,
    read_at: Instant,
}

type Entries<K, V> = HashMap<K, Entry<V>>;

/// A cache of values that are read from files, shared by all clones.
///
/// The files of a value are looked at again after two seconds, so that a change of them counts from then on.
#[derive(Debug)]
pub(super) struct FileCache<K, V>(Arc<Mutex<Entries<K, V>>>);

impl<K, V> Clone for FileCache<K, V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, V> Default for FileCache<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, V> FileCache<K, V> {
    /// Forgets all values, because this program has changed a file.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> FileCache<K, V>
where
    K: Eq + Hash + Send + 'static,
    V: Clone + Send + 'static,
{
    /// Returns the value of a key. `read` reads it from its files, and gets the value before, if there is one.
    ///
    /// Returns nothing only if `read` panics.
    pub(super) async fn get(
        &self,
        key: K,
        read: impl FnOnce(&K, Option<V>) -> V + Send + 'static,
    ) -> Option<V> {
        let fresh = match self.0.try_lock() {
            Ok(entries) => recent(&entries, &key),
            Err(TryLockError::Poisoned(poisoned)) => recent(poisoned.get_ref(), &key),
            Err(TryLockError::WouldBlock) => None,
        };
        if fresh.is_some() {
            return fresh;
        }
        let cache = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            // The lock is held while reading: others usually wait for the same value.
            let mut entries = cache.lock();
            if let Some(value) = recent(&entries, &key) {
                return value;
            }
            let before = entries.remove(&key).map(|entry| entry.value);
            let value = read(&key, before);
            let entry = Entry {
                value: value.clone(),
                read_at: Instant::now(),
            };
            entries.insert(key, entry);
            value
        });
        reading.await.ok()
    }
}

/// Returns a value whose files were looked at a moment ago.
fn recent<K: Eq + Hash, V: Clone>(entries: &Entries<K, V>, key: &K) -> Option<V> {
    let entry = entries.get(key)?;
    (entry.read_at.elapsed() < MAX_AGE).then(|| entry.value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_value_is_read_again_after_two_seconds_and_after_a_change_by_this_program() {
        let cache: FileCache<&str, u32> = FileCache::default();
        let count = |_: &&str, before: Option<u32>| before.unwrap_or_default() + 1;
        assert_eq!(cache.get("a", count).await, Some(1));
        assert_eq!(cache.get("a", count).await, Some(1));
        assert_eq!(cache.get("b", count).await, Some(1));
        if let Some(entry) = cache.lock().get_mut("a") {
            entry.read_at -= MAX_AGE;
        }
        assert_eq!(cache.get("a", count).await, Some(2));
        cache.clear();
        assert_eq!(cache.get("a", count).await, Some(1));
    }
}
