//! The kernel around an instruction: it loads operands, executes, and stores everything that the instruction wrote.
//!
//! A thread has a row of input words and a row of result words, eight bytes each whatever the operand's width. An
//! instruction that accesses memory has a slot of a few words for each thread in the state space that it names; slots
//! in global memory are the first words of the result row.

use crate::case::{Case, TARGET, VERSION};
use crate::domain::Domain;
use crate::inputs::{Inputs, THREADS};
use crate::object::{self, Object};
use ptx::isa::{Count, Limit, Mnemonic, Modifier, Opcode, OperandKind, OperandSpec, Role, Slot};
use ptx::types::{ScalarType, TypeKind};
use std::fmt::Write;

/// What the destination holds where a guard does not.
pub const OLD: u64 = 0x5a5a_5a5a_5a5a_5a5a;

/// Words of the kernel parameter that holds operands or what `ld.param` reads.
pub const CONSTANTS: usize = 16;

/// Bytes of the table in constant memory for each of 32 threads.
const TABLE_ENTRY: usize = 32;

/// How a kernel gets its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Setting {
    /// A bit for each input word that is a kernel parameter, the same for all threads.
    pub uniform: u64,
    /// Even threads leave the instruction out.
    pub guarded: bool,
}

/// One way to write an opcode's operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// Whether optional operands are there.
    pub(crate) full: bool,
    /// Which immediate, selector, split or register width.
    pub(crate) alternative: usize,
    /// The opcode's index in its form; what no result depends on alternates with it.
    pub(crate) index: usize,
}

/// An instruction's surroundings.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    declarations: String,
    loads: Vec<Load>,
    before: String,
    instruction: String,
    after: String,
    stores: Vec<Store>,
    /// Words of a result row that are memory.
    slot: usize,
    needs_table: bool,
    /// Whether two CTAs are a cluster.
    clustered: bool,
    /// What the parameter `object` is, if there is one.
    object: Option<Object>,
}

/// An input register and the word it is loaded from.
#[derive(Clone, Debug)]
struct Load {
    register: String,
    bits: u32,
    word: usize,
}

/// An output register; it is stored to the next words.
#[derive(Clone, Debug)]
struct Store {
    register: String,
    bits: u32,
    /// Whether only the instruction writes it, so that a guard keeps what it held.
    guarded: bool,
}

/// Rows begin at multiples of 16 bytes.
pub fn stride(words: usize) -> usize {
    words.next_multiple_of(2)
}

/// The head of a module with these kernels.
pub fn header<'a>(kernels: impl IntoIterator<Item = &'a Kernel>) -> String {
    let mut text = format!(".version {VERSION}\n.target {TARGET}\n.address_size 64\n");
    if kernels.into_iter().any(|kernel| kernel.needs_table) {
        let mut random = crate::random::Random::new(9);
        let words: Vec<_> = (0..32 * TABLE_ENTRY / 8).map(|_| format!("{:#x}", random.next())).collect();
        let _ = writeln!(text, ".const .align 16 .b64 table[{}] = {{{}}};", words.len(), words.join(", "));
    }
    text
}

impl Kernel {
    /// Words of a result row.
    pub fn results(&self) -> usize {
        self.slot + self.stores.iter().map(|store| if store.bits == 128 { 2 } else { 1 }).sum::<usize>()
    }

    /// What the host makes for it.
    pub fn object(&self) -> Option<&Object> {
        self.object.as_ref()
    }

    /// Whether a setting other than the plain one makes sense: all operands are loaded, the instruction alone writes all
    /// results, and a CTA is enough.
    pub fn is_plain(&self) -> bool {
        let registers =
            || self.stores.iter().map(|store| store.bits).chain(self.loads.iter().map(|load| load.bits));
        let all_loaded =
            (1..=4).contains(&self.loads.len()) && self.loads.iter().enumerate().all(|(i, l)| l.word == i);
        self.slot == 0
            && !self.clustered
            && all_loaded
            && registers().all(|bits| bits != 8 && bits != 128)
            && self.stores.iter().all(|store| store.guarded)
    }

    /// What result word `word` is where the guard does not hold.
    pub fn skipped(&self, word: usize) -> u64 {
        match self.stores.get(word).map_or(64, |store| store.bits) {
            1 => 1,
            bits => OLD & u64::MAX >> (64 - bits.min(64)),
        }
    }

