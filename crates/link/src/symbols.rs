//! Which definition a name means.

use crate::{Input, Problem, codes};
use ptx::module::{
    AddressBase, FuncId, FunctionKind, Linkage, Module, Operand, Param, Symbol, Table, VarId, Variable,
};
use ptx::source::Span;
use ptx::types::{ScalarType, StateSpace, TypeKind};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What the names of all modules mean.
#[derive(Debug, Default)]
pub(crate) struct Resolution {
    /// For each shared symbol the module whose definition counts.
    pub(crate) chosen: HashMap<String, usize>,
    /// Symbols that stay without a definition, each with the module whose declaration is kept: functions of the
    /// system, and dynamic shared memory.
    pub(crate) open: BTreeMap<String, usize>,
    /// For each module the symbols that no other sees.
    pub(crate) own: Vec<HashSet<String>>,
    /// For each module the new names of such symbols.
    pub(crate) renamed: Vec<HashMap<String, String>>,
}

impl Resolution {
    /// Whether what a module says of a symbol is part of the whole: it is the module's own, or the one that counts.
    pub(crate) fn keeps(&self, input: usize, name: &str) -> bool {
        let counts = |table: Option<&usize>| table == Some(&input);
        self.own[input].contains(name) || counts(self.chosen.get(name)) || counts(self.open.get(name))
    }
}

/// What a module has under a name that other modules may mean, too.
#[derive(Debug)]
struct Shared {
    input: usize,
    span: Span,
    strength: Strength,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Reference,
    Weak,
    Common,
    Strong,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Function {
        entry: bool,
        returns: Vec<Shape>,
        params: Vec<Shape>,
    },
    Variable {
        space: StateSpace,
        opaque: Option<ScalarType>,
        size: Option<u64>,
        align: u32,
        initialised: bool,
    },
}

/// A parameter as a caller has to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// `None` for an array without a size.
    bytes: Option<u64>,
    register: bool,
}

pub(crate) fn resolve(
    inputs: &[Input],
    provided: &dyn Fn(&str) -> bool,
    problems: &mut Vec<Problem>,
) -> Resolution {
    let mut shared: BTreeMap<&str, Vec<Shared>> = BTreeMap::new();
    let mut own: Vec<Vec<&str>> = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        own.push(collect(i, &input.module, &mut shared));
    }
    let used: Vec<HashSet<Symbol>> = inputs.iter().map(|input| used(&input.module)).collect();
    let is_used = |name: &str, shared: &Shared| {
        inputs[shared.input].symbols.get(name).is_some_and(|symbol| used[shared.input].contains(symbol))
    };
    let mut resolution = Resolution::default();
    for (&name, all) in &shared {
        if let Some(winner) = winner(name, all, problems) {
            resolution.chosen.insert(name.to_owned(), winner.input);
            let others = all.iter().filter(|other| !std::ptr::eq(*other, winner));
            others.for_each(|other| agree(name, winner, other, problems));
            continue;
        }
        let Some(first) = all.iter().find(|reference| is_used(name, reference)) else { continue };
        let is_dynamic = matches!(first.what, What::Variable { space: StateSpace::Shared, .. });
        let kept = match &first.what {
            What::Variable { .. } if is_dynamic => {
                all.iter().max_by_key(|other| dynamic_need(&other.what)).unwrap_or(first)
            }
            What::Function { entry: false, .. } if provided(name) => first,
            _ => {
                problems.push(
                    Problem::new(codes::UNDEFINED, format!("`{name}` is not defined"))
                        .at(first.input, first.span, "declared here, and used")
                        .hint("link the module that defines it"),
                );
                continue;
            }
        };
        all.iter().filter(|other| !std::ptr::eq(*other, kept)).for_each(|o| agree(name, kept, o, problems));
        resolution.open.insert(name.to_owned(), kept.input);
    }
    resolution.renamed = rename(inputs, &shared, &own);
    resolution.own = own.iter().map(|own| own.iter().map(|&name| name.to_owned()).collect()).collect();
    resolution
}

/// Of several declarations of dynamic shared memory the one that asks for most stays.
fn dynamic_need(what: &What) -> (u64, u32) {
    match what {
        What::Variable { size, align, .. } => (size.unwrap_or(0), *align),
        What::Function { .. } => (0, 0),
    }
}

