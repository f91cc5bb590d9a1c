//! Texture fetches and gathers (PTX ISA, "Texture Instructions").
//!
//! Coordinates stand in one row of registers, a layer in front of them (behind them, where there are derivatives); a level, offsets and what a depth is
//! compared with in another. Four channels come in two pairs.

use super::object::HANDLE;
use super::{Done, Refusal, Select};
use crate::code::{Class, Operand, Reg};
use ir::Op;
use ir::instruction::{Mip, Tex, TexGeom, Tld4, Tld4Comp};
use ir::operand::{Def, Lookup, Value};
use ptx::types::ScalarType;

/// The level of a fetch that names none: below every level that there is.
const NO_LEVEL: u32 = 0xc200_0000;
/// The last layer that an instruction can name.
const LAST_LAYER: u32 = 0xffff;

/// What a geometry is.
struct Shape {
    name: &'static str,
    axes: usize,
    has_layers: bool,
    is_cube: bool,
}

fn shape(geometry: TexGeom) -> Result<Shape, Refusal> {
    let (name, axes) = match geometry {
        TexGeom::N1d => ("1D", 1),
        TexGeom::N2d => ("2D", 2),
        TexGeom::N3d => ("3D", 3),
        TexGeom::A1d => ("ARRAY_1D", 1),
        TexGeom::A2d => ("ARRAY_2D", 2),
        TexGeom::Cube => ("CUBE", 3),
        TexGeom::Acube => ("ARRAY_CUBE", 3),
        TexGeom::N2dms | TexGeom::A2dms => return Err("of samples".to_owned()),
    };
    let has_layers = matches!(geometry, TexGeom::A1d | TexGeom::A2d | TexGeom::Acube);
    Ok(Shape { name, axes, has_layers, is_cube: matches!(geometry, TexGeom::Cube | TexGeom::Acube) })
}

/// Whether the unit has no instruction for a fetch: derivatives along three axes, or where a depth is compared.
pub(crate) fn is_fetched_by_function(op: &Tex) -> bool {
    let has_three = matches!(op.geom, TexGeom::N3d | TexGeom::Cube | TexGeom::Acube);
    op.mip == Some(Mip::Grad) && (has_three || op.f.is_some())
}

