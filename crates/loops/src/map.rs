//! The loop around a scalar function: reads, calls, writes, whatever the inputs' steps.

use crate::element::Element;
use crate::fp_status::Quiet;
use crate::isa::{Isa, for_each_isa};
use crate::{BlockFn, In};
use std::marker::PhantomData;

/// How a scalar function wants its loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Vectorised; exceptions of its arithmetic are the operation's.
    Ieee,
    /// Vectorised; its arithmetic may raise what the operation does not.
    Quiet,
    /// One element after another: calls or branches too much to vectorise.
    Scalar,
    /// As `Scalar`, with the exceptions of its arithmetic hidden.
    QuietScalar,
}

impl Style {
    pub(crate) const fn quiet(self) -> bool {
        matches!(self, Style::Quiet | Style::QuietScalar)
    }

    pub(crate) const fn scalar(self) -> bool {
        matches!(self, Style::Scalar | Style::QuietScalar)
    }
}

/// A scalar function of one argument. `flags` collects `FP_*` that the arithmetic itself does not raise.
pub trait One<A: Element>: 'static {
    type Out: Element;
    const STYLE: Style;
    fn call(a: A, flags: &mut u8) -> Self::Out;
}

/// A scalar function of two arguments.
pub trait Two<A: Element, B: Element>: 'static {
    type Out: Element;
    const STYLE: Style;
    fn call(a: A, b: B, flags: &mut u8) -> Self::Out;

    /// Whether `eased` gives the same, and no flags, for every first argument.
    #[inline(always)]
    fn eases(_b: B) -> bool {
        false
    }

    #[inline(always)]
    fn eased(a: A, b: B) -> Self::Out {
        Self::call(a, b, &mut 0)
    }
}

/// A function whose second argument allows its cheaper form.
struct Eased<K>(PhantomData<K>);

impl<A: Element, B: Element, K: Two<A, B>> Two<A, B> for Eased<K> {
    type Out = K::Out;
    const STYLE: Style = K::STYLE;
    #[inline(always)]
    fn call(a: A, b: B, _flags: &mut u8) -> K::Out {
        K::eased(a, b)
    }
}

/// A scalar function of one argument with two results.
pub trait OneToTwo<A: Element>: 'static {
    type First: Element;
    type Second: Element;
    const STYLE: Style;
    fn call(a: A, flags: &mut u8) -> (Self::First, Self::Second);
}

/// A scalar function of two arguments with two results.
pub trait TwoToTwo<A: Element>: 'static {
    const STYLE: Style;
    fn call(a: A, b: A, flags: &mut u8) -> (A, A);
}

/// What element `i` of a run comes to.
pub(crate) trait Source {
    type Out: Element;
    unsafe fn at(&self, i: usize, flags: &mut u8) -> Self::Out;
}

/// An input that is a run.
#[derive(Clone, Copy)]
pub(crate) struct Run<T>(pub *const T);

/// An input that is one value.
#[derive(Clone, Copy)]
pub(crate) struct Value<T>(pub T);

pub(crate) trait Feed<T>: Copy {
    unsafe fn get(&self, i: usize) -> T;
    /// What comes after `n` elements.
    unsafe fn after(&self, n: usize) -> Self;
}

impl<T: Element> Feed<T> for Run<T> {
    #[inline(always)]
    unsafe fn get(&self, i: usize) -> T {
        self.0.add(i).read_unaligned()
    }

    #[inline(always)]
    unsafe fn after(&self, n: usize) -> Self {
        Run(self.0.add(n))
    }
}

impl<T: Element> Feed<T> for Value<T> {
    #[inline(always)]
    unsafe fn get(&self, _: usize) -> T {
        self.0
    }

    #[inline(always)]
    unsafe fn after(&self, _: usize) -> Self {
        *self
    }
}

struct Unary<K, A, F>(F, PhantomData<(K, A)>);

impl<A: Element, K: One<A>, F: Feed<A>> Source for Unary<K, A, F> {
    type Out = K::Out;
    #[inline(always)]
    unsafe fn at(&self, i: usize, flags: &mut u8) -> K::Out {
        K::call(self.0.get(i), flags)
    }
}

struct Binary<K, A, B, F, G>(F, G, PhantomData<(K, A, B)>);

impl<A: Element, B: Element, K: Two<A, B>, F: Feed<A>, G: Feed<B>> Source for Binary<K, A, B, F, G> {
    type Out = K::Out;
    #[inline(always)]
    unsafe fn at(&self, i: usize, flags: &mut u8) -> K::Out {
        K::call(self.0.get(i), self.1.get(i), flags)
    }
}

const CHUNK: usize = 64;
const SMALL_CHUNK: usize = 8;

