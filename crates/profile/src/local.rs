//! What a thread keeps of its own while a session runs: the spans that are open on its lanes, how its Python program
//! spends its time, and counts of what is too small to be told one by one.

use crate::clock;
use crate::event::{Event, What};
use crate::kinds::{Doing, Lane, Use};
use crate::live;
use crate::names;
use crate::queue::Queue;
use crate::session;
use std::cell::RefCell;
use std::sync::Arc;

/// A place in the program, as the runtime knows it: the session turns it into a line. 0: nowhere.
pub type Place = u64;

struct Open {
    doing: Doing,
    subject: u64,
    place: Place,
    started: u64,
}

/// Operations, or uses, of one kind on one line, counted together.
struct Tally {
    place: Place,
    name: &'static str,
    /// `None`: operations that ran at once.
    used: Option<Use>,
    first: u64,
    last: u64,
    count: u32,
    amount: u64,
}

/// Most tallies kept before they are handed over.
const MOST_TALLIES: usize = 64;

pub struct Local {
    session: u32,
    queue: Arc<Queue>,
    /// Numbers of this thread's processors; `u16::MAX`: not asked for yet.
    processors: [u16; Lane::ALL.len()],
    open: [Vec<Open>; Lane::ALL.len()],
    tallies: Vec<Tally>,
    /// The tally of the operation before: a loop comes to them in turn.
    latest: usize,
    tallied: u64,
    io: Io,
    /// The task that is being bound here, with the bytes of its new instances, read and written.
    binding: (u32, (u64, u64, u64)),
    /// When the last span on the CPU lane ended.
    cpu_until: u64,
    /// Tiles run since a task was entered, and when the last ended.
    pub tiles: (u32, u64),
    /// How deep ranges are nested.
    pub ranges: u8,
    /// Values read into Python since an array was last made from values.
    pub values: u64,
}

/// How the thread of a Python program spends its time between longer things.
#[derive(Default)]
struct Io {
    /// When the last call ended; 0: there was none.
    last: u64,
    /// Calls in short succession: since when, how many, and whether one was recorded.
    since: u64,
    calls: u32,
    recorded: bool,
}

/// Calls with less than this between them (in ns) are one stretch.
const GAP: u64 = 20_000;
/// A stretch is told of after this long (in ns), even if it goes on.
const LONG: u64 = 50_000_000;

thread_local! {
    static LOCAL: RefCell<Option<Box<Local>>> = const { RefCell::new(None) };
}

/// Gives the work this thread's own data for the session that runs; nothing when none does.
#[inline]
pub fn with<R>(work: impl FnOnce(&mut Local) -> R) -> Option<R> {
    LOCAL
        .try_with(|local| {
            let mut local = local.try_borrow_mut().ok()?;
            let now = session::number();
            if now == 0 {
                return None;
            }
            if local.as_ref().is_none_or(|l| l.session != now) {
                *local = Some(Box::new(Local::new(now, session::new_queue())));
            }
            local.as_deref_mut().map(work)
        })
        .ok()
        .flatten()
}

impl Drop for Local {
    fn drop(&mut self) {
        if self.session == session::number() {
            self.hand_over();
        }
    }
}

impl Local {
    fn new(session: u32, queue: Arc<Queue>) -> Local {
        Local {
            session,
            queue,
            processors: [u16::MAX; Lane::ALL.len()],
            open: Default::default(),
            tallies: Vec::new(),
            latest: 0,
            tallied: 0,
            io: Io::default(),
            binding: (0, (0, 0, 0)),
            cpu_until: 0,
            tiles: (0, 0),
            ranges: 0,
            values: 0,
        }
    }

    #[inline]
    pub fn push(&mut self, event: Event) {
        // SAFETY: the queue is this thread's, and nobody else pushes.
        if unsafe { self.queue.push(event) } {
            session::ring();
        }
    }

    pub fn processor(&mut self, lane: Lane) -> u16 {
        let known = &mut self.processors[lane as usize];
        if *known == u16::MAX {
            *known = session::new_processor(lane);
        }
        *known
    }

