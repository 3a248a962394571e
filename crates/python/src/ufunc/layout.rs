//! Shapes and memory layouts of results.

use super::input::{Native, Stop};
use numloom_ir::view::{Order, broadcast_shapes, dense_strides, keep_order_strides};
use numloom_ir::{DType, Dims, Strides, View};
use numloom_runtime::Array;
use smallvec::SmallVec;

/// The `order=` of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OutputOrder {
    C,
    F,
    A,
    K,
}

pub type Arrays<'a> = SmallVec<[&'a Array; 3]>;

/// The shape that all arrays broadcast to; NumPy words the error when they do not.
#[inline]
pub fn common_shape(arrays: &[&Array]) -> Native<Dims> {
    let mut shape: Option<&Dims> = None;
    for a in arrays {
        match shape {
            None => shape = Some(&a.view.shape),
            Some(s) if *s == a.view.shape => {}
            Some(s) if a.view.shape.is_empty() && !s.is_empty() => {}
            Some(s) if s.is_empty() => shape = Some(&a.view.shape),
            Some(_) => return broadcast_shapes(arrays.iter().map(|a| &a.view.shape[..])).ok_or(Stop::ToNumpy),
        }
    }
    Ok(shape.cloned().unwrap_or_default())
}

/// The view of a new result of this shape, laid out as NumPy's iterator would.
#[inline]
pub fn result_view(dtype: DType, shape: &Dims, arrays: &[&Array], order: OutputOrder) -> View {
    let strides = match order {
        OutputOrder::K if shape.len() <= 1 => dense_strides(dtype.size(), shape, Order::C),
        OutputOrder::C => dense_strides(dtype.size(), shape, Order::C),
        OutputOrder::F => dense_strides(dtype.size(), shape, Order::F),
        OutputOrder::A => {
            let fortran = arrays.iter().all(|a| a.view.is_f_contiguous());
            dense_strides(dtype.size(), shape, if fortran { Order::F } else { Order::C })
        }
        OutputOrder::K => keep_order(dtype, shape, arrays),
    };
    View { dtype, offset: 0, shape: shape.clone(), strides }
}

fn keep_order(dtype: DType, shape: &Dims, arrays: &[&Array]) -> Strides {
    let mut c_like = true;
    for a in arrays {
        c_like &= a.view.shape.len() <= 1 || a.view.is_c_contiguous();
    }
    if c_like {
        return dense_strides(dtype.size(), shape, Order::C);
    }
    let strides: SmallVec<[Strides; 3]> =
        arrays.iter().filter_map(|a| a.view.broadcast_to(shape)).map(|v| v.strides).collect();
    let refs: SmallVec<[&Strides; 3]> = strides.iter().collect();
    keep_order_strides(dtype.size(), shape, &refs)
}
