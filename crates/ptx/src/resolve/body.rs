//! Function bodies: scopes, registers, labels, tables, line information, and instructions one by one.

use super::operand::Arg;
use super::scope::Binding;
use super::{Resolver, codes};
use crate::ast::{self, LocId, PrototypeId as AstPrototype, StatementKind, TargetKind, TargetListId};
use crate::check::codes as checks;
use crate::diagnostic::Diagnostic;
use crate::module::{
    Body, FuncId, Label, LabelId, Loc, Operand, Prototype, PrototypeId, Table, TableId, VarId,
};
use crate::source::Span;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Calls that `inlined_at` follows.
const DEEPEST_INLINING: u32 = 64;
/// Targets of one `.branchtargets`.
const MOST_TARGETS: i64 = 1 << 16;

/// The body being built.
#[derive(Default)]
pub(crate) struct BodyBuilder {
    pub(crate) body: Body,
    /// Return parameters: only written.
    pub(crate) returns: Vec<VarId>,
    /// Input parameters: only read.
    pub(crate) inputs: Vec<VarId>,
    /// The operands of the instruction at hand, and the elements inside them.
    pub(crate) args: Vec<Arg>,
    pub(crate) nested: Vec<Arg>,
    /// Which of them stands at each operand of the form that is tried.
    pub(crate) assignment: Vec<Option<u32>>,
    /// The operands of the resolved instruction before they are put into the pool, behind their elements.
    pub(crate) lowered: Vec<Operand>,
    pub(crate) loc: Option<u32>,
    /// The last `.loc` of a place, with how deep it is inlined.
    places: FxHashMap<(u32, u32, u32), (u32, u32)>,
}

impl BodyBuilder {
    /// Forgets the previous body.
    pub(crate) fn begin(&mut self) {
        self.body = Body::default();
        self.returns.clear();
        self.inputs.clear();
        self.loc = None;
        self.places.clear();
    }
}

