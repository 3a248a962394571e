//! Short lanes sorted abreast: the first elements of some lanes are one row, their second ones the next, and a network
//! compares whole rows. No comparison is a branch, and what a lane costs by itself is to be read and written.

use crate::merge::Record;
use crate::order::each;
use crate::sort_key::{Codec, Keyed, ShortPlaces};
use crate::vector::vectorized;
use crate::walk::Walk;
use std::ops::Range;

/// Elements of the longest lanes that are sorted so.
pub const SHORT: usize = 64;
/// Lanes that lie abreast: fewer would be unrolled to single elements instead of becoming vectors.
const ABREAST: usize = 32;

type Row<K> = [K; ABREAST];

/// Rows of a group of lanes, as many of them as a lane has elements.
#[repr(align(64))]
struct Rows<K>([Row<K>; SHORT]);

impl<K: Copy> Rows<K> {
    fn new(value: K) -> Rows<K> {
        Rows([[value; ABREAST]; SHORT])
    }
}

/// Which rows are compared, one pair after another: the smaller elements go to the first of both.
pub struct Network {
    pairs: Vec<(u8, u8)>,
}

impl Network {
    /// Sorts `n` rows by Batcher's merge exchange; only what decides about the wanted ones, if not all are.
    pub fn new(n: usize, wanted: Option<&[usize]>) -> Network {
        debug_assert!(n <= SHORT);
        let mut pairs = Vec::new();
        let half = n.next_power_of_two() / 2;
        let mut p = half;
        while p > 0 {
            let (mut q, mut r, mut d) = (half, 0, p);
            loop {
                pairs.extend((0..n.saturating_sub(d)).filter(|i| i & p == r).map(|i| (i as u8, (i + d) as u8)));
                if q == p {
                    break;
                }
                (d, q, r) = (q - p, q / 2, p);
            }
            p /= 2;
        }
        if let Some(wanted) = wanted {
            let mut needed = wanted.iter().fold(0u64, |needed, &k| needed | 1 << k);
            let mut kept: Vec<_> = pairs.iter().rev().copied().collect();
            kept.retain(|&(a, b)| {
                let both = 1u64 << a | 1 << b;
                let decides = needed & both != 0;
                needed |= if decides { both } else { 0 };
                decides
            });
            kept.reverse();
            pairs = kept;
        }
        Network { pairs }
    }

    /// Sorts every column of the rows.
    #[inline(always)]
    fn sort<K: Record>(&self, rows: &mut Rows<K>) {
        for &(a, b) in &self.pairs {
            // Copies, so that nothing may be the same memory; by index, for an iterator would not be inlined here.
            let (mut first, mut second) = (rows.0[a as usize], rows.0[b as usize]);
            for l in 0..ABREAST {
                let (x, y) = (first[l], second[l]);
                (first[l], second[l]) = if y.less(&x) { (y, x) } else { (x, y) };
            }
            (rows.0[a as usize], rows.0[b as usize]) = (first, second);
        }
    }

    /// Sorts every column, and the places along with it; equals in the order of their places.
    #[inline(always)]
    fn sort_places(&self, rows: &mut Rows<i64>, places: &mut Rows<i64>) {
        for &(a, b) in &self.pairs {
            let (a, b) = (a as usize, b as usize);
            let (mut first, mut second, mut p, mut q) = (rows.0[a], rows.0[b], places.0[a], places.0[b]);
            for l in 0..ABREAST {
                let turned = (second[l] < first[l]) | ((second[l] == first[l]) & (q[l] < p[l]));
                (first[l], second[l]) = if turned { (second[l], first[l]) } else { (first[l], second[l]) };
                (p[l], q[l]) = if turned { (q[l], p[l]) } else { (p[l], q[l]) };
            }
            (rows.0[a], rows.0[b], places.0[a], places.0[b]) = (first, second, p, q);
        }
    }
}

/// Lanes of up to `SHORT` elements and where their answers go, in step.
pub struct Lanes {
    /// Where the first element of all lies, and the bytes from one element of a lane to the next.
    pub from: (*const u8, isize),
    pub to: (*mut u8, isize),
    /// Over the lanes: what is read, what is written.
    pub walk: Walk<2>,
    pub len: usize,
}

