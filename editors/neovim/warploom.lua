-- Warploom in Neovim 0.7 or later: put this file into ~/.config/nvim/plugin/.

local function filetype(extension, name)
    vim.api.nvim_create_autocmd({ 'BufRead', 'BufNewFile' }, {
        pattern = '*.' .. extension,
        callback = function() vim.bo.filetype = name end,
    })
end
filetype('ptx', 'ptx')
filetype('litmus', 'litmus')
filetype('cuasm', 'cuasm')

vim.api.nvim_create_autocmd('FileType', {
    pattern = { 'ptx', 'litmus', 'cuasm' },
    callback = function(event)
        local command = { vim.g.warploom_command or 'warploom', 'lsp' }
        if vim.lsp.start then
            vim.lsp.start({ name = 'warploom', cmd = command, root_dir = vim.fn.getcwd() })
        else
            -- Before Neovim 0.8 a client is started once and attached by hand.
            vim.g.warploom_client = vim.g.warploom_client or vim.lsp.start_client({ name = 'warploom', cmd = command })
            vim.lsp.buf_attach_client(event.buf, vim.g.warploom_client)
        end
    end,
})