    fn span(&mut self, lane: Lane, doing: Doing, from: u64, to: u64, subject: u64, place: Place, count: u64) {
        let half = self.processor(lane);
        let last = if doing.counts_bytes() { count } else { place };
        let word = count.min(u32::MAX as u64) as u32;
        let at = [from, to.max(from), subject, last];
        self.push(Event { what: What::Span, small: doing as u8, half, word, at });
    }

    /// Opens a span on a lane. One that is open there already is interrupted by it.
    pub fn begin(&mut self, lane: Lane, doing: Doing, subject: u64, place: Place) {
        let now = clock::now();
        match self.open[lane as usize].last() {
            Some(&Open { doing, subject, place, started }) if started < now => {
                self.span(lane, doing, started, now, subject, place, 0);
            }
            Some(_) => {}
            None if lane == Lane::Io => self.close_stretch(now, place),
            None => {}
        }
        self.open[lane as usize].push(Open { doing, subject, place, started: now });
        let processor = self.processor(lane);
        self.queue.at.set(live::packed(lane, doing, subject), now, place, processor);
    }

    /// Says what the thread goes on with after something on a lane has ended.
    fn goes_on(&mut self, now: u64) {
        // A thread that waits may have come to work for others; what it waits for is the outermost.
        let open =
            [Lane::Cpu, Lane::Utility, Lane::Io].into_iter().find_map(|l| Some((l, self.open[l as usize].last()?)));
        let (what, since, place, lane) = match open {
            Some((lane, o)) => (live::packed(lane, o.doing, o.subject), o.started, o.place, lane),
            None if self.io.last != 0 => (live::packed(Lane::Io, Doing::Python, 0), now, 0, Lane::Io),
            None => (0, now, 0, Lane::Cpu),
        };
        let processor = if what == 0 { 0 } else { self.processor(lane) };
        self.queue.at.set(what, since, place, processor);
    }

    /// Ends what `begin` began, now or at a time before; what it interrupted goes on.
    pub fn end_at(&mut self, lane: Lane, count: u64, ended: Option<u64>) {
        let Some(open) = self.open[lane as usize].pop() else { return };
        let now = ended.unwrap_or_else(clock::now);
        if ended.is_some() || open.doing != Doing::Task {
            self.span(lane, open.doing, open.started, now, open.subject, open.place, count);
        }
        if lane == Lane::Cpu {
            self.cpu_until = now;
        }
        match self.open[lane as usize].last_mut() {
            Some(below) => below.started = now,
            None if lane == Lane::Io => self.io = Io { last: now, since: now, calls: 0, recorded: false },
            None => {}
        }
        self.goes_on(now);
    }

    /// A span that is over, without what the lane was busy with meanwhile.
    pub fn span_after(&mut self, lane: Lane, doing: Doing, from: u64, to: u64, subject: u64, count: u64) {
        let from = if lane == Lane::Cpu { from.max(self.cpu_until) } else { from };
        if lane == Lane::Cpu {
            self.cpu_until = to;
        }
        self.span(lane, doing, from, to, subject, 0, count);
    }

    pub fn bind(&mut self, task: u32) {
        self.binding = (task, (0, 0, 0));
    }

    /// The bytes of new instances, read and written that were counted since `bind`.
    pub fn bound(&mut self) -> (u64, u64, u64) {
        std::mem::take(&mut self.binding).1
    }

    /// The task that is being bound here; 0: none.
    pub fn task(&self) -> u32 {
        self.binding.0
    }

    pub fn count_traffic(&mut self, read: u64, written: u64) {
        let bytes = &mut self.binding.1;
        (bytes.1, bytes.2) = (bytes.1 + read, bytes.2 + written);
    }

    pub fn count_new(&mut self, bytes: u64) {
        self.binding.1.0 += bytes;
    }

    pub fn set_subject(&mut self, lane: Lane, subject: u64) {
        if let Some(open) = self.open[lane as usize].last_mut() {
            open.subject = subject;
        }
    }

