//! `tensormap.replace` and `tensormap.cp_fenceproxy` (PTX ISA, "Data Movement and Conversion Instructions"): a field of a tensor map in memory, by the places that ptxas
//! writes to.

use super::memory::{Place, Window, strength};
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction::{Field, TensormapCpFenceproxy, TensormapReplace};
use ptx::isa::Order;

/// Bits of a word of the map.
struct Bits {
    word: u64,
    mask: u32,
    at: u32,
    /// The value is a count, of which one less is kept.
    less_one: bool,
}

/// Places of words in bytes: the format, the strides from their fifth bit on, the upper bits of all strides, the extents, and two words of the box.
const FORMAT: u64 = 0x08;
const STRIDES: u64 = 0x0c;
const STRIDES_ABOVE: u64 = 0x1c;
const EXTENTS: u64 = 0x20;
const STEPS: u64 = 0x34;
const BOX: u64 = 0x38;

/// Bits of a stride that are always zero.
const STRIDE_UNIT: u32 = 4;
/// What else ptxas clears with a swizzle, and sets with the last two types.
const ATOMICITY: u32 = 0x40_0000;
const OTHER_TYPES: u32 = 0x1_0000;

fn bits(field: Field, ord: u32) -> Option<Bits> {
    let whole = |word| Some(Bits { word, mask: u32::MAX, at: 0, less_one: true });
    let part = |word, mask, at, less_one| Some(Bits { word, mask, at, less_one });
    match field {
        Field::Rank => part(FORMAT, 0x7, 4, false),
        Field::Elemtype => part(FORMAT, 0xf, 7, false),
        Field::InterleaveLayout => part(FORMAT, 0x3, 11, false),
        Field::SwizzleMode => part(FORMAT, 0x3, 13, false),
        Field::FillMode => part(FORMAT, 0x1, 15, false),
        Field::GlobalDim => whole(EXTENTS + 4 * u64::from(ord)),
        Field::ElementStride => part(STEPS, 0x7, 3 * ord, true),
        Field::BoxDim if ord == 0 => part(STEPS, 0xff, 24, true),
        Field::BoxDim => part(BOX, 0xff, 8 * (ord - 1), true),
        Field::GlobalAddress | Field::GlobalStride | Field::SwizzleAtomicity => None,
    }
}

impl Select<'_> {
    pub(super) fn tensor_maps(&mut self, op: &Op) -> Option<Done> {
        match op {
            Op::TensormapReplace(op) => Some(self.behind_guard(|this| this.replace_field(op))),
            Op::TensormapCpFenceproxy(op) => Some(self.behind_guard(|this| this.publish_map(op))),
            _ => None,
        }
    }

    fn replace_field(&mut self, op: &TensormapReplace) -> Done {
        let place = self.place(&op.addr)?;
        let ord = op.ord.unwrap_or(0) as u32;
        match op.field {
            Field::GlobalAddress => {
                let value = self.double(&op.value)?;
                for part in 0..2 {
                    self.store_word(&place, 4 * u64::from(part), Operand::part(value, part))?;
                }
            }
            Field::GlobalStride => {
                let stride = self.double(&op.value)?;
                let units = self.shift64(stride, Operand::number(STRIDE_UNIT), false, false);
                self.store_word(&place, STRIDES + 4 * u64::from(ord), Operand::part(units, 0))?;
                let above = Bits { word: STRIDES_ABOVE, mask: 0xf, at: 4 * ord, less_one: false };
                self.put_bits(&place, &above, Operand::part(units, 1))?;
            }
            field => {
                let Some(mut bits) = bits(field, ord) else { return Err("of this field".to_owned()) };
                let mut value = op.value;
                if let (Field::Elemtype, ir::operand::Value::Constant(number @ 11..)) = (field, value) {
                    // Types from here on are told from earlier ones by a bit of their own.
                    value = ir::operand::Value::Constant((number - 4) | u64::from(OTHER_TYPES >> bits.at));
                    bits.mask |= OTHER_TYPES >> bits.at;
                }
                if field == Field::SwizzleMode {
                    bits.mask |= ATOMICITY >> bits.at;
                }
                let value = self.word(&value)?;
                self.put_bits(&place, &bits, value)?;
            }
        }
        Ok(())
    }

    /// Each lane swaps in a word, which the other proxy finds.
    fn publish_map(&mut self, op: &TensormapCpFenceproxy) -> Done {
        let to = self.place(&op.dst)?;
        let (to, from) = (self.wide_address_of(&to)?, self.in_shared(&op.src)?);
        let lane = self.one("S2R", vec![Operand::Text("SR_LANEID".into())]);
        let by = self.one("SHF.L.U32", vec![Operand::low(lane), Operand::number(2), Operand::zero()]);
        let from = self.add(Operand::low(from), Operand::low(by));
        let by = self.join(Operand::low(by), Operand::zero());
        let to = self.add64(to, by);
        let word = self.one("LDS", vec![Operand::address(from)]);
        let name = format!("ATOMG.E.EXCH{}", strength(Order::Relaxed, Some(op.scope)));
        let written = vec![Operand::always(false), Operand::zero()];
        let at = Place::wide(Window::Global, to).operand(0);
        self.code.push(None, name, written, vec![at, Operand::low(word)]);
        Ok(())
    }

    /// Puts a value into bits of a word.
    fn put_bits(&mut self, place: &Place, bits: &Bits, value: Operand) -> Done {
        let value = match bits.less_one {
            true => Operand::low(self.add(value, Operand::ones())),
            false => value,
        };
        if bits.mask == u32::MAX {
            return self.store_word(place, bits.word, value);
        }
        let word = self.load_word(place, bits.word)?;
        let moved = self.one("SHF.L.U32", vec![value, Operand::number(bits.at), Operand::zero()]);
        let mask = Operand::number(bits.mask << bits.at);
        // The value where the mask is set, else what was there.
        let read =
            vec![Operand::low(moved), mask, Operand::low(word), Operand::number(0xe2), Operand::always(true)];
        let word = self.one("LOP3.LUT", read);
        self.store_word(place, bits.word, Operand::low(word))
    }

    fn load_word(&mut self, place: &Place, at: u64) -> Result<Reg, Refusal> {
        let name = match place.window {
            Window::Global => "LDG.E",
            Window::Generic => "LD.E",
            Window::Shared => "LDS",
            window => return Err(format!("in {window:?} memory")),
        };
        Ok(self.one(name, vec![place.operand(at as i64)]))
    }

    fn store_word(&mut self, place: &Place, at: u64, value: Operand) -> Done {
        let name = match place.window {
            Window::Global => "STG.E",
            Window::Generic => "ST.E",
            Window::Shared => "STS",
            window => return Err(format!("in {window:?} memory")),
        };
        self.code.push(None, name, vec![], vec![place.operand(at as i64), value]);
        Ok(())
    }
}
