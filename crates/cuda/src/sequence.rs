//! Sequences of launches that were seen before, by their form: which functions, over which grids. What is made for one
//! that comes again is kept with it; arguments may change from one time to the next.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

/// A launch without its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Form {
    /// The function's address: there is one of each while its code is loaded.
    pub function: usize,
    pub grid: u32,
    pub block: (u32, u32),
    /// Words of its arguments.
    pub words: u32,
}

/// A sequence seen before, and what was made for it.
pub(crate) struct Known<G> {
    forms: Vec<Form>,
    pub made: Made<G>,
    used: u64,
}

pub(crate) enum Made<G> {
    NotYet,
    Ready(G),
    /// It cannot be made: not tried again.
    Never,
}

/// Sequences that are remembered. A program's loops have few; one that repeats nothing should not fill memory.
pub(crate) const MOST: usize = 128;

pub(crate) struct Sequences<G> {
    known: HashMap<u64, Known<G>>,
    clock: u64,
}

impl<G> Default for Sequences<G> {
    fn default() -> Self {
        Sequences { known: HashMap::new(), clock: 0 }
    }
}

impl<G> Sequences<G> {
    /// The sequence if it was seen before. From here on it was.
    pub fn again(&mut self, forms: &[Form]) -> Option<&mut Known<G>> {
        self.clock += 1;
        let mut hasher = DefaultHasher::new();
        forms.hash(&mut hasher);
        let key = hasher.finish();
        if self.known.len() >= MOST && !self.known.contains_key(&key) {
            let oldest = self.known.iter().min_by_key(|(_, k)| k.used).map(|(&key, _)| key);
            oldest.map(|key| self.known.remove(&key));
        }
        let fresh = || Known { forms: forms.to_vec(), made: Made::NotYet, used: 0 };
        let known = match self.known.entry(key) {
            Entry::Vacant(place) => {
                place.insert(fresh()).used = self.clock;
                return None;
            }
            Entry::Occupied(place) => place.into_mut(),
        };
        let same = known.forms == forms;
        if !same {
            // Two sequences of one hash take turns.
            *known = fresh();
        }
        known.used = self.clock;
        same.then_some(known)
    }

    pub fn clear(&mut self) {
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(all: &[usize]) -> Vec<Form> {
        all.iter().map(|&function| Form { function, grid: 1, block: (256, 1), words: 8 }).collect()
    }

    #[test]
    fn a_sequence_is_known_from_its_second_time_on_by_all_of_its_form() {
        let mut all: Sequences<u8> = Sequences::default();
        assert!(all.again(&forms(&[1, 2, 3])).is_none());
        assert!(all.again(&forms(&[1, 3, 2])).is_none());
        assert!(all.again(&forms(&[1, 2])).is_none());
        let mut wider = forms(&[1, 2, 3]);
        wider[1].grid = 2;
        assert!(all.again(&wider).is_none());
        let known = all.again(&forms(&[1, 2, 3])).unwrap();
        assert!(matches!(known.made, Made::NotYet));
        known.made = Made::Ready(7);
        assert!(matches!(all.again(&forms(&[1, 2, 3])).unwrap().made, Made::Ready(7)));
    }

    #[test]
    fn of_many_sequences_those_used_last_are_kept() {
        let mut all: Sequences<u8> = Sequences::default();
        for k in 0..MOST * 3 {
            all.again(&forms(&[k]));
            all.again(&forms(&[0]));
        }
        assert_eq!(all.known.len(), MOST);
        assert!(all.again(&forms(&[0])).is_some());
        assert!(all.again(&forms(&[1])).is_none());
        assert!(all.again(&forms(&[MOST * 3 - 1])).is_some());
    }
}
