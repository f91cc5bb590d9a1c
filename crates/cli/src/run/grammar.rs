//! The grammar of a kernel's arguments on the command line. docs/cli.md describes it for users.
//!
//! ```text
//! argument  = value { "," action }
//! value     = [ TYPE ":" ] NUMBER | "null" | "bytes:" HEX | "file:" PATH | "same:" PARAMETER [ "+" BYTES ] | buffer
//! buffer    = "in:" PATH [ ":" TYPE [ shape ] ] | "zeros:" TYPE shape | "fill:" TYPE shape "=" NUMBER
//!           | "range:" TYPE shape { ":start=" NUMBER | ":step=" NUMBER }
//!           | "random:" TYPE shape { ":seed=" N | ":lo=" NUMBER | ":hi=" NUMBER }
//!           | "list:" TYPE "[" NUMBER { "," NUMBER } "]"
//! shape     = "[" N { "x" N } "]"
//! action    = "print" [ ":" N ] [ ":hex" ] | "out:" PATH | "expect:" expected { ":abs=" X | ":rel=" X | ":ulp=" N }
//! expected  = PATH | "[" NUMBER { "," NUMBER } "]" | "zeros" | "fill=" NUMBER | "range" { ":start=" | ":step=" }
//! ```
//!
//! A comma ends a value or an action only where an action's name follows, so that paths and lists may have commas.

use super::element::{self, Element};
use super::fill::Fill;
use std::path::PathBuf;

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    pub(crate) value: Value,
    pub(crate) actions: Vec<Action>,
}

/// What a parameter gets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A number, of the parameter's type if none is named.
    Scalar { element: Option<Element>, number: String },
    /// A null pointer.
    Null,
    /// The parameter's bytes.
    Bytes(Vec<u8>),
    /// The parameter's bytes, in a file.
    File(PathBuf),
    /// A pointer into the buffer of another parameter, which has this name or number.
    Same { parameter: String, offset: u64 },
    /// A pointer to a buffer whose contents follow from its description.
    Generated { element: Element, shape: Vec<u64>, fill: Fill },
    /// A pointer to a buffer with the contents of a file; one that is not `.npy` needs a type.
    Input { path: PathBuf, element: Option<Element>, shape: Option<Vec<u64>> },
}

/// What to do with a buffer after the launch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Print the first elements.
    Print { limit: Option<u64>, hex: bool },
    /// Write a file.
    Output(PathBuf),
    /// Compare.
    Expect { expected: Expected, tolerance: Tolerance },
}

/// What a buffer should hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expected {
    /// What a file holds.
    File(PathBuf),
    /// These numbers, of the buffer's type.
    List(Vec<String>),
    /// The same number everywhere.
    Fill(String),
    /// A row of numbers.
    Range { start: Option<String>, step: Option<String> },
}

/// How far from the expected a value may be; it passes if one of the bounds lets it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tolerance {
    /// |value - expected| <= abs + rel * |expected|.
    pub(crate) abs: f64,
    pub(crate) rel: f64,
    /// Values between the two, plus one.
    pub(crate) ulp: u64,
}

/// The names of actions, each with what must follow it.
const ACTIONS: [(&str, &[char]); 3] = [("print", &[':', ',']), ("out", &[':']), ("expect", &[':'])];

/// Reads an argument.
pub(crate) fn parse(text: &str) -> Result<Argument, String> {
    if text.contains("=>") {
        return Err("actions follow a comma: `zeros:f32[64],print`".into());
    }
    let mut parts = split(text).into_iter();
    let value = value(parts.next().unwrap_or_default())?;
    Ok(Argument { value, actions: parts.map(action).collect::<Result<_, _>>()? })
}

