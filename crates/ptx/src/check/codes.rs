//! The catalogue of check diagnostics (`C`): instructions and directives.

crate::diagnostic::catalogue! {
    OPERAND_COUNT = "C0101": "An instruction has more or fewer operands than its form.";
    OPERAND_KIND = "C0102": "An operand of the wrong kind: a constant where a register is needed, a name where an address is needed, and so on.";
    SINK = "C0103": "`_` stands where a result cannot be dropped or a source is needed.";
    NEGATION = "C0104": "`!p` stands where a predicate cannot be negated.";
    OUT_OF_RANGE = "C0105": "A constant outside of what the instruction takes.";
    SPECIAL_REGISTER = "C0106": "Special registers can only be read, by `mov` and `cvt`.";

    OPERAND_TYPE = "C0201": "A register whose type the instruction type does not accept: sizes must agree, floating-point types too; `.bX` agrees with anything of its size.";
    CONSTANT_TYPE = "C0202": "A constant of the wrong kind: an integer where floating point is needed, or the other way around.";
    GUARD_TYPE = "C0203": "A guard is a predicate register.";
    VECTOR_LENGTH = "C0204": "A vector operand with more or fewer elements than the instruction takes.";
    VECTOR_ELEMENTS = "C0205": "The elements of a vector operand are registers or constants of one size, at least one of them not `_`.";

    STATE_SPACE = "C0301": "A variable that is not in the state space of the instruction. Generic addressing reaches `.global`, `.shared` and `.local` variables.";
    ADDRESS_REGISTER = "C0302": "The base of an address is an integer or untyped register of the address's size.";
    ABSOLUTE_ADDRESS = "C0303": "An address that is a constant alone, which only `.local` has.";
    PARAMETER_DIRECTION = "C0304": "Input parameters are only read, return parameters only written.";
    PARAMETER_ADDRESS = "C0305": "The address of a `.param` variable of a call cannot be taken.";

    MISALIGNED = "C0306": "A warning: an access whose address is certainly not a multiple of its size, which traps when it is executed.";

    CALL_TARGET = "C0401": "A call names a device function, or a register and a prototype or a list of targets.";
    CALL_ARITY = "C0402": "A call passes more or fewer arguments or results than the callee has.";
    CALL_ARGUMENT = "C0403": "An argument or result whose type, size or alignment is not the formal parameter's.";

    NEEDS_VERSION = "C0501": "Something that a later PTX version introduced than `.version` names.";
    NEEDS_TARGET = "C0502": "Something that the target architecture lacks.";

    DIRECTIVE_VALUE = "C0601": "A directive's value is outside of its range.";
    DIRECTIVE_CONFLICT = "C0602": "Two directives that exclude one another, or one that needs another.";
    DIRECTIVE_PLACE = "C0603": "A directive that this kind of function cannot have.";
    DIRECTIVE_IGNORED = "C0604": "A directive without effect.";
    LOCATION = "C0605": "A `.loc` whose file or line is out of range.";
}
