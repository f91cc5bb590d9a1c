//! `warploom abi layout`: where the members of structures and unions lie.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use ::abi::data::{Record, Side, Target, Type, picture, svg};
use serde_json::{Value, json};
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
        let all = records.iter().map(|record| {
            let mut value = value(record, target);
            value["nvcc_device_differs"] = differs(record).into();
            value
        });
        terminal::json(&all.collect())?;
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
    fn inner(ty: &Type) -> Option<&Record> {
        match ty {
            Type::Record(record) => Some(record),
            Type::Array(element, _) | Type::Aligned(element, _) => inner(element),
            _ => None,
        }
    }
    let within = a.members().iter().zip(b.members());
    a.layout() == b.layout()
        && within.into_iter().all(|(a, b)| match (inner(&a.ty), inner(&b.ty)) {
            (Some(a), Some(b)) => alike(a, b),
            _ => true,
        })
}

fn value(record: &Record, target: Target) -> Value {
    let members = record.members().iter().zip(&record.layout().places).map(|(member, place)| {
        let mut value = json!({ "name": member.name, "type": member.ty.to_string(), "offset": place.byte() });
        match member.bits {
            Some(bits) => {
                value["bit"] = place.bit.into();
                value["bits"] = bits.into();
            }
            None => value["size"] = (place.bits / 8).into(),
        }
        if let Type::Record(inner) = &member.ty {
            value["members"] = self::value(inner, target)["members"].take();
        }
        value
    });
    json!({
        "name": record.name(),
        "kind": record.kind().keyword(),
        "address_size": target.host.address_size(),
        "size": record.layout().size,
        "align": record.layout().align,
        "members": members.collect::<Vec<_>>(),
    })
}
