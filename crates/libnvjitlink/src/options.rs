//! The options of a link: `-arch=sm_90a`, and others of which only a few change anything here.

use crate::result::Error;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The architecture: compute capability times ten, and whether for that one alone.
    pub(crate) sm: u16,
    pub(crate) specific: bool,
    /// Whether NVVM's intermediate representation is to be linked.
    pub(crate) lto: bool,
}

/// Options that have an effect on machine code, time or messages alone.
const WITHOUT_EFFECT: [&str; 20] = [
    "-maxrregcount",
    "-time",
    "-verbose",
    "-ptx",
    "-O",
    "-g",
    "-lineinfo",
    "-ftz",
    "-prec-div",
    "-prec-sqrt",
    "-fma",
    "-kernels-used",
    "-variables-used",
    "-optimize-unused-variables",
    "-Xptxas",
    "-Xnvvm",
    "-split-compile",
    "-jump-table-density",
    "-no-cache",
    "-device-stack-protector",
];

impl Options {
    /// Reads them.
    pub(crate) fn read<'a>(options: impl Iterator<Item = &'a str>) -> Result<Self, Error> {
        let (mut arch, mut lto) = (None, false);
        for option in options {
            match option.strip_prefix("-arch=") {
                Some(name) => arch = Some(architecture(name).ok_or(Error::UNRECOGNIZED_ARCH)?),
                None if option == "-lto" => lto = true,
                None if matches!(option, "-r" | "-nvvm-latest") => {}
                None if WITHOUT_EFFECT.iter().any(|known| option.starts_with(known)) => {}
                None => return Err(Error::UNRECOGNIZED_OPTION),
            }
        }
        let (sm, specific) = arch.ok_or(Error::MISSING_ARCH)?;
        Ok(Self { sm, specific, lto })
    }
}

/// `sm_90a`, `sm_100f`, `compute_75`.
fn architecture(name: &str) -> Option<(u16, bool)> {
    let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
    let digits = number.trim_end_matches(['a', 'f']);
    (number.len() <= digits.len() + 1).then_some(())?;
    Some((digits.parse().ok()?, number.ends_with('a')))
}