    /// Whether something is open on a lane, and about this.
    pub fn is_open(&self, lane: Lane, subject: u64) -> bool {
        self.open[lane as usize].last().is_some_and(|o| o.subject == subject)
    }

    /// Another kind for what is open on a lane.
    pub fn rename(&mut self, lane: Lane, doing: Doing) {
        if let Some(open) = self.open[lane as usize].last_mut() {
            open.doing = doing;
        }
    }

    /// The program's thread made a call that entered the window, or ran at once.
    #[inline]
    pub fn called(&mut self, now: u64, place: Place, recorded: bool) {
        if !self.open[Lane::Io as usize].is_empty() {
            return;
        }
        if now.wrapping_sub(self.io.last) > clock_gap() || now.wrapping_sub(self.io.since) > clock_long() {
            self.close_stretch(now, place);
        }
        self.io.calls += 1;
        self.io.recorded |= recorded;
        self.io.last = now;
    }

    /// The last call ended just now.
    pub fn returned(&mut self, now: u64) {
        if self.io.calls > 0 {
            self.io.last = now;
        }
    }

    /// Tells of the stretch of calls that ended with the last one, and of the Python time after it.
    #[cold]
    fn close_stretch(&mut self, now: u64, place: Place) {
        let before = std::mem::take(&mut self.io);
        if before.calls > 0 {
            let doing = if before.recorded { Doing::Record } else { Doing::Small };
            self.span(Lane::Io, doing, before.since, before.last, 0, 0, before.calls as u64);
        }
        let last = if before.last == 0 { session::began() } else { before.last };
        if now > last {
            self.span(Lane::Io, Doing::Python, last, now, 0, place, 0);
        }
        self.io = Io { last: now, since: now, calls: 0, recorded: false };
    }

    /// Counts an operation that ran at once, or a use of something.
    #[inline]
    pub fn tally(&mut self, place: Place, name: &'static str, used: Option<Use>, amount: u64, now: u64) {
        let same = |t: &Tally| t.place == place && std::ptr::eq(t.name, name) && t.used == used;
        let next = if self.latest + 1 < self.tallies.len() { self.latest + 1 } else { 0 };
        let found = match self.tallies.get(next) {
            Some(t) if same(t) => Some(next),
            _ => self.tallies.iter().position(same),
        };
        if let Some(k) = found {
            let t = &mut self.tallies[k];
            (t.last, t.count, t.amount) = (now, t.count.saturating_add(1), t.amount.saturating_add(amount));
            self.latest = k;
            if now.wrapping_sub(self.tallied) > clock_long() {
                self.hand_over_tallies();
            }
            return;
        }
        if self.tallies.is_empty() {
            self.tallied = now;
        }
        if self.tallies.len() == MOST_TALLIES {
            self.hand_over_tallies();
        }
        self.latest = self.tallies.len();
        self.tallies.push(Tally { place, name, used, first: now, last: now, count: 1, amount });
    }

    #[cold]
    fn hand_over_tallies(&mut self) {
        self.latest = 0;
        self.tallied = clock::now();
        for t in std::mem::take(&mut self.tallies) {
            let half = names::known(t.name);
            let (what, small, at) = match t.used {
                None => (What::Small, 0, [t.first, t.last, t.place, t.amount]),
                Some(used) => (What::Use, used as u8, [t.first, t.amount, t.place, 0]),
            };
            self.push(Event { what, small, half, word: t.count, at });
        }
    }

    /// Everything that is still kept here goes to the file.
    pub fn hand_over(&mut self) {
        self.hand_over_tallies();
        if self.io.last != 0 && self.open[Lane::Io as usize].is_empty() {
            self.close_stretch(clock::now(), 0);
        }
    }
}

fn clock_gap() -> u64 {
    session::limits().0
}

fn clock_long() -> u64 {
    session::limits().1
}

/// `GAP` and `LONG` in counts of the clock.
pub fn limits() -> (u64, u64) {
    (clock::counts(GAP), clock::counts(LONG))
}
