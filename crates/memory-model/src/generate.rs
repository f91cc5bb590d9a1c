//! Litmus tests from shapes and from cycles.
//!
//! A [`Shape`] says how many threads and instructions there are, where the threads run, and from which instructions to
//! choose; [`Shape::programs`] is every program of the shape, once up to renaming of locations and exchange of threads
//! with equal places. [`from_cycle`] makes the program whose execution is a given cycle of communication and program
//! order, and asks whether it is allowed.
//!
//! Tests are texts of the dialect ([`crate::dialect`]). Each write writes a value of its own, so that what is read tells
//! where it came from.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// An instruction to choose: `{r}` stands for a fresh register, `{v}` for a fresh value, `{x}` for a location, and `{s}`,
/// `{t}`, `{c}`, `{a}` for its surface, texture, constant and second generic name.
pub type Template<'a> = &'a str;

/// A family of programs.
#[derive(Clone, Debug)]
pub struct Shape<'a> {
    /// Where each thread runs, such as `cta 0,gpu 0`.
    pub places: Vec<&'a str>,
    /// The instructions to choose from.
    pub templates: Vec<Template<'a>>,
    /// The number of instructions that access memory.
    pub accesses: usize,
    /// The most other instructions: fences and barriers.
    pub others: usize,
    /// The most locations.
    pub locations: usize,
    /// Whether to leave out programs that are smaller ones in disguise: with a thread that does nothing, a location that
    /// one thread alone accesses or that nobody writes, or a fence at an end of a thread.
    pub connected: bool,
}

/// An instruction of a program: its template and location.
type Choice = (usize, usize);

impl Shape<'_> {
    /// Calls `visit` with each program, until it returns false.
    pub fn programs(&self, visit: &mut impl FnMut(String) -> bool) {
        let mut threads = vec![Vec::new(); self.places.len()];
        self.extend(&mut threads, 0, self.accesses, self.others, visit);
    }

    fn accesses_memory(&self, template: usize) -> bool {
        self.templates[template].contains("{v}") || self.templates[template].contains("{r}")
    }

    /// Appends instructions to a thread and those after it, in all ways.
    fn extend(
        &self,
        threads: &mut Vec<Vec<Choice>>,
        thread: usize,
        accesses: usize,
        others: usize,
        visit: &mut impl FnMut(String) -> bool,
    ) -> bool {
        if thread == threads.len() {
            return accesses > 0 || !self.is_kept(threads) || visit(self.text(threads));
        }
        if !self.extend(threads, thread + 1, accesses, others, visit) {
            return false;
        }
        for template in 0..self.templates.len() {
            let access = self.accesses_memory(template);
            if (access && accesses == 0) || (!access && others == 0) {
                continue;
            }
            // A new location is the next one: names do not matter.
            let used = threads
                .iter()
                .flatten()
                .filter(|c| self.accesses_memory(c.0))
                .map(|c| c.1 + 1)
                .max()
                .unwrap_or(0);
            let locations = if access { self.locations.min(used + 1) } else { 1 };
            for location in 0..locations {
                threads[thread].push((template, location));
                let (accesses, others) = (accesses - usize::from(access), others - usize::from(!access));
                let go_on = self.extend(threads, thread, accesses, others, visit);
                threads[thread].pop();
                if !go_on {
                    return false;
                }
            }
        }
        true
    }

    fn is_kept(&self, threads: &[Vec<Choice>]) -> bool {
        (!self.connected || self.is_connected(threads)) && self.is_canonical(threads)
    }

    fn is_connected(&self, threads: &[Vec<Choice>]) -> bool {
        let at_end = |thread: &Vec<Choice>| {
            [thread.first(), thread.last()]
                .into_iter()
                .flatten()
                .any(|choice| !self.accesses_memory(choice.0))
        };
        if threads.iter().any(|thread| thread.is_empty() || at_end(thread)) {
            return false;
        }
        (0..self.locations).all(|location| {
            let on = |choice: &&Choice| self.accesses_memory(choice.0) && choice.1 == location;
            let users = threads.iter().filter(|thread| thread.iter().any(|choice| on(&choice))).count();
            let written =
                threads.iter().flatten().filter(on).any(|choice| self.templates[choice.0].contains("{v}"));
            users == 0 || (users > 1 && written)
        })
    }

    /// Whether no exchange of threads with equal places gives a program that sorts before this one.
    fn is_canonical(&self, threads: &[Vec<Choice>]) -> bool {
        let mut order: Vec<usize> = (0..threads.len()).collect();
        let own = self.renamed(threads, &order);
        let mut stack = vec![0; order.len()];
        let mut i = 1;
        // Heap's algorithm: all orders of a few threads.
        while i < order.len() {
            if stack[i] < i {
                order.swap(if i % 2 == 0 { 0 } else { stack[i] }, i);
                let fits = order.iter().enumerate().all(|(a, &b)| self.places[a] == self.places[b]);
                if fits && self.renamed(threads, &order) < own {
                    return false;
                }
                stack[i] += 1;
                i = 1;
            } else {
                stack[i] = 0;
                i += 1;
            }
        }
        true
    }

    fn renamed(&self, threads: &[Vec<Choice>], order: &[usize]) -> Vec<Vec<Choice>> {
        let mut names: Vec<usize> = Vec::new();
        let rename = |&(template, location): &Choice, names: &mut Vec<usize>| {
            if !self.accesses_memory(template) {
                return (template, 0);
            }
            let known = names.iter().position(|&name| name == location);
            (
                template,
                known.unwrap_or_else(|| {
                    names.push(location);
                    names.len() - 1
                }),
            )
        };
        order
            .iter()
            .map(|&thread| threads[thread].iter().map(|choice| rename(choice, &mut names)).collect())
            .collect()
    }

    fn text(&self, threads: &[Vec<Choice>]) -> String {
        let columns: Vec<Vec<Line>> = threads
            .iter()
            .map(|thread| {
                thread
                    .iter()
                    .map(|&(template, location)| Line::new(self.templates[template], location))
                    .collect()
            })
            .collect();
        let places: Vec<String> = self.places.iter().map(|&place| place.to_owned()).collect();
        render("generated", &places, &columns, None)
    }
}

