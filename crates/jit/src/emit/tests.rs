//! What stands in the text of a kernel.

use crate::compiler::emit_kernel;
use crate::sites::{Action, Site};
use machine::compiled::{Background, Code, Engine, EngineId, Source};
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use ptx::module::{Checked, Module};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Makes the text of a kernel, and leaves it to the interpreter.
struct Writer {
    id: EngineId,
    written: Mutex<Written>,
}

/// What a kernel has become.
#[derive(Default)]
struct Written {
    text: String,
    /// The opcodes that are left to the machine.
    interpreted: BTreeSet<String>,
}

impl Engine for Writer {
    fn id(&self) -> EngineId {
        self.id
    }

    fn background(&self) -> Option<&dyn Background> {
        None
    }

    fn compile(&self, source: &Source<'_>) -> Result<Arc<dyn Code>, String> {
        let (emitted, _) = emit_kernel(source).map_err(|refusal| refusal.to_string())?;
        let body =
            source.module().functions[source.kernel().index()].body.as_ref().expect("a kernel has code");
        let left = emitted.sites.iter().filter(|site| matches!(site.action, Action::Interpret { .. }));
        let opcode =
            |site: &Site| source.module().opcode(&body.instructions[site.instruction as usize]).text();
        let interpreted = left.map(opcode).collect();
        *self.written.lock().unwrap() = Written { text: emitted.text, interpreted };
        Err("only its text is wanted".to_owned())
    }

    fn declined(&self, _: &str, _: &str) {}
}

/// A device, and a module of that text.
fn compiled(text: String) -> (Arc<Device>, Checked<Module>) {
    let source = ptx::source::Source::new("kernel.ptx", text);
    let (module, _) = ptx::compile(&source).into_result().expect("a correct module");
    (Device::new(Profile::default(), DeviceOptions::default()).expect("a device"), module)
}

/// What a kernel `k`, whose one parameter is an address, becomes in blocks of 256 threads.
fn written(text: String) -> Written {
    let (device, module) = compiled(text);
    written_of(&device, &device.load(module).expect("a loaded module"))
}

/// The same of a module that is loaded.
fn written_of(device: &Device, module: &LoadedModule) -> Written {
    let words = device.memory().allocate(1 << 16).expect("memory");
    let launch = Launch {
        kernel: module.kernel("k").expect("the kernel"),
        grid: [1; 3],
        block: [256, 1, 1],
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: words.to_le_bytes().to_vec(),
    };
    let writer = Writer { id: EngineId::fresh(), written: Mutex::default() };
    let options = LaunchOptions { engine: Some(&writer), ..LaunchOptions::default() };
    // Whatever becomes of it, the text has been made.
    let _ = device.launch(&launch, &options);
    writer.written.into_inner().unwrap()
}

/// The text of a kernel that loads the word with the number `%r3`, which `how` computes of the thread's number `%r1` and the block's
/// `%r2`.
fn text(how: &str) -> String {
    let kernel = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 words) {{
        .reg .b32 %r<6>;\n.reg .b64 %rd<4>;
        ld.param.u64 %rd1, [words];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;
        {how}
        mul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd3, %rd1, %rd2;
        ld.global.u32 %r4, [%rd3];\nadd.u32 %r4, %r4, %r1;
        st.global.u32 [%rd3], %r4;\nret;\n}}"
    );
    written(kernel).text
}

/// How often a text loads scattered elements.
fn gathers(text: &str) -> usize {
    let by_function = format!("ptr %ctx, i64 {}\n", super::context::SCATTERED);
    text.matches("call <32 x i32> @llvm.masked.gather").count() + text.matches(&by_function).count()
}