/// The value and the actions.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(',') {
        let rest = &text[at + 1..];
        let begins = |(name, ends): &(&str, &[char])| {
            rest.strip_prefix(*name).is_some_and(|after| after.is_empty() || after.starts_with(*ends))
        };
        if ACTIONS.iter().any(begins) {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

fn value(text: &str) -> Result<Value, String> {
    if text == "null" {
        return Ok(Value::Null);
    }
    let Some((keyword, rest)) = text.split_once(':') else {
        return match text {
            "" => Err("an empty argument".into()),
            _ => Ok(Value::Scalar { element: None, number: text.into() }),
        };
    };
    match keyword {
        "bytes" => bytes(rest).map(Value::Bytes),
        "file" => path(rest).map(Value::File),
        "same" => same(rest),
        "in" => input(rest),
        "zeros" => {
            let (element, shape, rest) = typed_shape(rest)?;
            nothing_after(rest)?;
            Ok(Value::Generated { element, shape, fill: Fill::Zeros })
        }
        "fill" => {
            let (element, shape, rest) = typed_shape(rest)?;
            let number = rest.strip_prefix('=').ok_or("`fill` needs a number: `fill:f32[64]=1.5`")?;
            Ok(Value::Generated { element, shape, fill: Fill::Constant(element.parse(number)?) })
        }
        "range" => {
            let (element, shape, rest) = typed_shape(rest)?;
            let [start, step] = options(rest, ["start", "step"])?;
            Ok(Value::Generated { element, shape, fill: Fill::range(element, start, step)? })
        }
        "random" => {
            let (element, shape, rest) = typed_shape(rest)?;
            let [seed, lo, hi] = options(rest, ["seed", "lo", "hi"])?;
            Ok(Value::Generated { element, shape, fill: Fill::random(element, seed, lo, hi)? })
        }
        "list" => list(rest),
        name => match Element::from_name(name) {
            Some(element) => Ok(Value::Scalar { element: Some(element), number: rest.into() }),
            None => Err(format!(
                "`{name}:` is neither a kind of argument (in, zeros, fill, range, random, list, same, bytes, file) \
                 nor a type ({})",
                element::NAMES
            )),
        },
    }
}

fn same(text: &str) -> Result<Value, String> {
    let (parameter, offset) = text.split_once('+').unwrap_or((text, "0"));
    let offset = offset.parse().map_err(|_| format!("`{offset}` is not a number of bytes"))?;
    match parameter {
        "" => Err("`same:` needs the name or the number of a parameter".into()),
        _ => Ok(Value::Same { parameter: parameter.into(), offset }),
    }
}

fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<_> = hex.chars().filter(|c| *c != '_').map(|c| c.to_digit(16)).collect();
    let digits: Option<Vec<_>> = digits.into_iter().collect();
    let digits = digits.ok_or_else(|| format!("`{hex}` is not hexadecimal"))?;
    if digits.len() % 2 != 0 {
        return Err(format!("{} hexadecimal digits; a byte has two", digits.len()));
    }
    Ok(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() { Err("a file's name is missing".into()) } else { Ok(text.into()) }
}

/// A path, which may have colons, with a type only if one stands behind the last.
fn input(text: &str) -> Result<Value, String> {
    let typed = text.rsplit_once(':').filter(|(_, after)| {
        let name = after.split('[').next().unwrap_or_default();
        Element::from_name(name).is_some()
    });
    let Some((before, after)) = typed else {
        return Ok(Value::Input { path: path(text)?, element: None, shape: None });
    };
    let (element, shape) = match after.split_once('[') {
        None => (Element::from_name(after), None),
        Some(_) => {
            let (element, shape, rest) = typed_shape(after)?;
            nothing_after(rest)?;
            (Some(element), Some(shape))
        }
    };
    Ok(Value::Input { path: path(before)?, element, shape })
}

fn list(text: &str) -> Result<Value, String> {
    let (name, rest) = text.split_once('[').ok_or("`list` needs a type and numbers: `list:f32[1,2,3]`")?;
    let element = element(name)?;
    let numbers = rest.strip_suffix(']').ok_or("a list ends with `]`")?;
    let values =
        numbers.split(',').map(|number| element.parse(number.trim())).collect::<Result<Vec<_>, _>>()?;
    Ok(Value::Generated { element, shape: vec![values.len() as u64], fill: Fill::List(values) })
}

fn element(name: &str) -> Result<Element, String> {
    Element::from_name(name).ok_or_else(|| format!("`{name}` is not a type; there are {}", element::NAMES))
}

/// `f32[64x64]` and what follows.
fn typed_shape(text: &str) -> Result<(Element, Vec<u64>, &str), String> {
    let (name, rest) = text
        .split_once('[')
        .ok_or_else(|| format!("`{text}` is not a type with a number of elements, such as `f32[64]`"))?;
    let element = element(name)?;
    let (shape, rest) = rest.split_once(']').ok_or_else(|| format!("`{text}` has no `]`"))?;
    let extents = shape.split('x').map(|extent| match extent.replace('_', "").parse::<u64>() {
        Ok(extent) if extent > 0 => Ok(extent),
        _ => Err(format!("`{extent}` is not a number of elements")),
    });
    let shape = extents.collect::<Result<Vec<_>, _>>()?;
    let elements = shape.iter().try_fold(1_u64, |product, extent| product.checked_mul(*extent));
    match elements.and_then(|n| n.checked_mul(element.bytes() as u64)) {
        Some(bytes) if bytes < 1 << 48 => Ok((element, shape, rest)),
        _ => Err(format!("`{text}` is larger than any memory")),
    }
}

fn nothing_after(rest: &str) -> Result<(), String> {
    if rest.is_empty() { Ok(()) } else { Err(format!("`{rest}` has no meaning here")) }
}

/// `:name=value` for each of the names, in any order, each at most once.
fn options<'a, const N: usize>(text: &'a str, names: [&str; N]) -> Result<[Option<&'a str>; N], String> {
    let mut values = [None; N];
    let Some(options) = text.strip_prefix(':') else {
        return nothing_after(text).map(|()| values);
    };
    for option in options.split(':') {
        let known = option.split_once('=').and_then(|(name, value)| {
            names.iter().position(|known| *known == name).map(|index| (index, value))
        });
        let Some((index, value)) = known else {
            return Err(format!("`{option}` is not one of {}=...", names.join("=..., ")));
        };
        if values[index].replace(value).is_some() {
            return Err(format!("`{}` is given twice", names[index]));
        }
    }
    Ok(values)
}

