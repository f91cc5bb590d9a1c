//! A program that links device code, linked with the libraries as `cargo xtask libraries` links them, over our driver.

use library_build::link::{Shared, linkers};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn ptx_becomes_a_cubin_that_the_driver_takes() {
    for (name, symbols, aliases) in linkers(Path::new(CRATE)) {
        let test = std::env::current_exe().unwrap();
        let deps = test.parent().unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
        let aliases: Vec<(&str, &str)> = aliases.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        Shared { name, symbols: &symbols, aliases: &aliases }
            .link(&deps.join("libnvjitlink.a"), &folder)
            .unwrap();
        for driver in ["libcuda.so.1", "libcuda.so"] {
            let _ = std::fs::remove_file(folder.join(driver));
            symlink(deps.join("libcuda.so"), folder.join(driver)).unwrap();
        }
        let major = if name.ends_with("12") { 12 } else { 13 };
        let program = folder.join("link");
        let compiled = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Werror"])
            .arg(format!("-DVERSIONED(name)=__nvJitLink##name##_{major}_4"))
            .arg("-o")
            .arg(&program)
            .arg(Path::new(CRATE).join("tests/c/link.c"))
            .arg("-L")
            .arg(&folder)
            .args([&format!("-l:{name}"), "-lcuda"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let output = Command::new(&program).env("LD_LIBRARY_PATH", &folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "link: passed\n", "{said}");
    }
}
