//! The end of a program that is checked: what it has submitted and not waited for is done, so that it is judged.

use crate::device::Driver;
use std::time::{Duration, Instant};

/// How long a program that ends is kept for work that it has not waited for. A kernel may wait for the host for ever.
const PATIENCE: Duration = Duration::from_secs(60);

impl Driver {
    /// See the module.
    pub fn finish_checks(&self) {
        let Some(checking) = self.process().checking() else { return };
        let (begun, mut pause) = (Instant::now(), Duration::from_micros(50));
        while !self.contexts().iter().all(|context| context.pending().iter().all(|marker| marker.reached())) {
            if begun.elapsed() > PATIENCE {
                checking.cut_short(&format!(
                    "the program ended, and work that it had not waited for did not end in {PATIENCE:?}"
                ));
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
        checking.tell_counts();
    }
}
