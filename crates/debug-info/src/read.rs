//! From `.debug_info` to units, scopes, variables and types.

mod types;

use crate::location::{self, AddressClass, Location};
use crate::types::{Type, TypeId};
use crate::{DebugInfo, Problem, Reader};
use gimli::{AttributeValue, DebuggingInformationEntry, constants as dw};
use ptx::module::Module;
use std::collections::HashMap;
use std::ops::Range;

/// A compilation unit.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The source file.
    pub name: Option<String>,
    /// Where it was compiled.
    pub directory: Option<String>,
    /// The compiler.
    pub producer: Option<String>,
    /// `DW_LANG_C_plus_plus` ...
    pub language: Option<String>,
    /// The DWARF version.
    pub version: u16,
    /// How its expressions are to be read.
    pub(crate) encoding: gimli::Encoding,
}

/// A scope: its place in [`DebugInfo::scopes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub usize);

/// What a scope is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// All of a unit.
    Unit,
    /// A function.
    Function,
    /// The code of a function where it was inlined.
    Inlined,
    /// A block.
    Block,
}

/// Where something was declared, or called: the index of a file, and a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The index that `.file` gives.
    pub file: Option<u64>,
    /// The line.
    pub line: Option<u64>,
}

/// A unit, a function, an inlined call or a block, with its variables.
#[derive(Clone, Debug)]
pub struct Scope {
    /// What it is.
    pub kind: ScopeKind,
    /// The one around it.
    pub parent: Option<ScopeId>,
    /// Its unit.
    pub unit: usize,
    /// The name of a function.
    pub name: Option<String>,
    /// The same with C++'s mangling.
    pub linkage_name: Option<String>,
    /// The type that a function returns.
    pub returns: Option<TypeId>,
    /// Where the function is declared.
    pub declared: Declared,
    /// Where an inlined function was called.
    pub called: Declared,
    /// The program counters of its code.
    pub ranges: Vec<Range<u64>>,
    /// Parameters, then other variables, in their order.
    pub variables: Vec<Variable>,
    frame_base: Option<Vec<u8>>,
}

/// A variable or parameter.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The same with C++'s mangling.
    pub linkage_name: Option<String>,
    /// Its type.
    pub ty: Option<TypeId>,
    /// Whether it is a parameter.
    pub parameter: bool,
    /// The memory that it is in, if DWARF says so.
    pub class: Option<AddressClass>,
    /// Where it is declared.
    pub declared: Declared,
    /// A constant instead of a place.
    pub constant: Option<i64>,
    /// Expressions, each with the program counters where it holds; everywhere if there are none.
    places: Vec<(Option<Range<u64>>, Vec<u8>)>,
}

/// What an entry says of itself that others may refer to.
#[derive(Clone, Default)]
struct Named {
    name: Option<String>,
    linkage_name: Option<String>,
    ty: Option<TypeId>,
    declared: Declared,
    origin: Option<u64>,
}

impl DebugInfo {
    /// Where a variable of a scope is at a program counter.
    pub fn location(&self, scope: ScopeId, variable: &Variable, pc: u64) -> Location {
        let here = variable.places.iter().find(|(range, _)| range.as_ref().is_none_or(|r| r.contains(&pc)));
        here.map_or(Location::Nowhere, |(_, expression)| self.evaluate(scope, expression))
    }

    /// All places of a variable, with the program counters where they hold; `None` where it is everywhere the same.
    pub fn locations(&self, scope: ScopeId, variable: &Variable) -> Vec<(Option<Range<u64>>, Location)> {
        let of = |(range, expression): &(Option<Range<u64>>, Vec<u8>)| {
            (range.clone(), self.evaluate(scope, expression))
        };
        variable.places.iter().map(of).collect()
    }

    fn evaluate(&self, scope: ScopeId, expression: &[u8]) -> Location {
        let around = std::iter::successors(Some(scope), |scope| self.scope(*scope).parent);
        let frame_base = around.map(|scope| &self.scope(scope).frame_base).find_map(Option::as_deref);
        let encoding = self.units[self.scope(scope).unit].encoding;
        location::evaluate(expression, frame_base, encoding, &self.addresses)
    }
}

