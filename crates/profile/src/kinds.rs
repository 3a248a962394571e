//! The numbers that stand in profiles for lanes, spans, reasons and uses, with their names.

macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident { $($kind:ident = $number:literal $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name {
            $($kind = $number,)*
        }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$kind),*];

            pub fn of(number: u8) -> Option<$name> {
                match number {
                    $($number => Some($name::$kind),)*
                    _ => None,
                }
            }

            pub fn text(self) -> &'static str {
                match self {
                    $($name::$kind => $text,)*
                }
            }
        }
    };
}

kinds! {
    /// Lanes of processors.
    Lane {
        Cpu = 0 "CPU", Utility = 1 "Utility", Io = 2 "IO", System = 3 "System", OpenMp = 4 "OpenMP",
        GpuDevice = 5 "GPU Device", GpuHost = 6 "GPU Host", Partition = 7 "Dependent Partitioning",
    }
}

kinds! {
    /// Kinds of memory.
    MemoryKind {
        System = 0 "System", Socket = 1 "Socket", Framebuffer = 2 "Framebuffer", ZeroCopy = 3 "Zero Copy",
        Spill = 4 "Spill file",
    }
}

kinds! {
    /// What a span of time went to.
    Doing {
        Task = 0 "task", Waits = 1 "waits", Merge = 10 "merge", Analyse = 11 "analyse", Fuse = 12 "fuse",
        Planned = 13 "plan known", Compile = 14 "compile", Launch = 15 "launch", Map = 16 "map", Python = 20 "Python",
        Record = 21 "record", Sync = 22 "sync", Fallback = 23 "fallback", Small = 24 "small operations",
        Full = 25 "full", Allocate = 30 "allocate", Room = 31 "wait for memory", Spill = 32 "spill",
        Enqueue = 40 "enqueue", Partition = 50 "partition", Image = 51 "image",
    }
}

impl Doing {
    /// Whether time in it is waiting, not work: a lane is not busy with it.
    pub fn waits(self) -> bool {
        matches!(self, Doing::Waits | Doing::Sync | Doing::Full | Doing::Room)
    }

    /// Whether the span's count is bytes, kept where others keep their line.
    pub fn counts_bytes(self) -> bool {
        matches!(self, Doing::Map | Doing::Allocate | Doing::Room | Doing::Spill)
    }
}

kinds! {
    /// Why bytes went from one memory to another.
    Reason {
        Read = 0 "a task reads it there", Kept = 1 "kept bytes of a partial write", Host = 2 "back to the host",
        Evicted = 3 "made room", Spilled = 4 "spill", Unspilled = 5 "back from the spill file",
        Placed = 6 "placed by the program",
    }
}

kinds! {
    /// What a program did that deserves a look.
    Use {
        Fallback = 1 "fallback to NumPy", ScalarRead = 2 "scalar read", ScalarWrite = 3 "scalar written",
        Iteration = 4 "iteration over an array", ReadBack = 5 "array read back", FromValues = 6 "array made from values",
        Stack = 7 "stacking", Nonzero = 8 "nonzero", IndexArray = 9 "index array", Cast = 10 "cast",
        Mpi = 11 "mpi4py imported", Transposed = 12 "transposed access", Truth = 13 "truth of an array",
        Builtin = 14 "Python builtin over an array",
    }
}

/// What is known of a recorded operation, as bits of its traits.
pub mod traits {
    pub const CASTS: u8 = 1;
    pub const MASKED: u8 = 2;
    pub const JUMPS: u8 = 4;
    pub const NOT_STORED: u8 = 8;
    /// One tile may be work for several threads: a library divides it.
    pub const THREADED: u8 = 16;
}
