//! Where the values of a segment are while its code is written: in vector or mask registers, in memory they can be fetched
//! from again, or put aside on the stack. The code is straight, so it is known when each is wanted next.

use super::encode::{Code, Length, Op, Place, R11, RSI, RSP, Under, X66, XF2, XF3, op};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Vector,
    Mask,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A slot of which every element has its own.
    Dense(usize),
    /// A slot of one element.
    Uniform(usize),
    Constant(usize),
    Made,
}

pub struct Value {
    pub class: Class,
    /// Bytes of an element in memory.
    pub width: usize,
    pub origin: Origin,
    /// The instructions that read it, in order.
    pub uses: Vec<usize>,
}

pub type Id = usize;

/// The mask register of the elements that are left at the end.
pub const REST: u8 = 1;

const MOVES: [Op; 4] = [op(XF2, 1, 0, 0x6F), op(XF2, 1, 1, 0x6F), op(XF3, 1, 0, 0x6F), op(XF3, 1, 1, 0x6F)];
const STORES: [Op; 4] = [op(XF2, 1, 0, 0x7F), op(XF2, 1, 1, 0x7F), op(XF3, 1, 0, 0x7F), op(XF3, 1, 1, 0x7F)];
const BROADCASTS: [Op; 4] = [op(X66, 2, 0, 0x78), op(X66, 2, 0, 0x79), op(X66, 2, 0, 0x58), op(X66, 2, 1, 0x59)];
const LOAD_EIGHT: Op = op(XF3, 1, 1, 0x7E);
const STORE_EIGHT: Op = op(X66, 1, 1, 0xD6);
const TEST_BYTES: Op = op(X66, 2, 0, 0x26);

/// The operation of four that is for elements of `width` bytes.
pub fn by_width(ops: [Op; 4], width: usize) -> Op {
    ops[width.trailing_zeros() as usize]
}

/// Writes code that moves values, for one pass over the segment's instructions.
pub struct Values<'a> {
    pub code: &'a mut Code,
    pub all: &'a [Value],
    /// Elements of a vector.
    pub lanes: usize,
    /// Whether only the elements under [`REST`] are there.
    pub is_rest: bool,
    /// The registers that hold the addresses of slots, where they do.
    pub pointers: &'a [Option<u8>],
    pub frame: &'a mut Frame,
    homes: Vec<Option<u8>>,
    aside: Vec<Option<usize>>,
    owners: [[Option<Id>; 32]; 2],
    /// Registers that hold one value throughout, or are in use by the instruction being written.
    kept: [u32; 2],
    locked: [u32; 2],
}

/// Room on the stack, in units of 64 bytes.
#[derive(Default)]
pub struct Frame {
    pub size: usize,
    free: Vec<usize>,
}

