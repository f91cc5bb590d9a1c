//! The server through a connection in memory: what an editor sends, and what comes back.

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use std::thread::JoinHandle;
use std::time::Duration;

const URI: &str = "file:///k.ptx";

const KERNEL: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 data)
{
\t.reg .b32 %r<4>;
\t.reg .b64 %rd<4>;
\tld.param.u64 %rd1, [data];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd2, %r1, 4;
\tadd.s64 %rd3, %rd1, %rd2;
LOOP:
\tst.global.u32 [%rd3], %r1;
\tbra LOOP;
}
";

struct Client {
    connection: Option<Connection>,
    server: Option<JoinHandle<bool>>,
    next: i32,
    /// Notifications that came while an answer was waited for.
    seen: Vec<Notification>,
}

impl Client {
    fn new() -> Self {
        let (server, client) = Connection::memory();
        let server = std::thread::spawn(move || warploom_lsp::serve(&server).is_ok());
        let mut this = Self { connection: Some(client), server: Some(server), next: 0, seen: Vec::new() };
        let answer =
            this.ask("initialize", json!({ "capabilities": {}, "initializationOptions": { "debounce": 1 } }));
        assert_eq!(answer["serverInfo"]["name"], "warploom");
        this.tell("initialized", json!({}));
        this
    }

    fn send(&self, message: impl Into<Message>) {
        self.connection
            .as_ref()
            .expect("it is open")
            .sender
            .send(message.into())
            .expect("the server listens");
    }

    fn receive(&self) -> Message {
        let connection = self.connection.as_ref().expect("it is open");
        connection.receiver.recv_timeout(Duration::from_secs(60)).expect("the server answers")
    }

    fn tell(&self, method: &str, params: Value) {
        self.send(Notification::new(method.into(), params));
    }

    fn request(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        self.send(Request::new(self.next.into(), method.into(), params));
        self.next.into()
    }