/// Sorts the symbols of a module: the shared ones go to `shared`, the module's own are returned.
fn collect<'a>(
    input: usize,
    module: &'a Module,
    shared: &mut BTreeMap<&'a str, Vec<Shared>>,
) -> Vec<&'a str> {
    let mut own = Vec::new();
    for variable in module.variables.iter().filter(|v| v.function.is_none()) {
        let strength = match variable.linkage {
            Linkage::Internal => {
                own.push(variable.name.as_str());
                continue;
            }
            Linkage::Extern => Strength::Reference,
            Linkage::Weak => Strength::Weak,
            Linkage::Common => Strength::Common,
            Linkage::Visible => Strength::Strong,
        };
        let opaque = (variable.ty.kind() == TypeKind::Opaque).then_some(variable.ty);
        let what = What::Variable {
            space: variable.space,
            opaque,
            size: (!variable.unsized_array).then_some(variable.size),
            align: variable.align,
            initialised: !variable.init.is_empty() || !variable.relocations.is_empty(),
        };
        let entry = Shared { input, span: variable.span, strength, what };
        shared.entry(&variable.name).or_default().push(entry);
    }
    let aliases: HashSet<&str> = module.aliases.iter().map(|(alias, _)| alias.as_str()).collect();
    for (id, function) in module.functions.iter().enumerate() {
        let is_alias = aliases.contains(function.name.as_str());
        let is_entry = function.kind == FunctionKind::Entry;
        let strength = match function.linkage {
            _ if function.body.is_none() && !is_alias => Strength::Reference,
            Linkage::Weak => Strength::Weak,
            Linkage::Internal if !is_entry => {
                own.push(function.name.as_str());
                continue;
            }
            _ => Strength::Strong,
        };
        let shapes = |params: &[Param]| params.iter().map(|p| shape(module, FuncId(id as u32), p)).collect();
        let what = What::Function {
            entry: is_entry,
            returns: shapes(&function.returns),
            params: shapes(&function.params),
        };
        let entry = Shared { input, span: function.span, strength, what };
        shared.entry(&function.name).or_default().push(entry);
    }
    own
}

fn shape(module: &Module, function: FuncId, param: &Param) -> Shape {
    let register = |ty: ScalarType| Shape { bytes: Some(ty.bytes().into()), register: true };
    match *param {
        Param::Memory(id) => {
            let Variable { size, unsized_array, .. } = module.variables[id.index()];
            Shape { bytes: (!unsized_array).then_some(size), register: false }
        }
        Param::RegisterType(ty) => register(ty),
        Param::Register(id) => {
            let body = module.functions[function.index()].body.as_ref();
            register(body.map_or(ScalarType::B32, |body| body.registers[id.index()].ty))
        }
    }
}

/// The symbols of a module by name.
pub(crate) fn index(module: &Module) -> HashMap<String, Symbol> {
    let variables = module.variables.iter().enumerate().filter(|(_, v)| v.function.is_none());
    let variables = variables.map(|(i, v)| (v.name.clone(), Symbol::Variable(VarId(i as u32))));
    let functions = module.functions.iter().enumerate();
    let functions = functions.map(|(i, f)| (f.name.clone(), Symbol::Function(FuncId(i as u32))));
    variables.chain(functions).collect()
}

/// The symbols that a module's code and initialisers name.
fn used(module: &Module) -> HashSet<Symbol> {
    let mut used: HashSet<Symbol> =
        module.variables.iter().flat_map(|v| &v.relocations).map(|relocation| relocation.target).collect();
    used.extend(module.aliases.iter().map(|(_, aliasee)| Symbol::Function(*aliasee)));
    for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
        used.extend(body.operands.iter().filter_map(|operand| match *operand {
            Operand::SymbolAddress { symbol, .. } => Some(symbol),
            Operand::Address { base: AddressBase::Variable(id), .. } => Some(Symbol::Variable(id)),
            Operand::Function(id) => Some(Symbol::Function(id)),
            _ => None,
        }));
        for table in &body.tables {
            if let Table::Call(functions) = table {
                used.extend(functions.iter().map(|&id| Symbol::Function(id)));
            }
        }
    }
    used
}