/// Where the lanes of a group begin. If they are fewer, the last one is there again.
struct Group {
    starts: [[isize; 2]; ABREAST],
    held: usize,
    /// Whether what lies abreast does so in memory, of what is read and of what is written.
    dense: [bool; 2],
}

impl Lanes {
    /// Calls `f` for all groups; elements and answers have these sizes.
    fn groups(&mut self, lanes: Range<usize>, sizes: [usize; 2], mut f: impl FnMut(&Lanes, &Group)) {
        self.walk.seek(lanes.start);
        let mut left = lanes.len();
        while left > 0 {
            let held = left.min(ABREAST);
            let mut starts = [self.walk.offsets; ABREAST];
            for l in 0..ABREAST {
                if l < held {
                    starts[l] = self.walk.offsets;
                    self.walk.step();
                } else {
                    starts[l] = starts[l - 1];
                }
            }
            let dense = [0, 1].map(|side| {
                let follows = |l: usize| starts[l][side] == starts[0][side] + (l * sizes[side]) as isize;
                held == ABREAST && (0..ABREAST).all(follows)
            });
            f(self, &Group { starts, held, dense });
            left -= held;
        }
    }

    /// The elements of a group in rows.
    unsafe fn read<T: Copy>(&self, group: &Group, rows: *mut Row<T>) {
        for i in 0..self.len {
            let at = self.from.0.offset(i as isize * self.from.1);
            if group.dense[0] {
                rows.add(i).write(at.offset(group.starts[0][0]).cast::<Row<T>>().read_unaligned());
            } else {
                let own = rows.add(i).cast::<T>();
                (0..ABREAST).for_each(|l| own.add(l).write(at.offset(group.starts[l][0]).cast::<T>().read_unaligned()));
            }
        }
    }

    /// A row of answers to the place `i` of the lanes of a group.
    unsafe fn write<A: Copy>(&self, group: &Group, i: usize, row: *const Row<A>) {
        let at = self.to.0.offset(i as isize * self.to.1);
        if group.dense[1] {
            at.offset(group.starts[0][1]).cast::<Row<A>>().write_unaligned(row.read());
        } else {
            let own = row.cast::<A>();
            (0..group.held).for_each(|l| at.offset(group.starts[l][1]).cast::<A>().write_unaligned(own.add(l).read()));
        }
    }

    /// The elements that a sort puts at the `kth` places, which the network finds.
    ///
    /// # Safety
    /// The lanes are readable memory of `T`s with these places, and their answers writeable for as many.
    pub unsafe fn select<T: Keyed>(&mut self, lanes: Range<usize>, network: &Network, kth: &[usize]) {
        let mut rows = Rows::new(T::ZERO.key());
        self.groups(lanes, [size_of::<T>(); 2], |own, group| {
            own.read(group, elements_of::<T>(&mut rows));
            vectorized(
                #[inline(always)]
                || {
                    keys_of::<T>(&mut rows, own.len);
                    network.sort(&mut rows);
                },
            );
            for (i, &k) in kth.iter().enumerate() {
                let mut row = [T::ZERO; ABREAST];
                // Ranks are in the order of keys.
                row.iter_mut().zip(&rows.0[k]).for_each(|(v, &key)| *v = T::of_rank(T::rank_of(key)));
                own.write(group, i, &row);
            }
        });
    }

    /// All elements sorted; `stable`: those that are equal but differ, in their order.
    ///
    /// # Safety
    /// As for `select`; what is written may be what is read, element by element.
    pub unsafe fn sort<T: Keyed>(&mut self, lanes: Range<usize>, network: &Network, stable: bool) {
        let mut rows = Rows::new(T::ZERO.key());
        self.groups(lanes, [size_of::<T>(); 2], |own, group| {
            own.read(group, elements_of::<T>(&mut rows));
            let sorted = vectorized(
                #[inline(always)]
                || {
                    keys_of::<T>(&mut rows, own.len);
                    let mut told_apart = false;
                    for row in 0..if stable { own.len } else { 0 } {
                        for l in 0..ABREAST {
                            told_apart |= !T::is_alone(rows.0[row][l]);
                        }
                    }
                    if !told_apart {
                        network.sort(&mut rows);
                        let flat = elements_of::<T>(&mut rows).cast::<T>();
                        each(flat.cast::<T::Key>(), own.len * ABREAST, flat, T::from_key);
                    }
                    !told_apart
                },
            );
            if sorted {
                let elements = elements_of::<T>(&mut rows);
                (0..own.len).for_each(|i| own.write(group, i, elements.add(i)));
            } else {
                own.write_stable::<T>(group, network, &rows);
            }
        });
    }