    /// The result of a request, or its error's code.
    fn outcome(&mut self, id: &RequestId) -> Result<Value, i32> {
        loop {
            match self.receive() {
                Message::Response(response) if response.id == *id => {
                    let value = serde_json::to_value(response).expect("it is JSON");
                    return match value["error"]["code"].as_i64() {
                        Some(code) => Err(code as i32),
                        None => Ok(value["result"].clone()),
                    };
                }
                Message::Notification(one) => self.seen.push(one),
                other => panic!("{other:?}"),
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.outcome(&id).unwrap_or_else(|code| panic!("{method}: {code}"))
    }

    fn open(&self, uri: &str, language: &str, text: &str) {
        let item = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": item }));
    }

    /// A request about the place where the `|` of a text stands in the open text.
    fn at(&mut self, method: &str, line: u32, character: u32) -> Value {
        self.ask(method, position(URI, line, character))
    }

    /// The diagnostics of a version.
    fn diagnostics(&mut self, uri: &str, version: i32) -> Vec<Value> {
        loop {
            let here = |one: &Notification| one.params["uri"] == uri && one.params["version"] == version;
            if let Some(at) = self.seen.iter().position(here) {
                return self.seen.remove(at).params["diagnostics"].as_array().expect("a list").clone();
            }
            if let Message::Notification(one) = self.receive() {
                self.seen.push(one);
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.connection = None;
        let ended = self.server.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(matches!(ended, Some(Ok(true))), "the server ends when its client has gone");
        }
    }
}

fn position(uri: &str, line: u32, character: u32) -> Value {
    json!({
        "textDocument": { "uri": uri }, "position": { "line": line, "character": character },
        "context": { "includeDeclaration": true, "triggerKind": 1, "isRetrigger": false },
    })
}

fn lines(all: &Value) -> Vec<u64> {
    all.as_array()
        .expect("a list")
        .iter()
        .map(|one| one["range"]["start"]["line"].as_u64().expect("a line"))
        .collect()
}

fn open() -> Client {
    let client = Client::new();
    client.open(URI, "ptx", KERNEL);
    client
}

#[test]
fn a_hover_shows_the_form_and_where_a_register_is_live() {
    let mut client = open();
    let hover = client.at("textDocument/hover", 9, 3);
    let text = hover["contents"]["value"].as_str().expect("Markdown");
    assert!(
        text.contains("9.7.1") && text.contains("mul.wide") && text.contains("executed by the machine"),
        "{text}"
    );
    let hover = client.at("textDocument/hover", 10, 12);
    let text = hover["contents"]["value"].as_str().expect("Markdown");
    assert!(
        text.contains(".reg .b64 %rd3")
            && text.contains("one of `%rd<4>`")
            && text.contains("live before lines 13"),
        "{text}"
    );
    assert!(text.contains("+4 a lane"), "{text}");
    let hover = client.at("textDocument/hover", 8, 17);
    let text = hover["contents"]["value"].as_str().expect("Markdown");
    assert!(text.contains("special register") && text.contains("%tid"), "{text}");
}

#[test]
fn names_are_found_where_they_are_declared_and_used() {
    let mut client = open();
    assert_eq!(
        client.at("textDocument/definition", 7, 23)["range"]["start"],
        json!({ "line": 3, "character": 34 })
    );
    assert_eq!(client.at("textDocument/definition", 13, 6)["range"]["start"]["line"], 11);
    // `%r1` alone, with the declaration of its set.
    assert_eq!(lines(&client.at("textDocument/references", 8, 11)), [5, 8, 9, 12]);
    let highlights = client.at("textDocument/documentHighlight", 8, 11);
    let kinds: Vec<_> =
        highlights.as_array().expect("a list").iter().map(|one| one["kind"].as_u64()).collect();
    assert_eq!(kinds, [Some(3), Some(3), Some(2), Some(2)]);
    let symbols = client.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(symbols[0]["name"], "scale");
    let names: Vec<_> =
        symbols[0]["children"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["data", "%r<4>", "%rd<4>", "LOOP"]);
    assert_eq!(client.ask("workspace/symbol", json!({ "query": "SCA" }))[0]["name"], "scale");
}

#[test]
fn completion_has_what_the_table_allows_and_nothing_else() {
    let mut client = open();
    let text = KERNEL.replace("\tbra LOOP;", "\tld.global.\n\tadd.s64 %rd3, \n\tbra ");
    client.open(URI, "ptx", &text);
    let labels = |all: &Value| -> Vec<String> {
        let all = all.as_array().expect("a list").iter();
        all.map(|one| one["label"].as_str().expect("a label").to_owned()).collect()
    };
    let after = client.at("textDocument/completion", 13, 11);
    let found = labels(&after);
    assert!(found.contains(&".v4".into()) && found.contains(&".u32".into()), "{found:?}");
    // Not a second space, and no modifier of other instructions.
    assert!(!found.contains(&".shared".into()) && !found.contains(&".sat".into()), "{found:?}");
    for label in &found {
        assert!(
            !ptx::isa::continuations("ld.global").iter().all(|one| one.modifier.text() != label),
            "{label}"
        );
    }
    let best = |all: &Value| {
        let all = all.as_array().expect("a list").iter();
        let first = all.filter(|one| one["sortText"].as_str().is_some_and(|sort| sort.starts_with('0')));
        first.map(|one| one["label"].as_str().expect("a label").to_owned()).collect::<Vec<_>>()
    };
    let registers = best(&client.at("textDocument/completion", 14, 15));
    assert!(registers.contains(&"%rd1".into()) && !registers.contains(&"%r1".into()), "{registers:?}");
    assert_eq!(best(&client.at("textDocument/completion", 15, 5)), ["LOOP"]);
    let signature = client.at("textDocument/signatureHelp", 14, 15);
    assert_eq!(
        (&signature["signatures"][0]["label"], &signature["activeParameter"]),
        (&json!("add.s64 d, a, b"), &json!(1))
    );
}

#[test]
fn a_set_of_registers_is_renamed_as_a_whole() {
    let mut client = open();
    let prepared = client.at("textDocument/prepareRename", 8, 11);
    assert_eq!(
        (&prepared["placeholder"], &prepared["range"]["end"]["character"]),
        (&json!("%r"), &json!(11))
    );
    let mut rename = position(URI, 8, 11);
    rename["newName"] = json!("%index");
    let edits = client.ask("textDocument/rename", rename.clone());
    assert_eq!(lines(&edits["changes"][URI]), [5, 8, 9, 12]);
    // What is another name of the set `%rd<4>`, a special register, or no name.
    for wrong in ["%rd", "%tid", "1x", "a b", ""] {
        rename["newName"] = json!(wrong);
        let id = client.request("textDocument/rename", rename.clone());
        assert_eq!(client.outcome(&id), Err(-32803), "{wrong}");
    }
    // An instruction is nothing to rename.
    let id = client.request("textDocument/prepareRename", position(URI, 9, 3));
    assert_eq!(client.outcome(&id), Err(-32803));
}

#[test]
fn diagnostics_have_places_in_utf16_and_fixes() {
    let mut client = Client::new();
    let text = KERNEL.replace("\tadd.s64", "\t/* \u{1f600}\u{e4} */ add.s63");
    client.open(URI, "ptx", &text);
    let found = client.diagnostics(URI, 1);
    assert_eq!(found[0]["range"]["start"], json!({ "line": 10, "character": 14 }), "{found:?}");
    assert!(
        found[0]["codeDescription"]["href"].as_str().is_some_and(|href| href.ends_with("diagnostics.md"))
    );
    let params = json!({ "textDocument": { "uri": URI }, "range": found[0]["range"], "context": { "diagnostics": [] } });
    let actions = client.ask("textDocument/codeAction", params);
    let edit = &actions[0]["edit"]["changes"][URI][0];
    assert_eq!((&edit["newText"], &edit["range"]["start"]["character"]), (&json!(".s64"), &json!(14)));
    // The client applies it, and all is well.
    let change = json!({ "range": edit["range"], "text": edit["newText"] });
    client.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [change] }),
    );
    assert_eq!(client.diagnostics(URI, 2), Vec::<Value>::new());
}