/// Fills `out`. Results pass through a local array: nothing can alias it, so the compiler vectorises
/// the calls also when `out` is one of the inputs, and keeps the array in registers.
#[inline(always)]
pub(crate) unsafe fn fill<S: Source>(n: usize, source: S, out: *mut S::Out) -> u8 {
    let mut flags = 0;
    let mut i = 0;
    while i + CHUNK <= n {
        chunk::<S, CHUNK>(i, &source, out, &mut flags);
        i += CHUNK;
    }
    while i + SMALL_CHUNK <= n {
        chunk::<S, SMALL_CHUNK>(i, &source, out, &mut flags);
        i += SMALL_CHUNK;
    }
    while i < n {
        out.add(i).write_unaligned(source.at(i, &mut flags));
        i += 1;
    }
    flags
}

#[inline(always)]
unsafe fn chunk<S: Source, const N: usize>(at: usize, source: &S, out: *mut S::Out, flags: &mut u8) {
    let mut results = [const { std::mem::MaybeUninit::<S::Out>::uninit() }; N];
    let mut seen = 0;
    for j in 0..N {
        results[j].write(source.at(at + j, &mut seen));
    }
    *flags |= seen;
    std::ptr::copy_nonoverlapping(results.as_ptr().cast::<u8>(), out.add(at).cast(), size_of::<[S::Out; N]>());
}

/// Fills `out` with one value.
#[inline(always)]
pub(crate) unsafe fn splat<T: Element>(n: usize, value: T, out: *mut T) {
    for i in 0..n {
        out.add(i).write_unaligned(value);
    }
}

#[inline(always)]
pub(crate) fn hush(quiet: bool) -> Option<Quiet> {
    if quiet { Some(Quiet::begin()) } else { None }
}

#[inline(always)]
pub(crate) fn unhush(hush: Option<Quiet>) {
    if let Some(quiet) = hush {
        quiet.end();
    }
}

#[inline(always)]
unsafe fn one_body<A: Element, K: One<A>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, out) = (*ins, (*outs).cast::<K::Out>());
    let quiet = hush(K::STYLE.quiet());
    let flags = if a.step != 0 {
        fill(n, Unary::<K, A, _>(Run(a.ptr.cast()), PhantomData), out)
    } else {
        let mut flags = 0;
        splat(n, K::call(a.ptr.cast::<A>().read_unaligned(), &mut flags), out);
        flags
    };
    unhush(quiet);
    flags
}

#[inline(always)]
unsafe fn two_body<A: Element, B: Element, K: Two<A, B>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b, out) = (*ins, *ins.add(1), (*outs).cast::<K::Out>());
    let (pa, pb) = (a.ptr.cast::<A>(), b.ptr.cast::<B>());
    let quiet = hush(K::STYLE.quiet());
    let flags = match (a.step != 0, b.step != 0) {
        (true, true) => fill(n, Binary::<K, A, B, _, _>(Run(pa), Run(pb), PhantomData), out),
        (true, false) => {
            let b = pb.read_unaligned();
            if K::eases(b) {
                fill(n, Binary::<Eased<K>, A, B, _, _>(Run(pa), Value(b), PhantomData), out)
            } else {
                fill(n, Binary::<K, A, B, _, _>(Run(pa), Value(b), PhantomData), out)
            }
        }
        (false, true) => fill(n, Binary::<K, A, B, _, _>(Value(pa.read_unaligned()), Run(pb), PhantomData), out),
        (false, false) => {
            let mut flags = 0;
            splat(n, K::call(pa.read_unaligned(), pb.read_unaligned(), &mut flags), out);
            flags
        }
    };
    unhush(quiet);
    flags
}

for_each_isa!(one_vector = one_body[A: Element, K: One<A>; plain one_scalar](n: usize, ins: *const In, outs: *const *mut u8) -> u8);
for_each_isa!(two_vector = two_body[A: Element, B: Element, K: Two<A, B>; plain two_scalar](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

#[inline(always)]
unsafe fn element<T: Element>(input: In, i: usize) -> T {
    input.ptr.add(i * input.step).cast::<T>().read_unaligned()
}

unsafe fn one_scalar<A: Element, K: One<A>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, out) = (*ins, (*outs).cast::<K::Out>());
    let quiet = hush(K::STYLE.quiet());
    let mut flags = 0;
    for i in 0..n {
        out.add(i).write_unaligned(K::call(element(a, i), &mut flags));
    }
    unhush(quiet);
    flags
}

unsafe fn two_scalar<A: Element, B: Element, K: Two<A, B>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b, out) = (*ins, *ins.add(1), (*outs).cast::<K::Out>());
    let quiet = hush(K::STYLE.quiet());
    let mut flags = 0;
    for i in 0..n {
        out.add(i).write_unaligned(K::call(element(a, i), element(b, i), &mut flags));
    }
    unhush(quiet);
    flags
}

