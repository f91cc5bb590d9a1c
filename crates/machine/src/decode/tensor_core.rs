//! Instructions of the 5th-generation tensor core (PTX ISA, "TensorCore 5th Generation Family Instructions").

use super::decoder::{Decode, Decoded, Decoder, Missing, decoders};
use crate::fault::Access;
use crate::image::asynchronous::Completes;
use crate::image::copy::Ranks;
use crate::image::tensor_core::{Allocation, Commit, Copy, Either, FactorA, Product, Spread, Transfer};
use crate::matrix::packing::Packing;
use crate::memory::SpaceKind;
use crate::operation::Address as Pointer;
use crate::operation::kinds::{
    AllocateTensorMemory, AwaitGroups, CommitTensorCore, CopyToTensorMemory, LoadTensorMemory,
    MultiplyTensors, Nothing, RelinquishTensorMemory, ShiftTensorMemory, StoreTensorMemory,
};
use crate::tensor_core::instruction::Form;
use ir::instruction::{
    CtaGroup, Multicast, Tcgen05CpShape, Tcgen05Mma, Tcgen05MmaKind as Kind, Tcgen05MmaScaleVecSize as Size,
};
use ir::operand::Address;
use ptx::isa::Group;

/// CTAs of a group.
fn ctas(group: CtaGroup) -> u32 {
    match group {
        CtaGroup::CtaGroup1 => 1,
        CtaGroup::CtaGroup2 => 2,
    }
}

/// A wait for all that was issued.
fn all_of(group: Group) -> AwaitGroups {
    AwaitGroups { group, but: 0, reads: false, uncommitted: true }
}

fn pointer(d: &mut Decoder<'_>, address: &Address) -> Result<Pointer, Missing> {
    Ok(d.memory(address, 4)?.address)
}

decoders! { d, op:
    Tcgen05Alloc => {
        let at = d.memory(&op.dst, 4)?;
        let place = Either::Allocate { to: at.address, space: at.space };
        let allocation = Allocation { place, columns: d.read_plane(&op.columns, 32)?, ctas: ctas(op.cta_group) };
        d.emit_with(allocation, |site| AllocateTensorMemory { site })
    };
    Tcgen05Dealloc => {
        let place = Either::Free { address: d.read_plane(&op.taddr, 32)? };
        let allocation = Allocation { place, columns: d.read_plane(&op.columns, 32)?, ctas: ctas(op.cta_group) };
        d.emit_with(allocation, |site| AllocateTensorMemory { site })
    };
    Tcgen05Relinquish => d.emit(RelinquishTensorMemory {});
    Tcgen05Ld => {
        let planes = d.write_planes(&op.d, 32)?;
        let planes = d.code.image.add_planes(planes);
        let (address, half) = (pointer(d, &op.taddr)?, op.half.unwrap_or(0) as u32);
        let transfer = Transfer { shape: op.shape, planes, address, half, packed: op.packing };
        d.performed_later(Completes::Group(Group::TensorLoad));
        d.emit_with(transfer, |site| LoadTensorMemory { site })
    };
    Tcgen05St => {
        let planes = d.read_planes(&op.r, 32)?;
        let planes = d.code.image.add_planes(planes.into_iter().map(Some));
        let (address, half) = (pointer(d, &op.taddr)?, op.half.unwrap_or(0) as u32);
        let transfer = Transfer { shape: op.shape, planes, address, half, packed: op.packing };
        d.performed_later(Completes::Group(Group::TensorStore));
        d.emit_with(transfer, |site| StoreTensorMemory { site })
    };
    Tcgen05WaitLd => d.emit_if_late(all_of(Group::TensorLoad));
    Tcgen05WaitSt => d.emit_if_late(all_of(Group::TensorStore));
    Tcgen05Fence => d.emit(Nothing {});
    Tcgen05Cp => {
        let (rows, chunks, spread) = match (op.shape, op.multicast) {
            (Tcgen05CpShape::N128x256b, _) => (128, 2, Spread::Lanes),
            (Tcgen05CpShape::N128x128b, _) => (128, 1, Spread::Lanes),
            (Tcgen05CpShape::N4x256b, _) => (4, 2, Spread::Quarters),
            (Tcgen05CpShape::N64x128b, Some(Multicast::Warpx2_01_23)) => (64, 1, Spread::Neighbouring),
            (Tcgen05CpShape::N64x128b, _) => (64, 1, Spread::Alternating),
            (Tcgen05CpShape::N32x128b, _) => (32, 1, Spread::All),
        };
        let (address, descriptor) = (pointer(d, &op.taddr)?, d.read_plane(&op.sdesc, 64)?);
        let (ctas, packing) = (ctas(op.cta_group), Packing::of(op.atype));
        d.performed_later(Completes::Group(Group::TensorCore));
        d.emit_with(Copy { address, descriptor, ctas, rows, chunks, spread, packing }, |site| {
            CopyToTensorMemory { site }
        })
    };
    Tcgen05Shift => {
        let address = pointer(d, &op.taddr)?;
        d.performed_later(Completes::Group(Group::TensorCore));
        d.emit(ShiftTensorMemory { address, ctas: ctas(op.cta_group) as u8 })
    };
    Tcgen05Commit => {
        let at = d.memory_in_one_of(&op.mbar, 8, &[SpaceKind::Shared, SpaceKind::Cluster, SpaceKind::Generic])?;
        let ranks = op.mask.as_ref().map(|mask| d.read_plane(mask, 16)).transpose()?;
        d.performed_later(Completes::Phase {
            object: (at.address, at.space.window()),
            ranks: ranks.map(|mask| Ranks { mask, by_pairs: false }),
            arrival: Some(Group::TensorCore),
        });
        let site = d.site(Commit { barrier: at.address, ranks });
        d.emit_access(at, Access::Atomic, 8, CommitTensorCore { site })
    };
}

