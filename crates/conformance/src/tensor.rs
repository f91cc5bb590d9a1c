//! Copies through tensor maps, and the instruction that changes one.
//!
//! Every thread copies a box of 16 bytes: from a pattern, at coordinates of its own inside and outside of the tensor; or
//! to its own row of results, which together are the tensor.

use crate::builder::Builder;
use crate::domain::Domain;
use crate::object::{BOX, Object, TensorShape};
use machine::tensormap::DataType;
use ptx::isa::{Modifier, OperandSpec, Slot};
use ptx::types::{ScalarType, StateSpace};

/// Bytes from a thread's box in shared memory to the next: copies ask for this alignment.
const PITCH: usize = 128;

/// Words of a tensor map.
const MAP: usize = 16;

/// Element types of tensors that are only moved.
const MOVED: [DataType; 4] = [DataType::F32, DataType::U8, DataType::Bf16, DataType::F64];

/// Element types for which a reduction exists; an H200 faults for others.
fn reduced(op: Modifier) -> &'static [DataType] {
    use DataType as T;
    match op {
        Modifier::Add => {
            &[T::U32, T::S32, T::U64, T::F16, T::F32, T::F64, T::Bf16, T::F32Ftz, T::Tf32, T::Tf32Ftz]
        }
        Modifier::Min | Modifier::Max => &[T::U32, T::S32, T::U64, T::S64, T::F16, T::Bf16],
        Modifier::Inc | Modifier::Dec => &[T::U32],
        _ => &[T::U32, T::S32, T::U64],
    }
}

/// How many element types are tried.
pub(crate) fn types(op: Option<Modifier>) -> usize {
    op.map_or(2, |op| reduced(op).len())
}

/// The inputs that suit an element type, and bits of each.
fn domain(ty: DataType) -> (Domain, u32) {
    let ty = match ty {
        DataType::U8 | DataType::U16 | DataType::U32 => ScalarType::U32,
        DataType::B4x16 | DataType::B4x16P64 | DataType::B6x16P32 => ScalarType::B32,
        DataType::S32 => ScalarType::S32,
        DataType::U64 => ScalarType::U64,
        DataType::S64 => ScalarType::S64,
        DataType::F16 => ScalarType::F16x2,
        DataType::Bf16 => ScalarType::Bf16x2,
        DataType::F64 => ScalarType::F64,
        DataType::F32 | DataType::F32Ftz | DataType::Tf32 | DataType::Tf32Ftz => ScalarType::F32,
    };
    (Domain::Of(ty), ty.bits())
}

