//! Handles of textures and surfaces, and what is asked of them (PTX ISA, "Texture Instructions"). An instruction takes the lower half of a
//! handle from a uniform register, of which a warp has one for all lanes; the upper half says what the handle is of.

use super::{Done, Refusal, Select};
use crate::code::{Class, Operand, Reg};
use ir::Op;
use ir::instruction::{self as i, SuqQuery, TxqQuery};
use ir::operand::{Def, Value};
use ptx::types::ScalarType;

/// The uniform register that has the handle.
pub(super) const HANDLE: &str = "UR6";
/// The one beside it would have a sampler, which a texture's handle names itself.
const SAMPLER: &str = "UR7";

impl Select<'_> {
    pub(super) fn objects(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Txq(op) => self.texture_query(op),
            Op::Suq(op) => self.surface_query(op),
            Op::Istypep(op) => self.is_of_type(op),
            _ => return None,
        })
    }

    /// A handle, both halves of it.
    pub(super) fn handle(&mut self, handle: &Value) -> Result<Reg, Refusal> {
        match handle {
            Value::Register(_) | Value::Constant(_) => self.double(handle),
            Value::Special { .. } | Value::Symbol { .. } | Value::Unused => {
                Err("the handle of a variable".to_owned())
            }
        }
    }

    /// An instruction under the guard that takes a handle, which its operands name as [`HANDLE`]. What it writes are no temporaries.
    pub(super) fn with_handle(
        &mut self,
        handle: &Value,
        name: &str,
        written: Vec<Operand>,
        read: Vec<Operand>,
    ) -> Done {
        let word = Operand::low(self.handle(handle)?);
        let uniform = |name: &str| Operand::Text(name.into());
        let word = Operand::low(self.one("MOV", vec![word]));
        if self.is_alike(handle) {
            self.code.push(None, "R2UR", vec![uniform(HANDLE)], vec![word]);
            self.code.push(None, "UMOV", vec![uniform(SAMPLER)], vec![uniform("URZ")]);
            self.effect(name, written, read);
            return Ok(());
        }
        // One of the lanes that are left gives its handle; those that have the same come with it.
        let [left, other] = [(); 2].map(|()| self.code.register(Class::Predicate, false));
        let head = self.code.label();
        let guard = self.guard.map_or(Operand::always(false), |(reg, not)| Operand::Predicate(reg, not));
        self.plop(None, left, guard, Operand::always(false), 0xf0);
        self.code.place(head);
        self.plop(None, other, Operand::always(false), Operand::always(false), 0xf0);
        let given = vec![Operand::Predicate(other, false), uniform(HANDLE)];
        self.code.push(Some((left, false)), "R2UR", given, vec![word]);
        self.code.push(None, "UMOV", vec![uniform(SAMPLER)], vec![uniform("URZ")]);
        self.code.push(Some((other, true)), name, written, read);
        self.plop(Some((left, false)), left, Operand::Predicate(other, false), Operand::always(false), 0xf0);
        self.again_if_any(left, head);
        Ok(())
    }

    /// Registers for the results of such an instruction.
    pub(super) fn results_of_object(&mut self, width: u8) -> Reg {
        self.code.register(Class::General(width), false)
    }

    fn texture_query(&mut self, op: &i::Txq) -> Done {
        let mask = match op.query {
            TxqQuery::Width => 1,
            TxqQuery::Height => 2,
            TxqQuery::Depth => 4,
            TxqQuery::ChannelDataType
            | TxqQuery::ChannelOrder
            | TxqQuery::NormalizedCoords
            | TxqQuery::ArraySize
            | TxqQuery::NumMipmapLevels
            | TxqQuery::NumSamples
            | TxqQuery::ForceUnnormalizedCoords
            | TxqQuery::FilterMode
            | TxqQuery::AddrMode0
            | TxqQuery::AddrMode1
            | TxqQuery::AddrMode2 => return Err("of this query".to_owned()),
        };
        self.dimension(op.d, &op.a, op.lod.as_ref(), mask)
    }

    fn surface_query(&mut self, op: &i::Suq) -> Done {
        let mask = match op.query {
            SuqQuery::Width => 1,
            SuqQuery::Height => 2,
            SuqQuery::Depth => 4,
            SuqQuery::ArraySize
            | SuqQuery::ChannelDataType
            | SuqQuery::ChannelOrder
            | SuqQuery::MemoryLayout => return Err("of this query".to_owned()),
        };
        self.dimension(op.d, &op.a, None, mask)
    }

    /// The size along an axis at a level.
    fn dimension(&mut self, d: Def, object: &Value, level: Option<&Value>, mask: u32) -> Done {
        let level = match level {
            Some(level) => self.word(level)?,
            None => Operand::zero(),
        };
        let level = Operand::low(self.one("MOV", vec![level]));
        let result = self.results_of_object(1);
        let text = |text: &str| Operand::Text(text.into());
        let read =
            vec![level, text("TEX_HEADER_DIMENSION"), text(HANDLE), text("0x0"), Operand::number(mask)];
        self.with_handle(object, "TXQ", vec![Operand::zero(), Operand::low(result)], read)?;
        self.set(d, result);
        Ok(())
    }

    /// What a handle is of, its highest bits say.
    fn is_of_type(&mut self, op: &i::Istypep) -> Done {
        let bit = match op.ty {
            ScalarType::TexRef => 0x2000_0000,
            ScalarType::SamplerRef => 0x4000_0000,
            ScalarType::SurfRef => 0x8000_0000,
            _ => return Err("of this type".to_owned()),
        };
        let handle = self.double(&op.a)?;
        let found = self.lop(Operand::part(handle, 1), Operand::number(bit), 0xc0);
        let flag = self.compare("ISETP.NE.U32.AND", Operand::low(found), Operand::zero());
        self.set_flag(op.p, flag);
        Ok(())
    }
}
