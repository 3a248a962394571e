//! Merging sorted runs, in pieces that can be made independently of each other.

/// Writes what so many records become, to the same memory or apart from it.
pub type Becomes<R> = unsafe fn(*const R, usize, *mut R);

/// What a sort moves around. `less` is a strict weak order.
pub trait Record: Copy + Send + Sync + 'static {
    fn less(&self, other: &Self) -> bool;
    /// Sorts a run; keeps the order of equals if `stable`.
    fn sort(run: &mut [Self], stable: bool);

    /// Sorts a run and puts what each record becomes in its place.
    ///
    /// # Safety
    /// `becomes` may write as many elements as it is told where it is told, and those are of the records' size.
    unsafe fn sort_as(run: &mut [Self], becomes: Becomes<Self>)
    where
        Self: Sized,
    {
        Self::sort(run, false);
        becomes(run.as_ptr(), run.len(), run.as_mut_ptr());
    }

    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        if self.less(other) {
            std::cmp::Ordering::Less
        } else if other.less(self) {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    }
}

/// How many of the first `k` elements of the merged run come from `a` (ties go to `a`).
pub fn split<R: Record>(a: &[R], b: &[R], k: usize) -> usize {
    let (mut low, mut high) = (k.saturating_sub(b.len()), k.min(a.len()));
    while low < high {
        let i = low + (high - low) / 2;
        // a[i] is among the first k exactly if it does not come after b[k - i - 1].
        if b[k - i - 1].less(&a[i]) { high = i } else { low = i + 1 }
    }
    low
}

/// Merges two sorted runs into `out`, which is as long as both; of equals those of `a` come first.
///
/// # Safety
/// `out` must be writeable for `a.len() + b.len()` and apart from both.
pub unsafe fn merge<R: Record>(a: &[R], b: &[R], mut out: *mut R) {
    let (mut p, mut q) = (a.as_ptr(), b.as_ptr());
    let (p_end, q_end) = (p.add(a.len()), q.add(b.len()));
    while p < p_end && q < q_end {
        // Selects instead of branches: which side comes next cannot be predicted.
        let right = (*q).less(&*p);
        *out = if right { *q } else { *p };
        q = q.add(right as usize);
        p = p.add(!right as usize);
        out = out.add(1);
    }
    let rest = p_end.offset_from(p) as usize;
    std::ptr::copy_nonoverlapping(p, out, rest);
    std::ptr::copy_nonoverlapping(q, out.add(rest), q_end.offset_from(q) as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_merge_meet() {
        let a: Vec<i64> = vec![1, 2, 2, 2, 7, 9];
        let b: Vec<i64> = vec![0, 2, 2, 3, 9];
        let mut want = [a.clone(), b.clone()].concat();
        want.sort();
        for k in 0..=want.len() {
            let i = split(&a, &b, k);
            let mut out = vec![0; want.len()];
            unsafe {
                merge(&a[..i], &b[..k - i], out.as_mut_ptr());
                merge(&a[i..], &b[k - i..], out.as_mut_ptr().add(k));
            }
            assert_eq!(out, want, "cut at {k}");
        }
    }
}
