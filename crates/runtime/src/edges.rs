//! Which tasks in flight a new one waits for: those that touch the same bytes, if one of the two writes them.

use crate::node::{self, Nodes};
use crate::plan::TaskPlan;
use crate::profile;
use crate::reserved;
use crate::store::{Access, Numbers, Store};
use crate::task::Task;
use numloom_ir::{Overlap, View};
use numloom_profile::record::TaskRecord;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whether tasks that touch these must follow each other. In several memories bytes are kept and moved in boxes, so
/// there the elements between those of a view that leaves some out are touched, too.
fn meet(store: &Store, a: &Access, b: &View, bounds: (usize, usize)) -> bool {
    let apart = a.bounds.1 <= bounds.0 || bounds.1 <= a.bounds.0;
    let shared = !apart && node::conflict(&a.view, b) != Overlap::Disjoint;
    if shared || reserved::devices() == 0 {
        return shared;
    }
    let grid = store.grid();
    grid.cover(&a.view).meets(&grid.cover(b))
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
        let bounds = node::bounds(view);
        for a in &store.accesses.lock().all {
            if (writes || a.writes) && meet(store, a, view, bounds) {
                profile::follows(record, &a.task);
            }
        }
    }
}

/// Makes the task follow those it must, and later ones follow it. One window is launched after another.
///
/// An access goes from its store's list once the task that made it is over, and also where the new task follows that one
/// (itself, or by way of one other) and touches the same view no less: whoever would have to follow the old one will
/// follow the new one. So a loop does not make the list longer with every round.
pub fn draw<'a>(task: &Arc<Task>, touched: impl Iterator<Item = Touched<'a>> + Clone) {
    static LAUNCHED: AtomicU64 = AtomicU64::new(0);
    let number = LAUNCHED.fetch_add(1, Ordering::Relaxed);
    let (mut followed, mut further) = (Numbers::new(), Numbers::new());
    for (store, view, writes) in touched.clone() {
        let (mut accesses, bounds) = (store.accesses.lock(), node::bounds(view));
        accesses.prune();
        for a in &accesses.all {
            if (writes || a.writes) && meet(store, a, view, bounds) && !followed.contains(&a.number) {
                task.follow(&a.task);
                followed.push(a.number);
                further.extend_from_slice(&a.follows);
            }
        }
    }
    for (store, view, writes) in touched {
        let (mut accesses, bounds) = (store.accesses.lock(), node::bounds(view));
        accesses.all.retain(|a| {
            let less = a.writes <= writes && a.bounds == bounds && a.view == *view;
            !less || !(followed.contains(&a.number) || further.contains(&a.number))
        });
        let follows = followed.clone();
        accesses.all.push(Access { task: task.clone(), view: view.clone(), bounds, writes, number, follows });
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
        assert_eq!(store.accesses.lock().all.len(), 3);
    }

    #[test]
    fn so_does_one_by_way_of_another_array() {
        let (array, other) = (Store::new(800, Provenance::default()), Store::new(800, Provenance::default()));
        let (left, right, middle) = (part(0, 98), part(2, 98), part(1, 98));
        for _ in 0..50 {
            draw(&task(), [(&array, &left, false), (&array, &right, false), (&other, &middle, true)].into_iter());
            draw(&task(), [(&other, &middle, false), (&array, &middle, true)].into_iter());
        }
        assert!(array.accesses.lock().all.len() <= 4, "{}", array.accesses.lock().all.len());
        assert!(other.accesses.lock().all.len() <= 4, "{}", other.accesses.lock().all.len());
    }

    #[test]
    fn an_access_stays_where_the_next_task_does_less_or_does_not_follow() {
        let store = Store::new(800, Provenance::default());
        let (all, half) = (part(0, 100), part(0, 50));
        // Readers do not follow each other: a writer has to follow both.
        draw(&task(), [(&store, &all, false)].into_iter());
        draw(&task(), [(&store, &all, false)].into_iter());
        assert_eq!(store.accesses.lock().all.len(), 2);
        // A writer takes the place of both.
        draw(&task(), [(&store, &all, true)].into_iter());
        assert_eq!(store.accesses.lock().all.len(), 1);
        // A reader follows the writer and does less than it: the next reader follows the writer still.
        draw(&task(), [(&store, &all, false)].into_iter());
        assert_eq!(store.accesses.lock().all.len(), 2);
        // Of another view nothing is known.
        draw(&task(), [(&store, &half, true)].into_iter());
        assert_eq!(store.accesses.lock().all.len(), 3);
    }
}
