//! Every matrix instruction of the table that an `sm_90a` has, in kernels of its own.

use super::data::{self, Kind, Random, bits, fill, metadata};
use super::kernel::{Case, Kernel};
use ptx::isa::{FormId, Mnemonic, Modifier, Opcode, Sem, Slot, lookup};
use ptx::types::{Arch, ArchVariant};

const TARGET: Arch = Arch { sm: 90, variant: ArchVariant::Specific };
/// What registers and memory hold in the trials of a case.
const KINDS: [Kind; 8] =
    [Kind::Small, Kind::Small, Kind::Near, Kind::Near, Kind::Wide, Kind::Wide, Kind::Any, Kind::Any];

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for form in FormId::all() {
        match form.data().sem {
            Some(Sem::Mma | Sem::MmaSparse | Sem::WmmaMma) => {
                opcodes(form, &|_| true).iter().for_each(|o| products(o, &mut cases));
            }
            Some(Sem::Wgmma) => {
                // `.aligned` may be left out and changes nothing.
                let opcodes = opcodes(form, &is_sample).into_iter().filter(|o| o.has(Modifier::Aligned));
                opcodes.for_each(|o| group_products(&o, &mut cases));
            }
            Some(Sem::WmmaLoad | Sem::WmmaStore) => {
                opcodes(form, &|_| true).iter().for_each(|o| cases.extend(matrix(o)));
            }
            Some(Sem::Ldmatrix | Sem::Stmatrix) => {
                opcodes(form, &|_| true).iter().for_each(|o| cases.push(rows(o)));
            }
            Some(Sem::Movmatrix) => opcodes(form, &|_| true).iter().for_each(|o| cases.push(transpose(o))),
            _ => {}
        }
    }
    cases
}

/// Of the many sizes of `wgmma`, some.
fn is_sample(modifier: Modifier) -> bool {
    let text = modifier.text();
    !text.starts_with(".m64n") || ["n8k", "n24k", "n64k", "n256k"].iter().any(|n| text.contains(n))
}

/// Every legal opcode of a form for the target, of the modifiers that `wanted` lets through.
fn opcodes(form: FormId, wanted: &dyn Fn(Modifier) -> bool) -> Vec<Opcode> {
    let mut chosen: Vec<Vec<(Slot, Modifier)>> = vec![Vec::new()];
    for spec in form.data().slots {
        let mut longer = Vec::new();
        for modifiers in &chosen {
            if spec.optional {
                longer.push(modifiers.clone());
            }
            for choice in spec.choices.iter().filter(|c| wanted(c.modifier)) {
                // `.shared::cta` is `.shared`.
                if choice.modifier != Modifier::SharedCta {
                    longer.push([&modifiers[..], &[(spec.slot, choice.modifier)]].concat());
                }
            }
        }
        chosen = longer;
    }
    let opcodes = chosen.into_iter().map(|modifiers| Opcode { form, modifiers });
    // PTX took `.satfinite` away from the floating-point forms of `wmma.mma`.
    let gone =
        |o: &Opcode| o.mnemonic() == Mnemonic::Wmma && o.has(Modifier::Satfinite) && !o.has(Modifier::S32);
    let legal = |o: &Opcode| !gone(o) && lookup(&o.text()).is_ok_and(|found| found.contains(o));
    opcodes.filter(|o| o.gates().all(|(_, gate)| gate.permits_target(TARGET)) && legal(o)).collect()
}

/// The type in a slot; factors of `wmma.mma` on `.f16` have none.
fn ty(opcode: &Opcode, slot: Slot) -> Modifier {
    opcode.get(slot).unwrap_or(Modifier::F16)
}

fn register_bits(ty: Modifier) -> u32 {
    bits(ty).max(32)
}

