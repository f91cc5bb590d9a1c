//! Linking through the driver: logs, and the device runtime.

use cubin::carrier::Purpose;
use cubin::fatbin::{Compression, Container, Content, Item, Kind, Reach};
use cubin::read::{CudaInfo, ToolInfo};
use driver::Error;
use driver::image::Image;
use driver::link::Link;
use machine::Profile;

const HEAD: &str = ".version 8.0\n.target sm_70\n.address_size 64\n";

fn ptx(text: &str) -> Image {
    Image::Ptx(format!("{HEAD}{text}"))
}

#[test]
fn the_device_runtime_is_linked_if_it_is_wanted() {
    let profile = Profile::default();
    let mut link = Link::default();
    let wants = ".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 s);
        .visible .entry k() { .reg .b32 %r; .param .b32 s; .param .b64 h; mov.u32 %r, 1; st.param.b32 [s], %r;
        call (h), cudaCGGetIntrinsicHandle, (s); ret; }";
    link.add(&ptx(wants), "a.ptx", &profile).unwrap();
    let whole = link.complete().unwrap();
    assert!(whole.contains("%envreg1") && !whole.contains(".extern"), "{whole}");

    let mut link = Link::default();
    link.add(&ptx(".visible .entry k() { ret; }"), "a.ptx", &profile).unwrap();
    assert!(!link.complete().unwrap().contains("cudaCG"));

    // A program's own functions come first.
    let own = ".visible .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 s) { .reg .b64 %d; mov.u64 %d, 5;
        st.param.b64 [h], %d; ret; }";
    let mut link = Link::default();
    link.add(&ptx(wants), "a.ptx", &profile).unwrap();
    link.add(&ptx(own), "b.ptx", &profile).unwrap();
    let whole = link.complete().unwrap();
    assert_eq!(whole.matches(".func (.param .b64 h) cudaCGGetIntrinsicHandle").count(), 2, "{whole}");
    assert!(!whole.contains("%envreg1"), "{whole}");
}

#[test]
fn failures_say_where() {
    let profile = Profile::default();
    let mut link = Link::default();
    link.add(&ptx(".extern .global .u32 x;\n.visible .global .u64 p = x;"), "", &profile).unwrap();
    let failure = link.complete().unwrap_err();
    assert_eq!(failure.error, Error::InvalidPtx);
    assert_eq!(
        failure.log,
        "error K0006: `x` is not defined\n  input 1, line 4, column 22: declared here, and used\n"
    );
    let refused = Link::default().add_object(b"text", "x.o", &profile).unwrap_err();
    assert_eq!(refused.error, Error::InvalidImage);
}

/// As an H200's driver links it.
#[test]
fn nothing_is_linked_to_nothing() {
    let whole = Link::default().complete().unwrap();
    assert!(ptx::compile(&ptx::source::Source::new("whole", whole)).into_result().is_ok());
}

/// A cubin with these modules, as a linker leaves it that has put some together.
fn carrier(modules: &[&str]) -> Vec<u8> {
    let text = |module: &&str| cubin::fatbin::pack_ptx(&format!("{HEAD}{module}"), (8, 0), 70, Reach::Base);
    let nothing = String::new;
    let purpose = Purpose {
        sm: 90,
        specific: false,
        relocatable: true,
        cuda: CudaInfo { version: 2, virtual_sm: 70, toolkit: 130 },
        tool: ToolInfo {
            version: 2,
            object: nothing(),
            tool: nothing(),
            tool_version: nothing(),
            branch: nothing(),
            arguments: nothing(),
        },
    };
    let fatbins: Vec<_> = modules.iter().map(text).collect();
    cubin::carrier::write(&fatbins, &purpose).unwrap()
}

/// A fatbin with cubins.
fn fatbin(cubins: &[(u32, &[u8])]) -> Image {
    let item = |&(sm, bytes): &(u32, &[u8])| {
        let compression = Compression::Zstd;
        let content =
            Content { kind: Kind::Elf, sm, reach: Reach::Base, version: (1, 8), name: None, compression };
        Item::new(&content, bytes).unwrap()
    };
    Image::Fatbin(Container::new(cubins.iter().map(item).collect()).to_bytes())
}

const CALLER: &str = ".extern .func f();\n.visible .entry k() { call f; ret; }\n";
const CALLEE: &str = ".visible .func f() { ret; }\n";

#[test]
fn cubins_that_carry_modules_are_linked() {
    let profile = Profile::default();
    let mut link = Link::default();
    link.add(&Image::Elf(carrier(&[CALLER, CALLEE])), "", &profile).unwrap();
    assert!(link.complete().unwrap().contains(".entry k"));

    let mut link = Link::default();
    link.add(&fatbin(&[(90, &carrier(&[CALLER]))]), "", &profile).unwrap();
    link.add(&Image::Elf(carrier(&[CALLEE])), "", &profile).unwrap();
    assert!(!link.complete().unwrap().contains(".extern"));

    let mut link = Link::default();
    link.add(&Image::Elf(carrier(&[CALLER])), "", &profile).unwrap();
    assert!(link.complete().unwrap_err().log.contains("`f` is not defined"));
}

#[test]
fn what_a_device_cannot_run_is_refused_with_advice() {
    let profile = Profile::default();
    let refused = |image: &Image| {
        let failure = Link::default().add(image, "", &profile).unwrap_err();
        assert_eq!(failure.error, Error::NoBinaryForGpu);
        failure.log
    };
    let sass = "the image holds SASS only";
    assert!(refused(&Image::Elf(b"\x7fELF".to_vec())).contains(sass));
    assert!(refused(&fatbin(&[(90, b"\x7fELF")])).contains(sass));
    // The cubin of a later device is passed over, whatever it carries.
    assert!(refused(&fatbin(&[(100, &carrier(&[CALLEE]))])).contains(sass));
    let later = cubin::fatbin::pack_ptx("", (8, 7), 120, Reach::Base);
    let advice = refused(&Image::Fatbin(later));
    assert!(
        advice.starts_with("no PTX for sm_90 among PTX for sm_120; WARPLOOM_DEVICES=rtx5090 "),
        "{advice}"
    );
    let nowhere = cubin::fatbin::pack_ptx("", (8, 7), 999, Reach::Base);
    assert_eq!(refused(&Image::Fatbin(nowhere)), "no PTX for sm_90 among PTX for sm_999");
}
