//! Data movement (PTX ISA, "Data Movement and Conversion Instructions" without cvt, and "Stack Manipulation
//! Instructions").

use super::Decoded;
use super::Missing;
use super::emit::op;
use super::function::{Decoder, Home};
use super::operand::{Destination, Source};
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::lanes::simd::Baseline;
use crate::lanes::{LANES, Lane};
use crate::observe::Happening;
use crate::ops::address::{Global, Shared, Space, addresses, base};
use crate::ops::memory::{self, Transfer};
use crate::ops::order::{LANE_BY_LANE, in_store_order};
use crate::ops::shape::{HOT, NEGATE, lane_fn};
use crate::ops::{NONE, Op, control};
use crate::program::{Meta, ZERO};
use ir::instruction::StAsync;
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::{AddressBase, Instruction, Operand};
use ptx::types::{ScalarType, StateSpace, TypeKind};

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::Mov => mov(d),
        Sem::MovPred => {
            let p = d.predicate_destination(0)?;
            let (a, negated) = d.predicate(1)?;
            super::logic::move_predicate(d, p, a, negated);
            Ok(())
        }
        Sem::MovPack => pack(d),
        Sem::MovUnpack => unpack(d),
        Sem::Ld => load(d),
        Sem::St => store(d, 0),
        Sem::Prefetch => {
            d.emit(op(nothing));
            Ok(())
        }
        // A cache policy is opaque and changes no value: zero is as good as any.
        Sem::Createpolicy | Sem::CreatepolicyCvt => {
            let destination = d.destination_plane(0, 64)?;
            d.emit_splat(destination, ZERO, 64);
            Ok(())
        }
        Sem::CpAsync => cp_async(d),
        // Copies are done when they are issued, so groups are always complete.
        Sem::CpAsyncCommitGroup
        | Sem::CpAsyncWaitGroup
        | Sem::CpAsyncWaitAll
        | Sem::CpAsyncBulkCommitGroup
        | Sem::CpAsyncBulkWaitGroup => {
            d.emit(op(nothing));
            Ok(())
        }
        Sem::Alloca => alloca(d),
        Sem::Stacksave => stack_pointer(d),
        Sem::Stackrestore => {
            let bits = d.opcode.ty(Slot::Type).map_or(64, ScalarType::bits);
            let value = d.source(0, bits)?;
            let a = d.plane_of(value, bits);
            d.emit(Op { a, x: d.id.0, y: bits, ..op(stackrestore) });
            Ok(())
        }
        other => Err(format!("{other:?} among the data movement instructions")),
    }
}

/// `st.async`.
pub(super) fn store_async(d: &mut Decoder<'_>, st: &StAsync) -> Decoded {
    store(d, base::LANE_BY_LANE)?;
    super::mbarrier::complete(d, &st.mbar, st.ty.bytes() * st.b.len() as u32)
}

pub(super) fn nothing(_: &mut Exec<'_>, _: &Op, pc: u32) -> u32 {
    pc + 1
}

/// `d = a`, both of `bits`.
pub(super) fn copy(d: &mut Decoder<'_>, bits: u32) -> Decoded {
    lane_fn!(Copy16: Unary(a: u16) -> u16 { a });
    lane_fn!(Copy32: Unary(a: u32) -> u32 { a });
    lane_fn!(Copy64: Unary(a: u64) -> u64 { a });
    match bits {
        16 => d.unary::<Copy16, HOT>(),
        32 => d.unary::<Copy32, HOT>(),
        _ => d.unary::<Copy64, HOT>(),
    }
}

/// The two halves of a 128-bit register.
pub(super) fn halves(d: &mut Decoder<'_>, operand: Operand) -> Result<[u32; 2], Missing> {
    match operand {
        Operand::Register(register) => match d.home(register) {
            Home::Pair(low, high) => Ok([low, high]),
            Home::Unused => Ok([d.temporary(64), d.temporary(64)]),
            _ => Err(format!("register {} as a 128-bit value", d.register_name(register))),
        },
        // A constant has 64 bits, and zeros above them (as ptxas has it, also of a negative one).
        Operand::Immediate(_) => {
            let low = d.value(operand, 64)?;
            Ok([d.plane_of(low, 64), d.plane_of(Source::Scalar(ZERO), 64)])
        }
        other => Err(format!("operand {other:?} as a 128-bit value")),
    }
}

