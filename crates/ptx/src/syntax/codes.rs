//! The catalogue of lexical (`L`) and syntax (`P`) diagnostics: each code with its explanation, once.

macro_rules! codes {
    ($($name:ident = $code:literal: $explanation:literal;)*) => {
        $(#[doc = $explanation] pub const $name: &str = $code;)*

        /// Every code with its explanation.
        pub const CATALOGUE: &[(&str, &str)] = &[$(($code, $explanation)),*];
    };
}

codes! {
    UNEXPECTED_CHARACTER = "L0001": "A character that PTX does not use outside comments and strings. PTX source is ASCII.";
    UNTERMINATED_COMMENT = "L0002": "A `/*` without its `*/`. Block comments do not nest.";
    UNTERMINATED_STRING = "L0003": "A string without its closing quote. Strings have no escapes and may run over lines.";
    MALFORMED_NUMBER = "L0004": "A number that is followed by a letter or has a digit that its base lacks: `09`, `0b12`, `12ab`.";
    INTEGER_TOO_LARGE = "L0005": "An integer literal that does not fit in 64 bits.";
    MALFORMED_FLOAT = "L0006": "`0f` takes exactly 8 hexadecimal digits and `0d` exactly 16: the bits of the value.";
    FLOAT_OUT_OF_RANGE = "L0007": "A decimal floating-point literal that no double-precision value is near.";
    PREPROCESSOR_LINE = "L0008": "A line that begins with `#` is only allowed as a line marker: `# 12 \"file\"` or `#line 12 \"file\"`.";
    SOURCE_TOO_LARGE = "L0009": "A source text of 4 GiB or more.";

    EXPECTED = "P0001": "Something else must stand here by the grammar of PTX.";
    EXPECTED_OPERAND = "P0002": "An instruction's operand must stand here: a register, a name, a constant, `[address]`, `{vector}` or `(list)`.";
    EXPECTED_EXPRESSION = "P0003": "A constant expression must stand here.";
    MISSING_SEMICOLON = "P0004": "A statement that must end with `;` does not.";
    EMPTY_STATEMENT = "P0005": "A `;` by itself. PTX has no empty statement.";
    UNKNOWN_DIRECTIVE = "P0006": "A directive that PTX does not have.";
    MISPLACED_DIRECTIVE = "P0007": "A directive that is not allowed at this level: inside a function, outside of one, or without its label.";
    UNKNOWN_INSTRUCTION = "P0008": "An opcode with modifiers that no form of the instruction table has.";
    MISPLACED_GUARD = "P0009": "Only an instruction can be guarded by `@p`: not a block, a label or a directive.";
    TOO_DEEP = "P0010": "Blocks, braces, brackets or constant expressions nested more than 200 deep.";
    TOO_MANY_ERRORS = "P0011": "After 1000 errors, further ones are not reported.";
    UNCLOSED_BLOCK = "P0012": "A `{` without its `}`.";
    STRAY_BRACE = "P0013": "A `}` without its `{`.";
    SUBTRACTED_OFFSET = "P0014": "An address has its offset added, never subtracted: `[a+-8]`.";
    DUPLICATE_SPECIFIER = "P0015": "A declaration names its state space, type, alignment, vector size or linkage twice.";
    MISSING_SPECIFIER = "P0016": "A declaration without a state space or without a type.";
    MISORDERED_SPECIFIER = "P0017": "The type comes last in a declaration, before the name; linkage comes first.";
    UNKNOWN_SELECTOR = "P0018": "The part after the dot of an operand is not `.x .y .z .w .r .g .b .a`, nor bytes `.b0`, nor half words `.h1`.";
    UNKNOWN_ATTRIBUTE = "P0019": "An attribute other than `.managed` and `.unified(upper, lower)`.";
    NUMBER_OUT_OF_RANGE = "P0020": "A number that its directive has no room for.";
    TRAILING_COMMA = "P0021": "A comma with nothing after it.";
    OUTSIDE_FUNCTION = "P0022": "An instruction or a label outside a function.";
    MALFORMED_VERSION = "P0023": "`.version` takes a major and a minor number with a dot between.";
}

#[cfg(test)]
mod tests {
    use super::CATALOGUE;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(CATALOGUE.is_sorted_by(|a, b| a.0 < b.0));
    }
}