impl Resolver<'_> {
    /// Resolves the statements of a body whose parameters are in scope.
    pub(super) fn statements(&mut self, body: ast::Body, function: FuncId) -> Body {
        let ast = self.ast;
        let statements = &ast[body.statements];
        let mut labels = self.block_labels(statements).into_iter();
        self.declare_labels(labels.next());
        for statement in statements {
            match &statement.value {
                StatementKind::Instruction(instruction) => self.instruction(instruction, statement.span),
                StatementKind::Label(name) => {
                    if let Binding::Label(label) = self.lookup_quietly(*name) {
                        let here = self.body.body.instructions.len() as u32;
                        self.body.body.labels[label.index()].target = here;
                    }
                }
                StatementKind::BlockBegin => {
                    self.scopes.begin();
                    self.declare_labels(labels.next());
                }
                StatementKind::BlockEnd => self.scopes.end(),
                StatementKind::Variable(id) => self.local_variable(*id, function),
                StatementKind::Loc(id) => self.loc(*id),
                StatementKind::Pragma(strings) => {
                    if self.is_nounroll(strings) {
                        let here = self.body.body.instructions.len() as u32;
                        self.body.body.nounroll.push(here);
                    }
                }
                StatementKind::Prototype(id) => self.prototype(*id),
                StatementKind::Targets(id) => self.targets(*id),
            }
        }
        std::mem::take(&mut self.body.body)
    }

    /// Whether a pragma keeps loops from being unrolled.
    pub(super) fn is_nounroll(&self, strings: &[ast::Spanned<ast::Name>]) -> bool {
        strings.iter().any(|string| self.ast.text(string.value) == "nounroll")
    }

    /// The labels of each block, in the order in which the blocks begin: a branch may come before its label.
    fn block_labels(&self, statements: &[ast::Statement]) -> Vec<Vec<(ast::Name, Span)>> {
        let mut blocks = vec![Vec::new()];
        let mut open = vec![0];
        for statement in statements {
            match &statement.value {
                StatementKind::BlockBegin => {
                    open.push(blocks.len());
                    blocks.push(Vec::new());
                }
                StatementKind::BlockEnd => {
                    open.pop();
                }
                StatementKind::Label(name) => {
                    if let Some(&block) = open.last() {
                        blocks[block].push((*name, statement.span));
                    }
                }
                StatementKind::Instruction(_)
                | StatementKind::Variable(_)
                | StatementKind::Loc(_)
                | StatementKind::Pragma(_)
                | StatementKind::Prototype(_)
                | StatementKind::Targets(_) => {}
            }
        }
        blocks
    }

    fn declare_labels(&mut self, labels: Option<Vec<(ast::Name, Span)>>) {
        for (name, span) in labels.unwrap_or_default() {
            let id = LabelId(self.body.body.labels.len() as u32);
            if self.declare(ast::Spanned::new(name, span), Binding::Label(id)) {
                self.body.body.labels.push(Label { name, target: 0 });
            }
        }
    }

    fn prototype(&mut self, id: AstPrototype) {
        let prototype = &self.ast[id];
        let returns = self.prototype_shapes(prototype.returns);
        let params = self.prototype_shapes(prototype.params);
        let noreturn =
            prototype.directives.iter().any(|d| matches!(d.value, ast::FunctionDirectiveKind::NoReturn));
        let new = PrototypeId(self.body.body.prototypes.len() as u32);
        if self.declare(prototype.name, Binding::Prototype(new)) {
            self.body.body.prototypes.push(Prototype { returns, params, noreturn });
        }
    }

    fn targets(&mut self, id: TargetListId) {
        let ast = self.ast;
        let list = &ast[id];
        let new = TableId(self.body.body.tables.len() as u32);
        let (table, binding) = match list.kind {
            TargetKind::Branch => {
                let mut labels = Vec::with_capacity(list.targets.len());
                for target in &list.targets {
                    let Some(count) = target.value.count else {
                        let label = self.label(target.value.name, target.span);
                        labels.extend(label);
                        continue;
                    };
                    let Some(count) = self.integer(count) else { continue };
                    if !(1..=MOST_TARGETS).contains(&count) {
                        let message = format!("{count} targets cannot be listed at once");
                        self.error(codes::PARAMETERISED, target.span, message);
                        continue;
                    }
                    for i in 0..count {
                        let text = format!("{}{i}", self.text(target.value.name));
                        let name = self.names.intern(&text);
                        let label = self.label(name, target.span);
                        labels.extend(label);
                    }
                }
                (Table::Branch(labels), Binding::BranchTargets(new))
            }
            TargetKind::Call => {
                let mut functions = Vec::with_capacity(list.targets.len());
                for target in &list.targets {
                    match self.lookup(target.value.name, target.span) {
                        Binding::Function(id) => functions.push(id),
                        Binding::Unknown(_) => {}
                        _ => {
                            let message = format!("`{}` is not a function", self.text(target.value.name));
                            self.error(codes::TABLE_TARGET, target.span, message);
                        }
                    }
                }
                (Table::Call(functions), Binding::CallTargets(new))
            }
        };
        if self.declare(list.name, binding) {
            self.body.body.tables.push(table);
        }
    }

    fn label(&mut self, name: ast::Name, span: Span) -> Option<LabelId> {
        match self.lookup(name, span) {
            Binding::Label(id) => Some(id),
            Binding::Unknown(_) => None,
            _ => {
                let message = format!("`{}` is not a label", self.text(name));
                self.error(codes::TABLE_TARGET, span, message);
                None
            }
        }
    }

    fn loc(&mut self, id: LocId) {
        let loc = self.ast[id];
        let Some((file, line, column)) = self.place(&loc.place) else { return };
        if !self.module.files.contains_key(&file) {
            self.report(
                Diagnostic::warning(
                    checks::LOCATION,
                    loc.place.file.span,
                    format!("no `.file` has the index {file}"),
                )
                .hint("positions in that file will have no name"),
            );
            // Once is enough.
            self.module.files.insert(file, String::new());
        }
        let (mut inlined_at, mut function) = (None, None);
        let mut depth = 0;
        if let Some(inlined) = loc.inlined
            && let Some((file, line, column)) = self.place(&inlined.at)
        {
            // The place of the call has a `.loc` of its own, which may be inlined in turn.
            let outer = self.body.places.get(&(file, line, column)).copied();
            let outer = outer.filter(|(_, depth)| *depth < DEEPEST_INLINING);
            let outer = outer.map(|(index, depth)| (&self.body.body.locs[index as usize], depth));
            let chain = outer.and_then(|(loc, _)| loc.inlined_at.clone());
            let caller = outer.and_then(|(loc, _)| loc.function.clone());
            depth = outer.map_or(0, |(_, depth)| depth) + 1;
            inlined_at = Some(Box::new(Loc { file, line, column, function: caller, inlined_at: chain }));
            function = self.inlined_function(&inlined);
        }
        let index = self.body.body.locs.len() as u32;
        self.body.body.locs.push(Loc { file, line, column, function, inlined_at });
        self.body.places.insert((file, line, column), (index, depth));
        self.body.loc = Some(index);
    }

    /// The name that stands in `.debug_str` where a `function_name` says.
    fn inlined_function(&mut self, inlined: &ast::Inlined) -> Option<Arc<str>> {
        let ast = self.ast;
        let strings = self.strings.get_or_insert_with(|| ast.section_layout(".debug_str"));
        let label = *strings.labels.get(&inlined.function_name.value)?;
        let offset = inlined.offset.and_then(|offset| ast.evaluate(offset).ok()?.as_integer());
        strings.string(label.wrapping_add(offset.unwrap_or(0))).map(Arc::from)
    }

    fn place(&mut self, place: &ast::LocPlace) -> Option<(u32, u32, u32)> {
        let mut parts = [0; 3];
        for (part, number) in parts.iter_mut().zip([place.file, place.line, place.column]) {
            let Ok(value) = u32::try_from(number.value) else {
                self.error(checks::LOCATION, number.span, "this number does not fit in 32 bits");
                return None;
            };
            *part = value;
        }
        Some((parts[0], parts[1], parts[2]))
    }
}
