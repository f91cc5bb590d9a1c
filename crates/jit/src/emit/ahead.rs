//! What a row will access some time later is fetched before: the next rounds of a loop, and outside of loops the next CTAs.
//!
//! A thread that goes down a column or through the planes of a volume steps over pages, where the host's prefetchers do not follow; nor do they
//! where a CTA has a small piece of many lines of an image. A GPU waits for some of its warps while others run; here rows run one after the other, so each waits for
//! memory every time. How far a round is from the last one, and the first row of a CTA from that of the CTA before, is only known at
//! run time, and is taken for the next ones, too. A fetch of an address that is not there does nothing, so it needs no test.

use super::Emitter;
use super::window::Tested;
use crate::context::Window;
use machine::memory::SpaceKind;
use std::mem::offset_of;

/// Rounds between a fetch and the access: memory takes some hundred cycles, a round of a row some tens at least.
const ROUNDS: i64 = 2;
/// And CTAs.
const CTAS: i64 = 2;
/// Bytes of a line of the host's caches, and how many lines are fetched at most.
const LINE: u64 = 64;
const LINES: u64 = 4;

impl Emitter<'_> {
    /// Fetches what a row's access, of so many bytes, will reach some rounds or CTAs later if it goes on as before.
    pub(super) fn fetch_ahead(&mut self, tested: &Tested, bytes: u64) {
        if !tested.is_row() || !matches!(tested.space, SpaceKind::Global | SpaceKind::Generic) {
            return;
        }
        let pointer = self.pointer(tested);
        let at = self.text.value(&format!("ptrtoint ptr {pointer} to i64"));
        let far = match self.order.loop_of[self.block].is_some() {
            true => self.far_in_loop(tested.window, &at),
            false => self.far_in_later_ctas(tested.window, &at),
        };
        self.intrinsic("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
        for line in 0..bytes.div_ceil(LINE).min(LINES) {
            let by = self.text.value(&format!("add i64 {far}, {}", line * LINE));
            let ahead = self.text.value(&format!("getelementptr i8, ptr {pointer}, i64 {by}"));
            self.text.line(&format!("call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)"));
        }
    }

    /// How far from here the access will be some rounds later.
    fn far_in_loop(&mut self, window: u32, at: &str) -> String {
        let slot = format!("%last{window}");
        let last = self.text.value(&format!("load i64, ptr {slot}"));
        self.text.line(&format!("store i64 {at}, ptr {slot}"));
        let step = self.text.value(&format!("sub i64 {at}, {last}"));
        self.steps.push(slot);
        self.text.value(&format!("mul i64 {step}, {ROUNDS}"))
    }

    /// How far from here it will be some CTAs later: the first row finds it out for all.
    fn far_in_later_ctas(&mut self, window: u32, at: &str) -> String {
        let [last, ahead] = [offset_of!(Window, last), offset_of!(Window, ahead)]
            .map(|field| self.window_place(window, field));
        let [first, on] = [(); 2].map(|()| self.text.new_label());
        let is_first = self.text.value("icmp eq i32 %number, %first");
        self.text.branch(&is_first, &first, &on);
        self.text.begin(&first);
        let before = self.text.value(&format!("load i64, ptr {last}"));
        let step = self.text.value(&format!("sub i64 {at}, {before}"));
        let far = self.text.value(&format!("mul i64 {step}, {CTAS}"));
        self.text.line(&format!("store i64 {at}, ptr {last}"));
        self.text.line(&format!("store i64 {far}, ptr {ahead}"));
        self.text.jump(&on);
        self.text.begin(&on);
        self.text.value(&format!("load i64, ptr {ahead}"))
    }
}
