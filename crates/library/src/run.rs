//! A few elements in a row, read as a slice.

use smallvec::SmallVec;

/// Elements that lie `step` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub ptr: *const u8,
    pub step: isize,
    pub len: usize,
}

/// Where elements go that do not lie as a slice does.
pub type Room<T> = SmallVec<[T; 32]>;

impl Run {
    /// The elements, where they lie if that is one after another, else in `room`.
    ///
    /// # Safety
    /// The run lies in readable memory of `T`, which stays as it is while the slice lives.
    pub unsafe fn slice<'a, T: Copy>(&self, room: &'a mut Room<T>) -> &'a [T] {
        if self.step == size_of::<T>() as isize && self.ptr.cast::<T>().is_aligned() {
            return std::slice::from_raw_parts(self.ptr.cast(), self.len);
        }
        let at = |i: usize| self.ptr.offset(i as isize * self.step).cast::<T>().read_unaligned();
        room.clear();
        room.extend((0..self.len).map(at));
        room
    }
}