    /// The text of the kernel as an entry of a module.
    pub fn text(&self, name: &str, inputs: usize, setting: Setting) -> String {
        let mut text = format!(
            ".visible .entry {name}(.param .b64 rows, .param .b64 results, .param .align 16 .b8 constants[{}]{})\n{}{{\n\
             .reg .b32 %thread, %cta, %t; .reg .b64 %row, %result, %w, %x, %slot; .reg .pred %guard;\n{}\
             mov.u32 %cta, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %thread, %cta, {THREADS}, %t;\n\
             ld.param.b64 %row, [rows]; mad.wide.u32 %row, %thread, {}, %row;\n\
             ld.param.b64 %result, [results]; mad.wide.u32 %result, %thread, {}, %result;\n",
            CONSTANTS * 8,
            match &self.object {
                Some(_) => format!(", .param .align 64 .b8 object[{}]", object::BYTES),
                None => String::new(),
            },
            if self.clustered { ".reqnctapercluster 2, 1, 1\n" } else { "" },
            self.declarations,
            stride(inputs) * 8,
            stride(self.results()) * 8,
        );
        if setting.guarded {
            text.push_str("and.b32 %t, %thread, 1; setp.ne.b32 %guard, %t, 0;\n");
        }
        for load in &self.loads {
            let uniform = load.word < CONSTANTS && setting.uniform >> load.word & 1 == 1;
            load.text(if uniform { ("param", "constants") } else { ("global", "%row") }, &mut text);
        }
        if setting.guarded {
            self.stores.iter().for_each(|store| store.preset(&mut text));
        }
        let guard = if setting.guarded { "@%guard " } else { "" };
        let _ = writeln!(text, "{}{guard}{};\n{}", self.before, self.instruction, self.after);
        let mut word = self.slot;
        for store in &self.stores {
            store.text(word, &mut text);
            word += if store.bits == 128 { 2 } else { 1 };
        }
        text.push_str("ret;\n}\n");
        text
    }
}

impl Load {
    fn text(&self, (space, base): (&str, &str), text: &mut String) {
        let Self { register, bits, .. } = self;
        let at = self.word * 8;
        let _ = match bits {
            1 => writeln!(text, "ld.{space}.b32 %t, [{base}+{at}]; setp.ne.b32 {register}, %t, 0;"),
            128 => writeln!(
                text,
                "ld.{space}.b64 %w, [{base}+{at}]; ld.{space}.b64 %x, [{base}+{}]; mov.b128 {register}, {{%w, %x}};",
                at + 8
            ),
            _ => writeln!(text, "ld.{space}.b{bits} {register}, [{base}+{at}];"),
        };
    }
}

impl Store {
    fn preset(&self, text: &mut String) {
        let Self { register, bits, .. } = self;
        let _ = match bits {
            1 => writeln!(text, "setp.eq.b32 {register}, 0, 0;"),
            128 => writeln!(text, "mov.b64 %w, {OLD}; mov.b128 {register}, {{%w, %w}};"),
            _ => writeln!(text, "mov.b{bits} {register}, {};", OLD & u64::MAX >> (64 - bits)),
        };
    }

    fn text(&self, word: usize, text: &mut String) {
        let Self { register, bits, .. } = self;
        let at = word * 8;
        let _ = match bits {
            1 => writeln!(text, "selp.b32 %t, 1, 0, {register}; st.global.b32 [%result+{at}], %t;"),
            128 => writeln!(
                text,
                "mov.b128 {{%w, %x}}, {register}; st.global.b64 [%result+{at}], %w; st.global.b64 [%result+{}], %x;",
                at + 8
            ),
            _ => writeln!(text, "st.global.b{bits} [%result+{at}], {register};"),
        };
    }
}

