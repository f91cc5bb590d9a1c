//! Kernels around one instruction. Each CTA is a trial: it reads its own piece of the input and writes its own piece of
//! the output.

use std::fmt::Write as _;

/// A kernel and what it is run on: its parameters are the addresses of inputs and outputs, and each CTA is a trial.
#[derive(Debug)]
pub struct Case {
    /// Names the case: the instruction, and what else makes it.
    pub name: String,
    /// Threads of a CTA.
    pub threads: u32,
    /// The PTX of the entry, whose name is `{}`.
    pub(super) text: String,
    /// The input of every trial.
    pub trials: Vec<Vec<u8>>,
    /// Bytes of output of a trial.
    pub output: usize,
}

/// A kernel being written.
pub(super) struct Kernel {
    threads: u32,
    declarations: String,
    body: String,
    input: usize,
    output: usize,
}

impl Kernel {
    pub(super) fn new(threads: u32) -> Self {
        Self { threads, declarations: String::new(), body: String::new(), input: 0, output: 0 }
    }

    pub(super) fn declare(&mut self, text: &str) {
        let _ = writeln!(self.declarations, "{text}");
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "{text}");
    }

    /// Registers `%NAME0`.. of `bits`, each thread's own words of the input. Returns the vector.
    pub(super) fn read(&mut self, name: &str, count: u32, bits: u32) -> String {
        self.registers(name, count, bits);
        let bytes = bits / 8;
        self.line(&format!("mad.wide.u32 %at, %thread, {bytes}, %in;"));
        for i in 0..count {
            let at = self.input + (i * bytes * self.threads) as usize;
            self.line(&format!("ld.global.b{bits} %{name}{i}, [%at+{at}];"));
        }
        self.input += (count * bytes * self.threads) as usize;
        vector(name, count)
    }

    /// Registers `%NAME0`.. of `bits`. Returns the vector.
    pub(super) fn registers(&mut self, name: &str, count: u32, bits: u32) -> String {
        self.declare(&format!(".reg .b{bits} %{name}<{count}>;"));
        vector(name, count)
    }

    /// A value of `bits` that is the same for all threads: `%NAME0`.
    pub(super) fn read_uniform(&mut self, name: &str, bits: u32) {
        self.registers(name, 1, bits);
        self.line(&format!("ld.global.b{bits} %{name}0, [%in+{}];", self.input));
        // What follows stays aligned.
        self.input += 16;
    }

    /// Writes registers `%NAME0`.. .
    pub(super) fn write(&mut self, name: &str, count: u32, bits: u32) {
        let bytes = bits / 8;
        self.line(&format!("mad.wide.u32 %at, %thread, {bytes}, %out;"));
        for i in 0..count {
            let at = self.output + (i * bytes * self.threads) as usize;
            self.line(&format!("st.global.b{bits} [%at+{at}], %{name}{i};"));
        }
        self.output += (count * bytes * self.threads) as usize;
    }

    /// Bytes of the input that the kernel reads on its own; where they start.
    pub(super) fn reserve_input(&mut self, bytes: usize) -> usize {
        self.input += bytes;
        self.input - bytes
    }

    /// Bytes of the output that the kernel writes on its own; where they start.
    pub(super) fn reserve_output(&mut self, bytes: usize) -> usize {
        self.output += bytes;
        self.output - bytes
    }

    /// Shared memory `s` of so many bytes, filled from the input: its first `unique` bytes, over and over.
    pub(super) fn fill_shared(&mut self, bytes: usize, unique: usize) {
        let from = self.reserve_input(unique);
        self.declare(&format!(".shared .align 1024 .b8 s[{bytes}];\n.reg .b32 %i, %j, %to; .reg .b32 %v<4>; .reg .b64 %from; .reg .pred %more;"));
        self.line(&format!(
            "mov.u32 %i, %thread;
            fill:
            setp.ge.u32 %more, %i, {chunks}; @%more bra filled;
            rem.u32 %j, %i, {period};
            mad.wide.u32 %from, %j, 16, %in;
            ld.global.v4.b32 {{%v0,%v1,%v2,%v3}}, [%from+{from}];
            mov.u32 %to, s; mad.lo.u32 %to, %i, 16, %to;
            st.shared.v4.b32 [%to], {{%v0,%v1,%v2,%v3}};
            add.u32 %i, %i, {threads};
            bra fill;
            filled:
            bar.sync 0;",
            chunks = bytes / 16,
            period = unique / 16,
            threads = self.threads,
        ));
    }

    /// Copies shared memory to the output.
    pub(super) fn write_shared(&mut self, bytes: usize) {
        let to = self.reserve_output(bytes);
        self.line(&format!(
            "bar.sync 0; mov.u32 %i, %thread;
            dump:
            setp.ge.u32 %more, %i, {words}; @%more bra dumped;
            mov.u32 %j, s; mad.lo.u32 %j, %i, 4, %j; ld.shared.b32 %v0, [%j];
            mad.wide.u32 %from, %i, 4, %out; st.global.b32 [%from+{to}], %v0;
            add.u32 %i, %i, {threads};
            bra dump;
            dumped:",
            words = bytes / 4,
            threads = self.threads,
        ));
    }

    /// The case, with the input of every trial.
    pub(super) fn finish(self, name: String, trials: Vec<Vec<u8>>) -> Case {
        let (input, output) = (self.input, self.output.next_multiple_of(8));
        let stride = input.next_multiple_of(16);
        let trials = trials.into_iter().map(|mut trial| {
            assert_eq!(trial.len(), input, "{name}");
            trial.resize(stride, 0);
            trial
        });
        let trials = trials.collect();
        let text = format!(
            ".visible .entry {{}}(.param .b64 in, .param .b64 out)
            {{
            .reg .b64 %in, %out, %at; .reg .b32 %thread, %trial;
            {declarations}
            ld.param.b64 %in, [in]; ld.param.b64 %out, [out];
            mov.u32 %thread, %tid.x; mov.u32 %trial, %ctaid.x;
            mad.wide.u32 %in, %trial, {stride}, %in; mad.wide.u32 %out, %trial, {output}, %out;
            {body}
            ret;
            }}\n",
            declarations = self.declarations,
            body = self.body,
        );
        Case { name, threads: self.threads, text, trials, output }
    }
}

fn vector(name: &str, count: u32) -> String {
    let names: Vec<_> = (0..count).map(|i| format!("%{name}{i}")).collect();
    format!("{{{}}}", names.join(", "))
}
