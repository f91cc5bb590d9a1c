//! The bugs of docs/debugging.md, found by the steps that stand there: in a terminal, and through the Debug Adapter Protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debug")
}

/// Every session of the page comes out as it stands there.
#[test]
fn the_page_is_true() {
    let cases = trycmd::TestCases::new();
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
        let mut process = Command::new(env!("CARGO_BIN_EXE_warploom"))
            .arg("dap")
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
