//! Size, alignment and place of declared variables (PTX ISA, "Variables" and "State Spaces").

use super::scope::{Binding, Family};
use super::{Resolver, codes};
use crate::ast::{self, Attribute, Declarator, ExprId, ExprKind, Name, Space, Spanned, VariableId};
use crate::check::gate::{SM_70, gate};
use crate::diagnostic::Diagnostic;
use crate::isa::{Gate, SpecialRegister};
use crate::module::{FuncId, Linkage, Pointee, RegId, Register, VarId, Variable};
use crate::source::Span;
use crate::types::{ScalarType, StateSpace, TypeKind, Version};

/// Members of a parameterised set of variables, which all exist; registers only do when used.
const MOST_VARIABLES: u64 = 1 << 20;
/// Members of a parameterised set of registers.
const MOST_REGISTERS: u64 = u32::MAX as u64;
/// Bytes of constant variables in a module.
const CONSTANT_BANK: u64 = 64 << 10;
/// Bytes of any one variable: the size of the device's virtual address space.
const MOST_BYTES: u64 = 1 << 47;

/// Bytes to which a parameter of a device function can be aligned.
const MOST_PARAMETER_ALIGNMENT: u32 = 128;

/// Since which version no module declares variables in `.local`, as functions have a stack.
const ABI: Version = Version { major: 3, minor: 0 };
/// Since which version textures are `.texref` variables in `.global`.
const TEXTURE_REFERENCES: Version = Version { major: 1, minor: 5 };

/// What introduced `.b128`.
const WIDE: Gate = gate(8, 3, SM_70);

/// What a declaration takes in memory.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) size: u64,
    pub(super) align: u32,
    pub(super) unsized_array: bool,
    /// The array dimensions and the vector's, outermost first.
    pub(super) dimensions: Vec<u64>,
}

