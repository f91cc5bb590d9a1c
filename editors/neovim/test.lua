-- nvim --headless -u NONE -S editors/neovim/test.lua -c cquit
-- `warploom` is on the PATH, or named by WARPLOOM.

local here = debug.getinfo(1, 'S').source:sub(2):match('(.*/)') or './'
vim.g.warploom_command = os.getenv('WARPLOOM')
vim.cmd('source ' .. here .. 'warploom.lua')
local file = vim.fn.tempname() .. '.ptx'
vim.fn.writefile({
    '.version 8.0', '.target sm_80', '.address_size 64', '.visible .entry k(.param .u64 data)', '{',
    '\t.reg .b32 %r<4>;', '\tmov.u32 %r1, %tid.x;', '\tad.s32 %r2, %r1, 1;', '\tret;', '}',
}, file)
vim.cmd('edit ' .. file)

local function check(what, holds)
    if not holds then
        print('FAILED: ' .. what .. '\n')
        vim.cmd('cquit 1')
    end
end

check('a diagnostic', vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end))
local found = vim.diagnostic.get(0)[1]
check('its place', found.lnum == 7 and found.col == 1)
check('its text', found.message:find('unknown instruction'))

local function ask(method, line, character, more)
    local params = vim.tbl_extend('force', {
        textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = line, character = character },
    }, more or {})
    local answers = vim.lsp.buf_request_sync(0, method, params, 20000) or {}
    for _, answer in pairs(answers) do return answer.result end
end
check('a hover', ask('textDocument/hover', 6, 3).contents.value:find('manual 9%.7'))
check('a definition', ask('textDocument/definition', 7, 14).range.start.line == 5)
-- What is typed is sent as an edit.
vim.api.nvim_buf_set_text(0, 7, 1, 7, 3, { 'add' })
check('no diagnostic after a correction', vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end))
check('a renaming', #ask('textDocument/rename', 7, 14, { newName = '%x' }).changes[vim.uri_from_bufnr(0)] == 4)
print('passed\n')
vim.cmd('qall!')