fn action(text: &str) -> Result<Action, String> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    match (name, rest) {
        ("print", rest) => print(rest),
        ("out", Some(rest)) => path(rest).map(Action::Output),
        (_, Some(rest)) => expect(rest),
        _ => Err(format!("`{name}` needs something behind a colon")),
    }
}

fn print(rest: Option<&str>) -> Result<Action, String> {
    let (mut limit, mut hex) = (None, false);
    for option in rest.into_iter().flat_map(|rest| rest.split(':')) {
        match option.parse() {
            Ok(number) => limit = Some(number),
            Err(_) if option == "hex" => hex = true,
            Err(_) => return Err(format!("`print:{option}`: neither a number of elements nor `hex`")),
        }
    }
    Ok(Action::Print { limit, hex })
}

fn expect(text: &str) -> Result<Action, String> {
    let mut tolerance = Tolerance::default();
    let mut text = text;
    // Bounds stand behind a value that may have colons itself.
    while let Some((before, option)) = text.rsplit_once(':') {
        let Some((name, value)) = option.split_once('=') else { break };
        let bound = || match value.parse::<f64>() {
            Ok(bound) if bound >= 0.0 => Ok(bound),
            _ => Err(format!("`{value}` is not a tolerance")),
        };
        match name {
            "abs" => tolerance.abs = bound()?,
            "rel" => tolerance.rel = bound()?,
            "ulp" => {
                tolerance.ulp = value.parse().map_err(|_| format!("`{value}` is not a number of steps"))?;
            }
            _ => break,
        }
        text = before;
    }
    let expected = if let Some(list) = text.strip_prefix('[') {
        let numbers = list.strip_suffix(']').ok_or("a list ends with `]`")?;
        Expected::List(numbers.split(',').map(|number| number.trim().to_owned()).collect())
    } else if text == "zeros" {
        Expected::Fill("0".into())
    } else if let Some(number) = text.strip_prefix("fill=") {
        Expected::Fill(number.into())
    } else if let Some(rest) =
        text.strip_prefix("range").filter(|rest| rest.is_empty() || rest.starts_with(':'))
    {
        let [start, step] = options(rest, ["start", "step"])?.map(|o| o.map(str::to_owned));
        Expected::Range { start, step }
    } else {
        Expected::File(path(text)?)
    };
    Ok(Action::Expect { expected, tolerance })
}

#[cfg(test)]
mod tests;
