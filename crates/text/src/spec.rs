//! `%` formats of C and Python, for floats and integers.

use crate::digits::digits;
use std::io::Write;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Exponent,
    Fixed,
    General,
    Integer,
}

/// One conversion: `%-10.3e`.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub kind: Kind,
    pub upper: bool,
    pub left: bool,
    pub plus: bool,
    pub space: bool,
    pub zeros: bool,
    pub width: usize,
    pub precision: usize,
}

impl Spec {
    /// Puts `x` at the end of `to`. None where the answer is Python's to give; nothing sensible was written then.
    pub fn put(&self, x: f64, to: &mut Vec<u8>, digits: &mut Vec<u8>) -> Option<()> {
        digits.clear();
        if !x.is_finite() {
            if self.zeros || self.kind == Kind::Integer {
                return None;
            }
            digits.extend_from_slice(if x.is_nan() { b"nan" } else { b"inf" });
        } else {
            match self.kind {
                Kind::Exponent => exponent(x.abs(), self.precision, digits),
                Kind::Fixed => write!(digits, "{:.*}", self.precision, x.abs()).ok()?,
                Kind::General => general(x.abs(), self.precision.max(1), digits),
                Kind::Integer => {
                    let whole = x.trunc();
                    if whole.abs() >= 9e15 {
                        return None;
                    }
                    // No negative zero among integers.
                    self.pad(whole < 0.0, &(whole.abs() as u64).to_string().into_bytes(), to);
                    return Some(());
                }
            }
        }
        if self.upper {
            digits.make_ascii_uppercase();
        }
        self.pad(x.is_sign_negative() && !x.is_nan(), digits, to);
        Some(())
    }

    /// The same for an integer, which `%d` prints exactly.
    pub fn put_integer(&self, x: i128, to: &mut Vec<u8>, digits: &mut Vec<u8>) -> Option<()> {
        if self.kind != Kind::Integer {
            return self.put(x as f64, to, digits);
        }
        digits.clear();
        write!(digits, "{}", x.unsigned_abs()).ok()?;
        self.pad(x < 0, digits, to);
        Some(())
    }

    fn pad(&self, negative: bool, digits: &[u8], to: &mut Vec<u8>) {
        let sign: &[u8] = match (negative, self.plus, self.space) {
            (true, ..) => b"-",
            (_, true, _) => b"+",
            (_, _, true) => b" ",
            _ => b"",
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        let mut fill = |with: u8| to.resize(to.len() + missing, with);
        match (self.left, self.zeros) {
            (true, _) => {
                to.extend_from_slice(sign);
                to.extend_from_slice(digits);
                to.resize(to.len() + missing, b' ');
            }
            (false, true) => {
                to.extend_from_slice(sign);
                to.resize(to.len() + missing, b'0');
                to.extend_from_slice(digits);
            }
            (false, false) => {
                fill(b' ');
                to.extend_from_slice(sign);
                to.extend_from_slice(digits);
            }
        }
    }
}

fn exponent(x: f64, precision: usize, to: &mut Vec<u8>) {
    let power = match digits(x, precision + 1) {
        Some((all, power)) => {
            let start = to.len();
            // Writing into memory does not fail.
            let _ = write!(to, "{all}");
            if precision > 0 {
                to.insert(start + 1, b'.');
            }
            power
        }
        None => {
            let _ = write!(to, "{x:.precision$e}");
            // Rust writes `1.5e7` where C writes `1.5e+07`.
            let Some(e) = to.iter().rposition(|&b| b == b'e') else { return };
            let power = std::str::from_utf8(&to[e + 1..]).ok().and_then(|p| p.parse().ok()).unwrap_or(0);
            to.truncate(e);
            power
        }
    };
    let _ = write!(to, "e{}{:02}", if power < 0 { '-' } else { '+' }, power.unsigned_abs());
}

fn general(x: f64, precision: usize, to: &mut Vec<u8>) {
    exponent(x, precision - 1, to);
    let Some(e) = to.iter().rposition(|&b| b == b'e') else { return };
    let power: i64 = std::str::from_utf8(&to[e + 1..]).ok().and_then(|p| p.parse().ok()).unwrap_or(0);
    if -4 <= power && power < precision as i64 {
        to.clear();
        let decimals = (precision as i64 - 1 - power) as usize;
        let _ = write!(to, "{x:.decimals$}");
        trim(to);
    } else {
        let tail = to.split_off(e);
        trim(to);
        to.extend_from_slice(&tail);
    }
}

/// Without the zeros that say nothing after a point.
fn trim(digits: &mut Vec<u8>) {
    if digits.contains(&b'.') {
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.last() == Some(&b'.') {
            digits.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Spec = Spec {
        kind: Kind::Exponent,
        upper: false,
        left: false,
        plus: false,
        space: false,
        zeros: false,
        width: 0,
        precision: 6,
    };

    fn said(spec: Spec, x: f64) -> String {
        let mut to = Vec::new();
        spec.put(x, &mut to, &mut Vec::new()).unwrap();
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn as_c_prints_them() {
        assert_eq!(said(Spec { precision: 18, ..PLAIN }, 0.1), "1.000000000000000056e-01");
        assert_eq!(said(PLAIN, -1e300), "-1.000000e+300");
        assert_eq!(said(Spec { precision: 0, ..PLAIN }, 2.5), "2e+00");
        assert_eq!(said(Spec { kind: Kind::Fixed, width: 9, precision: 2, ..PLAIN }, -1.005), "    -1.00");
        assert_eq!(said(Spec { kind: Kind::Fixed, width: 9, zeros: true, precision: 2, ..PLAIN }, -1.5), "-00001.50");
        assert_eq!(said(Spec { kind: Kind::Fixed, plus: true, precision: 1, ..PLAIN }, -0.0), "-0.0");
        let general = Spec { kind: Kind::General, ..PLAIN };
        assert_eq!(said(general, 100000.0), "100000");
        assert_eq!(said(general, 1e6), "1e+06");
        assert_eq!(said(general, 0.0001), "0.0001");
        assert_eq!(said(general, 1.5e-5), "1.5e-05");
        assert_eq!(said(general, 0.0), "0");
        assert_eq!(said(general, 999999.5), "1e+06");
        assert_eq!(said(Spec { upper: true, ..PLAIN }, f64::NEG_INFINITY), "-INF");
        assert_eq!(said(Spec { left: true, width: 5, ..PLAIN }, f64::NAN), "nan  ");
        assert_eq!(said(Spec { kind: Kind::Integer, width: 4, space: true, ..PLAIN }, -0.9), "   0");
    }

    #[test]
    fn what_python_answers_is_refused() {
        let mut to = Vec::new();
        let integer = Spec { kind: Kind::Integer, ..PLAIN };
        assert!(integer.put(f64::INFINITY, &mut to, &mut Vec::new()).is_none());
        assert!(integer.put(1e300, &mut to, &mut Vec::new()).is_none());
        assert!(Spec { zeros: true, ..PLAIN }.put(f64::NAN, &mut to, &mut Vec::new()).is_none());
    }
}