    /// Sorts by the places that sort.
    #[cold]
    unsafe fn write_stable<T: Keyed>(&self, group: &Group, network: &Network, keys: &Rows<T::Key>) {
        let (mut ranks, mut places) = (Rows::new(0), Rows::new(0));
        for (i, row) in keys.0[..self.len].iter().enumerate() {
            (ranks.0[i], places.0[i]) = (row.map(T::rank_of), [i as i64; ABREAST]);
        }
        vectorized(
            #[inline(always)]
            || network.sort_places(&mut ranks, &mut places),
        );
        for (i, from) in places.0[..self.len].iter().enumerate() {
            let row: Row<T> = std::array::from_fn(|l| T::from_key(keys.0[from[l] as usize][l]));
            self.write(group, i, &row);
        }
    }

    /// The places that sort, equals in their order.
    ///
    /// # Safety
    /// As for `select`, with places for answers.
    pub unsafe fn places<T: Keyed>(&mut self, lanes: Range<usize>, network: &Network) {
        let mut elements = Rows::new(T::ZERO);
        let (mut ranks, mut places) = (Rows::new(0i64), Rows::new(0i64));
        let short = size_of::<T>() <= 4;
        self.groups(lanes, [size_of::<T>(), size_of::<i64>()], |own, group| {
            own.read(group, elements.0.as_mut_ptr());
            vectorized(
                #[inline(always)]
                || {
                    for i in 0..own.len {
                        for l in 0..ABREAST {
                            let v = elements.0[i][l];
                            ranks.0[i][l] = if short { ShortPlaces::encode(v, i) } else { v.rank() };
                        }
                        places.0[i] = [i as i64; ABREAST];
                    }
                    if short {
                        // Rank and place are one number.
                        network.sort(&mut ranks);
                        for i in 0..own.len {
                            for l in 0..ABREAST {
                                places.0[i][l] = ShortPlaces::<T>::answer(ranks.0[i][l]);
                            }
                        }
                    } else {
                        network.sort_places(&mut ranks, &mut places);
                    }
                },
            );
            (0..own.len).for_each(|i| own.write(group, i, &places.0[i]));
        });
    }
}

/// Elements lie where their keys will.
fn elements_of<T: Keyed>(rows: &mut Rows<T::Key>) -> *mut Row<T> {
    const { assert!(size_of::<T>() == size_of::<T::Key>() && align_of::<T>() == align_of::<T::Key>()) };
    rows.0.as_mut_ptr().cast()
}

/// Turns rows of elements into rows of keys, where they lie.
#[inline(always)]
unsafe fn keys_of<T: Keyed>(rows: &mut Rows<T::Key>, len: usize) {
    let flat = elements_of::<T>(rows).cast::<T>();
    for i in 0..len * ABREAST {
        flat.add(i).cast::<T::Key>().write(flat.add(i).read().key());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_every_length_sort_and_select() {
        let mut state = 88172645463325252u64;
        for n in 1..=SHORT {
            let mut rows = Rows::new(i64::MAX);
            for v in rows.0[..n].iter_mut().flatten() {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                *v = (state % 50) as i64;
            }
            let mut want = Rows(rows.0);
            for l in 0..ABREAST {
                let mut column: Vec<i64> = want.0[..n].iter().map(|row| row[l]).collect();
                column.sort_unstable();
                column.iter().enumerate().for_each(|(i, v)| want.0[i][l] = *v);
            }
            let kth = [n / 3, n - 1];
            let mut found = Rows(rows.0);
            Network::new(n, Some(&kth)).sort(&mut found);
            kth.iter().for_each(|&k| assert_eq!(found.0[k], want.0[k], "{n}"));
            Network::new(n, None).sort(&mut rows);
            assert_eq!(rows.0[..n], want.0[..n], "{n}");
        }
    }
}