/// The immediates that are tried: the ends of the range, and values between them.
pub(crate) fn immediates(opcode: &Opcode, limit: Option<Limit>) -> Vec<i64> {
    match (opcode.mnemonic(), limit) {
        // Which threads have the indices of a sparse matrix. Some instructions take two of the four; what they do with
        // the others is undefined, up to a fault.
        (Mnemonic::Mma | Mnemonic::Wgmma, Some(Limit::Range(0, 3))) => vec![0, 1],
        // Truth tables: constants, one operand, conjunction, parity, majority, choice, and any.
        (Mnemonic::Lop3, _) => {
            vec![0, 255, 0xf0, 0xcc, 0xaa, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0xd8, 0x3c, 0x01, 0x6b, 0xb4, 0x27]
        }
        // The highest numbers are of later targets, or of no type.
        (Mnemonic::Tensormap, _) => match opcode.get(Slot::Field).map_or("", Modifier::text) {
            ".elemtype" => vec![0, 6, 12],
            ".interleave_layout" => vec![0, 1, 2],
            ".swizzle_mode" => vec![0, 1, 3],
            ".fill_mode" => vec![0, 1],
            ".global_stride" => vec![0, 1, 3],
            // Bytes of a map that is copied.
            "" => vec![128],
            _ => vec![0, 1, 4],
        },
        (_, Some(Limit::Range(low, high))) if high - low < 4 => {
            (low..=high).filter(|&value| low >= 0 || value != 0).collect()
        }
        (_, Some(Limit::Range(low, high))) => vec![low, high, low + (high - low) / 3],
        (_, Some(Limit::Steps(low, high, step))) => vec![low, high, (low + (high - low) / 3) / step * step],
        (_, Some(Limit::OneOf(values))) => values.to_vec(),
        (_, Some(Limit::MultipleOf(_)) | None) => vec![0],
    }
}

/// An instruction with only the first and last registers of long vectors.
fn shortened(instruction: &str) -> String {
    let mut text = String::new();
    for part in instruction.split_inclusive('}') {
        match part.split_once('{').map(|(before, list)| (before, list.split(", ").collect::<Vec<_>>())) {
            Some((before, list)) if list.len() > 4 => {
                let _ = write!(text, "{before}{{{} .. {}", list[0], list[list.len() - 1]);
            }
            _ => text.push_str(part),
        }
    }
    text
}

