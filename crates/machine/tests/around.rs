//! A branch around a few operations, which its lanes execute without the run loop: a fault there is the thread's and the line's as elsewhere.

use machine::{Device, DeviceOptions, Launch, LaunchError, LaunchOptions, Profile};
use ptx::source::Source;

const KERNEL: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %rd;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p, %r1, 37;
    mov.b64 %rd, 64;
    @%p bra over;
    add.s64 %rd, %rd, 64;
    ld.global.u32 %r2, [%rd];
    st.global.u32 [%rd], %r2;
over:
    ret;
}
";

#[test]
fn a_fault_behind_a_short_branch_names_its_line_and_thread() {
    let device = Device::new(Profile::default(), DeviceOptions::default()).unwrap();
    let (module, _) = ptx::compile(&Source::new("k.ptx", KERNEL)).into_result().ok().unwrap();
    let module = device.load(module).unwrap();
    let launch = Launch {
        kernel: module.kernel("k").unwrap(),
        grid: [1, 1, 1],
        block: [64, 1, 1],
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: Vec::new(),
    };
    let Err(LaunchError::Fault(fault)) = device.launch(&launch, &LaunchOptions::default()) else {
        panic!("no fault")
    };
    let line = KERNEL.lines().position(|line| line.contains("ld.global")).unwrap() as u32 + 1;
    assert_eq!(fault.location.ptx.map(|place| place.line), Some(line));
    assert_eq!(fault.thread, Some([37, 0, 0]));
}
