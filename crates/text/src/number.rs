//! What a field may be: NumPy's rules for each dtype, where they are plain.

/// An element that text is read into. Only ASCII without blanks is given.
pub trait Number: Copy + Send + Sync + 'static {
    /// None for what is not plainly a number of the type: it may still be one to NumPy, with a warning.
    fn parse(field: &[u8]) -> Option<Self>;
}

impl Number for f64 {
    #[inline]
    fn parse(field: &[u8]) -> Option<f64> {
        std::str::from_utf8(field).ok()?.parse().ok()
    }
}

impl Number for f32 {
    /// Rounded twice, as NumPy does it.
    #[inline]
    fn parse(field: &[u8]) -> Option<f32> {
        f64::parse(field).map(|x| x as f32)
    }
}

/// Digits that never overflow 64 bits.
const SHORT: usize = 18;

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            #[inline]
            fn parse(field: &[u8]) -> Option<$t> {
                let (negative, digits) = match field {
                    [b'-', rest @ ..] => (true, rest),
                    [b'+', rest @ ..] => (false, rest),
                    _ => (false, field),
                };
                if digits.is_empty() || digits.len() > SHORT || (negative && <$t>::MIN == 0) {
                    return std::str::from_utf8(field).ok()?.parse().ok();
                }
                let mut x = 0i64;
                for &b in digits {
                    let digit = b.wrapping_sub(b'0');
                    if digit > 9 {
                        return None;
                    }
                    x = x * 10 + i64::from(digit);
                }
                <$t>::try_from(if negative { -x } else { x }).ok()
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

/// A truth value as it lies in memory, where any byte but zero is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Truth(pub u8);

impl Number for Truth {
    #[inline]
    fn parse(field: &[u8]) -> Option<Truth> {
        i64::parse(field).map(|x| Truth(u8::from(x != 0)))
    }
}
