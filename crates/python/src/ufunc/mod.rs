//! The ufuncs: one Python object per row of the table of scalar operations, and the matrix products.
//!
//! A call goes from `call` (or `reduction`, `methods`, `products`) to one recorded operation. Whatever these do not
//! handle ends in `Stop::ToNumpy`, and NumPy's own ufunc runs on the same memory or raises its own error.

pub mod arguments;
pub mod call;
pub mod fallback;
pub mod input;
pub mod keywords;
pub mod layout;
pub mod methods;
pub mod products;
pub mod reduction;
pub mod resolve;
pub mod vectorcall;

use crate::handle::NdArray;
use crate::numpy_api::api;
use input::Stop;
use keywords::Keywords;
use numloom_ir::ScalarOp;
use products::Product;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Scalar(ScalarOp),
    Product(Product),
    /// `isnat`: none of our types has a not-a-time.
    NumpyOnly(&'static str),
}

#[pyclass(name = "ufunc", module = "numloom", frozen)]
pub struct Ufunc {
    pub kind: Kind,
    /// What Python calls where it can do without a tuple.
    vectorcall: ffi::vectorcallfunc,
    /// NumPy's of the same name, once it was asked for.
    numpy: PyOnceLock<Py<PyAny>>,
}

impl Ufunc {
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Scalar(op) => op.name(),
            Kind::Product(p) => p.name(),
            Kind::NumpyOnly(name) => name,
        }
    }

    /// NumPy's ufunc of the same name.
    fn of_numpy_itself<'py>(&'py self, py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
        let found = self.numpy.get_or_try_init(py, || Ok::<_, PyErr>(api(py).numpy(py).getattr(self.name())?.unbind()));
        found.map(|ufunc| ufunc.bind(py))
    }

    /// An attribute of NumPy's ufunc of the same name.
    fn of_numpy(&self, py: Python<'_>, attribute: &str) -> PyResult<Py<PyAny>> {
        Ok(api(py).numpy(py).getattr(self.name())?.getattr(attribute)?.unbind())
    }

    fn arity(&self) -> (usize, usize) {
        match self.kind {
            Kind::Scalar(op) => (op.nin(), op.nout()),
            Kind::Product(_) => (2, 1),
            Kind::NumpyOnly(_) => (1, 1),
        }
    }

    pub fn call<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        match self.call_native(py, args, kwargs) {
            Ok(result) => Ok(result),
            Err(Stop::Raise(e)) => Err(e),
            Err(Stop::ToNumpy) => fallback::call_numpy(py, self.name(), None, args, kwargs),
        }
    }

    #[inline]
    fn call_native<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> input::Native<Py<PyAny>> {
        let n = args.len();
        match self.kind {
            Kind::Scalar(op) if kwargs.is_none() && n == op.nin() && op.nout() == 1 => call::call_plain(py, op, args),
            Kind::Scalar(op)
                if n == op.nin()
                    && op.nout() == 1
                    && let Some(out) = only_out(py, kwargs) =>
            {
                call::call_out(py, op, args, &out)
            }
            Kind::Scalar(op) if n >= op.nin() && n <= op.nin() + op.nout() => {
                let items: SmallVec<[Bound<'py, PyAny>; 4]> = args.iter().collect();
                let kw = Keywords::parse(op, &items[op.nin()..], kwargs)?;
                call::call_full(py, op, &items[..op.nin()], &kw)
            }
            Kind::Product(p) => products::call(py, p, args, kwargs),
            _ => Err(Stop::ToNumpy),
        }
    }
}

/// The array of ours in `out=`, if that is the only keyword.
fn only_out<'py>(py: Python<'py>, kwargs: Option<&Bound<'py, PyDict>>) -> Option<Bound<'py, NdArray>> {
    let kwargs = kwargs.filter(|k| k.len() == 1)?;
    kwargs.get_item(intern!(py, "out")).ok()??.cast_into_exact::<NdArray>().ok()
}

