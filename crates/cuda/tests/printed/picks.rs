//! Elements taken and put through index arrays, by the host's compiler.

use crate::ops::{Host, bytes_of, has_compiler, random_values, values_of};
use numloom_cuda::ops::index::{Axis, Index, Mode, Picked, REPEATED};
use numloom_ir::DType;

/// `array[i, j, ..., :]` for index arrays of shape (37, 5), the odd ones the same along the second axis, against values of
/// shape (37, 5, 6).
pub struct Picks {
    d: DType,
    extents: Vec<usize>,
    indices: Vec<Vec<i64>>,
    array: Vec<u64>,
    values: Vec<u64>,
    bad: Box<u64>,
}

const REST: usize = 6;
const SHAPE: [usize; 2] = [37, 5];
const POSITIONS: usize = SHAPE[0] * SHAPE[1];

impl Picks {
    pub fn new(d: DType, extents: &[usize]) -> Picks {
        let mut random = crate::cases::Random::new(extents.len() as u64);
        let extents = extents.to_vec();
        let index = |&n: &usize| (0..POSITIONS).map(|_| random.below(2 * n) as i64 - n as i64).collect();
        let indices = extents.iter().map(index).collect();
        let elements = extents.iter().product::<usize>() * REST;
        let array = bytes_of(&random_values(d, elements, 3));
        Picks { d, extents, indices, array, values: bytes_of(&random_values(d, POSITIONS * REST, 5)), bad: Box::new(0) }
    }

    fn strides(k: usize) -> [isize; 2] {
        if k % 2 == 1 { [8, 0] } else { [8 * SHAPE[1] as isize, 8] }
    }

    pub fn picked(&self, mode: Mode) -> Picked {
        let size = self.d.size() as isize;
        let mut apart = REST as isize * size;
        let mut indices: Vec<Index> = Vec::new();
        for (k, &extent) in self.extents.iter().enumerate().rev() {
            indices.insert(0, Index { ptr: self.indices[k].as_ptr() as u64, extent, stride: apart });
            apart *= extent as isize;
        }
        let along = |a: usize| (0..indices.len()).map(|k| Picks::strides(k)[a]).collect();
        let of_values = [size * (SHAPE[1] * REST) as isize, size * REST as isize];
        let positions = (0..2).map(|a| Axis::new(SHAPE[a], 0, of_values[a], along(a))).collect();
        let rest = Axis::new(REST, size, size, (0..indices.len()).map(|_| 0).collect());
        let at = (self.array.as_ptr() as u64, self.values.as_ptr() as u64);
        let mut picked =
            Picked::new(self.d.size(), at, &indices, positions, [rest].into_iter().collect(), mode).expect("is picked");
        picked.bad = &raw const *self.bad as u64;
        picked
    }

    /// The index of an array at a position, as it stands there.
    fn index(&self, k: usize, position: usize) -> i64 {
        let (i, j) = ((position / SHAPE[1]) as isize, (position % SHAPE[1]) as isize);
        let [down, across] = Picks::strides(k);
        self.indices[k][((i * down + j * across) / 8) as usize]
    }

    /// Where a position's first element lies in the array.
    fn place(&self, position: usize, mode: Mode) -> usize {
        let settled = |k: usize| match (mode, self.index(k, position), self.extents[k] as i64) {
            (Mode::Clip, i, n) => i.clamp(0, n - 1) as usize,
            (_, i, n) => i.rem_euclid(n) as usize,
        };
        (0..self.extents.len()).fold(0, |at, k| at * self.extents[k] + settled(k)) * REST
    }
}

#[test]
fn indices_take_and_put() {
    if !has_compiler() {
        return;
    }
    let mut host = Host::default();
    // Places of which the last case has many more than positions; those of the second are all named once, in one mode.
    let cases: [(DType, &[usize]); 5] = [
        (DType::U8, &[7]),
        (DType::F64, &[5 * POSITIONS]),
        (DType::F32, &[7, 9]),
        (DType::C128, &[7, 9]),
        (DType::I64, &[7, 9, 200]),
    ];
    for (d, extents) in cases {
        for mode in [Mode::Raise, Mode::Wrap, Mode::Clip] {
            let (mut p, arrays) = (Picks::new(d, extents), extents.len());
            if extents == [5 * POSITIONS] {
                (0..POSITIONS).for_each(|j| p.indices[0][j] = (j * 7 % POSITIONS * 5) as i64);
            }
            if mode != Mode::Raise {
                p.indices.iter_mut().for_each(|i| i[3..5].fill(1000));
            }
            let elements = p.extents.iter().product::<usize>() * REST;
            let array = values_of(d, &p.array, elements);
            let values = values_of(d, &p.values, POSITIONS * REST);
            let picked = p.picked(mode);
            let mut scratch = vec![0u64; picked.put_scratch() / 8 + 1];
            let [looking, writing] = picked.put(scratch.as_mut_ptr() as u64).expect("an item size");
            host.run(&[looking], "index");
            let once = extents == [5 * POSITIONS] && mode == Mode::Raise;
            assert_eq!(*p.bad, if once || arrays == 3 { 0 } else { REPEATED }, "{d}, {arrays} arrays, {mode:?}");
            if *p.bad == REPEATED {
                let mut scratch = vec![0u64; picked.put_in_order_scratch() / 8 + 1];
                *p.bad = 0;
                host.run(&picked.put_in_order(scratch.as_mut_ptr() as u64).expect("an item size"), "index");
            } else {
                host.run(&[writing], "index");
            }
            let mut want = array.clone();
            for j in 0..POSITIONS {
                let at = p.place(j, mode);
                want[at..at + REST].copy_from_slice(&values[j * REST..][..REST]);
            }
            assert!(values_of(d, &p.array, elements) == want, "put {d}, {arrays} arrays, {mode:?}");

            host.run(&[picked.take().expect("an item size")], "index");
            let got = values_of(d, &p.values, POSITIONS * REST);
            for j in 0..POSITIONS {
                let at = p.place(j, mode);
                assert!(got[j * REST..][..REST] == want[at..at + REST], "take {d}, {arrays} arrays, {mode:?}");
            }
            assert_eq!(*p.bad, 0);
        }
    }
    // The first wrong index of the first array that has one; and nothing else is touched.
    let mut p = Picks::new(DType::F32, &[7, 9, 200]);
    (p.indices[2][1], p.indices[1][20], p.indices[1][30]) = (200, -10, 9);
    let before = p.values.clone();
    let picked = p.picked(Mode::Raise);
    host.run(&[picked.take().expect("an item size")], "index");
    assert_eq!(picked.wrong(*p.bad), Some((1, &raw const p.indices[1][20] as u64)));
    let at = 20 * SHAPE[1] * REST;
    assert!(values_of(DType::F32, &p.values, at + REST)[at..] == values_of(DType::F32, &before, at + REST)[at..]);
}
