//! Operands as a kernel writes them: registers that are loaded or stored, constants, vectors, addresses.

use crate::builder::Builder;
use crate::domain::Domain;
use crate::inputs::THREADS;
use crate::kernel::Store;
use ptx::isa::{
    Access, Count, Footprint, Fragment, Limit, MemoryEffect, Mnemonic, Modifier, Opcode, OperandKind,
    OperandSpec, Proxy, Role, Slot,
};
use ptx::types::{ScalarType, TypeKind};
use std::fmt::Write;

/// The immediates that are tried: the ends of the range, and values between them.
pub(crate) fn immediates(opcode: &Opcode, spec: &OperandSpec) -> Vec<i64> {
    match (spec.name, spec.limit) {
        // Which threads have the indices of a sparse matrix. Some instructions take two of the four; what they do with
        // the others is undefined, up to a fault.
        ("f", Some(Limit::Range(0, 3))) => vec![0, 1],
        // Truth tables: constants, one operand, conjunction, parity, majority, choice, and any.
        ("immLut", _) => {
            vec![0, 255, 0xf0, 0xcc, 0xaa, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0xd8, 0x3c, 0x01, 0x6b, 0xb4, 0x27]
        }
        // The highest numbers are of later targets, or of no type.
        _ if opcode.mnemonic() == Mnemonic::Tensormap => {
            match opcode.get(Slot::Field).map_or("", Modifier::text) {
                ".elemtype" => vec![0, 6, 12],
                ".interleave_layout" => vec![0, 1, 2],
                ".swizzle_mode" => vec![0, 1, 3],
                ".fill_mode" => vec![0, 1],
                ".global_stride" => vec![0, 1, 3],
                // Bytes of a map that is copied.
                "" => vec![128],
                _ => vec![0, 1, 4],
            }
        }
        (_, Some(Limit::Range(low, high))) if high - low < 4 => {
            (low..=high).filter(|&value| low >= 0 || value != 0).collect()
        }
        (_, Some(Limit::Range(low, high))) => vec![low, high, low + (high - low) / 3],
        (_, Some(Limit::Steps(low, high, step))) => vec![low, high, (low + (high - low) / 3) / step * step],
        (_, Some(Limit::OneOf(values))) => values.to_vec(),
        (_, Some(Limit::MultipleOf(_)) | None) => vec![0],
    }
}