/// Two results for each element, a chunk at a time as in `fill`.
#[inline(always)]
unsafe fn fill_pairs<A: Element, B: Element>(
    n: usize,
    outs: *const *mut u8,
    at: impl Fn(usize, &mut u8) -> (A, B),
) -> u8 {
    let (first, second) = ((*outs).cast::<A>(), (*outs.add(1)).cast::<B>());
    let (mut flags, mut i) = (0, 0);
    while i + CHUNK <= n {
        let mut xs = [const { std::mem::MaybeUninit::<A>::uninit() }; CHUNK];
        let mut ys = [const { std::mem::MaybeUninit::<B>::uninit() }; CHUNK];
        let mut seen = 0;
        for j in 0..CHUNK {
            let (x, y) = at(i + j, &mut seen);
            xs[j].write(x);
            ys[j].write(y);
        }
        flags |= seen;
        std::ptr::copy_nonoverlapping(xs.as_ptr().cast::<u8>(), first.add(i).cast(), size_of::<[A; CHUNK]>());
        std::ptr::copy_nonoverlapping(ys.as_ptr().cast::<u8>(), second.add(i).cast(), size_of::<[B; CHUNK]>());
        i += CHUNK;
    }
    while i < n {
        let (x, y) = at(i, &mut flags);
        first.add(i).write_unaligned(x);
        second.add(i).write_unaligned(y);
        i += 1;
    }
    flags
}

#[inline(always)]
unsafe fn one_to_two_body<A: Element, K: OneToTwo<A>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let a = *ins;
    let quiet = hush(K::STYLE.quiet());
    let flags = if a.step != 0 {
        let a = Run(a.ptr.cast::<A>());
        fill_pairs(n, outs, |i, flags| K::call(a.get(i), flags))
    } else {
        fill_pairs(n, outs, |_, flags| K::call(a.ptr.cast::<A>().read_unaligned(), flags))
    };
    unhush(quiet);
    flags
}

for_each_isa!(one_to_two_vector = one_to_two_body[A: Element, K: OneToTwo<A>; plain one_to_two](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

unsafe fn one_to_two<A: Element, K: OneToTwo<A>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, first, second) = (*ins, (*outs).cast::<K::First>(), (*outs.add(1)).cast::<K::Second>());
    let quiet = hush(K::STYLE.quiet());
    let mut flags = 0;
    for i in 0..n {
        let (x, y) = K::call(element(a, i), &mut flags);
        first.add(i).write_unaligned(x);
        second.add(i).write_unaligned(y);
    }
    unhush(quiet);
    flags
}

#[inline(always)]
unsafe fn two_to_two_body<A: Element, K: TwoToTwo<A>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b) = (*ins, *ins.add(1));
    let (pa, pb) = (a.ptr.cast::<A>(), b.ptr.cast::<A>());
    let quiet = hush(K::STYLE.quiet());
    let flags = match (a.step != 0, b.step != 0) {
        (true, true) => pairs_of::<A, K>(n, outs, Run(pa), Run(pb)),
        (true, false) => pairs_of::<A, K>(n, outs, Run(pa), Value(pb.read_unaligned())),
        (false, true) => pairs_of::<A, K>(n, outs, Value(pa.read_unaligned()), Run(pb)),
        (false, false) => pairs_of::<A, K>(n, outs, Value(pa.read_unaligned()), Value(pb.read_unaligned())),
    };
    unhush(quiet);
    flags
}

#[inline(always)]
unsafe fn pairs_of<A: Element, K: TwoToTwo<A>>(n: usize, outs: *const *mut u8, a: impl Feed<A>, b: impl Feed<A>) -> u8 {
    fill_pairs(n, outs, |i, flags| K::call(a.get(i), b.get(i), flags))
}

for_each_isa!(two_to_two_vector = two_to_two_body[A: Element, K: TwoToTwo<A>; plain two_to_two](n: usize, ins: *const In, outs: *const *mut u8) -> u8);

unsafe fn two_to_two<A: Element, K: TwoToTwo<A>>(n: usize, ins: *const In, outs: *const *mut u8) -> u8 {
    let (a, b, first, second) = (*ins, *ins.add(1), (*outs).cast::<A>(), (*outs.add(1)).cast::<A>());
    let quiet = hush(K::STYLE.quiet());
    let mut flags = 0;
    for i in 0..n {
        let (x, y) = K::call(element(a, i), element(b, i), &mut flags);
        first.add(i).write_unaligned(x);
        second.add(i).write_unaligned(y);
    }
    unhush(quiet);
    flags
}

/// The loop of a function of one argument.
pub(crate) fn one<A: Element, K: One<A>>(isa: Isa) -> BlockFn {
    if K::STYLE.scalar() { one_scalar::<A, K> } else { one_vector::<A, K>(isa) }
}

/// The loop of a function of two arguments.
pub(crate) fn two<A: Element, B: Element, K: Two<A, B>>(isa: Isa) -> BlockFn {
    if K::STYLE.scalar() { two_scalar::<A, B, K> } else { two_vector::<A, B, K>(isa) }
}

/// The loop of a function of one argument with two results.
pub(crate) fn one_with_two<A: Element, K: OneToTwo<A>>(isa: Isa) -> BlockFn {
    if K::STYLE.scalar() { one_to_two::<A, K> } else { one_to_two_vector::<A, K>(isa) }
}

/// The loop of a function of two arguments with two results.
pub(crate) fn two_with_two<A: Element, K: TwoToTwo<A>>(isa: Isa) -> BlockFn {
    if K::STYLE.scalar() { two_to_two::<A, K> } else { two_to_two_vector::<A, K>(isa) }
}
