//! What stands around an instruction: how its registers start, and who reads them afterwards. It decides where the decoder
//! keeps them.

use std::fmt::Write;

/// What becomes of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    /// None is initialised, none is read afterwards.
    Nothing,
    /// All start as values of each thread's own, and are stored afterwards.
    Threads,
    /// All start as what a kernel parameter holds, and are stored afterwards.
    Uniform,
}

impl Around {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Nothing, Self::Threads, Self::Uniform];

    /// The text before and behind an instruction with registers of these types (`b32`, `pred`) and names. It needs a
    /// variable `in_global` and the kernel's `parameter`.
    pub(crate) fn text<'a>(
        self,
        registers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> (String, String) {
        let from = match self {
            Self::Nothing => return (String::new(), String::new()),
            Self::Threads => "ld.global.",
            Self::Uniform => "ld.param.",
        };
        let at = if self == Self::Threads { "[%own]" } else { "[parameter]" };
        let mut before = ".reg .b32 %word; .reg .b64 %own; mov.u32 %word, %tid.x; mov.b64 %own, in_global; \
             mad.wide.u32 %own, %word, 4, %own;\n"
            .to_owned();
        let mut after = String::new();
        for (ty, name) in registers {
            let bits = ty.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let _ = match ty {
                "pred" => {
                    let _ = writeln!(before, "{from}b32 %word, {at}; setp.ne.b32 {name}, %word, 0;");
                    writeln!(after, "@{name} st.global.b32 [in_global], 1;")
                }
                "b128" => {
                    let _ = writeln!(before, "{from}b64 %low, {at}; mov.b128 {name}, {{%low, %low}};");
                    writeln!(after, "st.global.b128 [in_global], {name};")
                }
                _ => {
                    let _ = writeln!(before, "{from}b{bits} {name}, {at};");
                    writeln!(after, "st.global.b{bits} [in_global], {name};")
                }
            };
        }
        if before.contains("%low") {
            before.insert_str(0, ".reg .b64 %low; ");
        }
        (before, after)
    }
}
