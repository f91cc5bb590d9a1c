//! Surface loads, stores and reductions (PTX ISA, "Surface Instructions"). A layer stands behind the coordinates.

use super::object::HANDLE;
use super::{Done, Refusal, Select};
use crate::code::Operand;
use ir::Op;
use ir::instruction::{Clamp, StCop, Suld, SuldCop, SuldGeom, Sured, SuredGeom, SuredOp, Sust, SustComp};
use ir::operand::Lookup;
use ptx::types::ScalarType;

/// What becomes of an access beyond an edge.
fn beyond(clamp: Clamp) -> &'static str {
    match clamp {
        Clamp::Trap => ".TRAP",
        Clamp::Zero => ".IGN",
        Clamp::Clamp => "",
    }
}

/// How many bytes an instruction moves.
fn size(bytes: u32) -> Result<&'static str, Refusal> {
    Ok(match bytes {
        1 => ".U8",
        2 => ".U16",
        4 => "",
        8 => ".64",
        16 => ".128",
        _ => return Err("of so many bytes".to_owned()),
    })
}

fn axes(geometry: SuldGeom) -> &'static str {
    match geometry {
        SuldGeom::N1d => "1D",
        SuldGeom::N2d => "2D",
        SuldGeom::N3d => "3D",
        SuldGeom::A1d => "1D_ARRAY",
        SuldGeom::A2d => "2D_ARRAY",
    }
}