/// Emits a copy of plane `a` to plane `to`.
fn move_plane(d: &mut Decoder<'_>, to: u32, a: u32, bits: u32) {
    d.emit(Op { d: to, a, ..op(super::arithmetic::resize(bits, bits)) });
}

fn mov(d: &mut Decoder<'_>) -> Decoded {
    let bits = d.opcode.ty(Slot::Type).map_or(32, ScalarType::bits);
    if bits == 128 {
        let (to, from) = (halves(d, d.operand(0))?, halves(d, d.operand(1))?);
        for (to, from) in to.into_iter().zip(from) {
            move_plane(d, to, from, 64);
        }
        return Ok(());
    }
    // A special register goes straight to its destination.
    copy(d, bits)
}

/// The width of the plane that holds an element.
fn plane_bits(bits: u32) -> u32 {
    bits.max(16)
}

/// Plane `d` of `y` bits |= plane `a` of `x` bits, shifted left by `imm`; with `c` of 1 it replaces it.
fn insert<A: Lane, R: Lane>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let keep = if op.c == 1 { 0 } else { !0 };
    // Elements of 8 bits live in 16-bit planes.
    let element = if op.x == 8 { 0xff } else { !0 };
    for warp in (0..x.warps).filter(|&w| x.mask[w] != 0).collect::<Vec<_>>() {
        let a = A::planes(&x.files)[op.a as usize + warp].0;
        let old = R::planes(&x.files)[op.d as usize + warp].0;
        let values = std::array::from_fn(|l| {
            R::from_scalar((old[l].to_scalar() & keep) | (a[l].to_scalar() & element) << op.imm)
        });
        x.store_plane::<Baseline, R>(op.d, warp, values);
    }
    pc + 1
}

/// Plane `d` = plane `a` shifted right by `imm`, cut to `x` bits.
fn extract<A: Lane, R: Lane>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let element = if op.x == 8 { 0xff } else { !0 };
    for warp in (0..x.warps).filter(|&w| x.mask[w] != 0).collect::<Vec<_>>() {
        let a = A::planes(&x.files)[op.a as usize + warp].0;
        let values = a.map(|lane| R::from_scalar((lane.to_scalar() >> op.imm) & element));
        x.store_plane::<Baseline, R>(op.d, warp, values);
    }
    pc + 1
}

macro_rules! by_widths {
    ($f:ident, $from:expr, $to:expr) => {
        match ($from, $to) {
            (16, 16) => $f::<u16, u16>,
            (16, 32) => $f::<u16, u32>,
            (16, _) => $f::<u16, u64>,
            (32, 16) => $f::<u32, u16>,
            (32, 32) => $f::<u32, u32>,
            (32, _) => $f::<u32, u64>,
            (_, 16) => $f::<u64, u16>,
            (_, 32) => $f::<u64, u32>,
            (_, _) => $f::<u64, u64>,
        }
    };
}

/// `mov.b64 d, {a, b}`: element 0 is the lowest.
fn pack(d: &mut Decoder<'_>) -> Decoded {
    let bits = d.opcode.ty(Slot::Type).map_or(32, ScalarType::bits);
    let parts = d.elements(1);
    let element = bits / parts.len().max(1) as u32;
    // Into temporaries first: a destination may be one of the parts.
    let words: Vec<u32> = (0..bits.div_ceil(64)).map(|_| d.temporary(plane_bits(bits.min(64)))).collect();
    for (i, part) in parts.into_iter().enumerate() {
        let at = i as u32 * element;
        let value = d.value(part, plane_bits(element))?;
        let a = d.plane_of(value, plane_bits(element));
        let word = words[(at / 64) as usize];
        let execute = by_widths!(insert, plane_bits(element), plane_bits(bits.min(64)));
        let c = u32::from(at.is_multiple_of(64));
        d.emit_part(Op { d: word, a, c, x: element, imm: u64::from(at % 64), ..op(execute) });
    }
    if bits == 128 {
        for (to, word) in halves(d, d.operand(0))?.into_iter().zip(words) {
            move_plane(d, to, word, 64);
        }
        return Ok(());
    }
    let to = d.destination_plane(0, plane_bits(bits))?;
    move_plane(d, to, words[0], plane_bits(bits));
    Ok(())
}