/// Where a value has zeros in the bits in which lanes differ, `or` and `xor` leave them a step apart.
#[test]
fn bits_put_together_are_sums() {
    let rows = [
        "shl.b32 %r3, %r2, 8; or.b32 %r3, %r3, %r1;",
        "shl.b32 %r3, %r2, 8; or.b32 %r3, %r1, %r3;",
        "shl.b32 %r3, %r2, 5; or.b32 %r3, %r3, %r1;",
        "or.b32 %r3, %r1, 256;",
        "or.b32 %r3, %r1, 64;",
        "xor.b32 %r3, %r1, 96;",
        "shl.b32 %r3, %r2, 8; xor.b32 %r3, %r3, %r1;",
    ];
    for how in rows {
        assert_eq!(gathers(&text(how)), 0, "{how}");
    }
    let others = [
        "shl.b32 %r3, %r2, 4; or.b32 %r3, %r3, %r1;",
        "or.b32 %r3, %r2, %r1;",
        "or.b32 %r3, %r1, 16;",
        "xor.b32 %r3, %r1, 5;",
        "add.u32 %r3, %r1, 1; or.b32 %r3, %r3, 64;",
    ];
    for how in others {
        assert!(gathers(&text(how)) > 0, "{how}");
    }
}

/// Scattered elements that lie one behind the other are loaded as one piece, unless something may write between them.
#[test]
fn neighbours_are_loaded_together() {
    let loads = |how: &str| {
        let scattered = "mul.lo.u32 %r3, %r1, %r1;\nmul.wide.u32 %rd2, %r3, 16;\nadd.s64 %rd3, %rd1, %rd2;\nmov.u32 %r3, 0;";
        gathers(&text(&format!(".reg .b32 %s<9>;\n{scattered}\n{how}")))
    };
    let four = |between: &str| {
        format!(
            "ld.global.u32 %s1, [%rd3+8];\n{between}\nld.global.u32 %s2, [%rd3];
            ld.global.u32 %s3, [%rd3+12];\n{between}\nld.global.u32 %s4, [%rd3+4];"
        )
    };
    let [none, pure, writes, orders] =
        ["", "add.u32 %s1, %s1, 1;", "st.global.u32 [%rd1], %r2;", "membar.gl;"]
            .map(|between| loads(&four(between)));
    assert_eq!(none, pure);
    assert!(writes > none && orders > none, "{none} {writes} {orders}");
    let vector = loads("ld.global.v4.u32 {%s1, %s2, %s3, %s4}, [%rd3];");
    assert_eq!(vector, none);
}

/// Turns of a kernel's rows: one for the start, and one for each barrier at which they wait.
fn turns(how: &str) -> usize {
    let shared = format!(
        ".reg .pred %p<256>, %p;\n.reg .b32 %s<8>;\n.shared .align 4 .b8 own[1024];
        shl.b32 %s1, %r1, 2;\nmov.u32 %s0, own;\nadd.u32 %s2, %s0, %s1;\nst.shared.u32 [%s2], %r2;\nmov.u32 %r3, %r1;
        {how}
bar.sync 0;"
    );
    text(&shared).matches("define internal i32 @turn").count()
}

