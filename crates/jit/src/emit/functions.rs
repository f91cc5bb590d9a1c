//! Functions for a row that instructions call, from `functions.ll` and `double.ll`.

use super::Emitter;
use super::text::Kind;
use super::values::Lanes;
use std::collections::BTreeSet;
use std::fmt::Write;

const TEXT: &str = concat!(include_str!("functions.ll"), "\n", include_str!("double.ll"));

impl Emitter<'_> {
    /// Calls a function with some values; what the lanes have in common it computes for all of them.
    pub(crate) fn call(&mut self, name: &'static str, sources: &[Lanes]) -> Lanes {
        let bits = sources.first().map_or(32, |source| source.bits);
        self.call_for(name, sources, bits)
    }

    /// The same for a result of other bits than the operands.
    pub(crate) fn call_for(&mut self, name: &'static str, sources: &[Lanes], bits: u32) -> Lanes {
        *self.functions.entry(name).or_default() += 1;
        let int = self.text.int(bits, Kind::Vector);
        let argument = |e: &mut Self, source: &Lanes| {
            let (ty, vector) = (e.text.int(source.bits, Kind::Vector), e.vector(source));
            format!("{ty} {vector}")
        };
        let arguments: Vec<String> = sources.iter().map(|source| argument(self, source)).collect();
        let result = self.text.value(&format!("call {int} @{name}({})", arguments.join(", ")));
        match sources.iter().all(Lanes::is_uniform) {
            true => Lanes::uniform(bits, self.text.value(&format!("extractelement {int} {result}, i32 0"))),
            false => Lanes::varying(bits, result),
        }
    }

    /// The definitions of the functions that are called, and of what they call and read.
    pub(crate) fn definitions(&mut self) -> String {
        let width = self.rows.width;
        let mut text: String = self.updates.iter().map(|update| update.definition(width)).collect();
        if !self.updates.is_empty() {
            self.intrinsic("declare i32 @llvm.cttz.i32(i32, i1)");
        }
        let mut pending: Vec<&str> = self.functions.keys().copied().collect();
        let mut known: BTreeSet<&str> = pending.iter().copied().collect();
        while let Some(name) = pending.pop() {
            let Some(definition) = definition(name) else { continue };
            for used in definition.split('@').skip(1) {
                let end = used.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '$'));
                let used = &used[..end.unwrap_or(used.len())];
                if known.insert(used) {
                    pending.push(used);
                }
            }
            // In its place it leaves the registers of the place alone; what is called often would be too much text.
            let definition = match self.functions.get(name) {
                Some(1..=2) => definition.replacen(" noinline ", " alwaysinline ", 1),
                _ => definition.to_owned(),
            };
            text += &expanded(&definition, self.rows.width);
        }
        for declaration in TEXT.lines().filter(|line| line.starts_with("declare")) {
            let used = |name: &&&str| declaration.contains(&format!("@{name}("));
            if known.iter().find(used).is_some() {
                let declaration = expanded(declaration, self.rows.width);
                self.intrinsic(declaration.trim_end());
            }
        }
        text
    }
}

/// The definition of a function.
fn definition(name: &str) -> Option<&'static str> {
    let head = format!("@{name}(");
    let mut definitions = TEXT.split("\ndefine ").skip(1);
    let found = definitions.find(|text| text.lines().next().is_some_and(|line| line.contains(&head)))?;
    found.find("\n}\n").map(|end| &found[..end + 3])
}

/// Types and constants for rows of some width.
fn expanded(text: &str, width: u32) -> String {
    let element = |ty: &str| match ty {
        "f16" => "half".to_owned(),
        "f32" => "float".to_owned(),
        "f64" => "double".to_owned(),
        "p" => "ptr".to_owned(),
        int => int.to_owned(),
    };
    let mut out = String::new();
    if text.starts_with("internal") {
        out += "define ";
    }
    let mut rest = text;
    while let Some(at) = rest.find(['$', '#']) {
        out += &rest[..at];
        let is_type = rest.as_bytes()[at] == b'$';
        rest = &rest[at + 1..];
        let end = |text: &str, more: &str| {
            text.find(|c: char| !c.is_ascii_alphanumeric() && !more.contains(c)).unwrap_or(text.len())
        };
        if is_type {
            // The width stands in names, too.
            if let Some(behind) = rest.strip_prefix('n') {
                let _ = write!(out, "{width}");
                rest = behind;
                continue;
            }
            let end = end(rest, "");
            let _ = write!(out, "<{width} x {}>", element(&rest[..end]));
            rest = &rest[end..];
        } else {
            let end = end(rest, ":.-");
            let (ty, value) = rest[..end].split_once(':').unwrap_or((&rest[..end], "0"));
            let lane = format!("{} {}", element(ty), literal(ty, value));
            let _ = write!(out, "<{}>", vec![lane; width as usize].join(", "));
            rest = &rest[end..];
        }
    }
    out + rest + "\n"
}

/// A constant as LLVM writes it.
fn literal(ty: &str, value: &str) -> String {
    match (value.strip_prefix("0x"), ty) {
        // Of a float these are the bits.
        (Some(_), "f32" | "f64") | (None, _) => value.to_owned(),
        (Some(digits), "i32") => (u32::from_str_radix(digits, 16).unwrap_or_default() as i32).to_string(),
        (Some(digits), _) => (u64::from_str_radix(digits, 16).unwrap_or_default() as i64).to_string(),
    }
}
