//! Putting a kernel around an instruction, operand by operand.

use crate::case::Case;
use crate::domain::Domain;
use crate::inputs::Inputs;
use crate::kernel::{Kernel, Load, Store};
use crate::object::Object;
use ptx::isa::{
    Convergence, Effects, FORMS, Footprint, FormData, FormId, Group, MemoryEffect, Opcode, Sem, Slot,
};
use std::fmt::Write;

/// One way to write an opcode's operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// Whether optional operands are there.
    pub(crate) full: bool,
    /// Which immediate, selector, split or register width.
    pub(crate) alternative: usize,
    /// The opcode's index in its form; what no result depends on alternates with it.
    pub(crate) index: usize,
}

/// An instruction with only the first and last registers of long vectors.
fn shortened(instruction: &str) -> String {
    let mut text = String::new();
    for part in instruction.split_inclusive('}') {
        match part.split_once('{').map(|(before, list)| (before, list.split(", ").collect::<Vec<_>>())) {
            Some((before, list)) if list.len() > 4 => {
                let _ = write!(text, "{before}{{{} .. {}", list[0], list[list.len() - 1]);
            }
            _ => text.push_str(part),
        }
    }
    text
}

/// A case that is being made.
pub(crate) struct Builder<'a> {
    pub(crate) opcode: &'a Opcode,
    pub(crate) variant: Variant,
    /// What the instruction does beside computing results.
    pub(crate) effects: &'static Effects,
    pub(crate) kernel: Kernel,
    domains: Vec<Domain>,
    /// What the case's name says that its instruction does not show.
    pub(crate) remarks: String,
    /// The immediate before the operand at hand.
    pub(crate) immediate: i64,
    /// What comes after all that follows the instruction.
    last: String,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(opcode: &'a Opcode, variant: Variant) -> Self {
        Self {
            opcode,
            variant,
            effects: effects(opcode.form),
            kernel: Kernel::default(),
            domains: Vec::new(),
            remarks: String::new(),
            immediate: 0,
            last: String::new(),
        }
    }

    /// The case, unless this variant has none.
    pub(crate) fn case(mut self) -> Option<Case> {
        let mut operands = String::new();
        self.carry_in();
        for (i, spec) in self.opcode.data().operands.iter().enumerate() {
            let written = match spec.with {
                Some(modifier) => self.opcode.has(modifier),
                None => !spec.optional || self.variant.full,
            };
            if !written {
                continue;
            }
            let operand = self.operand(i, spec)?;
            let separator = if operands.is_empty() { " " } else { ", " };
            operands.push_str(if spec.joined { "|" } else { separator });
            operands.push_str(&operand);
        }
        self.kernel.instruction = format!("{}{operands}", self.opcode.text());
        self.carry_out();
        if self.effects.asynchronous == Some(Group::Wgmma) {
            self.await_warpgroup();
        }
        self.kernel.after.push_str(&self.last);
        if self.kernel.results() == 0 {
            return None;
        }
        Some(Case {
            opcode: self.opcode.clone(),
            name: shortened(&self.kernel.instruction) + &self.remarks,
            inputs: Inputs {
                together: self.is_of_warp(),
                domains: self.domains,
                cluster: if self.kernel.clustered { 2 } else { 1 },
            },
            kernel: self.kernel,
        })
    }

    /// Whether a lane gets what others hold in registers, or who they are. Where each lane names memory of its own, that
    /// decides.
    fn is_of_warp(&self) -> bool {
        let effects = self.effects;
        let own = |effect: &MemoryEffect| match effect.footprint {
            Footprint::Lane | Footprint::Rows | Footprint::Block => true,
            Footprint::Matrix | Footprint::Descriptor => false,
        };
        let together = effects.convergence != Convergence::Thread || effects.barrier.is_some();
        (together || effects.state.active_lanes) && !effects.memory.iter().any(own)
    }

    /// Sets the carry bit from an input.
    fn carry_in(&mut self) {
        if self.effects.state.reads_carry {
            let word = self.word(Domain::Flag);
            self.kernel.declarations.push_str(".reg .b32 %carry;\n");
            self.kernel.loads.push(Load { register: "%carry".into(), bits: 32, word });
            self.kernel.before.push_str("add.cc.u32 %t, %carry, 0xffffffff;\n");
        }
    }

    /// Reads the carry bit back.
    fn carry_out(&mut self) {
        if self.opcode.get(Slot::Cc).is_some() {
            self.kernel.declarations.push_str(".reg .b32 %carried;\n");
            self.kernel.after.push_str("addc.u32 %carried, 0, 0;\n");
            self.kernel.stores.push(Store { register: "%carried".into(), bits: 32, guarded: false });
        }
    }

    /// A new input word.
    pub(crate) fn word(&mut self, domain: Domain) -> usize {
        self.domains.push(domain);
        self.domains.len() - 1
    }

    /// A new input register.
    pub(crate) fn input(&mut self, domain: Domain, bits: u32) -> String {
        let word = self.word(domain);
        if bits == 128 {
            self.word(domain);
        }
        let letter = if bits == 1 { 'p' } else { 'i' };
        let register = format!("%{letter}{}", self.kernel.loads.len());
        self.declare(&register, bits);
        self.kernel.loads.push(Load { register: register.clone(), bits, word });
        register
    }

    /// A new output register.
    pub(crate) fn output(&mut self, bits: u32) -> String {
        let register = format!("%o{}", self.kernel.stores.len());
        self.declare(&register, bits);
        self.kernel.stores.push(Store { register: register.clone(), bits, guarded: true });
        register
    }

    /// An output register that something other than the instruction writes.
    pub(crate) fn observed(&mut self, bits: u32) -> String {
        let register = self.output(bits);
        if let Some(store) = self.kernel.stores.last_mut() {
            store.guarded = false;
        }
        register
    }

    fn declare(&mut self, register: &str, bits: u32) {
        let ty = if bits == 1 { ".pred".to_owned() } else { format!(".b{bits}") };
        let _ = writeln!(self.kernel.declarations, ".reg {ty} {register};");
    }

    pub(crate) fn declaration(&mut self, text: &str) {
        self.kernel.declarations.push_str(text);
        self.kernel.declarations.push('\n');
    }

    pub(crate) fn before(&mut self, text: &str) {
        self.kernel.before.push_str(text);
        self.kernel.before.push('\n');
    }

    pub(crate) fn after(&mut self, text: &str) {
        self.kernel.after.push_str(text);
        self.kernel.after.push('\n');
    }

    /// Something to be done after all that follows the instruction.
    pub(crate) fn last(&mut self, text: &str) {
        self.last.push_str(text);
        self.last.push('\n');
    }

    pub(crate) fn remark(&mut self, text: &str) {
        self.remarks.push_str(text);
    }

    pub(crate) fn use_slot_words(&mut self, words: usize) {
        self.kernel.slot = words;
    }

    pub(crate) fn use_cluster(&mut self) {
        self.kernel.clustered = true;
    }

    pub(crate) fn use_object(&mut self, object: Object) {
        self.kernel.object = Some(object);
    }

    pub(crate) fn use_table(&mut self) {
        self.kernel.needs_table = true;
    }
}

/// What a form does beside computing results. One that nothing executes, since ptxas takes it beside the manual's, does what
/// the instruction's forms before it do.
pub(crate) fn effects(form: FormId) -> &'static Effects {
    let alike = |other: &FormData| other.mnemonic == form.data().mnemonic;
    let before = FORMS[..=usize::from(form.0)].iter().rev();
    before.filter(|it| alike(it)).find_map(|it| it.sem).map_or(&Effects::PURE, Sem::effects)
}
