//! The function activations of a pack: registers, and where they return to.

use crate::image::control::CallSite;
use crate::image::{Image, LOCAL_BASE};
use crate::lanes::{EMPTY, Files, LANES, Mask};
use crate::operation::Site;
use ptx::module::FuncId;
use slab::Slab;
use std::ops::{Index, IndexMut};

/// The registers and the place in local memory of one function activation, shared by the lanes that entered it
/// together.
pub(crate) struct Frame {
    pub(crate) files: Files,
    pub(crate) function: FuncId,
    pub(crate) local_base: u32,
    pub(crate) stack: Vec<[u32; LANES]>,
    /// Lanes that have not returned.
    pub(crate) lanes: Mask,
    pub(crate) caller: Option<Caller>,
}

/// Where a frame returns to.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    pub(crate) frame: usize,
    pub(crate) call: Site<CallSite>,
    pub(crate) join: usize,
}

/// The frames of a pack by number. One that all lanes have left serves the next activation of its function, in this CTA
/// or a later one.
#[derive(Default)]
pub(crate) struct Frames {
    entered: Slab<Frame>,
    left: Vec<Frame>,
}

impl Frames {
    /// Enters a function at these bases of local and shared memory.
    pub(super) fn enter(
        &mut self,
        image: &Image,
        function: FuncId,
        bases: (u32, u64),
        lanes: Mask,
        caller: Option<Caller>,
    ) -> usize {
        let known = self.left.iter().rposition(|frame| frame.function == function);
        let mut frame = match known {
            Some(index) => self.left.swap_remove(index),
            None => Frame::new(image, function),
        };
        frame.begin(image, bases);
        (frame.lanes, frame.caller) = (lanes, caller);
        self.entered.insert(frame)
    }

    /// Lanes leave a frame.
    pub(super) fn leave(&mut self, index: usize, lanes: &Mask) {
        let frame = &mut self.entered[index];
        frame.lanes.iter_mut().zip(lanes).for_each(|(here, leaving)| *here &= !leaving);
        if frame.lanes == EMPTY {
            let frame = self.entered.remove(index);
            self.left.push(frame);
        }
    }

    /// A frame, if it has been entered.
    pub(super) fn get(&self, index: usize) -> Option<&Frame> {
        self.entered.get(index)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Frame> {
        self.entered.get_mut(index)
    }

    /// All lanes leave all frames.
    pub(super) fn clear(&mut self) {
        self.left.extend(self.entered.drain());
        // Numbers are given out as to the first threads.
        self.entered.clear();
    }
}

impl Index<usize> for Frames {
    type Output = Frame;
    fn index(&self, index: usize) -> &Frame {
        &self.entered[index]
    }
}

impl IndexMut<usize> for Frames {
    fn index_mut(&mut self, index: usize) -> &mut Frame {
        &mut self.entered[index]
    }
}

impl Frame {
    /// The storage of an activation.
    fn new(image: &Image, function: FuncId) -> Self {
        let code = image.code(function);
        Self {
            files: Files::new(code.sizes, image.warps, code.scalars.len()),
            function,
            local_base: 0,
            stack: vec![[0; LANES]; image.warps],
            lanes: EMPTY,
            caller: None,
        }
    }

    /// What a thread may read before it has written it is zero, whoever was here before.
    fn begin(&mut self, image: &Image, (local_base, shared_base): (u32, u64)) {
        let code = image.code(self.function);
        self.files.begin(&code.exposed, image.warps, &code.scalars);
        self.files.s[LOCAL_BASE.index()] = u64::from(local_base);
        for &scalar in &code.shared_addresses {
            self.files.s[scalar.index()] += shared_base;
        }
        self.local_base = local_base;
        if image.allocates {
            self.stack.fill([0; LANES]);
        }
    }
}
