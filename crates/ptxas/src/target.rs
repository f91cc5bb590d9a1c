//! The devices that code is made for. What differs between them is data: the [numbers](Device) that code names, the instructions that the
//! tables of `sass` have, and the features that PTX grants.

use ptx::types::{Arch, ArchVariant};
use sass::device::{Clusters, Device};
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// A device that code is made for.
#[derive(Clone, Copy)]
pub struct Target(&'static Device);

impl Target {
    /// The device of an instruction set, if code is made for it.
    #[must_use]
    pub fn of(arch: sass::Arch) -> Option<Self> {
        Device::of(arch).map(Self)
    }

    /// All that code is made for, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        Device::ALL.into_iter().map(Self)
    }

    /// The number in `sm_90`.
    pub fn sm(self) -> u32 {
        self.0.arch.number()
    }

    /// PTX that says to be for this device, whichever it is for, and of a version that knows it.
    #[must_use]
    pub fn declared(self, ptx: &str) -> String {
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            match (words.next(), words.next()) {
                (Some(".target"), _) => match line.split_once(',') {
                    Some((_, options)) => format!(".target {self},{options}\n"),
                    None => format!(".target {self}\n"),
                },
                (Some(".version"), Some(version)) if self.sm() >= BLACKWELL && is_older(version) => {
                    format!(".version {}.{}\n", KNOWS_BLACKWELL.0, KNOWS_BLACKWELL.1)
                }
                _ => format!("{line}\n"),
            }
        };
        ptx.lines().map(line).collect()
    }

    /// The target as PTX names it, with all that it has.
    pub(crate) fn ptx(self) -> Arch {
        Arch { sm: self.sm() as u16, variant: ArchVariant::Specific }
    }

    /// Where constant bank 0 tells of clusters.
    pub(crate) fn clusters(self) -> Option<&'static Clusters> {
        self.0.clusters.as_ref()
    }

    /// Whether all lanes of a warp can take a branch if one of them would.
    pub(crate) fn has_uniform_branches(self) -> bool {
        self.takes("BRA.U.ANY 0x100")
    }

    /// Whether it has an instruction, by its mnemonic without modifiers.
    pub(crate) fn has(self, mnemonic: &str) -> bool {
        self.0.arch.has(mnemonic)
    }
}

/// The first device that PTX knows from this version on, with all that come after it.
const BLACKWELL: u32 = 100;
const KNOWS_BLACKWELL: (u32, u32) = (8, 7);

fn is_older(version: &str) -> bool {
    let mut numbers = version.split('.').map(|it| it.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < KNOWS_BLACKWELL
}

impl Default for Target {
    fn default() -> Self {
        Self::of(sass::Arch::Sm90).unwrap_or(Self(Device::ALL[0]))
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = || Self::all().map(|it| it.to_string()).collect::<Vec<_>>().join(", ");
        let known = text.parse().ok().and_then(Self::of);
        known.ok_or_else(|| format!("code is made for {}", all()))
    }
}

impl Deref for Target {
    type Target = Device;

    fn deref(&self) -> &Device {
        self.0
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.0.arch == other.0.arch
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.arch.fmt(f)
    }
}
