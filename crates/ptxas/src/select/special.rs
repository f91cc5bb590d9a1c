//! Special registers, and addresses of variables (PTX ISA, "Special Registers").

use super::{Refusal, Select};
use crate::code::{Operand, Reg};
use ptx::isa::SpecialRegister;
use ptx::module::{FuncId, Linkage, Symbol, VarId, Variable};
use ptx::types::{StateSpace, TypeKind};
use sass::device::Clusters;
use smol_str::format_smolstr;

/// What stands for a function where its address is asked for; 0 is none.
pub(crate) fn function_number(id: FuncId) -> u64 {
    u64::from(id.0) + 1
}

/// A counter of performance, as `SR_PM3`.
fn counter(register: SpecialRegister) -> String {
    let name = format!("{register:?}").to_uppercase();
    format!("SR_{}", name.trim_end_matches("_64"))
}

impl Select<'_> {
    pub(super) fn special(&mut self, register: SpecialRegister, component: u8) -> Result<Reg, Refusal> {
        use SpecialRegister::*;
        let target = self.target();
        let s2r = |this: &mut Self, name: &str| this.one("S2R", vec![Operand::Text(name.into())]);
        let bank = |this: &mut Self, at: u32| this.one("LDC", vec![Operand::bank0(at)]);
        let axis = |prefix: &str| Some(format!("{prefix}.{}", ["X", "Y", "Z"].get(usize::from(component))?));
        Ok(match register {
            Tid | Ctaid | Ntid | Nctaid if component > 2 => {
                let value = u32::from(matches!(register, Ntid | Nctaid));
                self.one("MOV", vec![Operand::number(value)])
            }
            Tid => s2r(self, &axis("SR_TID").unwrap_or_default()),
            Ctaid => s2r(self, &axis("SR_CTAID").unwrap_or_default()),
            Ntid => bank(self, target.block + u32::from(component) * 4),
            Nctaid => bank(self, target.grid + u32::from(component) * 4),
            Laneid => s2r(self, "SR_LANEID"),
            Smid => s2r(self, "SR_VIRTUALSMID"),
            Nsmid => bank(self, target.sm_count),
            LanemaskEq => s2r(self, "SR_EQMASK"),
            LanemaskLt => s2r(self, "SR_LTMASK"),
            LanemaskLe => s2r(self, "SR_LEMASK"),
            LanemaskGt => s2r(self, "SR_GTMASK"),
            LanemaskGe => s2r(self, "SR_GEMASK"),
            Warpid => self.field("SR_VIRTID", 7),
            Nwarpid if !target.has_ranks => self.one("MOV", vec![Operand::number(target.warps)]),
            Nwarpid => self.field("SR_VIRTCFG", 8),
            Clock => self.one("CS2R.32", vec![Operand::Text("SR_CLOCKLO".into())]),
            Clock64 => self.pair("CS2R", vec![Operand::Text("SR_CLOCKLO".into())]),
            ClockHi => {
                let both = self.pair("CS2R", vec![Operand::Text("SR_CLOCKLO".into())]);
                self.one("MOV", vec![Operand::part(both, 1)])
            }
            Globaltimer => self.pair("CS2R", vec![Operand::Text("SR_GLOBALTIMERLO".into())]),
            GlobaltimerLo | GlobaltimerHi => {
                let both = self.pair("CS2R", vec![Operand::Text("SR_GLOBALTIMERLO".into())]);
                self.one("MOV", vec![Operand::part(both, u8::from(register == GlobaltimerHi))])
            }
            Gridid => self.pair("LDC.64", vec![Operand::bank0(target.grid_id)]),
            DynamicSmemSize => self.word_of_launch(target.dynamic_shared),
            register if environment(register).is_some() => {
                let number = environment(register).unwrap_or_default();
                self.word_of_launch(target.environment + 4 * number)
            }
            Clusterid | ClusterCtaid if component > 2 => self.one("MOV", vec![Operand::zero()]),
            Nclusterid | ClusterNctaid if component > 2 => self.one("MOV", vec![Operand::number(1)]),
            Clusterid => self.cluster_of(&axis("SR_CTAID").unwrap_or_default(), component)?,
            ClusterCtaid => {
                let cta = s2r(self, &axis("SR_CTAID").unwrap_or_default());
                let cluster = self.cluster_of(&axis("SR_CTAID").unwrap_or_default(), component)?;
                let at = self.clusters_of_device()?.size + u32::from(component) * 4;
                let size = self.word_of_launch(at);
                let minus = self
                    .one("IADD3", vec![Operand::low(cluster).signed("-"), Operand::zero(), Operand::zero()]);
                self.mad(Operand::low(size), Operand::low(minus), Operand::low(cta))
            }
            ClusterNctaid => self.word_of_launch(self.clusters_of_device()?.size + u32::from(component) * 4),
            ClusterNctarank => self.word_of_launch(self.clusters_of_device()?.ctas),
            Nclusterid => self.word_of_launch(self.clusters_of_device()?.count + u32::from(component) * 4),
            TotalSmemSize => {
                let all = s2r(self, "SR_SMEMSZ");
                let reserved = bank(self, target.reserved_shared);
                self.one(
                    "IADD3",
                    vec![Operand::low(all), Operand::low(reserved).signed("-"), Operand::zero()],
                )
            }
            AggrSmemSize => {
                let all = s2r(self, "SR_SMEMSZ");
                let most = self.word_of_launch(self.clusters_of_device()?.aggregated_shared);
                self.one("VIMNMX.U32", vec![Operand::low(all), Operand::low(most), Operand::always(false)])
            }
            ReservedSmemOffsetBegin | ReservedSmemOffset0 | ReservedSmemOffsetCap
                if target.system_shared == 0 =>
            {
                return Err(format!("special register {register:?}, as {target} reserves other memory"));
            }
            ReservedSmemOffset0 if target.reserved_offset != 0 => {
                self.one("MOV", vec![Operand::number(target.reserved_offset)])
            }
            ReservedSmemOffsetBegin | ReservedSmemOffset0 => self.one("MOV", vec![Operand::zero()]),
            ReservedSmemOffsetCap => self.one("MOV", vec![Operand::number(target.system_shared)]),
            ClusterCtarank => s2r(self, "SR_CgaCtaId"),
            Pm0 | Pm1 | Pm2 | Pm3 | Pm4 | Pm5 | Pm6 | Pm7 => {
                self.one("CS2R.32", vec![Operand::Text(counter(register).into())])
            }
            Pm0_64 | Pm1_64 | Pm2_64 | Pm3_64 | Pm4_64 | Pm5_64 | Pm6_64 | Pm7_64 => {
                self.pair("CS2R", vec![Operand::Text(counter(register).into())])
            }
            other => return Err(format!("special register {other:?}")),
        })
    }

    /// The number of the cluster along an axis: that of the CTA over the cluster's size, whose reciprocal the launch gives.
    fn cluster_of(&mut self, cta: &str, component: u8) -> Result<Reg, Refusal> {
        let inverse = self.clusters_of_device()?.inverse;
        let cta = self.one("S2R", vec![Operand::Text(cta.into())]);
        let inverse = self.word_of_launch(inverse + u32::from(component) * 4);
        let float = self.one("I2FP.F32.U32", vec![Operand::low(cta)]);
        let product = self.one("FMUL", vec![Operand::low(float), Operand::low(inverse)]);
        Ok(self.one("F2I.U32.TRUNC.NTZ", vec![Operand::low(product)]))
    }

    /// Where the constant bank tells of clusters.
    pub(super) fn clusters_of_device(&self) -> Result<&'static Clusters, Refusal> {
        let target = self.target();
        target.clusters().ok_or_else(|| format!("{target} has no clusters"))
    }

    fn field(&mut self, register: &str, bits: u32) -> Reg {
        let all = self.one("S2R", vec![Operand::Text(register.into())]);
        let moved = self.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::number(8), Operand::low(all)]);
        self.one("SGXT.U32", vec![Operand::low(moved), Operand::number(bits)])
    }

    /// A word of constant bank 0 that some devices have lower by a special register.
    fn word_of_launch(&mut self, at: u32) -> Reg {
        let lower = self.target().lower_by_cluster;
        if lower == 0 {
            return self.one("LDC", vec![Operand::bank0(at)]);
        }
        let size = self.one("CS2R.32", vec![Operand::Text("SR_CgaSize".into())]);
        let by = self.constant(lower.wrapping_neg());
        let moved = self.mad(Operand::low(size), by, Operand::zero());
        let from = Operand::Address { before: "c[0x0]", reg: moved, width: 1, beside: "", offset: at.into() };
        self.one("LDC", vec![from])
    }

    /// The address of a variable in its own state space, as 64 bits.
    pub(super) fn symbol(&mut self, symbol: Symbol, offset: i64) -> Result<Reg, Refusal> {
        let id = match symbol {
            Symbol::Variable(id) => id,
            // Calls are inlined: what stands for a function is its number.
            Symbol::Function(id) => {
                if self.layout.relocatable && self.module.functions[id.index()].linkage != Linkage::Internal {
                    return Err("the address of a function that other modules may call".to_owned());
                }
                return Ok(self.constant64(function_number(id)));
            }
        };
        let variable = &self.module.variables[id.index()];
        if variable.ty.kind() == TypeKind::Opaque {
            return Err("the handle of a variable".to_owned());
        }
        match variable.space {
            StateSpace::Global => {
                let name = self.layout.symbol(id).ok_or("this variable has no place")?;
                let low = Operand::Text(format_smolstr!("32@lo({name})"));
                let high = Operand::Text(format_smolstr!("32@hi({name})"));
                let base = self.join(low, high);
                Ok(if offset == 0 {
                    base
                } else {
                    let by = self.constant64(offset as u64);
                    self.add64(base, by)
                })
            }
            StateSpace::Shared => {
                let low = self.shared(id, offset)?;
                Ok(self.join(Operand::low(low), Operand::zero()))
            }
            StateSpace::Local | StateSpace::ParamFunc => {
                let at = self.local(id) as i64 + offset;
                let low = self.frame_address(at);
                Ok(self.join(Operand::low(low), Operand::zero()))
            }
            StateSpace::Const => match self.placed_by_linker(id, offset) {
                Some(at) => Ok(self.join(Operand::low(at), Operand::zero())),
                None => {
                    let at = self.layout.constant(id).ok_or("this variable has no place")? as i64 + offset;
                    Ok(self.constant64(at as u64))
                }
            },
            StateSpace::ParamEntry => {
                let at = self.layout.parameter(id).ok_or("this parameter has no place")? as i64 + offset;
                Ok(self.constant64(at as u64))
            }
            _ => Err("the address of this variable".to_owned()),
        }
    }

    pub(super) fn frame_address(&mut self, at: i64) -> Reg {
        let stack = Operand::Text("R1".into());
        self.one("IADD3", vec![stack, Operand::number(at as u32), Operand::zero()])
    }

    /// Where a linker puts a variable in constant or shared memory, and an offset.
    pub(super) fn placed_by_linker(&mut self, id: VarId, offset: i64) -> Option<Reg> {
        let name = self.layout.symbol(id).filter(|_| self.layout.relocatable)?;
        let at = self.one("MOV", vec![Operand::Text(format_smolstr!("32@abs(\"{name}\")"))]);
        if offset == 0 {
            return Some(at);
        }
        let by = self.constant(offset as u32);
        Some(self.add(Operand::low(at), by))
    }

    /// The address of a shared variable: the CTA's number in its cluster stands above the offset.
    pub(super) fn shared(&mut self, id: VarId, offset: i64) -> Result<Reg, Refusal> {
        let offset = offset + i64::from(self.target().system_shared);
        let base = match self.placed_by_linker(id, offset) {
            Some(at) => at,
            None => {
                let at = self.layout.shared(id).ok_or("this variable has no place")? as i64 + offset;
                self.one("MOV", vec![Operand::number(at as u32)])
            }
        };
        if !self.target().has_ranks {
            return Ok(base);
        }
        let rank = self.one("S2R", vec![Operand::Text("SR_CgaCtaId".into())]);
        Ok(self.one("LEA", vec![Operand::low(rank), Operand::low(base), Operand::number(0x18)]))
    }

    /// Where a local variable is in the frame.
    pub(super) fn local(&mut self, id: VarId) -> u64 {
        let variable = &self.module.variables[id.index()];
        let places = if is_of_module(variable) { &mut self.locals } else { &mut self.at.locals };
        *places.entry(id).or_insert_with(|| {
            let at = self.frame.next_multiple_of(u64::from(variable.align.max(4)));
            self.frame = at + variable.size.max(4);
            at
        })
    }
}

/// Whether it is a variable in local memory that all functions share, as modules have until PTX 3.0.
pub(super) fn is_of_module(variable: &Variable) -> bool {
    variable.space == StateSpace::Local && variable.function.is_none()
}

/// The number of `%envreg0` and so on.
fn environment(register: SpecialRegister) -> Option<u32> {
    register.text().strip_prefix("%envreg")?.parse().ok()
}
