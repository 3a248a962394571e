//! Sets of bytes of a store: which of them an instance holds as they should be.

use std::ops::Range;

pub type Span = Range<usize>;

/// Ranges by start, apart from one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl Spans {
    pub fn none() -> Spans {
        Spans(Vec::new())
    }

    pub fn of(span: Span) -> Spans {
        let mut s = Spans::none();
        s.add(span);
        s
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.0.iter().map(|s| s.len()).sum()
    }

    pub fn add(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        let first = self.0.partition_point(|s| s.end < span.start);
        let after = self.0.partition_point(|s| s.start <= span.end);
        let mut joined = span;
        if first < after {
            joined.start = joined.start.min(self.0[first].start);
            joined.end = joined.end.max(self.0[after - 1].end);
        }
        self.0.splice(first..after, [joined]);
    }

    pub fn remove(&mut self, span: &Span) {
        // Nothing taken out would still cut in two what it lies in.
        if span.is_empty() {
            return;
        }
        let cut = |s: &Span| [s.start..s.end.min(span.start), s.start.max(span.end)..s.end];
        self.0 = self.0.iter().flat_map(cut).filter(|s| s.start < s.end).collect();
    }

    /// The parts of a span that are in the set.
    pub fn within(&self, span: &Span) -> Spans {
        let cut = |s: &Span| s.start.max(span.start)..s.end.min(span.end);
        Spans(self.0.iter().map(cut).filter(|s| s.start < s.end).collect())
    }

    /// The parts of a span that are not in the set.
    pub fn missing(&self, span: &Span) -> Spans {
        let mut rest = Spans::of(span.clone());
        self.0.iter().for_each(|s| rest.remove(s));
        rest
    }

    pub fn iter(&self) -> impl Iterator<Item = &Span> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a plain set of bytes, over a long run of random steps.
    #[test]
    fn spans_are_sets_of_bytes() {
        let (mut spans, mut bytes) = (Spans::none(), [false; 64]);
        let mut state = 7u64;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % 65
        };
        for step in 0..20_000 {
            let (a, b) = (draw(), draw());
            let span = a.min(b)..a.max(b);
            if step % 3 == 0 {
                spans.remove(&span);
                bytes[span.clone()].fill(false);
            } else {
                spans.add(span.clone());
                bytes[span.clone()].fill(true);
            }
            assert_eq!(spans.bytes(), bytes.iter().filter(|&&b| b).count());
            assert!(spans.0.windows(2).all(|w| w[0].end < w[1].start), "{spans:?}");
            let (c, d) = (draw(), draw());
            let look = c.min(d)..c.max(d);
            let inside = bytes[look.clone()].iter().filter(|&&b| b).count();
            assert_eq!(spans.within(&look).bytes(), inside);
            assert_eq!(spans.missing(&look).bytes(), look.len() - inside);
        }
    }
}
