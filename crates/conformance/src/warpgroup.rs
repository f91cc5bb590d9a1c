//! `wgmma.mma_async`: matrices in shared memory that descriptors name, and what a warpgroup waits for.
//!
//! The matrices' bytes come from the input rows. Descriptors name them without swizzling and with each of the three
//! swizzling modes (PTX ISA, "Matrix Descriptor Format"); leading and stride offsets are those of matrices that lie
//! along K. Where the instruction reads them along M or N, the same bytes are other elements.

use crate::builder::Builder;
use crate::domain::Domain;
use crate::inputs::THREADS;
use ptx::isa::{Modifier, OperandSpec, Slot};

/// Bytes of the two matrices: the first is 64 rows, the second up to 256, of 128 bytes where they are swizzled.
const FIRST: usize = 8 << 10;
const SECOND: usize = 32 << 10;

/// Input words of a thread, half of those that fill both.
const WORDS: usize = (FIRST + SECOND) / 8 / THREADS / 4;

impl Builder<'_> {
    /// An operand of `wgmma.mma_async` that only it has.
    pub(crate) fn of_warpgroup(&mut self, spec: &OperandSpec) -> Option<String> {
        match spec.name {
            "adesc" => Some(self.descriptor("%adesc", 0, true)),
            "bdesc" => Some(self.descriptor("%bdesc", FIRST, false)),
            // Every other warpgroup begins at zero.
            "scaled" => {
                self.declaration(".reg .pred %scaled;");
                self.before("and.b32 %t, %cta, 1; setp.ne.b32 %scaled, %t, 0;");
                Some("%scaled".into())
            }
            "e" => Some(self.positions()),
            _ => None,
        }
    }

    /// A descriptor of the matrix at an offset; the first one fills the memory of both.
    fn descriptor(&mut self, register: &str, offset: usize, first: bool) -> String {
        let descriptors = self.opcode.data().operands.iter().any(|spec| spec.name == "adesc");
        if first || !descriptors {
            self.fill_matrices();
        }
        let sparse_second = !first && self.opcode.get(Slot::Sparse).is_some();
        // Bytes of a row along K.
        let row = if sparse_second { 64 } else { 32 };
        // Groups of eight rows: of 16 bytes without swizzling, otherwise of as many as the mode mixes.
        let (mode, leading, stride) = match self.variant.alternative % 4 {
            0 => (0_u64, 128, 128 * row / 16),
            1 => (3, 16, 256),
            2 => (2, 16, 512),
            _ => (1, 16, 1024),
        };
        if first || !descriptors {
            self.remark(match mode {
                0 => "",
                3 => " in 32-byte swizzle",
                2 => " in 64-byte swizzle",
                _ => " in 128-byte swizzle",
            });
        }
        let constant = (leading / 16) << 16 | (stride / 16) << 32 | mode << 62;
        self.declaration(&format!(".reg .b64 {register};"));
        self.before(&format!(
            "mov.u64 %w, matrices; add.u64 %w, %w, {offset}; shr.u64 %w, %w, 4; and.b64 %w, %w, 0x3fff; \
             or.b64 {register}, %w, {constant:#x};"
        ));
        register.to_owned()
    }

    fn fill_matrices(&mut self) {
        let atype = self.opcode.get(Slot::Atype).unwrap_or(Modifier::F16);
        let registers: Vec<_> = (0..2 * WORDS).map(|_| self.input(Domain::Elements(atype), 32)).collect();
        self.declaration(&format!(".shared .align 1024 .b8 matrices[{}];", FIRST + SECOND));
        self.before("mov.u32 %t, %tid.x; mov.u64 %slot, matrices; mad.wide.u32 %slot, %t, 4, %slot;");
        for at in 0..(FIRST + SECOND) / 4 / THREADS {
            let register = &registers[at % registers.len()];
            self.before(&format!("st.shared.b32 [%slot+{}], {register};", at * 4 * THREADS));
        }
        self.before("fence.proxy.async.shared::cta; bar.sync 0;");
    }

    /// What must come right before and after the instruction.
    pub(crate) fn await_warpgroup(&mut self) {
        self.before("wgmma.fence.sync.aligned;");
        self.after("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
    }
}
