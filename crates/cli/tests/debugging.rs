//! The bugs of docs/debugging.md, found by the steps that stand there: in a terminal, and through the Debug Adapter Protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debug")
}

/// A folder with the program of the page, which says that its kernels are in the files here, and one with our driver.
fn programs() -> &'static [PathBuf; 2] {
    static FOLDERS: OnceLock<[PathBuf; 2]> = OnceLock::new();
    FOLDERS.get_or_init(|| {
        let [programs, libraries] =
            ["programs", "libraries"].map(|name| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        for folder in [&programs, &libraries] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let test = std::env::current_exe().expect("a path");
        std::fs::copy(test.with_file_name("libcuda.so"), libraries.join("libcuda.so")).expect("our driver");
        let compiled = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Werror", "-O1", "-o"])
            .args([&programs.join("weighted"), &folder().join("weighted.c")])
            .arg(format!("-DPTX=\"{}\"", folder().join("weighted.ptx").display()))
            .args(["-L".as_ref(), libraries.as_os_str(), "-lcuda".as_ref()])
            .output()
            .expect("a compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        [programs, libraries]
    })
}

/// What is set for the command that debugs a program.
fn environment() -> [(&'static str, std::ffi::OsString); 3] {
    let [programs, libraries] = programs();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(programs.clone()).chain(std::env::split_paths(&path));
    [
        ("WARPLOOM_LIB", libraries.into()),
        ("XDG_CACHE_HOME", libraries.join("cache").into()),
        ("PATH", std::env::join_paths(paths).expect("a path")),
    ]
}

/// A script at the console of a program; what is shown.
fn debugged(words: &[&str], commands: &str) -> String {
    let script = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(script.path(), commands).expect("it is written");
    let output = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .args(["debug", "--batch", "-x"])
        .arg(script.path())
        .arg("--source")
        .arg(folder())
        .arg("--")
        .args(words)
        .envs(environment())
        .output()
        .expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).expect("text")
}

/// A fault in the second launch stops it; the program then learns of it, and it alone has the fault's error.
#[test]
fn a_fault_of_a_program_is_stopped_at() {
    let shown =
        debugged(&["weighted", "wrong"], "run\nprint in\nreverse-step 2\nprint t\ncontinue\ncontinue\n");
    let expected = [
        "[Launch 2: sum(int*, int const*, int), grid (1,1,1), block (64,1,1)]\nFault: ",
        "17\t        mine += in[i];",
        "(warploom) print in\n0x0\n",
        "(warploom) print t\n",
        "(warploom) continue\nFault: ",
        "[program] cuMemcpyDtoH_v2(&total, result, sizeof total): error 700\n",
        "The program has ended with exit code 3.\n",
    ];
    let mut rest = shown.as_str();
    for text in expected {
        let at = rest.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
        rest = &rest[at + text.len()..];
    }
}

/// Launches and their ends are stopped at; breakpoints wait for a module that has their place; going back stays in a launch.
#[test]
fn launches_of_a_program_are_stopped_at() {
    let commands = "break nowhere\ncatch launch\ncatch end\nrun\nreverse-continue\ncontinue\ncontinue\ninfo cuda kernels\n";
    let shown = debugged(&["sh", "-c", "weighted; exit 5"], commands);
    assert!(shown.contains("Breakpoint 1 at nowhere: nowhere in this module"), "{shown}");
    assert_eq!(shown.matches("The kernel is over, after").count(), 2, "{shown}");
    assert!(shown.contains("No more reverse-execution history."), "{shown}");
    assert!(
        shown.ends_with(
            "sum(int*, int const*, int): grid (1,1,1), block (64,1,1); block (0,0,0) has stopped\n"
        ),
        "{shown}"
    );
    let end = debugged(&["sh", "-c", "weighted; exit 5"], "run\nprint 1\n");
    assert!(end.contains("[program] total 58700, expected 59700\n"), "{end}");
    assert!(end.ends_with("exit code 5.\n(warploom) print 1\nThe program has ended.\n"), "{end}");
    let none = debugged(&["true"], "run\n");
    assert!(none.starts_with("The program has ended with exit code 0.\n"), "{none}");
}

/// The same through an editor's protocol.
#[test]
fn an_editor_debugs_a_program() {
    let mut client = Client::in_environment(&environment());
    client.launch(json!({ "program": "weighted", "sourceFolders": [folder()], "stopOnEntry": true }));
    let wanted = json!({ "breakpoints": [{ "name": "sum" }, { "name": "nowhere" }] });
    let set = client.done("setFunctionBreakpoints", wanted);
    assert_eq!([&set["breakpoints"][0]["verified"], &set["breakpoints"][1]["verified"]], [true, false]);
    let source = json!({ "path": folder().join("weighted.cu") });
    let wanted = json!([{ "line": 18, "condition": "mine < 0" }]);
    client.done("setBreakpoints", json!({ "source": source, "breakpoints": wanted }));
    client.done("configurationDone", json!({}));
    assert_eq!(client.event("stopped")["reason"], "entry");
    client.done("continue", json!({ "threadId": 1 }));
    assert_eq!(client.event("stopped")["reason"], "breakpoint");
    client.done("setFunctionBreakpoints", json!({ "breakpoints": [] }));
    client.done("continue", json!({ "threadId": 1 }));
    assert_eq!(client.event("stopped")["reason"], "breakpoint");
    assert_eq!(client.value("mine"), "-352");
    client.done("stepBack", json!({ "threadId": 1 }));
    client.event("stopped");
    client.done("stepBack", json!({ "threadId": 1 }));
    client.event("stopped");
    assert_eq!([client.value("i"), client.value("in[i]")], ["200", "-1000"]);
    let frames = client.done("stackTrace", json!({ "threadId": 1 }));
    assert_eq!(frames["stackFrames"][0]["line"], 17);
    client.done("setBreakpoints", json!({ "source": source, "breakpoints": [] }));
    client.done("continue", json!({ "threadId": 1 }));
    assert_eq!(client.event("exited")["exitCode"], 1);
    client.event("terminated");
    let printed = client.events.iter().filter(|event| event["body"]["category"] == "stdout");
    let printed: String = printed.filter_map(|event| event["body"]["output"].as_str()).collect();
    assert_eq!(printed, "scaling 200 numbers\ntotal 58700, expected 59700\n");
    client.end();
}

/// A program that launches nothing, or is left while it is debugged.
#[test]
fn an_editor_is_told_that_nothing_is_launched() {
    let mut client = Client::in_environment(&environment());
    client.done("initialize", json!({ "adapterID": "warploom" }));
    let refused = client.ask("launch", json!({ "program": "true" }));
    assert_eq!(refused["message"], "the program has ended with exit code 0 and launched nothing");
    client.end();
    let mut client = Client::in_environment(&environment());
    client.launch(json!({ "program": "weighted", "stopOnEntry": true }));
    client.done("configurationDone", json!({}));
    client.event("stopped");
    client.end();
}

/// Every session of the page comes out as it stands there.
#[test]
fn the_page_is_true() {
    let cases = trycmd::TestCases::new();
    for (name, value) in environment() {
        cases.env(name, value.to_string_lossy());
    }
    cases.env("NO_COLOR", "1").env("COLUMNS", "100").case("../../docs/debugging.md");
}

/// A client of the protocol, as plain as can be.
struct Client {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    seq: i64,
    /// Events that nobody has asked for yet.
    events: Vec<Value>,
}

impl Client {
    fn new() -> Self {
        Self::in_environment(&[])
    }

    fn in_environment(environment: &[(&str, std::ffi::OsString)]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_warploom"))
            .arg("dap")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let to = process.stdin.take().expect("a stream");
        let from = BufReader::new(process.stdout.take().expect("a stream"));
        Self { process, to, from, seq: 0, events: Vec::new() }
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).expect("a line"), 0, "the stream has ended");
            match line.trim_end().split_once(": ") {
                Some((_, value)) => length = value.parse().expect("a length"),
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.from.read_exact(&mut text).expect("a message");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Sends a request; its response.
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let text = json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments })
            .to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it listens");
        self.to.flush().expect("it listens");
        loop {
            let message = self.read();
            match message["type"] == "response" && message["request_seq"] == self.seq {
                true => return message,
                false => self.events.push(message),
            }
        }
    }

    /// The body of a response that must be a good one.
    fn done(&mut self, command: &str, arguments: Value) -> Value {
        let response = self.ask(command, arguments);
        assert_eq!(response["success"], true, "{command}: {response}");
        response["body"].clone()
    }

    fn event(&mut self, name: &str) -> Value {
        loop {
            if let Some(index) = self.events.iter().position(|event| event["event"] == name) {
                return self.events.remove(index)["body"].clone();
            }
            let message = self.read();
            self.events.push(message);
        }
    }

    fn launch(&mut self, configuration: Value) {
        assert_eq!(self.done("initialize", json!({ "adapterID": "warploom" }))["supportsStepBack"], true);
        self.done("launch", configuration);
        self.event("initialized");
    }

    fn value(&mut self, expression: &str) -> Value {
        self.done("evaluate", json!({ "expression": expression }))["result"].clone()
    }

    fn end(mut self) {
        self.done("disconnect", json!({}));
        assert!(self.process.wait().expect("it ends").success());
    }
}

