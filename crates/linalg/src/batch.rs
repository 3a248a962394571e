//! The operations: a table, and how a call is cut. Many matrices are divided among tiles; a single large one is LAPACK's
//! where there is one, and else worked on by a gang.

use crate::gang::Gang;
use crate::matrix::{is_finite, load, typed};
use crate::{cholesky, eigen, general_eigen, lapack, least_squares, lu, qr, svd, triangular};
use faer::Par;
use numloom_blas::Blas;
use numloom_blas::stack::{self, with_stack};
use numloom_ir::DType;
use numloom_library::{Args, Form, LibraryError, LibraryOp, RawView};
use numloom_loops::{FP_INVALID, FP_OVERFLOW, fp_clear, fp_raise};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// What one matrix (or a pair) is given to: the operands without their batch axes.
pub struct Call<'a> {
    pub ins: &'a [RawView],
    pub outs: &'a [RawView],
    /// What the row's `option` stands for; see there.
    pub option: bool,
    pub par: Par,
}

/// One operation: how many trailing axes of each operand belong to one matrix, and what is done with it, by us or by
/// LAPACK.
pub struct Row {
    pub name: &'static str,
    pub ins: &'static [usize],
    pub outs: &'static [usize],
    pub own: unsafe fn(&Call<'_>) -> Result<(), LibraryError>,
    pub lapack: unsafe fn(&Call<'_>, &Blas) -> Result<(), LibraryError>,
    /// The number among the outputs whose NaN or infinity is heard of as a floating-point exception.
    pub heard: Option<usize>,
}

pub const ROWS: &[Row] = &[
    // option: the upper factor
    Row { name: "cholesky", ins: &[2], outs: &[2], own: cholesky::cholesky, lapack: lapack::cholesky, heard: None },
    Row { name: "solve", ins: &[2, 2], outs: &[2], own: lu::solve, lapack: lapack::solve, heard: None },
    // option: NaNs where there is no inverse
    Row { name: "inv", ins: &[2], outs: &[2], own: lu::inv, lapack: lapack::inv, heard: None },
    Row { name: "det", ins: &[2], outs: &[0], own: lu::det, lapack: lapack::det, heard: Some(0) },
    Row { name: "slogdet", ins: &[2], outs: &[0, 0], own: lu::slogdet, lapack: lapack::slogdet, heard: Some(1) },
    Row { name: "qr", ins: &[2], outs: &[2, 2], own: qr::qr, lapack: lapack::qr, heard: None },
    Row { name: "qr_r", ins: &[2], outs: &[2], own: qr::r_only, lapack: lapack::r_only, heard: None },
    Row { name: "svd", ins: &[2], outs: &[2, 1, 2], own: svd::svd, lapack: lapack::svd, heard: None },
    Row { name: "svdvals", ins: &[2], outs: &[1], own: svd::values, lapack: lapack::svdvals, heard: None },
    // option: of the upper triangle
    Row { name: "eigh", ins: &[2], outs: &[1, 2], own: eigen::eigh, lapack: lapack::eigh, heard: None },
    Row { name: "eigvalsh", ins: &[2], outs: &[1], own: eigen::values, lapack: lapack::eigvalsh, heard: None },
    Row { name: "eig", ins: &[2], outs: &[1, 2], own: general_eigen::eig, lapack: lapack::eig, heard: None },
    Row { name: "eigvals", ins: &[2], outs: &[1], own: general_eigen::values, lapack: lapack::eigvals, heard: None },
    // option: the lower triangle
    Row {
        name: "solve_triangular",
        ins: &[2, 2],
        outs: &[2],
        own: triangular::solve,
        lapack: lapack::solve_triangular,
        heard: None,
    },
    Row {
        name: "solve_unit_triangular",
        ins: &[2, 2],
        outs: &[2],
        own: triangular::solve_unit,
        lapack: lapack::solve_unit_triangular,
        heard: None,
    },
    // the third input is the share of the largest singular value that counts as zero
    Row {
        name: "lstsq",
        ins: &[2, 2, 0],
        outs: &[2, 1, 0, 1],
        own: least_squares::lstsq,
        lapack: lapack::lstsq,
        heard: None,
    },
];

/// The real and the imaginary part of one number.
unsafe fn number(view: &RawView) -> (f64, f64) {
    let single = |i: usize| view.ptr.cast::<f32>().add(i).read_unaligned() as f64;
    let double = |i: usize| view.ptr.cast::<f64>().add(i).read_unaligned();
    match view.dtype {
        DType::F32 => (single(0), 0.0),
        DType::C64 => (single(0), single(1)),
        DType::C128 => (double(0), double(1)),
        _ => (double(0), 0.0),
    }
}

/// Operations below this many multiplications are not worth a tile; one matrix above `LARGE` of them is worth several
/// threads, LAPACK's or a gang.
const TILE: usize = 1 << 17;
const LARGE: usize = 1 << 22;

/// How a call is worked on.
enum Cut {
    Lapack(&'static Blas),
    Gang,
    Tiles(usize),
}

/// One call of a row.
pub struct Factor {
    row: &'static Row,
    option: bool,
    threads: usize,
    gang: Gang,
}

impl Factor {
    /// The operation called `name`. `threads`: how many workers there are to lend to a large matrix.
    pub fn new(name: &str, option: bool, threads: usize) -> Option<Factor> {
        let row = ROWS.iter().find(|r| r.name == name)?;
        Some(Factor { row, option, threads: threads.clamp(1, 16), gang: Gang::default() })
    }

    /// Matrices in a call, and multiplications for one of them, about.
    fn extent(&self, args: &Args) -> (usize, usize) {
        let Some(first) = args.ins.first() else { return (0, 0) };
        let batch = first.shape[..first.shape.len() - 2].iter().product();
        let [m, n] = [first.shape[first.shape.len() - 2], first.shape[first.shape.len() - 1]];
        let right = args.ins.get(1).and_then(|b| b.shape.last()).copied().unwrap_or(0);
        (batch, m.saturating_mul(n).saturating_mul(m.min(n) + right).max(64))
    }

    fn fits(&self, args: &Args) -> bool {
        let batch_of = |v: &RawView, core: usize| v.shape.len().checked_sub(core).map(|n| v.shape[..n].to_vec());
        let cores = self.row.ins.iter().chain(self.row.outs);
        let mut batches = args.ins.iter().chain(&args.outs).zip(cores).map(|(v, &c)| batch_of(v, c));
        let Some(Some(first)) = batches.next() else { return false };
        args.ins.len() == self.row.ins.len()
            && args.outs.len() == self.row.outs.len()
            && batches.all(|b| b.as_ref() == Some(&first))
    }

    /// The operands without their batch axes: those of the first matrix.
    fn first(views: &[RawView], cores: &[usize]) -> SmallVec<[RawView; 3]> {
        let one = |(v, &core): (&RawView, &usize)| {
            let n = v.shape.len() - core;
            RawView { ptr: v.ptr, dtype: v.dtype, shape: v.shape[n..].into(), strides: v.strides[n..].into() }
        };
        views.iter().zip(cores).map(one).collect()
    }

    /// Moves the operands of one matrix to the `i`-th.
    fn seek(ones: &mut [RawView], views: &[RawView], i: usize) {
        for (one, v) in ones.iter_mut().zip(views) {
            let (mut ptr, mut i) = (v.ptr, i);
            for axis in (0..v.shape.len() - one.shape.len()).rev() {
                // The outermost needs no division.
                let at = if axis == 0 { i } else { i % v.shape[axis] };
                ptr = ptr.wrapping_offset(at as isize * v.strides[axis]);
                i = if axis == 0 { 0 } else { i / v.shape[axis] };
            }
            one.ptr = ptr;
        }
    }

    fn cut(&self, args: &Args) -> Cut {
        let (batch, work) = self.extent(args);
        if batch == 1 && work >= LARGE {
            let size = args.ins[0].shape.iter().product::<usize>();
            if let Some(blas) = numloom_blas::get().filter(|b| b.takes(&[size.saturating_mul(8)])) {
                return Cut::Lapack(blas);
            }
            return Cut::Gang;
        }
        Cut::Tiles(batch.saturating_mul(work).div_ceil(TILE).min(batch))
    }

    /// Raises the exceptions of the numbers that came of some of the matrices: those of no number, and of one beyond the
    /// range where the matrix was not. What was raised on the way there counts for nothing.
    unsafe fn hear(&self, args: &Args, matrices: Range<usize>) {
        let Some(heard) = self.row.heard else { return };
        let (mut ins, mut outs) = (Self::first(&args.ins, self.row.ins), Self::first(&args.outs, self.row.outs));
        let mut flags = 0;
        for i in matrices {
            Self::seek(&mut outs, &args.outs, i);
            let (re, im) = number(&outs[heard]);
            if re.is_nan() || im.is_nan() {
                flags |= FP_INVALID;
            } else if re == f64::INFINITY || re.is_infinite() && heard == 0 || im.is_infinite() {
                Self::seek(&mut ins, &args.ins, i);
                let finite: Result<bool, LibraryError> =
                    typed!(ins[0].dtype, T => Ok(is_finite(load::<T>(&ins[0]).as_ref())));
                flags |= if finite.unwrap_or(false) { FP_OVERFLOW } else { 0 };
            }
        }
        fp_clear();
        fp_raise(flags);
    }

    /// Works on some of the matrices, one after another.
    unsafe fn each(
        &self,
        args: &Args,
        matrices: Range<usize>,
        par: Par,
        blas: Option<&Blas>,
    ) -> Result<(), LibraryError> {
        let (mut ins, mut outs) = (Self::first(&args.ins, self.row.ins), Self::first(&args.outs, self.row.outs));
        for i in matrices {
            Self::seek(&mut ins, &args.ins, i);
            Self::seek(&mut outs, &args.outs, i);
            let call = Call { ins: &ins, outs: &outs, option: self.option, par };
            match blas {
                Some(blas) => (self.row.lapack)(&call, blas)?,
                None => (self.row.own)(&call)?,
            }
        }
        Ok(())
    }
}

impl LibraryOp for Factor {
    fn name(&self) -> &'static str {
        self.row.name
    }

    fn raises(&self) -> Option<&'static str> {
        self.row.heard.map(|_| self.row.name)
    }

    fn form(&self) -> Form {
        let Row { name, ins, outs, .. } = *self.row;
        Form::Factor { name, ins, outs, option: self.option }
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        if !self.fits(args) {
            return smallvec![1];
        }
        match self.cut(args) {
            Cut::Lapack(_) => smallvec![1],
            Cut::Gang => smallvec![self.threads],
            Cut::Tiles(tiles) => smallvec![tiles],
        }
    }

    unsafe fn run(&self, args: &Args, _phase: usize, tile: usize) -> Result<(), LibraryError> {
        if !self.fits(args) {
            return Err(LibraryError::Value(format!("{}: operands do not fit", self.row.name)));
        }
        let (batch, cut) = (self.extent(args).0, self.cut(args));
        let matrices = match cut {
            Cut::Lapack(_) => 0..1,
            Cut::Gang => 0..(tile == 0) as usize,
            Cut::Tiles(tiles) => tile * batch / tiles..(tile + 1) * batch / tiles,
        };
        let done = match cut {
            Cut::Lapack(blas) => {
                let _threads = blas.hold_threads();
                with_stack(stack::FACTORS, || self.each(args, 0..1, Par::Seq, Some(blas)))
                    .unwrap_or_else(|e| Err(LibraryError::Memory(format!("Unable to start a thread: {e}"))))
            }
            Cut::Gang if tile > 0 => {
                self.gang.join();
                Ok(())
            }
            Cut::Gang => self.gang.lead(self.threads, |par| self.each(args, 0..1, par, None)),
            Cut::Tiles(_) => self.each(args, matrices.clone(), Par::Seq, None),
        };
        self.hear(args, matrices);
        done
    }
}
