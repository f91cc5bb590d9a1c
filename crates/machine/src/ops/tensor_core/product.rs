//! `tcgen05.mma`: `D = A * B + D` of whole tiles (PTX ISA, "TensorCore 5th Generation of MMA Instructions").

use super::told::Accesses;
use super::{checked, chunk, group, place};
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::image::tensor_core::{FactorA, Product};
use crate::matrix::packing::Packing;
use crate::matrix::sparsity::Granule;
use crate::memory::SHARED_WINDOW;
use crate::tensor_core::columns::ZeroColumns;
use crate::tensor_core::datapath::{Datapath, Part};
use crate::tensor_core::instruction::Instruction;
use crate::tensor_core::memory::{LANES, Place};
use crate::tensor_core::shared::{CHUNK, SharedMatrix};
use numerics::rounding::Mode;
use numerics::tensor::{Accumulator, BitOperation, Config, Element, Operand, Scaling, Unit, dot, dot_scaled};

/// Lanes of a quarter of tensor memory.
const QUARTER: u32 = 32;

/// A factor in shared memory.
struct Tile {
    matrix: SharedMatrix,
    operand: Operand,
    transposed: bool,
    negated: bool,
}

/// A product whose operands have been read from registers and found in order.
struct Plan {
    instruction: Instruction,
    datapath: Datapath,
    d: Place,
    accumulates: bool,
    zeros: Option<ZeroColumns>,
    metadata: Option<Place>,
    scales: Option<[Place; 2]>,
    /// Elements of a row of A that are stored.
    stored: u32,
}

impl Plan {
    /// Tells what a lane accesses of tensor memory besides A.
    fn tell(&self, rank: usize, part: Part, rows: u32, told: &mut Accesses) {
        let mut of_lane =
            |at: Place, columns, access| told.tensor(rank, Place { lane: part.lane, ..at }, columns, access);
        of_lane(self.d, part.columns, Access::Store);
        if let Some(metadata) = self.metadata {
            of_lane(metadata, 2, Access::Load);
        }
        for (at, lines) in self.scales.into_iter().flatten().zip([rows, part.columns]) {
            of_lane(at, lines.div_ceil(QUARTER), Access::Load);
        }
    }
}

fn illegal(why: impl std::fmt::Display) -> Trap {
    Trap::IllegalInstruction(format!("tcgen05.mma: {why}"))
}

/// Elements in 16 bytes of shared memory. Six bits, and four that are not packed, are padded there as they are in registers.
fn held(operand: Operand) -> u32 {
    128 / operand.bits()
}

/// The elements in 16 bytes of shared memory.
fn elements(operand: Operand, bytes: [u8; 16]) -> impl Iterator<Item = Element> {
    let packing = match operand {
        Operand::E3m2 | Operand::E2m3 => Packing::SixBits,
        Operand::E2m1 => Packing::FourBits,
        _ => Packing::Whole,
    };
    let bits = u128::from_le_bytes(packing.unpack(bytes));
    let (count, width) = (held(operand), operand.bits());
    // Of four bits the decoder expects the middle of a byte.
    let shift = if operand == Operand::E2m1 { 2 } else { 0 };
    (0..count)
        .map(move |i| operand.decode(((bits >> (i * width)) as u64 & (u64::MAX >> (64 - width))) << shift))
}

impl Tile {
    fn new(what: &str, bits: u64, operand: Operand, transposed: bool, negated: bool) -> Result<Self, Trap> {
        let matrix =
            SharedMatrix::new(bits).map_err(|why| illegal(format!("the descriptor of {what} with {why}")))?;
        let fits = match operand {
            Operand::Tf32 => transposed == matrix.has_wide_atoms() || !transposed,
            Operand::F16 | Operand::Bf16 | Operand::S8 | Operand::U8 | Operand::E4m3 | Operand::E5m2 => {
                !(transposed && matrix.has_wide_atoms())
            }
            _ => !transposed,
        };
        match fits {
            true => Ok(Self { matrix, operand, transposed, negated }),
            false => Err(illegal(format!("a transposed {what} of such elements with this swizzling"))),
        }
    }

