//! `distances [--each] TABLE.latency FILE.cubin...`: the fewest cycles, by stall counts, that code leaves between who writes a register and who reads
//! it, by the classes of a table, as rows of such a table. Of code that a compiler made which knows its device, no device needs more.
//!
//! With `--each` producers are mnemonics, so that those of a class can be compared.
//!
//! A row ends with how often it was seen. Within straight code alone: where control may come from elsewhere everything is forgotten.

use cubin::elf::Elf;
use sass::effects::Register;
use sass::hazards::Reader;
use sass::latency::{Class, Consumer, Latencies};
use sass::{Arch, Flow, Guard};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;

/// Bytes of an instruction.
const WORD: usize = 16;

/// Who wrote a register: of which class, when, under which guard.
struct Writer {
    class: Class,
    head: String,
    at: u32,
    guard: Option<Guard>,
}

/// The fewest cycles for each pair, and how often it was seen.
type Rows = BTreeMap<(String, String), (u32, usize)>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: distances [--each] TABLE.latency FILE.cubin...";
    let mut path = arguments.next().ok_or(usage)?;
    let each = path == "--each";
    if each {
        path = arguments.next().ok_or(usage)?;
    }
    let text: &'static str = Box::leak(std::fs::read_to_string(&path)?.into_boxed_str());
    let table = Latencies::read(text).map_err(|line| format!("{path}:{line}: not understood"))?;
    let mut rows = Rows::new();
    let mut unknown = BTreeSet::new();
    for path in arguments {
        let bytes = std::fs::read(&path)?;
        let elf = Elf::parse(&bytes)?;
        let arch = Arch::from_number(cubin::read::Program::new(&elf).architecture().sm);
        let arch = arch.ok_or("a device whose instructions are not known")?;
        for number in 1..elf.sections.len() as u32 {
            if elf.section_name(number)?.starts_with(b".text.") {
                follow(arch, elf.section(number)?.data(), &table, each, &mut rows, &mut unknown);
            }
        }
    }
    for ((producer, consumer), (cycles, seen)) in rows {
        println!("latency {producer} {consumer} {cycles} ptxas # {seen}");
    }
    println!("# of no class: {}", unknown.into_iter().collect::<Vec<_>>().join(" "));
    Ok(())
}

/// Follows a section from instruction to instruction.
fn follow(
    arch: Arch,
    code: &[u8],
    table: &Latencies,
    each: bool,
    rows: &mut Rows,
    unknown: &mut BTreeSet<String>,
) {
    let (words, _) = code.as_chunks::<WORD>();
    let decoded = (0..).step_by(WORD).zip(words);
    let all: Vec<_> = decoded
        .filter_map(|(at, word)| Some((at, sass::decode(arch, u128::from_le_bytes(*word))?)))
        .collect();
    let targets: BTreeSet<u64> = all.iter().filter_map(|(at, one)| one.target(*at)).collect();
    let mut reader = Reader::new(table);
    let mut writers: HashMap<Register, Writer> = HashMap::new();
    let mut now = 0;
    for (at, one) in &all {
        if targets.contains(at) {
            writers.clear();
        }
        let issue = reader.issue(one, *at);
        let mut text = String::new();
        one.print(*at, &mut text);
        let head = sass::Instruction::head(&text).to_owned();
        let guard = one.guard();
        for register in issue.effects.reads.iter() {
            let Some(writer) = writers.get(&register) else { continue };
            let opposite =
                |it: &Guard| guard.is_some_and(|own| own.name == it.name && own.negated != it.negated);
            if writer.guard.as_ref().is_some_and(opposite) {
                continue;
            }
            let named = |class| match class {
                Some(class) => table.name(class).unwrap_or("variable").to_owned(),
                None => format!("any({})", head.split('.').next().unwrap_or(&head)),
            };
            let consumer = match issue.consumer(register) {
                Consumer::Guard => "guard".to_owned(),
                Consumer::Predicate(class) => format!("predicate({})", named(class)),
                Consumer::Class(class) => named(class),
            };
            let producer = match each {
                true => writer.head.clone(),
                false => table.name(writer.class).unwrap_or_default().to_owned(),
            };
            let cycles = now - writer.at + issue.late(register);
            let row = rows.entry((producer, consumer)).or_insert((cycles, 0));
            *row = (row.0.min(cycles), row.1 + 1);
        }
        for register in issue.effects.writes.iter() {
            match issue.class {
                // Of a pair the lower half, as in the tables.
                Some(class @ Class::Fixed(_))
                    if issue.control.write_scoreboard.is_none() && issue.written_late(register) == 0 =>
                {
                    writers.insert(register, Writer { class, head: head.clone(), at: now, guard });
                }
                Some(_) => drop(writers.remove(&register)),
                None => {
                    unknown.insert(head.split('.').next().unwrap_or(&head).to_owned());
                    writers.remove(&register);
                }
            }
        }
        now += u32::from(issue.control.cycles());
        if one.flow() != Flow::Next && one.flow() != Flow::Wait && guard.is_none() {
            writers.clear();
        }
    }
}