impl Resolver<'_> {
    /// A declaration at the top level.
    pub(super) fn module_variable(&mut self, id: VariableId) {
        let declaration = &self.ast[id];
        let space = declaration.space;
        let version = self.module.version;
        let place = match space.value {
            Space::Const { .. } => StateSpace::Const,
            Space::Global => StateSpace::Global,
            Space::Shared => StateSpace::Shared,
            // Before the ABI there was a place for them that all functions of a thread share.
            Space::Local if version < ABI => StateSpace::Local,
            Space::Tex if version < TEXTURE_REFERENCES => return self.texture_of_old(declaration),
            Space::Tex | Space::Reg | Space::Local | Space::Param | Space::Sreg => {
                let hint = match space.value {
                    Space::Tex => "declare a `.global .texref` instead",
                    _ => "declare it in a function",
                };
                self.report(
                    Diagnostic::error(
                        codes::SPACE_NOT_HERE,
                        space.span,
                        "a module-scope variable is in `.global`, `.const` or `.shared`",
                    )
                    .hint(hint),
                );
                // Its uses would all be unknown names otherwise.
                StateSpace::Global
            }
        };
        self.variables(declaration, place, None);
    }

    /// `.tex .u32 name`, which is `.global .texref name` (PTX ISA, "Texture State Space").
    fn texture_of_old(&mut self, declaration: &ast::Variable) {
        let ty = declaration.ty;
        if !matches!(ty.value, ScalarType::U32 | ScalarType::U64) {
            let message = format!("a texture is declared as `.u32` or `.u64`, not `{}`", ty.value);
            self.error(codes::VARIABLE_TYPE, ty.span, message);
        }
        let reference = Spanned::new(ScalarType::TexRef, ty.span);
        self.variables(&ast::Variable { ty: reference, ..declaration.clone() }, StateSpace::Global, None);
    }

    /// A declaration in a body.
    pub(super) fn local_variable(&mut self, id: VariableId, function: FuncId) {
        let declaration = &self.ast[id];
        let linkage = declaration.linkage;
        if linkage.value != Linkage::Internal {
            self.error(codes::LINKAGE, linkage.span, "variables of a function have no linkage");
        }
        let place = match declaration.space.value {
            Space::Reg => return self.registers(declaration),
            Space::Const { .. } => StateSpace::Const,
            Space::Global => StateSpace::Global,
            Space::Shared => StateSpace::Shared,
            Space::Local => StateSpace::Local,
            Space::Param => StateSpace::ParamFunc,
            Space::Tex | Space::Sreg => {
                let message = "variables of this state space cannot be declared in a function";
                self.error(codes::SPACE_NOT_HERE, declaration.space.span, message);
                StateSpace::Global
            }
        };
        self.variables(declaration, place, Some(function));
    }

    /// Names that mean something else wherever they stand, or in the scope of a module.
    pub(super) fn check_name(&mut self, name: Spanned<Name>) {
        let text = self.text(name.value);
        let special = self.scopes.depth() == 0 && SpecialRegister::from_text(text).is_some();
        if special || text == "WARP_SZ" {
            let message = format!("`{text}` already has a meaning");
            self.error(codes::DUPLICATE_NAME, name.span, message);
        }
    }

    fn variables(&mut self, declaration: &ast::Variable, space: StateSpace, function: Option<FuncId>) {
        self.check_declaration(declaration, space);
        let ast = self.ast;
        for declarator in &ast[declaration.declarators] {
            let Some(name) = declarator.name else { continue };
            self.check_name(name);
            let Some(layout) = self.layout(declaration, declarator) else {
                // The name must exist all the same, or each of its uses would be an error too.
                let unknown = Layout { size: 0, align: 1, unsized_array: true, dimensions: Vec::new() };
                let variable = self.make_variable(declaration, name, space, &unknown, function);
                self.add_variable(variable, name);
                continue;
            };
            if space == StateSpace::Const && declaration.linkage.value != Linkage::Extern {
                self.constant_bytes = self.constant_bytes.saturating_add(layout.size);
                if self.constant_bytes > CONSTANT_BANK {
                    let message = format!(
                        "constant variables exceed {CONSTANT_BANK} bytes (0x{:x})",
                        self.constant_bytes
                    );
                    self.error(codes::TOO_LARGE, name.span, message);
                    self.constant_bytes = 0;
                }
            }
            match declarator.count {
                None => {
                    let mut variable = self.make_variable(declaration, name, space, &layout, function);
                    if let Some(initialiser) = declarator.initialiser {
                        self.initialise(&mut variable, &layout, initialiser);
                    }
                    self.add_variable(variable, name);
                }
                Some(count) => {
                    let Some(count) = self.member_count(count, MOST_VARIABLES) else { continue };
                    for i in 0..count {
                        let text = format!("{}{i}", self.text(name.value));
                        let member = Spanned::new(self.names.intern(&text), name.span);
                        let variable = self.make_variable(declaration, member, space, &layout, function);
                        self.add_variable(variable, member);
                    }
                }
            }
        }
    }

    /// What can be said of a declaration without its declarators.
    fn check_declaration(&mut self, declaration: &ast::Variable, space: StateSpace) {
        let (ty, linkage) = (declaration.ty, declaration.linkage);
        match ty.value.kind() {
            TypeKind::Predicate => {
                let message = "a predicate can only be a register";
                self.error(codes::VARIABLE_TYPE, ty.span, message);
            }
            TypeKind::Opaque if self.scopes.depth() > 0 && space != StateSpace::ParamEntry => {
                let message = format!("a `{}` variable is declared outside of functions", ty.value);
                self.error(codes::VARIABLE_TYPE, ty.span, message);
            }
            TypeKind::Opaque if space != StateSpace::Global && space != StateSpace::ParamEntry => {
                let message = format!("a `{}` variable is in `.global`", ty.value);
                self.error(codes::VARIABLE_TYPE, ty.span, message);
            }
            TypeKind::Opaque if ty.value == ScalarType::SamplerRef && !self.options.texmode_independent => {
                self.report(
                    Diagnostic::error(
                        codes::VARIABLE_TYPE,
                        ty.span,
                        "samplers are part of texture references here",
                    )
                    .hint("add `texmode_independent` to `.target`"),
                );
            }
            _ if ty.value == ScalarType::F16x2
                && matches!(space, StateSpace::ParamEntry | StateSpace::ParamFunc) =>
            {
                self.report(
                    Diagnostic::error(codes::VARIABLE_TYPE, ty.span, "no parameter can be of type `.f16x2`")
                        .hint("declare it as `.b32`"),
                );
            }
            _ if !is_declarable(ty.value) => {
                self.report(
                    Diagnostic::error(
                        codes::VARIABLE_TYPE,
                        ty.span,
                        format!("no variable can be of type `{}`", ty.value),
                    )
                    .hint(format!("declare it as `.b{}`", ty.value.bits())),
                );
            }
            _ => {}
        }
        self.check_width(ty);
        if linkage.value == Linkage::Common && space != StateSpace::Global {
            self.error(codes::LINKAGE, linkage.span, "`.common` variables are in `.global`");
        }
        for attribute in &declaration.attributes {
            match attribute.value {
                Attribute::Managed if space == StateSpace::Global => {}
                Attribute::Managed => {
                    self.error(codes::ATTRIBUTE, attribute.span, "`.managed` variables are in `.global`");
                }
                Attribute::Unified(..) => {}
            }
        }
        if let Some(pointer) = &declaration.pointer
            && space != StateSpace::ParamEntry
        {
            self.error(codes::ATTRIBUTE, pointer.span, "`.ptr` describes parameters of entries only");
        }
        if let Some(vector) = declaration.vector {
            let bits = u32::from(vector.value) * ty.value.bits();
            if !matches!(vector.value, 2 | 4) || bits > 128 || ty.value.kind() == TypeKind::Predicate {
                let message = format!("`.v{} {}` is no vector type", vector.value, ty.value);
                self.error(codes::VECTOR_TYPE, vector.span, message);
            }
            let lone = |declarator: &Declarator| declarator.dimensions.is_empty();
            let is_param = matches!(space, StateSpace::ParamEntry | StateSpace::ParamFunc);
            if is_param && self.ast[declaration.declarators].iter().any(lone) {
                self.report(
                    Diagnostic::error(codes::VECTOR_TYPE, vector.span, "a parameter is no vector")
                        .hint("declare an array of its elements with their alignment"),
                );
            }
        }
    }

    /// What 128 bits need of the module.
    fn check_width(&mut self, ty: Spanned<ScalarType>) {
        if ty.value == ScalarType::B128 {
            self.check_gate("`.b128`", &WIDE, ty.span);
        }
    }

    /// Size and alignment; `None` after a report.
    pub(super) fn layout(&mut self, declaration: &ast::Variable, declarator: &Declarator) -> Option<Layout> {
        let ast = self.ast;
        let vector = u32::from(declaration.lanes());
        let element = u64::from(declaration.ty.value.bytes().max(1)) * u64::from(vector);
        let mut align = u32::try_from(element).unwrap_or(1).next_power_of_two();
        if let Some(stated) = declaration.align {
            align = self.alignment(stated)?;
        }
        let written = &ast[declarator.dimensions];
        let span = declarator.name.map_or(declaration.space.span, |name| name.span);
        let mut dimensions = Vec::with_capacity(written.len() + 1);
        let mut unsized_array = false;
        for (i, dimension) in written.iter().enumerate() {
            let length = match dimension.value {
                Some(expr) => {
                    let value = self.integer(expr)?;
                    if !matches!(ast[expr].value, ExprKind::Integer { .. } | ExprKind::Unary(..)) {
                        self.report(
                            Diagnostic::error(
                                codes::DIMENSION,
                                dimension.span,
                                "an array's size is a plain number",
                            )
                            .hint(format!("write {value}")),
                        );
                    }
                    let Some(value) = u64::try_from(value).ok().filter(|v| *v > 0) else {
                        let message = format!("an array of {value} elements");
                        self.error(codes::DIMENSION, dimension.span, message);
                        return None;
                    };
                    value
                }
                None if i > 0 => {
                    self.error(codes::DIMENSION, dimension.span, "only the first dimension may be left out");
                    return None;
                }
                None => match declarator.initialiser.map(|id| ast[id].value) {
                    Some(ast::InitialiserKind::List(items)) if !items.is_empty() => items.len() as u64,
                    _ if declaration.linkage.value == Linkage::Extern
                        || declaration.space.value == Space::Param =>
                    {
                        unsized_array = true;
                        0
                    }
                    _ => {
                        self.report(
                            Diagnostic::error(codes::DIMENSION, dimension.span, "the array has no size")
                                .hint("give a size or an initialiser, or declare it `.extern`"),
                        );
                        return None;
                    }
                },
            };
            dimensions.push(length);
        }
        let size = dimensions.iter().try_fold(element, |size, length| size.checked_mul(*length));
        let Some(size) = size.filter(|size| *size <= MOST_BYTES) else {
            self.error(codes::TOO_LARGE, span, "the variable is larger than the address space");
            return None;
        };
        if vector > 1 {
            dimensions.push(u64::from(vector));
        }
        Some(Layout { size, align, unsized_array, dimensions })
    }

    /// A power of two, or `None` after a report.
    pub(super) fn alignment(&mut self, expr: ExprId) -> Option<u32> {
        let value = self.integer(expr)?;
        let align = u32::try_from(value).ok().filter(|align| align.is_power_of_two());
        if align.is_none() {
            let message = format!("an alignment is a power of two, not {value}");
            self.error(codes::ALIGNMENT, self.ast[expr].span, message);
        }
        align
    }

    pub(super) fn make_variable(
        &mut self,
        declaration: &ast::Variable,
        name: Spanned<Name>,
        space: StateSpace,
        layout: &Layout,
        function: Option<FuncId>,
    ) -> Variable {
        if space == StateSpace::ParamFunc && layout.align > MOST_PARAMETER_ALIGNMENT {
            let message = format!("parameters are aligned to at most {MOST_PARAMETER_ALIGNMENT}");
            self.error(codes::ALIGNMENT, name.span, message);
        }
        let pointee = declaration.pointer.and_then(|pointer| {
            let align = pointer.value.align.map_or(Some(4), |expr| self.alignment(expr))?;
            let space = match pointer.value.space.map(|space| space.value) {
                Some(Space::Const { .. }) => StateSpace::Const,
                Some(Space::Global) => StateSpace::Global,
                Some(Space::Local) => StateSpace::Local,
                Some(Space::Shared) => StateSpace::Shared,
                Some(Space::Reg | Space::Sreg | Space::Param | Space::Tex) | None => StateSpace::Generic,
            };
            Some(Pointee { space, align })
        });
        Variable {
            name: self.text(name.value).to_owned(),
            space,
            linkage: declaration.linkage.value,
            ty: declaration.ty.value,
            vector: u32::from(declaration.lanes()),
            size: layout.size,
            align: layout.align,
            unsized_array: layout.unsized_array,
            managed: declaration.attributes.iter().any(|a| a.value == Attribute::Managed),
            pointee,
            init: Vec::new(),
            relocations: Vec::new(),
            fields: Vec::new(),
            function,
            span: name.span,
        }
    }

    /// Puts a variable into the module and its name into the scope; a second declaration may complete an `.extern`.
    fn add_variable(&mut self, variable: Variable, name: Spanned<Name>) {
        let id = VarId(self.module.variables.len() as u32);
        let Err(previous) = self.scopes.declare(&self.names, name.value, Binding::Variable(id), name.span)
        else {
            self.module.variables.push(variable);
            return;
        };
        let earlier = match self.lookup_quietly(name.value) {
            Binding::Variable(earlier) if variable.function.is_none() => earlier,
            _ => return self.duplicate(name, previous),
        };
        let old = &self.module.variables[earlier.index()];
        if old.linkage != Linkage::Extern && variable.linkage != Linkage::Extern {
            return self.duplicate(name, previous);
        }
        let same_type = old.ty == variable.ty && old.vector == variable.vector && old.space == variable.space;
        let same_size = old.size == variable.size || old.unsized_array || variable.unsized_array;
        if !same_type || !same_size {
            let message = format!("`{}` was declared differently before", variable.name);
            self.report(
                Diagnostic::error(codes::INCOMPATIBLE_REDECLARATION, name.span, message)
                    .related(previous, "declared here"),
            );
        } else if variable.linkage == Linkage::Internal {
            let message = format!("`.extern` `{}` cannot be defined without `.visible`", variable.name);
            self.report(
                Diagnostic::error(codes::LINKAGE, name.span, message).related(previous, "`.extern` here"),
            );
        } else if variable.linkage != Linkage::Extern {
            self.module.variables[earlier.index()] = variable;
        }
    }

    /// The type of a `.reg` declaration.
    pub(super) fn check_register_type(&mut self, declaration: &ast::Variable) {
        let ty = declaration.ty;
        self.check_width(ty);
        if let Some(stated) = declaration.align {
            self.alignment(stated);
        }
        if ty.value.kind() == TypeKind::Opaque {
            let message = format!("no register can be of type `{}`", ty.value);
            self.report(
                Diagnostic::error(codes::VARIABLE_TYPE, ty.span, message)
                    .hint("a `.u64` register holds its handle"),
            );
        }
        if !is_declarable(ty.value) && ty.value != ScalarType::Pred {
            self.report(
                Diagnostic::error(
                    codes::VARIABLE_TYPE,
                    ty.span,
                    format!("no register can be of type `{}`", ty.value),
                )
                .hint(format!("declare it as `.b{}`", ty.value.bits())),
            );
        }
        let lanes = declaration.lanes();
        if let Some(vector) = declaration.vector
            && (u32::from(lanes) * ty.value.bits() > 128 || ty.value == ScalarType::Pred)
        {
            let message = format!("`.v{lanes} {}` is no vector type", ty.value);
            self.error(codes::VECTOR_TYPE, vector.span, message);
        }
        if let Some(pointer) = &declaration.pointer {
            self.error(codes::ATTRIBUTE, pointer.span, "`.ptr` describes parameters of entries only");
        }
    }

    /// A `.reg` declaration.
    fn registers(&mut self, declaration: &ast::Variable) {
        self.check_register_type(declaration);
        let ast = self.ast;
        let ty = declaration.ty;
        let lanes = declaration.lanes();
        for declarator in &ast[declaration.declarators] {
            let Some(name) = declarator.name else { continue };
            self.check_name(name);
            if !declarator.dimensions.is_empty() {
                let message = "registers do not form arrays";
                self.report(
                    Diagnostic::error(codes::DIMENSION, name.span, message)
                        .hint(format!("`{}<n>` declares n registers", self.text(name.value))),
                );
            }
            if declarator.initialiser.is_some() {
                let message = "registers have no initial value";
                self.error(codes::NO_INITIALISER_HERE, name.span, message);
            }
            match declarator.count {
                Some(count) => {
                    let Some(count) = self.member_count(count, MOST_REGISTERS) else { continue };
                    let depth = self.scopes.depth();
                    let family =
                        Family { prefix: name.value, count, ty: ty.value, lanes, depth, span: name.span };
                    if let Err(previous) = self.scopes.declare_family(&self.names, family) {
                        self.duplicate(name, previous);
                    }
                }
                None => {
                    let first = RegId(self.body.body.registers.len() as u32);
                    if self.declare(name, Binding::registers(first, lanes)) {
                        self.add_registers(name.value, ty.value, lanes);
                    }
                }
            }
        }
    }

    /// The first of the new registers for a name: one, or one for each lane.
    pub(super) fn add_registers(&mut self, name: Name, ty: ScalarType, lanes: u8) -> RegId {
        let first = RegId(self.body.body.registers.len() as u32);
        if lanes == 1 {
            self.body.body.registers.push(Register { name, ty });
        } else {
            for lane in 0..lanes {
                let component = ["x", "y", "z", "w"].get(usize::from(lane)).copied().unwrap_or("e");
                let text = format!("{}.{component}", self.text(name));
                let name = self.names.intern(&text);
                self.body.body.registers.push(Register { name, ty });
            }
        }
        first
    }

    /// The register of a family's member that is used for the first time.
    pub(super) fn member(&mut self, name: Name, family: &Family) -> Binding {
        let prefix = self.text(family.prefix).len();
        let digits = &self.text(name)[prefix..];
        if digits.len() > 1 && digits.starts_with('0') {
            // `%r01` is another spelling of `%r1`.
            let number = digits.trim_start_matches('0');
            let number = if number.is_empty() { "0" } else { number };
            let canonical = format!("{}{number}", self.text(family.prefix));
            let canonical = self.names.intern(&canonical);
            let binding = self.lookup_quietly(canonical);
            self.scopes.bind(name, binding, family.depth, family.span);
            return binding;
        }
        let first = self.add_registers(name, family.ty, family.lanes);
        let binding = Binding::registers(first, family.lanes);
        self.scopes.bind(name, binding, family.depth, family.span);
        binding
    }

    fn member_count(&mut self, count: ExprId, most: u64) -> Option<u64> {
        let value = self.integer(count)?;
        let in_range = u64::try_from(value).ok().filter(|n| *n <= most);
        if in_range.is_none() {
            let message = format!("{value} names cannot be declared at once");
            self.report(
                Diagnostic::error(codes::PARAMETERISED, self.ast[count].span, message)
                    .hint(format!("the limit is {most}")),
            );
        }
        in_range
    }

    /// A parameter in memory, in the arena at a given place or a new one.
    pub(super) fn parameter_variable(
        &mut self,
        declaration: &ast::Variable,
        declarator: &Declarator,
        space: StateSpace,
        function: FuncId,
        reuse: Option<VarId>,
    ) -> VarId {
        self.check_declaration(declaration, space);
        let layout = self.layout(declaration, declarator).unwrap_or(Layout {
            size: 0,
            align: 1,
            unsized_array: true,
            dimensions: Vec::new(),
        });
        let name = match declarator.name {
            Some(name) => name,
            None => Spanned::new(self.names.intern("_"), declaration.space.span),
        };
        if declarator.initialiser.is_some() {
            self.error(codes::NO_INITIALISER_HERE, name.span, "parameters have no initial value");
        }
        if declarator.dimensions.len() > 1 {
            self.error(codes::DIMENSION, name.span, "a parameter has at most one dimension");
        }
        if space == StateSpace::ParamEntry && layout.unsized_array && !declarator.dimensions.is_empty() {
            self.error(codes::ENTRY_PARAMETER, name.span, "a parameter of an entry has a size");
        }
        let variable = self.make_variable(declaration, name, space, &layout, Some(function));
        match reuse {
            Some(id) => {
                self.module.variables[id.index()] = variable;
                id
            }
            None => {
                self.module.variables.push(variable);
                VarId(self.module.variables.len() as u32 - 1)
            }
        }
    }

    /// Where a variable's declaration stands.
    pub(super) fn span_of(&self, id: VarId) -> Span {
        self.variable(id).span
    }
}

/// Whether variables and registers can be declared with this type: packed and alternate floating-point formats live in
/// untyped ones.
pub(crate) fn is_declarable(ty: ScalarType) -> bool {
    use ScalarType::*;
    match ty {
        U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | B8 | B16 | B32 | B64 | B128 | F16 | F16x2 | F32
        | F64 | Pred | TexRef | SamplerRef | SurfRef => true,
        U16x2 | S16x2 | Bf16 | Bf16x2 | Tf32 | E4m3 | E5m2 | E4m3x2 | E5m2x2 | F32x2 => false,
    }
}
