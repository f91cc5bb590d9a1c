// The bugs of docs/debugging.md, found by VS Code's own test client of the Debug Adapter Protocol:
//     npm install @vscode/debugadapter-testsupport
//     NODE_PATH=node_modules node client.cjs WARPLOOM FOLDER
const assert = require('node:assert');
const path = require('node:path');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const [warploom, folder] = process.argv.slice(2);

async function launch(configuration, prepare) {
    const client = new DebugClient(warploom, 'dap', 'warploom');
    await client.start();
    await client.initializeRequest({ adapterID: 'warploom', linesStartAt1: true, columnsStartAt1: true, pathFormat: 'path' });
    const initialized = client.waitForEvent('initialized');
    await client.launchRequest(configuration);
    await initialized;
    await prepare(client);
    return client;
}

async function begin(client) {
    const stopped = client.waitForEvent('stopped');
    await client.configurationDoneRequest();
    return (await stopped).body;
}

async function move(client, request) {
    const stopped = client.waitForEvent('stopped');
    await request;
    return (await stopped).body;
}

const top = async (client, threadId) => (await client.stackTraceRequest({ threadId })).body.stackFrames[0];
const value = async (client, expression, frameId) =>
    (await client.evaluateRequest({ expression, frameId, context: 'watch' })).body.result;

async function wrongIndex() {
    const source = path.join(folder, 'scatter.cu');
    const client = await launch({
        program: path.join(folder, 'scatter.ptx'), grid: 5, block: 3,
        args: ['zeros:i32[15]', 'range:i32[15]:start=100', 15],
    }, async client => {
        const set = await client.setBreakpointsRequest({
            source: { path: source }, breakpoints: [{ line: 9, condition: 'blockIdx.x == 4' }],
        });
        assert.strictEqual(set.body.breakpoints[0].verified, true);
    });
    let stop = await begin(client);
    assert.strictEqual(stop.reason, 'breakpoint');
    let frame = await top(client, stop.threadId);
    assert.strictEqual(frame.line, 9);
    assert.strictEqual(frame.source.path, source);
    // Where 103, 106, ... should be is nothing.
    assert.strictEqual(await value(client, 'out[0]@4', frame.id), '{112, 0, 0, 0}');
    const watched = await client.dataBreakpointInfoRequest({ name: 'out[0]', frameId: frame.id });
    await client.setDataBreakpointsRequest({ breakpoints: [{ dataId: watched.body.dataId, accessType: 'write' }] });
    // Who wrote this? And who before?
    const writers = [];
    for (let time = 0; time < 5; time++) {
        stop = await move(client, client.reverseContinueRequest({ threadId: stop.threadId }));
        assert.strictEqual(stop.reason, 'data');
        frame = await top(client, stop.threadId);
        assert.strictEqual(frame.line, 7);
        writers.push(await value(client, 'blockIdx.x', frame.id));
    }
    assert.deepStrictEqual(writers, ['4', '3', '2', '1', '0']);
    // Steps back, to the beginning of this line and of the one before; and the variables of the frame.
    for (const line of [7, 6]) {
        stop = await move(client, client.stepBackRequest({ threadId: stop.threadId }));
        frame = await top(client, stop.threadId);
        assert.strictEqual(frame.line, line);
    }
    const scopes = (await client.scopesRequest({ frameId: frame.id })).body.scopes;
    const locals = (await client.variablesRequest({ variablesReference: scopes[0].variablesReference })).body.variables;
    assert.deepStrictEqual(locals.filter(local => ['i', 'at'].includes(local.name)).map(local => local.value), ['0', '0']);
    const registers = (await client.variablesRequest({ variablesReference: scopes[2].variablesReference })).body.variables;
    assert.ok(registers.some(register => register.name === '%rd1' && register.value.length > 4));
    // An assignment, which going back undoes.
    const set = await client.setVariableRequest({ variablesReference: scopes[0].variablesReference, name: 'at', value: '14' });
    assert.strictEqual(set.body.value, '14');
    stop = await move(client, client.nextRequest({ threadId: stop.threadId }));
    stop = await move(client, client.nextRequest({ threadId: stop.threadId }));
    frame = await top(client, stop.threadId);
    assert.strictEqual(await value(client, 'out[14]', frame.id), '100');
    for (let time = 0; time < 3; time++) {
        stop = await move(client, client.stepBackRequest({ threadId: stop.threadId }));
    }
    stop = await move(client, client.nextRequest({ threadId: stop.threadId }));
    frame = await top(client, stop.threadId);
    assert.strictEqual(frame.line, 6);
    assert.strictEqual(await value(client, 'at', frame.id), '0');
    // The console's commands, where an editor has its own.
    const lanes = await client.evaluateRequest({ expression: 'lanes at', frameId: frame.id, context: 'repl' });
    assert.match(lanes.body.result, /^ 1 +\(1,0,0\) +5$/m);
    await client.stop();
}

