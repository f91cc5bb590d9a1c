//! The machine code of a kernel: what was compiled quickly at first, and better code once it has run for a while.
//!
//! Both are of one text, so that they have the same frames and sites, and a CTA may run by either. How much was executed decides,
//! not how long it took, so that it does not depend on what else the host does.

use crate::beside::Beside;
use crate::code::Loaded;
use crate::context::Context;
use crate::llvm::Effort;
use crate::objects::Objects;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Warp instructions that quick code executes before better code is made: a millisecond of a host thread's at least. As many were
/// interpreted before, so the kernel is likely to go on.
const WORTH: u64 = 1 << 20;

/// All rows of a CTA that are not done, from barrier to barrier: at first from where they all are, or, if that is [`end::MIXED`], each
/// from where it waits, which stands in the list of states. The rows' frames lie one behind the other. A kernel without
/// barriers uses neither.
///
/// [`end::MIXED`]: crate::context::end::MIXED
pub(crate) type Rows =
    unsafe extern "C" fn(*mut Context, frames: *mut u8, states: *mut i32, count: u32, at: i32) -> i32;

/// Code in memory.
struct Entry {
    rows: Rows,
    /// What that is in.
    _loaded: Loaded,
}

impl Entry {
    fn link(object: &[u8]) -> Result<Self, String> {
        let loaded = Loaded::link(object)?;
        let address = loaded.address_of("rows").ok_or("there is no function `rows`")?;
        // SAFETY: the text defines the function with this type, and its code lives as long as the entry.
        let rows = unsafe { std::mem::transmute::<usize, Rows>(address) };
        Ok(Self { rows, _loaded: loaded })
    }
}

/// See the module.
pub(crate) struct Tiers {
    first: Entry,
    better: Option<Arc<Better>>,
}

/// Better code, which may come.
struct Better {
    kernel: String,
    objects: Arc<Objects>,
    beside: Arc<Beside>,
    /// What it is made of, until that is asked for.
    text: Mutex<String>,
    /// Warp instructions that quick code has executed.
    executed: AtomicU64,
    entry: OnceLock<Entry>,
}

impl Tiers {
    /// One object, and no other.
    pub(crate) fn always(object: &[u8]) -> Result<Self, String> {
        Ok(Self { first: Entry::link(object)?, better: None })
    }

    /// The quick object of a kernel's text, to be followed by a better one that is made beside the launches.
    pub(crate) fn quick(
        object: &[u8],
        kernel: &str,
        text: String,
        objects: &Arc<Objects>,
        beside: &Arc<Beside>,
    ) -> Result<Self, String> {
        let better = Better {
            kernel: kernel.to_owned(),
            objects: Arc::clone(objects),
            beside: Arc::clone(beside),
            text: Mutex::new(text),
            executed: AtomicU64::new(0),
            entry: OnceLock::new(),
        };
        Ok(Self { first: Entry::link(object)?, better: Some(Arc::new(better)) })
    }

    /// The best code that is there.
    pub(crate) fn rows(&self) -> Rows {
        let better = self.better.as_ref().and_then(|better| better.entry.get());
        better.unwrap_or(&self.first).rows
    }

    /// So many warp instructions were executed.
    pub(crate) fn executed(&self, instructions: u64) {
        let Some(better) = &self.better else { return };
        let before = better.executed.fetch_add(instructions, Relaxed);
        if before < WORTH && before.saturating_add(instructions) >= WORTH {
            // Whoever unloads the module takes the wish with it.
            let wish = Arc::downgrade(better);
            better.beside.submit(Box::new(move || {
                if let Some(better) = wish.upgrade() {
                    better.make();
                }
            }));
        }
    }
}

impl Better {
    fn make(&self) {
        let text = std::mem::take(&mut *self.text.lock().unwrap_or_else(PoisonError::into_inner));
        let made = self.objects.object(&text, Effort::Full).and_then(|(object, _)| Entry::link(&object));
        match made {
            Ok(entry) => {
                log::debug!("{}: there is better code", self.kernel);
                let _ = self.entry.set(entry);
            }
            Err(why) => log::info!("{}: no better code: {why}", self.kernel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llvm;
    use std::time::{Duration, Instant};

    /// Quick code is followed by better code when it has run for a while, and only then.
    #[test]
    fn better_code_comes_when_it_is_worth_it() {
        if let Err(why) = llvm::available() {
            return eprintln!("skipped: {why}");
        }
        let text = "define i32 @rows(ptr %c, ptr %f, ptr %s, i32 %count, i32 %at) {\n  \
                    %sum = add i32 %count, %at\n  ret i32 %sum\n}\n";
        let (objects, beside) = (Arc::new(Objects::new(None)), Arc::new(Beside::new("better")));
        let (quick, _) = objects.object(text, Effort::Quick).unwrap();
        let tiers = Tiers::quick(&quick, "kernel", text.to_owned(), &objects, &beside).unwrap();
        let answer = |rows: Rows| {
            let nothing = std::ptr::null_mut;
            // SAFETY: the function looks at the two numbers alone.
            unsafe { rows(nothing(), nothing().cast(), nothing().cast(), 40, 2) }
        };
        let first = tiers.rows();
        tiers.executed(WORTH - 1);
        assert!(tiers.better.as_ref().is_some_and(|better| !better.text.lock().unwrap().is_empty()));
        tiers.executed(u64::MAX - WORTH);
        let begun = Instant::now();
        while tiers.rows() as usize == first as usize && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_ne!(tiers.rows() as usize, first as usize);
        assert_eq!([first, tiers.rows()].map(answer), [42, 42]);
    }
}
