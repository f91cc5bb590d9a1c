//! Random structured kernels, each in two versions: one to analyse, and one that also writes down what its registers hold.
//!
//! Statements are arithmetic on a few registers that are written again and again, with guards, branches on which threads
//! may disagree, and loops whose rounds may differ from thread to thread, left in the middle or not. What a kernel writes
//! down is a record for each instruction of the first version that writes a register, and for each conditional branch.

use rand_core::RngCore;
use rand_pcg::Pcg64;
use std::fmt::Write;

/// Registers of 32 bits, of 64, and predicates.
const WORDS: u32 = 6;
const LONGS: u32 = 4;
const PREDICATES: u32 = 4;

/// What distinguishes threads, and does not.
const SPECIAL: [&str; 8] =
    ["%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%laneid", "%ntid.x", "%ctaid.y", "%warpid"];

/// Loops in one another, at most; rounds of each, at most.
const DEPTH: usize = 3;
const MOST_ROUNDS: u32 = 4;

/// Records of a thread.
pub(crate) const RECORDS: usize = 2048;

/// Bytes of a record: the instruction and the rounds of the loops around it, and the value.
pub(crate) const RECORD: usize = 16;

/// A kernel `k` in two versions.
pub(crate) struct Kernel {
    /// What is analysed.
    pub(crate) plain: String,
    /// What runs: the same with records.
    pub(crate) recording: String,
}

struct Generator {
    random: Pcg64,
    plain: String,
    recording: String,
    /// Instructions of the plain version so far.
    instructions: u32,
    labels: u32,
    depth: usize,
    /// Statements that may still come.
    budget: u32,
}

/// A kernel with about so many statements.
pub(crate) fn generate(random: Pcg64, statements: u32) -> Kernel {
    let mut generator = Generator {
        random,
        plain: String::new(),
        recording: String::new(),
        instructions: 0,
        labels: 0,
        depth: 0,
        budget: statements,
    };
    generator.begin();
    while generator.budget > 0 {
        generator.statement();
    }
    generator.step("ret");
    let head = ".version 8.3\n.target sm_80\n.address_size 64\n";
    let registers = format!(
        ".reg .b32 %v<{WORDS}>; .reg .b64 %w<{LONGS}>; .reg .pred %p<{PREDICATES}>; .reg .b32 %n<{DEPTH}>; .reg .pred %q;"
    );
    let parameters = ".param .u64 log, .param .u32 a, .param .u64 b";
    let plain = format!("{head}.visible .entry k({parameters})\n{{\n{registers}\n{}}}\n", generator.plain);
    // The log of a thread: its number in the grid times the size, and from there one record behind another.
    let size = RECORDS * RECORD;
    let prologue = format!(
        ".reg .b64 %log, %end, %x, %y; .reg .b32 %r<{DEPTH}>, %s, %t; .reg .pred %room;\n\
         mov.u32 %s, %ctaid.y; mov.u32 %t, %nctaid.x; mul.lo.u32 %s, %s, %t; mov.u32 %t, %ctaid.x; add.u32 %s, %s, %t;\n\
         mov.u32 %t, %ntid.z; mul.lo.u32 %s, %s, %t; mov.u32 %t, %tid.z; add.u32 %s, %s, %t;\n\
         mov.u32 %t, %ntid.y; mul.lo.u32 %s, %s, %t; mov.u32 %t, %tid.y; add.u32 %s, %s, %t;\n\
         mov.u32 %t, %ntid.x; mul.lo.u32 %s, %s, %t; mov.u32 %t, %tid.x; add.u32 %s, %s, %t;\n\
         ld.param.u64 %log, [log]; mul.wide.u32 %x, %s, {size}; add.u64 %log, %log, %x; add.u64 %end, %log, {size};\n\
         mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
    );
    let recording = format!(
        "{head}.visible .entry k({parameters})\n{{\n{registers}\n{prologue}{}}}\n",
        generator.recording
    );
    Kernel { plain, recording }
}