#[pymethods]
impl Ufunc {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        self.call(py, args, kwargs)
    }

    fn __repr__(&self) -> String {
        format!("<ufunc '{}'>", self.name())
    }

    /// Equal to NumPy's of the same name, which is what other libraries look up.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = other.py();
        match other.cast_exact::<Ufunc>() {
            Ok(o) => Ok(o.get().kind == self.kind),
            Err(_) => Ok(api(py).numpy(py).getattr(self.name())?.is(other)),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        api(py).numpy(py).getattr(self.name())?.hash()
    }

    #[getter]
    fn __name__(&self) -> &'static str {
        self.name()
    }

    #[getter]
    fn __qualname__(&self) -> &'static str {
        self.name()
    }

    #[getter]
    fn __doc__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.of_numpy(py, "__doc__")
    }

    #[getter]
    fn __signature__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let inspect = py.import("inspect")?;
        Ok(inspect.call_method1("signature", (api(py).numpy(py).getattr(self.name())?,))?.unbind())
    }

    #[getter]
    fn nin(&self) -> usize {
        self.arity().0
    }

    #[getter]
    fn nout(&self) -> usize {
        self.arity().1
    }

    #[getter]
    fn nargs(&self) -> usize {
        self.arity().0 + self.arity().1
    }

    #[getter]
    fn ntypes(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.of_numpy(py, "ntypes")
    }

    #[getter]
    fn types(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.of_numpy(py, "types")
    }

    #[getter]
    fn identity(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.of_numpy(py, "identity")
    }

    #[getter]
    fn signature(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.of_numpy(py, "signature")
    }

    #[pyo3(
        signature = (dtypes, **kwargs),
        text_signature = "($self, dtypes, *, signature=None, casting=None, reduction=False)"
    )]
    fn resolve_dtypes<'py>(
        &self,
        dtypes: &Bound<'py, PyAny>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = dtypes.py();
        api(py).numpy(py).getattr(self.name())?.call_method("resolve_dtypes", (dtypes,), kwargs)
    }

    /// What only NumPy's ufunc has.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        self.of_numpy(py, name)
    }

    /// Pickled by name, as NumPy's are.
    fn __reduce__(&self) -> &'static str {
        self.name()
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn reduce<'py>(&self, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
        self.method("reduce", args, kwargs, reduction::reduce_method)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn accumulate<'py>(&self, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
        self.method("accumulate", args, kwargs, methods::accumulate)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn reduceat<'py>(&self, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
        self.method("reduceat", args, kwargs, methods::reduceat)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn outer<'py>(&self, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
        self.method("outer", args, kwargs, methods::outer)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn at<'py>(&self, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> PyResult<Py<PyAny>> {
        self.method("at", args, kwargs, methods::at)
    }
}

type Method<'py> = fn(ScalarOp, &Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>) -> input::Native<Py<PyAny>>;

impl Ufunc {
    fn method<'py>(
        &self,
        name: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        native: Method<'py>,
    ) -> PyResult<Py<PyAny>> {
        let answer = match self.kind {
            Kind::Scalar(op) => native(op, args, kwargs),
            _ => Err(Stop::ToNumpy),
        };
        match answer {
            Ok(result) => Ok(result),
            Err(Stop::Raise(e)) => Err(e),
            Err(Stop::ToNumpy) => fallback::call_numpy(args.py(), self.name(), Some(name), args, kwargs),
        }
    }
}

/// Puts the class and every ufunc, under all its names, into the module.
pub fn register(py: Python<'_>, m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Ufunc>()?;
    let scalar_ops = ScalarOp::ALL.iter().map(|&op| (Kind::Scalar(op), op.aliases()));
    let products = Product::ALL.iter().map(|&p| (Kind::Product(p), &[][..]));
    let only_numpy = [(Kind::NumpyOnly("isnat"), &[][..])];
    let mut last = None;
    for (kind, aliases) in scalar_ops.chain(products).chain(only_numpy) {
        let made = Py::new(py, Ufunc { kind, vectorcall: vectorcall::vectorcall, numpy: PyOnceLock::new() })?;
        for alias in aliases {
            m.add(*alias, &made)?;
        }
        m.add(made.get().name(), &made)?;
        last = Some(made);
    }
    if let Some(sample) = last {
        vectorcall::install(sample.bind(py));
    }
    products::register(m)
}
