//! A console at a kernel.

#![allow(dead_code, reason = "each test uses a part")]

use debugger::{Console, Printed, Program, Session, Sources};
use machine::output::Output;
use machine::{Device, DeviceOptions, Profile, SchedulerKind};
use ptx::source::Source;
use std::sync::Arc;

pub(crate) struct Nowhere;

impl Sources for Nowhere {
    fn text(&self, _: &str) -> Option<String> {
        None
    }

    fn path(&self, _: &str) -> Option<String> {
        None
    }
}

/// A console with a kernel that takes pointers to 4 KiB each, and then numbers; so many blocks of so many threads.
pub(crate) fn console(
    text: &str,
    kernel: &str,
    [grid, block]: [u32; 2],
    cluster: Option<[u32; 3]>,
    pointers: usize,
    numbers: &[u32],
) -> Console<Nowhere> {
    let module = ptx::compile(&Source::new("k.ptx", text));
    let module = module.module.unwrap_or_else(|| panic!("{:?}", module.diagnostics));
    let printed = Printed::new(std::io::sink());
    let options = DeviceOptions { output: Output::new(printed.clone()), ..DeviceOptions::default() };
    let device = Device::new(Profile::default(), options).expect("a device");
    let loaded = device.load(module).expect("it loads");
    let mut params = Vec::new();
    for _ in 0..pointers {
        params.extend(device.memory().allocate(4096).expect("memory").to_le_bytes());
    }
    numbers.iter().for_each(|number| params.extend(number.to_le_bytes()));
    let program = Program {
        device,
        loaded: Arc::new(loaded),
        kernel: kernel.to_owned(),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params,
        scheduler: SchedulerKind::RoundRobin,
        budget: None,
        checks: None,
    };
    Console::new(Session::new(program, printed).expect("a session"), Nowhere)
}

/// What a command shows.
pub(crate) fn shown(console: &mut Console<Nowhere>, line: &str) -> String {
    let reply = console.follow(line);
    assert!(!reply.failed, "{line}: {}", reply.text);
    reply.text
}

/// Lanes 0 to 7 go one way, the others another.
pub(crate) const PARTING: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry part(.param .u64 p)
{
    .reg .u32 %r<4>;
    .reg .pred %p;
    .reg .u64 %rd<4>;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p, %r1, 8;
    mov.u32 %r2, 5;
    @%p bra few;
    add.u32 %r2, %r2, %r1;
    bra.uni meet;
few:
    sub.u32 %r2, %r2, %r1;
meet:
    ld.param.u64 %rd1, [p];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
";

/// The values of a table of all lanes of a warp.
pub(crate) fn column(table: &str) -> Vec<String> {
    let rows = table.lines().skip(1);
    rows.map(|line| line.rsplit("  ").next().unwrap_or_default().to_owned()).collect()
}
