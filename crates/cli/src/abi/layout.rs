//! `warploom abi layout`: where the members of structures and unions lie.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use ::abi::data::{Record, Side, Target, Type, picture, svg};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;

const EXAMPLES: &str = "\
Examples:
  warploom abi layout types.h
  warploom abi layout --m32 --type packet types.h
  gcc -E -P program.h | warploom abi layout - --json
  warploom abi layout types.h --svg types.svg";

/// Show offsets, padding and bits of the structures and unions of a C header.
///
/// The layouts are those of the PTX ABI, which gcc, clang and nvcc share. CUDA's vector types and the names of
/// <stdint.h> are known; nothing is included or preprocessed but plain constants and #ifdef.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Arguments {
    /// C declarations; `-` is standard input
    file: PathBuf,
    #[command(flatten)]
    of: super::For,
    /// Only the structure or union with this name
    #[arg(long = "type", value_name = "NAME")]
    name: Option<String>,
    /// Also write the pictures to a file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let source = input::read(&arguments.file)?;
    let target = arguments.of.target();
    let read = |target| {
        let mut records = super::declarations(source.name(), source.text(), target)?.records;
        if let Some(name) = &arguments.name {
            records.retain(|record| record.name() == Some(name));
        }
        Ok::<_, Failure>(records)
    };
    let records = read(target)?;
    if records.is_empty() {
        let message = match &arguments.name {
            Some(name) => format!("{} has no structure or union `{name}`", source.name()),
            None => format!("{} has no structures and no unions", source.name()),
        };
        return Err(Failure::usage(message));
    }
    let other = if target.side == Side::Gnu { Side::NvccDevice } else { Side::Gnu };
    let otherwise = read(Target { side: other, ..target })?;
    let differing: Vec<&Rc<Record>> =
        records.iter().zip(&otherwise).filter(|(a, b)| !alike(a, b)).map(|(a, _)| a).collect();
    if let Some(path) = &arguments.svg {
        let drawing = svg::drawing(records.iter().map(|record| &**record));
        std::fs::write(path, drawing)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
    }
    if arguments.json {
        let differs = |record: &Rc<Record>| differing.iter().any(|other| Rc::ptr_eq(record, other));
        let mut budget = MAX_MEMBERS;
        let all = records.iter().map(|record| {
            let mut value = value(record, target, &mut budget)?;
            value["nvcc_device_differs"] = differs(record).into();
            Some(value)
        });
        let all: Option<Value> = all.collect::<Option<Vec<_>>>().map(Value::Array);
        let too_many =
            || Failure::usage(format!("more than {MAX_MEMBERS} members")).hint("name one with --type");
        terminal::json(&all.ok_or_else(too_many)?)?;
    } else {
        let texts: Vec<_> = records.iter().map(|record| picture::text(record, target)).collect();
        terminal::result(&texts.join("\n"))?;
        for record in differing {
            terminal::note(&format!(
                "warning: nvcc's device side and GNU C lay `{}` out differently: each has its own rules for what is packed",
                record.title()
            ));
        }
    }
    Ok(Exit::Ok)
}

/// Whether two readings of one declaration have one layout, that of what is within included.
fn alike(a: &Record, b: &Record) -> bool {
    fn inner(ty: &Type) -> Option<&Rc<Record>> {
        match ty {
            Type::Record(record) => Some(record),
            Type::Array(element, _) | Type::Aligned(element, _) => inner(element),
            _ => None,
        }
    }
    let mut seen = HashSet::new();
    let mut open = vec![(a, b)];
    while let Some((a, b)) = open.pop() {
        if a.layout() != b.layout() {
            return false;
        }
        for (a, b) in a.members().iter().zip(b.members()) {
            // A structure that occurs often is looked at once.
            if let (Some(a), Some(b)) = (inner(&a.ty), inner(&b.ty))
                && seen.insert(Rc::as_ptr(a))
            {
                open.push((&**a, &**b));
            }
        }
    }
    true
}

/// The most members that are listed, those of structures within counted each time.
const MAX_MEMBERS: usize = 100_000;

fn value(record: &Record, target: Target, budget: &mut usize) -> Option<Value> {
    let mut members = Vec::new();
    for (member, place) in record.members().iter().zip(&record.layout().places) {
        *budget = budget.checked_sub(1)?;
        let mut value = json!({ "name": member.name, "type": member.ty.to_string(), "offset": place.byte() });
        match member.bits {
            Some(bits) => {
                value["bit"] = place.bit.into();
                value["bits"] = bits.into();
            }
            None => value["size"] = (place.bits / 8).into(),
        }
        if let Type::Record(inner) = &member.ty {
            value["members"] = self::value(inner, target, budget)?["members"].take();
        }
        members.push(value);
    }
    Some(json!({
        "name": record.name(),
        "kind": record.kind().keyword(),
        "address_size": target.host.address_size(),
        "size": record.layout().size,
        "align": record.layout().align,
        "members": members,
    }))
}
