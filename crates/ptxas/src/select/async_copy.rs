//! Copies that run beside the threads (PTX ISA, "Asynchronous Data Movement"): by threads, in bulk, of tensors.
//!
//! Bulk copies take their operands from uniform registers: UR8 and UR9 hold an address in shared memory and the `mbarrier`,
//! UR18 and UR19 one in global memory or of a tensor map, UR20 the size and the mask of CTAs, UR22 and UR23 a cache policy;
//! a tensor's coordinates follow what stands from UR8 on.

use super::{Done, Refusal, Select};
use crate::code::{Line, Operand, Reg};
use crate::schedule::NOBODYS_LOAD;
use ir::Op;
use ir::instruction as i;
use ir::operand::{Address, Lookup, Space, Value};
use ptx::types::{ScalarType, TypeKind};
use smol_str::SmolStr;

fn text(text: impl Into<SmolStr>) -> Operand {
    Operand::Text(text.into())
}

const SHARED: u8 = 8;
const MBARRIER: u8 = 9;
const GLOBAL: u8 = 18;
const SIZE: u8 = 20;
const POLICY: u8 = 22;

impl Select<'_> {
    pub(super) fn asynchronous_copies(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::CpAsync(op) => self.copy_by_threads(op),
            Op::CpAsyncCommitGroup(_) => {
                self.effect("LDGDEPBAR", vec![], vec![]);
                Ok(())
            }
            Op::CpAsyncWaitGroup(op) => {
                self.groups_left(op.n);
                Ok(())
            }
            Op::CpAsyncWaitAll(_) => {
                self.effect("LDGDEPBAR", vec![], vec![]);
                self.groups_left(0);
                Ok(())
            }
            Op::CpAsyncBulk(op) => self.behind_guard(|this| this.copy_in_bulk(op)),
            Op::CpReduceAsyncBulk(op) => self.behind_guard(|this| this.reduce_in_bulk(op)),
            Op::CpAsyncBulkPrefetch(op) => self.behind_guard(|this| {
                let mut operands = this.pair_for(&op.src, GLOBAL)?;
                operands.extend(this.size_and_mask(&op.size, None)?);
                let policy = this.policy(op.policy.as_ref(), &mut operands)?;
                this.for_each_lane(&operands, |this| {
                    let read = vec![text(format!("[UR{GLOBAL}]")), text(format!("UR{SIZE}"))];
                    this.code.push(None, "UBLKPF.L2", vec![], read.into_iter().chain(policy).collect());
                });
                Ok(())
            }),
            Op::CpAsyncBulkTensorLoad(op) => self.behind_guard(|this| this.load_tensor(op)),
            Op::CpAsyncBulkTensorStore(op) => self.behind_guard(|this| this.store_tensor(op)),
            Op::CpReduceAsyncBulkTensor(op) => self.behind_guard(|this| this.reduce_tensor(op)),
            Op::CpAsyncBulkPrefetchTensor(op) => self.behind_guard(|this| this.prefetch_tensor(op)),
            // It has no guard.
            Op::CpAsyncBulkCommitGroup(_) => self.behind_guard(|this| {
                this.code.push(None, "UTMACMDFLUSH", vec![], vec![]);
                Ok(())
            }),
            Op::CpAsyncBulkWaitGroup(op) => {
                self.groups_left(op.n);
                if !op.read {
                    self.effect("CCTL.IVALL", vec![], vec![]);
                }
                Ok(())
            }
            _ => return None,
        })
    }

    /// Waits until so many groups at most are under way.
    fn groups_left(&mut self, count: u64) {
        self.effect("DEPBAR.LE", vec![], vec![text("SB0"), Operand::number(count.min(63) as u32)]);
    }

    fn copy_by_threads(&mut self, op: &i::CpAsync) -> Done {
        let to = self.in_shared(&op.dst)?;
        let from = self.place(&op.src)?;
        let bypass = if op.cop == i::CpAsyncCop::Cg { ".BYPASS" } else { "" };
        let ahead = match op.prefetch_size {
            None => "",
            Some(i::PrefetchSize::L2_64B) => ".LTC64B",
            Some(i::PrefetchSize::L2_128B) => ".LTC128B",
            Some(i::PrefetchSize::L2_256B) => ".LTC256B",
        };
        let size = match op.size {
            4 => "",
            8 => ".64",
            _ => ".128",
        };
        let mut name = format!("LDGSTS.E{bypass}{ahead}{size}");
        let to = Operand::Address { before: "", reg: to, width: 1, beside: "", offset: 0 };
        let mut read = vec![to, from.operand(0)];
        if let Some(size) = &op.srcsize {
            // The bytes behind the source's are zeros: how many the unit takes from the address in its element.
            let size = self.word(size)?;
            let whole = self.constant(op.size as u32);
            let rest = self.add(whole, size.clone().signed("-"));
            let skipped = self.lop(Operand::low(rest), Operand::number(op.size as u32 - 1), 0xc0);
            let base = self.wide_address_of(&from)?;
            let skipped = self.join(Operand::low(skipped), Operand::zero());
            let moved = self.add64(base, skipped);
            let some = self.compare("ISETP.NE.U32.AND", size, Operand::zero());
            name.push_str(".ZFILL");
            read[1] = Operand::Address { before: "desc[UR4]", reg: moved, width: 2, beside: "", offset: 0 };
            read.push(Operand::Predicate(some, false));
        } else if let Some(ignore) = &op.ignore {
            let (flag, not) = self.predicate(ignore)?;
            read.push(Operand::Predicate(flag, !not));
        }
        // As ptxas does in front of the first.
        let mut before = self.code.lines.iter().rev().map_while(|line| match line {
            Line::Instruction(one) => Some(one.name.as_str()),
            Line::Label(_) => None,
        });
        if !before.any(|name| name.starts_with("LDGSTS")) {
            self.loads_of_nobody(3);
        }
        self.effect(name, vec![], read);
        Ok(())
    }

    /// Loads that no lane executes.
    pub(super) fn loads_of_nobody(&mut self, count: usize) {
        for _ in 0..count {
            self.code.push(None, NOBODYS_LOAD, vec![], vec![Operand::zero(), text("[RZ]")]);
        }
    }

    // Operands of copies in bulk.

    fn one_for(&mut self, address: &Address, to: u8) -> Result<(u8, Operand), Refusal> {
        Ok((to, Operand::low(self.in_shared(address)?)))
    }

    fn pair_for(&mut self, address: &Address, to: u8) -> Result<Vec<(u8, Operand)>, Refusal> {
        let place = self.place(address)?;
        let both = self.wide_address_of(&place)?;
        Ok(Self::halves_for(both, to))
    }

    fn halves_for(both: Reg, to: u8) -> Vec<(u8, Operand)> {
        vec![(to, Operand::part(both, 0)), (to + 1, Operand::part(both, 1))]
    }

    /// The size in units of 16 bytes below, the CTAs that a copy is for above.
    fn size_and_mask(&mut self, size: &Value, mask: Option<&Value>) -> Result<Vec<(u8, Operand)>, Refusal> {
        let size = self.word(size)?;
        let units = self.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::number(4), size]);
        let mask = mask.map_or(Ok(Operand::zero()), |mask| self.word(mask))?;
        let both = self.one("PRMT", vec![Operand::low(units), Operand::number(0x5410), mask]);
        Ok(vec![(SIZE, Operand::low(both))])
    }

    fn policy(
        &mut self,
        policy: Option<&Value>,
        operands: &mut Vec<(u8, Operand)>,
    ) -> Result<Option<Operand>, Refusal> {
        let Some(policy) = policy else { return Ok(None) };
        let both = self.double(policy)?;
        operands.extend(Self::halves_for(both, POLICY));
        Ok(Some(text(format!("desc[UR{POLICY}]"))))
    }

    fn copy_in_bulk(&mut self, op: &i::CpAsyncBulk) -> Done {
        if op.byte_mask.is_some() {
            return Err("with a mask of bytes, which sm_90 does not have".to_owned());
        }
        let mut operands = Vec::new();
        let shared = |space| matches!(space, Space::Shared | Space::SharedCta | Space::SharedCluster);
        let many = op.cta_mask.is_some();
        let (mut name, read) = match (shared(op.dst.space), shared(op.src.space)) {
            (true, from_shared) => {
                operands.push(self.one_for(&op.dst, SHARED)?);
                let Some(mbarrier) = &op.mbar else { return Err("without an mbarrier".to_owned()) };
                operands.push(self.one_for(mbarrier, MBARRIER)?);
                if from_shared {
                    operands.push(self.one_for(&op.src, GLOBAL)?);
                } else {
                    operands.extend(self.pair_for(&op.src, GLOBAL)?);
                }
                let name = if from_shared { "UBLKCP.S.S" } else { "UBLKCP.S.G" };
                (name.to_owned(), vec![text(format!("[UR{SHARED}]")), text(format!("[UR{GLOBAL}]"))])
            }
            (false, true) => {
                operands.extend(self.pair_for(&op.dst, GLOBAL)?);
                operands.push(self.one_for(&op.src, SHARED)?);
                ("UBLKCP.G.S".to_owned(), vec![text(format!("[UR{GLOBAL}]")), text(format!("[UR{SHARED}]"))])
            }
            (false, false) => return Err("between these spaces".to_owned()),
        };
        if many {
            name.push_str(".MULTICAST");
        }
        operands.extend(self.size_and_mask(&op.size, op.cta_mask.as_ref())?);
        let policy = self.policy(op.policy.as_ref(), &mut operands)?;
        let read = read.into_iter().chain([text(format!("UR{SIZE}"))]).chain(policy).collect();
        self.for_each_lane(&operands, |this| this.code.push(None, name, vec![], read));
        Ok(())
    }

    /// What a reduction does, in nvdisasm's spelling.
    fn reduction(op: i::CpReduceAsyncBulkOp, ty: ScalarType) -> String {
        let name = op.modifier().text()[1..].to_uppercase();
        let kind = match (ty, ty.kind(), ty.bits()) {
            (ScalarType::F32, ..) => ".F32.RN",
            (ScalarType::F64, ..) => ".F64.RN",
            (ScalarType::F16, ..) => ".F16.RN",
            (ScalarType::Bf16, ..) => ".BF16.RN",
            (_, TypeKind::Signed, 64) if name != "ADD" => ".S64",
            (_, TypeKind::Signed, _) if name != "ADD" => ".S32",
            (_, _, 64) => ".U64",
            _ => "",
        };
        format!("{name}{kind}")
    }

    fn reduce_in_bulk(&mut self, op: &i::CpReduceAsyncBulk) -> Done {
        let what = Self::reduction(op.op, op.ty);
        let mut operands = vec![];
        let (name, read) = match &op.mbar {
            Some(mbarrier) => {
                operands.push(self.one_for(&op.dst, SHARED)?);
                operands.push(self.one_for(mbarrier, MBARRIER)?);
                operands.push(self.one_for(&op.src, GLOBAL)?);
                ("UBLKRED.S.S", vec![text(format!("[UR{SHARED}]")), text(format!("[UR{GLOBAL}]"))])
            }
            None => {
                operands.extend(self.pair_for(&op.dst, GLOBAL)?);
                operands.push(self.one_for(&op.src, SHARED)?);
                ("UBLKRED.G.S", vec![text(format!("[UR{GLOBAL}]")), text(format!("[UR{SHARED}]"))])
            }
        };
        operands.extend(self.size_and_mask(&op.size, None)?);
        let policy = self.policy(op.policy.as_ref(), &mut operands)?;
        let read = read.into_iter().chain([text(format!("UR{SIZE}"))]).chain(policy).collect();
        self.for_each_lane(&operands, |this| {
            this.code.push(None, format!("{name}.{what}"), vec![], read);
        });
        Ok(())
    }

    /// A tensor map, and coordinates from a register on.
    fn tensor(&mut self, tensor: &Lookup, first: u8, operands: &mut Vec<(u8, Operand)>) -> Done {
        let map = self.double(&tensor.object)?;
        operands.extend(Self::halves_for(map, GLOBAL));
        for (at, coordinate) in tensor.coordinates.iter().enumerate() {
            let coordinate = self.word(coordinate)?;
            operands.push((first + at as u8, coordinate));
        }
        Ok(())
    }

    /// Where the windows of a copy begin: so many bits for each axis, in one register of 16.
    fn window(&mut self, dim: i::Dim, offsets: &[Value]) -> Result<Operand, Refusal> {
        let apart = match dim {
            i::Dim::N1d | i::Dim::N2d | i::Dim::N3d => 16,
            i::Dim::N4d => 8,
            i::Dim::N5d => 5,
        };
        let mut all = Operand::zero();
        for (offset, axis) in offsets.iter().zip(0..) {
            let offset = self.word(offset)?;
            let cut = self.lop(offset, Operand::number((1 << apart) - 1), 0xc0);
            let by = Operand::number(axis * apart);
            let moved = self.one("SHF.L.U32", vec![Operand::low(cut), by, Operand::zero()]);
            all = Operand::low(self.lop(Operand::low(moved), all, 0xfc));
        }
        Ok(all)
    }

    /// Whether a copy goes by windows rather than tiles.
    fn is_by_windows(mode: Option<i::CpAsyncBulkTensorLoadLoadMode>) -> Result<bool, Refusal> {
        use i::CpAsyncBulkTensorLoadLoadMode::{Im2col, Im2colW, Im2colW128, Tile, TileGather4};
        match mode {
            None | Some(Tile) => Ok(false),
            Some(Im2col) => Ok(true),
            Some(TileGather4 | Im2colW | Im2colW128) => {
                Err("in this mode, which sm_90 does not have".to_owned())
            }
        }
    }

    fn load_tensor(&mut self, op: &i::CpAsyncBulkTensorLoad) -> Done {
        let windows = Self::is_by_windows(op.load_mode)?;
        let mut operands = vec![self.one_for(&op.dst, SHARED)?, self.one_for(&op.mbar, MBARRIER)?];
        self.tensor(&op.tensor_map, MBARRIER + 1, &mut operands)?;
        let mut name = format!("UTMALDG{}", dimensions(op.dim));
        let mut read = vec![text(format!("[UR{SHARED}]")), text(format!("[UR{GLOBAL}]"))];
        let window = match &op.im2col {
            Some(offsets) if windows => {
                name.push_str(".IM2COL");
                Some(self.window(op.dim, offsets)?)
            }
            _ => None,
        };
        if op.cta_mask.is_some() {
            name.push_str(".MULTICAST");
        }
        if window.is_some() || op.cta_mask.is_some() {
            // The CTAs stand above.
            let mask = op.cta_mask.as_ref().map_or(Ok(Operand::zero()), |mask| self.word(mask))?;
            let window = window.unwrap_or(Operand::zero());
            let both = self.one("PRMT", vec![window, Operand::number(0x5410), mask]);
            operands.push((SIZE, Operand::low(both)));
            read.push(text(format!("UR{SIZE}")));
        }
        let policy = self.policy(op.policy.as_ref(), &mut operands)?;
        self.for_each_lane(&operands, |this| {
            this.code.push(None, name, vec![], read.into_iter().chain(policy).collect());
        });
        Ok(())
    }

    fn store_tensor(&mut self, op: &i::CpAsyncBulkTensorStore) -> Done {
        let mode = match op.load_mode {
            None | Some(i::CpAsyncBulkTensorStoreLoadMode::Tile) => "",
            Some(i::CpAsyncBulkTensorStoreLoadMode::Im2colNoOffs) => ".IM2COL",
            Some(i::CpAsyncBulkTensorStoreLoadMode::TileScatter4) => {
                return Err("in this mode, which sm_90 does not have".to_owned());
            }
        };
        let name = format!("UTMASTG{}{mode}", dimensions(op.dim));
        self.tensor_from_shared(&name, &op.tensor_map, &op.src, op.policy.as_ref())
    }

    fn reduce_tensor(&mut self, op: &i::CpReduceAsyncBulkTensor) -> Done {
        let mode = match op.load_mode {
            None | Some(i::CpReduceAsyncBulkTensorLoadMode::Tile) => "",
            Some(i::CpReduceAsyncBulkTensorLoadMode::Im2colNoOffs) => ".IM2COL",
        };
        let what = op.op.modifier().text().to_uppercase();
        let name = format!("UTMAREDG{}{mode}{what}", dimensions(op.dim));
        self.tensor_from_shared(&name, &op.tensor_map, &op.src, op.policy.as_ref())
    }

    fn tensor_from_shared(
        &mut self,
        name: &str,
        tensor: &Lookup,
        from: &Address,
        policy: Option<&Value>,
    ) -> Done {
        let mut operands = vec![self.one_for(from, SHARED)?];
        self.tensor(tensor, SHARED + 1, &mut operands)?;
        let policy = self.policy(policy, &mut operands)?;
        let read = vec![text(format!("[UR{SHARED}]")), text(format!("[UR{GLOBAL}]"))];
        self.for_each_lane(&operands, |this| {
            this.code.push(None, name, vec![], read.into_iter().chain(policy).collect());
        });
        Ok(())
    }

    fn prefetch_tensor(&mut self, op: &i::CpAsyncBulkPrefetchTensor) -> Done {
        let windows = Self::is_by_windows(op.load_mode)?;
        let mut operands = vec![];
        self.tensor(&op.tensor_map, SHARED, &mut operands)?;
        let mut name = format!("UTMAPF.L2{}", dimensions(op.dim));
        let mut read = vec![text(format!("[UR{SHARED}]")), text(format!("[UR{GLOBAL}]"))];
        if let (Some(offsets), true) = (&op.im2col, windows) {
            name.push_str(".IM2COL");
            let window = self.window(op.dim, offsets)?;
            let both = self.one("PRMT", vec![window, Operand::number(0x5410), Operand::zero()]);
            operands.push((SIZE, Operand::low(both)));
            read.push(text(format!("UR{SIZE}")));
        }
        let policy = self.policy(op.policy.as_ref(), &mut operands)?;
        self.for_each_lane(&operands, |this| {
            this.code.push(None, name, vec![], read.into_iter().chain(policy).collect());
        });
        Ok(())
    }
}

fn dimensions(dim: i::Dim) -> String {
    dim.modifier().text().to_uppercase()
}
