//! The text of the kernel around an instruction: it loads operands, executes, and stores everything that the instruction
//! wrote.
//!
//! A thread has a row of input words and a row of result words, eight bytes each whatever the operand's width. An
//! instruction that accesses memory has a slot of a few words for each thread in the state space that it names; slots
//! in global memory are the first words of the result row.

use crate::case::{TARGET, VERSION};
use crate::inputs::THREADS;
use crate::object::{self, Object};
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

/// An instruction's surroundings.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub(crate) declarations: String,
    pub(crate) loads: Vec<Load>,
    pub(crate) before: String,
    pub(crate) instruction: String,
    pub(crate) after: String,
    pub(crate) stores: Vec<Store>,
    /// Words of a result row that are memory.
    pub(crate) slot: usize,
    pub(crate) needs_table: bool,
    /// Whether two CTAs are a cluster.
    pub(crate) clustered: bool,
    /// What the parameter `object` is, if there is one.
    pub(crate) object: Option<Object>,
}

/// An input register and the word it is loaded from.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) register: String,
    pub(crate) bits: u32,
    pub(crate) word: usize,
}

/// An output register; it is stored to the next words.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) register: String,
    pub(crate) bits: u32,
    /// Whether only the instruction writes it, so that a guard keeps what it held.
    pub(crate) guarded: bool,
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

    /// The word of a row that an operand's register is loaded from, with the bits that are loaded.
    pub fn operand(&self, register: &str) -> Option<(usize, u32)> {
        let load = self.loads.iter().find(|load| load.register == register)?;
        Some((load.word, load.bits))
    }

    /// The bits of the register that each result word is stored from.
    pub fn result_bits(&self) -> impl Iterator<Item = u32> {
        self.stores.iter().map(|store| store.bits)
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