impl Builder<'_> {
    fn shape(&self) -> Option<TensorShape> {
        let rank = self.opcode.get(Slot::Dim)?.text().as_bytes()[1] - b'0';
        let way = self.variant.alternative;
        let ty = match self.opcode.get(Slot::Reduce) {
            Some(_) => *reduced(self.opcode.get(Slot::Op)?).get(way)?,
            None => MOVED[(way + 2 * (self.variant.index % 2)) % MOVED.len()],
        };
        let mode = self.opcode.get(Slot::LoadMode).map_or("", Modifier::text);
        let results = self.opcode.data().operands[0].name == "[tensorMap,coords]";
        Some(TensorShape { ty, rank: rank.into(), column: mode.starts_with(".im2col"), results })
    }

    /// The operand `[tensorMap, coords]`, and what shows the effect of the copy.
    pub(crate) fn tensor(&mut self) -> Option<String> {
        let shape = self.shape()?;
        self.use_object(Object::Tensor(shape));
        self.remark(&format!(" of {}", shape.ty.name()));
        self.declaration(".reg .b64 %object;");
        self.before("mov.b64 %object, object; cvta.param.u64 %object, %object;");
        let at: Vec<String> = if shape.results {
            self.declaration(".reg .b32 %line;");
            let wide = shape.elements();
            self.before(&match shape.rank {
                1 => format!("mul.lo.u32 %line, %thread, {wide};"),
                _ => "mov.b32 %line, %thread;".to_owned(),
            });
            let own = |i: usize| if i == usize::from(shape.rank > 1) { "%line" } else { "0" };
            (0..shape.rank).map(|i| own(i).to_owned()).collect()
        } else {
            let sizes = shape.sizes(0);
            let wide = i64::from(shape.elements());
            let coordinate = |i: usize, size: i64| match shape.column {
                // An H200 takes no coordinate in the middle of 16 bytes.
                _ if i == 0 => Domain::Range { low: -2 * wide, high: size + wide, step: wide },
                // The channel, then pixels of the window, and the image.
                true if i > 0 && i + 1 < shape.rank => Domain::Range { low: -1, high: size - 3, step: 1 },
                _ => Domain::Range { low: -4, high: size + 4, step: 1 },
            };
            sizes.iter().enumerate().map(|(i, &size)| self.input(coordinate(i, size as i64), 32)).collect()
        };
        Some(format!("[%object, {{{}}}]", at.join(", ")))
    }

    /// Another operand of a copy through a tensor map.
    pub(crate) fn of_tensor(&mut self, spec: &OperandSpec) -> Option<String> {
        let shape = self.shape()?;
        match spec.name {
            "[dst]" => {
                let address = self.boxes()?;
                self.fill(StateSpace::Shared, &address, &[], 2);
                self.read_back(StateSpace::Shared, &address, 2);
                Some(format!("[{address}]"))
            }
            "[mbar]" => Some(self.completed(BOX)),
            "[src]" => {
                let address = self.boxes()?;
                let (domain, bits) = domain(shape.ty);
                let results = self.slot(StateSpace::Global, 2)?;
                for at in (0..BOX).step_by(bits as usize / 8) {
                    if self.opcode.get(Slot::Reduce).is_some() {
                        let old = self.input(domain, bits);
                        self.before(&format!("st.global.b{bits} [{results}+{at}], {old};"));
                    }
                    let new = self.input(domain, bits);
                    self.before(&format!("st.shared.b{bits} [{address}+{at}], {new};"));
                }
                self.before("fence.proxy.async;");
                self.after("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
                Some(format!("[{address}]"))
            }
            "im2col" => {
                // Offsets within the window.
                let offset = Domain::Range { low: 0, high: 2, step: 1 };
                let offsets: Vec<_> = (0..shape.rank - 2).map(|_| self.input(offset, 16)).collect();
                Some(format!("{{{}}}", offsets.join(", ")))
            }
            // The only CTA of its cluster.
            "ctaMask" => Some("1".into()),
            _ => None,
        }
    }

    /// A thread's own box in shared memory.
    fn boxes(&mut self) -> Option<String> {
        self.shared_slot(PITCH);
        Some("%slot".to_owned())
    }

    /// An address of `tensormap.cp_fenceproxy`, by which a warp copies a tensor map: that of its first lane.
    fn copied_map(&mut self, i: usize) -> Option<String> {
        let first = "mov.u32 %t, %laneid; mul.wide.u32 %x, %t, 128;";
        if i == 0 {
            self.slot(StateSpace::Global, MAP)?;
            self.before(&format!("{first} sub.u64 %x, %result, %x;"));
            return Some("[%x]".into());
        }
        let address = self.boxes()?;
        let words: Vec<_> = (0..MAP).map(|_| self.input(Domain::Of(ScalarType::B64), 64)).collect();
        self.fill(StateSpace::Shared, &address, &words, MAP);
        self.before("mov.u32 %t, %laneid; mul.wide.u32 %w, %t, 128; sub.u64 %w, %slot, %w; bar.sync 0;");
        Some("[%w]".into())
    }

    /// The tensor map that `tensormap.replace` changes: any bits, all of which are shown.
    pub(crate) fn replaced(&mut self, i: usize, space: StateSpace) -> Option<String> {
        if self.opcode.get(Slot::Field).is_none() {
            return self.copied_map(i);
        }
        let space = if space == StateSpace::Shared { space } else { StateSpace::Global };
        let address = match space {
            StateSpace::Shared => self.boxes()?,
            _ => self.slot(space, MAP)?,
        };
        let words: Vec<_> = (0..MAP).map(|_| self.input(Domain::Of(ScalarType::B64), 64)).collect();
        self.fill(space, &address, &words, MAP);
        self.read_back(space, &address, MAP);
        Some(format!("[{address}]"))
    }

    /// A value for the field that `tensormap.replace` changes, one that the field can have.
    pub(crate) fn field_value(&mut self, spec: &OperandSpec) -> Option<String> {
        let range = |low, high, step| Domain::Range { low, high, step };
        let (domain, bits) = match (spec.name, self.opcode.get(Slot::Field)?.text()) {
            ("value", ".global_address") => (range(0, 1 << 57, 16), 64),
            ("value", ".global_stride") => (range(16, 1 << 39, 16), 64),
            ("value", ".rank") => (range(0, 4, 1), 32),
            ("value", ".box_dim") => (range(1, 256, 1), 32),
            ("value", ".element_stride") => (range(1, 8, 1), 32),
            ("value", ".global_dim") => (range(1, u32::MAX.into(), 1), 32),
            _ => return None,
        };
        Some(self.input(domain, bits))
    }
}