    /// Reads `lines` of `length` elements, from a line of the matrix on, in the shared memory of a CTA.
    fn read(
        &self,
        x: &Exec<'_>,
        rank: usize,
        first: u32,
        (lines, length): (u32, u32),
        told: &mut Accesses,
    ) -> Result<Vec<Element>, Trap> {
        let mut matrix = vec![self.operand.decode(0); (lines * length) as usize];
        let held = held(self.operand);
        let mut read = |address: u32| {
            told.read_shared(rank, address, CHUNK.into());
            let bytes = chunk(x, rank, address)
                .map_err(|address| x.bad_access(SHARED_WINDOW + u64::from(address), 16, Access::Load))?;
            let negated = |element| if self.negated { self.operand.negate(element) } else { element };
            Ok::<_, Trap>(elements(self.operand, bytes).map(negated))
        };
        if self.transposed {
            for k in 0..length {
                for line in (0..lines).step_by(held as usize) {
                    let across = (first + line) / held * 16;
                    for (line, element) in (line..lines).zip(read(self.matrix.mn_major(across, k))?) {
                        matrix[(line * length + k) as usize] = element;
                    }
                }
            }
        } else {
            for line in 0..lines {
                for k in (0..length).step_by(held as usize) {
                    for (k, element) in (k..).zip(read(self.matrix.k_major(first + line, k / held * 16))?) {
                        matrix[(line * length + k) as usize] = element;
                    }
                }
            }
        }
        Ok(matrix)
    }
}

impl Product {
    /// Computes D in the tensor memory of each CTA of the group.
    pub(super) fn perform(
        &self,
        x: &mut Exec<'_>,
        (warp, lane): (usize, usize),
        told: &mut Accesses,
    ) -> Result<(), Trap> {
        let ranks = group(x, self.form.ctas)?;
        let plan = self.plan(x, &ranks, warp, lane)?;
        let Plan { instruction, stored, .. } = &plan;
        let Instruction { m, n, k, a, b, .. } = *instruction;
        let bits = x.files.d[self.b.index() + warp].0[lane];
        let tile = Tile::new("B", bits, b, instruction.transposed[1], instruction.negates[1])?;
        let shift = plan.zeros.map_or(0, ZeroColumns::shift);
        if shift != 0 && instruction.transposed[1] && !shift.is_multiple_of(held(b)) {
            return Err(illegal("a shift of columns that tears 16 bytes apart"));
        }
        let ctas = ranks.len() as u32;
        let mut columns = Vec::with_capacity((n * k) as usize);
        for &rank in &ranks {
            columns.extend(tile.read(x, rank, shift, (n / ctas, k), told)?);
        }
        if let Some(zeros) = plan.zeros {
            for (column, elements) in (0..).zip(columns.chunks_exact_mut(k as usize)) {
                if zeros.is_zero(column, n, plan.datapath.shares()) {
                    elements.fill(b.decode(0));
                }
            }
        }
        for (index, &rank) in ranks.iter().enumerate() {
            let rows = match self.a {
                FactorA::Shared(descriptor) => {
                    let bits = x.files.d[descriptor.index() + warp].0[lane];
                    let tile = Tile::new("A", bits, a, instruction.transposed[0], instruction.negates[0])?;
                    Some(tile.read(x, rank, 0, (m / ctas, *stored), told)?)
                }
                FactorA::TensorMemory(_) => None,
            };
            for part in plan.datapath.parts(plan.d.lane, n) {
                let bit = part.lane + LANES as u32 * index as u32;
                let disabled = x.grid.image.planes(self.disabled).get(bit as usize / 32).copied().flatten();
                if disabled
                    .is_some_and(|plane| x.files.w[plane.index() + warp].0[lane] >> (bit % 32) & 1 != 0)
                {
                    continue;
                }
                let row = match (&rows, self.a) {
                    (Some(rows), _) => rows[(part.row * stored) as usize..][..*stored as usize].to_vec(),
                    (None, FactorA::TensorMemory(address)) => {
                        // As `tcgen05.shift` has it: the last row stays.
                        let shifted = self.shifts_a && part.lane + 1 < LANES as u32;
                        let from = part.lane + u32::from(shifted);
                        let words = stored.div_ceil(32 / a.bits());
                        told.tensor(
                            rank,
                            Place { lane: from, ..place(x, address, warp, lane) },
                            words,
                            Access::Load,
                        );
                        self.row_in_tensor_memory(x, rank, place(x, address, warp, lane), from, &plan)?
                    }
                    (None, FactorA::Shared(_)) => Vec::new(),
                };
                self.compute(x, rank, &plan, part, &row, &columns)?;
                plan.tell(rank, part, m / ctas, told);
            }
        }
        Ok(())
    }

