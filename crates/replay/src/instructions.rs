//! What a GPU computed for single instructions: `crates/numerics/tests/hardware/sm_90.gz`.
//!
//! `inputs NAME` begins a set of operands: one line a tuple, in hexadecimal. `op NAME SET DIGITS` is followed by one line: the
//! result of every tuple of the set, DIGITS hexadecimal digits each. The name of an instruction is how PTX writes it without operands;
//! `A+B` is A followed by B on zeros, which shows the carry that A leaves.
//!
//! The operands of a type are its edges (zeros, ones, the ends of its range, what conversions to other types round to or clamp) in all
//! combinations; random bits; floats with exponents near that of 1, where operands meet; and products at the bottom of
//! a binade and of the normal numbers, where roundings and `.ftz` decide.

use std::collections::HashMap;

/// One instruction of a recording.
#[derive(Debug)]
pub struct Instruction<'t> {
    /// The instruction without operands.
    pub name: &'t str,
    /// Hexadecimal digits of a result.
    pub digits: usize,
    /// The number of its set of operands in the recording.
    pub set: usize,
    results: &'t str,
}

/// A recording: sets of operands, and instructions on them.
#[derive(Debug, Default)]
pub struct Recording<'t> {
    /// The tuples of each set.
    pub sets: Vec<Vec<Vec<u64>>>,
    /// The instructions in their order.
    pub instructions: Vec<Instruction<'t>>,
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).expect("hexadecimal")
}

impl<'t> Recording<'t> {
    /// Reads a recording.
    ///
    /// # Panics
    /// If the text is none.
    pub fn parse(text: &'t str) -> Self {
        let mut recording = Self::default();
        let mut sets = HashMap::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["inputs", name] => {
                    sets.insert(name, recording.sets.len());
                    recording.sets.push(Vec::new());
                }
                ["op", name, set, digits] => recording.instructions.push(Instruction {
                    name,
                    digits: digits.parse().expect("a number of digits"),
                    set: sets[set],
                    results: lines.next().expect("a line of results"),
                }),
                _ => {
                    let set = recording.sets.last_mut().expect("`inputs`");
                    set.push(words.into_iter().map(hex).collect());
                }
            }
        }
        recording
    }

    /// The text with other results: of each instruction, those of the tuples of its set.
    ///
    /// # Errors
    /// The first error of `run`.
    pub fn again<E>(
        text: &str,
        mut run: impl FnMut(&Instruction<'_>, &[Vec<u64>]) -> Result<Vec<u64>, E>,
    ) -> Result<String, E> {
        let recording = Recording::parse(text);
        let mut instructions = recording.instructions.iter();
        let mut written = String::with_capacity(text.len());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            written.push_str(line);
            written.push('\n');
            if line.starts_with("op ") {
                let instruction = instructions.next().expect("a line is an instruction");
                let results = run(instruction, &recording.sets[instruction.set])?;
                let digits = instruction.digits;
                written.extend(results.iter().map(|result| format!("{result:0digits$x}")));
                written.push('\n');
                lines.next();
            }
        }
        Ok(written)
    }
}

impl Instruction<'_> {
    /// The results of the tuples of its set.
    pub fn results(&self) -> impl Iterator<Item = u64> {
        let chunks = self.results.as_bytes().chunks(self.digits);
        chunks.map(|chunk| hex(std::str::from_utf8(chunk).expect("ASCII")))
    }

    /// The widths of registers with its operands: that of the last type in its name, but for what is always 32 bits.
    fn operand_bits(&self, operands: usize) -> Vec<u32> {
        let bits = self.name.rsplit('.').find_map(register_bits).expect("a type");
        // Amounts of shifts, places and lengths of bit fields.
        let own = match self.name.split('.').next() {
            Some("shl" | "shr" | "bfe") => 1,
            Some("bfi") => 2,
            _ => operands,
        };
        (0..operands).map(|i| if i < own { bits } else { 32 }).collect()
    }

    /// A kernel for so many operands. Of each thread below `n` it reads operands, 64 bits each, from `from`, and writes the result,
    /// extended with zeros to 64 bits, to `to`.
    pub fn kernel(&self, kernel: &str, operands: usize) -> String {
        let sources = self.operand_bits(operands);
        let result = 4 * self.digits;
        let registers: Vec<String> = (0..operands).map(|i| format!("%a{i}")).collect();
        let list = registers.join(", ");
        let first = sources[0];
        let body = match (self.name.split_once('+'), self.name.split('.').next()) {
            (Some((with_carry, after)), _) => {
                let (_, ty) = after.split_once('.').expect("a type");
                format!("{with_carry}.{ty} %x, {list}; {after} %d, 0, 0;")
            }
            (None, Some("setp" | "testp")) => format!("{} %p, {list}; selp.b32 %d, 1, 0, %p;", self.name),
            (None, _) => format!("{} %d, {list};", self.name),
        };
        let mut loads = String::new();
        for (i, (register, bits)) in registers.iter().zip(sources).enumerate() {
            let converted = match bits {
                64 => format!("mov.b64 {register}, %w;"),
                _ => format!("cvt.u{bits}.u64 {register}, %w;"),
            };
            loads += &format!(".reg .b{bits} {register}; ld.global.u64 %w, [%from+{}]; {converted}\n", 8 * i);
        }
        let widened =
            if result == 64 { "mov.b64 %w, %d;".to_owned() } else { format!("cvt.u64.u{result} %w, %d;") };
        format!(
            ".visible .entry {kernel}(.param .u64 from, .param .u64 to, .param .u32 n)
{{
.reg .pred %p, %q; .reg .u32 %i, %n, %t; .reg .u64 %from, %to, %w; .reg .b{result} %d; .reg .b{first} %x;
ld.param.u64 %from, [from]; ld.param.u64 %to, [to]; ld.param.u32 %n, [n];
mov.u32 %i, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, {THREADS}, %t;
setp.ge.u32 %q, %i, %n; @%q ret;
mad.wide.u32 %from, %i, {}, %from; mad.wide.u32 %to, %i, 8, %to;
{loads}{body}
{widened}
st.global.u64 [%to], %w; ret;
}}
",
            8 * operands
        )
    }
}

/// Threads of a CTA of the kernels.
pub const THREADS: u32 = 256;

/// What stands before kernels in a module.
pub const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// Bits of a register for a type.
fn register_bits(ty: &str) -> Option<u32> {
    Some(match ty {
        "u8" | "s8" | "u16" | "s16" | "b16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 16,
        "u32" | "s32" | "b32" | "f32" | "u16x2" | "s16x2" | "f16x2" | "bf16x2" => 32,
        "u64" | "s64" | "b64" | "f64" => 64,
        _ => return None,
    })
}
