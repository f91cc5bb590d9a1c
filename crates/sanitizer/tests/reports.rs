//! What a report says of the source: the line that the kernel's author wrote, names as in C++, the allocation. And that one
//! mistake is one report.

use machine::{Device, DeviceOptions, Launch, LaunchOptions, Profile};
use sanitizer::{Report, Sanitizer, Shape, Suppressions};

/// A template's instance, into which a function of a header was inlined twice at one line, and once at another.
const PTX: &str = r#"
.version 8.0
.target sm_90
.address_size 64
.file 1 "user.cu"
.file 2 "header.cuh"
.visible .entry _Z5scaleILi4EEvPfi(.param .u64 p)
{
	.reg .u64 %d;
	.loc 1 40 1
	ld.param.u64 %d, [p];
	.loc 2 7 3, function_name $name, inlined_at 1 41 5
	st.global.u32 [%d+8], 1;
	.loc 2 8 3, function_name $name, inlined_at 1 41 5
	st.global.u32 [%d+12], 1;
	.loc 2 7 3, function_name $name, inlined_at 1 42 5
	st.global.u32 [%d+16], 1;
	ret;
}
.section .debug_str
{
$name:
	.b8 115, 116, 0
}
"#;

/// Two warps write to a word of shared memory, two CTAs to one of the module's.
const VARIABLES: &str = r#"
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b32 total[6];
.visible .entry variables(.param .u64 p)
{
	.shared .align 8 .b8 first[24];
	.shared .align 4 .b32 _ZZ4tilevE4tile[8];
	.reg .u32 %r<2>;
	.reg .pred %p;
	mov.u32 %r0, %tid.x;
	setp.eq.u32 %p, %r0, 0;
	@%p st.global.u32 [total+20], 1;
	mov.u32 %r1, first;
	st.shared.u8 [_ZZ4tilevE4tile+13], 1;
	ret;
}
"#;

/// What checks report of a kernel of two CTAs that gets 64 bytes.
fn reports(text: &str, name: &str, threads: u32, checks: &str) -> Vec<Report> {
    let (module, _) =
        ptx::compile(&ptx::source::Source::new("scale.ptx", text)).into_result().expect("it compiles");
    let options = DeviceOptions { memory_limit: Some(1 << 20), ..DeviceOptions::default() };
    let device = Device::new(Profile::default(), options).expect("a device");
    let module = device.load(module).expect("it loads");
    let buffer = device.memory().allocate(64).expect("memory");
    let sanitizer = Sanitizer::new(checks.parse().expect("checks"), Suppressions::default());
    sanitizer.allocated(buffer, 64);
    let kernel = module.kernel(name).expect("the kernel");
    let (grid, block, cluster) = ([2, 1, 1], [threads, 1, 1], [1; 3]);
    let shape = Shape { kernel: kernel.name(), grid, block, cluster };
    let watch = sanitizer.begin(module.shared_module(), shape);
    let launch = Launch {
        kernel,
        grid,
        block,
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: buffer.to_le_bytes().to_vec(),
    };
    let options = LaunchOptions { threads: 1, observer: Some(&watch), ..LaunchOptions::default() };
    device.launch(&launch, &options).expect("no fault");
    watch.end();
    sanitizer.reports()
}

#[test]
fn one_line_of_the_author_is_one_report() {
    let reports = reports(PTX, "_Z5scaleILi4EEvPfi", 1, "race");
    let text = |report: &Report| report.text();
    let all = reports.iter().map(text).collect::<Vec<_>>().join("\n");
    assert_eq!(
        reports.iter().map(|report| (report.pairs, report.count)).collect::<Vec<_>>(),
        [(2, 2), (1, 1)],
        "{all}"
    );
    let first = text(&reports[0]);
    for line in [
        "of kernel void scale<4>(float*, int)\n",
        "\n    source header.cuh:7\n    inlined at user.cu:41\n",
        "\n  at byte 8 of the 64 that were allocated at 0x",
        "\n  found 2 times, by 2 pairs of instructions of these lines",
    ] {
        assert!(first.contains(line), "{line} is not in\n{first}");
    }
    assert_eq!(reports[1].json()["accesses"][0]["inlined_at"][0]["line"], 42);
}

#[test]
fn a_prediction_says_how_it_is_known() {
    let text = include_str!("../../../tests/sanitizer/locks/sections-in-any-order-racy.ptx");
    // The first CTA comes first, so that only locks order the two.
    let reports = reports(text, "k", 32, "race,predict,locks");
    assert_eq!(reports.len(), 1);
    let line = |mark: &str| 1 + text.lines().position(|line| line.contains(mark)).expect("a line");
    let told = reports[0].text();
    for part in [
        format!(
            "here the section from line {} to line {} came before that from line ",
            line("take:") + 1,
            line("exch")
        ),
        "\n  predicted from what was seen in this run".to_owned(),
    ] {
        assert!(told.contains(&part), "{part} is not in\n{told}");
    }
    let json = reports[0].json();
    assert_eq!((&json["kind"], &json["missing"]), (&"predicted-race".into(), &"order-of-sections".into()));
    assert_eq!(json["seen"], "predicted from what was seen in this run");
    assert_eq!(reports[0].lines(), [line("<- SECOND") as u32, line("<- FIRST") as u32]);
}

#[test]
fn variables_have_names() {
    let reports = reports(VARIABLES, "variables", 64, "race");
    let places: Vec<_> = reports.iter().filter_map(|report| report.allocation.as_ref()).collect();
    let texts: Vec<String> = places.iter().map(|place| place.to_string()).collect();
    assert!(texts.contains(&"byte 20 of the 24 of the variable total".to_owned()), "{texts:?}");
    assert!(texts.contains(&"byte 13 of the 32 of the variable tile()::tile".to_owned()), "{texts:?}");
}
