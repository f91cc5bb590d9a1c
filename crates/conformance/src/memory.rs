//! Address operands: a slot of memory for every thread, filled before the instruction and read back after it.

use crate::builder::Builder;
use crate::domain::Domain;
use crate::inputs::THREADS;
use ptx::isa::{Access, Footprint, Group, GroupEffect, Opcode, OperandKind, Role, Slot};
use ptx::types::{ScalarType, StateSpace};

/// Bytes that an instruction accesses behind its address.
fn accessed(opcode: &Opcode) -> u32 {
    let operands = opcode.data().operands;
    let value = operands.iter().position(|spec| {
        matches!(
            spec.kind,
            OperandKind::Vector { .. } | OperandKind::Register { .. } | OperandKind::Value { .. }
        ) && spec.name != "policy"
    });
    let value = value.unwrap_or(0);
    let ty = opcode.operand_type(value).unwrap_or(ScalarType::B32);
    ty.bytes().max(1) * opcode.operand_length(value).unwrap_or(1)
}

/// What the input words of memory are made of: values of the type if it fills words, other bytes otherwise.
fn contents(opcode: &Opcode) -> Domain {
    let ty = opcode.ty(Slot::Type);
    match ty {
        Some(ty) if opcode.get(Slot::Vec).is_none() && ty.bits() <= 64 && ty.bits() >= 16 => Domain::Of(ty),
        _ => Domain::Of(ScalarType::B64),
    }
}

