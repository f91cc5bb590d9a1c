//! C programs that use the driver API, compiled here and linked with the library as any program is.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

/// A folder with the library under the name that programs look for.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let built = deps.join("libcuda.so");
    assert!(built.exists(), "{} is not built", built.display());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lib");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        // Tests run at the same time, and what another profile has built may be linked there.
        let fresh = folder.join(format!("{name}.{:?}", std::thread::current().id()));
        let _ = std::fs::remove_file(&fresh);
        std::os::unix::fs::symlink(&built, &fresh).unwrap();
        std::fs::rename(&fresh, folder.join(name)).unwrap();
    }
    folder
}

fn run(name: &str, environment: &[(&str, &str)]) -> Output {
    let library = library();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(format!("{name}.c"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{name}-{}", environment.first().map_or("plain", |(key, _)| key)));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Werror", "-O1", "-o"])
        .args([&program, &source])
        .arg("-L")
        .arg(&library)
        .args(["-lcuda", "-ldl", "-lpthread"])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    // A program that hangs fails. Interpreted kernels take as long as the programs count on, which look at what is under way.
    let output = Command::new("timeout")
        .arg("120")
        .arg(&program)
        .env("LD_LIBRARY_PATH", &library)
        .env("WARPLOOM_ENGINE", "interp")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{errors}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{:?}\n{said}{errors}", output.status);
    assert_eq!(said, format!("{name}: passed\n"));
    output
}

#[test]
fn memory_code_and_launches() {
    run("vector", &[]);
}

/// The program's memory is what it is without the model, and every launch is told of.
#[test]
fn launches_run_in_the_model_too() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("modelled.jsonl");
    let _ = std::fs::remove_file(&file);
    run("vector", &[("WARPLOOM_SIM", "h100"), ("WARPLOOM_SIM_REPORT", file.to_str().unwrap())]);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4, "{text}");
    for line in &lines {
        assert!(line["kernel"] == "add" && line["cycles"].as_u64() > Some(0), "{line}");
    }
    let executed = |line: usize| lines[line]["instructions"].as_u64().unwrap();
    // 32 warps, of which the last has work for some lanes; then 4, of which the first has.
    assert_eq!(executed(0) % 32, 0);
    assert_eq!([executed(2), executed(3)], [executed(0); 2]);
    assert!(executed(1) < executed(0) / 8);
}

/// Clusters along x, copies of parts of tensors, and arrivals behind copies of threads are modelled, too; of what is not, it is said.
#[test]
fn what_goes_on_beside_threads_runs_in_the_model_too() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside.jsonl");
    let _ = std::fs::remove_file(&file);
    run("modelled", &[("WARPLOOM_SIM", "h100"), ("WARPLOOM_SIM_REPORT", file.to_str().unwrap())]);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, bool, &str)> = lines
        .iter()
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap_or_default();
            (text("kernel"), line["cycles"].as_u64() > Some(0), text("why"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("pairs", true, ""),
            ("tall", false, "clusters along y and z are not modelled"),
            ("box", true, ""),
            ("arrive", true, ""),
        ]
    );
}

#[test]
fn streams_and_events_keep_order() {
    run("streams", &[]);
}

#[test]
fn graphs_do_what_they_say() {
    run("graphs", &[]);
}

#[test]
fn kernels_launch_kernels_and_graphs() {
    run("launches", &[]);
}

#[test]
fn kernels_change_graphs() {
    run("updates", &[]);
}

#[test]
fn streams_become_graphs() {
    run("capture", &[]);
}

#[test]
fn pools_reuse_memory_in_order() {
    run("pools", &[]);
}

#[test]
fn addresses_memory_and_access() {
    run("virtual", &[]);
}