/// The definition that counts, if there is one.
fn winner<'a>(name: &str, all: &'a [Shared], problems: &mut Vec<Problem>) -> Option<&'a Shared> {
    let of = |strength: Strength| all.iter().filter(move |shared| shared.strength == strength);
    let duplicate = |again: &Shared, first: &Shared| {
        Problem::new(codes::DUPLICATE, format!("`{name}` is defined twice"))
            .at(again.input, again.span, "defined again")
            .at(first.input, first.span, "first defined here")
    };
    if let Some(first) = of(Strength::Strong).next() {
        problems.extend(of(Strength::Strong).skip(1).map(|again| duplicate(again, first)));
        return Some(first);
    }
    let bytes = |shared: &Shared| match shared.what {
        What::Variable { size, .. } => size.unwrap_or(0),
        What::Function { .. } => 0,
    };
    let initialised = |shared: &&Shared| matches!(shared.what, What::Variable { initialised: true, .. });
    // Of equal ones the first: `max_by_key` takes the last.
    let largest =
        all.iter().rev().filter(|shared| shared.strength == Strength::Common).max_by_key(|s| bytes(s));
    if let Some(largest) = largest {
        let mut with_value = of(Strength::Common).filter(initialised);
        let Some(first) = with_value.next() else { return Some(largest) };
        for again in with_value {
            problems.push(
                Problem::new(codes::COMMON, format!("two initialisers of the common `{name}`"))
                    .at(again.input, again.span, "initialised again")
                    .at(first.input, first.span, "first initialised here"),
            );
        }
        if bytes(first) < bytes(largest) {
            problems.push(
                Problem::new(
                    codes::COMMON,
                    format!("the common `{name}` is larger than its initialised one"),
                )
                .at(largest.input, largest.span, format!("{} bytes here", bytes(largest)))
                .at(
                    first.input,
                    first.span,
                    format!("{} bytes, with the initialiser", bytes(first)),
                ),
            );
        }
        return Some(first);
    }
    of(Strength::Weak).next()
}

/// Reports what two modules say differently of one symbol.
fn agree(name: &str, one: &Shared, other: &Shared, problems: &mut Vec<Problem>) {
    let Some((here, there)) = difference(one, other) else { return };
    problems.push(
        Problem::new(codes::MISMATCH, format!("`{name}` is not the same in two modules"))
            .at(other.input, other.span, format!("{there} here"))
            .at(one.input, one.span, format!("{here} here")),
    );
}

fn difference(one: &Shared, other: &Shared) -> Option<(String, String)> {
    let kind = |what: &What| match what {
        What::Function { entry: true, .. } => "an entry".to_owned(),
        What::Function { entry: false, .. } => "a device function".to_owned(),
        What::Variable { space, opaque: None, .. } => format!("a variable in .{}", space_name(*space)),
        What::Variable { opaque: Some(ty), .. } => format!("a {ty}"),
    };
    let (a, b) = (kind(&one.what), kind(&other.what));
    if a != b {
        return Some((a, b));
    }
    match (&one.what, &other.what) {
        (What::Variable { size: Some(a), .. }, What::Variable { size: Some(b), .. }) => {
            let common = other.strength == Strength::Common && b <= a;
            (a != b && !common).then(|| (format!("{a} bytes"), format!("{b} bytes")))
        }
        (What::Function { returns: r1, params: p1, .. }, What::Function { returns: r2, params: p2, .. }) => {
            lists("result", r1, r2).or_else(|| lists("parameter", p1, p2))
        }
        _ => None,
    }
}

fn lists(what: &str, one: &[Shape], other: &[Shape]) -> Option<(String, String)> {
    let count = |list: &[Shape]| match list.len() {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    if one.len() != other.len() {
        return Some((count(one), count(other)));
    }
    let text = |i: usize, shape: &Shape| {
        let place = if shape.register { " in a register" } else { "" };
        format!("{what} {} has {} bytes{place}", i + 1, shape.bytes.unwrap_or(0))
    };
    let differ = |(a, b): (&Shape, &Shape)| {
        a.register != b.register || a.bytes.is_some() && b.bytes.is_some() && a != b
    };
    let i = one.iter().zip(other).position(differ)?;
    Some((text(i, &one[i]), text(i, &other[i])))
}

fn space_name(space: StateSpace) -> &'static str {
    match space {
        StateSpace::Const => "const",
        StateSpace::Shared => "shared",
        _ => "global",
    }
}

/// New names for symbols of modules' own that others have, too: `name$2` for the second module's.
fn rename(
    inputs: &[Input],
    shared: &BTreeMap<&str, Vec<Shared>>,
    own: &[Vec<&str>],
) -> Vec<HashMap<String, String>> {
    let mut taken: HashSet<String> = shared.keys().map(|&name| name.to_owned()).collect();
    let free = |name: &str| inputs.iter().all(|input| input.tree.names.get(name).is_none());
    let mut renamed = Vec::new();
    for (i, own) in own.iter().enumerate() {
        let mut names = HashMap::new();
        let clashes: Vec<&str> = own.iter().copied().filter(|&name| taken.contains(name)).collect();
        taken.extend(own.iter().map(|&name| name.to_owned()));
        for name in clashes {
            let candidates = (i as u64 + 1..).map(|number| format!("{name}${number}"));
            let new = candidates.into_iter().find(|new| free(new) && !taken.contains(new));
            let new = new.unwrap_or_default();
            taken.insert(new.clone());
            names.insert(name.to_owned(), new);
        }
        renamed.push(names);
    }
    renamed
}