/// A barrier stays where no order of rows stands for it.
#[test]
fn rows_wait_where_they_must() {
    let own = "ld.shared.u32 %s4, [%s2];\nadd.u32 %s4, %s4, %s3;\nst.shared.u32 [%s2], %s4;";
    let below = "setp.ge.u32 %p, %r1, 1;\nmov.u32 %s3, 0;\n@%p ld.shared.u32 %s3, [%s2+-4];";
    let above = "setp.lt.u32 %p, %r1, 255;\nmov.u32 %s3, 0;\n@%p ld.shared.u32 %s3, [%s2+4];";
    let kept = |how: &str| turns(how) - 1;
    // What lies below is read after it was written, upwards, and before it is written, downwards.
    let row_below = "setp.ge.u32 %p, %r1, 32;\nmov.u32 %s3, 0;\n@%p ld.shared.u32 %s3, [%s2+-128];";
    assert_eq!(kept(&format!("bar.sync 0;\n{row_below}\nbar.sync 0;\n{own}")), 1);
    // So where a number wraps in 32 bits, in threads that a branch has left out.
    let wraps = |address: &str| {
        format!(
            ".reg .b64 %q<3>;\nsetp.lt.u32 %p, %r1, 32;\nmov.u32 %s3, 0;\n@%p bra N;\nadd.s32 %s5, %r1, -32;\n{address}\nN:\n"
        )
    };
    for address in [
        "mul.wide.u32 %q1, %s5, 4;\nmov.u64 %q0, own;\nadd.u64 %q2, %q0, %q1;\nld.shared.u32 %s3, [%q2];",
        "shl.b32 %s6, %s5, 2;\nadd.u32 %s7, %s0, %s6;\nld.shared.u32 %s3, [%s7];",
    ] {
        assert_eq!(kept(&format!("bar.sync 0;\n{}\nbar.sync 0;\n{own}", wraps(address))), 1, "{address}");
    }
    // But not a part of what the row itself has just written; what may fail at the end waits for those that run downwards.
    assert_eq!(kept(&format!("bar.sync 0;\n{below}\nbar.sync 0;\n{own}")), 2);
    assert_eq!(kept(&format!("bar.sync 0;\n{above}\nbar.sync 0;\n{own}")), 1);
    assert_eq!(kept(&format!("bar.sync 0;\n{below}\n{above}\nbar.sync 0;\n{own}")), 2);
    // Trees go downwards, all steps in one turn; what can fail comes behind it.
    let half = |half: u32| {
        format!(
            "bar.sync 0;\nsetp.lt.u32 %p{half}, %r1, {half};\n@!%p{half} bra L{half};\nld.shared.u32 %s3, [%s2+{}];\n{own}\nL{half}:\n",
            4 * half
        )
    };
    assert_eq!(kept(&[128, 64, 32, 16, 8, 4, 2, 1].map(half).concat()), 1);
    // The last thread fails: what others compute meanwhile is not seen before all have waited.
    let fails = "ld.shared.u32 %s3, [%s2+4];";
    assert_eq!(kept(&format!("bar.sync 0;\n{fails}\nbar.sync 0;\n{own}")), 2);
    // Whether a barrier is come to must be the same for all.
    assert_eq!(kept("setp.lt.u32 %p, %r1, 64;\n@!%p bra E;\nbar.sync 0;\nE:\n"), 1);
    assert_eq!(
        kept("setp.lt.u32 %p, %r1, 64;\nsetp.lt.u32 %p1, %r2, 1;\n@!%p bra E;\n@%p1 ret;\nE:\nbar.sync 0;\n"),
        2
    );
    // In a loop, too, threads that part meet again; each round waits for the one before.
    let rounds = format!(
        "mov.u32 %s5, 0;\nL:\nbar.sync 0;\nmov.u32 %s3, 0;\nsetp.lt.u32 %p1, %r1, 1;\n@%p1 bra S;\nld.shared.u32 %s3, [%s2+-4];\nS:\nbar.sync 0;\n{own}
        add.u32 %s5, %s5, 1;\nsetp.lt.u32 %p2, %s5, 8;\n@%p2 bra L;\n"
    );
    assert_eq!(kept(&rounds), 2);
    // What goes on in global memory is not looked at.
    assert_eq!(kept("ld.global.u32 %s3, [%rd1];\nbar.sync 0;\nst.global.u32 [%rd1], %s3;"), 2);
}

/// A kernel that executes an instruction on what each thread loads, in registers `%a` of 32 bits and `%b` of 64.
fn of_numbers(instruction: &str) -> Written {
    written(format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 words) {{
        .reg .b32 %r<3>, %a<4>;\n.reg .b64 %rd<4>, %b<4>;
        ld.param.u64 %rd1, [words];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 32;\nadd.s64 %rd3, %rd1, %rd2;
        ld.global.v2.b32 {{%a1, %a2}}, [%rd3];\nld.global.v2.b64 {{%b1, %b2}}, [%rd3+16];
        mov.b32 %a3, %a1;\nmov.b64 %b3, %b1;
        {instruction}
        st.global.b32 [%rd3], %a3;\nst.global.b64 [%rd3+8], %b3;\nret;\n}}"
    ))
}

