//! Functions: signatures, declarations and their definitions, aliases (PTX ISA, "Kernel and Function Directives").

use super::scope::{Binding, registers_of};
use super::{Resolver, codes};
use crate::ast::{self, FunctionId, Name, Space, Spanned, VariableList};
use crate::diagnostic::Diagnostic;
use crate::module::{
    FuncId, Function, FunctionKind, LaunchBounds, Linkage, Operand, Param, ParamShape, Prototype, VarId,
};
use crate::source::Span;
use crate::types::{StateSpace, Version};

/// Bytes of an entry's parameters: since PTX 8.1 on sm_70 and later, and before.
const ENTRY_PARAMETERS: (u64, u64) = (32764, 4352);

impl Resolver<'_> {
    pub(super) fn function(&mut self, id: FunctionId) {
        let ast = self.ast;
        let function = &ast[id];
        let name = function.name;
        let text = self.text(name.value).to_owned();
        self.check_function(function);
        let Some((func, earlier)) = self.declare_function(function) else {
            return;
        };
        self.scopes.begin();
        self.body.begin();
        let reuse = |params: &[Param]| {
            let memory = params.iter().map(|p| if let Param::Memory(id) = p { Some(*id) } else { None });
            memory.collect::<Vec<_>>()
        };
        let (old_returns, old_params) = match earlier {
            true => {
                let old = &self.module.functions[func.index()];
                (reuse(&old.returns), reuse(&old.params))
            }
            false => (Vec::new(), Vec::new()),
        };
        let (returns, return_shapes) = self.parameters(function, function.returns, func, &old_returns);
        let (params, param_shapes) = self.parameters(function, function.params, func, &old_params);
        let signature = Prototype { returns: return_shapes, params: param_shapes, noreturn: false };
        self.check_signature(function, &returns, &params);
        if earlier {
            self.check_redeclaration(func, &signature, name.span);
        }
        if !earlier {
            // A function may call itself: its signature is known before its body.
            self.signatures[func.index()] = signature.clone();
        }
        let (bounds, noreturn) = self.function_directives(function);
        let body = function.body.map(|body| {
            self.set_directions(&returns, &params);
            let mut body = self.statements(body, func);
            if self.never_unrolls(function) {
                body.nounroll.extend(body.labels.iter().map(|label| label.target));
            }
            body
        });
        self.scopes.end();
        self.set_directions(&[], &[]);
        let parameters = (signature, returns, params);
        self.complete(func, earlier, text, function, parameters, (bounds, noreturn, body));
    }

    /// Stores what a declaration or definition says of its function.
    fn complete(
        &mut self,
        func: FuncId,
        earlier: bool,
        text: String,
        function: &ast::Function,
        (signature, returns, params): (Prototype, Vec<Param>, Vec<Param>),
        (bounds, noreturn, body): (LaunchBounds, bool, Option<crate::module::Body>),
    ) {
        let old = &mut self.module.functions[func.index()];
        if earlier && body.is_none() {
            old.noreturn |= noreturn;
            return;
        }
        let linkage = match (earlier, function.linkage.value) {
            (true, Linkage::Internal) => old.linkage,
            (_, linkage) => linkage,
        };
        *old = Function {
            name: text,
            kind: function.kind.value,
            linkage,
            noreturn: noreturn || (earlier && old.noreturn),
            returns,
            params,
            bounds,
            body,
            span: function.name.span,
        };
        self.signatures[func.index()] = signature;
    }

    /// Whether a pragma of the function or the module keeps all loops from being unrolled.
    fn never_unrolls(&self, function: &ast::Function) -> bool {
        let of_function = function.directives.iter().any(|directive| match &directive.value {
            ast::FunctionDirectiveKind::Pragma(strings) => self.is_nounroll(strings),
            _ => false,
        });
        of_function
            || self.ast.items.iter().any(|item| match &item.value {
                ast::ItemKind::Pragma(strings) => self.is_nounroll(strings),
                _ => false,
            })
    }

    fn check_function(&mut self, function: &ast::Function) {
        let linkage = function.linkage;
        match linkage.value {
            Linkage::Common => {
                self.error(codes::LINKAGE, linkage.span, "`.common` is for variables");
            }
            Linkage::Extern if function.body.is_some() => {
                self.error(codes::LINKAGE, linkage.span, "an `.extern` function has no body here");
            }
            Linkage::Internal | Linkage::Visible | Linkage::Weak | Linkage::Extern => {}
        }
        if function.kind.value == FunctionKind::Entry && !function.returns.is_empty() {
            self.error(codes::RETURN_PARAMETER, function.name.span, "an entry returns nothing");
        }
        for attribute in &function.attributes {
            if attribute.value == ast::Attribute::Managed {
                self.error(codes::ATTRIBUTE, attribute.span, "`.managed` is for variables");
            }
        }
    }

    /// The function's handle, and whether it was declared before; `None` if it cannot be declared.
    fn declare_function(&mut self, function: &ast::Function) -> Option<(FuncId, bool)> {
        let name = function.name;
        self.check_name(name);
        let new = FuncId(self.module.functions.len() as u32);
        let Err(previous) = self.scopes.declare(&self.names, name.value, Binding::Function(new), name.span)
        else {
            self.signatures.push(Prototype::default());
            self.module.functions.push(Function {
                name: self.text(name.value).to_owned(),
                kind: function.kind.value,
                linkage: function.linkage.value,
                noreturn: false,
                returns: Vec::new(),
                params: Vec::new(),
                bounds: LaunchBounds::default(),
                body: None,
                span: name.span,
            });
            return Some((new, false));
        };
        let Binding::Function(old) = self.lookup_quietly(name.value) else {
            self.duplicate(name, previous);
            return None;
        };
        let earlier = &self.module.functions[old.index()];
        let message = format!("`{}`", self.text(name.value));
        let at = earlier.span;
        if earlier.body.is_some() {
            self.report(
                Diagnostic::error(
                    codes::DUPLICATE_FUNCTION,
                    name.span,
                    format!("{message} is already defined"),
                )
                .related(at, "defined here"),
            );
        } else if earlier.kind != function.kind.value {
            self.report(
                Diagnostic::error(
                    codes::INCOMPATIBLE_REDECLARATION,
                    name.span,
                    format!("{message} is both an entry and a device function"),
                )
                .related(at, "declared here"),
            );
        } else if !linkages_agree(earlier.linkage, function.linkage.value, function.body.is_some()) {
            self.report(
                Diagnostic::error(
                    codes::LINKAGE,
                    name.span,
                    format!("{message} was declared with other linkage"),
                )
                .related(at, "declared here"),
            );
        }
        Some((old, true))
    }

    /// Declares parameters in the function's scope, and says what call sites need to know of them.
    fn parameters(
        &mut self,
        function: &ast::Function,
        list: VariableList,
        func: FuncId,
        reuse: &[Option<VarId>],
    ) -> (Vec<Param>, Vec<ParamShape>) {
        let ast = self.ast;
        let mut params = Vec::with_capacity(list.len());
        let mut shapes = Vec::with_capacity(list.len());
        for declaration in &ast[list] {
            let Some(declarator) = ast[declaration.declarators].first() else { continue };
            let reused = reuse.get(params.len()).copied().flatten();
            let space = match (declaration.space.value, function.kind.value) {
                (Space::Param, FunctionKind::Entry) => StateSpace::ParamEntry,
                (Space::Reg, FunctionKind::Func) => {
                    let in_registers = register_shapes(declaration);
                    params.extend(self.parameter_registers(declaration, declarator, function));
                    shapes.extend(in_registers);
                    continue;
                }
                (space, kind) => {
                    if space != Space::Param {
                        let message = match kind {
                            FunctionKind::Entry => "a parameter of an entry is in `.param`",
                            FunctionKind::Func => "a parameter is in `.param` or `.reg`",
                        };
                        self.error(codes::ENTRY_PARAMETER, declaration.space.span, message);
                    }
                    StateSpace::ParamFunc
                }
            };
            let id = self.parameter_variable(declaration, declarator, space, func, reused);
            if let Some(name) = declarator.name {
                self.declare(name, Binding::Variable(id));
            }
            params.push(Param::Memory(id));
            shapes.push(self.shape_in_memory(id));
        }
        (params, shapes)
    }

    /// A `.reg` parameter, or one for each element of a vector.
    fn parameter_registers(
        &mut self,
        declaration: &ast::Variable,
        declarator: &ast::Declarator,
        function: &ast::Function,
    ) -> Vec<Param> {
        let (ty, lanes) = (declaration.ty.value, declaration.lanes());
        if function.body.is_none() {
            return vec![Param::RegisterType(ty); lanes.into()];
        }
        self.check_register_type(declaration);
        if !declarator.dimensions.is_empty() {
            let message = "registers do not form arrays";
            self.error(codes::DIMENSION, declaration.space.span, message);
        }
        let name = declarator.name.map_or_else(|| self.names.intern("_"), |name| name.value);
        let first = self.add_registers(name, ty, lanes);
        if let Some(name) = declarator.name {
            self.declare(name, Binding::registers(first, lanes));
        }
        registers_of(first, lanes).map(Param::Register).collect()
    }

    fn shape_in_memory(&self, id: VarId) -> ParamShape {
        let variable = self.variable(id);
        ParamShape {
            ty: variable.ty,
            size: variable.size,
            align: variable.align,
            array: variable.size != u64::from(variable.ty.bytes()) || variable.unsized_array,
            register: false,
            lanes: 1,
        }
    }

    fn check_signature(&mut self, function: &ast::Function, returns: &[Param], params: &[Param]) {
        let ast = self.ast;
        if returns.len() > 1
            && returns.iter().any(|param| matches!(param, Param::Memory(_)))
            && let Some(declared) =
                ast[function.returns].iter().find(|declared| declared.space.value != Space::Reg)
        {
            let span = declared.space.span;
            self.error(codes::RETURN_PARAMETER, span, "several return values are only possible in registers");
        }
        let mut total = 0_u64;
        for (i, param) in params.iter().enumerate() {
            let Param::Memory(id) = *param else { continue };
            let variable = self.variable(id);
            let (size, align, span) = (variable.size, u64::from(variable.align), variable.span);
            if variable.unsized_array && size == 0 && i + 1 < params.len() {
                self.error(
                    codes::ENTRY_PARAMETER,
                    span,
                    "only the last parameter may be an array without a size",
                );
            }
            total = total.next_multiple_of(align).saturating_add(size);
        }
        let large = self.module.version >= Version { major: 8, minor: 1 } && self.module.arch.sm >= 70;
        let most = if large { ENTRY_PARAMETERS.0 } else { ENTRY_PARAMETERS.1 };
        if function.kind.value == FunctionKind::Entry && total > most {
            let message = format!("the entry's parameters take {total} bytes, of at most {most}");
            self.error(codes::TOO_LARGE, function.name.span, message);
        }
    }

    fn check_redeclaration(&mut self, func: FuncId, new: &Prototype, span: Span) {
        let old = &self.signatures[func.index()];
        if let Some(difference) = difference(old, new) {
            let declared = self.module.functions[func.index()].span;
            let message = format!("{difference} not as declared before");
            self.report(
                Diagnostic::error(codes::INCOMPATIBLE_REDECLARATION, span, message)
                    .related(declared, "declared here"),
            );
        }
    }

    /// The shapes of a `.callprototype`'s parameters.
    pub(super) fn prototype_shapes(&mut self, list: VariableList) -> Vec<ParamShape> {
        let ast = self.ast;
        let mut shapes = Vec::with_capacity(list.len());
        for declaration in &ast[list] {
            let Some(declarator) = ast[declaration.declarators].first() else { continue };
            match declaration.space.value {
                Space::Reg => shapes.extend(register_shapes(declaration)),
                _ => match self.layout(declaration, declarator) {
                    Some(layout) => shapes.push(ParamShape {
                        ty: declaration.ty.value,
                        size: layout.size,
                        align: layout.align,
                        array: !layout.dimensions.is_empty() || layout.unsized_array,
                        register: false,
                        lanes: 1,
                    }),
                    None => shapes.extend(register_shapes(declaration)),
                },
            }
        }
        shapes
    }

    /// Notes which variables are the return parameters, which are only written, and which the inputs.
    fn set_directions(&mut self, returns: &[Param], params: &[Param]) {
        let ids = |params: &[Param]| {
            let memory =
                params.iter().filter_map(|p| if let Param::Memory(id) = p { Some(*id) } else { None });
            memory.collect::<Vec<_>>()
        };
        self.body.returns = ids(returns);
        self.body.inputs = ids(params);
    }

    /// `.alias name, aliasee`.
    pub(super) fn alias(&mut self, name: Spanned<Name>, aliasee: Spanned<Name>) {
        let (Binding::Function(alias), Binding::Function(target)) =
            (self.lookup(name.value, name.span), self.lookup(aliasee.value, aliasee.span))
        else {
            for name in [name, aliasee] {
                if !matches!(self.lookup_quietly(name.value), Binding::Function(_) | Binding::Unknown(_)) {
                    let message = format!("`{}` is not a function", self.text(name.value));
                    self.error(codes::ALIAS, name.span, message);
                }
            }
            return;
        };
        let (declared, defined) =
            (&self.module.functions[alias.index()], &self.module.functions[target.index()]);
        let problem = if defined.kind == FunctionKind::Entry || declared.kind == FunctionKind::Entry {
            Some((aliasee.span, "an entry has no alias".to_owned()))
        } else if declared.body.is_some() {
            Some((name.span, "an alias is a function declared without a body".to_owned()))
        } else if defined.body.is_none() || defined.linkage == Linkage::Weak {
            Some((
                aliasee.span,
                "an alias stands for a function that is defined here and not weak".to_owned(),
            ))
        } else {
            let (a, b) = (&self.signatures[alias.index()], &self.signatures[target.index()]);
            let difference = difference(a, b);
            difference
                .map(|difference| (name.span, format!("{difference} not as in the function it stands for")))
        };
        match problem {
            Some((span, message)) => self.error(codes::ALIAS, span, message),
            None => {
                let text = self.text(name.value).to_owned();
                self.module.aliases.push((text, target));
                self.alias_ids.insert(alias, target);
            }
        }
    }

    /// Only `.extern` functions may be defined elsewhere.
    pub(super) fn check_defined(&mut self) {
        let is_alias = |id| self.alias_ids.contains_key(&FuncId(id));
        let missing = |(i, function): &(usize, &Function)| {
            function.body.is_none() && function.linkage != Linkage::Extern && !is_alias(*i as u32)
        };
        let missing: Vec<_> =
            self.module.functions.iter().enumerate().filter(missing).map(|(_, f)| f).collect();
        let findings: Vec<_> = missing
            .into_iter()
            .map(|function| {
                let message = format!("`{}` is never defined", function.name);
                Diagnostic::error(codes::NEVER_DEFINED, function.span, message)
                    .label("declared here")
                    .hint("declare it `.extern` if another module defines it")
            })
            .collect();
        for finding in findings {
            self.report(finding);
        }
    }

    /// Lets calls and addresses name the functions that aliases stand for.
    pub(super) fn redirect_aliases(&mut self) {
        if self.alias_ids.is_empty() {
            return;
        }
        let target = |func: FuncId| self.alias_ids.get(&func).copied().unwrap_or(func);
        for function in &mut self.module.functions {
            let Some(body) = &mut function.body else { continue };
            for operand in &mut body.operands {
                match operand {
                    Operand::Function(func) => *func = target(*func),
                    Operand::SymbolAddress { symbol: crate::module::Symbol::Function(func), .. } => {
                        *func = target(*func);
                    }
                    _ => {}
                }
            }
            for table in &mut body.tables {
                if let crate::module::Table::Call(functions) = table {
                    functions.iter_mut().for_each(|func| *func = target(*func));
                }
            }
        }
    }
}

