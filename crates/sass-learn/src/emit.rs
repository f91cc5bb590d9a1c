//! From what was learned to the table's text: components become pieces, equal lists of strings one named set.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use super::form::{Component, Draft, Effect, Format, TokenPosition};
use super::habits::Habit;
use super::opcode::Learned;
use super::scoreboards;
use super::tokens::Number;
use sass_table::Bits;
use sass_table::source::{Form, Listed, Piece, Set, Source};
use sass_table::table::{OPCODE_MASK, opcode};

/// The strings of a set, by code.
type Strings = Vec<Option<String>>;

/// Named sets, each written once.
#[derive(Default)]
pub(crate) struct Sets {
    names: HashMap<Strings, String>,
    lines: Vec<String>,
}

impl Sets {
    /// Those that are known already, whose lines stand elsewhere.
    fn known(source: Source) -> Sets {
        let strings = |it: &Set| it.strings.iter().map(|it| it.as_deref().map(str::to_owned)).collect();
        let names = source.sets.iter().map(|it| (strings(it), it.name.to_string())).collect();
        Sets { names, lines: Vec::new() }
    }

    fn name(&mut self, strings: &Strings) -> String {
        if let Some(name) = self.names.get(strings) {
            return name.clone();
        }
        let stem = stem(strings);
        let taken = |name: &String| self.names.values().any(|it| it == name);
        let numbered = |number: u32| if number == 1 { stem.clone() } else { format!("{stem}.{number}") };
        let name = (1..).map(numbered).find(|name| !taken(name)).expect("the numbers do not end");
        self.lines.push(format!("set {name} {} {}", strings.len().trailing_zeros(), spelled(strings)));
        self.names.insert(strings.clone(), name.clone());
        name
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// What a set is called: by its first words, with `/+5` for five that follow and `?` if it may print nothing.
fn stem(strings: &Strings) -> String {
    const FIRST: usize = 3;
    const LONGEST: usize = 32;
    let legal: Vec<&str> = strings.iter().flatten().map(String::as_str).collect();
    if legal.iter().all(|it| it.is_empty()) {
        return "legal".to_owned();
    }
    if legal.iter().any(|it| it.starts_with('@')) {
        return if legal.iter().any(|it| it.contains("UP")) { "uguard" } else { "guard" }.to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    for text in &legal {
        let word = word_of(text);
        if !word.is_empty() && !word.starts_with("INVALID") && !words.contains(&word) {
            words.push(word);
        }
    }
    let optional = if legal.contains(&"") { "?" } else { "" };
    let family = |word: &String| {
        let stem =
            word.strip_suffix(['Z', 'T']).unwrap_or(word).trim_end_matches(|it: char| it.is_ascii_digit());
        ["R", "UR", "P", "UP", "B", "SB", "SR"].into_iter().find(|it| *it == stem && word != stem)
    };
    let first = words.first().cloned().unwrap_or_else(|| "INVALID".to_owned());
    if let Some(family) = family(&first).filter(|it| words.iter().all(|word| family(word) == Some(it))) {
        return format!("{family}{optional}");
    }
    if words.iter().all(|it| it.starts_with("0x")) {
        return format!("number{optional}");
    }
    let some = words.iter().take(FIRST).cloned().collect::<Vec<_>>().join("/");
    let (name, named) = match some.len() > LONGEST {
        true => (first.chars().take(LONGEST).collect(), 1),
        false => (some, FIRST.min(words.len())),
    };
    let more = words.len().saturating_sub(named);
    let more = if more > 0 { format!("/+{more}") } else { String::new() };
    format!("{name}{more}{optional}")
}

/// The words of a text, joined by dots; signs have names.
fn word_of(text: &str) -> String {
    match text.trim() {
        "-" => "neg".to_owned(),
        "|" => "abs".to_owned(),
        "!" => "not".to_owned(),
        "~" => "inv".to_owned(),
        text => {
            let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
            words.filter(|it| !it.is_empty()).collect::<Vec<_>>().join(".")
        }
    }
}

/// The text of a table.
pub(crate) fn joined(sets: &Sets, lines: &[String]) -> String {
    let mut table: String = sets.lines().iter().map(|it| format!("{it}\n")).collect();
    table.push_str(&lines.join("\n"));
    table.push('\n');
    table
}

/// The text of a table with other forms in the place of each, without the lines of sets that are shared. Comments stay.
pub(crate) fn rewritten(
    text: &str,
    table: &Source,
    shared: Source,
    forms: impl Fn(usize) -> Vec<Form>,
) -> String {
    let mut sets = Sets::known(shared);
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.lines().filter(|it| !it.starts_with("set ") && !it.is_empty()) {
        if line.starts_with("form ") {
            lines.extend(
                forms(at).iter().map(|form| adopted_line(opcode(form.value), table, form, &mut sets)),
            );
            at += 1;
        } else {
            lines.push(line.to_string());
        }
    }
    joined(&sets, &lines)
}

/// The strings of a set as the table spells them.
fn spelled(strings: &Strings) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at < strings.len() {
        if !out.is_empty() {
            out.push(' ');
        }
        let run = strings[at..].iter().take_while(|it| **it == strings[at]).count();
        let count = counting(&strings[at..]);
        if count > 2 {
            let (stem, first) = strings[at].as_deref().and_then(stem_and_number).expect("it counts");
            let _ = write!(out, "{stem}{{{first}..{}}}", first + count as u32 - 1);
            at += count;
            continue;
        }
        match strings[at].as_deref() {
            None => out.push('_'),
            Some(text) if text.is_empty() || text == "_" || text.contains([' ', '*', '{', '}']) => {
                let _ = write!(out, "\"{text}\"");
            }
            Some(text) => out.push_str(text),
        }
        if run > 1 {
            let _ = write!(out, "*{run}");
        }
        at += run;
    }
    out
}

fn stem_and_number(text: &str) -> Option<(&str, u32)> {
    let digits = text.len() - text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let number = &text[digits..];
    let canonical = number == "0" || !number.starts_with('0');
    (canonical && !text.contains([' ', '*', '{', '}', '"']))
        .then_some((&text[..digits], number.parse().ok()?))
}

/// How many strings from the first on count upwards by one.
fn counting(strings: &[Option<String>]) -> usize {
    let Some((stem, first)) = strings[0].as_deref().and_then(stem_and_number) else { return 0 };
    strings
        .iter()
        .enumerate()
        .take_while(|(at, it)| it.as_deref().and_then(stem_and_number) == Some((stem, first + *at as u32)))
        .count()
}

/// The line of a form of another architecture's table.
pub(crate) fn adopted_line(opcode: usize, table: &Source, form: &Form, sets: &mut Sets) -> String {
    let mut line = format!("form {opcode:#05x}");
    for part in [form.mask & !OPCODE_MASK & !scoreboards::ALL, form.mask & scoreboards::ALL] {
        if let Some(bits) = Bits::of_mask(part).filter(|it| it.width() > 0) {
            let _ = write!(line, " {bits}={:#x}", bits.get(form.value));
        }
    }
    if form.rest != 0 {
        let _ = write!(line, " rest={:#x}", form.rest);
    }
    line.push_str(" : ");
    let mut name = |set: u32| {
        let strings = &table.sets[set as usize].strings;
        sets.name(&strings.iter().map(|it| it.as_ref().map(|it| it.to_string())).collect())
    };
    let shifted = |shift: u8| if shift > 0 { format!("<<{shift}") } else { String::new() };
    for piece in &form.pieces {
        let text = match piece {
            Piece::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            Piece::Set(Listed { set, bits }) => format!("{{{}@{bits}}}", name(*set)),
            Piece::Hex { bits, shift, signed: false } => format!("{{hex@{bits}{}}}", shifted(*shift)),
            Piece::Hex { bits, shift, signed: true } => format!("{{shex@{bits}{}}}", shifted(*shift)),
            Piece::Relative { bits, shift } => format!("{{rel@{bits}{}}}", shifted(*shift)),
            Piece::Float { bits, format } => format!("{{{}@{bits}}}", format.name()),
            Piece::Memory(memory) => {
                if let Some(text) = memory.constant() {
                    line.push_str(text);
                    continue;
                }
                let mut text = String::from("{mem");
                for (letter, field) in [('r', memory.register), ('s', memory.suffix), ('u', memory.uniform)] {
                    if let Some(Listed { set, bits }) = field {
                        let _ = write!(text, " {letter}:{}@{bits}", name(set));
                    }
                }
                if let Some(bits) = memory.offset {
                    let _ = write!(text, " {}@{bits}{}", sign_of(memory.signed), shifted(memory.shift));
                }
                text.push_str(Habit::of(memory).suffix());
                text.push('}');
                text
            }
        };
        line.push_str(&text);
    }
    line
}

/// The notation of a memory operand's offset.
fn sign_of(signed: bool) -> char {
    if signed { 'o' } else { 'p' }
}

/// What stands at one place of the text.
#[derive(Clone, Debug)]
enum Item {
    Text(String),
    Listed(Bits, Strings),
    Number(Bits, Format),
    Memory(String),
}

/// The line of a form, and what of it could not be put into the table.
pub(crate) fn form_line(opcode: usize, learned: &Learned, sets: &mut Sets) -> Result<String, String> {
    let draft = &learned.draft;
    let items = join_memory(items_of(draft), sets)?;
    let mut line = format!("form {opcode:#05x}");
    if let Some(bits) = Bits::of_mask(draft.mask & !OPCODE_MASK).filter(|it| it.width() > 0) {
        let _ = write!(line, " {bits}={:#x}", bits.get(draft.value));
    }
    line.push_str(" : ");
    for item in &items {
        match item {
            Item::Text(text) => line.push_str(&text.replace('{', "{{").replace('}', "}}")),
            Item::Memory(text) => line.push_str(text),
            Item::Listed(bits, strings) => {
                let _ = write!(line, "{{{}@{bits}}}", sets.name(strings));
            }
            Item::Number(bits, Format::Float(format)) => {
                let _ = write!(line, "{{{}@{bits}}}", format.name());
            }
            Item::Number(bits, Format::Integer { kind: Number::Hex, shift, signed }) => {
                let last = items.iter().rev().find_map(|it| match it {
                    Item::Number(bits, Format::Integer { kind: Number::Hex, .. }) => Some(bits),
                    _ => None,
                });
                let name = match (draft.style.relative && last == Some(bits), signed) {
                    (true, _) => "rel",
                    (false, true) => "shex",
                    (false, false) => "hex",
                };
                let shift = if *shift > 0 { format!("<<{shift}") } else { String::new() };
                let _ = write!(line, "{{{name}@{bits}{shift}}}");
            }
            Item::Number(..) => return Err(format!("an offset outside a memory operand: {line}")),
        }
    }
    // What is illegal beyond what the pieces say.
    for component in &draft.components {
        if let Some((bits, strings)) = legality(component, &items) {
            let _ = write!(line, "{{{}@{bits}}}", sets.name(&strings));
        }
    }
    Ok(line)
}

/// The text's items from the base's tokens and the components' places.
fn items_of(draft: &Draft) -> Vec<Item> {
    let mut at: BTreeMap<TokenPosition, Vec<(u128, Item)>> = BTreeMap::new();
    let mut covered: BTreeSet<TokenPosition> = BTreeSet::new();
    let all: BTreeMap<TokenPosition, usize> =
        draft.components.iter().flat_map(Component::places).fold(BTreeMap::new(), |mut counts, place| {
            *counts.entry(place).or_default() += 1;
            counts
        });
    for component in &draft.components {
        let mask = component.bits.mask();
        match &component.effect {
            Effect::Number { token, format } => {
                let place = 2 * *token as TokenPosition + 1;
                at.entry(place).or_default().push((mask, Item::Number(component.bits, *format)));
                covered.insert(place);
            }
            Effect::Listed(codes) => {
                let places: Vec<TokenPosition> = component.places().into_iter().collect();
                let mut from = 0;
                while from < places.len() {
                    // Neighbouring places that only this component edits become one piece.
                    let mut to = from + 1;
                    while to < places.len() {
                        let (before, next) = (places[to - 1], places[to]);
                        let alone = all[&before] == 1 && all[&next] == 1;
                        let close = next == before + 1
                            || next == before + 2 && before % 2 == 1 && !all.contains_key(&(before + 1));
                        if !(alone && close) {
                            break;
                        }
                        to += 1;
                    }
                    let group = &places[from..to];
                    let strings = codes
                        .iter()
                        .map(|(&code, edits)| {
                            let text =
                                group.iter().map(|place| text_at(draft, edits, *place)).collect::<String>();
                            (code, text)
                        })
                        .collect();
                    let (bits, strings) = reduced(component.bits, &strings);
                    at.entry(group[0]).or_default().push((mask, Item::Listed(bits, strings)));
                    covered.extend(group);
                    from = to;
                }
            }
        }
    }
    let mut items = Vec::new();
    for place in 0..=2 * draft.tokens.len() as TokenPosition {
        if let Some(mut here) = at.remove(&place) {
            draft.sort_gap(&mut here);
            items.extend(here.into_iter().map(|it| it.1));
        } else if place % 2 == 1 && !covered.contains(&place) {
            items.push(Item::Text(draft.tokens[usize::from(place / 2)].clone()));
        }
    }
    items
}

fn text_at<'a>(draft: &'a Draft, edits: &'a [(TokenPosition, String)], place: TokenPosition) -> &'a str {
    match edits.iter().find(|it| it.0 == place) {
        Some((_, text)) => text,
        None if place % 2 == 1 => &draft.tokens[usize::from(place / 2)],
        None => "",
    }
}

/// The field without the bits that do not matter for its strings.
fn reduced(bits: Bits, strings: &HashMap<u64, String>) -> (Bits, Strings) {
    let mut mask = bits.mask();
    let project = |mask: u128| -> Option<HashMap<u64, &String>> {
        let kept = Bits::of_mask(mask)?;
        let mut projected: HashMap<u64, &String> = HashMap::new();
        for (&code, text) in strings {
            if *projected.entry(kept.get_or_zero(bits.put(0, code))).or_insert(text) != text {
                return None;
            }
        }
        Some(projected)
    };
    for bit in (0..128).rev().filter(|bit| bits.mask() >> bit & 1 == 1) {
        if project(mask & !(1 << bit)).is_some() {
            mask &= !(1 << bit);
        }
    }
    let kept = Bits::of_mask(mask).unwrap_or(bits);
    let projected = project(mask).unwrap_or_default();
    let strings =
        (0..1u64 << kept.width()).map(|code| projected.get(&code).map(|it| it.to_string())).collect();
    (kept, strings)
}

/// The illegal codes of a component as a piece that prints nothing, unless its other pieces already exclude them.
fn legality(component: &Component, items: &[Item]) -> Option<(Bits, Strings)> {
    if !matches!(component.effect, Effect::Listed(_)) {
        return None;
    }
    let bits = component.bits;
    let excluded = |code: u64| {
        let word = bits.put(0, code);
        items.iter().any(|item| match item {
            Item::Listed(field, strings) if field.mask() & !bits.mask() == 0 => {
                strings[field.get_or_zero(word) as usize].is_none()
            }
            _ => false,
        })
    };
    if (0..1u64 << bits.width()).all(|code| component.accepts(code) || excluded(code)) {
        return None;
    }
    let legal: HashMap<u64, String> = (0..1u64 << bits.width())
        .map(|code| (code, if component.accepts(code) { "" } else { "_" }.to_string()))
        .collect();
    let (kept, strings) = reduced(bits, &legal);
    Some((kept, strings.into_iter().map(|it| it.filter(|it| it.is_empty())).collect()))
}

/// Puts what stands between the brackets of a memory operand into one item.
fn join_memory(items: Vec<Item>, sets: &mut Sets) -> Result<Vec<Item>, String> {
    let mut out = Vec::new();
    let mut items = items.into_iter().peekable();
    while let Some(item) = items.next() {
        let opens = matches!(&item, Item::Text(text) if text == "[");
        out.push(item);
        if !opens {
            continue;
        }
        let mut inside = Vec::new();
        while let Some(item) = items.next_if(|it| !matches!(it, Item::Text(text) if text == "]")) {
            inside.push(item);
        }
        let regular = inside.iter().any(|it| match it {
            Item::Text(text) => text.starts_with('+'),
            Item::Listed(_, strings) => strings.iter().flatten().any(|it| it.starts_with('+')),
            Item::Number(_, Format::Integer { kind: Number::Offset, .. }) => true,
            _ => false,
        });
        if regular {
            out.push(memory(&inside, sets)?);
        } else {
            out.extend(inside);
        }
    }
    Ok(out)
}

fn memory(inside: &[Item], sets: &mut Sets) -> Result<Item, String> {
    let mut text = String::from("{mem");
    let mut rest = inside.iter().peekable();
    let mut register: Option<Bits> = None;
    let mut zero = None;
    let joined = |item: &Item| match item {
        Item::Text(text) => text.starts_with('+'),
        Item::Listed(_, strings) => strings.iter().flatten().all(|it| it.starts_with('+')),
        _ => true,
    };
    let suffix_of = |item: &Item| match item {
        Item::Text(text) => text.starts_with('.'),
        Item::Listed(_, strings) => strings.iter().flatten().all(|it| it.is_empty() || it.starts_with('.')),
        _ => false,
    };
    let none = "no term but those of memory operands is known between brackets";
    match rest.next_if(|it| !joined(it)) {
        None => {}
        Some(Item::Text(name)) => {
            let suffix = rest.next_if(|it| matches!(it, Item::Text(it) if it.starts_with('.')));
            match suffix {
                None if name == "RZ" || name == "URZ" => zero = Some(name.as_str()),
                _ => {
                    // Always the same: a set over a bit that the opcode settles.
                    let suffix =
                        suffix.map_or("", |it| if let Item::Text(it) = it { it.as_str() } else { "" });
                    let always = vec![Some(format!("{name}{suffix}")); 2];
                    register = Some(Bits::of_mask(1).expect("a run"));
                    let _ = write!(text, " r:{}@0", sets.name(&always));
                }
            }
        }
        Some(Item::Listed(bits, strings)) => {
            let mut strings = strings.clone();
            if let Some(Item::Text(suffix)) =
                rest.next_if(|it| matches!(it, Item::Text(it) if it.starts_with('.')))
            {
                strings.iter_mut().flatten().for_each(|it| it.push_str(suffix));
            }
            register = Some(*bits);
            let _ = write!(text, " r:{}@{bits}", sets.name(&strings));
        }
        Some(other) => return Err(format!("{none}: {other:?}")),
    }
    if let Some(item) = rest.next_if(|it| suffix_of(it)) {
        let Item::Listed(bits, strings) = item else { return Err(format!("{none}: {item:?}")) };
        // With RZ nothing is printed; any other register shows the suffix.
        let shared = register.map_or(0, |it| it.mask()) & bits.mask();
        let kept = Bits::of_mask(bits.mask() & !shared).ok_or("a suffix in too many runs")?;
        let strings: Strings = (0..1u64 << kept.width())
            .map(|code| strings[bits.get(kept.put(0, code)) as usize].clone())
            .collect();
        let _ = write!(text, " s:{}@{kept}", sets.name(&strings));
    }
    if let Some(item) = rest.next_if(|it| match it {
        Item::Text(text) => text.starts_with("+UR"),
        Item::Listed(_, strings) => strings.iter().flatten().all(|it| it.starts_with("+UR")),
        _ => false,
    }) {
        let Item::Listed(bits, strings) = item else { return Err(format!("{none}: {item:?}")) };
        let strings: Strings = strings.iter().map(|it| it.as_ref().map(|it| it[1..].to_string())).collect();
        let _ = write!(text, " u:{}@{bits}", sets.name(&strings));
    }
    match rest.next() {
        None => {}
        Some(Item::Text(offset)) if offset == "+0x0" => {}
        Some(Item::Number(bits, Format::Integer { kind: Number::Offset, shift, signed })) => {
            let _ = write!(text, " {}@{bits}", sign_of(*signed));
            if *shift > 0 {
                let _ = write!(text, "<<{shift}");
            }
        }
        Some(other) => return Err(format!("{none}: {other:?}")),
    }
    if let Some(other) = rest.next() {
        return Err(format!("{none}: {other:?}"));
    }
    if text == "{mem" && zero == Some("URZ") {
        return Ok(Item::Text("URZ".to_string()));
    }
    text.push('}');
    Ok(Item::Memory(text))
}