impl Select<'_> {
    pub(super) fn surfaces(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Suld(op) => self.load_from_surface(op),
            Op::Sust(op) => self.store_to_surface(op),
            Op::Sured(op) => self.reduce_on_surface(op),
            _ => return None,
        })
    }

    fn load_from_surface(&mut self, op: &Suld) -> Done {
        let count = op.d.len() as u32;
        let bytes = op.dtype.bits() / 8 * count;
        let (early, order) = match op.cop {
            None | Some(SuldCop::Ca) => ("", ".STRONG.SM"),
            Some(SuldCop::Cs) => (".EF", ".STRONG.SM"),
            Some(SuldCop::Cg | SuldCop::Cv) => ("", ".STRONG.SYS"),
        };
        let name = format!("SULD.D.BA.{}{early}{}{order}{}", axes(op.geom), size(bytes)?, beyond(op.clamp));
        let at = self.place_on_surface(op.geom, &op.a)?;
        let words = bytes.div_ceil(4) as u8;
        let texel = self.results_of_object(words);
        let read = vec![at, Operand::Text(HANDLE.into()), Operand::Text("0x0".into())];
        self.with_handle(&op.a.object, &name, vec![Operand::wide(texel, words)], read)?;
        for (def, index) in op.d.iter().zip(0..) {
            let bits = op.dtype.bits();
            let part = |bits: u32| Operand::part(texel, (index * bits / 32) as u8);
            let value = match bits {
                64 => self.join(part(64), Operand::part(texel, (index * 2 + 1) as u8)),
                32 => self.one("MOV", vec![part(32)]),
                _ => {
                    let by = Operand::number(index * bits % 32);
                    let moved = self.one("SHF.R.U32.HI", vec![Operand::zero(), by, part(bits)]);
                    self.lop(Operand::low(moved), Operand::number((1 << bits) - 1), 0xc0)
                }
            };
            self.set(*def, value);
        }
        Ok(())
    }

    fn store_to_surface(&mut self, op: &Sust) -> Done {
        let count = op.b.len() as u32;
        let bytes = op.ctype.bits() / 8 * count;
        let (early, order) = match op.cop {
            None | Some(StCop::Wb) => ("", ".STRONG.SM"),
            Some(StCop::Cs) => (".EF", ".STRONG.SM"),
            Some(StCop::Cg | StCop::Wt) => ("", ".STRONG.SYS"),
        };
        let (geometry, beyond) = (axes(op.geom), beyond(op.clamp));
        let name = match op.comp {
            SustComp::B => format!("SUST.D.BA.{geometry}{early}{}{order}{beyond}", size(bytes)?),
            SustComp::P => {
                let channels = match count {
                    1 => ".R",
                    2 => ".RG",
                    _ => "",
                };
                format!("SUST.P.{geometry}{early}{order}{channels}{beyond}")
            }
        };
        let at = self.place_on_surface(op.geom, &op.a)?;
        let words = bytes.div_ceil(4) as u8;
        let texel = self.temporary(words);
        let bits = op.ctype.bits();
        let mut parts = vec![Operand::zero(); usize::from(words)];
        for (value, index) in op.b.iter().zip(0..) {
            let place = (index * bits / 32) as usize;
            match bits {
                64 => {
                    let value = self.double(value)?;
                    parts[place] = Operand::part(value, 0);
                    parts[place + 1] = Operand::part(value, 1);
                }
                32 => parts[place] = self.word(value)?,
                _ => {
                    let value = self.word(value)?;
                    let cut = self.lop(value, Operand::number((1 << bits) - 1), 0xc0);
                    let by = Operand::number(index * bits % 32);
                    let moved = self.one("SHF.L.U32", vec![Operand::low(cut), by, Operand::zero()]);
                    parts[place] = Operand::low(self.lop(Operand::low(moved), parts[place].clone(), 0xfc));
                }
            }
        }
        for (operand, part) in parts.into_iter().zip(0..) {
            self.code.push(None, "MOV", vec![Operand::part(texel, part)], vec![operand]);
        }
        let read =
            vec![at, Operand::wide(texel, words), Operand::Text(HANDLE.into()), Operand::Text("0x0".into())];
        self.with_handle(&op.a.object, &name, vec![], read)
    }

    fn reduce_on_surface(&mut self, op: &Sured) -> Done {
        let geometry = match op.geom {
            SuredGeom::N1d => SuldGeom::N1d,
            SuredGeom::N2d => SuldGeom::N2d,
            SuredGeom::N3d => SuldGeom::N3d,
        };
        let what = match op.op {
            SuredOp::Add => "ADD",
            SuredOp::Min => "MIN",
            SuredOp::Max => "MAX",
            SuredOp::And => "AND",
            SuredOp::Or => "OR",
        };
        let compares = matches!(op.op, SuredOp::Min | SuredOp::Max);
        let (address, kind) = match (op.comp, op.ctype) {
            (SustComp::B, ScalarType::S32) => (".BA", ".S32"),
            (SustComp::B, ScalarType::U64) => (".BA", ".U64"),
            (SustComp::B, ScalarType::S64) => (".BA", ".S64"),
            (SustComp::B, _) => (".BA", ""),
            // The surface says whether its elements have a sign.
            (SustComp::P, ScalarType::B64) => ("", ".SD64"),
            (SustComp::P, _) if compares => ("", ".SD32"),
            (SustComp::P, _) => ("", ""),
        };
        let name = format!("SURED.D{address}.{}.{what}{kind}.STRONG.SYS{}", axes(geometry), beyond(op.clamp));
        let at = self.place_on_surface(geometry, &op.a)?;
        let value = match op.ctype.bits() {
            64 => Operand::wide(self.double(&op.b)?, 2),
            _ => self.word(&op.b)?,
        };
        let read = vec![at, value, Operand::Text(HANDLE.into()), Operand::Text("0x0".into())];
        self.with_handle(&op.a.object, &name, vec![], read)
    }

    fn place_on_surface(&mut self, geometry: SuldGeom, of: &Lookup) -> Result<Operand, Refusal> {
        let (count, has_layers) = match geometry {
            SuldGeom::N1d => (1, false),
            SuldGeom::N2d => (2, false),
            SuldGeom::N3d => (3, false),
            SuldGeom::A1d => (2, true),
            SuldGeom::A2d => (3, true),
        };
        let mut given: Vec<Operand> =
            of.coordinates.iter().take(count).map(|value| self.word(value)).collect::<Result<_, _>>()?;
        if has_layers {
            given.rotate_left(1);
        }
        let row = self.temporary(count as u8);
        for (operand, part) in given.into_iter().zip(0..) {
            self.code.push(None, "MOV", vec![Operand::part(row, part)], vec![operand]);
        }
        Ok(Operand::Address { before: "", reg: row, width: count as u8, beside: "", offset: 0 })
    }
}