/// The wrong index, forwards and backwards.
#[test]
fn an_editor_finds_who_wrote() {
    let mut client = Client::new();
    let program = folder().join("scatter.ptx");
    client.launch(json!({
        "program": program, "grid": 5, "block": 3, "args": ["zeros:i32[15]", "range:i32[15]:start=100", 15],
    }));
    let source = json!({ "path": folder().join("scatter.cu") });
    let wanted = json!([{ "line": 9, "condition": "blockIdx.x == 4" }, { "line": 999 }]);
    let set = client.done("setBreakpoints", json!({ "source": source, "breakpoints": wanted }));
    assert_eq!(set["breakpoints"][0]["verified"], true);
    assert_eq!(set["breakpoints"][1]["message"], "no code belongs to line 999 of scatter.cu");
    client.done("configurationDone", json!({}));
    let stopped = client.event("stopped");
    assert_eq!((&stopped["reason"], &stopped["threadId"]), (&json!("breakpoint"), &json!(1)));
    let frames = client.done("stackTrace", json!({ "threadId": 1 }));
    assert_eq!(frames["stackFrames"][0]["line"], 9);
    let info = client.done("dataBreakpointInfo", json!({ "name": "out[0]" }));
    client.done(
        "setDataBreakpoints",
        json!({ "breakpoints": [{ "dataId": info["dataId"], "accessType": "write" }] }),
    );
    for block in ["4", "3", "2"] {
        client.done("reverseContinue", json!({ "threadId": 1 }));
        assert_eq!(client.event("stopped")["reason"], "data");
        assert_eq!(client.value("blockIdx.x"), block);
    }
    client.done("stepBack", json!({ "threadId": 1, "granularity": "instruction" }));
    client.event("stopped");
    assert_eq!(client.value("at"), "0");
    client.end();
}