/// `mov.b64 {a, b}, d`: element 0 is the lowest.
fn unpack(d: &mut Decoder<'_>) -> Decoded {
    let bits = d.opcode.ty(Slot::Type).map_or(32, ScalarType::bits);
    let parts = d.elements(0);
    let element = bits / parts.len().max(1) as u32;
    let word_bits = plane_bits(bits.min(64));
    let words = match bits {
        128 => halves(d, d.operand(1))?.to_vec(),
        _ => {
            let value = d.source(1, word_bits)?;
            vec![d.plane_of(value, word_bits)]
        }
    };
    // The source may be one of the parts: read it from a copy.
    let copies: Vec<u32> = words
        .iter()
        .map(|&word| {
            let copy = d.temporary(word_bits);
            d.emit_part(Op { d: copy, a: word, ..op(super::arithmetic::resize(word_bits, word_bits)) });
            copy
        })
        .collect();
    for (i, part) in parts.into_iter().enumerate() {
        if part == Operand::Sink {
            continue;
        }
        let at = i as u32 * element;
        let Destination::Plane(to) = d.destination_of(part, plane_bits(element))? else {
            return Err("a part that is the same for all threads".to_owned());
        };
        let execute = by_widths!(extract, word_bits, plane_bits(element));
        let a = copies[(at / 64) as usize];
        d.emit(Op { d: to, a, x: element, imm: u64::from(at % 64), ..op(execute) });
    }
    Ok(())
}

/// The type that a memory instruction moves.
fn moved_type(d: &Decoder<'_>) -> ScalarType {
    d.opcode.ty(Slot::Type).unwrap_or(ScalarType::B32)
}

/// Whether an `ld` reads one kernel parameter at a constant offset, which is the same for all threads.
pub(super) fn loads_parameter(d: &Decoder<'_>, instruction: &Instruction) -> bool {
    let opcode = d.module.opcode(instruction);
    let operands = d.body.operands(instruction);
    let signed = opcode.ty(Slot::Type).is_some_and(|ty| ty.kind() == TypeKind::Signed);
    let from_entry = operands.iter().any(|operand| {
        matches!(operand, Operand::Address { base: AddressBase::Variable(v), .. }
            if d.module.variables[v.index()].space == StateSpace::ParamEntry)
    });
    // A signed load may have to extend into a wider register; vectors go to planes.
    from_entry && !signed && matches!(operands.first(), Some(Operand::Register(_)))
}

/// The width of the planes for a vector's elements of `bits`: that of the widest register among them.
fn width_of_elements(d: &Decoder<'_>, parts: &[Operand], bits: u32) -> u32 {
    let widths = parts.iter().map(|part| match part {
        Operand::Register(register) => match d.home(*register) {
            Home::Plane { bits: own, .. } => own,
            Home::Pair(..) => 64,
            Home::Scalar(_) | Home::Predicate(_) | Home::Unused => 0,
        },
        _ => 0,
    });
    widths.fold(plane_bits(bits), u32::max)
}

/// The planes of a vector's elements, all of one width; what is dropped is [`NONE`].
pub(super) fn planes_of_elements(
    d: &mut Decoder<'_>,
    parts: &[Operand],
    bits: u32,
) -> Result<(Vec<u32>, u32), Missing> {
    let width = width_of_elements(d, parts, bits);
    let mut planes = Vec::with_capacity(parts.len());
    for &part in parts {
        planes.push(match part {
            Operand::Sink => NONE,
            _ => match d.destination_of(part, width)? {
                Destination::Plane(index) => index,
                Destination::Scalar(_) => {
                    return Err("an element that is the same for all threads".to_owned());
                }
            },
        });
    }
    Ok((planes, width))
}

/// The order of a strong access: a release fences before it, an acquire behind it. Others may be waiting for either.
pub(super) fn order(d: &mut Decoder<'_>) {
    match d.opcode.get(Slot::Sem) {
        Some(Modifier::Release) => d.emit_part(op(control::fence)),
        Some(Modifier::Acquire) => {
            d.emit_part(op(control::pause));
            d.after(op(control::fence));
        }
        Some(Modifier::Volatile | Modifier::Relaxed) => d.emit_part(op(control::pause)),
        _ => {}
    }
}

