//! The streams behind `numloom.random`: a bit generator's state, shared with NumPy through its C interface, and the
//! seeding of it. `random_draw.rs` draws from them.

use crate::errors;
use crate::errors::Unsupported;
use crate::random_draw::new_array;
use crate::random_later::Chain;
use numloom_ir::DType;
use numloom_random::bits::Half;
use numloom_random::draw::KeptAfter;
use numloom_random::foreign::{Foreign, Interface, interface};
use numloom_random::legacy::Kept;
use numloom_random::mt19937::{LENGTH, Mt19937};
use numloom_random::pcg64::Pcg64;
use numloom_random::philox::Philox;
use numloom_random::sfc64::Sfc64;
use numloom_random::{BitGen, Bits, Owed, seed, with_bits};
use parking_lot::Mutex;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const CAPSULE: &CStr = c"BitGenerator";

/// The state of a bit generator. NumPy's generators draw from the same memory, through the C interface in the
/// generator's capsule; whoever draws holds the generator's Python lock, which is all that guards it.
#[pyclass(name = "BitStream", module = "numloom.random", frozen)]
pub struct BitStream {
    state: Box<UnsafeCell<BitGen>>,
    lock: Lock,
    /// Whether any distance of the stream is skipped at once.
    pub jumps: bool,
    /// What draws that run later follow each other through.
    later: Mutex<Option<Arc<Chain>>>,
    owes: AtomicBool,
    /// The generator whose memory this is, where it is not ours.
    owner: Option<Py<PyAny>>,
}

// SAFETY: the state is read and written by holders of `lock` only (`BitStream::locked`; NumPy does the same).
unsafe impl Send for BitStream {}
unsafe impl Sync for BitStream {}

fn interface_of(capsule: &Bound<'_, PyAny>) -> PyResult<*mut Interface> {
    // SAFETY: the pointer is checked for null, with Python's error set then.
    let found = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), CAPSULE.as_ptr()) };
    if found.is_null() { Err(PyErr::fetch(capsule.py())) } else { Ok(found.cast()) }
}

/// A Python lock, by its methods: looking them up takes as long as calling them.
struct Lock {
    acquire: Py<PyAny>,
    release: Py<PyAny>,
}

impl Lock {
    fn of(lock: &Bound<'_, PyAny>) -> PyResult<Lock> {
        let py = lock.py();
        let method = |name| Ok::<_, PyErr>(lock.getattr(name)?.unbind());
        Ok(Lock { acquire: method(intern!(py, "acquire"))?, release: method(intern!(py, "release"))? })
    }

    fn hold<'py>(&self, py: Python<'py>) -> PyResult<Held<'_, 'py>> {
        self.acquire.call0(py)?;
        Ok(Held(self, py))
    }
}

/// Releases a lock when it goes.
struct Held<'a, 'py>(&'a Lock, Python<'py>);

impl Drop for Held<'_, '_> {
    fn drop(&mut self) {
        // Nothing can be done about a lock that is not ours any more.
        let _ = self.0.release.call0(self.1);
    }
}

impl BitStream {
    /// Runs `work` on the state while the generator's lock is held.
    pub fn locked<T>(&self, py: Python<'_>, work: impl FnOnce(&mut BitGen) -> T) -> PyResult<T> {
        let _held = self.lock.hold(py)?;
        // SAFETY: the lock is held, and nobody else refers to the state.
        let state = unsafe { &mut *self.state.get() };
        if state.is_owed() {
            errors::detached(py, || state.settled());
        }
        self.owes.store(false, Ordering::Relaxed);
        Ok(work(state))
    }

    /// Runs `record` while the generator's lock is held, with the chain that its draw is to join; the state is owed then.
    pub fn owing<T>(&self, py: Python<'_>, record: impl FnOnce(&Arc<Chain>) -> PyResult<T>) -> PyResult<T> {
        let _held = self.lock.hold(py)?;
        // SAFETY: as in `locked`.
        let state = unsafe { &mut *self.state.get() };
        let mut kept = self.later.lock();
        let chain = match &*kept {
            Some(chain) => chain.clone(),
            None => {
                let cell = new_array(py, &[1], DType::U64)?;
                kept.insert(Arc::new(Chain::new(cell, state.clone()))).clone()
            }
        };
        if !state.is_owed() {
            chain.restart(state.clone());
        }
        let recorded = record(&chain)?;
        *state = BitGen::Owed(Owed(chain));
        self.owes.store(true, Ordering::Relaxed);
        Ok(recorded)
    }