/// Variables, registers and shared memory are assigned; the kernel goes on with them, and going back undoes it.
#[test]
fn an_editor_assigns() {
    let mut client = Client::new();
    client.launch(
        json!({ "program": folder().join("reverse.ptx"), "block": 64, "args": ["range:i32[64]:start=1"] }),
    );
    let source = json!({ "path": folder().join("reverse.cu") });
    client.done("setBreakpoints", json!({ "source": source, "breakpoints": [{ "line": 6 }] }));
    client.done("configurationDone", json!({}));
    client.event("stopped");
    let frame = client.done("stackTrace", json!({ "threadId": 1 }))["stackFrames"][0]["id"].clone();
    let scopes = client.done("scopes", json!({ "frameId": frame }))["scopes"].clone();
    let reference = |name: &str| {
        let scope = scopes.as_array().and_then(|all| all.iter().find(|scope| scope["name"] == name));
        scope.map_or(Value::Null, |scope| scope["variablesReference"].clone())
    };
    // Lane 0 reads element 63 - 40, which is 24, unless that is assigned, too.
    let set = json!({ "variablesReference": reference("Locals"), "name": "i", "value": "40" });
    assert_eq!(client.done("setVariable", set)["value"], "40");
    let set = json!({ "expression": "tile[23]", "value": "7 * 1000", "frameId": frame });
    assert_eq!(client.done("setExpression", set)["value"], "7000");
    let set = json!({ "variablesReference": reference("Registers"), "name": "%rd1", "value": "%rd1 + 4" });
    assert!(client.done("setVariable", set)["type"].as_str().is_some_and(|ty| ty.contains("64")));
    for (name, value, why) in [("i", "nothing", "no symbol"), ("tile", "1", "cannot be assigned as a whole")]
    {
        let refused =
            client.ask("setExpression", json!({ "expression": name, "value": value, "frameId": frame }));
        assert!(refused["message"].as_str().is_some_and(|told| told.contains(why)), "{refused}");
    }
    client.done("next", json!({ "threadId": 1 }));
    client.event("stopped");
    assert_eq!(client.value("other"), "7000");
    client.done("next", json!({ "threadId": 1 }));
    client.event("stopped");
    // To the element behind 40, as the pointer was assigned.
    assert_eq!(client.value("*(int *)(%rd1 + 160)"), "7000");
    for _ in 0..3 {
        client.done("stepBack", json!({ "threadId": 1 }));
        client.event("stopped");
    }
    // Before the line that fills the tile; from there the assignments are not made again.
    assert_eq!([client.value("i"), client.value("tile[23]")], ["0", "0"]);
    client.done("next", json!({ "threadId": 1 }));
    client.event("stopped");
    assert_eq!([client.value("i"), client.value("tile[23]")], ["0", "24"]);
    client.end();
}

