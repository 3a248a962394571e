//! One typed scalar: constants of kernels, fill values, identities.

use crate::dtype::DType;
use half::f16;

/// Sixteen bytes that hold one element of any type, little-endian, zero-padded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value {
    pub dtype: DType,
    pub bytes: [u8; 16],
}

impl Value {
    pub fn from_bytes(dtype: DType, raw: &[u8]) -> Value {
        let mut bytes = [0; 16];
        bytes[..dtype.size()].copy_from_slice(&raw[..dtype.size()]);
        Value { dtype, bytes }
    }

    /// An integer, wrapped to the type as a C cast would.
    pub fn from_i128(dtype: DType, v: i128) -> Value {
        match dtype {
            DType::Bool => Value::from_bytes(dtype, &[(v != 0) as u8]),
            d if d.is_integer() => Value::from_bytes(d, &v.to_le_bytes()),
            d => Value::from_f64(d, v as f64),
        }
    }

    /// A float, converted to the type as a C cast would.
    pub fn from_f64(dtype: DType, v: f64) -> Value {
        Value::from_complex(dtype, v, 0.0)
    }

    pub fn from_complex(dtype: DType, re: f64, im: f64) -> Value {
        let mut bytes = [0u8; 16];
        match dtype {
            DType::Bool => bytes[0] = (re != 0.0 || im != 0.0) as u8,
            DType::F16 => bytes[..2].copy_from_slice(&f16::from_f64(re).to_le_bytes()),
            DType::F32 => bytes[..4].copy_from_slice(&(re as f32).to_le_bytes()),
            DType::F64 => bytes[..8].copy_from_slice(&re.to_le_bytes()),
            DType::C64 => {
                bytes[..4].copy_from_slice(&(re as f32).to_le_bytes());
                bytes[4..8].copy_from_slice(&(im as f32).to_le_bytes());
            }
            DType::C128 => {
                bytes[..8].copy_from_slice(&re.to_le_bytes());
                bytes[8..].copy_from_slice(&im.to_le_bytes());
            }
            d => return Value::from_i128(d, re as i128),
        }
        Value { dtype, bytes }
    }

    /// The real part as a float (integers rounded to nearest).
    pub fn to_f64(&self) -> f64 {
        let b = &self.bytes;
        match self.dtype {
            DType::F16 => f16::from_le_bytes([b[0], b[1]]).to_f64(),
            DType::F32 | DType::C64 => f32::from_le_bytes([b[0], b[1], b[2], b[3]]) as f64,
            DType::F64 | DType::C128 => f64::from_le_bytes(b[..8].try_into().unwrap_or_default()),
            _ => self.to_i128() as f64,
        }
    }

    pub fn imag(&self) -> f64 {
        let b = &self.bytes;
        match self.dtype {
            DType::C64 => f32::from_le_bytes([b[4], b[5], b[6], b[7]]) as f64,
            DType::C128 => f64::from_le_bytes(b[8..].try_into().unwrap_or_default()),
            _ => 0.0,
        }
    }

    /// The integer value; floats are truncated.
    pub fn to_i128(&self) -> i128 {
        let b = &self.bytes;
        match self.dtype {
            DType::Bool | DType::U8 => b[0] as i128,
            DType::I8 => b[0] as i8 as i128,
            DType::I16 => i16::from_le_bytes([b[0], b[1]]) as i128,
            DType::U16 => u16::from_le_bytes([b[0], b[1]]) as i128,
            DType::I32 => i32::from_le_bytes([b[0], b[1], b[2], b[3]]) as i128,
            DType::U32 => u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as i128,
            DType::I64 => i64::from_le_bytes(b[..8].try_into().unwrap_or_default()) as i128,
            DType::U64 => u64::from_le_bytes(b[..8].try_into().unwrap_or_default()) as i128,
            _ => self.to_f64() as i128,
        }
    }

    /// The same number in another type, as NumPy's unsafe cast gives it.
    pub fn cast(&self, to: DType) -> Value {
        if self.dtype == to {
            *self
        } else if self.dtype.is_inexact() {
            Value::from_complex(to, self.to_f64(), self.imag())
        } else {
            Value::from_i128(to, self.to_i128())
        }
    }
}