fn load(d: &mut Decoder<'_>) -> Decoded {
    let ty = moved_type(d);
    order(d);
    let signed = ty.kind() == TypeKind::Signed;
    if ty.bits() == 128 {
        let planes = halves(d, d.operand(0))?;
        return wide(d, 1, planes, Access::Load);
    }
    let parts = d.elements(0);
    if let [Operand::Register(register)] = parts[..]
        && let Home::Scalar(index) = d.home(register)
    {
        let address = d.address(1, ty.bytes())?;
        let execute = memory::parameter(ty.bytes()).ok_or("a parameter of this width")?;
        let meta = Meta::Memory { space: address.space, access: Access::Load, bytes: ty.bytes() };
        d.emit_as(Op { d: index, a: address.a, y: address.y, imm: address.imm, ..op(execute) }, meta);
        return Ok(());
    }
    let (planes, width) = planes_of_elements(d, &parts, ty.bits())?;
    load_planes(d, &planes, ty.bits(), width, signed)?;
    if matches!(d.opcode.get(Slot::Sem), Some(Modifier::Volatile | Modifier::Relaxed | Modifier::Acquire)) {
        look(d, planes[0], width);
    }
    Ok(())
}

/// The current instruction has looked at what others change, and put what it saw in a plane. With a guard it remains one
/// operation: loops that spin branch.
pub(super) fn look(d: &mut Decoder<'_>, plane: u32, bits: u32) {
    if plane != NONE && d.guard.is_none() {
        d.after(Op { d: plane, x: bits, ..op(control::look) });
    }
}

fn load_planes(d: &mut Decoder<'_>, planes: &[u32], bits: u32, width: u32, signed: bool) -> Decoded {
    let bytes = bits / 8 * planes.len() as u32;
    let address = d.address(1, bytes)?;
    let vector = planes.len() > 1;
    let transfer = Transfer { space: address.space, memory: bits, register: width, signed, vector };
    let execute =
        memory::load(transfer, d.level).ok_or_else(|| format!("a load of {bits} bits to {width}"))?;
    let (to, c) = match planes {
        // A load whose value is dropped still accesses memory.
        [NONE] => (d.temporary(width), 1),
        [plane] => (*plane, 1),
        _ => (d.list(planes), planes.len() as u32),
    };
    let meta = Meta::Memory { space: address.space, access: Access::Load, bytes };
    d.emit_as(Op { d: to, a: address.a, y: address.y, imm: address.imm, c, ..op(execute) }, meta);
    Ok(())
}

/// A load or store of one element of 128 bits, whose address is operand `i`.
fn wide(d: &mut Decoder<'_>, i: usize, [low, high]: [u32; 2], access: Access) -> Decoded {
    let address = d.address(i, 16)?;
    let execute = memory::wide(access == Access::Store, address.space);
    let meta = Meta::Memory { space: address.space, access, bytes: 16 };
    d.emit_as(Op { a: address.a, b: low, c: high, y: address.y, imm: address.imm, ..op(execute) }, meta);
    Ok(())
}

/// `lanes` is 0, or what of [`base`] tells the order of the lanes.
fn store(d: &mut Decoder<'_>, lanes: u32) -> Decoded {
    let ty = moved_type(d);
    order(d);
    if ty.bits() == 128 {
        let planes = halves(d, d.operand(1))?;
        return wide(d, 0, planes, Access::Store);
    }
    let bits = ty.bits();
    let parts = d.elements(1);
    let width = width_of_elements(d, &parts, bits);
    let mut planes = Vec::with_capacity(parts.len());
    for part in parts {
        let value = d.value(part, width)?;
        planes.push(d.plane_of(value, width));
    }
    let bytes = bits / 8 * planes.len() as u32;
    let address = d.address(0, bytes)?;
    let vector = planes.len() > 1;
    let transfer = Transfer { space: address.space, memory: bits, register: width, signed: false, vector };
    let execute =
        memory::store(transfer, d.level).ok_or_else(|| format!("a store of {bits} bits from {width}"))?;
    let (b, c) = match planes[..] {
        [plane] => (plane, 1),
        _ => (d.list(&planes), planes.len() as u32),
    };
    let meta = Meta::Memory { space: address.space, access: Access::Store, bytes };
    d.emit_as(Op { a: address.a, b, c, y: address.y | lanes, imm: address.imm, ..op(execute) }, meta);
    Ok(())
}

