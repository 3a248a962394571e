//! Lanes between views and dense buffers. Several lanes go together where they are not dense themselves, so that
//! neighbours share their cache lines.

use crate::number::{Number, read, write};
use numloom_ir::DType;
use numloom_library::{LARGE, LibraryError, RawView};
use numloom_loops as loops;
use rustfft::num_complex::Complex;

/// Room for `n` values, all zero; an error rather than an abort where there is none.
pub fn room<T: Clone + Default>(n: usize) -> Result<Vec<T>, LibraryError> {
    let mut made = Vec::new();
    made.try_reserve_exact(n)
        .map_err(|_| LibraryError::Memory(format!("Unable to allocate scratch for {n} elements")))?;
    made.resize(n, T::default());
    Ok(made)
}

/// The axis of a view that is transformed: where it begins in each lane is told call by call.
#[derive(Clone, Copy)]
pub struct Axis {
    pub ptr: *mut u8,
    pub dtype: DType,
    pub len: usize,
    pub step: isize,
    /// Whether the view is larger than the caches.
    pub large: bool,
}

impl Axis {
    pub fn of(view: &RawView, axis: usize) -> Axis {
        let large = view.size() * view.dtype.size() >= LARGE;
        Axis { ptr: view.ptr, dtype: view.dtype, len: view.shape[axis], step: view.strides[axis], large }
    }

    /// Calls `f(lane, i, address)` for the first `count` elements of each of the lanes, neighbours together.
    #[inline(always)]
    unsafe fn each(&self, starts: &[isize], count: usize, mut f: impl FnMut(usize, usize, *mut u8)) {
        if let [start] = starts {
            for i in 0..count {
                f(0, i, self.ptr.offset(start + i as isize * self.step));
            }
            return;
        }
        for i in 0..count {
            for (lane, start) in starts.iter().enumerate() {
                f(lane, i, self.ptr.offset(start + i as isize * self.step));
            }
        }
    }

    /// Lane `k` to `to[k * n ..]`: its first `n` elements, with zeros where it has fewer.
    ///
    /// # Safety
    /// `starts` are byte offsets of lanes of the view.
    pub unsafe fn gather<T: Number>(&self, starts: &[isize], n: usize, to: &mut [Complex<T>]) {
        let count = self.len.min(n);
        for lane in to.chunks_exact_mut(n) {
            lane[count..].fill(Complex::default());
        }
        let (dtype, to) = (self.dtype, to.as_mut_ptr());
        if let ([start], true) = (starts, self.is_dense::<Complex<T>>()) {
            std::ptr::copy_nonoverlapping(self.ptr.offset(*start).cast(), to, count);
            return;
        }
        if self.are_beside::<Complex<T>>(starts) {
            return self.turn_in(starts, count, to, n);
        }
        // One arm a dtype, so that the type is not asked for every element.
        macro_rules! arms {
            ($($d:ident),*) => {
                match dtype {
                    $(DType::$d => self.each(starts, count, |lane, i, p| *to.add(lane * n + i) = read(DType::$d, p)),)*
                    _ => {}
                }
            };
        }
        arms!(F32, F64, C64, C128);
    }

    /// Whether the elements are `E`s, real or complex numbers.
    fn holds<E>(&self) -> bool {
        let size = size_of::<E>();
        self.dtype.size() == size && self.dtype.is_complex() == (align_of::<E>() < size)
    }

    /// Whether a lane lies in memory as a slice of `E`, a real or complex number of this dtype.
    pub fn is_dense<E>(&self) -> bool {
        self.holds::<E>() && self.step == size_of::<E>() as isize
    }

    /// Whether the first elements of the lanes lie in memory as a slice of `E`.
    fn are_beside<E>(&self, starts: &[isize]) -> bool {
        self.holds::<E>() && starts.len() > 1 && starts.windows(2).all(|s| s[1] - s[0] == size_of::<E>() as isize)
    }

    /// Lanes that are beside each other, `n` places of `to` for each.
    unsafe fn turn_in<E>(&self, starts: &[isize], count: usize, to: *mut E, n: usize) {
        let (size, from) = (size_of::<E>(), self.ptr.offset(starts[0]));
        loops::turn(size, count, starts.len(), from, self.step, to.cast(), (n * size) as isize);
    }

    /// Lane `k`, from `z[k * n ..]` on, back into the view, times `scale`. What is in `z` afterwards is not told.
    ///
    /// # Safety
    /// As for `scatter`; `n` is at least the view's length along the axis.
    pub unsafe fn scatter_scaled<T: Number>(&self, starts: &[isize], z: &mut [Complex<T>], n: usize, scale: T) {
        if self.are_beside::<Complex<T>>(starts) {
            if scale != T::one() {
                z.iter_mut().for_each(|z| *z = *z * scale);
            }
            let (size, to) = (size_of::<Complex<T>>(), self.ptr.offset(starts[0]));
            return loops::turn(size, starts.len(), self.len, z.as_ptr().cast(), (n * size) as isize, to, self.step);
        }
        let z = z.as_ptr();
        self.scatter(starts, |lane, i| *z.add(lane * n + i) * scale);
    }

    /// As `gather`, of real numbers.
    ///
    /// # Safety
    /// As for `gather`.
    pub unsafe fn gather_real<T: Number>(&self, starts: &[isize], n: usize, to: &mut [T]) {
        let count = self.len.min(n);
        for lane in to.chunks_exact_mut(n) {
            lane[count..].fill(T::zero());
        }
        let to = to.as_mut_ptr();
        if let ([start], true) = (starts, self.is_dense::<T>()) {
            std::ptr::copy_nonoverlapping(self.ptr.offset(*start).cast(), to, count);
        } else if self.are_beside::<T>(starts) {
            self.turn_in(starts, count, to, n);
        } else if self.dtype == DType::F32 {
            self.each(starts, count, |lane, i, p| *to.add(lane * n + i) = read::<T>(DType::F32, p).re);
        } else {
            self.each(starts, count, |lane, i, p| *to.add(lane * n + i) = read::<T>(DType::F64, p).re);
        }
    }

    /// One element of a lane.
    ///
    /// # Safety
    /// As for `gather`; the lane has that many.
    #[inline(always)]
    pub unsafe fn get<T: Number>(&self, start: isize, i: usize) -> Complex<T> {
        read(self.dtype, self.ptr.offset(start + i as isize * self.step))
    }

    /// Sets one element of a lane.
    ///
    /// # Safety
    /// As for `scatter`.
    #[inline(always)]
    pub unsafe fn put<T: Number>(&self, start: isize, i: usize, z: Complex<T>) {
        write(self.dtype, self.ptr.offset(start + i as isize * self.step), z)
    }

    /// The lanes back into the view, each element through `f(lane, i)`.
    ///
    /// # Safety
    /// As for `gather`; the lanes are writeable.
    pub unsafe fn scatter<T: Number>(&self, starts: &[isize], f: impl Fn(usize, usize) -> Complex<T>) {
        let dtype = self.dtype;
        macro_rules! arms {
            ($($d:ident),*) => {
                match dtype {
                    $(DType::$d => self.each(starts, self.len, |lane, i, p| write(DType::$d, p, f(lane, i))),)*
                    _ => {}
                }
            };
        }
        arms!(F32, F64, C64, C128);
    }
}