/// An instruction before its registers and values are chosen.
#[derive(Clone, Debug)]
struct Line {
    template: String,
    location: usize,
}

impl Line {
    fn new(template: &str, location: usize) -> Self {
        Self { template: template.to_owned(), location }
    }
}

/// The test's text. Without a condition it asks for every register and location, so that outcomes tell all.
fn render(name: &str, places: &[String], columns: &[Vec<Line>], condition: Option<&str>) -> String {
    let mut used = BTreeSet::new();
    let (mut aliases, mut terms, mut value) = (BTreeSet::new(), Vec::new(), 0);
    let cells: Vec<Vec<String>> = columns
        .iter()
        .enumerate()
        .map(|(thread, column)| {
            let mut register = 0;
            let mut fill = |line: &Line| {
                let mut text = line.template.clone();
                let location = location_name(line.location);
                for (hole, proxy) in [("s", "surface"), ("t", "texture"), ("c", "constant"), ("a", "generic")]
                {
                    let hole_text = format!("{{{hole}}}");
                    if text.contains(&hole_text) {
                        aliases.insert(format!("{hole}{location} @ {proxy} aliases {location};"));
                        used.insert(line.location);
                        text = text.replace(&hole_text, &format!("{hole}{location}"));
                    }
                }
                if text.contains("{x}") {
                    used.insert(line.location);
                    text = text.replace("{x}", &location);
                }
                if text.contains("{r}") {
                    text = text.replace("{r}", &format!("r{register}"));
                    terms.push(format!("P{thread}:r{register} == 0"));
                    register += 1;
                }
                if text.contains("{v}") {
                    value += 1;
                    text = text.replace("{v}", &value.to_string());
                }
                text
            };
            column.iter().map(&mut fill).collect()
        })
        .collect();
    let mut out = format!("PTX {name}\n{{\n");
    for &location in &used {
        let _ = writeln!(out, "{}=0;", location_name(location));
        terms.push(format!("{} == 0", location_name(location)));
    }
    aliases.iter().for_each(|alias| out.extend([alias.as_str(), "\n"]));
    out.push_str("}\n");
    let heads: Vec<String> = places.iter().enumerate().map(|(i, place)| format!("P{i}@{place}")).collect();
    let rows = cells.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |column: usize, row: Option<usize>| match row {
        None => heads[column].as_str(),
        Some(row) => cells[column].get(row).map_or("", String::as_str),
    };
    for row in std::iter::once(None).chain((0..rows).map(Some)) {
        let line: Vec<String> = (0..places.len())
            .map(|column| {
                let width =
                    cells[column].iter().map(String::len).chain([heads[column].len()]).max().unwrap_or(0);
                format!(" {:width$} ", cell(column, row))
            })
            .collect();
        let _ = writeln!(out, "{};", line.join("|"));
    }
    let all = if terms.is_empty() { "0 == 0".to_owned() } else { terms.join(" /\\ ") };
    let _ = writeln!(out, "exists\n({})", condition.unwrap_or(&all));
    out
}