async function race() {
    const client = await launch({
        program: path.join(folder, 'total.ptx'), block: 64, check: 'race',
        args: ['zeros:i32[1]', 'range:i32[64]:start=1'],
    }, client => client.setExceptionBreakpointsRequest({ filters: ['findings'] }));
    let stop = await begin(client);
    assert.strictEqual(stop.reason, 'exception');
    assert.match(stop.text, /race: read of 4 bytes and earlier write/);
    const frames = (await client.stackTraceRequest({ threadId: stop.threadId })).body.stackFrames;
    assert.deepStrictEqual(frames.map(frame => frame.line), [3, 9]);
    assert.strictEqual(await value(client, 'value', frames[1].id), '33');
    const watched = await client.dataBreakpointInfoRequest({ name: '*total', frameId: frames[0].id });
    await client.setDataBreakpointsRequest({ breakpoints: [{ dataId: watched.body.dataId, accessType: 'write' }] });
    stop = await move(client, client.reverseContinueRequest({ threadId: stop.threadId }));
    assert.strictEqual(stop.reason, 'data');
    assert.strictEqual(await value(client, 'threadIdx.x', (await top(client, stop.threadId)).id), '0');
    await client.stop();
}

async function missingBarrier() {
    const client = await launch({
        program: path.join(folder, 'reverse.ptx'), block: 64, args: ['range:i32[64]:start=1'], stopOnEntry: true,
    }, client => client.setBreakpointsRequest({
        source: { path: path.join(folder, 'reverse.cu') }, breakpoints: [{ line: 7 }],
    }));
    let stop = await begin(client);
    assert.strictEqual(stop.reason, 'entry');
    stop = await move(client, client.continueRequest({ threadId: stop.threadId }));
    let frame = await top(client, stop.threadId);
    assert.strictEqual(await value(client, 'tile[31]@2', frame.id), '{32, 0}');
    assert.strictEqual(await value(client, 'other', frame.id), '0');
    const threads = (await client.threadsRequest()).body.threads;
    assert.strictEqual(threads.length, 2);
    assert.strictEqual((await top(client, 2)).line, 2);
    const watched = await client.dataBreakpointInfoRequest({ name: 'tile[63]', frameId: frame.id });
    await client.setDataBreakpointsRequest({ breakpoints: [{ dataId: watched.body.dataId, accessType: 'readWrite' }] });
    // Backwards: it was read; forwards: it is written only now.
    stop = await move(client, client.reverseContinueRequest({ threadId: stop.threadId }));
    assert.deepStrictEqual([stop.reason, (await top(client, stop.threadId)).line], ['data', 6]);
    stop = await move(client, client.continueRequest({ threadId: stop.threadId }));
    assert.strictEqual(stop.reason, 'breakpoint');
    stop = await move(client, client.continueRequest({ threadId: stop.threadId }));
    assert.deepStrictEqual([stop.reason, stop.threadId, (await top(client, stop.threadId)).line], ['data', 2, 5]);
    const ended = client.waitForEvent('terminated');
    await client.setDataBreakpointsRequest({ breakpoints: [] });
    await client.setBreakpointsRequest({ source: { path: path.join(folder, 'reverse.cu') }, breakpoints: [] });
    await client.continueRequest({ threadId: stop.threadId });
    await ended;
    await client.stop();
}

(async () => {
    for (const bug of [wrongIndex, race, missingBarrier]) {
        await bug();
        console.log(`${bug.name}: found`);
    }
})().catch(error => {
    console.error(error);
    process.exit(1);
});
