//! Functions and their directives (PTX ISA, "Kernel Entry Point and Function Directives", "Performance-Tuning
//! Directives", "Cluster Dimension Directives", "ABI").

use super::declaration::begins_declaration;
use super::lexer::Tok;
use super::parser::{Failed, Parser, Read};
use crate::ast::{
    Function, FunctionDirective, FunctionDirectiveKind, FunctionId, FunctionKind, Linkage, Spanned,
    VariableList,
};

/// Whether a directive begins the next item, so that the function ends before it.
fn begins_item(text: &str) -> bool {
    matches!(
        text,
        ".entry" | ".func" | ".version" | ".target" | ".address_size" | ".section" | ".file" | ".alias"
    ) || begins_declaration(text)
}

impl Parser<'_> {
    /// The rest of a function after `.entry` or `.func`.
    pub(super) fn function(
        &mut self,
        linkage: Spanned<Linkage>,
        kind: Spanned<FunctionKind>,
    ) -> Read<FunctionId> {
        let mut attributes = Vec::new();
        while self.kind() == Tok::Dot && self.text() == ".attribute" {
            attributes.extend(self.attributes()?);
        }
        let returns = match kind.value {
            FunctionKind::Func => self.parameters()?,
            FunctionKind::Entry => VariableList::default(),
        };
        let name = self.identifier("the name of the function")?;
        // The manual has some directives before the parameters, ptxas takes them after.
        let mut directives = Vec::new();
        while self.kind() == Tok::Dot
            && matches!(self.text(), ".noreturn" | ".abi_preserve" | ".abi_preserve_control")
        {
            self.one_directive(&mut directives);
        }
        let params = self.parameters()?;
        self.function_directives(&mut directives);
        let body = match self.kind() {
            Tok::BraceOpen => Some(self.body()),
            Tok::Semicolon => {
                self.advance();
                None
            }
            // Early compilers end a declaration with the line, and ptxas looks for no more.
            Tok::Dot if begins_item(self.text()) => None,
            _ => return self.expected("`{` and the body, or `;`"),
        };
        let function = Function { linkage, kind, attributes, name, returns, params, directives, body };
        self.module.functions.push(function);
        Ok(FunctionId(self.module.functions.len() as u32 - 1))
    }

    /// Any number of directives.
    pub(super) fn function_directives(&mut self, directives: &mut Vec<FunctionDirective>) {
        while self.kind() == Tok::Dot && !begins_item(self.text()) {
            self.one_directive(directives);
        }
    }

    fn one_directive(&mut self, directives: &mut Vec<FunctionDirective>) {
        let start = self.lexer.start;
        match self.function_directive() {
            Ok(kind) => directives.push(Spanned::new(kind, self.since(start))),
            Err(Failed) => self.skip_directive(),
        }
    }

    /// Skips the operands of a broken directive, so that the body is still read.
    #[cold]
    fn skip_directive(&mut self) {
        while matches!(self.kind(), Tok::Number | Tok::Comma | Tok::Identifier | Tok::String | Tok::Minus) {
            self.advance();
        }
    }

    fn function_directive(&mut self) -> Read<FunctionDirectiveKind> {
        use FunctionDirectiveKind::*;
        let text = self.text();
        Ok(match text {
            ".maxntid" => MaxNtid(self.dimensions_of_launch()?),
            ".reqntid" => ReqNtid(self.dimensions_of_launch()?),
            ".reqnctapercluster" => ReqNctaPerCluster(self.dimensions_of_launch()?),
            ".minnctapersm" => MinNctaPerSm(self.number()?),
            ".maxnctapersm" => MaxNctaPerSm(self.number()?),
            ".maxnreg" => MaxNreg(self.number()?),
            ".local_maxnreg" => LocalMaxNreg(self.number()?),
            ".maxclusterrank" => MaxClusterRank(self.number()?),
            ".abi_preserve" => AbiPreserve(self.number()?),
            ".abi_preserve_control" => AbiPreserveControl(self.number()?),
            ".pragma" => Pragma(self.pragma()?),
            ".noreturn" => self.word(NoReturn),
            ".explicitcluster" => self.word(ExplicitCluster),
            ".blocksareclusters" => self.word(BlocksAreClusters),
            _ => return self.unknown_directive("a directive of functions, `{` or `;`"),
        })
    }

    fn word(&mut self, kind: FunctionDirectiveKind) -> FunctionDirectiveKind {
        self.advance();
        kind
    }

    fn number(&mut self) -> Read<Spanned<u64>> {
        self.advance();
        self.integer("a number")
    }

    /// One to three numbers.
    fn dimensions_of_launch(&mut self) -> Read<Vec<Spanned<u64>>> {
        let mut sizes = vec![self.number()?];
        while sizes.len() < 3 && self.kind() == Tok::Comma {
            sizes.push(self.number()?);
        }
        Ok(sizes)
    }
}
