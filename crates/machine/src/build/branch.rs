//! Branches: operations that lead to blocks, which may stand further on.

use super::code::Patch;
use crate::decode::decoder::{Decoded, Decoder};
use crate::image::Meta;
use crate::operation::Target;
use crate::operation::kinds::{Branch, BranchIndexed, Jump};
use ir::BlockId;
use ir::instruction::{Bra, BrxIdx};
use ptx::module::{LabelId, Table};

fn block_of(d: &Decoder<'_>, label: LabelId) -> BlockId {
    d.cfg.block_of(d.body.labels[label.index()].target)
}

/// `bra`, guarded or not.
pub(super) fn branch(d: &mut Decoder<'_>, bra: &Bra, meet: Option<BlockId>) -> Decoded {
    let to = block_of(d, bra.target);
    let (run, pc, target) = (d.code.take_run(), d.code.pc(), Target(0));
    match d.condition()? {
        None => d.code.push(Jump { target, run }, Meta::Plain),
        Some(condition) => {
            d.code.push(Branch { condition, target, meet: None, run, around: false }, Meta::Plain);
            if let Some(meet) = meet {
                d.code.patch_later(Patch::Meet(pc), meet);
            }
        }
    }
    d.code.patch_later(Patch::Target(pc), to);
    Ok(())
}

/// `brx.idx`.
pub(super) fn branch_indexed(d: &mut Decoder<'_>, brx: &BrxIdx, meet: Option<BlockId>) -> Decoded {
    let Table::Branch(labels) = &d.body.tables[brx.targets.index()] else {
        return Err("an indexed branch through a table of functions".to_owned());
    };
    let index = d.read_plane(&brx.index, 32)?;
    d.code.flush();
    let targets = d.code.image.add_targets(labels.len());
    for (i, &label) in labels.iter().enumerate() {
        let block = block_of(d, label);
        d.code.patch_later(Patch::Entry(targets, i), block);
    }
    let (run, pc) = (d.code.take_run(), d.code.pc());
    d.code.push(BranchIndexed { index, targets, meet: None, run }, Meta::Plain);
    if let Some(meet) = meet {
        d.code.patch_later(Patch::Meet(pc), meet);
    }
    Ok(())
}