/// A `.reg` parameter, as often as a vector has elements.
fn register_shapes(declaration: &ast::Variable) -> impl Iterator<Item = ParamShape> {
    let (ty, lanes) = (declaration.ty.value, declaration.lanes());
    let (size, align) = (u64::from(ty.bytes()), ty.bytes().max(1));
    let shape = ParamShape { ty, size, align, array: false, register: true, lanes };
    std::iter::repeat_n(shape, lanes.into())
}

/// Whether a later declaration or definition may have its linkage after an earlier declaration.
fn linkages_agree(earlier: Linkage, later: Linkage, defines: bool) -> bool {
    match (earlier, later) {
        (Linkage::Extern, Linkage::Extern) => !defines,
        (Linkage::Extern, _) | (_, Linkage::Extern) => false,
        // A definition without linkage takes that of the declaration.
        (_, Linkage::Internal) => true,
        (earlier, later) => earlier == later,
    }
}

/// What is different in two signatures.
fn difference(a: &Prototype, b: &Prototype) -> Option<String> {
    let lists = [("return parameter", &a.returns, &b.returns), ("parameter", &a.params, &b.params)];
    for (what, a, b) in lists {
        if a.len() != b.len() {
            return Some(format!("the number of {what}s is"));
        }
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            let aspect = if (a.ty, a.register, a.array, a.lanes) != (b.ty, b.register, b.array, b.lanes) {
                "the type"
            } else if a.size != b.size {
                "the size"
            } else if a.align != b.align {
                "the alignment"
            } else {
                continue;
            };
            return Some(format!("{aspect} of {what} {} is", i + 1));
        }
    }
    None
}