pub(crate) struct Builder<'a> {
    pub(crate) opcode: &'a Opcode,
    pub(crate) variant: Variant,
    kernel: Kernel,
    domains: Vec<Domain>,
    /// What the case's name says that its instruction does not show.
    remarks: String,
    /// The immediate before the operand at hand.
    immediate: i64,
    /// What comes after all that follows the instruction.
    last: String,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(opcode: &'a Opcode, variant: Variant) -> Self {
        Self {
            opcode,
            variant,
            kernel: Kernel::default(),
            domains: Vec::new(),
            remarks: String::new(),
            immediate: 0,
            last: String::new(),
        }
    }

    /// The case, unless this variant has none.
    pub(crate) fn case(mut self) -> Option<Case> {
        let mut operands = String::new();
        self.carry_in();
        for (i, spec) in self.opcode.data().operands.iter().enumerate() {
            let written = match spec.with {
                Some(modifier) => self.opcode.has(modifier),
                None => !spec.optional || self.variant.full,
            };
            if !written {
                continue;
            }
            let operand = self.operand(i, spec)?;
            let separator = if operands.is_empty() { " " } else { ", " };
            operands.push_str(if spec.joined { "|" } else { separator });
            operands.push_str(&operand);
        }
        self.kernel.instruction = format!("{}{operands}", self.opcode.text());
        self.carry_out();
        if self.opcode.mnemonic() == Mnemonic::Wgmma {
            self.await_warpgroup();
        }
        self.kernel.after.push_str(&self.last);
        if self.kernel.results() == 0 {
            return None;
        }
        Some(Case {
            opcode: self.opcode.clone(),
            name: shortened(&self.kernel.instruction) + &self.remarks,
            inputs: Inputs {
                together: self.is_of_warp(),
                domains: self.domains,
                cluster: if self.kernel.clustered { 2 } else { 1 },
            },
            kernel: self.kernel,
        })
    }

    /// Whether what a lane gets depends on the others.
    fn is_of_warp(&self) -> bool {
        use Mnemonic::*;
        matches!(
            self.opcode.mnemonic(),
            Shfl | Vote | Match | Redux | Activemask | Elect | Bar | Barrier | Movmatrix | Mma | Wmma | Wgmma
        )
    }

    fn carries(&self) -> bool {
        matches!(self.opcode.mnemonic(), Mnemonic::Addc | Mnemonic::Subc | Mnemonic::Madc)
    }

    /// Sets the carry bit from an input.
    fn carry_in(&mut self) {
        if self.carries() {
            let word = self.word(Domain::Flag);
            self.kernel.declarations.push_str(".reg .b32 %carry;\n");
            self.kernel.loads.push(Load { register: "%carry".into(), bits: 32, word });
            self.kernel.before.push_str("add.cc.u32 %t, %carry, 0xffffffff;\n");
        }
    }

    /// Reads the carry bit back.
    fn carry_out(&mut self) {
        if self.opcode.get(Slot::Cc).is_some() {
            self.kernel.declarations.push_str(".reg .b32 %carried;\n");
            self.kernel.after.push_str("addc.u32 %carried, 0, 0;\n");
            self.kernel.stores.push(Store { register: "%carried".into(), bits: 32, guarded: false });
        }
    }

    /// A new input word.
    pub(crate) fn word(&mut self, domain: Domain) -> usize {
        self.domains.push(domain);
        self.domains.len() - 1
    }

    /// A new input register.
    pub(crate) fn input(&mut self, domain: Domain, bits: u32) -> String {
        let word = self.word(domain);
        if bits == 128 {
            self.word(domain);
        }
        let letter = if bits == 1 { 'p' } else { 'i' };
        let register = format!("%{letter}{}", self.kernel.loads.len());
        self.declare(&register, bits);
        self.kernel.loads.push(Load { register: register.clone(), bits, word });
        register
    }

    /// A new output register.
    pub(crate) fn output(&mut self, bits: u32) -> String {
        let register = format!("%o{}", self.kernel.stores.len());
        self.declare(&register, bits);
        self.kernel.stores.push(Store { register: register.clone(), bits, guarded: true });
        register
    }

    /// An output register that something other than the instruction writes.
    pub(crate) fn observed(&mut self, bits: u32) -> String {
        let register = self.output(bits);
        if let Some(store) = self.kernel.stores.last_mut() {
            store.guarded = false;
        }
        register
    }

    fn declare(&mut self, register: &str, bits: u32) {
        let ty = if bits == 1 { ".pred".to_owned() } else { format!(".b{bits}") };
        let _ = writeln!(self.kernel.declarations, ".reg {ty} {register};");
    }

    pub(crate) fn declaration(&mut self, text: &str) {
        self.kernel.declarations.push_str(text);
        self.kernel.declarations.push('\n');
    }

    pub(crate) fn before(&mut self, text: &str) {
        self.kernel.before.push_str(text);
        self.kernel.before.push('\n');
    }

    pub(crate) fn after(&mut self, text: &str) {
        self.kernel.after.push_str(text);
        self.kernel.after.push('\n');
    }

    /// Something to be done after all that follows the instruction.
    pub(crate) fn last(&mut self, text: &str) {
        self.last.push_str(text);
        self.last.push('\n');
    }

    pub(crate) fn remark(&mut self, text: &str) {
        self.remarks.push_str(text);
    }

    pub(crate) fn use_slot_words(&mut self, words: usize) {
        self.kernel.slot = words;
    }

    pub(crate) fn use_cluster(&mut self) {
        self.kernel.clustered = true;
    }

    pub(crate) fn use_object(&mut self, object: Object) {
        self.kernel.object = Some(object);
    }

    pub(crate) fn use_table(&mut self) {
        self.kernel.needs_table = true;
    }

    fn operand(&mut self, i: usize, spec: &OperandSpec) -> Option<String> {
        if let Some(text) = self.special(spec) {
            return Some(text);
        }
        let ty = self.opcode.operand_type(i);
        match spec.kind {
            OperandKind::Register { .. } | OperandKind::Value { .. } => Some(self.scalar(spec.role, ty?)),
            OperandKind::Predicate { negatable, .. } => match spec.role {
                Role::Read => {
                    let register = self.input(Domain::Flag, 1);
                    let negated = negatable && self.variant.index % 2 == 1;
                    Some(if negated { format!("!{register}") } else { register })
                }
                Role::Write | Role::ReadWrite => Some(self.output(1)),
            },
            OperandKind::Immediate => {
                let values = immediates(self.opcode, spec.limit);
                // Several immediates of an instruction run through their values at different speeds.
                self.immediate = values[(self.variant.alternative * (i | 1)) % values.len()];
                Some(self.immediate.to_string())
            }
            OperandKind::Vector { count, .. } => self.vector(i, spec.role, count, ty),
            OperandKind::Address { .. } => self.address(i),
            OperandKind::Selected(_) => Some(self.selected(i, spec.role, ty?)),
            OperandKind::Sink => Some("_".to_owned()),
            OperandKind::Texture => self.texture(),
            OperandKind::Surface => self.surface(),
            OperandKind::Descriptor => self.queried(),
            OperandKind::TensorMap => self.tensor(),
            OperandKind::TensorMemory
            | OperandKind::Label
            | OperandKind::Function
            | OperandKind::Results
            | OperandKind::Arguments
            | OperandKind::BranchTargets
            | OperandKind::CallTargets => None,
        }
    }

    /// Operands whose values the instruction's other threads or the hardware prescribe.
    fn special(&mut self, spec: &OperandSpec) -> Option<String> {
        match (self.opcode.mnemonic(), spec.name) {
            (_, "membermask") => Some("0xffffffff".into()),
            (_, "policy") => {
                self.declaration(".reg .b64 %policy;");
                self.before("createpolicy.fractional.L2::evict_first.b64 %policy, 1.0;");
                Some("%policy".into())
            }
            (Mnemonic::Cp, _) if self.opcode.get(Slot::Tensor).is_some() => self.of_tensor(spec),
            (Mnemonic::Tensormap, _) => self.field_value(spec),
            (Mnemonic::Tex | Mnemonic::Tld4 | Mnemonic::Txq, _) => self.of_texture(spec),
            (Mnemonic::Sust, "b") => self.stored_to_surface(),
            (Mnemonic::Isspacep | Mnemonic::Cvta | Mnemonic::Mapa | Mnemonic::Getctarank, _) => {
                self.of_addresses(spec)
            }
            (Mnemonic::Cp, "srcsize") => {
                // More than is copied is undefined.
                let register = self.input(Domain::Of(ScalarType::U32), 32);
                self.before(&format!("min.u32 {register}, {register}, {};", self.immediate));
                Some(register)
            }
            (Mnemonic::Bar | Mnemonic::Barrier, "a") => Some("1".into()),
            (Mnemonic::Bar | Mnemonic::Barrier, "b") => Some(THREADS.to_string()),
            (Mnemonic::Mbarrier, _) | (Mnemonic::Cp, "size" | "ctaMask") => self.of_asynchronous(spec),
            (Mnemonic::Wgmma, _) => self.of_warpgroup(spec),
            (Mnemonic::Mma, "e") => Some(self.positions()),
            // Numbers, although registers of other types serve.
            (Mnemonic::Shfl, "b" | "c") => Some(self.input(Domain::Of(ScalarType::U32), 32)),
            (Mnemonic::Fns, "offset") => Some(self.input(Domain::Of(ScalarType::S32), 32)),
            (Mnemonic::Redux, "a") => Some(self.input(Domain::Of(self.opcode.ty(Slot::Type)?), 32)),
            (Mnemonic::Wmma, "stride") => {
                Some(if self.opcode.has(Modifier::B1) { "128" } else { "32" }.into())
            }
            _ => None,
        }
    }

    /// The metadata of a sparse matrix.
    pub(crate) fn positions(&mut self) -> String {
        let halves = self.opcode.ty(Slot::Atype) == Some(ScalarType::Tf32);
        self.input(if halves { Domain::Halves } else { Domain::Positions }, 32)
    }

    /// The register width of an integer operand, which may be wider than its type in conversions and memory accesses.
    fn width(&mut self, ty: ScalarType) -> u32 {
        let natural = ty.bits().max(16);
        let integer = matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Untyped);
        let memory = matches!(self.opcode.mnemonic(), Mnemonic::Ld | Mnemonic::Ldu | Mnemonic::St)
            && self.opcode.get(Slot::Async).is_none();
        let widens =
            memory || self.opcode.mnemonic() == Mnemonic::Cvt && self.opcode.get(Slot::Pack).is_none();
        let least = [16, 32, 64][self.variant.alternative % 3];
        if !widens || !integer || natural >= least {
            return natural;
        }
        if !self.remarks.contains(" in .b") {
            let _ = write!(self.remarks, " in .b{least}");
        }
        least
    }

    pub(crate) fn scalar(&mut self, role: Role, ty: ScalarType) -> String {
        if ty == ScalarType::Pred {
            return if role == Role::Read { self.input(Domain::Flag, 1) } else { self.output(1) };
        }
        let bits = self.width(ty);
        match role {
            Role::Read => {
                let domain = match ty.bits() {
                    128 => Domain::Of(ScalarType::B64),
                    // What is above the type's bits in the register must not count.
                    of if of < bits && bits == 32 => Domain::Of(ScalarType::B32),
                    of if of < bits && bits == 64 => Domain::Of(ScalarType::B64),
                    of if of < bits => Domain::Of(ScalarType::B16),
                    _ => Domain::Of(ty),
                };
                self.input(domain, bits)
            }
            Role::Write => self.output(bits),
            Role::ReadWrite => {
                let register = self.input(Domain::Of(ty), bits);
                // What is loaded is what it holds where a guard keeps it.
                self.kernel.stores.push(Store { register: register.clone(), bits, guarded: true });
                register
            }
        }
    }

    fn vector(&mut self, i: usize, role: Role, count: Count, ty: Option<ScalarType>) -> Option<String> {
        let (length, ty) = match count {
            Count::Parts => {
                let whole = self.opcode.operand_type(if role == Role::Write { 1 } else { 0 })?;
                let parts = [2, 4, 8][self.variant.alternative];
                let part = whole.bits() / parts;
                let ty = ScalarType::ALL.iter().map(|(ty, _)| *ty);
                let ty = ty.filter(|ty| ty.kind() == TypeKind::Untyped).find(|ty| ty.bits() == part)?;
                // Eight parts exist of no type; parts of four bits neither.
                (Some(parts).filter(|&parts| parts < 8)?, ty)
            }
            Count::Of(slot) if self.opcode.get(slot).is_none() => return Some(self.scalar(role, ty?)),
            _ => (self.opcode.operand_length(i)?, ty?),
        };
        let elements: Vec<_> = (0..length)
            .map(|_| match (count, self.element(i), role) {
                (Count::Parts, ..) if ty == ScalarType::B8 => match role {
                    Role::Read => self.input(Domain::Of(ty), 8),
                    Role::Write | Role::ReadWrite => self.output(8),
                },
                (Count::Fragment(_), Some(element), Role::Read) => {
                    self.input(Domain::Elements(element), ty.bits())
                }
                // Sums of integers take any bits.
                (Count::Fragment(_), None, Role::Read) if ty == ScalarType::S32 => {
                    self.input(Domain::Of(ScalarType::B32), ty.bits())
                }
                _ => self.scalar(role, ty),
            })
            .collect();
        Some(format!("{{{}}}", elements.join(", ")))
    }

    /// The format of a matrix operand's elements, where they are packed into 32 bits.
    fn element(&self, i: usize) -> Option<Modifier> {
        let OperandKind::Vector { count: Count::Fragment(matrix), .. } = self.opcode.data().operands[i].kind
        else {
            return None;
        };
        let slot = match matrix {
            ptx::isa::Fragment::A => Slot::Atype,
            ptx::isa::Fragment::B => Slot::Btype,
            ptx::isa::Fragment::C => Slot::Ctype,
            ptx::isa::Fragment::D => Slot::Dtype,
        };
        let element = self.opcode.get(slot).unwrap_or(Modifier::F16);
        (!matches!(element, Modifier::F64 | Modifier::F32 | Modifier::S32)).then_some(element)
    }

    /// An operand of a video instruction with a selector of its parts.
    fn selected(&mut self, i: usize, role: Role, ty: ScalarType) -> String {
        let register = self.scalar(role, ty);
        let way = self.variant.alternative;
        let mnemonic = self.opcode.mnemonic().text();
        let (sources, masks): ([&str; 6], [&str; 6]) = match mnemonic.as_bytes().last() {
            Some(b'2') => {
                (["", ".h32", ".h01", ".h23", ".h13", ".h20"], ["", ".h0", ".h1", ".h10", ".h0", ".h1"])
            }
            Some(b'4') => (
                ["", ".b7654", ".b0123", ".b7531", ".b6420", ".b0707"],
                ["", ".b0", ".b3", ".b10", ".b3210", ".b210"],
            ),
            _ => ([".b1", "", ".b3", ".h1", ".b0", ".h0"], [".b0", ".b1", ".b2", ".b3", ".h0", ".h1"]),
        };
        let packed = mnemonic.ends_with(['2', '4']);
        let selector = match role {
            Role::Write if packed || self.variant.full => masks[way],
            Role::Write | Role::ReadWrite => "",
            // Sources are selected independently of one another.
            Role::Read if packed && way == 0 => "",
            Role::Read => sources[(way * (2 * i - 1) + i) % 6],
        };
        format!("{register}{selector}")
    }
}
