//! Events as they are kept in memory: forty bytes each, written by the thread that sees them.

/// What an event tells; the fields by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum What {
    /// `small`: kind, `half`: processor, `word`: count, `at`: started, stopped, subject, line (or bytes).
    Span,
    /// An operation of the task whose `Task` comes next from this thread. `small`: traits, `half`: name,
    /// `word`: times, `at`: recorded, line, shape.
    Operation,
    /// Tasks that it waited for: `small` of them in `at`.
    Edges,
    /// Instances that it read: `small` of them in `at`.
    Reads,
    /// `small`: variant, `half`: failed, `word`: tiles, `at`: read, written, mapped. Before `Task`.
    TaskSize,
    /// `word`: id, `at`: created, ready, started, stopped.
    Task,
    /// `half`: operation, `at`: its line, store, level, task. Before `Instance`.
    InstanceBy,
    /// `small`: memory, `word`: shape, `at`: id, bytes, born, line.
    Instance,
    /// `small`: memory, `word`: reads, `at`: id, time, level.
    Death,
    /// `small`: from, `half`: to and reason, `word`: task, `at`: started, stopped, bytes, line.
    Copy,
    /// `small`: depth, `half`: processor, `word`: name, `at`: started, stopped, line.
    Range,
    /// `half`: name, `word`: count, `at`: first, last, line, elements.
    Small,
    /// `small`: kind, `half`: name, `word`: count, `at`: time, bytes, line.
    Use,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Event {
    pub what: What,
    pub small: u8,
    pub half: u16,
    pub word: u32,
    pub at: [u64; 4],
}

const _: () = assert!(size_of::<Event>() == 40);
