//! What a field may be: NumPy's rules for each dtype, where they are plain.

/// An element that text is read into. Only ASCII without blanks is given.
pub trait Number: Copy + Send + Sync + 'static {
    /// None for what is not plainly a number of the type: it may still be one to NumPy, with a warning.
    fn parse(field: &str) -> Option<Self>;
}

impl Number for f64 {
    #[inline]
    fn parse(field: &str) -> Option<f64> {
        field.parse().ok()
    }
}

impl Number for f32 {
    /// Rounded twice, as NumPy does it.
    #[inline]
    fn parse(field: &str) -> Option<f32> {
        f64::parse(field).map(|x| x as f32)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            #[inline]
            fn parse(field: &str) -> Option<$t> {
                field.parse().ok()
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
    fn parse(field: &str) -> Option<Truth> {
        i64::parse(field).map(|x| Truth(u8::from(x != 0)))
    }
}
