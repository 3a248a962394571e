//! The bytes of the instructions that the wide form takes: vectors (EVEX), masks (VEX), and what a loop needs.

/// A vector instruction: mandatory prefix, opcode map, W and opcode.
#[derive(Clone, Copy)]
pub struct Op {
    pp: u8,
    map: u8,
    w: u8,
    code: u8,
}

/// Mandatory prefixes, as EVEX numbers them.
pub const NONE: u8 = 0;
pub const X66: u8 = 1;
pub const XF3: u8 = 2;
pub const XF2: u8 = 3;

pub const fn op(pp: u8, map: u8, w: u8, code: u8) -> Op {
    Op { pp, map, w, code }
}

/// General registers, by their numbers.
pub const RAX: u8 = 0;
pub const RCX: u8 = 1;
pub const RDX: u8 = 2;
pub const RBX: u8 = 3;
pub const RSP: u8 = 4;
pub const RBP: u8 = 5;
pub const RSI: u8 = 6;
pub const RDI: u8 = 7;
pub const R11: u8 = 11;

#[derive(Clone, Copy)]
pub enum Place {
    Register(u8),
    /// `[base + rax * 2^scale]`
    Element {
        base: u8,
        scale: u8,
    },
    /// `[base + offset]`
    Offset {
        base: u8,
        offset: i32,
    },
    /// One of the constants behind the code.
    Constant(usize),
}

/// How many bytes of a vector register an instruction works on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Length {
    B16 = 0,
    B32 = 1,
    B64 = 2,
}

impl Length {
    /// The least that holds so many bytes.
    pub fn of(bytes: usize) -> Length {
        match bytes {
            0..=16 => Length::B16,
            17..=32 => Length::B32,
            _ => Length::B64,
        }
    }
}

/// A mask on the result: none, or lanes of mask register `k` alone, the others zero or as they were.
#[derive(Clone, Copy)]
pub enum Under {
    All,
    Zeroing(u8),
    Merging(u8),
}

#[derive(Default)]
pub struct Code {
    pub bytes: Vec<u8>,
    constants: Vec<u64>,
    /// Where the distance to a constant is to be written.
    to_constants: Vec<(usize, usize)>,
}