/// `cp.async`: the list at `d` holds the destination's address operand (index, kind, offset low and high) and the
/// source's; `c` is the size, plane `b` the bytes to read ([`NONE`]: all), `x` what orders the lanes: a copy that goes past
/// the L1 cache (`.cg`) writes as a store does, one that goes through it (`.ca`) lane by lane, as on an H200.
fn copy_async(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let list: [u32; 4] = std::array::from_fn(|i| x.grid.image.lists[op.d as usize + i]);
    let imm = u64::from(list[2]) | u64::from(list[3]) << 32;
    let target = Op { a: list[0], y: list[1], imm, ..*op };
    for warp in (0..x.warps).filter(|&w| x.mask[w] != 0).collect::<Vec<_>>() {
        let to = addresses(x, &target, warp).lanes();
        let from = addresses(x, op, warp).lanes();
        if x.grid.observer.is_some() {
            tell_copy(x, op, pc, warp, &to);
        }
        let size = u64::from(op.c);
        for l in in_store_order(x.mask[warp], u64::from(op.x)) {
            let read = match op.b {
                NONE => size,
                plane => size.min(u64::from(x.files.w[plane as usize + warp].0[l])),
            };
            if !to[l].is_multiple_of(size) || !from[l].is_multiple_of(size) {
                let address = if !to[l].is_multiple_of(size) { to[l] } else { from[l] };
                let trap = Trap::MisalignedAddress { address, bytes: size, access: Access::Load };
                return x.raise(warp, l, trap);
            }
            for byte in 0..size {
                let value = match byte < read {
                    true => Global::load::<u8>(x, warp, l, from[l] + byte),
                    false => Some(0),
                };
                let Some(value) = value else {
                    let trap = x.bad_access(from[l], size, Access::Load);
                    return x.raise(warp, l, trap);
                };
                if Shared::store::<u8>(x, warp, l, to[l] + byte, value).is_none() {
                    let trap = x.bad_access(crate::memory::SHARED_WINDOW + to[l], size, Access::Store);
                    return x.raise(warp, l, trap);
                }
            }
        }
    }
    pc + 1
}

#[cold]
fn tell_copy(x: &Exec<'_>, op: &Op, pc: u32, warp: usize, to: &[u64; LANES]) {
    let read = match op.b {
        NONE => [op.c; LANES],
        plane => x.files.w[plane as usize + warp].0.map(|bytes| bytes.min(op.c)),
    };
    let to = to.map(|address| address.wrapping_add(crate::memory::SHARED_WINDOW));
    let lanes = x.lanes_at(pc, warp, x.mask[warp]);
    x.tell(|_| Happening::CopiedAsync { lanes, to: &to, bytes: op.c, read: &read });
}

fn cp_async(d: &mut Decoder<'_>) -> Decoded {
    let Operand::Immediate(size) = d.operand(2) else {
        return Err("cp.async of a size that is not a constant".to_owned());
    };
    if !matches!(size, 4 | 8 | 16) {
        return Err(format!("cp.async of {size} bytes"));
    }
    let to = d.address(0, size as u32)?;
    let from = d.address(1, size as u32)?;
    let kind = d.opcode.data().operands.get(3).map(|spec| spec.name);
    let b = match (kind, d.operand(3)) {
        (_, Operand::Absent) => NONE,
        (Some("ignore"), _) => {
            // Ignored sources are zeros: the number of bytes read is 0 where the predicate holds.
            let (p, negated) = d.predicate(3)?;
            let (zero, all) = (d.constant(0), d.constant(size));
            let (yes, no) = if negated == NEGATE { (all, zero) } else { (zero, all) };
            let plane = d.temporary(32);
            let choose = crate::ops::shape::select_by_predicate::<u32>(d.level)[0b11];
            d.emit_part(Op { d: plane, a: yes, b: no, c: p, ..op(choose) });
            plane
        }
        _ => {
            let value = d.source(3, 32)?;
            d.plane_of(value, 32)
        }
    };
    let list = d.list(&[to.a, to.y, to.imm as u32, (to.imm >> 32) as u32]);
    let meta = Meta::Memory { space: from.space, access: Access::Load, bytes: size as u32 };
    let x = if d.opcode.has(Modifier::Cg) { size as u32 } else { LANE_BY_LANE as u32 };
    let fields = Op { d: list, a: from.a, b, c: size as u32, x, y: from.y, imm: from.imm, ..op(copy_async) };
    d.emit_as(fields, meta);
    Ok(())
}