    /// Whether the state is not ours, and changes with every word drawn.
    pub fn is_foreign(&self) -> bool {
        self.owner.is_some()
    }

    /// Whether draws are still to run. Somebody else may have waited for them meanwhile: it is a hint.
    pub fn owes(&self) -> bool {
        self.owes.load(Ordering::Relaxed) && !self.later.lock().as_ref().is_some_and(|chain| chain.is_over())
    }
}

#[pymethods]
impl BitStream {
    /// A stream of `kind`, seeded with words of a seed sequence, whose C interface replaces what `capsule` holds.
    #[new]
    fn new(
        kind: &str,
        words: &Bound<'_, PyAny>,
        capsule: &Bound<'_, PyAny>,
        lock: &Bound<'_, PyAny>,
    ) -> PyResult<BitStream> {
        let state = match kind {
            "PCG64" => Pcg64::<false>::seeded(words.extract()?).into(),
            "PCG64DXSM" => Pcg64::<true>::seeded(words.extract()?).into(),
            "SFC64" => Sfc64::seeded(words.extract()?).into(),
            "MT19937" => {
                let words: Vec<u32> = words.extract()?;
                let words: &[u32; LENGTH] =
                    words.as_slice().try_into().map_err(|_| PyValueError::new_err("624 words are needed"))?;
                Mt19937::seeded(words).into()
            }
            "Philox" => {
                let (key, counter) = words.extract()?;
                Philox::new(key, counter).into()
            }
            _ => return Err(PyValueError::new_err(format!("unknown bit generator {kind}"))),
        };
        let state: BitGen = state;
        let jumps = state.jumps();
        let stream = BitStream {
            state: Box::new(UnsafeCell::new(state)),
            lock: Lock::of(lock)?,
            jumps,
            later: Mutex::default(),
            owes: AtomicBool::new(false),
            owner: None,
        };
        let to = interface_of(capsule)?;
        // SAFETY: the capsule of a NumPy BitGenerator points to its interface, which lives as long as it does; the
        // generator holds this stream, so the state in the box lives as long too.
        unsafe { to.write(interface(stream.state.get())) };
        Ok(stream)
    }

    /// The stream of a bit generator that is not ours.
    #[staticmethod]
    fn of(owner: &Bound<'_, PyAny>) -> PyResult<BitStream> {
        let py = owner.py();
        let from = interface_of(&owner.getattr(intern!(py, "capsule"))?)?;
        let lock = Lock::of(&owner.getattr(intern!(py, "lock"))?)?;
        // SAFETY: the owner is kept, and draws happen under its lock.
        let state = BitGen::Foreign(unsafe { Foreign::new(from) });
        let owner = Some(owner.clone().unbind());
        Ok(BitStream {
            state: Box::new(UnsafeCell::new(state)),
            lock,
            jumps: false,
            later: Mutex::default(),
            owes: AtomicBool::new(false),
            owner,
        })
    }

