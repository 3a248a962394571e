//! A look at a program while it runs: whoever asks gets the file brought up to date and what every thread is at.
//!
//! The question goes to a socket that has no file (Linux's abstract names), so that nothing is left behind by a process
//! that is killed, and only the user whose process it is gets an answer.

use crate::chunk;
use crate::kinds::{Doing, Lane};
use crate::read;
use crate::table::{Live, Table, Tables};
use crate::write::Writer;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(1);

fn address(pid: u32) -> Option<SocketAddr> {
    SocketAddr::from_abstract_name(format!("numloom-profile-{pid}")).ok()
}

/// Where questions come in.
pub struct Door(UnixListener);

impl Door {
    /// None where the system has no such sockets: the file can still be read.
    pub fn open() -> Option<Door> {
        let listener = UnixListener::bind_addr(&address(std::process::id())?).ok()?;
        listener.set_nonblocking(true).ok()?;
        Some(Door(listener))
    }

    /// Answers those who have asked since.
    pub fn answer(&self, writer: &mut Writer) {
        while let Ok((mut stream, _)) = self.0.accept() {
            if !is_own_user(&stream) || writer.flush().is_err() {
                continue;
            }
            let live = writer.live();
            let payload = live.payload(0, live.rows());
            let _ = stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
            // Who has gone away needs no answer.
            let _ = stream.write_all(&chunk::chunk(Live::KIND, live.rows(), &payload));
        }
    }
}

fn is_own_user(stream: &UnixStream) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the socket is open, and the call writes at most `length` bytes.
    unsafe {
        let to = (&raw mut peer).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, to, &mut length) == 0
            && peer.uid == libc::geteuid()
    }
}

/// Has a running program write down what it knows, and tells what its threads are at; `None` if it does not answer.
pub fn ask(pid: u32) -> Option<Live> {
    let stream = UnixStream::connect_addr(&address(pid)?).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut bytes = Vec::new();
    stream.take(1 << 20).read_to_end(&mut bytes).ok()?;
    let mut tables = Tables::default();
    read::add_chunks(&mut tables, &bytes).ok()?;
    Some(tables.live)
}

/// What a thread is at, in one word: lane, kind and subject.
pub fn packed(lane: Lane, doing: Doing, subject: u64) -> u64 {
    1 << 63 | (lane as u64) << 40 | (doing as u64) << 32 | subject & u32::MAX as u64
}

/// The same in parts; `None`: it is at nothing.
pub fn unpacked(word: u64) -> Option<(u8, Doing, u32)> {
    let doing = Doing::of((word >> 32) as u8)?;
    (word >> 63 == 1).then_some(((word >> 40) as u8, doing, word as u32))
}
