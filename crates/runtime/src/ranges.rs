//! Free ranges of something long: addresses, a file.

/// Ranges as (start, length), by start; neighbours are one.
pub struct Ranges(Vec<(usize, usize)>);

impl Ranges {
    pub const fn none() -> Ranges {
        Ranges(Vec::new())
    }

    /// The lowest `size` units that start at a multiple of `align`.
    pub fn take(&mut self, size: usize, align: usize) -> Option<usize> {
        for k in 0..self.0.len() {
            let (start, len) = self.0[k];
            let at = start.next_multiple_of(align);
            let Some(rest) = (start + len).checked_sub(at + size) else { continue };
            self.0.remove(k);
            if rest > 0 {
                self.0.insert(k, (at + size, rest));
            }
            if at > start {
                self.0.insert(k, (start, at - start));
            }
            return Some(at);
        }
        None
    }

    /// First unit and length of all that is free, while that is one range.
    pub fn extent(&self) -> Option<(usize, usize)> {
        match self.0.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    pub fn give(&mut self, at: usize, size: usize) {
        let k = self.0.partition_point(|&(start, _)| start < at);
        self.0.insert(k, (at, size));
        self.join(k);
        if k > 0 {
            self.join(k - 1);
        }
    }

    /// Makes one of a range and the next, if they touch.
    fn join(&mut self, k: usize) {
        if let (Some(&(start, len)), Some(&(next, more))) = (self.0.get(k), self.0.get(k + 1))
            && start + len == next
        {
            self.0[k].1 += more;
            self.0.remove(k + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_again() {
        let mut r = Ranges::none();
        r.give(100, 1600);
        let blocks: Vec<_> = (0..16).map(|_| r.take(100, 100).unwrap()).collect();
        assert_eq!(r.take(1, 1), None);
        blocks.iter().step_by(2).for_each(|&b| r.give(b, 100));
        assert_eq!((r.0.len(), r.take(101, 1)), (8, None));
        blocks.iter().skip(1).step_by(2).for_each(|&b| r.give(b, 100));
        assert_eq!(r.0, [(100, 1600)]);
    }

    #[test]
    fn alignment_leaves_the_rest() {
        let mut r = Ranges::none();
        r.give(3, 20);
        assert_eq!(r.take(4, 8), Some(8));
        assert_eq!(r.0, [(3, 5), (12, 11)]);
        assert_eq!(r.take(11, 4), Some(12));
        assert_eq!(r.take(6, 1), None);
    }
}