#[test]
fn devices_use_one_anothers_memory() {
    let output = run("peers", &[("WARPLOOM_DEVICES", "h200:2")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("illegal address"), "{errors}");
}

#[test]
fn limits_hold() {
    run("bounds", &[("WARPLOOM_MEMORY", "64M")]);
}

#[test]
fn load_faults_forks_and_ends() {
    run("stress", &[]);
}

#[test]
fn a_crowd_of_kernels_and_threads() {
    let output = run("crowd", &[("WARPLOOM_MEMORY", "64M")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("lies"), "{errors}");
}

#[test]
fn mistakes_are_errors() {
    let output = run("faults", &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("illegal address: store of 4 bytes at 0x1000"), "{errors}");
}

/// Kinds of reports, and what else the checks tell of a program.
#[test]
fn checks_lose_nothing() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("checked.jsonl");
    let scenarios: [(&str, &[&str]); 21] = [
        ("pending", &["begun", "race", "ended"]),
        ("early", &["begun", "race", "ended"]),
        ("late", &["begun", "ended"]),
        ("free", &["begun", "race", "ended"]),
        ("free-behind", &["begun", "ended"]),
        ("reuse", &["begun", "ended"]),
        ("fault", &["begun", "cut_short", "ended"]),
        ("gone", &["begun"]),
        ("dependent", &["begun", "race", "ended"]),
        ("dependent-waits", &["begun", "ended"]),
        ("dependent-alone", &["begun", "ended"]),
        ("texture", &["begun", "race", "ended"]),
        ("texture-behind", &["begun", "ended"]),
        ("host", &["begun", "race", "ended"]),
        ("host-strong", &["begun", "ended"]),
        ("copy-managed", &["begun", "race", "ended"]),
        ("copy-managed-behind", &["begun", "ended"]),
        ("copy-registered", &["begun", "race", "ended"]),
        ("copy-registered-behind", &["begun", "ended"]),
        ("used-beside-free", &["begun", "race", "ended"]),
        ("error", &["begun", "ended"]),
    ];
    for (scenario, expected) in scenarios {
        let told = checked(&file, scenario, &[("WARPLOOM_CHECK", "race")]);
        assert_eq!(names(&told), expected, "{scenario}: {told:?}");
    }
}

/// What the checks tell of a program, which is compiled anew, so that one test at a time may run it.
fn checked(file: &Path, scenario: &str, settings: &[(&str, &str)]) -> Vec<Value> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = std::fs::remove_file(file);
    let own = [("WARPLOOM_CHECK_REPORT", file.to_str().unwrap()), ("SCENARIO", scenario)];
    run("checked", &[settings, &own].concat());
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(told: &[Value]) -> Vec<String> {
    let name = |line: &Value| match line["kind"].as_str() {
        Some(kind) => kind.to_owned(),
        None => line.as_object().unwrap().keys().next().unwrap().clone(),
    };
    told.iter().map(name).collect()
}

#[test]
fn memory_that_a_pool_keeps_is_freed_all_the_same() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pool.jsonl");
    for (scenario, expected) in
        [("pool", &["begun", "use-after-free", "ended"][..]), ("pool-other", &["begun", "ended"])]
    {
        let told = checked(&file, scenario, &[("WARPLOOM_CHECK", "memory")]);
        let found: Vec<_> = names(&told).into_iter().filter(|name| name != "leak").collect();
        assert_eq!(found, expected, "{scenario}: {told:?}");
    }
}

#[test]
fn kernels_go_on_after_bad_accesses() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("keep-going.jsonl");
    let goes_on = ("WARPLOOM_CHECK_KEEP_GOING", "5");
    let told = checked(&file, "fault", &[("WARPLOOM_CHECK", "memory"), goes_on]);
    assert_eq!(names(&told), ["begun", "out-of-bounds", "ended"], "{told:?}");
    // The frame of the program that has launched it.
    let host = told[1]["accesses"][0]["host"].as_array().unwrap();
    assert!(host.iter().any(|frame| frame.as_str().unwrap().starts_with("main")), "{host:?}");
}

