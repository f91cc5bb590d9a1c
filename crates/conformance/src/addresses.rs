//! Instructions on addresses. An address itself means something to the implementation alone; what is recorded is what
//! an address leads to, where it lies, and whose memory it is.

use crate::builder::Builder;
use crate::domain::Domain;
use ptx::isa::{Mnemonic, Modifier, OperandSpec, Slot};
use ptx::types::{ScalarType, StateSpace};

/// CTAs of the cluster for the instructions that map addresses between them.
const CTAS: i64 = 2;

impl Builder<'_> {
    /// An operand that is an address, or a CTA's rank.
    pub(crate) fn of_addresses(&mut self, spec: &OperandSpec) -> Option<String> {
        match (self.opcode.mnemonic(), spec.name) {
            (Mnemonic::Isspacep, "a") => Some(self.somewhere()),
            (Mnemonic::Cvta, "a") => self.convertible(),
            (Mnemonic::Cvta, "d") => {
                let bits = self.opcode.ty(Slot::Type)?.bits();
                self.declaration(&format!(".reg .b{bits} %converted;"));
                Some("%converted".into())
            }
            (Mnemonic::Mapa, "d") => Some("%mapped".into()),
            (Mnemonic::Mapa, "a") => self.mapped_from(),
            (Mnemonic::Mapa, "b") => Some(self.input(rank(), 32)),
            (Mnemonic::Getctarank, "a") => {
                let address = self.mapped_from()?;
                let rank = self.input(rank(), 32);
                let kind = self.of_kind();
                self.before(&format!("mapa{kind} %mapped, {address}, {rank};"));
                Some("%mapped".into())
            }
            _ => None,
        }
    }

    /// A generic address in the space that an input says.
    fn somewhere(&mut self) -> String {
        self.use_table();
        self.declaration(
            ".shared .align 8 .b64 of_cta; .local .align 8 .b64 of_thread; .reg .b64 %somewhere; .reg .pred %there;",
        );
        let which = self.input(Domain::Range { low: 0, high: 5, step: 1 }, 32);
        let mut text = "mov.b64 %somewhere, %row;\n".to_owned();
        for (number, space, variable) in [
            (1, "shared", "of_cta"),
            (2, "local", "of_thread"),
            (3, "const", "table"),
            (4, "param", "constants"),
        ] {
            text += &format!(
                "mov.u64 %w, {variable}; cvta.{space}.u64 %w, %w; setp.eq.u32 %there, {which}, {number}; \
                 selp.b64 %somewhere, %w, %somewhere, %there;\n"
            );
        }
        // The other CTA's shared memory is in the window of shared::cluster alone.
        self.use_cluster();
        text += &format!(
            "mov.u64 %w, of_cta; cvta.shared.u64 %w, %w; mov.u32 %t, %cluster_ctarank; xor.b32 %t, %t, 1; \
             mapa.u64 %w, %w, %t; setp.eq.u32 %there, {which}, 5; selp.b64 %somewhere, %w, %somewhere, %there;"
        );
        self.before(&text);
        "%somewhere".to_owned()
    }

    /// The address that `cvta` converts, and a load through what it becomes.
    fn convertible(&mut self) -> Option<String> {
        if self.opcode.ty(Slot::Type)?.bits() != 64 {
            return None;
        }
        let space = self.opcode.get(Slot::Space)?;
        let name = space.text();
        let back = self.opcode.text().starts_with("cvta.to");
        let address = self.known_memory(space.state_space()?)?;
        let loaded = self.observed(64);
        let through = if back { name } else { "" };
        self.after(&format!("ld{through}.b64 {loaded}, [%converted];"));
        if !back {
            return Some(address);
        }
        self.declaration(".reg .b64 %generic;");
        match space.state_space()? {
            // Global addresses are generic ones.
            StateSpace::Global => self.before(&format!("cvta.global.u64 %generic, {address};")),
            _ => self.before(&format!("cvta{name}.u64 %generic, {address};")),
        }
        Some("%generic".into())
    }

    /// The address of memory in a space, which holds input words or a constant that all engines know.
    fn known_memory(&mut self, space: StateSpace) -> Option<String> {
        let domain = Domain::Of(ScalarType::B64);
        match space {
            StateSpace::Global => {
                self.unloaded(domain, 2);
                Some("%row".into())
            }
            StateSpace::ParamEntry => {
                self.before("mov.u64 %slot, constants;");
                Some("%slot".into())
            }
            StateSpace::Const => {
                self.table_entry();
                Some("%slot".into())
            }
            StateSpace::Shared | StateSpace::Local => {
                let address = self.slot(space, 2)?;
                let words: Vec<_> = (0..2).map(|_| self.input(domain, 64)).collect();
                self.fill(space, &address, &words, 2);
                Some(address)
            }
            _ => None,
        }
    }

    /// The modifiers of the instruction behind its name.
    fn of_kind(&self) -> String {
        let space = self.opcode.get(Slot::Space).map_or("", Modifier::text);
        format!("{space}{}", self.opcode.get(Slot::Type).map_or("", Modifier::text))
    }

    /// An address of this CTA's shared memory, and what shows whose an address mapped from it is.
    fn mapped_from(&mut self) -> Option<String> {
        self.use_cluster();
        let bits = self.opcode.ty(Slot::Type)?.bits();
        let address = self.slot(StateSpace::Shared, 2)?;
        let words: Vec<_> = (0..2).map(|_| self.input(Domain::Of(ScalarType::B64), 64)).collect();
        self.fill(StateSpace::Shared, &address, &words, 2);
        self.declaration(&format!(".reg .b{bits} %mapped, %own;"));
        let generic = self.opcode.get(Slot::Space).is_none();
        if generic && bits != 64 {
            return None;
        }
        if generic {
            self.before(&format!("cvta.shared.u64 {address}, {address};"));
        }
        let narrow = if bits == 32 { "cvt.u32.u64" } else { "mov.b64" };
        self.before(&format!("{narrow} %own, {address}; barrier.cluster.arrive; barrier.cluster.wait;"));
        let kind = self.of_kind();
        if self.opcode.mnemonic() == Mnemonic::Mapa {
            let rank = self.observed(32);
            self.after(&format!("getctarank{kind} {rank}, %mapped;"));
        }
        let loaded = self.observed(64);
        let through = if generic { "" } else { ".shared::cluster" };
        self.after(&format!("ld{through}.b64 {loaded}, [%mapped];"));
        self.last("barrier.cluster.arrive; barrier.cluster.wait;");
        Some("%own".to_owned())
    }
}

fn rank() -> Domain {
    Domain::Range { low: 0, high: CTAS - 1, step: 1 }
}
