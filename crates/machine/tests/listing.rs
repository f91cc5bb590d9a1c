//! A kernel as text: below each line of PTX its operations, whose fields name the registers of that line.

use machine::{Device, DeviceOptions, Launch, Profile};
use ptx::source::Source;

const TEXT: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 data, .param .f32 factor)
{
    .reg .pred %inside;
    .reg .b32 %thread, %bits;
    .reg .f32 %value, %by;
    .reg .b64 %base, %offset, %at;
    mov.u32 %thread, %tid.x;
    setp.lt.u32 %inside, %thread, 20;
    @!%inside bra done;
    ld.param.u64 %base, [data];
    ld.param.f32 %by, [factor];
    mul.wide.u32 %offset, %thread, 4;
    add.s64 %at, %offset, %base;
    ld.global.f32 %value, [%at];
    mul.f32 %value, %value, %by;
    st.global.f32 [%at+4], %value;
done:
    ret;
}
";

/// The operations below the line of PTX that begins so.
fn below<'t>(listing: &'t str, ptx: &str) -> Vec<&'t str> {
    let lines = listing.lines().skip_while(|line| !line.contains(&format!(": {ptx}"))).skip(1);
    let operations = lines.take_while(|line| !line.contains('#') && !line.starts_with("block"));
    operations.map(|line| line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim()).collect()
}

#[test]
fn operations_stand_below_their_line_and_name_its_registers() {
    let module = ptx::compile(&Source::new("scale.ptx", TEXT)).into_result().expect("correct PTX").0;
    let device = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
    let loaded = device.load(module).expect("a module");
    let launch = Launch {
        kernel: loaded.kernel("scale").expect("the kernel"),
        grid: [1; 3],
        block: [64, 1, 1],
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: vec![0; 12],
    };
    let listing = device.listing(&launch).expect("a kernel that the machine knows");
    assert!(listing.starts_with("function scale: "), "{listing}");
    assert!(listing.contains("for packs of 2 warps"), "{listing}");
    let only = |ptx: &str| match below(&listing, ptx)[..] {
        [operation] => operation,
        ref several => panic!("{ptx}: {several:?} in\n{listing}"),
    };
    // What is the same for all threads is in scalars, which have the names of their registers too.
    assert!(only("ld.param.u64 %base").starts_with("load.parameter d=%base address=["));
    assert_eq!(only("mul.f32"), "binary d=%value a=%value b=%by");
    assert_eq!(only("add.s64"), "binary d=%at a=%offset b=%base");
    // The block has seven instructions, which are accounted for where it ends.
    let last = below(&listing, "st.global.f32");
    assert_eq!(last, ["store a=%value pattern=Contiguous address=[%at+0x4]", "account run=7"]);
    assert_eq!(only("ld.global.f32"), "load d=%value pattern=Contiguous address=[%at]");
    assert!(only("setp.lt.u32").starts_with("compare a=%thread b=0x14 outcome=( p=%inside"));
    assert!(only("@!%inside bra").starts_with("branch condition=!%inside target=@"));
}