/// Reads all units into `info`.
pub(crate) fn read(_module: &Module, info: &mut DebugInfo) {
    if info.sections.bytes(".debug_info").is_none() {
        return;
    }
    let mut found = Found::default();
    {
        let dwarf = info.dwarf();
        let mut headers = dwarf.units();
        loop {
            match headers.next() {
                Ok(Some(header)) => {
                    let at = header.debug_info_offset().map(|offset| offset.0 as u64);
                    match dwarf.unit(header) {
                        Ok(unit) => found.unit(&dwarf, &unit),
                        Err(error) => found.problem(at, error),
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    found.problem(None, error);
                    break;
                }
            }
        }
    }
    found.adopt_origins();
    (info.units, info.scopes, info.types) = (found.units, found.scopes, found.types);
    info.problems.extend(found.problems);
}

#[derive(Default)]
struct Found {
    units: Vec<Unit>,
    scopes: Vec<Scope>,
    types: HashMap<TypeId, Type>,
    problems: Vec<Problem>,
    named: HashMap<u64, Named>,
    /// The entries that scopes and variables come from.
    scope_entries: Vec<u64>,
    variable_entries: Vec<Vec<u64>>,
}

type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;

/// A unit that is being read.
struct Context<'d, 'a> {
    dwarf: &'d gimli::Dwarf<Reader<'a>>,
    unit: &'d gimli::Unit<Reader<'a>>,
}

impl<'a> Context<'_, 'a> {
    fn text(&self, entry: &Entry<'a>, name: gimli::DwAt) -> Option<String> {
        let value = entry.attr_value(name)?;
        let text = self.dwarf.attr_string(self.unit, value).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    fn number(&self, entry: &Entry<'a>, name: gimli::DwAt) -> Option<u64> {
        match entry.attr_value(name)? {
            AttributeValue::FileIndex(value) => Some(value),
            AttributeValue::AddressClass(class) => Some(class.0),
            AttributeValue::Encoding(encoding) => Some(encoding.0.into()),
            value => value.udata_value(),
        }
    }

    /// The entry that an attribute refers to, by its offset in the section.
    fn reference(&self, entry: &Entry<'a>, name: gimli::DwAt) -> Option<u64> {
        match entry.attr_value(name)? {
            AttributeValue::UnitRef(offset) => {
                offset.to_debug_info_offset(&self.unit.header).map(|offset| offset.0 as u64)
            }
            AttributeValue::DebugInfoRef(offset) => Some(offset.0 as u64),
            _ => None,
        }
    }

    fn declared(&self, entry: &Entry<'a>, file: gimli::DwAt, line: gimli::DwAt) -> Declared {
        Declared { file: self.number(entry, file), line: self.number(entry, line) }
    }

    fn ty(&self, entry: &Entry<'a>) -> Option<TypeId> {
        self.reference(entry, dw::DW_AT_type).map(TypeId)
    }
}

impl Found {
    fn problem(&mut self, offset: Option<u64>, error: gimli::Error) {
        let section = ".debug_info".to_owned();
        self.problems.push(Problem { section, offset, message: error.to_string() });
    }

    fn unit<'a>(&mut self, dwarf: &gimli::Dwarf<Reader<'a>>, unit: &gimli::Unit<Reader<'a>>) {
        let context = Context { dwarf, unit };
        let of = |text: Option<Reader<'a>>| Some(text?.to_string_lossy().into_owned());
        self.units.push(Unit {
            name: of(unit.name),
            directory: of(unit.comp_dir),
            producer: None,
            language: None,
            version: unit.header.version(),
            encoding: unit.encoding(),
        });
        // The entries around the current one, by depth: what they have become.
        let mut around: Vec<Around> = Vec::new();
        let mut entries = unit.entries();
        loop {
            match entries.next_dfs() {
                Ok(Some(entry)) => {
                    let depth = usize::try_from(entry.depth()).unwrap_or(0);
                    around.truncate(depth);
                    let Some(offset) = entry.offset().to_debug_info_offset(&unit.header) else { continue };
                    let became = self.entry(&context, entry, offset.0 as u64, &around);
                    around.resize(depth, Around::default());
                    around.push(became);
                }
                Ok(None) => return,
                Err(error) => {
                    let at = unit.header.debug_info_offset().map(|offset| offset.0 as u64);
                    return self.problem(at, error);
                }
            }
        }
    }

    /// Takes what an entry says; what it has become for those within it.
    fn entry<'a>(
        &mut self,
        c: &Context<'_, 'a>,
        entry: &Entry<'a>,
        offset: u64,
        around: &[Around],
    ) -> Around {
        let mut outer = around.last().copied().unwrap_or_default();
        let named = Named {
            name: c.text(entry, dw::DW_AT_name),
            linkage_name: c
                .text(entry, dw::DW_AT_linkage_name)
                .or_else(|| c.text(entry, dw::DW_AT_MIPS_linkage_name)),
            ty: c.ty(entry),
            declared: c.declared(entry, dw::DW_AT_decl_file, dw::DW_AT_decl_line),
            origin: c
                .reference(entry, dw::DW_AT_abstract_origin)
                .or_else(|| c.reference(entry, dw::DW_AT_specification)),
        };
        self.named.insert(offset, named.clone());
        let kind = match entry.tag() {
            dw::DW_TAG_compile_unit | dw::DW_TAG_partial_unit => Some(ScopeKind::Unit),
            dw::DW_TAG_subprogram => Some(ScopeKind::Function),
            dw::DW_TAG_inlined_subroutine => Some(ScopeKind::Inlined),
            dw::DW_TAG_lexical_block => Some(ScopeKind::Block),
            dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                if let Some(scope) = outer.scope {
                    let variable = self.variable(c, entry, named);
                    self.scopes[scope.0].variables.push(variable);
                    self.variable_entries[scope.0].push(offset);
                }
                None
            }
            _ => {
                self.part_of_type(c, entry, &named, outer.ty);
                if let Some(ty) = self.ty(c, entry, named) {
                    self.types.insert(TypeId(offset), ty);
                    outer.ty = Some(TypeId(offset));
                }
                None
            }
        };
        if let Some(kind) = kind {
            if kind == ScopeKind::Unit
                && let Some(unit) = self.units.last_mut()
            {
                unit.producer = c.text(entry, dw::DW_AT_producer);
                unit.language = match entry.attr_value(dw::DW_AT_language) {
                    Some(AttributeValue::Language(language)) => Some(language.to_string()),
                    _ => None,
                };
            }
            let scope = self.scope(c, entry, kind, outer.scope);
            self.scopes.push(scope);
            self.scope_entries.push(offset);
            self.variable_entries.push(Vec::new());
            outer.scope = Some(ScopeId(self.scopes.len() - 1));
        }
        outer
    }

    fn scope<'a>(
        &mut self,
        c: &Context<'_, 'a>,
        entry: &Entry<'a>,
        kind: ScopeKind,
        parent: Option<ScopeId>,
    ) -> Scope {
        let mut ranges = Vec::new();
        match c.dwarf.die_ranges(c.unit, entry) {
            Ok(mut all) => {
                while let Ok(Some(range)) = all.next() {
                    ranges.push(range.begin..range.end);
                }
            }
            Err(error) => self.problem(None, error),
        }
        let of = |value: Option<AttributeValue<Reader<'a>>>| Some(value?.exprloc_value()?.0.slice().to_vec());
        Scope {
            kind,
            parent,
            unit: self.units.len() - 1,
            name: None,
            linkage_name: None,
            returns: None,
            declared: Declared::default(),
            called: c.declared(entry, dw::DW_AT_call_file, dw::DW_AT_call_line),
            ranges,
            variables: Vec::new(),
            frame_base: of(entry.attr_value(dw::DW_AT_frame_base)),
        }
    }

    fn variable<'a>(&mut self, c: &Context<'_, 'a>, entry: &Entry<'a>, named: Named) -> Variable {
        let value = entry.attr_value(dw::DW_AT_const_value);
        let mut variable = Variable {
            name: named.name.unwrap_or_default(),
            linkage_name: named.linkage_name,
            ty: named.ty,
            parameter: entry.tag() == dw::DW_TAG_formal_parameter,
            class: c.number(entry, dw::DW_AT_address_class).and_then(AddressClass::of_code),
            declared: named.declared,
            constant: value
                .and_then(|value| value.sdata_value().or_else(|| value.udata_value().map(u64::cast_signed))),
            places: Vec::new(),
        };
        let Some(value) = entry.attr_value(dw::DW_AT_location) else { return variable };
        if let Some(expression) = value.exprloc_value() {
            variable.places.push((None, expression.0.slice().to_vec()));
            return variable;
        }
        let list = c.dwarf.attr_locations(c.unit, value).and_then(|list| {
            let Some(mut list) = list else { return Ok(Vec::new()) };
            let mut places = Vec::new();
            while let Some(place) = list.next()? {
                places.push((Some(place.range.begin..place.range.end), place.data.0.slice().to_vec()));
            }
            Ok(places)
        });
        match list {
            Ok(places) => variable.places = places,
            Err(error) => self.problems.push(Problem {
                section: ".debug_loc".to_owned(),
                offset: None,
                message: format!("the places of `{}`: {error}", variable.name),
            }),
        }
        variable
    }

    /// Gives what refers to another entry the names that stand there.
    fn adopt_origins(&mut self) {
        for (index, scope) in self.scopes.iter_mut().enumerate() {
            let named = full(&self.named, self.scope_entries[index]);
            (scope.name, scope.linkage_name) = (named.name, named.linkage_name);
            (scope.returns, scope.declared) = (named.ty, named.declared);
            for (variable, &entry) in scope.variables.iter_mut().zip(&self.variable_entries[index]) {
                let named = full(&self.named, entry);
                variable.name = named.name.unwrap_or_default();
                variable.linkage_name = named.linkage_name;
                (variable.ty, variable.declared) = (named.ty, named.declared);
            }
        }
    }
}

/// What an entry and those that it refers to say.
fn full(all: &HashMap<u64, Named>, entry: u64) -> Named {
    let mut named = all.get(&entry).cloned().unwrap_or_default();
    let mut origin = named.origin;
    // An entry refers to a declaration, that to another one at most; a damaged one to itself.
    for _ in 0..4 {
        let Some(next) = origin.and_then(|origin| all.get(&origin)) else { break };
        named.name = named.name.or_else(|| next.name.clone());
        named.linkage_name = named.linkage_name.or_else(|| next.linkage_name.clone());
        named.ty = named.ty.or(next.ty);
        named.declared.file = named.declared.file.or(next.declared.file);
        named.declared.line = named.declared.line.or(next.declared.line);
        origin = next.origin;
    }
    named
}

/// What entries around an entry have become.
#[derive(Clone, Copy, Default)]
struct Around {
    scope: Option<ScopeId>,
    ty: Option<TypeId>,
}
