// The extension starts `warploom lsp` for texts and `warploom dap` for kernels; all that they know is in the command.

import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

/** The settings that the server takes. */
function settings() {
    const all = vscode.workspace.getConfiguration("warploom");
    return { hints: all.get("hints"), debounce: all.get("debounce") };
}

function command(): string {
    return vscode.workspace.getConfiguration("warploom").get("path", "warploom");
}

async function start(): Promise<void> {
    const server: ServerOptions = { command: command(), args: ["lsp"] };
    const options: LanguageClientOptions = {
        documentSelector: [{ language: "ptx" }, { language: "litmus" }, { language: "cuasm" }],
        initializationOptions: settings(),
    };
    client = new LanguageClient("warploom", "Warploom", server, options);
    try {
        await client.start();
    } catch (reason) {
        client = undefined;
        const what = `Warploom: \`${command()} lsp\` does not start: ${reason}`;
        void vscode.window.showErrorMessage(`${what}. The setting warploom.path says which command it is.`);
    }
}

async function stop(): Promise<void> {
    const running = client;
    client = undefined;
    await running?.stop();
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
    const debuggers: vscode.DebugAdapterDescriptorFactory = {
        createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(command(), ["dap"]),
    };
    context.subscriptions.push(
        vscode.debug.registerDebugAdapterDescriptorFactory("warploom", debuggers),
        vscode.commands.registerCommand("warploom.restart", async () => {
            await stop();
            await start();
        }),
        vscode.workspace.onDidChangeConfiguration(async (change) => {
            if (change.affectsConfiguration("warploom.path")) {
                await stop();
                await start();
            } else if (change.affectsConfiguration("warploom")) {
                const params = { settings: { warploom: settings() } };
                await client?.sendNotification("workspace/didChangeConfiguration", params);
            }
        }),
    );
    await start();
}

export function deactivate(): Promise<void> {
    return stop();
}