impl Code {
    pub fn new(constants: Vec<u64>) -> Code {
        Code { constants, ..Code::default() }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A vector instruction `reg, second, place`; `second` is 0 where there is none.
    pub fn vector(&mut self, op: Op, length: Length, under: Under, reg: u8, second: u8, place: Place) {
        let (base, index) = match place {
            // The fifth bit of a register in this place is where an index has its fourth.
            Place::Register(r) => (r, r >> 1 & 8),
            Place::Element { base, .. } | Place::Offset { base, .. } => (base, 0),
            Place::Constant(_) => (0, 0),
        };
        let (zeroing, mask) = match under {
            Under::All => (0, 0),
            Under::Zeroing(k) => (1, k),
            Under::Merging(k) => (0, k),
        };
        let inverted = |bit: u8| bit & 1 ^ 1;
        self.push(&[
            0x62,
            inverted(reg >> 3) << 7
                | inverted(index >> 3) << 6
                | inverted(base >> 3) << 5
                | inverted(reg >> 4) << 4
                | op.map,
            op.w << 7 | (!second & 15) << 3 | 4 | op.pp,
            zeroing << 7 | (length as u8) << 5 | inverted(second >> 4) << 3 | mask,
            op.code,
        ]);
        self.place(reg, place);
    }

    /// The same with a byte of its own at the end.
    pub fn vector_with(
        &mut self,
        op: Op,
        length: Length,
        under: Under,
        reg: u8,
        second: u8,
        place: Place,
        immediate: u8,
    ) {
        self.vector(op, length, under, reg, second, place);
        self.bytes.push(immediate);
    }

    /// ModRM, SIB and displacement. Displacements have four bytes: EVEX scales those of one.
    fn place(&mut self, reg: u8, place: Place) {
        let reg = (reg & 7) << 3;
        match place {
            Place::Register(r) => self.bytes.push(0xC0 | reg | r & 7),
            Place::Element { base, scale } => {
                let sib = scale << 6 | RAX << 3 | base & 7;
                match base & 7 {
                    5 => self.push(&[0x44 | reg, sib, 0]),
                    _ => self.push(&[0x04 | reg, sib]),
                }
            }
            Place::Offset { base, offset } => {
                self.bytes.push(0x80 | reg | base & 7);
                if base & 7 == RSP {
                    self.bytes.push(0x24);
                }
                self.push(&offset.to_le_bytes());
            }
            Place::Constant(at) => {
                self.bytes.push(0x05 | reg);
                self.to_constants.push((self.bytes.len(), at));
                self.push(&[0; 4]);
            }
        }
    }

    /// An operation on mask registers of 64 bits; `second` is 0 and `two` false where there is no second.
    pub fn masks(&mut self, opcode: u8, reg: u8, second: u8, third: u8, two: bool) {
        self.push(&[0xC4, 0xE1, 0x80 | (!second & 15) << 3 | (two as u8) << 2, opcode, 0xC0 | reg << 3 | third]);
    }

    pub fn store_mask(&mut self, k: u8, place: Place) {
        self.push(&[0xC4, 0xE1, 0xF8, 0x91]);
        self.place(k, place);
    }

    pub fn load_mask(&mut self, k: u8, place: Place) {
        self.push(&[0xC4, 0xE1, 0xF8, 0x90]);
        self.place(k, place);
    }

    /// Mask register `k` from a general register below r8.
    pub fn mask_from(&mut self, k: u8, general: u8) {
        self.push(&[0xC4, 0xE1, 0xFB, 0x92, 0xC0 | k << 3 | general]);
    }

    /// `rcx` with the lowest `r11` bits set and no others, of 64 that are set.
    pub fn low_bits(&mut self) {
        self.push(&[0x48, 0xC7, 0xC1, 0xFF, 0xFF, 0xFF, 0xFF]); // mov rcx, -1
        self.push(&[0xC4, 0xE2, 0xA0, 0xF5, 0xC9]); // bzhi rcx, rcx, r11
    }

    /// `mov to, from`, of 64 bits.
    pub fn copy(&mut self, to: u8, from: u8) {
        self.general(0x89, from, to);
    }

    /// An instruction `opcode r/m64, r64` on registers.
    pub fn general(&mut self, opcode: u8, reg: u8, other: u8) {
        self.push(&[0x48 | (reg >> 3) << 2 | other >> 3, opcode, 0xC0 | (reg & 7) << 3 | other & 7]);
    }

    /// `reg <op> immediate`, of 64 bits: 0 adds, 4 is and, 5 subtracts. Answers where the immediate is.
    pub fn immediate(&mut self, op: u8, reg: u8, immediate: i32) -> usize {
        self.push(&[0x48 | reg >> 3, 0x81, 0xC0 | op << 3 | reg & 7]);
        self.push(&immediate.to_le_bytes());
        self.bytes.len() - 4
    }

    pub fn load(&mut self, reg: u8, base: u8, offset: i32) {
        self.push(&[0x48 | (reg >> 3) << 2 | base >> 3, 0x8B]);
        self.place(reg, Place::Offset { base, offset });
    }

    pub fn stack(&mut self, reg: u8, push: bool) {
        if reg >= 8 {
            self.bytes.push(0x41);
        }
        self.bytes.push(if push { 0x50 } else { 0x58 } + (reg & 7));
    }

    pub fn end(&mut self) {
        self.push(&[0xC5, 0xF8, 0x77, 0xC3]); // vzeroupper, ret
    }

    /// A jump under a condition (2 below, 4 equal) to a place that is not yet known.
    pub fn jump(&mut self, condition: u8) -> usize {
        self.push(&[0x0F, 0x80 | condition, 0, 0, 0, 0]);
        self.bytes.len() - 4
    }

    pub fn jump_to(&mut self, condition: u8, target: usize) {
        let at = self.jump(condition);
        self.patch(at, target as i32 - (at + 4) as i32);
    }

    /// Lets a jump lead here.
    pub fn land(&mut self, jump: usize) {
        self.patch(jump, (self.bytes.len() - jump - 4) as i32);
    }

    pub fn patch(&mut self, at: usize, value: i32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Goes on at a multiple of 32 bytes, where loops begin best.
    pub fn align(&mut self) {
        const NOTHING: [&[u8]; 4] = [&[0x90], &[0x66, 0x90], &[0x0F, 0x1F, 0x00], &[0x0F, 0x1F, 0x40, 0x00]];
        let mut gap = self.bytes.len().wrapping_neg() % 32;
        while gap > 0 {
            let step = gap.min(4);
            self.push(NOTHING[step - 1]);
            gap -= step;
        }
    }

    /// The code with its constants behind it.
    pub fn finish(mut self) -> Vec<u8> {
        let first = self.bytes.len().next_multiple_of(8);
        for (at, constant) in std::mem::take(&mut self.to_constants) {
            self.patch(at, (first + 8 * constant) as i32 - (at + 4) as i32);
        }
        self.bytes.resize(first, 0);
        for bits in std::mem::take(&mut self.constants) {
            self.push(&bits.to_le_bytes());
        }
        self.bytes
    }
}
