//! The catalogue of what a module does that the ABI does not allow (`A`).

macro_rules! catalogue {
    ($($name:ident = $code:literal: $explanation:literal;)*) => {
        $(#[doc = $explanation] pub const $name: &str = $code;)*

        /// Every code with its explanation.
        pub const CATALOGUE: &[(&str, &str)] = &[$(($code, $explanation)),*];
    };
}

catalogue! {
    NARROW_REGISTER = "A0101": "A `.reg` parameter has at least 32 bits.";
    SHORT_PARAMETER = "A0102": "A function's parameters and results have at least 32 bits: shorter integers are extended by who passes them, and 16-bit floats are only for storage. Kernels may have shorter parameters.";
    GUARDED = "A0201": "The `st.param` and `ld.param` of a call are executed without a guard.";
    STORE_PLACE = "A0202": "Arguments are stored directly before the call that passes them: in its block, with no other call between.";
    LOAD_PLACE = "A0203": "Results are loaded directly behind the call that returns them: in its block, with no other call between.";
    SYSTEM_CALL = "A0301": "The driver has `vprintf`, `malloc`, `free` and `__assertfail`; a declaration of one has its parameters, whose pointers and sizes are as wide as addresses.";
    VERSION = "A0401": "PTX before 2.0 has no ABI: its functions cannot be called by others.";
    EXCEPTION = "A0501": "Device code has no exceptions: nothing throws, catches or unwinds.";
    RTTI = "A0502": "Device code has no run-time type information: no `typeid`, no `dynamic_cast`.";
    GLOBAL_CONSTRUCTOR = "A0503": "Nothing runs before a kernel or after it: device code has no constructors and destructors of global or static objects.";
    HOST_VTABLE = "A0504": "A warning: a table of virtual functions that another module defines. That of the host is of no use to a device: objects with virtual functions are constructed where these are called.";
}

/// The explanation of a code.
pub fn explain(code: &str) -> Option<&'static str> {
    CATALOGUE.iter().find(|(known, _)| *known == code).map(|(_, explanation)| *explanation)
}
