//! The catalogue of what can be wrong.

macro_rules! catalogue {
    ($($name:ident = $code:literal: $explanation:literal;)*) => {
        $(#[doc = $explanation] pub const $name: &str = $code;)*

        /// Every code with its explanation.
        pub const CATALOGUE: &[(&str, &str)] = &[$(($code, $explanation)),*];
    };
}

catalogue! {
    NOTHING = "K0001": "There is no module to link.";
    ADDRESS_SIZE = "K0002": "Modules with addresses of 32 and of 64 bits cannot be one module: pointers in the variables and parameters of one mean nothing to the other.";
    TARGET = "K0003": "No device runs all of the modules: a target such as `sm_90a` is for that architecture alone, one such as `sm_100f` for its family, and another module needs an architecture outside of that.";
    TEXTURE_MODE = "K0004": "Textures with their samplers (`texmode_unified`, the default) and textures with separate samplers (`texmode_independent`) are different modes, of which a module has one.";
    DUPLICATE = "K0005": "Two modules define a symbol of one name, and neither definition is `.weak`. A symbol that others need not see has no linkage directive; one that several modules define alike is `.weak`.";
    UNDEFINED = "K0006": "A module uses a symbol that it declares `.extern`, and no module defines it where others see it. A definition is seen by others if it is `.visible`, `.weak` or `.common`.";
    MISMATCH = "K0007": "Two modules mean different things by one name: a function and a variable, variables in different state spaces or of different sizes, or functions with different parameters.";
    CYCLE = "K0008": "The initialisers of variables name one another in a circle. Each module has a part of it; PTX cannot express the whole, since a variable must be declared before an initialiser names it, and is declared once.";
    COMMON = "K0009": "Of the definitions of a `.common` symbol at most one has an initialiser, and that is the largest.";
}

/// The explanation of a code.
pub fn explain(code: &str) -> Option<&'static str> {
    CATALOGUE.iter().find(|(known, _)| *known == code).map(|(_, explanation)| *explanation)
}
