//! The names of a PTX text, from its tree and its tokens: the tree says what is declared and which scopes there are, and each
//! token that is a name means what the innermost scope around it says.

use crate::index::{Index, Kind, Occurrence, Symbol};
use ptx::ast::{
    ExprKind, FunctionKind, ItemKind, Module, Name, OperandKind, OperandList, Space, Spanned, StatementKind,
    VariableId,
};
use ptx::isa::Role;
use ptx::source::Span;
use ptx::syntax::{Token, TokenKind};
use rustc_hash::FxHashMap;

/// Names of one scope.
#[derive(Default)]
struct Scope {
    span: Span,
    names: FxHashMap<Name, u32>,
}

struct Builder<'a> {
    module: &'a Module,
    index: Index,
    /// All scopes in the order in which they begin; the first is the module's.
    scopes: Vec<Scope>,
    /// Those that are open, while declarations are read.
    open: Vec<usize>,
    /// Operands that are written, in order.
    written: Vec<Span>,
    function: Option<u32>,
}

/// The names of a text.
pub(super) fn index(module: &Module, tokens: &[Token]) -> Index {
    let whole = Span::new(0, module.source.text().len() as u32);
    let scopes = vec![Scope { span: whole, names: FxHashMap::default() }];
    let mut builder = Builder {
        module,
        index: Index::default(),
        scopes,
        open: vec![0],
        written: Vec::new(),
        function: None,
    };
    for item in &module.items {
        builder.item(item);
    }
    builder.occurrences(tokens);
    builder.index
}