/// `mma`, `mma.sp`, `wmma.mma`, with every sparsity selector.
fn products(opcode: &Opcode, cases: &mut Vec<Case>) {
    let text = opcode.text();
    let layouts = [Slot::Alayout, Slot::Blayout].map(|slot| opcode.get(slot));
    if opcode.mnemonic() == Mnemonic::Wmma && layouts != [Some(Modifier::Row), Some(Modifier::Col)] {
        // Fragments do not depend on them; a few are enough.
        if !text.contains("m16n16") || layouts != [Some(Modifier::Col), Some(Modifier::Row)] {
            return;
        }
    }
    let sparse = opcode.get(Slot::Sparse).is_some();
    let [a, b, c, d] = [Slot::Atype, Slot::Btype, Slot::Ctype, Slot::Dtype].map(|slot| ty(opcode, slot));
    let selectors = match (sparse, selectable(opcode, a)) {
        (false, _) => 1,
        (true, lanes) => 4 / lanes,
    };
    for selector in 0..selectors {
        let mut kernel = Kernel::new(32);
        let count = |i| opcode.operand_length(i).expect("a fragment");
        let operands = [(0, d), (1, a), (2, b), (3, c)];
        let [_, va, vb, vc] = operands.map(|(i, ty)| {
            let name = ["d", "a", "b", "c"][i];
            match i {
                0 => kernel.registers(name, count(0), register_bits(ty)),
                _ => kernel.read(name, count(i), register_bits(ty)),
            }
        });
        let vd = (0..count(0)).map(|i| format!("%d{i}")).collect::<Vec<_>>().join(", ");
        let mut extra = String::new();
        if sparse {
            kernel.read("e", 1, 32);
            extra = format!(", %e0, {selector}");
        }
        kernel.line(&format!("{text} {{{vd}}}, {va}, {vb}, {vc}{extra};"));
        kernel.write("d", count(0), register_bits(d));
        let name = if sparse { format!("{text} {selector}") } else { text.clone() };
        // At last, metadata that the manual leaves undefined. With `.tf32` halves of elements would be mixed.
        let undefined = (sparse && a != Modifier::Tf32).then_some(&Kind::Small);
        let trials = KINDS.iter().chain(undefined).enumerate().map(|(trial, &kind)| {
            let mut random = Random::new(&format!("{name} {trial}"));
            let mut input = Vec::new();
            for (i, ty) in [(1, a), (2, b), (3, c)] {
                input.extend(fill(&mut random, ty, kind, (count(i) * register_bits(ty) * 4) as usize));
            }
            if sparse {
                input.extend(match trial < KINDS.len() {
                    true => metadata(&mut random, a, 32),
                    false => fill(&mut random, Modifier::S32, Kind::Any, 128),
                });
            }
            input
        });
        let trials = trials.collect();
        cases.push(kernel.finish(name, trials));
    }
}

/// How many lanes of four give the metadata of a sparse product.
fn selectable(opcode: &Opcode, a: Modifier) -> u32 {
    let [_, _, k] = opcode.matrix_shape().expect("a shape");
    let row = match a {
        Modifier::Tf32 => k * 2,
        Modifier::S4 | Modifier::U4 => k / 2,
        _ => k,
    };
    row / 16
}

/// Bytes of shared memory that factors of `wgmma` lie in, and those of them that differ.
const SHARED: usize = 48 << 10;
const UNIQUE: usize = 257 * 16;

/// A matrix descriptor.
#[derive(Clone, Copy)]
struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    base: u64,
    mode: u64,
}

impl Descriptor {
    fn bits(self) -> u64 {
        self.start >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | self.base << 49 | self.mode << 62
    }
}

/// The descriptors of A and B in a trial, and its values.
fn placements(random: &mut Random) -> Vec<(Kind, [Descriptor; 2])> {
    let mut trials = Vec::new();
    let mut both = |kind, of: &mut dyn FnMut(&mut Random) -> Descriptor| {
        let mut a = of(random);
        let mut b = of(random);
        (a.start, b.start) = (a.start + 1024 * random.below(4), b.start + 8192 + 1024 * random.below(4));
        trials.push((kind, [a, b]));
    };
    let plain = |random: &mut Random| Descriptor {
        start: 0,
        leading: 16 * (1 + random.below(40)),
        stride: 16 * (1 + random.below(60)),
        base: 0,
        mode: 0,
    };
    both(Kind::Small, &mut |_| Descriptor { start: 0, leading: 128, stride: 256, base: 0, mode: 0 });
    both(Kind::Near, &mut |random| plain(random));
    for (mode, width) in [(1, 128), (2, 64), (3, 32)] {
        let swizzled = |random: &mut Random| Descriptor {
            start: 0,
            leading: 8 * width * (1 + random.below(2)),
            stride: 8 * width * (1 + random.below(1024 / (8 * width))),
            base: 0,
            mode,
        };
        both(Kind::Small, &mut |random| swizzled(random));
        both(Kind::Near, &mut |random| swizzled(random));
        // Along k, inside the pattern.
        both(Kind::Near, &mut |random| Descriptor {
            start: 16 * random.below(width / 16),
            ..swizzled(random)
        });
        // A start that is not aligned to the pattern, without and with a base offset.
        both(Kind::Near, &mut |random| Descriptor { start: 128 * (1 + random.below(7)), ..swizzled(random) });
        both(Kind::Near, &mut |random| Descriptor {
            start: 128 * (1 + random.below(7)),
            base: 1 + random.below(7),
            ..swizzled(random)
        });
        // Strides that do not fit the pattern.
        both(Kind::Near, &mut |random| Descriptor {
            leading: 16 * (1 + random.below(64)),
            stride: 16 * (1 + random.below(64)),
            ..swizzled(random)
        });
    }
    both(Kind::Wide, &mut |random| plain(random));
    both(Kind::Any, &mut |random| plain(random));
    trials
}

