//! The command is linked to a fixed address where the linker is a GNU one: its tables have tens of thousands of addresses, which would
//! be written anew, page by page, each time it starts. For a compiler that is called once a file that is a millisecond.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if of_target("OS") == "linux" && of_target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
