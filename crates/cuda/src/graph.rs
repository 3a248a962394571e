//! A sequence of launches as a graph of the driver's, one after another: given to a stream with one call, and with one
//! more for each launch whose arguments changed since the last time.

use crate::device::Code;
use crate::driver::{Driver, Exec, KernelNode, Node};
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A launch that waits: its function, grid, block and arguments.
pub(crate) struct Start {
    pub code: Arc<Code>,
    pub grid: u32,
    pub block: (u32, u32),
    /// Where its words begin among those of all.
    pub at: usize,
    pub words: usize,
}

impl Start {
    pub fn words<'a>(&self, all: &'a [u64]) -> &'a [u64] {
        &all[self.at..self.at + self.words]
    }

    /// As the driver takes it; `arguments` has the address of its words.
    fn node(&self, arguments: &mut [*mut c_void; 1]) -> KernelNode {
        KernelNode {
            function: self.code.function,
            grid: [self.grid, 1, 1],
            block: [self.block.0, self.block.1, 1],
            shared_bytes: 0,
            arguments: arguments.as_mut_ptr(),
            extra: null_mut(),
            kernel: null_mut(),
            context: null_mut(),
        }
    }
}

pub(crate) struct Graph {
    driver: Arc<Driver>,
    exec: Exec,
    /// Destroyed with the graph they were added to, which their handles need.
    graph: crate::driver::Graph,
    nodes: Vec<Node>,
    /// The arguments it has now.
    words: Vec<u64>,
    /// What its nodes point to.
    _codes: Vec<Arc<Code>>,
}

// SAFETY: as for `Device`; the device's queue lets in one thread at a time.
unsafe impl Send for Graph {}

/// Whether the driver has graphs.
pub(crate) fn are_there(d: &Driver) -> bool {
    d.graph_create.is_some()
        && d.graph_destroy.is_some()
        && d.graph_add_kernel.is_some()
        && d.graph_instantiate.is_some()
        && d.graph_exec_destroy.is_some()
        && d.graph_set_kernel.is_some()
        && d.graph_launch.is_some()
}

impl Graph {
    /// `None` where the driver cannot. The device's context is current.
    ///
    /// # Safety
    /// As for launching each.
    pub unsafe fn of(driver: &Arc<Driver>, starts: &[Start], words: &[u64]) -> Option<Graph> {
        let (create, add, instantiate) = (driver.graph_create?, driver.graph_add_kernel?, driver.graph_instantiate?);
        let mut made = Graph {
            driver: driver.clone(),
            exec: null_mut(),
            graph: null_mut(),
            nodes: Vec::with_capacity(starts.len()),
            words: words.to_vec(),
            _codes: starts.iter().map(|s| s.code.clone()).collect(),
        };
        // SAFETY: outputs are ours, and each node follows one that is there; arguments are copied by the call.
        unsafe {
            if create(&mut made.graph, 0) != 0 {
                return None;
            }
            for start in starts {
                let mut arguments = [start.words(words).as_ptr() as *mut c_void];
                let (mut node, params) = (null_mut(), start.node(&mut arguments));
                let (before, count) = made.nodes.last().map_or((null(), 0), |n| (n as *const Node, 1));
                if add(&mut node, made.graph, before, count, &params) != 0 {
                    return None;
                }
                made.nodes.push(node);
            }
            (instantiate(&mut made.exec, made.graph, 0) == 0).then_some(made)
        }
    }

    /// Gives the sequence to the stream with these arguments; false, and nothing was given, where the driver refuses.
    ///
    /// # Safety
    /// As for launching each; they are the launches it was made of but for their arguments.
    pub unsafe fn launch(&mut self, starts: &[Start], words: &[u64], stream: crate::driver::Stream) -> bool {
        let (Some(set), Some(launch)) = (self.driver.graph_set_kernel, self.driver.graph_launch) else { return false };
        for (start, &node) in starts.iter().zip(&self.nodes) {
            if start.words(words) == start.words(&self.words) {
                continue;
            }
            let mut arguments = [start.words(words).as_ptr() as *mut c_void];
            // SAFETY: the node is this graph's; what was launched before keeps the arguments it had.
            if unsafe { set(self.exec, node, &start.node(&mut arguments)) } != 0 {
                return false;
            }
        }
        self.words.clear();
        self.words.extend_from_slice(words);
        // SAFETY: the caller's.
        unsafe { launch(self.exec, stream) == 0 }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: each is destroyed once; the driver keeps what is still running.
        unsafe {
            if let (Some(destroy), false) = (self.driver.graph_exec_destroy, self.exec.is_null()) {
                destroy(self.exec);
            }
            if let (Some(destroy), false) = (self.driver.graph_destroy, self.graph.is_null()) {
                destroy(self.graph);
            }
        }
    }
}