/// `wgmma.mma_async`, with every transposition, and some selectors and scales.
fn group_products(opcode: &Opcode, cases: &mut Vec<Case>) {
    let text = opcode.text();
    let sparse = opcode.get(Slot::Sparse).is_some();
    let [a, b, d] = [Slot::Atype, Slot::Btype, Slot::Dtype].map(|slot| ty(opcode, slot));
    // All sizes for one type; one of them for the others.
    let many = a == Modifier::F16 && d == Modifier::F32 && !sparse;
    if !many && !text.contains("n24k") {
        return;
    }
    // Behind D, A, B, the metadata and the predicate come two scales, then transpositions.
    let immediates = opcode.data().operands.len() - if sparse { 6 } else { 4 };
    let transpositions = immediates.saturating_sub(2);
    let has_scales = immediates != 0;
    let in_registers = opcode.operand_length(1) != Some(1);
    let selectors = if sparse { 4 / selectable(opcode, a) } else { 1 };
    for variant in 0..(1 << transpositions).max(selectors) {
        if many && !text.contains("n24k") && !text.contains("n64k") && variant != 0 {
            continue;
        }
        let mut kernel = Kernel::new(128);
        let count = opcode.operand_length(0).expect("a fragment");
        let a_count = opcode.operand_length(1).expect("a fragment");
        kernel.fill_shared(SHARED, UNIQUE);
        kernel.line("fence.proxy.async; bar.sync 0;");
        let vd = kernel.read("d", count, 32);
        kernel.read_uniform("da", 64);
        kernel.read_uniform("db", 64);
        kernel.read_uniform("sd", 32);
        kernel.declare(".reg .pred %scaled; .reg .b64 %base;");
        kernel.line(
            "setp.ne.b32 %scaled, %sd0, 0; mov.u64 %base, s; shr.u64 %base, %base, 4;
            add.u64 %da0, %da0, %base; add.u64 %db0, %db0, %base;",
        );
        let first = if in_registers { kernel.read("a", a_count, 32) } else { "%da0".to_owned() };
        let mut extra = String::new();
        let selector = variant % selectors;
        if sparse {
            kernel.read("e", 1, 32);
            extra = format!(", %e0, {selector}");
        }
        extra += ", %scaled";
        let some = text.bytes().fold(variant, |sum, byte| sum + u32::from(byte));
        let scales = [[1, 1], [-1, 1], [1, -1], [-1, -1]][some as usize % 4];
        if has_scales {
            extra += &format!(", {}, {}", scales[0], scales[1]);
        }
        for bit in 0..transpositions {
            extra += &format!(", {}", variant >> bit & 1);
        }
        kernel.line("wgmma.fence.sync.aligned;");
        kernel.line(&format!("{text} {vd}, {first}, %db0{extra};"));
        kernel.line("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
        kernel.write("d", count, 32);
        let name = format!(
            "{text}{} {}",
            if in_registers { " registers" } else { "" },
            extra.trim_start_matches(", ")
        );
        let mut random = Random::new(&name);
        let mut trials = Vec::new();
        for (i, (kind, [da, db])) in placements(&mut random).into_iter().enumerate() {
            // All placements for some sizes; for the others those that the values differ in.
            if !text.contains("n24k") && ![0, 3, 9].contains(&i) {
                continue;
            }
            // A and B share memory. What is finite as `.e4m3` is as `.e5m2`.
            let common = if [a, b] == [Modifier::E5m2, Modifier::E4m3] { b } else { a };
            let mut input = fill(&mut random, common, kind, UNIQUE);
            input.extend(fill(&mut random, d, kind, (count * 128 * 4) as usize));
            input.extend(u128::from(da.bits()).to_le_bytes());
            input.extend(u128::from(db.bits()).to_le_bytes());
            input.extend(u128::from(i != 3).to_le_bytes());
            if in_registers {
                input.extend(fill(&mut random, a, kind, (a_count * 128 * 4) as usize));
            }
            if sparse {
                input.extend(metadata(&mut random, a, 128));
            }
            trials.push(input);
        }
        cases.push(kernel.finish(name, trials));
    }
}

/// Bytes of memory around a matrix of `wmma.load` and `wmma.store`.
const MEMORY: usize = 4096;

/// `wmma.load` and `wmma.store`, with and without a stride.
fn matrix(opcode: &Opcode) -> Vec<Case> {
    let text = opcode.text();
    let loads = opcode.data().sem == Some(Sem::WmmaLoad);
    let [m, n, k] = opcode.matrix_shape().expect("a shape");
    let (slot, rows, columns) = match opcode.get(Slot::Matrix) {
        Some(Modifier::A) => (Slot::Atype, m, k),
        Some(Modifier::B) => (Slot::Btype, k, n),
        Some(Modifier::C) => (Slot::Ctype, m, n),
        _ => (Slot::Dtype, m, n),
    };
    let ty = ty(opcode, slot);
    let leading = if opcode.get(Slot::Layout) == Some(Modifier::Row) { columns } else { rows };
    let space = opcode.get(Slot::Space);
    let wider = leading + 128 / bits(ty).min(128);
    let mut cases = Vec::new();
    for stride in ["".to_owned(), format!(", {wider}"), ", %st0".to_owned()] {
        let mut kernel = Kernel::new(32);
        let shared = space == Some(Modifier::Shared);
        let count = opcode.operand_length(if loads { 0 } else { 1 }).expect("a fragment");
        kernel.declare(".reg .b64 %m;");
        kernel.read_uniform("st", 32);
        let register = register_bits(ty);
        if shared {
            kernel.fill_shared(MEMORY, MEMORY);
            kernel.line("mov.u64 %m, s;");
        }
        let values =
            if loads { kernel.registers("r", count, register) } else { kernel.read("r", count, register) };
        if loads {
            if !shared {
                let at = kernel.reserve_input(MEMORY);
                kernel.line(&format!("add.u64 %m, %in, {at};"));
            }
            kernel.line(&format!("{text} {values}, [%m]{stride};"));
            kernel.write("r", count, register);
        } else {
            if !shared {
                let at = kernel.reserve_output(MEMORY);
                kernel.line(&format!("add.u64 %m, %out, {at};"));
            }
            kernel.line(&format!("{text} [%m], {values}{stride};"));
            if shared {
                kernel.write_shared(MEMORY);
            }
        }
        let name = format!("{text} [p]{stride}");
        let mut random = Random::new(&name);
        let mut input = u128::from(wider).to_le_bytes().to_vec();
        let mut fill = |bytes: usize| fill(&mut random, Modifier::S32, Kind::Any, bytes);
        if loads || shared {
            input.extend(fill(MEMORY));
        }
        if !loads {
            input.extend(fill((count * register * 4) as usize));
        }
        cases.push(kernel.finish(name, vec![input]));
    }
    cases
}

/// `ldmatrix` and `stmatrix`: rows at arbitrary places of shared memory, that of a lane that gives none too.
fn rows(opcode: &Opcode) -> Case {
    const BYTES: usize = 2048;
    let text = opcode.text();
    let loads = opcode.data().sem == Some(Sem::Ldmatrix);
    let count = opcode.operand_length(if loads { 0 } else { 1 }).expect("a vector");
    let mut kernel = Kernel::new(32);
    kernel.fill_shared(BYTES, BYTES);
    kernel.read("p", 1, 32);
    kernel.declare(".reg .b64 %m, %o;");
    let generic = opcode.get(Slot::Space).is_none();
    kernel.line("mov.u64 %m, s;");
    if generic {
        kernel.line("cvta.shared.u64 %m, %m;");
    }
    kernel.line("cvt.u64.u32 %o, %p0; add.u64 %m, %m, %o;");
    if loads {
        let values = kernel.registers("r", count, 32);
        kernel.line(&format!("{text} {values}, [%m];"));
        kernel.write("r", count, 32);
    } else {
        let values = kernel.read("r", count, 32);
        kernel.line(&format!("{text} [%m], {values};"));
        kernel.write_shared(BYTES);
    }
    let trials = (0..2).map(|trial| {
        let mut random = Random::new(&format!("{text} {trial}"));
        let mut input = fill(&mut random, Modifier::S32, Kind::Any, BYTES);
        // No two lanes have the same row.
        let mut places: Vec<u32> = (0..BYTES as u32 / 16).collect();
        for lane in 0..32 {
            let other = lane + random.below((places.len() - lane) as u64) as usize;
            places.swap(lane, other);
            input.extend((16 * places[lane]).to_le_bytes());
        }
        if !loads {
            input.extend(fill(&mut random, Modifier::S32, Kind::Any, count as usize * 128));
        }
        input
    });
    let trials = trials.collect();
    kernel.finish(text, trials)
}

/// `movmatrix`.
fn transpose(opcode: &Opcode) -> Case {
    let mut kernel = Kernel::new(32);
    kernel.read("a", 1, 32);
    kernel.registers("d", 1, 32);
    kernel.line(&format!("{} %d0, %a0;", opcode.text()));
    kernel.write("d", 1, 32);
    let input = data::fill(&mut Random::new("movmatrix"), Modifier::S32, Kind::Any, 128);
    kernel.finish(opcode.text(), vec![input])
}
