//! The domain of a launch in the order it is walked: axes sorted so that memory is read in order,
//! neighbouring axes joined where every operand allows it.

use numloom_ir::{DType, Dims, Strides};
use smallvec::SmallVec;

/// An array bound to a launch: the address of its first element and its byte strides over the domain.
#[derive(Clone, Debug)]
pub struct Operand {
    pub ptr: *mut u8,
    pub dtype: DType,
    pub strides: Strides,
}

// SAFETY: an operand is an address; the runtime's hazard analysis keeps tasks that touch the same
// bytes apart, and tiles of one task write disjoint bytes.
unsafe impl Send for Operand {}
unsafe impl Sync for Operand {}

/// Axes from outermost to innermost by the strides of the operands; earlier operands vote first.
pub fn memory_order(shape: &[usize], operands: &[&Strides]) -> Dims {
    let mut axes: Dims = (0..shape.len()).collect();
    // Stable insertion sort: a later axis moves outwards only past axes it clearly lies outside of.
    for i in 1..axes.len() {
        let mut j = i;
        while j > 0 && inside(shape, operands, axes[j - 1], axes[j]) {
            axes.swap(j - 1, j);
            j -= 1;
        }
    }
    axes
}

/// Whether axis `a` lies inside axis `b` (smaller steps) for the first operand that tells them apart.
fn inside(shape: &[usize], operands: &[&Strides], a: usize, b: usize) -> bool {
    if shape[a] == 1 || shape[b] == 1 {
        return false;
    }
    for s in operands {
        let (x, y) = (s[a].unsigned_abs(), s[b].unsigned_abs());
        if x != 0 && y != 0 && x != y {
            return x < y;
        }
    }
    false
}

/// Drops axes of extent 1 and joins neighbours; `groups` marks axes (by group number) that must not be
/// joined across. Answers the new shape and strides per operand, and the group of each axis.
pub fn coalesce(shape: &[usize], strides: &[Strides], groups: &[u8]) -> (Dims, Vec<Strides>, SmallVec<[u8; 4]>) {
    let mut dims: Dims = SmallVec::new();
    let mut group: SmallVec<[u8; 4]> = SmallVec::new();
    let mut out: Vec<Strides> = vec![SmallVec::new(); strides.len()];
    for axis in 0..shape.len() {
        let n = shape[axis];
        if n == 1 {
            continue;
        }
        let joins = match dims.last() {
            None => false,
            Some(_) => {
                *group.last().unwrap_or(&0) == groups[axis]
                    && strides.iter().zip(&out).all(|(s, o)| o.last().copied().unwrap_or(0) == s[axis] * n as isize)
            }
        };
        if joins {
            if let Some(d) = dims.last_mut() {
                *d *= n;
            }
            for (s, o) in strides.iter().zip(&mut out) {
                if let Some(last) = o.last_mut() {
                    *last = s[axis];
                }
            }
        } else {
            dims.push(n);
            group.push(groups[axis]);
            for (s, o) in strides.iter().zip(&mut out) {
                o.push(s[axis]);
            }
        }
    }
    (dims, out, group)
}

/// An operand's own way through a space that is walked flat: axes are joined as far as its strides alone allow.
pub(crate) struct Path {
    pub shape: Dims,
    pub strides: Strides,
}

impl Path {
    pub fn new(shape: &[usize], strides: &Strides) -> Path {
        let (mut dims, mut out, _) = coalesce(shape, std::slice::from_ref(strides), &[0; 64][..shape.len().min(64)]);
        let mut strides = out.swap_remove(0);
        if dims.is_empty() {
            dims.push(1);
            strides.push(0);
        }
        Path { shape: dims, strides }
    }

    /// The number of places after which its elements come again.
    pub fn repeats_after(&self) -> Option<usize> {
        (self.shape.len() > 1 && self.strides[0] == 0).then(|| self.shape[1..].iter().product())
    }
}

/// Byte offset of flat index `i` (C order) of `shape`.
pub fn offset_of(mut i: usize, shape: &[usize], strides: &[isize]) -> isize {
    let mut at = 0;
    for (&d, &s) in shape.iter().zip(strides).rev() {
        at += (i % d) as isize * s;
        i /= d;
    }
    at
}
