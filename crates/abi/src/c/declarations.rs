//! A text's records and functions.

use super::prepare::{Prepared, merge, prepare};
use super::specifiers::{OfDeclaration, identifier};
use super::{Located, Problem};
use crate::data::{Attributes, Record, Target, Type};
use lang_c::ast::{
    Declaration, DeclarationSpecifier, Declarator, DeclaratorKind, DerivedDeclarator, Ellipsis,
    ExternalDeclaration, FunctionDeclarator, StorageClassSpecifier, TypeSpecifier,
};
use lang_c::driver::{Config, Flavor, parse_preprocessed};
use lang_c::span::Node;
use std::collections::HashMap;
use std::rc::Rc;

/// What a C text declares.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    /// Structures and unions that are not within others, in order.
    pub records: Vec<Rc<Record>>,
    /// Functions and kernels, in order.
    pub functions: Vec<Function>,
}

/// A function's prototype.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, as C links it.
    pub name: String,
    /// `__global__`
    pub kernel: bool,
    /// What it returns.
    pub returns: Type,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// `...`
    pub variadic: bool,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its type; arrays and functions are pointers already.
    pub ty: Type,
}

/// The stack of the thread that parses: the parser recurses, as deeply as [`prepare`] lets a text nest.
const STACK: usize = 64 << 20;

/// Reads declarations.
///
/// # Errors
/// If it is not C, or more of it than is understood.
pub fn parse(source: &str, target: Target) -> Result<Declarations, Problem> {
    // Types are shared by `Rc`, and stay on this thread: only the parser's tree comes from the other.
    let prepared = prepare(source, target).map_err(|problem| problem.within(source))?;
    let prelude = prelude(&prepared.text);
    let text = format!("{prelude}{}", prepared.text);
    let config = Config { flavor: Flavor::GnuC11, ..Config::with_gcc() };
    let parser = std::thread::Builder::new().stack_size(STACK);
    let parsed = parser.spawn(move || parse_preprocessed(&config, text));
    let parsed = parsed.ok().and_then(|thread| thread.join().ok());
    let parsed = parsed.ok_or_else(|| Located::new(0, "the parser failed").within(source))?;
    let parsed = parsed.map_err(|error| {
        let mut expected: Vec<_> = error.expected.iter().filter(|word| !word.is_empty()).collect();
        expected.sort();
        expected.truncate(8);
        let expected: Vec<_> = expected.iter().map(|word| format!("`{word}`")).collect();
        let message = format!("this is not C: expected {}", expected.join(", "));
        Located::new(error.offset.saturating_sub(prelude.len()), message).within(source)
    })?;
    let mut reader = Reader {
        target,
        shift: prelude.len(),
        constants: prepared.constants.clone(),
        prepared: behind(prepared, &prelude),
        typedefs: HashMap::new(),
        tags: HashMap::new(),
        records: Vec::new(),
        functions: Vec::new(),
        depth: 0,
    };
    let read = reader.unit(&parsed.unit.0);
    read.map_err(|problem| {
        Located { offset: problem.offset.saturating_sub(reader.shift), ..problem }.within(source)
    })?;
    Ok(Declarations { records: reader.records, functions: reader.functions })
}

/// `typedef`s of the names in a text that headers would declare; what they are, `names` knows.
fn prelude(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| {
        let keyword = crate::data::Scalar::ALL.iter().any(|scalar| scalar.name() == *word && *word != "bool");
        (!keyword || word.starts_with('_')) && super::names::builtin(word).is_some()
    });
    let words: std::collections::BTreeSet<&str> = words.collect();
    words.into_iter().map(|word| format!("typedef int {word}; ")).collect()
}

/// The same behind a prelude.
fn behind(prepared: Prepared, prelude: &str) -> Prepared {
    let Prepared { text, of_tags, attributes, kernels, constants } = prepared;
    let by = prelude.len();
    Prepared {
        text: format!("{prelude}{text}"),
        of_tags: of_tags.into_iter().map(|(at, of_tag)| (at + by, of_tag)).collect(),
        attributes: attributes.into_iter().map(|(at, attribute)| (at + by, attribute)).collect(),
        kernels: kernels.into_iter().map(|at| at + by).collect(),
        constants,
    }
}

/// What is known while declarations are read in their order.
pub(super) struct Reader {
    pub(super) target: Target,
    pub(super) prepared: Prepared,
    pub(super) constants: HashMap<String, i128>,
    pub(super) typedefs: HashMap<String, Type>,
    pub(super) tags: HashMap<String, Type>,
    pub(super) records: Vec<Rc<Record>>,
    pub(super) depth: usize,
    functions: Vec<Function>,
    /// How many bytes stand before the text.
    shift: usize,
}

impl Reader {
    fn unit(&mut self, declarations: &[Node<ExternalDeclaration>]) -> Result<(), Located> {
        let mut from = 0;
        for external in declarations {
            match &external.node {
                ExternalDeclaration::Declaration(declaration) if external.span.start >= self.shift => {
                    self.declaration(declaration, from)?;
                }
                // Bodies were taken out, and assertions say nothing new.
                _ => {}
            }
            from = self.end_of(external.span.end);
        }
        Ok(())
    }

