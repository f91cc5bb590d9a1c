//! The catalogue of resolution diagnostics (`R`): names, constants, variables, functions.

crate::diagnostic::catalogue! {
    UNKNOWN_NAME = "R0101": "A name that nothing visible here declares. Names must be declared before they are used; only labels may be used first.";
    DUPLICATE_NAME = "R0102": "A name is declared twice in one scope. An inner scope may declare it again.";
    NO_SELECTION = "R0104": "A `.x .y .z .w` on something that is not a vector.";
    NOT_A_VALUE = "R0105": "A name that is no register, constant or address stands where a value is needed.";

    MISSING_VERSION = "R0201": "A module begins with `.version`.";
    MISSING_TARGET = "R0202": "`.target` with an architecture follows `.version`.";
    UNSUPPORTED_VERSION = "R0203": "A `.version` that does not exist, or a later major number than this tool knows.";
    UNKNOWN_TARGET = "R0204": "A `.target` word that is neither an architecture nor an option.";
    CONFLICTING_TARGET = "R0205": "Two words of `.target` that exclude one another, or an option that the architecture lacks.";
    TARGET_NEEDS_VERSION = "R0206": "The architecture was introduced by a later PTX version than `.version` names.";
    ADDRESS_SIZE = "R0207": "`.address_size` is 64 on sm_90 and later, 32 or 64 before, and stands once, after `.target`.";
    NEWER_VERSION = "R0208": "A `.version` newer than this tool: the module is read, but an instruction that the version adds is unknown.";

    CONSTANT_ERROR = "R0301": "A constant expression without a value: a division by zero, or an operator that does not take such operands.";
    EXPECTED_INTEGER = "R0302": "An integer constant must stand here.";
    ALIGNMENT = "R0303": "An alignment is a power of two; of parameters of device functions and calls, at most 128.";
    DIMENSION = "R0304": "An array dimension is a positive integer; only the first may be left out, and only where an initialiser or `.extern` supplies it.";
    TOO_LARGE = "R0305": "A variable, a parameter list or a state space exceeds what the architecture can address.";
    SPACE_NOT_HERE = "R0306": "Variables of this state space cannot be declared at this place.";
    VARIABLE_TYPE = "R0307": "A variable of this type cannot be in this state space.";
    LINKAGE = "R0308": "A linkage directive that does not go with this declaration or with an earlier one.";
    ATTRIBUTE = "R0309": "An attribute that this declaration cannot have.";
    INCOMPATIBLE_REDECLARATION = "R0310": "A later declaration disagrees with an earlier one.";
    PARAMETERISED = "R0311": "A parameterised name `r<n>` with too many members, or where one name is needed.";
    VECTOR_TYPE = "R0312": "A vector has 2 or 4 elements of a fundamental type and at most 128 bits; parameters are no vectors.";

    NO_INITIALISER_HERE = "R0401": "Only `.global` and `.const` variables that are not external have initial values.";
    INITIALISER_TYPE = "R0402": "An initial value that cannot be of the variable's type.";
    INITIALISER_SHAPE = "R0403": "The braces of an initialiser do not fit the array dimensions.";
    INITIALISER_SYMBOL = "R0404": "An initialiser may name functions and `.global` or `.const` variables that were declared before it.";
    INITIALISER_MASK = "R0405": "The mask of `mask(symbol)` is `0xFF` shifted by a multiple of 8 bits.";

    DUPLICATE_FUNCTION = "R0501": "A function is defined twice.";
    ENTRY_PARAMETER = "R0502": "A parameter that an entry or function cannot have.";
    RETURN_PARAMETER = "R0503": "Return parameters: one in `.param` space, or registers.";
    ALIAS = "R0504": "`.alias` joins a declared function without a body to a defined device function of the same signature.";
    NEVER_DEFINED = "R0505": "A function that is declared without `.extern` must be defined in the same module, or be an alias.";
    TABLE_TARGET = "R0506": "A target of `.branchtargets` is a label of this function, a target of `.calltargets` a device function.";
}
