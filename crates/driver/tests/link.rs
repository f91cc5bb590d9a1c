//! Linking through the driver: logs, and the device runtime.

use driver::Error;
use driver::link::Link;
use driver::module::Image;
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
    let failure = Link::default().complete().unwrap_err();
    assert_eq!((failure.error, failure.log.as_str()), (Error::InvalidImage, "nothing to link"));
    let refused = Link::default().add_object(b"text", "x.o", &profile).unwrap_err();
    assert_eq!(refused.error, Error::InvalidImage);
}
