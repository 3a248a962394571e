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

/// What a task touches: a store, which part of it, and whether it writes there.
pub type Touched<'a> = (&'a Store, &'a View, bool);

/// What a planned task touches.
pub fn touched<'a>(plan: &'a TaskPlan, nodes: &'a Nodes) -> impl Iterator<Item = Touched<'a>> + Clone {
    plan.accesses.iter().map(|(store, view, writes)| (&*nodes.stores[*store as usize].store, view, *writes))
}

/// Notes which tasks in flight one that touches these will follow.
pub fn note<'a>(record: &mut Option<Box<TaskRecord>>, touched: impl Iterator<Item = Touched<'a>>) {
    for (store, view, writes) in touched {
        for a in store.accesses.lock().iter() {
            if (writes || a.writes) && meet(store, &a.view, view) {
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
pub fn draw<'a>(task: &Arc<Task>, touched: impl Iterator<Item = Touched<'a>> + Clone) {
    let mut followed: SmallVec<[Arc<Task>; 8]> = SmallVec::new();
    let follows = |f: &[Arc<Task>], t: &Arc<Task>| f.iter().any(|e| Arc::ptr_eq(e, t));
    for (store, view, writes) in touched.clone() {
        let mut accesses = store.accesses.lock();
        accesses.retain(|a| !a.task.is_over());
        for a in accesses.iter() {
            let conflict = (writes || a.writes) && !follows(&followed, &a.task) && meet(store, &a.view, view);
            if conflict && !Arc::ptr_eq(task, &a.task) {
                task.follow(&a.task);
                followed.push(a.task.clone());
            }
        }
        accesses.push(Access { task: task.clone(), view: view.clone(), writes });
    }
    if followed.is_empty() {
        return;
    }
    for (store, view, writes) in touched {
        let kept = |a: &Access| a.writes && !writes || a.view != *view || !follows(&followed, &a.task);
        store.accesses.lock().retain(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Provenance;
    use crate::task::{Payload, Work};
    use numloom_ir::DType;
    use numloom_ir::view::Order;

    fn task() -> Arc<Task> {
        Arc::new(Task::new(Work::new(Payload::Opaque, Vec::new())))
    }

    fn part(from: usize, n: usize) -> View {
        let mut view = View::dense(DType::F64, &[n], Order::C);
        view.offset = from * 8;
        view
    }

    #[test]
    fn a_loop_over_one_array_keeps_its_list_short() {
        let store = Store::new(800, Provenance::default());
        let (left, right, middle) = (part(0, 98), part(2, 98), part(1, 98));
        for _ in 0..50 {
            draw(&task(), [(&store, &left, false), (&store, &right, false), (&store, &middle, true)].into_iter());
        }
        assert_eq!(store.accesses.lock().len(), 3);
    }

    #[test]
    fn an_access_stays_where_the_next_task_does_less_or_does_not_follow() {
        let store = Store::new(800, Provenance::default());
        let (all, half) = (part(0, 100), part(0, 50));
        // Readers do not follow each other: a writer has to follow both.
        draw(&task(), [(&store, &all, false)].into_iter());
        draw(&task(), [(&store, &all, false)].into_iter());
        assert_eq!(store.accesses.lock().len(), 2);
        // A writer takes the place of both.
        draw(&task(), [(&store, &all, true)].into_iter());
        assert_eq!(store.accesses.lock().len(), 1);
        // A reader follows the writer and does less than it: the next reader follows the writer still.
        draw(&task(), [(&store, &all, false)].into_iter());
        assert_eq!(store.accesses.lock().len(), 2);
        // Of another view nothing is known.
        draw(&task(), [(&store, &half, true)].into_iter());
        assert_eq!(store.accesses.lock().len(), 3);
    }
}
