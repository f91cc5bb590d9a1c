//! Matrices (PTX ISA, "Warp-Level Matrix Instructions" and "Asynchronous Warpgroup-Level Matrix Instructions"). A fragment's
//! registers must follow one another: they are copied together, and the result apart.

use super::nibbles::Matrices;
use super::{Done, Refusal, Select};
use crate::code::{Class, Operand, Reg};
use crate::products;
use ir::Op;
use ir::instruction as i;
use ir::operand::{Def, MatrixShape, Value};
use ptx::types::ScalarType;

impl Select<'_> {
    pub(super) fn matrices(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Ldmatrix(op) => self.behind_guard(|this| this.load_matrix(op)),
            Op::Stmatrix(op) => self.behind_guard(|this| this.store_matrix(op)),
            Op::Movmatrix(op) => self.behind_guard(|this| {
                let a = this.word(&op.a)?;
                this.all_together();
                let to = this.one("MOVM.16.MT88", vec![a]);
                this.set(op.d, to);
                Ok(())
            }),
            Op::Mma(op) => self.behind_guard(|this| this.multiply(op)),
            Op::MmaSparse(op) => self.behind_guard(|this| this.multiply_sparse(op)),
            Op::Wgmma(op) => self.behind_guard(|this| this.multiply_by_warpgroup(op)),
            Op::WgmmaFence(_) => self.of_groups(products::ARRIVE, vec![]),
            Op::WgmmaCommitGroup(_) => self.of_groups(products::COMMIT, vec![]),
            Op::WgmmaWaitGroup(op) => {
                let left = (op.n as u32).min(products::MOST_GROUPS);
                self.of_groups(products::WAIT, vec![Operand::Text("gsb0".into()), Operand::number(left)])
            }
            _ => return None,
        })
    }

    /// What the products of a warpgroup in front are told; [`products`] says which of it stays.
    fn of_groups(&mut self, name: &str, read: Vec<Operand>) -> Done {
        self.code.push(None, name, vec![], read);
        Ok(())
    }

    pub(super) fn all_together(&mut self) {
        self.code.push(None, "WARPSYNC.ALL", vec![], vec![]);
    }

    /// Values of 32 or 64 bits in registers that follow one another.
    pub(super) fn fragment(&mut self, values: &[Value], wide: bool) -> Result<Operand, Refusal> {
        let mut words = Vec::new();
        for value in values {
            if wide {
                let both = self.double(value)?;
                words.extend([Operand::part(both, 0), Operand::part(both, 1)]);
            } else {
                words.push(self.word(value)?);
            }
        }
        Ok(self.fragment_of(words))
    }

    /// Values of up to 32 bits.
    pub(super) fn each_word(&mut self, values: &[Value]) -> Result<Vec<Operand>, Refusal> {
        values.iter().map(|value| self.word(value)).collect()
    }

    pub(super) fn fragment_of(&mut self, words: Vec<Operand>) -> Operand {
        let width = words.len() as u8;
        let to = self.temporary(width);
        for (part, word) in (0..).zip(words) {
            self.code.push(None, "MOV", vec![Operand::part(to, part)], vec![word]);
        }
        Operand::wide(to, width)
    }

    /// Gives out a result's registers.
    pub(super) fn give_out(&mut self, d: &[Def], from: Reg, wide: bool) {
        for (index, &def) in d.iter().enumerate() {
            let index = index as u8;
            let value = match wide {
                true => self.join(Operand::part(from, index * 2), Operand::part(from, index * 2 + 1)),
                false => self.one("MOV", vec![Operand::part(from, index)]),
            };
            self.set(def, value);
        }
    }

    fn load_matrix(&mut self, op: &i::Ldmatrix) -> Done {
        let at = self.in_shared(&op.p)?;
        let width = op.d.len() as u8;
        let to = self.temporary(width);
        self.all_together();
        let name = format!("LDSM.16.{}{}", if op.trans { "MT88" } else { "M88" }, count(width));
        self.code.push(None, name, vec![Operand::wide(to, width)], vec![Operand::address(at)]);
        self.give_out(&op.d, to, false);
        Ok(())
    }

    fn store_matrix(&mut self, op: &i::Stmatrix) -> Done {
        let at = self.in_shared(&op.p)?;
        let from = self.fragment(&op.r, false)?;
        self.all_together();
        let width = op.r.len() as u8;
        let name = format!("STSM.16.{}{}", if op.trans { "MT88" } else { "M88" }, count(width));
        self.code.push(None, name, vec![], vec![Operand::address(at), from]);
        Ok(())
    }

    /// Writes a product.
    pub(super) fn product_of(&mut self, name: &str, width: u8, read: Vec<Operand>) -> Reg {
        self.all_together();
        let to = self.code.register(Class::General(width), true);
        self.code.push(None, name, vec![Operand::wide(to, width)], read);
        to
    }

    fn multiply(&mut self, op: &i::Mma) -> Done {
        let MatrixShape { m, n, k } = op.shape;
        let same = op.atype.modifier() == op.btype.modifier();
        let double = op.dtype == ScalarType::F64;
        let (name, integer) = match op.atype {
            i::MmaAtype::F16 if m == 8 => return self.multiply_by_quad_pairs(op),
            i::MmaAtype::F16 | i::MmaAtype::Bf16 | i::MmaAtype::Tf32 if same && m == 16 => {
                let kind = match op.atype {
                    i::MmaAtype::Bf16 => ".BF16",
                    i::MmaAtype::Tf32 => ".TF32",
                    _ => "",
                };
                let to = if op.dtype == ScalarType::F16 { "F16" } else { "F32" };
                if op.dtype != op.ctype {
                    return Err("with another type of sums than of results".to_owned());
                }
                (format!("HMMA.{m}{n}{k}.{to}{kind}"), false)
            }
            i::MmaAtype::F64 => (format!("DMMA.{m}x{n}x{k}{}", direction(op.rnd)), false),
            i::MmaAtype::S8 | i::MmaAtype::U8 => {
                let kind = |signed| if signed { "S8" } else { "U8" };
                let (a, b) = (op.atype == i::MmaAtype::S8, op.btype == i::MmaBtype::S8);
                let saturates = if op.satfinite { ".SAT" } else { "" };
                (format!("IMMA.{m}{n}{k}.{}.{}{saturates}", kind(a), kind(b)), true)
            }
            i::MmaAtype::B1 if op.op == Some(i::WmmaMmaOp::And) => (format!("BMMA.{m}{n}{k}.AND.POPC"), true),
            i::MmaAtype::B1 if op.op == Some(i::WmmaMmaOp::Xor) => {
                let of = Matrices { a: &op.a, b: &op.b, c: &op.c, d: &op.d, metadata: vec![] };
                return self.multiply_differences(op.shape, &of);
            }
            i::MmaAtype::S4 | i::MmaAtype::U4 => {
                let of = Matrices { a: &op.a, b: &op.b, c: &op.c, d: &op.d, metadata: vec![] };
                let signs = (op.atype == i::MmaAtype::S4, op.btype == i::MmaBtype::S4);
                return self.multiply_nibbles(op.shape, signs, &of, op.satfinite);
            }
            i::MmaAtype::E4m3 | i::MmaAtype::E5m2 => return self.multiply_small_floats(op),
            _ => return Err("of these types".to_owned()),
        };
        let mut read = Vec::new();
        for (values, layout) in [(&op.a, ".ROW"), (&op.b, ".COL"), (&op.c, "")] {
            let fragment = self.fragment(values, double)?;
            read.push(if integer { fragment.suffixed(layout) } else { fragment });
        }
        let width = op.d.len() as u8 * if double { 2 } else { 1 };
        let product = self.product_of(&name, width, read);
        self.give_out(&op.d, product, double);
        Ok(())
    }

    fn multiply_sparse(&mut self, op: &i::MmaSparse) -> Done {
        use i::MmaSparseAtype::{Bf16, E4m3, E5m2, F16, S4, S8, Tf32, U4, U8};
        let MatrixShape { m, n, k } = op.shape;
        let to = if op.dtype == ScalarType::F16 { "F16" } else { "F32" };
        let of = |modifier: ptx::isa::Modifier| modifier.text()[1..].to_uppercase();
        let (a, b) = (of(op.atype.modifier()), of(op.btype.modifier()));
        let metadata = self.word(&op.e)?;
        let metadata = vec![Operand::low(self.one("MOV", vec![metadata])), Operand::number(op.f as u32)];
        let (name, integer) = match op.atype {
            F16 => (format!("HMMA.SP.{m}{n}{k}.{to}"), false),
            Bf16 | Tf32 => (format!("HMMA.SP.{m}{n}{k}.{to}.{a}"), false),
            S8 | U8 => {
                let saturates = if op.satfinite { ".SAT" } else { "" };
                (format!("IMMA.SP.{m}{n}{k}.{a}.{b}{saturates}"), true)
            }
            S4 | U4 => {
                let signs = (op.atype == S4, op.btype == i::MmaSparseBtype::S4);
                let of = Matrices { a: &op.a, b: &op.b, c: &op.c, d: &op.d, metadata };
                return self.multiply_nibbles(op.shape, signs, &of, op.satfinite);
            }
            E4m3 | E5m2 if op.dtype == ScalarType::F32 => {
                return self.multiply_sparse_small_floats(op, metadata[0].clone());
            }
            E4m3 | E5m2 => return Err("with sums of halves".to_owned()),
        };
        let mut read = Vec::new();
        for (values, layout) in [(&op.a, ".ROW"), (&op.b, ".COL"), (&op.c, "")] {
            let fragment = self.fragment(values, false)?;
            read.push(if integer { fragment.suffixed(layout) } else { fragment });
        }
        read.extend(metadata);
        let product = self.product_of(&name, op.d.len() as u8, read);
        self.give_out(&op.d, product, false);
        Ok(())
    }

    /// A product of a warpgroup. Descriptors are in UR8 to UR11.
    fn multiply_by_warpgroup(&mut self, op: &i::Wgmma) -> Done {
        use i::WgmmaAtype::{B1, Bf16, E4m3, E5m2, F16, S8, Tf32, U8};
        let MatrixShape { m, n, k } = op.shape;
        let of = |modifier: ptx::isa::Modifier| modifier.text()[1..].to_uppercase();
        let (a, b) = (of(op.atype.modifier()), of(op.btype.modifier()));
        let to = if op.dtype == ScalarType::F16 { "F16" } else { "F32" };
        let sparse = if op.sparse { ".SP" } else { "" };
        let name = match op.atype {
            F16 => format!("HGMMA{sparse}.{m}x{n}x{k}.{to}"),
            Bf16 | Tf32 => format!("HGMMA{sparse}.{m}x{n}x{k}.{to}.{a}"),
            E4m3 | E5m2 => format!("QGMMA{sparse}.{m}x{n}x{k}.{to}.{a}.{b}"),
            S8 | U8 => {
                format!("IGMMA{sparse}.{m}x{n}x{k}.{a}.{b}{}", if op.satfinite { ".SAT" } else { "" })
            }
            B1 => format!("BGMMA.{m}x{n}x{k}.AND.POPC"),
        };
        let values: Result<Vec<_>, Refusal> =
            op.d.iter()
                .map(|def| match def.0 {
                    Some(id) => Ok(Value::Register(id)),
                    None => Err("without a register for a part of the result".to_owned()),
                })
                .collect();
        let sums = self.fragment(&values?, false)?;
        let Operand::General { reg: sums, width, .. } = sums else { return Err("these sums".to_owned()) };
        let is_added = match op.scaled.value {
            Value::Constant(bits) => Some((bits != 0) != op.scaled.negated),
            _ => None,
        };
        let scaled = match is_added {
            Some(_) => None,
            None => Some(self.predicate(&op.scaled)?),
        };
        let (negative_a, negative_b) =
            (op.sa.is_some_and(|s| s as i32 == -1), op.sb.is_some_and(|s| s as i32 == -1));
        let metadata = match &op.e {
            Some(metadata) => {
                let metadata = self.word(metadata)?;
                Some(Operand::low(self.one("MOV", vec![metadata])))
            }
            None => None,
        };
        self.all_together();
        let mut descriptor = String::from("gdesc[UR8]");
        let mut read = Vec::new();
        let b = self.double(&op.bdesc)?;
        match (&op.a, &op.adesc) {
            (Some(values), _) => {
                let a = self.fragment(values, false)?;
                read.push(if negative_a { a.signed("-") } else { a });
                self.in_uniform(&[(10, Operand::part(b, 0)), (11, Operand::part(b, 1))]);
            }
            (None, Some(a)) => {
                let a = self.double(a)?;
                self.in_uniform(&[
                    (8, Operand::part(a, 0)),
                    (9, Operand::part(a, 1)),
                    (10, Operand::part(b, 0)),
                    (11, Operand::part(b, 1)),
                ]);
                if negative_a {
                    descriptor.push_str(".negA");
                }
            }
            (None, None) => return Err("without a first matrix".to_owned()),
        }
        if negative_b {
            descriptor.push_str(".negB");
        }
        if op.ta == Some(1) {
            descriptor.push_str(".tnspA");
        }
        if op.tb == Some(1) {
            descriptor.push_str(".tnspB");
        }
        let text = |text: &str| Operand::Text(text.into());
        if let Some((flag, not)) = scaled {
            self.code.push(None, "VOTEU.ANY", vec![text("UP0")], vec![Operand::Predicate(flag, not)]);
        }
        let sum = Operand::wide(sums, width);
        read.extend([Operand::Text(descriptor.into()), sum.clone()]);
        match is_added {
            // That is what no operand means.
            Some(true) => {}
            Some(false) => read.push(text("!UPT")),
            None => read.push(text("UP0")),
        }
        if let Some(metadata) = metadata {
            read.push(metadata);
            // Which lanes have it, where not all do: an operand that is left out is zero.
            match (op.atype, op.f) {
                (F16 | Bf16 | Tf32, lanes) => read.push(Operand::number(lanes.unwrap_or(0) as u32)),
                (_, Some(lanes)) if lanes != 0 => read.push(Operand::number(lanes as u32)),
                _ => {}
            }
        }
        self.code.push(None, name, vec![sum], read);
        self.give_out(&op.d, sums, false);
        Ok(())
    }
}

/// How a product of doubles is rounded.
pub(super) fn direction(rnd: Option<i::AddFloatRnd>) -> &'static str {
    match rnd {
        None | Some(i::AddFloatRnd::Rn) => "",
        Some(i::AddFloatRnd::Rz) => ".RZ",
        Some(i::AddFloatRnd::Rm) => ".RM",
        Some(i::AddFloatRnd::Rp) => ".RP",
    }
}

/// `.2`, `.4`: how many matrices of 8 by 8.
fn count(matrices: u8) -> &'static str {
    match matrices {
        1 => "",
        2 => ".2",
        _ => ".4",
    }
}
