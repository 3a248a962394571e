//! Small arrays that are there, read where they lie, and new ones to be filled: for functions whose work on a few
//! elements takes less time than to say what it is.

use crate::array::Array;
use crate::inline::is_dense;
use crate::ledger::TRACKED;
use crate::small::is_small;
use crate::stats;
use crate::store::Store;
use numloom_ir::view::{Order, dense_strides};
use numloom_ir::{DType, Dims, View};

/// An array that is there.
#[derive(Clone, Copy)]
pub struct Near<'a> {
    /// The first element.
    pub ptr: *const u8,
    pub view: &'a View,
}

impl Near<'_> {
    /// Whether its elements lie one after another, in C order.
    #[inline]
    pub fn is_dense(&self) -> bool {
        is_dense(self.view)
    }
}

/// Whether functions that look once at each of so many elements run at once.
#[inline]
fn is_near(elements: usize) -> bool {
    elements > 0 && elements <= numloom_config::current().inline_size
}

/// Where the elements of a small array lie, if nothing recorded is still on its way to them. Whoever reads them holds
/// `record::still`.
#[inline]
pub fn near(a: &Array) -> Option<Near<'_>> {
    if is_small(a.view.size()) { there(a) } else { None }
}

/// As `near`, for functions that look at every element once.
#[inline]
pub fn near_enough(a: &Array) -> Option<Near<'_>> {
    if is_near(a.view.size()) { there(a) } else { None }
}

/// As `near`, for an array of any size of which little is read.
#[inline]
pub fn there(a: &Array) -> Option<Near<'_>> {
    let p = a.store.ptr();
    if p.is_null() || !a.store.is_settled() || a.symbol().is_some() || a.store.is_broken() {
        return None;
    }
    // A view's offset lies inside its store.
    Some(Near { ptr: p.wrapping_add(a.view.offset), view: &a.view })
}

/// Where the elements of an array are to be changed, some of them, if nothing recorded is on its way to or from it. Whoever
/// writes them holds `record::still`, and says `changed` afterwards.
#[inline]
pub fn to_change(a: &Array) -> Option<*mut u8> {
    let free = a.store.is_idle() && !a.store.is_away() && !a.store.is_broken() && a.symbol().is_none();
    let base = if free { a.store.materialise().ok()? } else { return None };
    // A view's offset lies inside its store.
    Some(base.wrapping_add(a.view.offset))
}

/// Elements of an array were written, as the operation `name`.
#[inline]
pub fn changed(a: &Array, name: &'static str) {
    a.store.wrote();
    stats::count_inline(name);
}

/// A new array, and where its elements go.
pub type Filled = (Array, *mut u8);

/// A small new array in C order, and where its elements are to be written: all of them, before anybody else sees it.
#[inline]
pub fn to_fill(name: &'static str, dtype: DType, shape: Dims) -> Option<Filled> {
    let n = numloom_ir::view::checked_size(&shape)?;
    let strides = dense_strides(dtype.size(), &shape, Order::C);
    // The line of a larger array is kept.
    let fits = is_near(n) && n * dtype.size() < TRACKED;
    fits.then(|| laid_out(name, n, View { dtype, offset: 0, shape, strides })).flatten()
}

/// As `to_fill`, for a view of `n` elements in a dense layout of the caller's.
#[inline]
pub fn laid_out(name: &'static str, n: usize, view: View) -> Option<Filled> {
    let store = Store::to_fill(n * view.dtype.size()).ok()?;
    stats::count_inline(name);
    let ptr = store.ptr();
    Some((Array::first(store, view), ptr))
}