impl Generator {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.next_u32() % bound
    }

    /// An instruction of both versions.
    fn step(&mut self, text: &str) {
        let _ = writeln!(self.plain, "{text};");
        let _ = writeln!(self.recording, "{text};");
        self.instructions += 1;
    }

    /// A label of both.
    fn label(&mut self, label: &str) {
        let _ = writeln!(self.plain, "{label}:");
        let _ = writeln!(self.recording, "{label}:");
    }

    fn new_label(&mut self, kind: &str) -> String {
        self.labels += 1;
        format!("${kind}{}", self.labels)
    }

    /// What only the recording version does.
    fn aside(&mut self, text: &str) {
        let _ = writeln!(self.recording, "{text}");
    }

    /// Writes down a register's value as that of an instruction.
    fn record(&mut self, register: &str, instruction: u32) {
        let value = match &register[..2] {
            "%w" => format!("mov.b64 %y, {register};"),
            "%p" | "%q" => format!("selp.b64 %y, 1, 0, {register};"),
            _ => format!("cvt.u64.u32 %y, {register};"),
        };
        // Rounds of the loops around the instruction, and zeros.
        self.aside(&format!(
            "setp.lt.u64 %room, %log, %end; shl.b32 %s, %r2, 8; or.b32 %s, %s, %r1; shl.b32 %s, %s, 8; or.b32 %s, %s, %r0;\n\
             cvt.u64.u32 %x, %s; or.b64 %x, %x, {:#x}; {value}\n\
             @%room st.global.v2.b64 [%log], {{%x, %y}}; @%room add.u64 %log, %log, {RECORD};",
            u64::from(instruction + 1) << 32,
        ));
    }

    /// An instruction with a result, and its record.
    fn define(&mut self, register: &str, text: &str) {
        self.step(text);
        self.record(register, self.instructions - 1);
    }

    fn begin(&mut self) {
        for at in 0..WORDS {
            let special = SPECIAL[at as usize % SPECIAL.len()];
            self.define(&format!("%v{at}"), &format!("mov.u32 %v{at}, {special}"));
        }
        self.define("%v4", "ld.param.u32 %v4, [a]");
        self.define("%w0", "ld.param.u64 %w0, [b]");
        for at in 1..LONGS {
            let word = self.below(WORDS);
            let sign = ["u", "s"][self.below(2) as usize];
            self.define(&format!("%w{at}"), &format!("cvt.{sign}64.{sign}32 %w{at}, %v{word}"));
        }
        for at in 0..PREDICATES {
            self.compare(at);
        }
    }

    fn word(&mut self) -> String {
        match self.below(4) {
            0 => [0_u32, 1, 4, 5, 31, 0xffff_fffe][self.below(6) as usize].to_string(),
            _ => format!("%v{}", self.below(WORDS)),
        }
    }

    fn long(&mut self) -> String {
        match self.below(5) {
            0 => [0_u64, 1, 8, 12, 0xffff_ffff, !7][self.below(6) as usize].to_string(),
            _ => format!("%w{}", self.below(LONGS)),
        }
    }

    fn predicate(&mut self) -> String {
        format!("{}%p{}", if self.below(4) == 0 { "!" } else { "" }, self.below(PREDICATES))
    }

    fn guard(&mut self) -> String {
        match self.below(6) {
            0 => format!("@{} ", self.predicate()),
            _ => String::new(),
        }
    }

    fn compare(&mut self, at: u32) {
        let cmp = ["eq", "ne", "lt", "ge"][self.below(4) as usize];
        let ty = ["u32", "s32"][self.below(2) as usize];
        let (a, b) = (self.word(), self.word());
        let guard = self.guard();
        self.define(&format!("%p{at}"), &format!("{guard}setp.{cmp}.{ty} %p{at}, {a}, {b}"));
    }

    fn statement(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        match self.below(24) {
            0 | 1 if self.budget > 3 => self.branch(),
            2 | 3 if self.budget > 4 && self.depth < DEPTH => self.rounds(),
            4..=6 => {
                let at = self.below(PREDICATES);
                self.compare(at);
            }
            7 => self.combine(),
            8..=12 => self.long_arithmetic(),
            _ => self.arithmetic(),
        }
    }

    fn combine(&mut self) {
        let at = self.below(PREDICATES);
        let op = ["and", "or", "xor"][self.below(3) as usize];
        let (a, b) = (self.below(PREDICATES), self.below(PREDICATES));
        let guard = self.guard();
        self.define(&format!("%p{at}"), &format!("{guard}{op}.pred %p{at}, %p{a}, %p{b}"));
    }

    fn arithmetic(&mut self) {
        let at = self.below(WORDS);
        let (a, b, c) = (self.word(), self.word(), self.word());
        let guard = self.guard();
        let amount = self.below(34);
        let (p, long) = (self.below(PREDICATES), self.below(LONGS));
        let text = match self.below(21) {
            0..=2 => format!("add.u32 %v{at}, {a}, {b}"),
            3 => format!("sub.s32 %v{at}, {a}, {b}"),
            4 => format!("mul.lo.u32 %v{at}, {a}, {}", [3, 4, 7, 32, 0xffff_ffff_u32][amount as usize % 5]),
            5 => format!("mad.lo.s32 %v{at}, {a}, {b}, {c}"),
            6 => format!("and.b32 %v{at}, {a}, {}", [1, 3, 15, 31, 0xffff_fff0_u32][amount as usize % 5]),
            7 => format!("or.b32 %v{at}, {a}, {b}"),
            8 => format!("xor.b32 %v{at}, {a}, {b}"),
            9 => format!("shl.b32 %v{at}, {a}, {amount}"),
            10 => format!("shr.u32 %v{at}, {a}, {amount}"),
            11 => format!("shr.s32 %v{at}, {a}, {amount}"),
            12 => format!("min.u32 %v{at}, {a}, {b}"),
            13 => format!("max.s32 %v{at}, {a}, {b}"),
            14 => format!("selp.b32 %v{at}, {a}, {b}, %p{p}"),
            15 => format!("not.b32 %v{at}, {a}"),
            16 => format!("cvt.u32.u64 %v{at}, %w{long}"),
            17 => format!("rem.u32 %v{at}, {a}, {}", amount + 1),
            18 => format!("bfe.u32 %v{at}, {a}, {}, {}", amount % 8, 1 + amount / 8),
            19 => format!("mov.u32 %v{at}, {}", SPECIAL[amount as usize % SPECIAL.len()]),
            _ => format!("mov.b32 %v{at}, {a}"),
        };
        self.define(&format!("%v{at}"), &format!("{guard}{text}"));
    }

    fn long_arithmetic(&mut self) {
        let at = self.below(LONGS);
        let (a, b) = (self.long(), self.long());
        let (word, other) = (self.below(WORDS), self.below(WORDS));
        let guard = self.guard();
        let amount = self.below(8);
        let (p, sign) = (self.below(PREDICATES), ["u", "s"][self.below(2) as usize]);
        let text = match self.below(10) {
            0 | 1 => format!("add.s64 %w{at}, {a}, {b}"),
            2 => format!("sub.s64 %w{at}, {a}, {b}"),
            3 => format!("cvt.{sign}64.{sign}32 %w{at}, %v{word}"),
            4 => format!("mul.wide.{sign}32 %w{at}, %v{word}, {}", [2, 4, 8, 24][amount as usize % 4]),
            5 => format!("mad.wide.{sign}32 %w{at}, %v{word}, {}, {a}", [4, 8][amount as usize % 2]),
            6 => format!("shl.b64 %w{at}, {a}, {amount}"),
            7 => format!("selp.b64 %w{at}, {a}, {b}, %p{p}"),
            8 => format!("mov.b64 %w{at}, {{%v{word}, %v{other}}}"),
            _ => format!("mov.b64 %w{at}, {a}"),
        };
        self.define(&format!("%w{at}"), &format!("{guard}{text}"));
    }

    /// A conditional branch, with a record of what decides it.
    fn jump(&mut self, predicate: &str, label: &str) {
        let register = predicate.trim_start_matches('!');
        self.record(register, self.instructions);
        self.step(&format!("@{predicate} bra {label}"));
    }

    fn statements(&mut self) {
        for _ in 0..1 + self.below(4) {
            self.statement();
        }
    }

    fn branch(&mut self) {
        let predicate = self.predicate();
        let (other, end) = (self.new_label("E"), self.new_label("M"));
        self.jump(&predicate, &other);
        self.statements();
        if self.below(2) == 0 {
            self.label(&other);
            return;
        }
        self.step(&format!("bra {end}"));
        self.label(&other);
        self.statements();
        self.label(&end);
    }

    /// A loop of one to four rounds: how many is in a register, so that threads may differ.
    fn rounds(&mut self) {
        let (depth, count) = (self.depth, self.below(WORDS));
        let (head, end) = (self.new_label("L"), self.new_label("X"));
        self.define(&format!("%n{depth}"), &format!("and.b32 %n{depth}, %v{count}, {}", MOST_ROUNDS - 1));
        self.depth += 1;
        self.label(&head);
        self.aside(&format!("add.u32 %r{depth}, %r{depth}, 1;"));
        // What the header reads shows what its parameters are.
        let (at, from) = (self.below(WORDS), self.below(WORDS));
        self.define(&format!("%v{at}"), &format!("mov.b32 %v{at}, %v{from}"));
        self.statements();
        if self.below(3) == 0 {
            let predicate = self.predicate();
            self.jump(&predicate, &end);
            self.statements();
        }
        self.define("%q", &format!("setp.eq.u32 %q, %n{depth}, 0"));
        self.define(&format!("%n{depth}"), &format!("sub.u32 %n{depth}, %n{depth}, 1"));
        self.jump("!%q", &head);
        self.label(&end);
        self.aside(&format!("mov.u32 %r{depth}, 0;"));
        self.depth -= 1;
        // Read behind the loop, values can be of different rounds.
        let (at, from) = (self.below(WORDS), self.below(WORDS));
        self.define(&format!("%v{at}"), &format!("mov.b32 %v{at}, %v{from}"));
        let (at, from) = (self.below(LONGS), self.below(LONGS));
        self.define(&format!("%w{at}"), &format!("mov.b64 %w{at}, %w{from}"));
    }
}