    /// The state as numbers: (state, increment), (counter, key, buffer, place), (words,) or (key as bytes, place),
    /// then whether half a word was kept, and the half, where the generator has them.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let half = |h: &Half| (h.has as i32, h.word);
        match self.locked(py, |state| state.clone())? {
            BitGen::Pcg64(Pcg64 { state, inc, half: h }) => (state, inc, half(&h)).into_pyobject(py),
            BitGen::Pcg64Dxsm(Pcg64 { state, inc, half: h }) => (state, inc, half(&h)).into_pyobject(py),
            BitGen::Philox(p) => (p.counter, p.key, p.buffer, p.at, half(&p.half)).into_pyobject(py),
            BitGen::Sfc64(s) => (s.state, half(&s.half)).into_pyobject(py),
            BitGen::Mt19937(m) => {
                let bytes: Vec<u8> = m.key.iter().flat_map(|w| w.to_ne_bytes()).collect();
                (PyBytes::new(py, &bytes), m.at).into_pyobject(py)
            }
            BitGen::Foreign(_) | BitGen::Owed(_) => Err(Unsupported::new_err("the state lies elsewhere")),
        }
    }

    /// Takes over a state as `get` gives it.
    fn set(&self, py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<()> {
        let half = |(has, word): (i64, u32)| Half { has: has != 0, word };
        let now = self.locked(py, |state| state.clone())?;
        let new: BitGen = match now {
            BitGen::Pcg64(_) | BitGen::Pcg64Dxsm(_) => {
                let (state, inc, h) = values.extract()?;
                let half = half(h);
                match now {
                    BitGen::Pcg64(_) => Pcg64::<false> { state, inc, half }.into(),
                    _ => Pcg64::<true> { state, inc, half }.into(),
                }
            }
            BitGen::Philox(_) => {
                let (counter, key, buffer, at, h): (_, _, _, usize, _) = values.extract()?;
                Philox { counter, key, buffer, at: at.min(4), half: half(h) }.into()
            }
            BitGen::Sfc64(_) => {
                let (state, h) = values.extract()?;
                Sfc64 { state, half: half(h) }.into()
            }
            BitGen::Mt19937(_) => {
                let (key, at): (Vec<u32>, usize) = values.extract()?;
                let key = key.try_into().map_err(|_| PyValueError::new_err("624 words are needed"))?;
                Mt19937 { key, at: at.min(LENGTH) }.into()
            }
            BitGen::Foreign(_) | BitGen::Owed(_) => return Err(Unsupported::new_err("the state lies elsewhere")),
        };
        self.locked(py, |state| *state = new)
    }

    /// Moves on by `steps` words (PCG) or blocks (Philox) and forgets what was kept of a word.
    fn advance(&self, py: Python<'_>, steps: [u64; 4]) -> PyResult<()> {
        let wide = (steps[1] as u128) << 64 | steps[0] as u128;
        self.locked(py, |state| match state {
            BitGen::Pcg64(p) => {
                p.advance(wide);
                p.half = Half::default();
                Ok(())
            }
            BitGen::Pcg64Dxsm(p) => {
                p.advance(wide);
                p.half = Half::default();
                Ok(())
            }
            BitGen::Philox(p) => {
                p.advance(steps);
                Ok(())
            }
            _ => Err(PyTypeError::new_err("this generator cannot be advanced")),
        })?
    }

    /// Seeds a Mersenne Twister with one number, or with an array of them, as its authors do.
    #[pyo3(signature = (seeds, is_number))]
    fn seed_twister(&self, py: Python<'_>, seeds: Vec<u32>, is_number: bool) -> PyResult<()> {
        if seeds.is_empty() {
            return Err(PyValueError::new_err("Seed must be non-empty"));
        }
        let new = if is_number { Mt19937::from_number(seeds[0]) } else { Mt19937::from_array(&seeds) };
        self.locked(py, |state| *state = new.into())
    }

    /// One raw word.
    fn raw(&self, py: Python<'_>) -> PyResult<u64> {
        self.locked(py, |state| with_bits!(state, b => b.next_raw()))
    }
}

/// The normal that a `RandomState` keeps for its next call. Draws that are still to run change it when they do: whoever
/// looks settles the stream first.
#[pyclass(name = "KeptNormal", module = "numloom.random", frozen)]
#[derive(Default)]
pub struct KeptNormal(pub KeptAfter);

#[pymethods]
impl KeptNormal {
    #[new]
    fn new() -> KeptNormal {
        KeptNormal::default()
    }

    fn get(&self, py: Python<'_>, stream: &BitStream) -> PyResult<Kept> {
        stream.locked(py, |_| *self.0.lock())
    }

    #[pyo3(signature = (stream, value))]
    fn set(&self, py: Python<'_>, stream: &BitStream, value: Kept) -> PyResult<()> {
        stream.locked(py, |_| *self.0.lock() = value)
    }
}

/// The pool of `size` words that a seed sequence makes of its entropy.
#[pyfunction]
fn seed_pool(entropy: Vec<u32>, size: usize) -> Vec<u32> {
    seed::pool(&entropy, size)
}

/// `n` words of state from a pool.
#[pyfunction]
fn seed_words(pool: Vec<u32>, n: usize) -> Vec<u32> {
    seed::words(&pool, n)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<BitStream>()?;
    m.add_class::<KeptNormal>()?;
    m.add_function(wrap_pyfunction!(seed_pool, m)?)?;
    m.add_function(wrap_pyfunction!(seed_words, m)?)
}
