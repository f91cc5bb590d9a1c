//! Loops that step far through memory: what a round accesses is fetched some rounds before.
//!
//! A thread that goes down a column or through the planes of a volume steps over pages, where the host's prefetchers do not follow. A
//! GPU waits for some of its warps while others run; here rows run one after the other, so each waits for memory in every round. How
//! far a round is from the last one is only known at run time, and is taken for the next ones, too. A fetch of an address that is not
//! there does nothing, so it needs no test.

use super::Emitter;
use super::window::Tested;
use machine::memory::SpaceKind;

/// Rounds between a fetch and the access: memory takes some hundred cycles, a round of a row some tens at least.
const ROUNDS: i64 = 2;
/// Bytes of a line of the host's caches, and how many lines are fetched at most.
const LINE: u64 = 64;
const LINES: u64 = 4;

impl Emitter<'_> {
    /// Fetches what a row's access, of so many bytes, will reach some rounds later if it goes on as since the last one.
    pub(super) fn fetch_ahead(&mut self, tested: &Tested, bytes: u64) {
        let is_in_loop = self.order.loop_of[self.block].is_some();
        if !is_in_loop || !tested.is_row() || !matches!(tested.space, SpaceKind::Global | SpaceKind::Generic)
        {
            return;
        }
        let slot = format!("%last{}", tested.window);
        let value = |e: &mut Self, text: String| e.text.value(&text);
        let pointer = self.pointer(tested);
        let at = value(self, format!("ptrtoint ptr {pointer} to i64"));
        let last = value(self, format!("load i64, ptr {slot}"));
        self.text.line(&format!("store i64 {at}, ptr {slot}"));
        let step = value(self, format!("sub i64 {at}, {last}"));
        let far = value(self, format!("mul i64 {step}, {ROUNDS}"));
        self.intrinsic("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
        for line in 0..bytes.div_ceil(LINE).min(LINES) {
            let by = value(self, format!("add i64 {far}, {}", line * LINE));
            let ahead = value(self, format!("getelementptr i8, ptr {pointer}, i64 {by}"));
            self.text.line(&format!("call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)"));
        }
        self.steps.push(slot);
    }
}
