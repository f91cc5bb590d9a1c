// The grammars on real texts, and the server with the connection that VS Code's client has. `warploom` is on the PATH, or
// named by WARPLOOM.

import * as assert from "assert";
import { spawn } from "child_process";
import * as fs from "fs";
import * as path from "path";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import * as oniguruma from "vscode-oniguruma";
import * as textmate from "vscode-textmate";

const ROOT = path.join(__dirname, "..");

/** The scopes of the words of a line. */
async function scopes(language: string, line: string): Promise<Map<string, string>> {
    const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
    await oniguruma.loadWASM(new Uint8Array(wasm).buffer);
    const registry = new textmate.Registry({
        onigLib: Promise.resolve({
            createOnigScanner: (sources: string[]) => new oniguruma.OnigScanner(sources),
            createOnigString: (text: string) => new oniguruma.OnigString(text),
        }),
        loadGrammar: async () => {
            const file = path.join(ROOT, "syntaxes", `${language}.tmLanguage.json`);
            return textmate.parseRawGrammar(fs.readFileSync(file, "utf8"), file);
        },
    });
    const grammar = await registry.loadGrammar(`source.${language}`);
    assert.ok(grammar);
    const tokens = grammar.tokenizeLine(line, textmate.INITIAL).tokens;
    return new Map(tokens.map((token) => [
        line.slice(token.startIndex, token.endIndex).trim(), token.scopes[token.scopes.length - 1],
    ]));
}

async function grammars(): Promise<void> {
    const ptx = await scopes("ptx", "@%p1 ld.global.v4.f32 {%f1, %f2}, [%rd1+0x10]; mov.u32 %r1, %tid.x; // end");
    assert.equal(ptx.get("ld"), "keyword.operator.mnemonic.ptx");
    assert.equal(ptx.get("%f2"), "variable.other.register.ptx");
    assert.equal(ptx.get("%tid"), "support.constant.special.ptx");
    assert.equal(ptx.get("// end"), "comment.line.double-slash.ptx");
    const cuasm = await scopes("cuasm", "[B------:R-:W0:-:S02]         /*0000*/  S2R R0, SR_TID.X ;");
    assert.equal(cuasm.get("S2R"), "keyword.operator.mnemonic.cuasm");
    assert.equal(cuasm.get("R0"), "variable.other.register.cuasm");
    const litmus = await scopes("litmus", " st.weak x, 1 | ld.acquire.gpu r1, y ;");
    assert.equal(litmus.get("ld"), "keyword.operator.mnemonic.litmus");
    assert.equal(litmus.get("r1"), "variable.other.register.litmus");
}

async function server(): Promise<void> {
    const child = spawn(process.env.WARPLOOM ?? "warploom", ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
    const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
    const connection = createMessageConnection(
        new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin),
    );
    const published = new Promise<any>((resolve) => connection.onNotification("textDocument/publishDiagnostics", resolve));
    connection.listen();
    const { capabilities } = await connection.sendRequest<any>("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
    assert.equal(capabilities.hoverProvider, true);
    await connection.sendNotification("initialized", {});
    const text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { ad.s32 a, b, c; ret; }\n";
    const uri = "file:///k.ptx";
    await connection.sendNotification("textDocument/didOpen", { textDocument: { uri, languageId: "ptx", version: 1, text } });
    const { diagnostics } = await published;
    assert.deepEqual(diagnostics[0].range.start, { line: 3, character: 13 });
    assert.match(diagnostics[0].message, /unknown instruction/);
    assert.equal(await connection.sendRequest("shutdown"), null);
    await connection.sendNotification("exit");
    assert.equal(await ended, 0);
}

grammars().then(server).then(() => console.log("passed"), (reason) => {
    console.error(reason);
    process.exit(1);
});
