//! A module made for benchmarks, like what a compiler writes: many kernels, each with register declarations, parameters,
//! address arithmetic, loads, stores, fused multiply-adds, predicates, branches and calls.

use ptx::source::Source;
use std::fmt::Write;
use std::sync::Arc;

/// A small generator of reproducible choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A module of about this many bytes.
fn synthetic(bytes: usize) -> String {
    let mut choices = Choices(0x9E37_79B9_7F4A_7C15);
    let mut text = String::from(".version 8.3\n.target sm_90\n.address_size 64\n\n");
    for kernel in 0.. {
        if text.len() >= bytes {
            break;
        }
        function(&mut text, &mut choices, kernel);
    }
    text
}

fn function(text: &mut String, choices: &mut Choices, kernel: usize) {
    let name = format!("_ZN3app6kernelILi{kernel}EEEvPKfPfi");
    let _ = writeln!(text, "\t// .globl\t{name}\n.visible .entry {name}(");
    let _ = writeln!(text, "\t.param .u64 {name}_param_0,\n\t.param .u64 {name}_param_1,");
    let _ = writeln!(text, "\t.param .u32 {name}_param_2\n)\n.maxntid 256, 1, 1\n{{");
    let _ = writeln!(text, "\t.reg .pred \t%p<90>;\n\t.reg .f32 \t%f<900>;\n\t.reg .b32 \t%r<900>;");
    let _ = writeln!(text, "\t.reg .b64 \t%rd<900>;\n\n\tld.param.u64 \t%rd1, [{name}_param_0];");
    for line in 0..800 {
        let [a, b, c, d] = [0; 4].map(|_| choices.below(900));
        let offset = choices.below(256) * 4;
        let p = choices.below(90);
        let block = line / 40;
        let _ = match choices.below(16) {
            0 => writeln!(text, "\tld.global.nc.f32 \t%f{a}, [%rd{b}+{offset}];"),
            1 => writeln!(text, "\tst.global.v4.f32 \t[%rd{a}], {{%f{b}, %f{c}, %f{d}, %f{a}}};"),
            2 | 3 => writeln!(text, "\tfma.rn.f32 \t%f{a}, %f{b}, %f{c}, %f{d};"),
            4 => writeln!(text, "\tmul.wide.s32 \t%rd{a}, %r{b}, 4;"),
            5 => writeln!(text, "\tadd.s64 \t%rd{a}, %rd{b}, %rd{c};"),
            6 => {
                writeln!(text, "\tsetp.ge.s32 \t%p{p}, %r{a}, %r{b};\n\t@%p{p} bra \t$L__BB{kernel}_{block};")
            }
            7 => writeln!(text, "\tadd.s32 \t%r{a}, %r{b}, -1;"),
            8 => writeln!(text, "\tmov.f32 \t%f{a}, 0f3F800000;"),
            9 => writeln!(text, "\tand.b32  \t%r{a}, %r{b}, 31;\n\tshl.b32 \t%r{c}, %r{a}, 2;"),
            10 => writeln!(text, "\tmad.lo.s32 \t%r{a}, %r{b}, %r{c}, %r{d};"),
            11 => writeln!(text, "\tselp.b32 \t%r{a}, %r{b}, %r{c}, %p{p};"),
            12 => writeln!(text, "\tmov.u32 \t%r{a}, %tid.x;"),
            13 => writeln!(text, "\tshfl.sync.bfly.b32 \t%r{a}|%p{p}, %r{b}, 16, 31, -1;"),
            14 => writeln!(text, "\tcvta.to.global.u64 \t%rd{a}, %rd{b};"),
            _ => writeln!(text, "\tld.shared.f32 \t%f{a}, [%r{b}+{offset}];"),
        };
        if line % 40 == 39 {
            let _ = writeln!(text, "\n$L__BB{kernel}_{block}:");
        }
    }
    let _ = writeln!(text, "\tret;\n\n}}");
}

/// The made module, and the file that `WARPLOOM_BENCH_PTX` names, if set.
pub(crate) fn sources() -> Vec<Arc<Source>> {
    let mut sources = vec![Source::new("synthetic", synthetic(8 << 20))];
    if let Some(path) = std::env::var_os("WARPLOOM_BENCH_PTX") {
        let text = std::fs::read_to_string(&path).unwrap();
        sources.push(Source::new(path.to_string_lossy(), text));
    }
    sources
}
