//! The operations: a table, and how a call is cut. Many matrices are divided among tiles; a single large one is worked
//! on by a gang.

use crate::gang::Gang;
use crate::{cholesky, eigen, general_eigen, lu, qr, svd, triangular};
use faer::Par;
use numloom_library::{Args, Form, LibraryError, LibraryOp, RawView};
use smallvec::{SmallVec, smallvec};

/// What one matrix (or a pair) is given to: the operands without their batch axes.
pub struct Call<'a> {
    pub ins: &'a [RawView],
    pub outs: &'a [RawView],
    /// What the row's `option` stands for; see there.
    pub option: bool,
    pub par: Par,
}

/// One operation: how many trailing axes of each operand belong to one matrix, and what is done with it.
pub struct Row {
    pub name: &'static str,
    pub ins: &'static [usize],
    pub outs: &'static [usize],
    pub run: unsafe fn(&Call<'_>) -> Result<(), LibraryError>,
}

pub const ROWS: &[Row] = &[
    // option: the upper factor
    Row { name: "cholesky", ins: &[2], outs: &[2], run: cholesky::cholesky },
    Row { name: "solve", ins: &[2, 2], outs: &[2], run: lu::solve },
    // option: NaNs where there is no inverse
    Row { name: "inv", ins: &[2], outs: &[2], run: lu::inv },
    Row { name: "det", ins: &[2], outs: &[0], run: lu::det },
    Row { name: "slogdet", ins: &[2], outs: &[0, 0], run: lu::slogdet },
    Row { name: "qr", ins: &[2], outs: &[2, 2], run: qr::qr },
    Row { name: "qr_r", ins: &[2], outs: &[2], run: qr::r_only },
    Row { name: "svd", ins: &[2], outs: &[2, 1, 2], run: svd::svd },
    Row { name: "svdvals", ins: &[2], outs: &[1], run: svd::values },
    // option: of the upper triangle
    Row { name: "eigh", ins: &[2], outs: &[1, 2], run: eigen::eigh },
    Row { name: "eigvalsh", ins: &[2], outs: &[1], run: eigen::values },
    Row { name: "eig", ins: &[2], outs: &[1, 2], run: general_eigen::eig },
    Row { name: "eigvals", ins: &[2], outs: &[1], run: general_eigen::values },
    // option: the lower triangle
    Row { name: "solve_triangular", ins: &[2, 2], outs: &[2], run: triangular::solve },
    Row { name: "solve_unit_triangular", ins: &[2, 2], outs: &[2], run: triangular::solve_unit },
];

/// Operations below this many multiplications are not worth a tile, and one above `GANG` of them is worth a gang.
const TILE: usize = 1 << 17;
const GANG: usize = 1 << 22;

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

    /// The operands of the `i`-th matrix.
    unsafe fn at(views: &[RawView], cores: &[usize], i: usize) -> SmallVec<[RawView; 3]> {
        let one = |(v, &core): (&RawView, &usize)| {
            let n = v.shape.len() - core;
            let (mut ptr, mut i) = (v.ptr, i);
            for axis in (0..n).rev() {
                ptr = ptr.offset((i % v.shape[axis]) as isize * v.strides[axis]);
                i /= v.shape[axis];
            }
            RawView { ptr, dtype: v.dtype, shape: v.shape[n..].into(), strides: v.strides[n..].into() }
        };
        views.iter().zip(cores).map(one).collect()
    }

    unsafe fn one(&self, args: &Args, i: usize, par: Par) -> Result<(), LibraryError> {
        let ins = Self::at(&args.ins, self.row.ins, i);
        let outs = Self::at(&args.outs, self.row.outs, i);
        (self.row.run)(&Call { ins: &ins, outs: &outs, option: self.option, par })
    }
}

impl LibraryOp for Factor {
    fn name(&self) -> &'static str {
        self.row.name
    }

    fn form(&self) -> Form {
        let Row { name, ins, outs, .. } = *self.row;
        Form::Factor { name, ins, outs, option: self.option }
    }

    fn phases(&self, args: &Args) -> SmallVec<[usize; 4]> {
        if !self.fits(args) {
            return smallvec![1];
        }
        let (batch, work) = self.extent(args);
        if batch == 1 && work >= GANG {
            return smallvec![self.threads];
        }
        smallvec![batch.saturating_mul(work).div_ceil(TILE).min(batch)]
    }

    unsafe fn run(&self, args: &Args, _phase: usize, tile: usize) -> Result<(), LibraryError> {
        if !self.fits(args) {
            return Err(LibraryError::Value(format!("{}: operands do not fit", self.row.name)));
        }
        let (batch, work) = self.extent(args);
        if batch == 1 && work >= GANG {
            if tile > 0 {
                self.gang.join();
                return Ok(());
            }
            return self.gang.lead(self.threads, |par| self.one(args, 0, par));
        }
        let tiles = batch.saturating_mul(work).div_ceil(TILE).min(batch);
        for i in tile * batch / tiles..(tile + 1) * batch / tiles {
            self.one(args, i, Par::Seq)?;
        }
        Ok(())
    }
}
