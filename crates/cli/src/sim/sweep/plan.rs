//! What a sweep is of: kernels in several sizes, on several devices, with several values of their parameters. A point is one of each, and
//! has a number.

use super::super::launch::{self, Code, Shape};
use crate::failure::Failure;
use crate::run::request::Extents;
use ptxas::Tuning;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use sim::Device;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

/// Points of a plan, at most.
const POINTS: u64 = 1 << 24;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "h100")]
    device: Vec<String>,
    kernel: Vec<Kernel>,
    #[serde(default)]
    set: BTreeMap<String, Vec<u64>>,
}

fn h100() -> Vec<String> {
    vec!["h100".to_owned()]
}

/// A kernel with its sizes. In its texts `{n}` is the size of that name; products and quotients, which are rounded up, may stand there
/// too: `{n/256}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    file: String,
    kernel: Option<String>,
    #[serde(default = "one")]
    grid: String,
    block: String,
    #[serde(default = "alone")]
    cluster: u32,
    #[serde(default)]
    shared: u32,
    #[serde(default)]
    own_code: bool,
    #[serde(default)]
    max_instructions: Option<u64>,
    #[serde(default)]
    sample: Option<u64>,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    sizes: BTreeMap<String, Vec<u64>>,
}

fn alone() -> u32 {
    1
}

fn one() -> String {
    "1".to_owned()
}

/// A plan whose files have been read.
pub(super) struct Plan {
    kernels: Vec<(Kernel, Code, String)>,
    devices: Vec<(String, Device)>,
    set: BTreeMap<String, Vec<u64>>,
    /// All names of sizes.
    pub(super) sizes: Vec<String>,
    /// Of the plan and all that it names.
    pub(super) digest: String,
    pub(super) points: u64,
}

/// One of each.
pub(super) struct Point<'a> {
    pub(super) file: &'a str,
    pub(super) kernel: &'a str,
    pub(super) device: &'a str,
    pub(super) sizes: BTreeMap<&'a str, u64>,
    /// In the order of [`Plan::changes`].
    pub(super) set: Vec<u64>,
    pub(super) shape: Shape,
    pub(super) arguments: Vec<String>,
    pub(super) code: &'a Code,
    pub(super) changed: Device,
}