/// `alloca`: plane `d` of `y` bits = the stack pointer, raised to alignment `imm`; plane `a` is the size.
fn allocate(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let frame = frame_end(x, op.x);
    let limit = u64::from(x.grid.local);
    let mut pointers = vec![[0; LANES]; x.warps];
    for (warp, lane) in x.active_lanes() {
        let size = match op.y {
            32 => u64::from(x.files.w[op.a as usize + warp].0[lane]),
            _ => x.files.d[op.a as usize + warp].0[lane],
        };
        let used = u64::from(x.stack[warp][lane]);
        let start = (frame + used).next_multiple_of(op.imm);
        if start > limit || size > limit - start {
            return x.raise(warp, lane, Trap::StackOverflow { limit });
        }
        pointers[warp][lane] = start;
        x.stack[warp][lane] = (start + size - frame) as u32;
    }
    write_pointers(x, op, &pointers);
    pc + 1
}

/// `stacksave`: plane `d` of `y` bits = the stack pointer.
fn stacksave(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let frame = frame_end(x, op.x);
    let pointers: Vec<_> = x.stack.iter().map(|used| used.map(|used| frame + u64::from(used))).collect();
    write_pointers(x, op, &pointers);
    pc + 1
}

/// `stackrestore`: the stack pointer = plane `a` of `y` bits.
fn stackrestore(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let frame = frame_end(x, op.x);
    for (warp, lane) in x.active_lanes() {
        let pointer = match op.y {
            32 => u64::from(x.files.w[op.a as usize + warp].0[lane]),
            _ => x.files.d[op.a as usize + warp].0[lane],
        };
        let used = pointer.wrapping_sub(frame);
        if used > u64::from(x.stack[warp][lane]) {
            let trap = Trap::StackOverflow { limit: u64::from(x.grid.local) };
            return x.raise(warp, lane, trap);
        }
        x.stack[warp][lane] = used as u32;
    }
    pc + 1
}

/// Where the fixed part of the frame of function `f` ends.
fn frame_end(x: &Exec<'_>, f: u32) -> u64 {
    let code = x.grid.image.code(ptx::module::FuncId(f));
    u64::from(x.local_base) + u64::from(code.frame)
}

fn write_pointers(x: &mut Exec<'_>, op: &Op, pointers: &[[u64; LANES]]) {
    for (warp, values) in pointers.iter().enumerate() {
        match op.y {
            32 => x.store_plane::<Baseline, u32>(op.d, warp, values.map(|v| v as u32)),
            _ => x.store_plane::<Baseline, u64>(op.d, warp, *values),
        }
    }
}

fn alloca(d: &mut Decoder<'_>) -> Decoded {
    d.image.allocates = true;
    let bits = d.opcode.ty(Slot::Type).map_or(64, ScalarType::bits);
    let to = d.destination_plane(0, bits)?;
    let size = d.source(1, bits)?;
    let a = d.plane_of(size, bits);
    let align = match d.operand(2) {
        Operand::Immediate(align) if align.is_power_of_two() => align.max(8),
        _ => 8,
    };
    d.emit(Op { d: to, a, x: d.id.0, y: bits, imm: align, ..op(allocate) });
    Ok(())
}

fn stack_pointer(d: &mut Decoder<'_>) -> Decoded {
    d.image.allocates = true;
    let bits = d.opcode.ty(Slot::Type).map_or(64, ScalarType::bits);
    let to = d.destination_plane(0, bits)?;
    d.emit(Op { d: to, x: d.id.0, y: bits, ..op(stacksave) });
    Ok(())
}