impl Builder<'_> {
    /// The text of operand `i`, with all that stands around the instruction on its behalf; none if there is no case of it.
    pub(crate) fn operand(&mut self, i: usize, spec: &OperandSpec) -> Option<String> {
        if let Some(text) = self.special(spec) {
            return Some(text);
        }
        let ty = self.opcode.operand_type(i);
        match spec.kind {
            OperandKind::Register { .. } | OperandKind::Value { .. } => Some(self.scalar(spec.role, ty?)),
            OperandKind::Predicate { negatable, .. } => match spec.role {
                Role::Read => {
                    let register = self.input(Domain::Flag, 1);
                    let negated = negatable && self.variant.index % 2 == 1;
                    Some(if negated { format!("!{register}") } else { register })
                }
                Role::Write | Role::ReadWrite => Some(self.output(1)),
            },
            OperandKind::Immediate => {
                let values = immediates(self.opcode, spec);
                // Several immediates of an instruction run through their values at different speeds.
                self.immediate = values[(self.variant.alternative * (i | 1)) % values.len()];
                Some(self.immediate.to_string())
            }
            OperandKind::Vector { count, .. } => self.vector(i, spec.role, count, ty),
            OperandKind::Address { .. } => self.address(i),
            OperandKind::Selected(_) => Some(self.selected(i, spec.role, ty?)),
            OperandKind::Sink => Some("_".to_owned()),
            OperandKind::Texture => self.texture(),
            OperandKind::Surface => self.surface(),
            OperandKind::Descriptor => self.queried(),
            OperandKind::TensorMap => self.tensor(),
            OperandKind::TensorMemory
            | OperandKind::Label
            | OperandKind::Function
            | OperandKind::Results
            | OperandKind::Arguments
            | OperandKind::BranchTargets
            | OperandKind::CallTargets => None,
        }
    }

    /// Operands whose values the instruction's other threads or the hardware prescribe.
    fn special(&mut self, spec: &OperandSpec) -> Option<String> {
        match (self.opcode.mnemonic(), spec.name) {
            (_, "membermask") => Some("0xffffffff".into()),
            (_, "policy") => {
                self.declaration(".reg .b64 %policy;");
                self.before("createpolicy.fractional.L2::evict_first.b64 %policy, 1.0;");
                Some("%policy".into())
            }
            (Mnemonic::Cp, _) if self.opcode.get(Slot::Tensor).is_some() => self.of_tensor(spec),
            (Mnemonic::Tensormap, _) => self.field_value(spec),
            (Mnemonic::Tex | Mnemonic::Tld4 | Mnemonic::Txq, _) => self.of_texture(spec),
            (Mnemonic::Sust, "b") => self.stored_to_surface(),
            (Mnemonic::Isspacep | Mnemonic::Cvta | Mnemonic::Mapa | Mnemonic::Getctarank, _) => {
                self.of_addresses(spec)
            }
            (Mnemonic::Cp, "srcsize") => {
                // More than is copied is undefined.
                let register = self.input(Domain::Of(ScalarType::U32), 32);
                self.before(&format!("min.u32 {register}, {register}, {};", self.immediate));
                Some(register)
            }
            (Mnemonic::Bar | Mnemonic::Barrier, "a") => Some("1".into()),
            (Mnemonic::Bar | Mnemonic::Barrier, "b") => Some(THREADS.to_string()),
            (Mnemonic::Mbarrier, _) | (Mnemonic::Cp, "size" | "ctaMask") => self.of_asynchronous(spec),
            (Mnemonic::Wgmma, _) => self.of_warpgroup(spec),
            (Mnemonic::Mma, "e") => Some(self.positions()),
            // Numbers, although registers of other types serve.
            (Mnemonic::Shfl, "b" | "c") => Some(self.input(Domain::Of(ScalarType::U32), 32)),
            (Mnemonic::Fns, "offset") => Some(self.input(Domain::Of(ScalarType::S32), 32)),
            (Mnemonic::Redux, "a") => Some(self.input(Domain::Of(self.opcode.ty(Slot::Type)?), 32)),
            (Mnemonic::Wmma, "stride") => {
                Some(if self.opcode.has(Modifier::B1) { "128" } else { "32" }.into())
            }
            _ => None,
        }
    }

    /// The metadata of a sparse matrix.
    pub(crate) fn positions(&mut self) -> String {
        let of_pairs = self.opcode.ty(Slot::Atype) == Some(ScalarType::Tf32);
        self.input(if of_pairs { Domain::Halves } else { Domain::Positions }, 32)
    }

    /// Whether registers of integers may be wider than their type: in conversions, loads and stores.
    fn widens(&self) -> bool {
        let effects = self.effects;
        let plain = |effect: &MemoryEffect| match effect.access {
            Access::Load | Access::Store => {
                (effect.proxy, effect.footprint) == (Proxy::Generic, Footprint::Lane)
            }
            Access::Atomic | Access::CompareAndSwap | Access::Reduce | Access::Mbarrier(_) => false,
        };
        match effects.memory {
            [] => self.opcode.mnemonic() == Mnemonic::Cvt && self.opcode.get(Slot::Pack).is_none(),
            accesses => effects.asynchronous.is_none() && accesses.iter().all(plain),
        }
    }

    /// The register width of an operand.
    fn width(&mut self, ty: ScalarType) -> u32 {
        let natural = ty.bits().max(16);
        let integer = matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Untyped);
        let least = [16, 32, 64][self.variant.alternative % 3];
        if !self.widens() || !integer || natural >= least {
            return natural;
        }
        if !self.remarks.contains(" in .b") {
            let _ = write!(self.remarks, " in .b{least}");
        }
        least
    }

    fn scalar(&mut self, role: Role, ty: ScalarType) -> String {
        if ty == ScalarType::Pred {
            return if role == Role::Read { self.input(Domain::Flag, 1) } else { self.output(1) };
        }
        let bits = self.width(ty);
        match role {
            Role::Read => {
                let domain = match ty.bits() {
                    128 => Domain::Of(ScalarType::B64),
                    // What is above the type's bits in the register must not count.
                    of if of < bits && bits == 32 => Domain::Of(ScalarType::B32),
                    of if of < bits && bits == 64 => Domain::Of(ScalarType::B64),
                    of if of < bits => Domain::Of(ScalarType::B16),
                    _ => Domain::Of(ty),
                };
                self.input(domain, bits)
            }
            Role::Write => self.output(bits),
            Role::ReadWrite => {
                let register = self.input(Domain::Of(ty), bits);
                // What is loaded is what it holds where a guard keeps it.
                self.kernel.stores.push(Store { register: register.clone(), bits, guarded: true });
                register
            }
        }
    }

    fn vector(&mut self, i: usize, role: Role, count: Count, ty: Option<ScalarType>) -> Option<String> {
        let (length, ty) = match count {
            Count::Parts => {
                let whole = self.opcode.operand_type(if role == Role::Write { 1 } else { 0 })?;
                let parts = [2, 4, 8][self.variant.alternative];
                let part = whole.bits() / parts;
                let ty = ScalarType::ALL.iter().map(|(ty, _)| *ty);
                let ty = ty.filter(|ty| ty.kind() == TypeKind::Untyped).find(|ty| ty.bits() == part)?;
                // Eight parts exist of no type; parts of four bits neither.
                (Some(parts).filter(|&parts| parts < 8)?, ty)
            }
            Count::Of(slot) if self.opcode.get(slot).is_none() => return Some(self.scalar(role, ty?)),
            _ => (self.opcode.operand_length(i)?, ty?),
        };
        let elements: Vec<_> = (0..length)
            .map(|_| match (count, self.element(i), role) {
                (Count::Parts, ..) if ty == ScalarType::B8 => match role {
                    Role::Read => self.input(Domain::Of(ty), 8),
                    Role::Write | Role::ReadWrite => self.output(8),
                },
                (Count::Fragment(_), Some(element), Role::Read) => {
                    self.input(Domain::Elements(element), ty.bits())
                }
                // Sums of integers take any bits.
                (Count::Fragment(_), None, Role::Read) if ty == ScalarType::S32 => {
                    self.input(Domain::Of(ScalarType::B32), ty.bits())
                }
                _ => self.scalar(role, ty),
            })
            .collect();
        Some(format!("{{{}}}", elements.join(", ")))
    }

    /// The format of a matrix operand's elements, where they are packed into 32 bits.
    fn element(&self, i: usize) -> Option<Modifier> {
        let OperandKind::Vector { count: Count::Fragment(matrix), .. } = self.opcode.data().operands[i].kind
        else {
            return None;
        };
        let slot = match matrix {
            Fragment::A => Slot::Atype,
            Fragment::B => Slot::Btype,
            Fragment::C => Slot::Ctype,
            Fragment::D => Slot::Dtype,
        };
        let element = self.opcode.get(slot).unwrap_or(Modifier::F16);
        (!matches!(element, Modifier::F64 | Modifier::F32 | Modifier::S32)).then_some(element)
    }

    /// An operand of a video instruction with a selector of its parts.
    fn selected(&mut self, i: usize, role: Role, ty: ScalarType) -> String {
        let register = self.scalar(role, ty);
        let way = self.variant.alternative;
        let mnemonic = self.opcode.mnemonic().text();
        let (sources, masks): ([&str; 6], [&str; 6]) = match mnemonic.as_bytes().last() {
            Some(b'2') => {
                (["", ".h32", ".h01", ".h23", ".h13", ".h20"], ["", ".h0", ".h1", ".h10", ".h0", ".h1"])
            }
            Some(b'4') => (
                ["", ".b7654", ".b0123", ".b7531", ".b6420", ".b0707"],
                ["", ".b0", ".b3", ".b10", ".b3210", ".b210"],
            ),
            _ => ([".b1", "", ".b3", ".h1", ".b0", ".h0"], [".b0", ".b1", ".b2", ".b3", ".h0", ".h1"]),
        };
        let packed = mnemonic.ends_with(['2', '4']);
        let selector = match role {
            Role::Write if packed || self.variant.full => masks[way],
            Role::Write | Role::ReadWrite => "",
            // Sources are selected independently of one another.
            Role::Read if packed && way == 0 => "",
            Role::Read => sources[(way * (2 * i - 1) + i) % 6],
        };
        format!("{register}{selector}")
    }
}
