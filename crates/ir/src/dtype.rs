//! The fourteen element types, in NumPy's promotion order.

use std::fmt;

#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DType {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    C64,
    C128,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    Complex,
}

struct Row {
    name: &'static str,
    code: char,
    size: u8,
    align: u8,
    kind: Kind,
}

const fn row(name: &'static str, code: char, size: u8, align: u8, kind: Kind) -> Row {
    Row { name, code, size, align, kind }
}

static ROWS: [Row; 14] = [
    row("bool", '?', 1, 1, Kind::Bool),
    row("int8", 'b', 1, 1, Kind::Signed),
    row("uint8", 'B', 1, 1, Kind::Unsigned),
    row("int16", 'h', 2, 2, Kind::Signed),
    row("uint16", 'H', 2, 2, Kind::Unsigned),
    row("int32", 'i', 4, 4, Kind::Signed),
    row("uint32", 'I', 4, 4, Kind::Unsigned),
    row("int64", 'l', 8, 8, Kind::Signed),
    row("uint64", 'L', 8, 8, Kind::Unsigned),
    row("float16", 'e', 2, 2, Kind::Float),
    row("float32", 'f', 4, 4, Kind::Float),
    row("float64", 'd', 8, 8, Kind::Float),
    row("complex64", 'F', 8, 4, Kind::Complex),
    row("complex128", 'D', 16, 8, Kind::Complex),
];

impl DType {
    pub const COUNT: usize = 14;
    pub const ALL: [DType; 14] = [
        DType::Bool,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// NumPy's name: `float32`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// NumPy's type character: `f`.
    pub fn code(self) -> char {
        self.row().code
    }

    /// Bytes of one element.
    #[inline]
    pub fn size(self) -> usize {
        self.row().size as usize
    }

    pub fn align(self) -> usize {
        self.row().align as usize
    }

    #[inline]
    pub fn kind(self) -> Kind {
        self.row().kind
    }

    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    pub fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }

    pub fn is_complex(self) -> bool {
        self.kind() == Kind::Complex
    }

    pub fn is_inexact(self) -> bool {
        self.kind() >= Kind::Float
    }

    /// From NumPy's type character; `q`/`Q` (long long) are the 64-bit types.
    pub fn from_code(code: char) -> Option<DType> {
        let code = match code {
            'q' | 'p' => 'l',
            'Q' | 'P' => 'L',
            c => c,
        };
        DType::ALL.into_iter().find(|d| d.code() == code)
    }

    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// The type of the real and imaginary part; real types answer themselves.
    pub fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            d => d,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