/// Warps of other CTAs are threads, too: block 1 waits for nobody, and block 0 for it.
#[test]
fn an_editor_sees_other_blocks() {
    let mut client = Client::new();
    let program = folder().join("waits.ptx");
    client.launch(json!({ "program": program, "grid": 2, "block": 32, "args": ["zeros:u32[2]"] }));
    let source = json!({ "path": program });
    client.done("setBreakpoints", json!({ "source": source, "breakpoints": [{ "line": 23 }] }));
    client.done("configurationDone", json!({}));
    assert_eq!(client.event("stopped")["threadId"], 1);
    let threads = client.done("threads", json!({}))["threads"].clone();
    let name = |index: usize| threads[index]["name"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        [name(0), name(1)],
        ["block (1,0,0) warp 0, thread (0,0,0)", "block (0,0,0) warp 0, thread (0,0,0)"]
    );
    for (index, block) in [(1, "0"), (0, "1")] {
        let frames = client.done("stackTrace", json!({ "threadId": threads[index]["id"] }));
        let frame = frames["stackFrames"][0]["id"].clone();
        let shown = |client: &mut Client, expression: &str| {
            client.done("evaluate", json!({ "expression": expression, "frameId": frame }))["result"].clone()
        };
        assert_eq!([shown(&mut client, "blockIdx.x"), shown(&mut client, "%r1")], [block, block]);
        let set = json!({ "expression": "mark", "value": "%r1 + 90", "frameId": frame });
        assert_eq!(client.done("setExpression", set)["value"], format!("9{block}"));
        assert_eq!(shown(&mut client, "mark"), format!("9{block}"));
    }
    client.done("continue", json!({ "threadId": 1 }));
    assert_eq!(client.event("exited")["exitCode"], 0);
    client.end();
}

/// What cannot be done is told, and harms nothing.
#[test]
fn an_editor_is_told_what_is_wrong() {
    let mut client = Client::new();
    let told = |response: Value| response["message"].as_str().unwrap_or_default().to_owned();
    assert_eq!(told(client.ask("continue", json!({ "threadId": 1 }))), "nothing is launched");
    assert!(told(client.ask("fly", json!({}))).contains("not understood"));
    assert_eq!(told(client.ask("launch", json!({}))), "`program`, the name of a PTX file, is missing");
    assert!(
        told(client.ask("launch", json!({ "program": "nowhere.ptx", "block": 1 })))
            .starts_with("cannot read nowhere.ptx")
    );
    let program = folder().join("reverse.ptx");
    assert!(told(client.ask("launch", json!({ "program": program, "block": 64 }))).contains("1 parameter"));
    client.launch(json!({ "program": program, "block": 64, "args": ["range:i32[64]"], "stopOnEntry": true }));
    client.done("configurationDone", json!({}));
    assert_eq!(client.event("stopped")["reason"], "entry");
    assert!(told(client.ask("evaluate", json!({ "expression": "nothing" }))).starts_with("no symbol"));
    assert!(!told(client.ask("variables", json!({ "variablesReference": 99 }))).is_empty());
    assert!(!told(client.ask("stackTrace", json!({ "threadId": 77 }))).is_empty());
    client.done("continue", json!({ "threadId": 1 }));
    assert_eq!(client.event("exited")["exitCode"], 0);
    client.event("terminated");
    client.end();
}

/// A kernel that never ends is interrupted, and left while it runs.
#[test]
fn an_editor_interrupts() {
    let mut client = Client::new();
    client.launch(json!({ "program": folder().join("spin.ptx"), "block": 32, "args": ["zeros:u32[1]"] }));
    client.done("configurationDone", json!({}));
    client.done("pause", json!({ "threadId": 1 }));
    assert_eq!(client.event("stopped")["reason"], "pause");
    // Without source lines the PTX is the source.
    let frame = client.done("stackTrace", json!({ "threadId": 1 }))["stackFrames"][0].clone();
    assert_eq!((&frame["name"], &frame["source"]["name"]), (&json!("spin"), &json!("spin.ptx")));
    assert!((10..=14).contains(&frame["line"].as_i64().unwrap_or_default()), "{frame}");
    assert_eq!(client.value("%r1"), "0");
    client.done("continue", json!({ "threadId": 1 }));
    client.end();
}

/// A client that others have written: that of VS Code, in the folder that `WARPLOOM_DAP_CLIENT` names (see its file).
#[test]
fn the_client_of_vs_code_finds_the_bugs() {
    let Some(modules) = std::env::var_os("WARPLOOM_DAP_CLIENT") else {
        return eprintln!(
            "SKIPPED: WARPLOOM_DAP_CLIENT names no folder with @vscode/debugadapter-testsupport"
        );
    };
    let output = Command::new("node")
        .arg(folder().with_file_name("dap").join("client.cjs"))
        .arg(env!("CARGO_BIN_EXE_warploom"))
        .arg(folder())
        .env("NODE_PATH", modules)
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