impl Plan {
    /// Reads a plan. Files that it names are looked for beside it.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let wrong = |why: String| Failure::usage(format!("{name}: {why}"));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let file: File = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let mut digest = Sha256::new();
        let mut add = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        add(text.as_bytes());
        let beside = |file: &str| path.parent().unwrap_or(Path::new("")).join(file);
        let mut devices = Vec::new();
        for name in file.device {
            let known = Device::names().any(|known| known.eq_ignore_ascii_case(&name));
            let place = if known { name.clone() } else { beside(&name).display().to_string() };
            let device = launch::device(&place)?;
            // What comes along may be another one in another version.
            add(format!("{device:?}").as_bytes());
            for (parameter, values) in &file.set {
                for value in values {
                    let change = format!("{parameter}={value}");
                    device.clone().set(&change).map_err(|error| wrong(error.to_string()))?;
                }
            }
            devices.push((name, device));
        }
        let mut kernels = Vec::new();
        for kernel in file.kernel {
            let place = beside(&kernel.file);
            add(&std::fs::read(&place).map_err(|error| wrong(format!("{}: {error}", place.display())))?);
            let code = Code::read(&place, kernel.kernel.as_deref(), kernel.own_code, Tuning::default())?;
            let chosen = code.kernel(kernel.kernel.as_deref())?.to_owned();
            kernels.push((kernel, code, chosen));
        }
        let sizes = kernels.iter().flat_map(|(kernel, ..)| kernel.sizes.keys().cloned());
        let sizes: std::collections::BTreeSet<_> = sizes.collect();
        let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut plan =
            Self { kernels, devices, set: file.set, sizes: sizes.into_iter().collect(), digest, points: 0 };
        let products = plan.kernels.iter().map(|(kernel, ..)| product(kernel.sizes.values()));
        let of_kernels = products.fold(0, u64::saturating_add);
        let changes = product(plan.set.values());
        plan.points = of_kernels.saturating_mul(changes).saturating_mul(plan.devices.len() as u64);
        match plan.points {
            0 => Err(wrong("has no point".to_owned())),
            points if points > POINTS => Err(wrong(format!("has more than {POINTS} points"))),
            _ => Ok(plan),
        }
    }

    /// The parameters that it changes.
    pub(super) fn changes(&self) -> impl Iterator<Item = &str> {
        self.set.keys().map(String::as_str)
    }

    /// The point of a number: kernels go slowest, then their sizes, then devices, then parameters.
    pub(super) fn point(&self, number: u64) -> Result<Point<'_>, Failure> {
        let mut rest = number;
        let mut digit = |count: usize| {
            let digit = rest % count as u64;
            rest /= count as u64;
            digit as usize
        };
        let mut set: Vec<u64> = self.set.values().rev().map(|values| values[digit(values.len())]).collect();
        set.reverse();
        let (device, as_it_is) = &self.devices[digit(self.devices.len())];
        let mut kernels = self.kernels.iter();
        let (kernel, code, chosen) = loop {
            let of = kernels.next().ok_or_else(|| Failure::usage("there is no such point"))?;
            let count = product(of.0.sizes.values());
            match rest.checked_sub(count) {
                Some(others) => rest = others,
                None => break of,
            }
        };
        let mut sizes = BTreeMap::new();
        for (name, values) in kernel.sizes.iter().rev() {
            sizes.insert(name.as_str(), values[(rest % values.len() as u64) as usize]);
            rest /= values.len() as u64;
        }
        let wrong = |why: String| Failure::usage(format!("{}, kernel {chosen}: {why}", kernel.file));
        let filled = |text: &str| filled(text, &sizes).map_err(wrong);
        let extents = |text: &str| Ok(filled(text)?.parse::<Extents>().map_err(wrong)?.0);
        let mut changed = as_it_is.clone();
        for (parameter, value) in self.set.keys().zip(&set) {
            let change = format!("{parameter}={value}");
            changed.set(&change).map_err(|error| Failure::usage(error.to_string()))?;
        }
        let shape = Shape {
            grid: extents(&kernel.grid)?,
            block: extents(&kernel.block)?,
            cluster: kernel.cluster,
            shared: kernel.shared,
            budget: kernel.max_instructions.unwrap_or(u64::MAX),
            waves: kernel.sample,
            // Points are modelled at once, each by one.
            threads: NonZeroUsize::MIN,
        };
        let arguments = kernel.arguments.iter().map(|text| filled(text)).collect::<Result<_, _>>()?;
        Ok(Point { file: &kernel.file, kernel: chosen, device, sizes, set, shape, arguments, code, changed })
    }
}

/// How many choices there are of one of each.
fn product<'a>(of: impl Iterator<Item = &'a Vec<u64>>) -> u64 {
    of.fold(1, |all: u64, values| all.saturating_mul(values.len() as u64))
}

/// A text with numbers in the place of what stands in braces.
fn filled(text: &str, sizes: &BTreeMap<&str, u64>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, behind) = after.split_once('}').ok_or_else(|| format!("`{text}` lacks a `}}`"))?;
        filled += before;
        filled += &number(inside, sizes)?.to_string();
        rest = behind;
    }
    Ok(filled + rest)
}

/// What a product or quotient of sizes and numbers is, from the left.
fn number(text: &str, sizes: &BTreeMap<&str, u64>) -> Result<u64, String> {
    let wrong = || format!("`{{{text}}}` is no size, nor a product or quotient of sizes and numbers");
    let factor = |name: &str| sizes.get(name.trim()).copied().or_else(|| name.trim().parse().ok());
    let end = |text: &str| text.find(['*', '/']).unwrap_or(text.len());
    let (first, mut rest) = text.split_at(end(text));
    let mut value = factor(first).ok_or_else(wrong)?;
    while !rest.is_empty() {
        let (operator, after) = rest.split_at(1);
        let (next, behind) = after.split_at(end(after));
        let by = factor(next).ok_or_else(wrong)?;
        let result =
            if operator == "*" { value.checked_mul(by) } else { (by > 0).then(|| value.div_ceil(by)) };
        value = result.ok_or_else(wrong)?;
        rest = behind;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::filled;
    use std::collections::BTreeMap;

    #[test]
    fn sizes_stand_in_texts() {
        let sizes = BTreeMap::from([("n", 1000), ("of_block", 256)]);
        let text = |text| filled(text, &sizes);
        assert_eq!(text("{n/of_block},2").as_deref(), Ok("4,2"));
        assert_eq!(text("zeros:f32[{n*n / 10}]").as_deref(), Ok("zeros:f32[100000]"));
        for wrong in ["{n", "{m}", "{}", "{n/0}", "{n*}", "{n*18446744073709551615}"] {
            assert!(text(wrong).is_err(), "{wrong}");
        }
    }
}
