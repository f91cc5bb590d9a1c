//! Variables, functions and their directives.

use super::Printer;
use crate::ast::{
    Attribute, Declarator, Function, FunctionDirectiveKind, FunctionKind, Linkage, Space, Spanned, Variable,
    VariableList,
};
use std::fmt::{self, Write};

fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Internal => "",
        Linkage::Visible => ".visible ",
        Linkage::Extern => ".extern ",
        Linkage::Weak => ".weak ",
        Linkage::Common => ".common ",
    }
}

impl Printer<'_> {
    fn space(&mut self, space: Space) -> fmt::Result {
        self.out.write_str(match space {
            Space::Reg => ".reg",
            Space::Sreg => ".sreg",
            Space::Const { bank: None } => ".const",
            Space::Const { bank: Some(bank) } => return write!(self.out, ".const[{bank}]"),
            Space::Global => ".global",
            Space::Local => ".local",
            Space::Param => ".param",
            Space::Shared => ".shared",
            Space::Tex => ".tex",
        })
    }

    /// A declaration with its semicolon.
    pub(super) fn declaration(&mut self, variable: &Variable) -> fmt::Result {
        self.variable(variable)?;
        self.out.write_char(';')
    }

    fn variable(&mut self, variable: &Variable) -> fmt::Result {
        let module = self.module;
        self.out.write_str(linkage(variable.linkage.value))?;
        self.space(variable.space.value)?;
        if let Some(align) = variable.align {
            self.out.write_str(" .align ")?;
            self.expression(align)?;
        }
        self.attributes(&variable.attributes)?;
        if let Some(vector) = variable.vector {
            write!(self.out, " .v{}", vector.value)?;
        }
        write!(self.out, " {} ", variable.ty.value)?;
        if let Some(pointer) = variable.pointer {
            self.out.write_str(".ptr ")?;
            if let Some(space) = pointer.value.space {
                self.space(space.value)?;
                self.out.write_char(' ')?;
            }
            if let Some(align) = pointer.value.align {
                self.out.write_str(".align ")?;
                self.expression(align)?;
                self.out.write_char(' ')?;
            }
        }
        self.commas(&module[variable.declarators], Self::declarator)
    }

    fn attributes(&mut self, attributes: &[Spanned<Attribute>]) -> fmt::Result {
        if attributes.is_empty() {
            return Ok(());
        }
        self.out.write_str(" .attribute(")?;
        self.commas(attributes, |p, attribute| match attribute.value {
            Attribute::Managed => p.out.write_str(".managed"),
            Attribute::Unified(upper, lower) => write!(p.out, ".unified({upper}, {lower})"),
        })?;
        self.out.write_char(')')
    }

    fn declarator(&mut self, declarator: &Declarator) -> fmt::Result {
        let module = self.module;
        self.out.write_str(declarator.name.map_or("_", |name| module.text(name.value)))?;
        if let Some(count) = declarator.count {
            self.out.write_char('<')?;
            self.expression(count)?;
            self.out.write_char('>')?;
        }
        for dimension in &module[declarator.dimensions] {
            self.out.write_char('[')?;
            if let Some(size) = dimension.value {
                self.expression(size)?;
            }
            self.out.write_char(']')?;
        }
        if let Some(initialiser) = declarator.initialiser {
            self.out.write_str(" = ")?;
            self.initialiser(&module[initialiser].value)?;
        }
        Ok(())
    }

    pub(super) fn function(&mut self, function: &Function) -> fmt::Result {
        let module = self.module;
        self.out.write_str(linkage(function.linkage.value))?;
        self.out.write_str(match function.kind.value {
            FunctionKind::Entry => ".entry",
            FunctionKind::Func => ".func",
        })?;
        self.attributes(&function.attributes)?;
        self.out.write_char(' ')?;
        if !function.returns.is_empty() {
            self.parameters(function.returns)?;
            self.out.write_char(' ')?;
        }
        write!(self.out, "{}(", module.text(function.name.value))?;
        for (index, param) in module[function.params].iter().enumerate() {
            self.out.write_str(if index == 0 { "\n\t" } else { ",\n\t" })?;
            self.variable(param)?;
        }
        self.out.write_str(if function.params.is_empty() { ")" } else { "\n)" })?;
        for directive in &function.directives {
            self.out.write_char('\n')?;
            self.directive(&directive.value)?;
        }
        match function.body {
            None => self.out.write_str(";\n"),
            Some(body) => {
                self.out.write_str("\n{\n")?;
                self.statements(body.statements)?;
                self.out.write_str("}\n")
            }
        }
    }

    /// `(a, b)` on one line.
    pub(super) fn parameters(&mut self, params: VariableList) -> fmt::Result {
        let module = self.module;
        self.out.write_char('(')?;
        self.commas(&module[params], Self::variable)?;
        self.out.write_char(')')
    }

    pub(super) fn directive(&mut self, directive: &FunctionDirectiveKind) -> fmt::Result {
        use FunctionDirectiveKind::*;
        match directive {
            MaxNtid(sizes) => self.numbers(".maxntid", sizes),
            ReqNtid(sizes) => self.numbers(".reqntid", sizes),
            ReqNctaPerCluster(sizes) => self.numbers(".reqnctapercluster", sizes),
            MinNctaPerSm(number) => self.numbers(".minnctapersm", &[*number]),
            MaxNctaPerSm(number) => self.numbers(".maxnctapersm", &[*number]),
            MaxNreg(number) => self.numbers(".maxnreg", &[*number]),
            LocalMaxNreg(number) => self.numbers(".local_maxnreg", &[*number]),
            MaxClusterRank(number) => self.numbers(".maxclusterrank", &[*number]),
            AbiPreserve(number) => self.numbers(".abi_preserve", &[*number]),
            AbiPreserveControl(number) => self.numbers(".abi_preserve_control", &[*number]),
            NoReturn => self.out.write_str(".noreturn"),
            ExplicitCluster => self.out.write_str(".explicitcluster"),
            BlocksAreClusters => self.out.write_str(".blocksareclusters"),
            Pragma(strings) => self.pragma(strings),
        }
    }

    fn numbers(&mut self, directive: &str, numbers: &[Spanned<u64>]) -> fmt::Result {
        write!(self.out, "{directive} ")?;
        self.commas(numbers, |p, number| write!(p.out, "{}", number.value))
    }
}
