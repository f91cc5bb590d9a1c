//! Threads that work together: shuffles, votes, barriers, exchanges through shared memory.

use super::Generator;
use crate::vocabulary::register;

impl Generator {
    /// An operation of a whole warp.
    pub(super) fn across(&mut self) -> String {
        let whole = self.threads.is_multiple_of(32);
        let rare = self.kinds.rare_warp;
        let random = &mut self.random;
        let (d, a, b) = (register('r', random), register('r', random), register('r', random));
        let (p, q) = (register('p', random), register('p', random));
        let also = if random.bool() { format!("|{p}") } else { String::new() };
        match random.u32(..if rare { 8 } else { 5 }) {
            // Of a part of a warp only lanes that exist have values.
            0 | 1 if !whole => {
                format!("rem.u32 %i0, {b}, %live;\nshfl.sync.idx.b32 {d}{also}, {a}, %i0, 31, -1;")
            }
            0 => {
                let mode = ["up", "down", "bfly", "idx"][random.usize(..4)];
                let segment = [0_u32, 16, 24, 28, 30, 31][random.usize(..6)];
                let clamp = segment << 8 | if mode == "up" { 0 } else { 31 };
                format!("shfl.sync.{mode}.b32 {d}{also}, {a}, {}, {clamp}, -1;", random.u32(..32))
            }
            1 => {
                let mode = ["up", "down", "bfly", "idx"][random.usize(..4)];
                let clamp = if mode == "up" { 0 } else { 31 };
                format!("shfl.sync.{mode}.b32 {d}{also}, {a}, {b}, {clamp}, -1;")
            }
            2 => format!("vote.sync.ballot.b32 {d}, {q}, -1;"),
            3 => format!("vote.sync.{}.pred {p}, {q}, -1;", ["all", "any", "uni"][random.usize(..3)]),
            4 => "bar.warp.sync -1;".to_owned(),
            5 => {
                let how = ["add.u32", "min.s32", "max.u32", "and.b32", "xor.b32"][random.usize(..5)];
                format!("redux.sync.{how} {d}, {a}, -1;")
            }
            6 => format!("match.any.sync.b32 {d}, {a}, -1;"),
            _ => format!("match.all.sync.b32 {d}{also}, {a}, -1;"),
        }
    }

    /// A barrier of the CTA.
    pub(super) fn barrier(&mut self) -> String {
        let rare = self.kinds.rare_warp;
        let random = &mut self.random;
        match random.u32(..if rare { 4 } else { 3 }) {
            0 => "bar.sync 0;".to_owned(),
            1 => "barrier.sync 1;".to_owned(),
            2 => "barrier.cta.sync.aligned 0;".to_owned(),
            _ => {
                let (d, p) = (register('r', random), register('p', random));
                format!("bar.red.popc.u32 {d}, 0, {p};")
            }
        }
    }

    /// Each thread stores a value; behind a barrier it loads another's.
    pub(super) fn exchange(&mut self) -> String {
        let random = &mut self.random;
        let (a, b, d) = (register('r', random), register('r', random), register('r', random));
        let other = match random.u32(..3) {
            0 => format!("add.u32 %i0, %thread, {}; rem.u32 %i0, %i0, %threads;", random.u32(..40)),
            1 => "sub.u32 %i0, %threads, %thread; sub.u32 %i0, %i0, 1;".to_owned(),
            _ => format!("rem.u32 %i0, {b}, %threads;"),
        };
        format!(
            "bar.sync 0;\nmov.u64 %a0, exchange; mul.wide.u32 %a1, %thread, 4; add.s64 %a1, %a0, %a1;\n\
             st.shared.b32 [%a1], {a};\nbar.sync 0;\n{other}\nmul.wide.u32 %a1, %i0, 4; add.s64 %a1, %a0, %a1;\n\
             ld.shared.b32 {d}, [%a1];"
        )
    }
}
