//! Which lines the code of a launch is of, as its cubin says, and what they cost.

use super::page;
use cubin::elf::Elf;
use debug_info::machine_code::{Line as Place, LineTable, PTX_LINES, PTX_TEXT, SOURCE_LINES};
use reports::columns::{Column, Row};
use reports::findings::source_lines;
use sass_machine::{BYTES, Program};
use serde_json::{Value, json};
use sim::{Line, Report};
use std::collections::BTreeMap;

/// The lines of a cubin's code.
#[derive(Default)]
pub(super) struct Lines {
    sources: LineTable,
    ptx: LineTable,
    /// The PTX, if the cubin has it.
    text: Vec<String>,
}

impl Lines {
    /// Those of a cubin; none, if it says nothing of them.
    pub(super) fn read(cubin: &[u8]) -> Self {
        let Ok(elf) = Elf::parse(cubin) else { return Self::default() };
        let bytes =
            |name: &str| elf.find(name).and_then(|number| elf.section(number).ok()).map(|it| it.data());
        let table = |name: &str| match (elf.find(name), bytes(name)) {
            (Some(number), Some(bytes)) => LineTable::read(bytes, &elf.symbols_in(number)),
            _ => LineTable::default(),
        };
        let text = bytes(PTX_TEXT).map(|bytes| {
            bytes.split(|&byte| byte == 0).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
        });
        Self { sources: table(SOURCE_LINES), ptx: table(PTX_LINES), text: text.unwrap_or_default() }
    }

    fn of_ptx(&self, report: &Report) -> BTreeMap<u64, Line> {
        report.by(|address| Some(self.ptx.line(&report.kernel, address)?.line))
    }

    fn of_sources(&self, report: &Report) -> BTreeMap<Place, Line> {
        report.by(|address| self.sources.line(&report.kernel, address).cloned())
    }

    fn ptx_line(&self, line: u64) -> &str {
        let at = usize::try_from(line).unwrap_or(0).wrapping_sub(1);
        self.text.get(at).map_or("", |text| text.trim())
    }

    /// What lines cost, as tables.
    pub(super) fn tables(&self, report: &Report) -> String {
        let mut tables = String::new();
        let mut add = |heading: &str, lines: Vec<(String, Line)>| {
            if lines.iter().any(|(_, line)| line.warps > 0) {
                tables.push('\n');
                tables += &page::lines(report, heading, lines);
            }
        };
        let ptx = self.of_ptx(report).into_iter();
        add(
            "PTX",
            ptx.map(|(line, counts)| (format!("{line:5}  {}", self.ptx_line(line)), counts)).collect(),
        );
        let mut sources = Sources::default();
        let of_source = self.of_sources(report).into_iter().map(|(place, counts)| {
            (format!("{}:{}  {}", place.file, place.line, sources.line(&place).trim()), counts)
        });
        add("source", of_source.collect());
        tables
    }

    /// What lines cost, as lists.
    pub(super) fn write(&self, report: &Report, value: &mut Value) {
        let list = |lines: Vec<(Value, Line)>| -> Vec<Value> {
            let counted = lines.into_iter().filter(|(_, counts)| counts.warps > 0);
            counted
                .map(|(mut line, counts)| {
                    counts.write(&mut line);
                    line
                })
                .collect()
        };
        let ptx = self.of_ptx(report).into_iter();
        let ptx = ptx.map(|(line, counts)| (json!({ "line": line, "text": self.ptx_line(line) }), counts));
        value["ptx_lines"] = list(ptx.collect()).into();
        let sources = self.of_sources(report).into_iter();
        let sources =
            sources.map(|(place, counts)| (json!({ "file": place.file, "line": place.line }), counts));
        value["source_lines"] = list(sources.collect()).into();
    }

    /// Source, PTX and machine code with their cycles, side by side.
    pub(super) fn columns(&self, report: &Report, program: &Program) -> Vec<Column> {
        let all = report.stalls().all();
        let cells = |counts: Option<&Line>| counts.map_or_else(Vec::new, |counts| page::cells(counts, all));
        let heat = |counts: Option<&Line>| {
            counts.map_or(0.0, |counts| counts.stalls.all() as f64 / all.max(1) as f64)
        };
        // A line of PTX is a group, and one of a source has those of what it became.
        let mut groups: BTreeMap<Place, Vec<String>> = BTreeMap::new();
        let mut code = Vec::new();
        for (at, counts) in report.lines.iter().enumerate() {
            let address = at as u64 * BYTES;
            let Some(text) = program.instruction(&report.kernel, address) else { continue };
            let source = self.sources.line(&report.kernel, address);
            let group = match (self.ptx.line(&report.kernel, address), source) {
                (Some(ptx), _) => Some(format!("p{}", ptx.line)),
                (None, Some(place)) => Some(format!("{}:{}", place.file.replace(' ', "_"), place.line)),
                (None, None) => None,
            };
            if let (Some(group), Some(place)) = (&group, source) {
                let known = groups.entry(place.clone()).or_default();
                if !known.contains(group) {
                    known.push(group.clone());
                }
            }
            code.push(Row {
                before: cells(Some(counts)),
                text: format!("{address:#06x}  {text}"),
                groups: group.into_iter().collect(),
                heat: heat(Some(counts)),
                marked: false,
            });
        }
        let of_ptx = self.of_ptx(report);
        let ptx = (1..).zip(&self.text).map(|(line, text)| {
            let counts = of_ptx.get(&line);
            let groups = counts.map(|_| format!("p{line}")).into_iter().collect();
            Row { before: cells(counts), text: text.clone(), groups, heat: heat(counts), marked: false }
        });
        let of_sources = self.of_sources(report);
        let mut sources = Sources::default();
        let mut files: Vec<&str> = of_sources.keys().map(|place| place.file.as_str()).collect();
        files.dedup();
        let source = files.into_iter().flat_map(|file| {
            let heading = Row { text: format!("{file}:"), ..Row::default() };
            let lines = sources.shown(file, &of_sources).into_iter().map(|(line, text)| {
                let place = Place { file: file.to_owned(), line };
                let counts = of_sources.get(&place);
                let groups = groups.get(&place).cloned().unwrap_or_default();
                let text = format!("{line:5}  {text}");
                Row { before: cells(counts), text, groups, heat: heat(counts), marked: false }
            });
            std::iter::once(heading).chain(lines.collect::<Vec<_>>()).collect::<Vec<_>>()
        });
        let column = |heading: &str, rows: Vec<Row>| Column {
            heading: heading.to_owned(),
            before: page::HEADINGS.to_vec(),
            rows,
        };
        vec![column("source", source.collect()), column("PTX", ptx.collect()), column("machine code", code)]
    }
}

/// Source files, as far as they are there.
#[derive(Default)]
struct Sources(BTreeMap<String, Vec<String>>);

impl Sources {
    fn file(&mut self, file: &str) -> &[String] {
        self.0.entry(file.to_owned()).or_insert_with(|| source_lines(file))
    }

    fn line(&mut self, place: &Place) -> String {
        let at = usize::try_from(place.line).unwrap_or(0).wrapping_sub(1);
        self.file(&place.file).get(at).cloned().unwrap_or_default()
    }

    /// All lines of a file; of one that is not there the numbers of those that cost something.
    fn shown(&mut self, file: &str, counted: &BTreeMap<Place, Line>) -> Vec<(u64, String)> {
        let text = self.file(file);
        if text.is_empty() {
            let mine = counted.keys().filter(|place| place.file == file);
            return mine.map(|place| (place.line, String::new())).collect();
        }
        (1..).zip(text.iter().cloned()).collect()
    }
}