#[test]
fn errors_that_nobody_asks_about() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("api-errors.jsonl");
    let wanted = [("WARPLOOM_CHECK", "race"), ("WARPLOOM_CHECK_API_ERRORS", "1")];
    let told = checked(&file, "error", &wanted);
    assert_eq!(names(&told), ["begun", "api-error", "ended"], "{told:?}");
    let title = told[1]["title"].as_str().unwrap();
    assert!(title.starts_with("cuMemFree_v2 returned CUDA_ERROR_INVALID_VALUE"), "{title}");
    assert!(told[1]["host"][0].as_str().unwrap().starts_with("main"), "{told:?}");
    assert_eq!(names(&checked(&file, "error-asked", &wanted)), ["begun", "ended"]);
}

#[test]
fn checks_try_other_schedules() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schedules.jsonl");
    let path = file.to_str().unwrap();
    for (schedules, expected) in [("1", &[][..]), ("4", &["under adversarial"])] {
        let _ = std::fs::remove_file(&file);
        run(
            "schedules",
            &[
                ("WARPLOOM_CHECK", "race"),
                ("WARPLOOM_CHECK_REPORT", path),
                ("WARPLOOM_CHECK_SCHEDULES", schedules),
            ],
        );
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let found = lines.filter(|line| line["kind"] == "race" && line["number"] == 0);
        let mut seen: Vec<_> = found.map(|line| line["seen"].as_str().unwrap().to_owned()).collect();
        seen.dedup();
        assert_eq!(seen, expected, "{text}");
    }
}

