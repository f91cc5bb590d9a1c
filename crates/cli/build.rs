//! How the command is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A program that is loaded anywhere writes its place into each pointer of its tables, tens of thousands of them, whenever it starts: two
    // fifths of a start, and a tenth of the time that `ptxas` takes for a file.
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        // What unwinds is taken from GCC's archive: its library asks the processor what it can do wherever it is loaded.
        println!("cargo::rustc-link-lib=gcc_eh");
    }
}