    /// Reads the operands, and refuses those that make no sense.
    fn plan(&self, x: &Exec<'_>, ranks: &[usize], warp: usize, lane: usize) -> Result<Plan, Trap> {
        let form = &self.form;
        let bits = x.files.w[self.instruction.index() + warp].0[lane];
        let instruction = Instruction::new(bits, form)
            .map_err(|why| illegal(format!("an instruction descriptor with {why}")))?;
        let Instruction { m, n, k, .. } = instruction;
        let datapath = Datapath::new(m, form.ctas, form.sparse, form.stationary);
        let d = place(x, self.d, warp, lane);
        if !datapath.may_begin_at(d.lane) {
            return Err(illegal(format!("D begins in lane {} of tensor memory", d.lane)));
        }
        let own = |address| Place { lane: 0, ..place(x, address, warp, lane) };
        let (metadata, scales) = (self.metadata.map(own), self.scales.map(|scales| scales.map(own)));
        let quarters = |lines: u32| lines.div_ceil(QUARTER);
        let columns = n / datapath.shares();
        let lanes = LANES as u32;
        for &rank in ranks {
            checked(x, rank, "tcgen05.mma, D", Place { lane: 0, ..d }, (lanes, columns))?;
            if let Some(place) = metadata {
                checked(x, rank, "tcgen05.mma, sparsity metadata", place, (lanes, 2))?;
            }
            if let Some([a, b]) = scales {
                let rows = m / ranks.len() as u32;
                checked(x, rank, "tcgen05.mma, scale factors of A", a, (lanes, quarters(rows)))?;
                checked(x, rank, "tcgen05.mma, scale factors of B", b, (lanes, quarters(columns)))?;
            }
        }
        let [of_a, of_b] = instruction.scale_bytes;
        if form.scales > 1 && (of_a.max(of_b) + form.scales > 4 || !(of_a | of_b).is_multiple_of(2)) {
            return Err(illegal(format!("scale factor IDs {of_a} and {of_b}")));
        }
        let halves = matches!(instruction.a, Operand::F16 | Operand::Bf16 | Operand::Tf32);
        if form.sparse && instruction.selector > u32::from(halves) {
            return Err(illegal(format!(
                "sparsity selector {}, which is not executed",
                instruction.selector
            )));
        }
        if self.shifts_a && m != LANES as u32 * ranks.len() as u32 {
            return Err(illegal(format!("`.ashift` of a product with {m} rows")));
        }
        let holds = x.files.p[self.accumulates.index() + warp] ^ self.accumulates.flip();
        Ok(Plan {
            instruction,
            datapath,
            d,
            accumulates: holds >> lane & 1 != 0,
            zeros: self.zeros.map(|zeros| ZeroColumns(x.files.d[zeros.index() + warp].0[lane])),
            metadata,
            scales,
            stored: if form.sparse { k / 2 } else { k },
        })
    }

    /// The elements of A that a lane of tensor memory has.
    fn row_in_tensor_memory(
        &self,
        x: &Exec<'_>,
        rank: usize,
        at: Place,
        lane: u32,
        plan: &Plan,
    ) -> Result<Vec<Element>, Trap> {
        let operand = plan.instruction.a;
        if at.lane != plan.d.lane {
            return Err(illegal(format!(
                "A begins in lane {} of tensor memory, D in lane {}",
                at.lane, plan.d.lane
            )));
        }
        if plan.instruction.transposed[0] {
            return Err(illegal("a transposed A in tensor memory"));
        }
        let bits = operand.bits();
        let held = 32 / bits;
        checked(
            x,
            rank,
            "tcgen05.mma, A",
            Place { lane: 0, ..at },
            (LANES as u32, plan.stored.div_ceil(held)),
        )?;
        let element = |i: u32| {
            let word = u64::from(x.tensor[rank].word(lane, at.column + i / held));
            let element = operand.decode(word >> (i % held * bits) & (u64::MAX >> (64 - bits)));
            if plan.instruction.negates[0] { operand.negate(element) } else { element }
        };
        Ok((0..plan.stored).map(element).collect())
    }