#[test]
fn hints_colours_folds_and_selections() {
    let mut client = open();
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let params = json!({ "textDocument": { "uri": URI }, "range": whole });
    let hints = client.ask("textDocument/inlayHint", params.clone());
    let text = hints.to_string();
    assert!(text.contains("contiguous") && text.contains("live 3"), "{text}");
    client.tell(
        "workspace/didChangeConfiguration",
        json!({ "settings": { "warploom": { "hints": { "types": true, "live": false, "shapes": false } } } }),
    );
    let hints = client.ask("textDocument/inlayHint", params);
    assert!(hints.to_string().contains("%rd3: .b64") && !hints.to_string().contains("live"), "{hints}");
    let data = client.ask("textDocument/semanticTokens/full", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(
        data["data"].as_array().expect("a list")[..5],
        [json!(0), json!(0), json!(8), json!(2), json!(0)]
    );
    let folds = client.ask("textDocument/foldingRange", json!({ "textDocument": { "uri": URI } }));
    assert_eq!((&folds[0]["startLine"], &folds[0]["endLine"]), (&json!(4), &json!(14)));
    let params = json!({ "textDocument": { "uri": URI }, "positions": [{ "line": 8, "character": 10 }] });
    let mut selection = client.ask("textDocument/selectionRange", params)[0].clone();
    let mut starts = Vec::new();
    while selection.is_object() {
        starts.push(selection["range"]["start"]["line"].as_u64().expect("a line"));
        selection = selection["parent"].clone();
    }
    assert_eq!((starts.first(), starts.last()), (Some(&8), Some(&0)));
    assert!(starts.len() >= 4 && starts.is_sorted_by(|a, b| a >= b), "{starts:?}");
    let format =
        json!({ "textDocument": { "uri": URI }, "options": { "tabSize": 4, "insertSpaces": false } });
    let edits = client.ask("textDocument/formatting", format);
    let source = ptx::source::Source::new("k", KERNEL);
    let canonical = ptx::print::print(&ptx::syntax::parse(&source).module);
    assert_eq!(edits[0]["newText"], canonical);
}

#[test]
fn litmus_tests_have_verdicts_and_errors() {
    let text = "PTX SB\n{ x=0; y=0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | st.weak y, 1 ;\n ld.weak r0, y | ld.weak r0, x ;\nexists (P0:r0 == 0 /\\ P1:r0 == 0)\n";
    let mut client = Client::new();
    let uri = "file:///sb.litmus";
    client.open(uri, "litmus", text);
    let lens = client.ask("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    assert!(lens[0]["command"]["title"].as_str().is_some_and(|title| title.starts_with("holds")), "{lens}");
    // The register of a thread, in its column and in the assertion, and not the other thread's.
    assert_eq!(lines(&client.ask("textDocument/references", position(uri, 4, 9))), [4, 5]);
    assert_eq!(client.diagnostics(uri, 1), Vec::<Value>::new());
    client.open(uri, "litmus", &text.replace("ld.weak r0, x", "oops r0, x"));
    let found = client.diagnostics(uri, 1);
    assert_eq!(found[0]["range"]["start"], json!({ "line": 4, "character": 17 }), "{found:?}");
}

#[test]
fn cuasm_says_what_an_instruction_reads_and_writes() {
    let text = "\t.target sm_90\n\t.section\t.text.k,\"ax\",@progbits\nk:\n[B0-----:R-:W-:-:S05]         /*0010*/  IADD3 R0, R4, 0x1, RZ ;\n.L_x_1:\n[B------:R-:W-:Y:S00]         /*0020*/  BRA `(.L_x_1) ;\n";
    let mut client = Client::new();
    let uri = "file:///k.cuasm";
    client.open(uri, "cuasm", text);
    let hover = client.ask("textDocument/hover", position(uri, 3, 42));
    let shown = hover["contents"]["value"].as_str().expect("Markdown");
    assert!(
        shown.contains("reads R4") && shown.contains("writes R0") && shown.contains("waits for SB0"),
        "{shown}"
    );
    assert_eq!(lines(&client.ask("textDocument/references", position(uri, 4, 2))), [4, 5]);
    let id = client.request("textDocument/prepareRename", position(uri, 3, 47));
    assert_eq!(client.outcome(&id), Err(-32803), "a register");
}

#[test]
fn whatever_is_asked_has_an_answer() {
    let mut client = open();
    let code = |client: &mut Client, method: &str, params: Value| {
        let id = client.request(method, params);
        client.outcome(&id)
    };
    assert_eq!(code(&mut client, "textDocument/oops", json!({})), Err(-32601));
    assert_eq!(code(&mut client, "textDocument/hover", json!(7)), Err(-32602));
    assert_eq!(
        code(&mut client, "textDocument/hover", json!({ "textDocument": { "uri": URI } })),
        Err(-32602)
    );
    assert_eq!(code(&mut client, "textDocument/hover", position("file:///nothing", 0, 0)), Err(-32602));
    client.tell("textDocument/didChange", json!({ "nonsense": 1 }));
    client.tell("nothing/known", json!({}));
    // One that waits for an analysis is cancelled before it.
    client.open(URI, "ptx", &KERNEL.repeat(50));
    let id = client.request("textDocument/hover", position(URI, 9, 3));
    client.tell("$/cancelRequest", json!({ "id": 999 }));
    client.tell("$/cancelRequest", json!({ "id": id }));
    assert!(matches!(client.outcome(&id), Err(-32800) | Ok(_)));
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(code(&mut client, "textDocument/hover", position(URI, 9, 3)), Err(-32602));
    assert_eq!(client.ask("shutdown", Value::Null), Value::Null);
    client.tell("exit", Value::Null);
}

/// Every request at every place of texts that are cut off anywhere gets an answer that is not `InternalError`.
#[test]
fn no_text_makes_the_server_fail() {
    let litmus = "PTX t\n{ x=0; P0:r1=2 }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n L: st.weak x, 1 | ld.weak r1, x ;\nexists (P1:r1 == 1)\n";
    let cuasm =
        "\t.target sm_90\n\t.section\t.text.k,\"ax\"\nk:\n[B0:R-:W-:-:S05] IADD3 R0, R4, 0x1\n[[ \u{e4}\n`(";
    let mut random = 1_u32;
    let mut client = Client::new();
    for (language, text) in [("ptx", KERNEL), ("litmus", litmus), ("cuasm", cuasm)] {
        for round in 0..24 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let cut = text.floor_char_boundary(random as usize % text.len());
            let other = text.floor_char_boundary((random >> 8) as usize % text.len());
            let (from, to) = (cut.min(other), cut.max(other));
            let damaged = match round % 3 {
                0 => text[..cut].to_owned(),
                1 => format!("{}\u{1f600}\r{}", &text[..from], &text[to..]),
                _ => format!("{}{}", &text[from..], &text[..to]),
            };
            let uri = format!("file:///x.{language}");
            client.open(&uri, language, &damaged);
            for line in 0..4 {
                let line = (random >> 4).wrapping_add(line * 5) % 16;
                for method in [
                    "hover",
                    "definition",
                    "references",
                    "documentHighlight",
                    "completion",
                    "signatureHelp",
                    "prepareRename",
                    "rename",
                    "documentSymbol",
                    "foldingRange",
                    "selectionRange",
                    "formatting",
                    "inlayHint",
                    "semanticTokens/full",
                    "codeAction",
                    "codeLens",
                ] {
                    let mut params = position(&uri, line, random >> 3 & 31);
                    params["newName"] = json!("fresh");
                    params["positions"] = json!([params["position"].clone()]);
                    params["range"] =
                        json!({ "start": params["position"], "end": { "line": 20, "character": 0 } });
                    params["options"] = json!({ "tabSize": 4, "insertSpaces": true });
                    params["context"] = json!({ "includeDeclaration": true, "triggerKind": 1, "isRetrigger": false, "diagnostics": [] });
                    let id = client.request(&format!("textDocument/{method}"), params);
                    if let Err(code) = client.outcome(&id) {
                        assert_eq!(code, -32803, "{method} in {damaged:?}");
                    }
                }
            }
        }
    }
}

/// From an edit to its diagnostics in a text of 5 MB. Prints what it took; the bound is for a build without optimisation.
#[test]
fn a_large_text_stays_responsive() {
    let body: String = KERNEL.lines().skip(3).map(|line| format!("{line}\n")).collect();
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    let mut number = 0;
    while text.len() < 5_000_000 {
        text.push_str(&body.replace("scale", &format!("scale{number}")));
        number += 1;
    }
    let mut client = Client::new();
    client.open(URI, "ptx", &text);
    assert_eq!(client.diagnostics(URI, 1), Vec::<Value>::new());
    let place = json!({ "line": 60_008, "character": 0 });
    let change = json!({ "range": { "start": place, "end": place }, "text": "x" });
    let from = std::time::Instant::now();
    client.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [change] }),
    );
    assert_eq!(client.diagnostics(URI, 2)[0]["range"]["start"]["line"], 60_008);
    let edit = from.elapsed();
    let from = std::time::Instant::now();
    client.at("textDocument/hover", 60_007, 12);
    println!(
        "{} bytes: {edit:?} from an edit to its diagnostics, {:?} for a hover",
        text.len(),
        from.elapsed()
    );
    assert!(edit < Duration::from_secs(30));
}
