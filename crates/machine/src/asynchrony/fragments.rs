//! Registers as `wgmma` sees them (PTX ISA, "wgmma.fence", "wgmma.wait_group").
//!
//! A product reads its fragments of A and D, and writes D, at any time between its issue and the wait for its group. So it
//! works on registers of its own: `wgmma.fence` shows it what threads have written, and a wait shows threads what it has
//! written.

use crate::lanes::{Files, LANES, Plane, PlaneId};

/// The registers of a pack as its products see them: of the frame that multiplies.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    seen: Vec<Plane<u32>>,
}

impl Fragments {
    /// Nobody has multiplied yet.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
    }

    fn fit(&mut self, files: &Files) {
        self.seen.resize(files.w.len(), Plane([0; LANES]));
    }

    /// Products see a warp's register as it is.
    pub(crate) fn see(&mut self, files: &Files, plane: PlaneId, warp: usize) {
        self.fit(files);
        self.seen[plane.index() + warp] = files.w[plane.index() + warp];
    }

    /// Products see all registers of a warp as they are, but those that others have yet to write.
    pub(crate) fn see_all(&mut self, files: &Files, (warp, warps): (usize, usize), but: &[PlaneId]) {
        self.fit(files);
        for index in (warp..files.w.len()).step_by(warps) {
            if !but.iter().any(|plane| plane.index() + warp == index) {
                self.seen[index] = files.w[index];
            }
        }
    }

    /// Whether products see these registers of a warp as they are.
    pub(crate) fn sees(&self, files: &Files, planes: &[PlaneId], warp: usize) -> bool {
        planes.iter().all(|plane| {
            let index = plane.index() + warp;
            self.seen.get(index) == files.w.get(index)
        })
    }

    /// What products see of a warp's register goes into registers: zeros, if nobody has shown them anything.
    pub(crate) fn show(&self, files: &mut Files, plane: PlaneId, warp: usize) {
        let index = plane.index() + warp;
        files.w[index] = self.seen.get(index).copied().unwrap_or(Plane([0; LANES]));
    }
}
