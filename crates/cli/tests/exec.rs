//! `warploom exec`, with C programs that are made here and a library folder that holds names only.

use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with what stands for our libraries.
fn libraries() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libcuda.so", "libcudart.so.12", "libcudart.so.13"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.args(arguments).env("WARPLOOM_LIB", folder).env("XDG_CACHE_HOME", folder.join("cache"));
    for name in
        ["LD_LIBRARY_PATH", "LD_AUDIT", "WARPLOOM_DEVICES", "TRITON_PTXAS_PATH", "XLA_FLAGS", "CUDA_ROOT"]
    {
        command.env_remove(name);
    }
    command
}

fn warploom(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn warned(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A program of C source, compiled with these options.
fn compile(folder: &Path, source: &str, options: &[&str]) -> PathBuf {
    let (file, program) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&file, source).unwrap();
    let status = Command::new("cc").arg("-o").args([&program, &file]).args(options).status().unwrap();
    assert!(status.success());
    program
}

const EMPTY: &str = "int main(void) { return 0; }";

/// What `exec --dry-run` says of a program; it must be fatal.
fn refused(folder: &Path, program: &Path) -> String {
    let program = program.display().to_string();
    let output = warploom(folder, &["exec", "--dry-run", "--", &program]);
    assert_eq!(output.status.code(), Some(4), "{}", warned(&output));
    let run = warploom(folder, &["exec", "--", &program]);
    assert_eq!((run.status.code(), warned(&run)), (Some(4), warned(&output)));
    warned(&output)
}

#[test]
fn the_program_ends_as_it_ends() {
    let folder = libraries();
    let exit = warploom(folder.path(), &["exec", "--", "sh", "-c", "exit 7"]);
    assert_eq!(exit.status.code(), Some(7));
    let signal = warploom(folder.path(), &["exec", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(signal.status.signal(), Some(15));
}

/// What the driver writes becomes a table behind the program, which ends as it ends.
#[test]
fn a_table_of_kernels_follows_a_program_in_the_model() {
    let folder = libraries();
    let script = "echo \"in $WARPLOOM_SIM\"; \
        echo '{\"kernel\":\"_Z3addPf\",\"why\":\"it has a texture\"}' >> $WARPLOOM_SIM_REPORT; exit 3";
    let output = warploom(folder.path(), &["exec", "--sim=h200", "--", "sh", "-c", script]);
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(3), "in h200\n"));
    assert!(
        warned(&output).contains("not modelled: 1 launch of add(float*): it has a texture"),
        "{}",
        warned(&output)
    );
    let nothing = warploom(folder.path(), &["exec", "--sim", "--", "true"]);
    assert_eq!(nothing.status.code(), Some(0));
    assert!(warned(&nothing).contains("launched no kernel"), "{}", warned(&nothing));
    let unknown = warploom(folder.path(), &["exec", "--sim=h1", "--", "true"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn the_program_finds_libraries_and_devices() {
    let folder = libraries();
    let script = "echo $WARPLOOM_DEVICES; cd $LD_LIBRARY_PATH; ls; echo $TRITON_PTXAS_PATH";
    let output =
        warploom(folder.path(), &["exec", "--device", "H100", "--count", "2", "--", "sh", "-c", script]);
    let text = said(&output);
    let lines: Vec<&str> = text.lines().collect();
    let names = ["libcuda.so", "libcuda.so.1", "libcudart.so", "libcudart.so.12", "libcudart.so.13"];
    assert_eq!(lines[0], "h100:2");
    assert_eq!(lines[1..6], names);
    let ptxas = Command::new(lines[6]).arg("--version").output().unwrap();
    assert!(said(&ptxas).contains("release 13.0"), "{ptxas:?}");
}

/// Variables of the program's, by name, with these set before.
fn variables(folder: &Path, arguments: &[&str], before: &[(&str, &str)]) -> BTreeMap<String, String> {
    let words = [&["exec"], arguments, &["--", "env"]].concat();
    let mut command = command(folder, &words);
    let output = command.envs(before.iter().copied()).output().unwrap();
    let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    said(&output).lines().filter_map(pair).collect()
}

#[test]
fn compilers_are_told_to_hand_over_ptx() {
    let folder = libraries();
    let found = variables(folder.path(), &["--memory", "3G"], &[]);
    assert_eq!(found["WARPLOOM_MEMORY"], "3G");
    assert_eq!(found["CUPY_COMPILE_WITH_PTX"], "1");
    let flags: BTreeMap<&str, &str> =
        found["XLA_FLAGS"].split(' ').filter_map(|flag| flag.split_once('=')).collect();
    assert_eq!(flags["--xla_gpu_enable_libnvjitlink"], "false");
    assert_eq!(flags["--xla_gpu_enable_libnvptxcompiler"], "false");
    assert_eq!(flags["--xla_gpu_cublas_fallback"], "false");
    assert_eq!(flags["--xla_gpu_autotune_level"], "0");
    // The toolkit has the assembler that Triton is told of, and the libraries.
    let toolkit = Path::new(flags["--xla_gpu_cuda_data_dir"]);
    assert_eq!(toolkit.join("bin/ptxas"), Path::new(&found["TRITON_PTXAS_PATH"]));
    assert_eq!(toolkit, Path::new(&found["CUDA_ROOT"]));
    assert_eq!(toolkit.join("lib64"), Path::new(&found["LD_LIBRARY_PATH"]));
}

#[test]
fn what_the_user_has_set_stays() {
    let folder = libraries();
    let flags = "--xla_dump_to=/tmp --xla_gpu_cuda_data_dir=/opt/cuda";
    let before = [("XLA_FLAGS", flags), ("CUPY_COMPILE_WITH_PTX", "0"), ("LD_LIBRARY_PATH", "/opt/lib")];
    let found = variables(folder.path(), &[], &before);
    assert!(found["XLA_FLAGS"].starts_with(&format!("{flags} --xla_gpu_enable_")), "{}", found["XLA_FLAGS"]);
    assert_eq!(found["XLA_FLAGS"].matches("cuda_data_dir").count(), 1);
    assert_eq!(found["CUPY_COMPILE_WITH_PTX"], "0");
    assert!(found["LD_LIBRARY_PATH"].ends_with(":/opt/lib"), "{}", found["LD_LIBRARY_PATH"]);
    let wrong = warploom(folder.path(), &["exec", "--memory", "much", "--", "true"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn a_shell_can_take_the_environment() {
    let folder = libraries();
    let output = warploom(folder.path(), &["exec", "--env", "--count", "3"]);
    let shell = Command::new("sh").arg("-c").arg(said(&output) + "echo $WARPLOOM_DEVICES").output().unwrap();
    assert_eq!(said(&shell), "h200:3\n");
}

#[test]
fn what_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let output = warploom(folder.path(), &["exec", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(warned(&output).contains("there is no libcuda.so.1 in"), "{}", warned(&output));
    let folder = libraries();
    let output = warploom(folder.path(), &["exec", "--", "a-program-that-nobody-has"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(warned(&output).contains("there is no program a-program-that-nobody-has"));
}

#[test]
fn a_program_that_would_work_is_run_without_a_word() {
    let folder = libraries();
    let program = compile(folder.path(), EMPTY, &[]).display().to_string();
    let output = warploom(folder.path(), &["exec", "--", &program]);
    assert_eq!((output.status.code(), warned(&output)), (Some(0), String::new()));
}

#[test]
fn a_static_program_is_refused() {
    let folder = libraries();
    let program = compile(folder.path(), EMPTY, &["-static"]);
    assert!(refused(folder.path(), &program).contains("is linked statically"));
    let forced = warploom(folder.path(), &["exec", "--force", "--", &program.display().to_string()]);
    assert_eq!(forced.status.code(), Some(0));
}

#[test]
fn a_program_with_more_rights_is_refused() {
    let folder = libraries();
    let program = compile(folder.path(), EMPTY, &[]);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    assert!(refused(folder.path(), &program).contains("changes its user or group"));
}

#[test]
fn other_formats_are_refused() {
    let folder = libraries();
    let program = compile(folder.path(), EMPTY, &[]);
    let mut bytes = std::fs::read(&program).unwrap();
    // ELF's class: 1 is 32 bits.
    bytes[4] = 1;
    std::fs::write(&program, &bytes).unwrap();
    assert!(refused(folder.path(), &program).contains("is a 32-bit program"));
    // Its machine: 8 is MIPS.
    bytes[4] = 2;
    bytes[18] = 8;
    std::fs::write(&program, &bytes).unwrap();
    assert!(refused(folder.path(), &program).contains("another kind of processor"));
}

/// The text is data of NVIDIA's runtime.
#[test]
fn a_runtime_that_is_linked_in_is_refused() {
    let folder = libraries();
    let source = "#include <stdio.h>\nint main(void) { return puts(\"/cudart.shm.%x\") < 0; }";
    let program = compile(folder.path(), source, &[]);
    let warned = refused(folder.path(), &program);
    assert!(warned.contains("nvcc -cudart shared"), "{warned}");
}

/// Such a program may have its kernels elsewhere, as text for example.
#[test]
fn of_fatbins_without_ptx_is_warned() {
    let folder = libraries();
    let source = |bytes: &[u8]| {
        let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let list = list.join(",");
        format!(
            "__attribute__((section(\".nv_fatbin\"), used)) const unsigned char f[] = {{{list}}};\n{EMPTY}"
        )
    };
    let run = |bytes: &[u8]| {
        let program = compile(folder.path(), &source(bytes), &[]).display().to_string();
        let output = warploom(folder.path(), &["exec", "--", &program]);
        assert_eq!(output.status.code(), Some(0));
        warned(&output)
    };
    let mut fatbin = cubin::fatbin::pack_ptx("", (9, 0), 90, cubin::fatbin::Reach::Base);
    assert_eq!(run(&fatbin), "");
    // The kind of the entry behind the container's header: 2 is a cubin.
    fatbin[16] = 2;
    let warning = run(&fatbin);
    assert!(warning.starts_with("warning: ") && warning.contains("compute_90,code=compute_90"), "{warning}");
}

#[test]
fn a_path_that_comes_first_is_refused_and_one_that_does_not_is_not() {
    let folder = libraries();
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("libcuda.so.1"), "").unwrap();
    let program = compile(folder.path(), EMPTY, &["-Wl,--disable-new-dtags,-rpath,$ORIGIN/other"]);
    assert!(refused(folder.path(), &program).contains("patchelf --remove-rpath"));
    let program = compile(folder.path(), EMPTY, &["-Wl,--enable-new-dtags,-rpath,$ORIGIN/other"]);
    let output = warploom(folder.path(), &["exec", "--dry-run", "--", &program.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", warned(&output));
}

#[test]
fn of_a_script_the_interpreter_is_looked_at() {
    let folder = libraries();
    let program = compile(folder.path(), EMPTY, &["-static"]);
    let script = folder.path().join("script");
    std::fs::write(&script, format!("#!{}\n", program.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(refused(folder.path(), &script).contains("program is linked statically"));
}

#[test]
fn the_doctor_tells_what_is_there_and_what_is_not() {
    let folder = libraries();
    let output = warploom(folder.path(), &["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["devices"], serde_json::json!(["h200"]));
    let files: Vec<bool> =
        report["libraries"].as_array().unwrap().iter().map(|library| library["file"].is_string()).collect();
    assert_eq!(files, [true, true, true, false, false, false, false, false, false, false, false, false]);
    let empty = tempfile::tempdir().unwrap();
    let output = warploom(empty.path(), &["doctor"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("problem: there is no libcuda.so.1 in"), "{}", said(&output));
}
