//! Walking a view of any strides in C order, a block at a time.

use numloom_ir::View;
use numloom_loops::{gather, scatter, scatter_masked};
use smallvec::SmallVec;

/// A place in a view that moves on as blocks are taken from it or put to it.
pub struct Cursor {
    ptr: *mut u8,
    size: usize,
    /// Extent and stride of the innermost axis, then outwards.
    axes: SmallVec<[(usize, isize); 4]>,
    index: SmallVec<[usize; 4]>,
}

impl Cursor {
    /// `base`: address of the store; `shape`: what the view is broadcast to.
    pub fn new(base: *mut u8, view: &View, shape: &[usize]) -> Cursor {
        let skip = shape.len() - view.shape.len();
        let mut axes: SmallVec<[(usize, isize); 4]> = SmallVec::new();
        for (k, &d) in shape.iter().enumerate().rev() {
            let stride = if k < skip || view.shape[k - skip] == 1 { 0 } else { view.strides[k - skip] };
            if d == 1 {
                continue;
            }
            match axes.last_mut() {
                Some((n, s)) if *s * *n as isize == stride => *n *= d,
                _ => axes.push((d, stride)),
            }
        }
        if axes.is_empty() {
            axes.push((1, 0));
        }
        let index = SmallVec::from_elem(0, axes.len());
        // SAFETY: a view's offset lies inside its store.
        Cursor { ptr: unsafe { base.add(view.offset) }, size: view.dtype.size(), axes, index }
    }

    /// The address, when the next elements lie side by side to the end.
    pub fn dense(&self) -> Option<*mut u8> {
        match self.axes.as_slice() {
            [(_, s)] if *s == self.size as isize => Some(unsafe { self.ptr.add(self.index[0] * self.size) }),
            _ => None,
        }
    }

    pub unsafe fn take(&mut self, n: usize, dst: *mut u8) {
        let size = self.size;
        self.runs(n, |p, stride, at, len| gather(size, len, p, stride, dst.add(at * size)));
    }

    pub unsafe fn put(&mut self, n: usize, src: *const u8, mask: Option<*const u8>) {
        let size = self.size;
        self.runs(n, |p, stride, at, len| match mask {
            None => scatter(size, len, src.add(at * size), p, stride),
            Some(m) => scatter_masked(size, len, src.add(at * size), m.add(at), p, stride),
        });
    }

    /// Moves on without touching anything.
    pub unsafe fn skip(&mut self, n: usize) {
        self.runs(n, |_, _, _, _| {});
    }

    unsafe fn runs(&mut self, n: usize, mut f: impl FnMut(*mut u8, isize, usize, usize)) {
        let (inner, stride) = self.axes[0];
        let mut at = 0;
        while at < n {
            let len = (inner - self.index[0]).min(n - at);
            f(self.ptr.offset(self.index[0] as isize * stride), stride, at, len);
            at += len;
            self.index[0] += len;
            if self.index[0] < inner {
                break;
            }
            self.index[0] = 0;
            for k in 1..self.axes.len() {
                let (extent, step) = self.axes[k];
                self.index[k] += 1;
                self.ptr = self.ptr.offset(step);
                if self.index[k] < extent {
                    break;
                }
                self.ptr = self.ptr.offset(-(step * extent as isize));
                self.index[k] = 0;
            }
        }
    }
}