#[test]
fn what_a_gpu_does_not_notice_is_told_of_once() {
    for engine in ["interp", "jit"] {
        let output = run("unnoticed", &[("WARPLOOM_ENGINE", engine), ("WARPLOOM_CACHE", "0")]);
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("kernels are interpreted") {
            eprintln!("skipped: no LLVM");
            continue;
        }
        for (times, text) in [
            (1, "a store of 4 bytes outside of every allocation"),
            (1, "a load of 4 bytes outside of every allocation"),
            (2, "2 bytes past the end of the 10-byte allocation"),
            (1, "member mask 0x0000ffff leaves out lane 16"),
            (3, "warning: "),
            (3, "once"),
        ] {
            assert_eq!(errors.matches(text).count(), times, "{engine}: `{text}` in {errors}");
        }
    }
    let output = run("unnoticed", &[("WARPLOOM_STRICT", "1")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("illegal address: store of 4 bytes"), "{errors}");
}

#[test]
fn entry_points() {
    let output = run("entry", &[("WARPLOOM_DEVICES", "h200:2,t4")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.matches("cuImportExternalMemory is not supported").count(), 1, "{errors}");
}

#[test]
fn calls_at_the_end_of_threads_and_programs() {
    let output = run("last", &[]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn copies_of_no_bytes() {
    run("nothing", &[]);
}

#[test]
fn threads_without_a_context() {
    run("no_context", &[]);
}

#[test]
fn functions_from_before_cuda_4() {
    run("older", &[]);
}

#[test]
fn answers_are_those_of_an_h200() {
    let folder = library();
    replay::answers::replay(
        &folder.join("libcuda.so.1"),
        &folder,
        "driver",
        Path::new(env!("CARGO_TARGET_TMPDIR")),
    );
}

#[test]
fn images_are_linked() {
    run("link", &[]);
}

#[test]
fn kinds_of_memory() {
    run("host_memory", &[("WARPLOOM_DEVICES", "h200,a100")]);
}

#[test]
fn kernels_that_overlap() {
    run("overlap", &[]);
}

#[test]
fn processes_share_memory_and_events() {
    run("ipc", &[]);
}

#[test]
fn processes_share_pools() {
    run("shared_pools", &[]);
}

#[test]
fn batches_and_tensor_maps() {
    run("batch", &[]);
}

#[test]
fn tensor_maps_of_later_devices() {
    run("tensor_maps", &[("WARPLOOM_DEVICES", "b200,h200")]);
}

#[test]
fn grids_that_wait_for_all_blocks() {
    run("grid", &[]);
}

#[test]
fn arrays_textures_and_surfaces() {
    run("textures", &[]);
}

#[test]
fn texture_references() {
    run("references", &[]);
}

#[test]
fn limits_of_functions_and_devices() {
    run("limits", &[]);
}

#[test]
fn who_has_nvidias_runtime_inside_is_named_once() {
    let output = run("static_runtime", &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        errors.matches("static_runtime-plain has NVIDIA's CUDA runtime linked into it").count(),
        1,
        "{errors}"
    );
}

#[test]
fn a_trace_shows_calls() {
    let output = run("vector", &[("WARPLOOM_TRACE", "api")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("warploom: cuInit(flags=0) = CUDA_SUCCESS"), "{errors}");
    // What a call writes stands behind its argument.
    let global = errors.lines().find(|line| line.contains("cuModuleGetGlobal_v2(")).unwrap_or_default();
    assert!(global.contains(" -> 0x") && global.contains(" -> 4, module="), "{errors}");
    assert!(errors.contains(") = CUDA_ERROR_NOT_FOUND"), "{errors}");
}

#[test]
fn python_through_ctypes() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/scale.py");
    let run = Command::new("python3").arg(&script).env("LD_LIBRARY_PATH", library()).output();
    let output = match run {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED: there is no python3: {error}");
            return;
        }
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "scale: passed\n");
}

/// Whether there is an LLVM of this name.
fn is_there(library: &str) -> bool {
    Path::new("/usr/lib/x86_64-linux-gnu").join(library).exists()
}

#[test]
fn kernels_come_to_be_compiled() {
    let environment = [("WARPLOOM_ENGINE", "auto"), ("WARPLOOM_CACHE", "0"), ("WARPLOOM_LOG", "debug")];
    let output = run("engines", &environment);
    let errors = String::from_utf8_lossy(&output.stderr);
    match errors.contains("kernels are compiled by") {
        true => assert_eq!(errors.matches("first: compiled quickly in").count(), 1, "{errors}"),
        false => eprintln!("skipped: no LLVM"),
    }
}

#[test]
fn programs_with_compiled_kernels() {
    // Without an LLVM they are interpreted.
    for program in ["overlap", "graphs", "textures", "virtual", "updates", "batch", "grid", "launches"] {
        run(program, &[("WARPLOOM_ENGINE", "jit"), ("WARPLOOM_CACHE", "0")]);
    }
}

#[test]
fn another_llvm_is_in_the_process() {
    let [ours, other] = ["libLLVM.so.19.1", "libLLVM-15.so.1"];
    if !is_there(ours) || !is_there(other) {
        return eprintln!("skipped: there are no two versions of LLVM");
    }
    for (ours, other) in [(ours, other), (other, ours)] {
        let environment = [
            ("OTHER_LLVM", other),
            ("WARPLOOM_LLVM", ours),
            ("WARPLOOM_ENGINE", "auto"),
            ("WARPLOOM_CACHE", "0"),
            ("WARPLOOM_LOG", "debug"),
        ];
        let output = run("engines", &environment);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("first: compiled quickly in"), "{errors}");
    }
}

#[test]
fn without_llvm_all_is_interpreted() {
    let nowhere = ("WARPLOOM_LLVM", "/nowhere/libLLVM.so");
    let output = run("engines", &[nowhere, ("WARPLOOM_ENGINE", "auto")]);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = run("vector", &[nowhere, ("WARPLOOM_ENGINE", "jit")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.matches("kernels are interpreted").count(), 1, "{errors}");
}

#[test]
fn faults_of_compiled_kernels() {
    let output = run("faults", &[("WARPLOOM_ENGINE", "jit"), ("WARPLOOM_CACHE", "0")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("illegal address: store of 4 bytes at 0x1000"), "{errors}");
}