    /// The part of a row of D that a lane has.
    fn compute(
        &self,
        x: &mut Exec<'_>,
        rank: usize,
        plan: &Plan,
        part: Part,
        row: &[Element],
        columns: &[Element],
    ) -> Result<(), Trap> {
        let Instruction { k, a, b, d, saturates, .. } = plan.instruction;
        let config = Config {
            a,
            b,
            c: d,
            d,
            unit: Unit::Exact,
            satfinite: saturates,
            rounding: Mode::NearestEven,
            bits: BitOperation::And,
        };
        let places = plan.metadata.map(|metadata| self.places(x, rank, plan, metadata, part.lane));
        let quarter = part.lane / QUARTER * QUARTER;
        let factors = |at: Place, line: u32, byte: u32| -> Vec<Element> {
            let word = x.tensor[rank].word(quarter + line % QUARTER, at.column + line / QUARTER);
            let scale = |i: u32| plan.instruction.scale.decode((word >> (8 * (byte + i))) as u8);
            (0..self.form.scales).map(scale).collect()
        };
        let of_a =
            plan.scales.map_or(Vec::new(), |[a, _]| factors(a, part.row, plan.instruction.scale_bytes[0]));
        let mut results = Vec::with_capacity(part.columns as usize);
        let mut met = Vec::new();
        for j in 0..part.columns {
            let column = &columns[((part.first + j) * k) as usize..][..k as usize];
            let column = match &places {
                None => column,
                Some(places) => {
                    met.clear();
                    met.extend(places.iter().map(|&place| column[usize::from(place)]));
                    &met
                }
            };
            let c = if plan.accumulates { x.tensor[rank].word(part.lane, plan.d.column + j) } else { 0 };
            let of_b =
                plan.scales.map_or(Vec::new(), |[_, b]| factors(b, j, plan.instruction.scale_bytes[1]));
            let scaling = Scaling { a: &of_a, b: &of_b, input: self.input_scale };
            results.push(match d {
                Accumulator::F16 | Accumulator::F32 => dot_scaled(d, row, column, c.into(), &scaling),
                Accumulator::S32 | Accumulator::F64 => dot(&config, row, column, c.into()),
            });
        }
        for (j, result) in (0..).zip(results) {
            *x.tensor[rank].word_mut(part.lane, plan.d.column + j) = result as u32;
        }
        Ok(())
    }

    /// Where along k the stored elements of the row of a lane are.
    ///
    /// For 16 and 32 bits an element, 16 lanes share their words: a lane has the first halves of what belongs to its row and
    /// to the row 8 from there, and the lane 8 from there has the second halves. For others a lane has two words.
    fn places(&self, x: &Exec<'_>, rank: usize, plan: &Plan, at: Place, lane: u32) -> Vec<u16> {
        let memory = &x.tensor[rank];
        let (granule, numbers) = match plan.instruction.a {
            operand @ (Operand::F16 | Operand::Bf16 | Operand::Tf32) => {
                let first = lane / 16 * 16 + lane % 8;
                let column = at.column + plan.instruction.selector;
                let half =
                    |i: u32| u64::from(memory.word(first + 8 * i, column) >> (lane / 8 % 2 * 16) & 0xffff);
                let granule = if operand == Operand::Tf32 { Granule::HalfElement } else { Granule::Element };
                (granule, half(0) | half(1) << 16)
            }
            operand => {
                let word = |i: u32| u64::from(memory.word(lane, at.column + i));
                let granule =
                    if operand == Operand::PackedE2m1 { Granule::TwoElements } else { Granule::Element };
                (granule, word(0) | word(1) << 32)
            }
        };
        let mut places = vec![0; plan.stored as usize];
        granule.places(numbers, &mut places);
        places
    }
}