/// A test from the code of each thread, its instructions separated by `;`. Locations are `x`, `y` and `z`; `sx`, `tx`, `cx`
/// and `ax` are the surface, texture, constant and second generic name of `x`, and `tax` the texture of `ax`.
pub fn from_columns(name: &str, places: &[&str], columns: &[&str]) -> String {
    let lines = |column: &&str| column.split(';').map(|line| Line::new(line.trim(), 0)).collect();
    let columns: Vec<Vec<Line>> = columns.iter().map(lines).collect();
    let places: Vec<String> = places.iter().map(|&place| place.to_owned()).collect();
    let mut terms = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (thread, line) in
        columns.iter().enumerate().flat_map(|(t, lines)| lines.iter().map(move |line| (t, line)))
    {
        for word in line.template.split([' ', ',']).skip(1).filter(|word| !word.is_empty()) {
            if word.starts_with('r') {
                terms.insert(format!("P{thread}:{word} == 0"));
            } else if word.starts_with(char::is_alphabetic) {
                names.insert(word.to_owned());
            }
        }
    }
    let mut declarations = String::new();
    for location in ["x", "y", "z"] {
        if names.iter().any(|name| name.ends_with(location)) {
            let _ = writeln!(declarations, "{location}=0;");
            terms.insert(format!("{location} == 0"));
        }
    }
    for (alias, of, proxy) in [
        ("ax", "x", "generic"),
        ("sx", "x", "surface"),
        ("tx", "x", "texture"),
        ("cx", "x", "constant"),
        ("tax", "ax", "texture"),
    ] {
        if names.iter().any(|name| name == alias || (alias == "ax" && name == "tax")) {
            let _ = writeln!(declarations, "{alias} @ {proxy} aliases {of};");
        }
    }
    let condition = terms.into_iter().collect::<Vec<_>>().join(" /\\ ");
    let text =
        render(name, &places, &columns, Some(&condition).filter(|all| !all.is_empty()).map(|all| &**all));
    text.replacen("{\n", &format!("{{\n{declarations}"), 1)
}

fn location_name(location: usize) -> String {
    match location {
        0 => "x".into(),
        1 => "y".into(),
        2 => "z".into(),
        more => format!("w{more}"),
    }
}

/// An edge of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// A write to a read of another thread that takes its value.
    Rfe,
    /// A read to a write of another thread that overwrites what it took.
    Fre,
    /// A write to a later write of another thread.
    Coe,
    /// Program order, to the same location or another, past an instruction such as a fence if one is given.
    Po {
        /// Whether the location stays the same.
        same: bool,
        /// What stands between.
        between: Option<String>,
    },
}

impl Edge {
    /// Reads `Rfe`, `Fre`, `Coe`, `Pod`, `Pos`, or `Pod:fence.sc.gpu`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, between) = match text.split_once(':') {
            Some((name, between)) => (name, Some(between.to_owned())),
            None => (text, None),
        };
        match (name, &between) {
            ("Rfe", None) => Some(Self::Rfe),
            ("Fre", None) => Some(Self::Fre),
            ("Coe", None) => Some(Self::Coe),
            ("Pod" | "Pos", _) => Some(Self::Po { same: name == "Pos", between }),
            _ => None,
        }
    }

    fn ends(&self) -> Option<(char, char)> {
        match self {
            Self::Rfe => Some(('W', 'R')),
            Self::Fre => Some(('R', 'W')),
            Self::Coe => Some(('W', 'W')),
            Self::Po { .. } => None,
        }
    }
}

