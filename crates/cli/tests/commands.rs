//! The command as users see it: every `tests/commands/*.trycmd` is a session whose whole output is compared.
//!
//! `BLESS=1 cargo test -p warploom --test commands` writes the output that there is into the sessions.

#[test]
fn sessions() {
    // The library has a variable of its own for that.
    if std::env::var_os("BLESS").is_some() && std::env::var_os("TRYCMD").is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().expect("this test has a path"));
        let status = again.args(["--exact", "sessions"]).env("TRYCMD", "overwrite").status();
        assert!(status.is_ok_and(|status| status.success()));
        return;
    }
    let cases = trycmd::TestCases::new();
    cases.env("NO_COLOR", "1").env("COLUMNS", "100").case("tests/commands/*.trycmd");
}
