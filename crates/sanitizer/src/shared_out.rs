//! Lists that several host threads go through, each a part.

use std::panic::resume_unwind;

/// Pages for which another host thread is worth while.
const MANY: usize = 32;

/// Does something with parts of a list, on at most so many host threads.
pub(crate) fn on_threads<I: Send, T: Send>(
    most: usize,
    items: &mut [I],
    act: impl Fn(&mut [I]) -> T + Sync,
) -> Vec<T> {
    let threads = (items.len() / MANY).clamp(1, most.max(1));
    if threads == 1 {
        return vec![act(items)];
    }
    let each = items.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let act = &act;
        let begun: Vec<_> = items.chunks_mut(each).map(|items| scope.spawn(move || act(items))).collect();
        begun.into_iter().map(|thread| thread.join().unwrap_or_else(|why| resume_unwind(why))).collect()
    })
}