/// How the accesses of a cycle are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// The modifiers of a write that begins a communication, such as `release.gpu`.
    pub write: &'a str,
    /// The modifiers of a read that ends one.
    pub read: &'a str,
    /// The modifiers of all other accesses.
    pub other: &'a str,
}

/// The test of a cycle, with the thread places in turn; none if the edges do not form a cycle with an external last edge
/// and a communication at each side of program order.
pub fn from_cycle(name: &str, edges: &[Edge], annotation: &Annotation, places: &[&str]) -> Option<String> {
    let n = edges.len();
    if n < 2 || edges.last()?.ends().is_none() || places.is_empty() {
        return None;
    }
    let moves = edges.iter().filter(|edge| matches!(edge, Edge::Po { same: false, .. })).count();
    let mut kinds = Vec::new();
    for index in 0..n {
        let (before, after) = (&edges[(index + n - 1) % n], &edges[index]);
        let kind = match (before.ends(), after.ends()) {
            (Some((_, to)), Some((from, _))) if to == from => to,
            (Some((_, to)), None) => to,
            (None, Some((from, _))) => from,
            _ => return None,
        };
        kinds.push(kind);
    }
    // The value at each event: writes are numbered as they are printed, and a read has the value of the write before it in
    // its chain of communication, which begins behind program order with the initial value.
    let numbers: Vec<usize> =
        (0..n).map(|index| kinds[..=index].iter().filter(|&&kind| kind == 'W').count()).collect();
    let is_po = |index: usize| matches!(edges[index % n], Edge::Po { .. });
    let start = (0..n).find(|&index| is_po(index)).map_or(0, |index| index + 1);
    let (mut values, mut current) = (vec![0; n], 0);
    for index in (start..start + n).map(|index| index % n) {
        if is_po(index + n - 1) {
            current = 0;
        }
        current = if kinds[index] == 'W' { numbers[index] } else { current };
        values[index] = current;
    }
    let (mut columns, mut conditions) = (vec![Vec::new()], Vec::new());
    let mut registers = 0;
    let moved =
        |index: usize| edges[..index].iter().filter(|edge| matches!(edge, Edge::Po { same: false, .. }));
    let locations: Vec<usize> = (0..n).map(|index| moved(index).count() % moves.max(1)).collect();
    // How many writes a location has, and which is the last of its chain.
    let mut final_writes = vec![(0, 0); moves.max(1)];
    for index in (start..start + n).map(|index| index % n).filter(|&index| kinds[index] == 'W') {
        final_writes[locations[index]] = (final_writes[locations[index]].0 + 1, values[index]);
    }
    for index in 0..n {
        let last = columns.len() - 1;
        let begins = edges[index] == Edge::Rfe;
        let ends = edges[(index + n - 1) % n] == Edge::Rfe;
        if kinds[index] == 'W' {
            let order = if begins { annotation.write } else { annotation.other };
            columns[last].push(Line::new(&format!("st.{order} {{x}}, {{v}}"), locations[index]));
        } else {
            let order = if ends { annotation.read } else { annotation.other };
            columns[last].push(Line::new(&format!("ld.{order} {{r}}, {{x}}"), locations[index]));
            conditions.push(format!("P{last}:r{registers} == {}", values[index]));
            registers += 1;
        }
        match &edges[index] {
            Edge::Po { between: Some(between), .. } => columns[last].push(Line::new(between, 0)),
            Edge::Po { .. } => {}
            _ if index + 1 < n => {
                columns.push(Vec::new());
                registers = 0;
            }
            _ => {}
        }
    }
    for (location, (count, value)) in final_writes.iter().enumerate() {
        if *count > 1 {
            conditions.push(format!("{} == {value}", location_name(location)));
        }
    }
    let places: Vec<String> =
        (0..columns.len()).map(|thread| places[thread % places.len()].to_owned()).collect();
    Some(render(name, &places, &columns, Some(&conditions.join(" /\\ "))))
}
