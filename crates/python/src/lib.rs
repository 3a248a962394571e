//! `numloom._core`: the classes and functions of the bindings. `README.md` says who does what.

mod account;
mod assign;
mod bare;
mod control;
mod convert;
mod create;
mod dispatch;
mod driver;
mod errors;
mod fft;
mod files;
mod flags;
mod fperr;
mod handle;
mod heap;
mod index;
mod interchange;
mod join;
mod layout;
mod linalg;
mod manipulate;
mod methods;
mod numpy_api;
mod object;
mod operators;
mod placement;
mod profile;
mod protocols;
mod provenance;
mod quick;
mod quick_index;
mod random;
mod random_draw;
mod random_parameters;
mod random_rows;
mod reduce;
mod repeat;
mod scalar;
mod select;
mod selection;
mod slots;
mod sorting;
mod ufunc;
mod warm;

use numloom_runtime::pool;
use pyo3::prelude::*;

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    heap::init();
    warm::init();
    numloom_library::borrow_from(numloom_library::Lender { take: pool::lend, give: pool::free });
    numloom_blas::offer(linalg::threads_of_a_blas);
    numpy_api::init(py)?;
    m.add_class::<handle::NdArray>()?;
    m.add_class::<handle::Scalar>()?;
    quick::init(py)?;
    m.add("Unsupported", py.get_type::<errors::Unsupported>())?;
    m.add("OutOfMemoryError", py.get_type::<errors::OutOfMemoryError>())?;
    create::register(m)?;
    protocols::register(m)?;
    control::register(m)?;
    account::register(m)?;
    placement::register(m)?;
    interchange::register(m)?;
    driver::register(m)?;
    profile::register(m)?;
    m.add_function(wrap_pyfunction!(bare::put_short_ways, m)?)?;
    m.add_function(wrap_pyfunction!(repeat::repeated, m)?)?;
    m.add_function(wrap_pyfunction!(layout::copy_mode, m)?)?;
    m.add_function(wrap_pyfunction!(join::join, m)?)?;
    m.add_function(wrap_pyfunction!(manipulate::broadcast_to, m)?)?;
    m.add_function(wrap_pyfunction!(manipulate::strided_view, m)?)?;
    ufunc::register(py, m)?;
    reduce::register(py, m)?;
    select::register(py, m)?;
    sorting::register(m)?;
    linalg::register(m)?;
    fft::register(m)?;
    files::register(m)?;
    random::register(m)?;
    random_draw::register(m)?;
    random_rows::register(m)?;
    Ok(())
}