impl<'a> Values<'a> {
    pub fn new(
        code: &'a mut Code,
        all: &'a [Value],
        lanes: usize,
        is_rest: bool,
        pointers: &'a [Option<u8>],
        frame: &'a mut Frame,
        pinned: &[(Id, u8)],
    ) -> Values<'a> {
        frame.free = (0..frame.size).collect();
        let mut values = Values {
            code,
            all,
            lanes,
            is_rest,
            pointers,
            frame,
            homes: vec![None; all.len()],
            aside: vec![None; all.len()],
            owners: [[None; 32]; 2],
            // There is no mask register to write to beyond the seventh, 0 means "all", and one has its use.
            kept: [0, !0xFC],
            locked: [0; 2],
        };
        for &(id, register) in pinned {
            let class = all[id].class;
            values.settle(class, id, register);
            values.kept[class as usize] |= 1 << register;
        }
        values
    }

    pub fn length(&self, width: usize) -> Length {
        Length::of(self.lanes * width)
    }

    /// For what raises flags: where nothing is, nothing may be raised.
    pub fn raising(&self) -> Under {
        if self.is_rest { Under::Zeroing(REST) } else { Under::All }
    }

    fn settle(&mut self, class: Class, id: Id, register: u8) {
        self.homes[id] = Some(register);
        self.owners[class as usize][register as usize] = Some(id);
    }

    fn next_use(&self, id: Id, now: usize) -> Option<usize> {
        let uses = &self.all[id].uses;
        uses.get(uses.partition_point(|&at| at < now)).copied()
    }

    /// A register for something new. What is wanted latest makes room.
    fn free_register(&mut self, class: Class, now: usize) -> u8 {
        let taken = self.kept[class as usize] | self.locked[class as usize];
        let registers = (0..32u8).filter(|r| taken >> r & 1 == 0);
        let owners = &self.owners[class as usize];
        let waits = |r: &u8| match owners[*r as usize] {
            None => usize::MAX,
            Some(id) => self.next_use(id, now).unwrap_or(usize::MAX - 1),
        };
        let register = registers.max_by_key(waits).expect("more registers than an instruction has operands");
        if let Some(id) = self.owners[class as usize][register as usize].take() {
            self.homes[id] = None;
            if self.all[id].origin == Origin::Made && self.next_use(id, now).is_some() {
                self.put_aside(class, id, register);
            }
        }
        self.locked[class as usize] |= 1 << register;
        register
    }

    fn put_aside(&mut self, class: Class, id: Id, register: u8) {
        if self.aside[id].is_some() {
            return;
        }
        let unit = self.frame.free.pop().unwrap_or_else(|| {
            self.frame.size += 1;
            self.frame.size - 1
        });
        self.aside[id] = Some(unit);
        let place = Place::Offset { base: RSP, offset: 64 * unit as i32 };
        match class {
            Class::Vector => self.code.vector(STORES[3], Length::B64, Under::All, register, 0, place),
            Class::Mask => self.code.store_mask(register, place),
        }
    }

    /// Instruction `now` is done: its registers may be given to others, and values that nobody wants leave theirs.
    pub fn done(&mut self, now: usize) {
        self.release();
        for class in [Class::Vector, Class::Mask] {
            for register in 0..32 {
                let Some(id) = self.owners[class as usize][register] else { continue };
                if self.kept[class as usize] >> register & 1 == 0 && self.next_use(id, now + 1).is_none() {
                    self.owners[class as usize][register] = None;
                    self.homes[id] = None;
                }
            }
        }
        for id in 0..self.all.len() {
            if self.aside[id].is_some() && self.next_use(id, now + 1).is_none() {
                self.frame.free.extend(self.aside[id].take());
            }
        }
    }

    /// Registers in use may be given to others.
    pub fn release(&mut self) {
        self.locked = [0; 2];
    }

    pub fn temporary(&mut self, class: Class, now: usize) -> u8 {
        self.free_register(class, now)
    }

    /// The register of a value that instruction `now` makes.
    pub fn make(&mut self, id: Id, now: usize) -> u8 {
        let class = self.all[id].class;
        let register = self.free_register(class, now);
        self.settle(class, id, register);
        register
    }

    /// The register of a value, fetched if it is in none.
    pub fn get(&mut self, id: Id, now: usize) -> u8 {
        let class = self.all[id].class;
        if let Some(register) = self.homes[id] {
            self.locked[class as usize] |= 1 << register;
            return register;
        }
        let register = self.make(id, now);
        self.fetch(id, register, now);
        register
    }

    /// The address of a slot's element, or of its only one.
    fn slot(&mut self, slot: usize, scale: Option<u8>) -> Place {
        let base = match self.pointers[slot] {
            Some(register) => register,
            None => {
                self.code.load(R11, RSI, 8 * slot as i32);
                R11
            }
        };
        match scale {
            Some(scale) => Place::Element { base, scale },
            None => Place::Offset { base, offset: 0 },
        }
    }

    pub fn fetch(&mut self, id: Id, register: u8, now: usize) {
        let Value { class, width, origin, .. } = self.all[id];
        if let Some(unit) = self.aside[id] {
            let place = Place::Offset { base: RSP, offset: 64 * unit as i32 };
            return match class {
                Class::Vector => self.code.vector(MOVES[3], Length::B64, Under::All, register, 0, place),
                Class::Mask => self.code.load_mask(register, place),
            };
        }
        let vector = if class == Class::Mask { self.temporary(Class::Vector, now) } else { register };
        match origin {
            Origin::Dense(slot) => {
                self.move_elements(slot, width, vector, MOVES, LOAD_EIGHT, Under::Zeroing(REST));
            }
            Origin::Uniform(slot) => {
                let place = self.slot(slot, None);
                self.code.vector(by_width(BROADCASTS, width), Length::B64, Under::All, vector, 0, place);
            }
            Origin::Constant(at) => {
                let place = Place::Constant(at);
                self.code.vector(by_width(BROADCASTS, width), Length::B64, Under::All, vector, 0, place);
            }
            Origin::Made => unreachable!("what was made is in a register or aside"),
        }
        if class == Class::Mask {
            self.code.vector(TEST_BYTES, Length::B64, Under::All, register, vector, Place::Register(vector));
        }
    }

    /// Stores a vector register as the elements of a slot.
    pub fn store(&mut self, slot: usize, width: usize, register: u8) {
        self.move_elements(slot, width, register, STORES, STORE_EIGHT, Under::Merging(REST));
    }

    /// Between a vector register and the elements of a slot: all of them, eight bytes of them, or those that are left.
    fn move_elements(&mut self, slot: usize, width: usize, register: u8, all: [Op; 4], eight: Op, rest: Under) {
        let place = self.slot(slot, Some(width.trailing_zeros() as u8));
        let (op, under) = match self.is_rest {
            true => (by_width(all, width), rest),
            false if self.lanes * width == 8 => (eight, Under::All),
            false => (by_width(all, width), Under::All),
        };
        self.code.vector(op, self.length(width), under, register, 0, place);
    }

    /// A copy of a register of a class.
    pub fn copy(&mut self, class: Class, to: u8, from: u8) {
        match class {
            Class::Vector => self.code.vector(MOVES[3], Length::B64, Under::All, to, 0, Place::Register(from)),
            Class::Mask => self.code.masks(0x90, to, 0, from, false),
        }
    }

    /// `register` with `from` in the lanes of a mask, and zero in the others.
    pub fn only_under(&mut self, width: usize, register: u8, mask: u8, from: u8) {
        let (mov, length) = (by_width(MOVES, width), self.length(width));
        self.code.vector(mov, length, Under::Zeroing(mask), register, 0, Place::Register(from));
    }

    /// `register` with `from` in the lanes of a mask, and what it was in the others.
    pub fn also_under(&mut self, width: usize, register: u8, mask: u8, from: u8) {
        let (mov, length) = (by_width(MOVES, width), self.length(width));
        self.code.vector(mov, length, Under::Merging(mask), register, 0, Place::Register(from));
    }
}