impl Builder<'_> {
    /// The address operand `i`, and all that stands around the instruction on its behalf.
    pub(crate) fn address(&mut self, i: usize) -> Option<String> {
        let space = self.opcode.operand_space(i)?;
        let words = accessed(self.opcode).div_ceil(8) as usize;
        let spec = &self.opcode.data().operands[i];
        let effects = self.effects;
        let effect = effects.on(spec.identifier())?;
        match (effects.asynchronous, effect.access, effect.footprint) {
            _ if effects.groups == Some(GroupEffect::Arrive(Group::Copy)) => self.arrival_of_copies(space),
            (Some(Group::Mbarrier), ..) => self.remote(spec, space, words, accessed(self.opcode)),
            (Some(Group::Bulk), ..) => self.bulk(i),
            (Some(Group::Copy), ..) => self.copied(i),
            // Its operands are descriptors.
            (Some(Group::Wgmma | Group::TensorCore | Group::TensorLoad | Group::TensorStore), ..) => None,
            (None, Access::Mbarrier(_), _) => self.mbarrier(space),
            (None, access, Footprint::Rows) => self.matrix_row(space, access),
            (None, _, Footprint::Matrix) => self.matrix(space),
            // Tensor maps.
            (None, _, Footprint::Block) => self.replaced(i, space),
            (None, Access::Store, _) if self.opcode.get(Slot::Field).is_some() => self.replaced(i, space),
            (None, Access::Load, Footprint::Lane) => self.load(space, words),
            (None, Access::Store, Footprint::Lane) => {
                let address = self.slot(space, words)?;
                self.fill(space, &address, &[], words);
                self.read_back(space, &address, words);
                Some(format!("[{address}]"))
            }
            (None, Access::Atomic | Access::CompareAndSwap | Access::Reduce, Footprint::Lane) => {
                let address = self.slot(space, words)?;
                let domain = contents(self.opcode);
                let inputs: Vec<_> = (0..words).map(|_| self.input(domain, 64)).collect();
                self.fill(space, &address, &inputs, words);
                self.read_back(space, &address, words);
                Some(format!("[{address}]"))
            }
            (None, _, Footprint::Descriptor) => None,
        }
    }

    /// Input words that only the instruction itself reads.
    pub(crate) fn unloaded(&mut self, domain: Domain, words: usize) {
        for _ in 0..words {
            self.word(domain);
        }
    }

    /// The memory that `ld` reads.
    fn load(&mut self, space: StateSpace, words: usize) -> Option<String> {
        let domain = contents(self.opcode);
        match space {
            // The input row itself, which nothing writes: `.nc` and `ldu` ask for that.
            StateSpace::Global | StateSpace::Generic => {
                self.unloaded(domain, words);
                Some("[%row]".into())
            }
            StateSpace::Const => {
                self.table_entry();
                Some("[%slot]".into())
            }
            StateSpace::ParamEntry => Some(format!("[constants+{}]", 32 * (self.variant.index % 4))),
            StateSpace::Shared | StateSpace::Local => {
                let address = self.slot(space, words)?;
                let inputs: Vec<_> = (0..words).map(|_| self.input(domain, 64)).collect();
                self.fill(space, &address, &inputs, words);
                Some(format!("[{address}]"))
            }
            StateSpace::ParamFunc | StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex => None,
        }
    }

    /// The address of a thread's entry in the table in constant memory.
    pub(crate) fn table_entry(&mut self) {
        self.use_table();
        self.before("mov.u64 %slot, table; and.b32 %t, %thread, 31; mad.wide.u32 %slot, %t, 32, %slot;");
    }

    /// A thread's own slot of so many bytes in shared memory.
    pub(crate) fn shared_slot(&mut self, bytes: usize) {
        let alignment = if bytes.is_multiple_of(128) { 128 } else { 16 };
        self.declaration(&format!(".shared .align {alignment} .b8 slots[{}];", bytes * THREADS));
        self.before(&format!(
            "mov.u32 %t, %tid.x; mov.u64 %slot, slots; mad.wide.u32 %slot, %t, {bytes}, %slot;"
        ));
    }

    /// A thread's own slot: an address with room for these words.
    pub(crate) fn slot(&mut self, space: StateSpace, words: usize) -> Option<String> {
        let bytes = words.next_multiple_of(2) * 8;
        match space {
            StateSpace::Global | StateSpace::Generic => {
                self.use_slot_words(words);
                Some("%result".into())
            }
            StateSpace::Shared => {
                self.shared_slot(bytes);
                Some("%slot".into())
            }
            StateSpace::Local => {
                self.declaration(&format!(".local .align 16 .b8 own[{bytes}];"));
                self.before("mov.u64 %slot, own;");
                Some("%slot".into())
            }
            _ => None,
        }
    }

    /// An address of shared memory as an operand: a generic one where the instruction names no space.
    pub(crate) fn pointer(&mut self, register: &str, space: StateSpace) -> String {
        if space != StateSpace::Generic {
            return format!("[{register}]");
        }
        let generic = format!("%generic_{}", &register[1..]);
        self.declaration(&format!(".reg .b64 {generic};"));
        self.before(&format!("cvta.shared.u64 {generic}, {register};"));
        format!("[{generic}]")
    }

    /// Writes registers, or a pattern where there are none, to a slot.
    pub(crate) fn fill(&mut self, space: StateSpace, address: &str, inputs: &[String], words: usize) {
        let space = name(space);
        for word in 0..words {
            let value = inputs.get(word).map_or("0x1122334455667788", String::as_str);
            self.before(&format!("st.{space}.b64 [{address}+{}], {value};", word * 8));
        }
    }

    /// Shows what a slot holds after the instruction. Global slots are part of the results already.
    pub(crate) fn read_back(&mut self, space: StateSpace, address: &str, words: usize) {
        if matches!(space, StateSpace::Global | StateSpace::Generic) {
            return;
        }
        let space = name(space);
        for word in 0..words {
            let register = self.observed(64);
            self.last(&format!("ld.{space}.b64 {register}, [{address}+{}];", word * 8));
        }
    }

    /// `cp.async` from the input row to shared memory.
    fn copied(&mut self, i: usize) -> Option<String> {
        if self.opcode.operand_space(i) == Some(StateSpace::Global) {
            return Some("[%row]".into());
        }
        self.unloaded(Domain::Of(ScalarType::B64), 2);
        let address = self.slot(StateSpace::Shared, 2)?;
        self.fill(StateSpace::Shared, &address, &[], 2);
        self.after("cp.async.wait_all;");
        self.read_back(StateSpace::Shared, &address, 2);
        Some(format!("[{address}]"))
    }

    /// `ldmatrix` and `stmatrix`: every thread's slot is a row of 16 bytes.
    fn matrix_row(&mut self, space: StateSpace, access: Access) -> Option<String> {
        let loads = access == Access::Load;
        let address = self.slot(StateSpace::Shared, 2)?;
        let inputs: Vec<_> = match loads {
            true => (0..2).map(|_| self.input(Domain::Of(ScalarType::B64), 64)).collect(),
            false => Vec::new(),
        };
        self.fill(StateSpace::Shared, &address, &inputs, 2);
        self.before("bar.sync 0;");
        if !loads {
            self.after("bar.sync 0;");
            self.read_back(StateSpace::Shared, &address, 2);
        }
        Some(self.pointer(&address, space))
    }

    /// `wmma.load` and `wmma.store`: a warp's rows together are the matrix.
    fn matrix(&mut self, space: StateSpace) -> Option<String> {
        /// Words of a thread's part: a warp has 4096 bytes, 32 rows of 32 elements of 32 bits.
        const WORDS: usize = 16;
        let loads = self.opcode.data().operands[0].role == Role::Write;
        let global = matches!(space, StateSpace::Global | StateSpace::Generic);
        let warp = "mov.u32 %t, %laneid; mul.wide.u32 %w, %t, 128;";
        let domain = Domain::Of(ScalarType::B64);
        match (loads, global) {
            (true, true) => {
                self.unloaded(domain, WORDS);
                self.before(&format!("{warp} sub.u64 %slot, %row, %w;"));
            }
            (false, true) => {
                self.use_slot_words(WORDS);
                self.before(&format!("{warp} sub.u64 %slot, %result, %w;"));
            }
            (_, false) => {
                let address = self.slot(StateSpace::Shared, WORDS)?;
                let inputs: Vec<_> = match loads {
                    true => (0..WORDS).map(|_| self.input(domain, 64)).collect(),
                    false => Vec::new(),
                };
                self.fill(StateSpace::Shared, &address, &inputs, WORDS);
                self.declaration(".reg .b64 %base;");
                self.before(&format!("bar.sync 0; {warp} sub.u64 %base, %slot, %w;"));
                if !loads {
                    self.after("bar.sync 0;");
                    self.read_back(StateSpace::Shared, &address, WORDS);
                }
                return Some("[%base]".into());
            }
        }
        Some("[%slot]".into())
    }
}

fn name(space: StateSpace) -> &'static str {
    match space {
        StateSpace::Shared => "shared",
        StateSpace::Local => "local",
        _ => "global",
    }
}
