//! Windows: which bytes each access of the code may reach without asking.
//!
//! A host thread keeps them from CTA to CTA. A window in global memory is moved when an access has missed it: to the valid
//! bytes around, some hundred pages at first and more from time to time, so that accesses of a stream miss seldom, and those that
//! jump about in a large array are soon all inside.

use crate::context::Window;
use crate::emit::Span;
use machine::compiled::Cta;
use machine::memory::SpaceKind;
use std::ops::Range;

/// Pages on either side of an access that a window reaches at first, and at last: distances in it are numbers of 31 bits.
const PAGES: u64 = 1 << 8;
const MOST_PAGES: u64 = 1 << 17;
const FARTHEST: u64 = 1 << 29;

/// What windows depend on, beside what missed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    revocations: u64,
    shared: u64,
}

impl Epoch {
    pub(crate) fn of(cta: &mut Cta<'_>) -> Self {
        Self { revocations: cta.revocations(), shared: cta.shared().as_ptr() as u64 }
    }

    pub(crate) fn words(self) -> [u64; 2] {
        [self.revocations, self.shared]
    }
}

/// Windows as they are before any access: open where nothing can change.
pub(crate) fn reset(windows: &mut [Window], spans: &[Span], cta: &mut Cta<'_>) {
    for (window, span) in windows.iter_mut().zip(spans) {
        let bytes = match span.space {
            SpaceKind::Shared => cta.shared().len() as u64,
            SpaceKind::Local => u64::from(cta.local_bytes()),
            _ => 0,
        };
        *window = Window { limit: span.places(bytes), ..Window::default() };
    }
}

/// A window moved to an access, if it can be.
pub(crate) fn moved(window: Window, span: &Span, address: u64, cta: &mut Cta<'_>) -> Window {
    let moves = window.moves + 1;
    let shared = (cta.shared_address(), cta.shared().len() as u64);
    if span.space == SpaceKind::Generic && address.wrapping_sub(shared.0) < shared.1 {
        let to_host = (cta.shared().as_ptr() as u64).wrapping_sub(shared.0);
        return Window { first: shared.0, to_host, limit: span.places(shared.1), moves, ..window };
    }
    if !matches!(span.space, SpaceKind::Global | SpaceKind::Generic) {
        return window;
    }
    let most = PAGES.checked_shl(moves.min(63) as u32).unwrap_or(MOST_PAGES).min(MOST_PAGES);
    let Range { start, end } = cta.valid_around(address, most);
    // Memory of the program begins anywhere.
    let first = start.max(address.saturating_sub(FARTHEST)).next_multiple_of(u64::from(span.align));
    let end = end.min(address.saturating_add(FARTHEST));
    Window { first, to_host: 0, limit: span.places(end.saturating_sub(first)), moves, ..window }
}

impl Span {
    /// Places in so many bytes where an access may begin.
    fn places(&self, bytes: u64) -> u64 {
        bytes.checked_sub(self.bytes).map_or(0, |last| last / u64::from(self.align) + 1)
    }
}