/// What is left to the machine costs ten times as much and more.
#[test]
fn what_compilers_often_write_has_code_of_its_own() {
    let instructions = [
        "abs.f64 %b3, %b1;",
        "neg.f64 %b3, %b1;",
        "abs.ftz.f32 %a3, %a1;",
        "neg.ftz.f32 %a3, %a1;",
        "min.f64 %b3, %b1, %b2;",
        "max.f64 %b3, %b1, %b2;",
        "rcp.rn.f64 %b3, %b1;",
        "sqrt.rn.f64 %b3, %b1;",
        "fma.rn.f64 %b3, %b1, %b2, %b1;",
        "fma.rm.f32 %a3, %a1, %a2, %a1;",
        "add.rz.f32 %a3, %a1, %a2;",
        "mul.rp.f32 %a3, %a1, %a2;",
        "cvt.rn.f32.f64 %a3, %b1;",
        "cvt.f64.f32 %b3, %a1;",
        "cvt.sat.f32.f32 %a3, %a1;",
        "cvt.rni.s32.f64 %a3, %b1;",
        "cvt.rzi.u64.f64 %b3, %b1;",
        "cvt.rzi.s64.f32 %b3, %a1;",
        "cvt.rmi.f64.f64 %b3, %b1;",
        "cvt.rn.f64.s64 %b3, %b1;",
        "add.cc.u32 %a3, %a1, %a2; addc.cc.u32 %a3, %a3, %a1; subc.u32 %a3, %a3, %a2;",
        "mad.lo.cc.u64 %b3, %b1, %b2, %b1; madc.hi.u64 %b3, %b1, %b2, %b3;",
    ];
    for instruction in instructions {
        let written = of_numbers(instruction);
        assert!(!written.text.is_empty(), "{instruction} is not compiled");
        assert!(written.interpreted.is_empty(), "{instruction}: {:?}", written.interpreted);
    }
    // A carry that may come from another block.
    let apart = of_numbers("add.cc.u32 %a3, %a1, %a2; bra NEXT; NEXT: addc.u32 %a3, %a3, %a1;");
    assert!(apart.interpreted.iter().eq(["add.cc.u32", "addc.u32"]));
    assert!(of_numbers("cvt.rm.f32.f64 %a3, %b1;").interpreted.iter().eq(["cvt.rm.f32.f64"]));
}

/// An object is kept for other processes, in which variables are elsewhere.
#[test]
fn texts_do_not_have_addresses_of_variables() {
    let kernel = ".version 8.0\n.target sm_80\n.address_size 64
        .global .align 8 .b8 table[64];\n.const .align 4 .b8 other[64];
        .visible .entry k(.param .u64 words) {
        .reg .b32 %r<4>;\n.reg .b64 %rd<4>;
        ld.param.u64 %rd1, [words];\nmov.u64 %rd2, table;\nld.global.u32 %r1, [table+4];
        ld.const.u32 %r2, [other+8];\nadd.u32 %r1, %r1, %r2;\nst.global.u32 [%rd1], %r1;
        st.global.u64 [%rd1+8], %rd2;\nret;\n}";
    let (device, module) = compiled(kernel.to_owned());
    // Both are loaded at a time, so nothing of them is in one place.
    let [first, second] =
        [module.clone(), module].map(|module| device.load(module).expect("a loaded module"));
    assert_ne!(first.variable("table"), second.variable("table"));
    let [first, second] = [&first, &second].map(|module| written_of(&device, module).text);
    assert!(!first.is_empty());
    assert_eq!(first, second);
}
