//! Which tasks in flight a new one waits for: those that touch the same bytes, if one of the two writes them.

use crate::node::{self, Nodes};
use crate::plan::TaskPlan;
use crate::profile;
use crate::reserved;
use crate::store::{Access, Store};
use crate::task::Task;
use numloom_ir::{Overlap, View};
use numloom_profile::record::TaskRecord;
use smallvec::SmallVec;
use std::sync::Arc;

/// Whether tasks that touch these must follow each other. In several memories bytes are kept and moved in boxes, so
/// there the elements between those of a view that leaves some out are touched, too.
fn meet(store: &Store, a: &View, b: &View) -> bool {
    let shared = node::conflict(a, b) != Overlap::Disjoint;
    if shared || reserved::devices() == 0 {
        return shared;
    }
    let grid = store.grid();
    grid.cover(a).meets(&grid.cover(b))
}

/// Notes which tasks in flight the planned one will follow.
pub fn note(record: &mut Option<Box<TaskRecord>>, plan: &TaskPlan, nodes: &Nodes) {
    for (store, view, writes) in &plan.accesses {
        let store = &nodes.stores[*store as usize].store;
        for a in store.accesses.lock().iter() {
            if (*writes || a.writes) && meet(store, &a.view, view) {
                profile::follows(record, &a.task);
            }
        }
    }
}

/// Makes the task follow those it must, and later ones follow it.
///
/// An access goes from its store's list once the task that made it is over, and also where the new task follows that one
/// and touches the same view no less: whoever would have to follow the old one will follow the new one. So a loop
/// does not make the list longer with every round.
pub fn draw(task: &Arc<Task>, plan: &TaskPlan, nodes: &Nodes) {
    let mut followed: SmallVec<[Arc<Task>; 8]> = SmallVec::new();
    let follows = |f: &[Arc<Task>], t: &Arc<Task>| f.iter().any(|e| Arc::ptr_eq(e, t));
    for (store, view, writes) in &plan.accesses {
        let store = &nodes.stores[*store as usize].store;
        let mut accesses = store.accesses.lock();
        accesses.retain(|a| !a.task.is_over());
        for a in accesses.iter() {
            let conflict = (*writes || a.writes) && !follows(&followed, &a.task) && meet(store, &a.view, view);
            if conflict && !Arc::ptr_eq(task, &a.task) {
                task.follow(&a.task);
                followed.push(a.task.clone());
            }
        }
        accesses.push(Access { task: task.clone(), view: view.clone(), writes: *writes });
    }
    if followed.is_empty() {
        return;
    }
    for (store, view, writes) in &plan.accesses {
        let mut accesses = nodes.stores[*store as usize].store.accesses.lock();
        accesses.retain(|a| a.writes && !*writes || a.view != *view || !follows(&followed, &a.task));
    }
}
