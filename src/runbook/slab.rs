//! Things with numbers: the number of one that is gone is given again.

/// Things with numbers.
#[derive(Debug)]
pub(super) struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub(super) fn add(&mut self, item: T) -> usize {
        if let Some(place) = self.free.pop() {
            self.items[place] = Some(item);
            return place;
        }
        self.items.push(Some(item));
        self.items.len() - 1
    }

    pub(super) fn remove(&mut self, place: usize) -> Option<T> {
        let item = self.items.get_mut(place)?.take();
        if item.is_some() {
            self.free.push(place);
        }
        item
    }

    pub(super) fn get(&self, place: usize) -> &T {
        let item = self.items.get(place).and_then(Option::as_ref);
        item.expect("a number is kept only as long as its thing is there")
    }

    pub(super) fn get_mut(&mut self, place: usize) -> &mut T {
        let item = self.items.get_mut(place).and_then(Option::as_mut);
        item.expect("a number is kept only as long as its thing is there")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.items.len()
    }
}