impl Builder<'_> {
    fn item(&mut self, item: &Spanned<ItemKind>) {
        match &item.value {
            ItemKind::Variable(id) => self.variable(*id, item.span, Kind::Variable),
            ItemKind::Alias { name, .. } => {
                self.declare(*name, item.span, Kind::Function, None, ".alias".into())
            }
            ItemKind::Function(id) => {
                let function = &self.module[*id];
                let (kind, word) = match function.kind.value {
                    FunctionKind::Entry => (Kind::Kernel, ".entry"),
                    FunctionKind::Func => (Kind::Function, ".func"),
                };
                // A declaration and its definition are one.
                let known = self.scopes[0].names.get(&function.name.value).copied();
                match known {
                    Some(symbol) if function.body.is_some() => {
                        let symbol = &mut self.index.symbols[symbol as usize];
                        (symbol.declared, symbol.whole) = (function.name.span, item.span);
                    }
                    Some(_) => {}
                    None => self.declare(function.name, item.span, kind, None, word.into()),
                }
                self.function = self.scopes[0].names.get(&function.name.value).copied();
                self.scopes.push(Scope { span: item.span, names: FxHashMap::default() });
                self.open.push(self.scopes.len() - 1);
                for list in [function.returns, function.params] {
                    for id in std::ops::Range::from(list) {
                        let id = VariableId(id as u32);
                        let span = self.module[id].space.span;
                        self.variable(id, span, Kind::Parameter);
                    }
                }
                if let Some(body) = function.body {
                    for statement in &self.module[body.statements] {
                        self.statement(statement, body.span);
                    }
                }
                self.open.truncate(1);
                self.function = None;
            }
            ItemKind::Version(_)
            | ItemKind::Target(_)
            | ItemKind::AddressSize(_)
            | ItemKind::Pragma(_)
            | ItemKind::File(_)
            | ItemKind::Section(_)
            | ItemKind::Dwarf(_) => {}
        }
    }

    fn statement(&mut self, statement: &Spanned<StatementKind>, body: Span) {
        match &statement.value {
            StatementKind::Label(name) => {
                self.declare(
                    Spanned::new(*name, statement.span),
                    statement.span,
                    Kind::Label,
                    None,
                    "label".into(),
                );
            }
            StatementKind::BlockBegin => {
                let span = Span::new(statement.span.start, body.end);
                self.scopes.push(Scope { span, names: FxHashMap::default() });
                self.open.push(self.scopes.len() - 1);
            }
            StatementKind::BlockEnd => {
                if let Some(scope) = self.open.pop() {
                    self.scopes[scope].span.end = statement.span.end;
                }
            }
            StatementKind::Variable(id) => self.variable(*id, statement.span, Kind::Variable),
            StatementKind::Prototype(id) => {
                let name = self.module[*id].name;
                self.declare(name, statement.span, Kind::Prototype, None, ".callprototype".into());
            }
            StatementKind::Targets(id) => {
                let name = self.module[*id].name;
                self.declare(name, statement.span, Kind::Prototype, None, "targets".into());
            }
            StatementKind::Instruction(instruction) => {
                let candidates = &self.module[instruction.opcode.value].candidates;
                if let Some(opcode) = candidates.first() {
                    let roles = opcode.data().operands.iter().map(|operand| operand.role);
                    self.writes(instruction.operands, &mut roles.collect::<Vec<_>>().into_iter());
                }
            }
            StatementKind::Loc(_) | StatementKind::Pragma(_) => {}
        }
    }

    fn writes(&mut self, list: OperandList, roles: &mut dyn Iterator<Item = Role>) {
        let module = self.module;
        for operand in &module[list] {
            if let OperandKind::Pair(pair) = operand.value {
                self.writes(pair, roles);
                continue;
            }
            let reads = matches!(operand.value, OperandKind::Address { .. } | OperandKind::Bracket(_));
            match roles.next() {
                Some(Role::Write | Role::ReadWrite) if !reads => self.written.push(operand.span),
                _ => {}
            }
        }
    }

    fn variable(&mut self, id: VariableId, whole: Span, kind: Kind) {
        let variable = &self.module[id];
        let register = variable.space.value == Space::Reg;
        let kind = if register { Kind::Register } else { kind };
        let source = &self.module.source;
        let end = variable.pointer.map_or(variable.ty.span.end, |pointer| pointer.span.end);
        let from = variable.space.span.start.min(variable.ty.span.start);
        let words: Vec<_> = source.slice(Span::new(from, end.max(from))).split_whitespace().collect();
        let detail = words.join(" ");
        for declarator in &self.module[variable.declarators] {
            let Some(name) = declarator.name else { continue };
            let count = declarator.count.map(|count| match self.module[count].value {
                ExprKind::Integer { value, .. } => value,
                _ => u64::MAX,
            });
            let whole = Span::new(whole.start.min(from), whole.end.max(name.span.end));
            self.declare(name, whole, kind, count, detail.clone());
        }
    }

    fn declare(&mut self, name: Spanned<Name>, whole: Span, kind: Kind, count: Option<u64>, detail: String) {
        let length = self.module.text(name.value).len() as u32;
        let declared = Span::new(name.span.start, (name.span.start + length).min(name.span.end));
        let scope = *self.open.last().unwrap_or(&0);
        let number = self.index.symbols.len() as u32;
        self.index.symbols.push(Symbol {
            name: self.module.text(name.value).to_owned(),
            kind,
            declared,
            whole,
            // Later, when its end is known: here the number of the scope.
            scope: Span::new(scope as u32, 0),
            parent: self.function,
            count,
            detail,
        });
        self.scopes[scope].names.entry(name.value).or_insert(number);
    }

    /// What a name means in the scopes that are open.
    fn resolve(&self, text: &str) -> Option<(u32, Option<u64>)> {
        let names = &self.module.names;
        let look = |name: Name| {
            self.open.iter().rev().find_map(|scope| self.scopes[*scope].names.get(&name).copied())
        };
        if let Some(symbol) = names.get(text).and_then(look) {
            return Some((symbol, None));
        }
        let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
        // `%r010` is `%r01` and `0` as well: the longest stem that is declared.
        (1..=digits).find_map(|length| {
            let (stem, number) = text.split_at(text.len() - length);
            let symbol = names.get(stem).and_then(look)?;
            let number: u64 = number.parse().ok()?;
            (number < self.index.symbols[symbol as usize].count?).then_some((symbol, Some(number)))
        })
    }

    fn occurrences(&mut self, tokens: &[Token]) {
        for symbol in &mut self.index.symbols {
            symbol.scope = self.scopes[symbol.scope.start as usize].span;
        }
        let mut next = 1;
        let mut written = 0;
        for token in tokens.iter().filter(|token| token.kind != TokenKind::Comment) {
            let start = token.span.start;
            while self.scopes.get(next).is_some_and(|scope| scope.span.start <= start) {
                self.open.push(next);
                next += 1;
            }
            self.open.retain(|scope| start < self.scopes[*scope].span.end);
            while self.written.get(written).is_some_and(|span| span.end <= start) {
                written += 1;
            }
            if !matches!(token.kind, TokenKind::Name | TokenKind::Opcode) {
                continue;
            }
            let Some((symbol, member)) = self.resolve(self.module.source.slice(token.span)) else { continue };
            let known = &self.index.symbols[symbol as usize];
            // An instruction's name is nothing else, but a label can be called as one is.
            if token.kind == TokenKind::Opcode && known.declared.start != start {
                continue;
            }
            let written = self.written.get(written).is_some_and(|span| span.start <= start)
                || known.declared.start == start;
            self.index.occurrences.push(Occurrence { span: token.span, symbol, member, written });
        }
    }
}