/// Scale factors of a row, of which the manual has other names for blocks of so many elements.
fn scales(kind: Kind, size: Option<Size>) -> u32 {
    match (size, kind) {
        (Some(Size::ScaleVec1X), _) | (Some(Size::Block32) | None, Kind::KindMxf8f6f4) => 1,
        (Some(Size::ScaleVec4X | Size::Block16), _) => 4,
        (Some(Size::ScaleVec2X | Size::Block32) | None, _) => 2,
    }
}

/// `tcgen05.mma`. What the collector buffers hold is a hint.
impl Decode for Tcgen05Mma {
    fn decode(&self, d: &mut Decoder<'_>) -> Decoded {
        let a = match (&self.adesc, &self.a) {
            (Some(descriptor), _) => FactorA::Shared(d.read_plane(descriptor, 64)?),
            (None, Some(address)) => FactorA::TensorMemory(pointer(d, address)?),
            (None, None) => return Err("a product without A".to_owned()),
        };
        let scale_factors = match (&self.scalea, &self.scaleb) {
            (Some(a), Some(b)) => Some([pointer(d, a)?, pointer(d, b)?]),
            _ => None,
        };
        let disabled = match &self.disable {
            Some(words) => d.read_planes(words, 32)?,
            None => Vec::new(),
        };
        let ctas = ctas(self.cta_group);
        if !disabled.is_empty() && disabled.len() != 4 * ctas as usize {
            return Err(format!(
                "{} words of lanes that are not written, where {} are needed",
                disabled.len(),
                4 * ctas
            ));
        }
        let product = Product {
            form: Form {
                kind: self.kind,
                sparse: self.sparse,
                stationary: self.ws,
                ctas,
                scales: if self.block_scale { scales(self.kind, self.scale_vec_size) } else { 0 },
            },
            d: pointer(d, &self.d)?,
            a,
            b: d.read_plane(&self.bdesc, 64)?,
            instruction: d.read_plane(&self.idesc, 32)?,
            metadata: self.metadata.as_ref().map(|address| pointer(d, address)).transpose()?,
            scales: scale_factors,
            accumulates: d.read_predicate(&self.enable)?,
            input_scale: self.scale.unwrap_or(0) as u32,
            shifts_a: self.ashift,
            disabled: d.code.image.add_planes(disabled.into_iter().map(Some)),
            zeros: self.zero.as_ref().map(|zero| d.read_plane(zero, 64)).transpose()?,
        };
        d.performed_later(Completes::Group(Group::TensorCore));
        d.emit_with(product, |site| MultiplyTensors { site })
    }
}
