//! The counters of an event that several processes use, in a page that is a file.

use crate::error::{Error, Result};
use crate::process::Process;
use crate::stream::Point;
use machine::memory::DeviceMemory;
use machine::memory::shared::Shared;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a wait for another process sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(20);
/// How often it looks before it sleeps.
const LOOKS: u32 = 500;
/// Bytes of the page of an event: how often it was recorded, and which record was reached last.
const PAGE: u64 = 4096;

/// The counters of an event that several processes use.
#[derive(Debug)]
pub(crate) struct Signal {
    memory: Arc<DeviceMemory>,
    address: u64,
}

impl Signal {
    /// Counters of a new event.
    pub(crate) fn new(process: &Process) -> Result<Arc<Self>> {
        let memory = Arc::clone(process.common()?);
        let address = memory.allocate(PAGE)?;
        Ok(Arc::new(Self { memory, address }))
    }

    /// Those of an event of another process.
    pub(crate) fn open(process: &Process, file: OwnedFd) -> Result<Arc<Self>> {
        let memory = Arc::clone(process.common()?);
        let address = memory.adopt(file, PAGE).map_err(|_| Error::InvalidHandle)?;
        Ok(Arc::new(Self { memory, address }))
    }

    pub(crate) fn share(&self) -> Result<Shared> {
        Ok(self.memory.share(self.address)?)
    }

    fn counter(&self, index: u64) -> &std::sync::atomic::AtomicU64 {
        self.memory.counter(self.address + 8 * index).expect("the page is there as long as the event")
    }

    /// The event is recorded once more: the number of this record.
    pub(crate) fn record(&self) -> u64 {
        self.counter(0).fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The number of the last record.
    fn recorded(&self) -> u64 {
        self.counter(0).load(Ordering::SeqCst)
    }

    /// A record is reached.
    pub(crate) fn reach(&self, number: u64) {
        self.counter(1).fetch_max(number, Ordering::SeqCst);
    }

    /// The point of the last record.
    pub(crate) fn point(self: &Arc<Self>) -> Arc<dyn Point> {
        Arc::new(Recorded { signal: Arc::clone(self), number: self.recorded() })
    }

    /// Whether a record is reached.
    fn reached(&self, number: u64) -> bool {
        self.counter(1).load(Ordering::SeqCst) >= number
    }

    /// Waits until a record is reached, in whichever process.
    fn wait(&self, number: u64) {
        let mut looks = 0;
        while !self.reached(number) {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::sleep(PAUSE) }
        }
    }
}

/// A record of an event that several processes use, by its number.
#[derive(Debug)]
struct Recorded {
    signal: Arc<Signal>,
    number: u64,
}

impl Point for Recorded {
    fn reached(&self) -> bool {
        self.signal.reached(self.number)
    }

    fn wait(&self) {
        self.signal.wait(self.number);
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // It is there: nobody else knows of it.
        let _ = self.memory.free(self.address);
    }
}