    /// The end of a declaration, its semicolon included.
    pub(super) fn end_of(&self, end: usize) -> usize {
        let text = &self.prepared.text;
        let from = end.saturating_sub(1);
        text.get(from..).and_then(|rest| rest.find(';')).map_or(text.len(), |at| from + at + 1)
    }

    /// The attributes between two places, each used once, and which declarators they belong to.
    pub(super) fn attributes(&mut self, from: usize, to: usize, declarators: &[usize]) -> OfDeclaration {
        let all = &mut self.prepared.attributes;
        let first = all.partition_point(|(at, _)| *at < from);
        let last = all.partition_point(|(at, _)| *at < to);
        let mut of_all = Attributes::default();
        let mut of_each = vec![Attributes::default(); declarators.len()];
        for (at, attributes) in all.drain(first..last) {
            match declarators.iter().rposition(|start| *start <= at) {
                Some(one) => merge(&mut of_each[one], attributes),
                None => merge(&mut of_all, attributes),
            }
        }
        of_each.iter_mut().for_each(|own| merge(own, of_all));
        OfDeclaration { of_all, of_each }
    }

    fn declaration(&mut self, declaration: &Node<Declaration>, from: usize) -> Result<(), Located> {
        let Declaration { specifiers, declarators } = &declaration.node;
        let base = self.base(types(specifiers), declaration.span.start)?;
        let to = self.end_of(declaration.span.end);
        let is_typedef = specifiers.iter().any(|specifier| {
            matches!(&specifier.node, DeclarationSpecifier::StorageClass(class)
                if class.node == StorageClassSpecifier::Typedef)
        });
        let kernel = self.prepared.kernels.iter().any(|at| (from..to).contains(at));
        // Structures among the parameters take their attributes before the declaration takes the rest.
        let mut types = Vec::with_capacity(declarators.len());
        for init in declarators {
            let declarator = &init.node.declarator;
            types.push(self.declared(base.clone(), declarator)?);
            if let (false, Some(name)) = (is_typedef, identifier(declarator))
                && let Some((pointers, function)) = as_function(declarator)
            {
                let returns = (0..pointers).fold(base.clone(), |ty, _| Type::Pointer(Box::new(ty)));
                self.function(name, kernel, returns, function)?;
            }
        }
        let starts: Vec<usize> = declarators.iter().map(|declarator| declarator.span.start).collect();
        let attributes = self.attributes(from, to, &starts);
        for ((init, own), ty) in declarators.iter().zip(attributes.of_each).zip(types) {
            if let (true, Some(name)) = (is_typedef, identifier(&init.node.declarator)) {
                let ty = self.named(ty, &name);
                let ty = own.align.map_or(ty.clone(), |align| Type::Aligned(Box::new(ty), align));
                self.typedefs.insert(name, ty);
            }
        }
        Ok(())
    }

    /// A record without a tag gets the name of its first `typedef`.
    fn named(&mut self, ty: Type, name: &str) -> Type {
        let Type::Record(record) = &ty else { return ty };
        if record.name().is_some() {
            return ty;
        }
        let named = Rc::new(record.named(name));
        if let Some(listed) = self.records.iter_mut().find(|listed| Rc::ptr_eq(listed, record)) {
            *listed = Rc::clone(&named);
        }
        Type::Record(named)
    }

    fn function(
        &mut self,
        name: String,
        kernel: bool,
        returns: Type,
        function: Option<&FunctionDeclarator>,
    ) -> Result<(), Located> {
        let mut parameters = Vec::new();
        let list = function.map_or(&[][..], |function| &function.parameters);
        for parameter in list {
            let base = self.base(types(&parameter.node.specifiers), parameter.span.start)?;
            let (name, ty) = match &parameter.node.declarator {
                Some(declarator) => (identifier(declarator), self.declared(base, declarator)?),
                None => (None, base),
            };
            let ty = match ty {
                Type::Array(element, _) => Type::Pointer(element),
                Type::Function => Type::Pointer(Box::new(Type::Function)),
                Type::Void if list.len() == 1 => continue,
                other => other,
            };
            parameters.push(Parameter { name, ty });
        }
        let variadic = function.is_some_and(|function| function.ellipsis == Ellipsis::Some);
        self.functions.push(Function { name, kernel, returns, parameters, variadic });
        Ok(())
    }
}

fn types(specifiers: &[Node<DeclarationSpecifier>]) -> impl Iterator<Item = &Node<TypeSpecifier>> {
    specifiers.iter().filter_map(|specifier| match &specifier.node {
        DeclarationSpecifier::TypeSpecifier(specifier) => Some(specifier),
        _ => None,
    })
}

/// How many pointers a function returns, and its parameters, if that is what is declared.
fn as_function(declarator: &Node<Declarator>) -> Option<(usize, Option<&FunctionDeclarator>)> {
    let Declarator { kind, derived, .. } = &declarator.node;
    let (last, before) = derived.split_last()?;
    let pointers = before.iter().all(|derived| matches!(derived.node, DerivedDeclarator::Pointer(_)));
    if !pointers || !matches!(kind.node, DeclaratorKind::Identifier(_)) {
        return None;
    }
    match &last.node {
        DerivedDeclarator::Function(function) => Some((before.len(), Some(&function.node))),
        DerivedDeclarator::KRFunction(names) if names.is_empty() => Some((before.len(), None)),
        _ => None,
    }
}
