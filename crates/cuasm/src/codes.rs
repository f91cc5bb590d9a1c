//! The codes of diagnostics. A code names a kind of mistake and keeps its meaning; messages may become better.

use ptx::diagnostic::Diagnostic;
use ptx::source::Span;

macro_rules! catalogue {
    ($($name:ident = $code:literal: $explanation:literal;)*) => {
        $(#[doc = $explanation] pub const $name: &str = $code;)*

        /// Every code with its explanation.
        pub const CATALOGUE: &[(&str, &str)] = &[$(($code, $explanation)),*];
    };
}

catalogue! {
    CHARACTER = "A0001": "A character that begins no word of cuasm.";
    STRING = "A0002": "A string that does not end on its line, or an escape that there is not.";
    NUMBER = "A0003": "A number that does not fit 64 bits or has digits that its base has not.";
    SYNTAX = "A0004": "A line that is no label, no directive and no instruction.";
    CONTROL = "A0005": "A control code that is not of the form `[B------:R-:W-:-:S01]`.";
    DEPTH = "A0006": "Expressions nested too deeply.";
    DIRECTIVE = "A0101": "A directive that there is not.";
    ARGUMENT = "A0102": "A directive with an argument too few, too many or of the wrong kind.";
    OUTSIDE = "A0103": "A directive, label or instruction before the first section.";
    DUPLICATE = "A0104": "A section, symbol or label that is defined twice.";
    UNKNOWN = "A0105": "A section, symbol or label that is not defined.";
    RANGE = "A0106": "A number that its place cannot hold.";
    SIZE = "A0107": "A file that would be larger than a gibibyte.";
    MISPLACED = "A0108": "An instruction outside a section of code, or at an address that is no multiple of 16.";
    EXPRESSION = "A0109": "A difference of labels of two sections, or another expression without a value.";
    RELOCATION = "A0110": "A relocation without a section that it could stand in.";
    TARGET = "A0111": "A target that is not known, so that its instructions cannot be read.";
    INSTRUCTION = "A0201": "An instruction that the instruction set does not have.";
    OPERAND = "A0202": "An operand that the instruction's encoding cannot hold.";
    BRANCH = "A0203": "A branch to another section, or too far, or to an address that no instruction has.";
    REGISTERS = "A0204": "Fewer registers declared than the code uses.";
    HAZARD = "A0301": "A control code that breaks a dependence: a register is read before it is written, or written before it is read.";
}

/// The diagnostics of one text, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) list: Vec<Diagnostic>,
}

/// After so many findings no more are kept.
const LIMIT: usize = 1000;

impl Findings {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() < LIMIT {
            self.list.push(diagnostic);
        }
    }

    pub(crate) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(code, span, message));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(super::CATALOGUE.is_sorted_by(|a, b| a.0 < b.0));
    }
}
