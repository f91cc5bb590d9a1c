//! How the command is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // At an address of its own choice a program writes its place into each pointer of its tables, tens of thousands of
    // them, whenever it starts: half of the time that `ptxas` takes for a small file.
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