impl Select<'_> {
    pub(super) fn textures(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Tex(op) => self.fetch(op),
            Op::Tld4(op) => self.gather(op),
            _ => return None,
        })
    }

    fn fetch(&mut self, op: &Tex) -> Done {
        let mut shape = shape(op.geom)?;
        if op.mip == Some(Mip::Grad) {
            return self.fetch_by_derivatives(op, shape);
        }
        let is_float = op.ctype == ScalarType::F32;
        // Filtered along one axis it is a texture of one row.
        let is_row = is_float && op.geom == TexGeom::N1d;
        if is_row {
            shape.name = "2D";
        }
        let mut at = self.coordinates(&shape, &op.t)?;
        if is_row {
            at.push(Operand::zero());
        }
        let mut more = Vec::new();
        let mut name = match (is_float, &op.lod) {
            (true, lod) => {
                more.push(match lod {
                    Some(level) => self.word(level)?,
                    None => self.constant(NO_LEVEL),
                });
                "TEX.LL"
            }
            (false, Some(level)) => {
                more.push(self.word(level)?);
                "TLD.LL"
            }
            (false, None) => "TLD.LZ",
        }
        .to_owned();
        if let Some(offsets) = &op.e {
            name += ".AOFFI";
            more.push(match &**offsets {
                // As ptxas has it, where a depth is compared: what is above the offset's bits is one along the other axis.
                [offset, ..] if is_row && op.f.is_some() => self.word(offset)?,
                offsets => self.offsets(offsets, 4)?,
            });
        }
        if name.starts_with("TLD.LL") {
            name += ".CL";
        }
        if let Some(depth) = &op.f {
            name += ".DC";
            more.push(self.word(depth)?);
        }
        let results = (op.dtype, &*op.d, op.p);
        self.look_up(&name, shape.name, &op.t, at, more, results)
    }

    /// Derivatives along the axes choose the level.
    fn fetch_by_derivatives(&mut self, op: &Tex, mut shape: Shape) -> Done {
        let (Some(dx), Some(dy)) = (&op.d_pdx, &op.d_pdy) else {
            return Err("without derivatives".to_owned());
        };
        if is_fetched_by_function(op) {
            return self.behind_guard(|this| this.fetch_by_function(op, &shape, dx, dy));
        }
        let mut at = self.coordinates(&shape, &op.t)?;
        if shape.has_layers {
            at.rotate_left(1);
        }
        let mut more = Vec::new();
        for axis in 0..shape.axes {
            for derivative in [dx, dy] {
                more.push(self.word(&derivative[axis])?);
            }
        }
        if op.geom == TexGeom::N1d {
            shape.name = "2D";
            at.push(Operand::zero());
            more.extend([Operand::zero(), Operand::zero()]);
        }
        let mut name = "TXD";
        if let Some(offsets) = &op.e {
            name = "TXD.AOFFI";
            let offsets = self.offsets(offsets, 4)?;
            let read = vec![offsets, Operand::number(16), Operand::zero()];
            let above = Operand::low(self.one("SHF.L.U32", read));
            // A layer is beneath them.
            let below = if shape.has_layers { at.pop() } else { None };
            at.push(match below {
                Some(layer) => Operand::low(self.lop(layer, above, 0xfc)),
                None => above,
            });
        }
        let results = (op.dtype, &*op.d, op.p);
        self.look_up(name, shape.name, &op.t, at, more, results)
    }

    /// Derivatives along three axes, or where a depth is compared: a function of the driver takes the handle, a depth and rows of four words,
    /// the coordinates as they are given, the derivatives and offsets; it gives whether texels are there, and behind that the channels.
    fn fetch_by_function(&mut self, op: &Tex, shape: &Shape, dx: &[Value], dy: &[Value]) -> Done {
        if op.t.sampler.is_some() {
            return Err("with a sampler of its own".to_owned());
        }
        if shape.is_cube && op.e.is_some() {
            return Err("with an offset on a cube".to_owned());
        }
        let geometry = shape.name.to_lowercase().replace("array_", "a");
        let packed = matches!(op.dtype, None | Some(ScalarType::F16 | ScalarType::F16x2));
        let name = format!(
            "__cuda_syscall_tex_grad{}_{geometry}_v4_{}_{}{}{}",
            if op.p.is_some() { "_pred" } else { "" },
            op.dtype.filter(|_| !packed).map_or("f16", ScalarType::name),
            op.ctype.name(),
            if op.e.is_some() { "_offset" } else { "" },
            if op.f.is_some() { "_depth_compare" } else { "" },
        );
        let layers = usize::from(shape.has_layers);
        let object = self.handle(&op.t.object)?;
        let mut registers = Vec::new();
        for (first, words) in [
            (4, vec![Operand::part(object, 0), Operand::part(object, 1)]),
            (6, self.first_words(op.f.as_slice(), 1)?),
            (8, self.first_words(&op.t.coordinates, layers + shape.axes)?),
            (12, self.first_words(dx, shape.axes)?),
        ] {
            let count = words.len() as u8;
            let at = self.words_in_frame(words);
            registers.extend((0..count).map(|word| (first + word, at + 4 * u64::from(word))));
        }
        let offsets = self.first_words(op.e.as_deref().unwrap_or_default(), shape.axes)?;
        let rows = [self.first_words(dy, shape.axes)?, offsets];
        let stack = (0..).step_by(16).zip(rows).flat_map(|(at, row)| (at..).step_by(4).zip(row)).collect();
        let count = if packed { 2 } else { 4 };
        let at = self.call_provided(&name, &registers, stack, 1 + count);
        let mut given = (0..=count).map(|word| {
            let from = Operand::in_frame((at + 4 * u64::from(word)) as i64);
            self.one("LDL", vec![from])
        });
        let resident = given.next();
        let channels: Vec<Reg> = given.collect();
        if let (Some(p), Some(resident)) = (op.p, resident) {
            let flag = self.compare("ISETP.NE.U32.AND", Operand::low(resident), Operand::zero());
            self.set_flag(p, flag);
        }
        let halves = op.dtype == Some(ScalarType::F16);
        for (index, def) in op.d.iter().enumerate() {
            let from = Operand::low(channels[if halves { index / 2 } else { index }]);
            let result = match halves && index % 2 == 1 {
                true => self.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::number(16), from]),
                false => self.one("MOV", vec![from]),
            };
            self.set(*def, result);
        }
        Ok(())
    }

    fn first_words(&mut self, values: &[Value], count: usize) -> Result<Vec<Operand>, Refusal> {
        values.iter().take(count).map(|value| self.word(value)).collect()
    }

    /// One channel of four texels.
    fn gather(&mut self, op: &Tld4) -> Done {
        let shape = shape(op.geom.into())?;
        let mut name = match op.comp {
            Tld4Comp::R => "TLD4.R",
            Tld4Comp::G => "TLD4.G",
            Tld4Comp::B => "TLD4.B",
            Tld4Comp::A => "TLD4.A",
        }
        .to_owned();
        let at = self.coordinates(&shape, &op.t)?;
        let mut more = Vec::new();
        if let Some(offsets) = &op.e {
            name += ".AOFFI";
            more.push(self.offsets(offsets, 8)?);
        }
        if let Some(depth) = &op.f {
            name += ".DC";
            more.push(self.word(depth)?);
        }
        let results = (Some(op.dtype), &*op.d, op.p);
        self.look_up(&name, shape.name, &op.t, at, more, results)
    }

    /// A layer and the coordinates along the axes. On a cube the longest is as long as the cube reaches.
    fn coordinates(&mut self, shape: &Shape, of: &Lookup) -> Result<Vec<Operand>, Refusal> {
        let mut given = of.coordinates.iter();
        let mut at = Vec::new();
        if let Some(layer) = given.next().filter(|_| shape.has_layers) {
            let layer = self.word(layer)?;
            let last = self.constant(LAST_LAYER);
            let beyond = self.compare("ISETP.GT.U32.AND", layer.clone(), last.clone());
            at.push(Operand::low(self.select_word(last, layer, beyond, false)));
        } else {
            given = of.coordinates.iter();
        }
        let axes: Vec<Operand> =
            given.take(shape.axes).map(|value| self.word(value)).collect::<Result<_, _>>()?;
        match axes.as_slice() {
            [x, y, z] if shape.is_cube => {
                let longest = |this: &mut Self, a: &Operand, b: &Operand| {
                    let read = vec![a.clone().signed("|"), b.clone().signed("|"), Operand::always(true)];
                    Operand::low(this.one("FMNMX", read))
                };
                let two = longest(self, x, y);
                let all = longest(self, z, &two);
                let scale = Operand::low(self.one("MUFU.RCP", vec![all]));
                for axis in [x, y, z] {
                    at.push(Operand::low(self.one("FMUL", vec![axis.clone(), scale.clone()])));
                }
            }
            _ => at.extend(axes),
        }
        Ok(at)
    }

    /// Offsets along the axes, so many bits from one to the next; as many are theirs, but six of a gather's.
    fn offsets(&mut self, offsets: &[Value], apart: u32) -> Result<Operand, Refusal> {
        let bits = apart.min(6);
        let mut all = Operand::zero();
        for (offset, axis) in offsets.iter().zip(0..3) {
            let offset = self.word(offset)?;
            let mask = Operand::number((1 << bits) - 1);
            let cut = self.lop(offset, mask, 0xc0);
            let by = Operand::number(axis * apart);
            let moved = self.one("SHF.L.U32", vec![Operand::low(cut), by, Operand::zero()]);
            all = Operand::low(self.lop(Operand::low(moved), all, 0xfc));
        }
        Ok(all)
    }

    fn look_up(
        &mut self,
        name: &str,
        shape: &str,
        of: &Lookup,
        at: Vec<Operand>,
        more: Vec<Operand>,
        (dtype, d, p): (Option<ScalarType>, &[Def], Option<Def>),
    ) -> Done {
        if of.sampler.is_some() {
            return Err("with a sampler of its own".to_owned());
        }
        let at = self.row_of(at);
        let mut read = vec![at];
        if !more.is_empty() {
            read.push(self.row_of(more));
        }
        let text = |text: &str| Operand::Text(text.into());
        read.extend([text(HANDLE), text("0x0"), text(shape)]);
        let [low, high] = [(); 2].map(|()| self.results_of_object(2));
        let mut written = vec![Operand::wide(high, 2), Operand::wide(low, 2)];
        let absent = p.map(|p| (p, self.code.register(Class::Predicate, false)));
        if let Some((_, absent)) = absent {
            written.insert(0, Operand::Predicate(absent, false));
        }
        self.with_handle(&of.object, name, written, read)?;
        if let Some((p, absent)) = absent {
            let resident = self.flag();
            let read = Operand::Predicate(absent, true);
            self.plop(None, resident, read, Operand::always(false), 0xf0);
            self.set_flag(p, resident);
        }
        let channels = [(low, 0), (low, 1), (high, 0), (high, 1)].map(|(reg, part)| Operand::part(reg, part));
        self.set_channels(dtype, d, channels);
        Ok(())
    }

    /// Operands as one row of registers.
    fn row_of(&mut self, operands: Vec<Operand>) -> Operand {
        let width = operands.len() as u8;
        let row = self.temporary(width);
        for (operand, part) in operands.into_iter().zip(0..) {
            self.code.push(None, "MOV", vec![Operand::part(row, part)], vec![operand]);
        }
        Operand::row(row, 0, width)
    }

    /// Channels as a fetch gives them: words, halves, or two halves in a register.
    fn set_channels(&mut self, dtype: Option<ScalarType>, d: &[Def], channels: [Operand; 4]) {
        let packed = |this: &mut Self, high: Operand, low: Operand| -> Reg {
            this.one("F2FP.F16.F32.PACK_AB", vec![high, low])
        };
        let [x, y, z, w] = channels.clone();
        let results = match dtype {
            Some(ScalarType::F16x2) | None => vec![packed(self, y, x), packed(self, w, z)],
            Some(ScalarType::F16) => {
                channels.into_iter().map(|channel| packed(self, Operand::zero(), channel)).collect()
            }
            Some(_) => channels.into_iter().map(|channel| self.one("MOV", vec![channel])).collect(),
        };
        for (def, result) in d.iter().zip(results) {
            self.set(*def, result);
        }
    }
}
