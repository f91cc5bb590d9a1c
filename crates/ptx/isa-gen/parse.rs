//! The text of the table to its model.

use super::TableError;
use super::effect;
use super::model::*;
use std::collections::BTreeMap;

/// The types that operands can have, as the runtime's `ScalarType` names them.
const SCALAR_TYPES: &[&str] = &[
    "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "b8", "b16", "b32", "b64", "b128", "u16x2",
    "s16x2", "f16", "f16x2", "bf16", "bf16x2", "tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "f32", "f32x2",
    "f64", "pred",
];

/// Reads one file after another into a table.
#[derive(Default)]
pub(crate) struct Parser {
    table: Table,
    file: String,
    line: usize,
    chapter: String,
    section: Option<String>,
    /// The classes defined in the current section: name without dot to choices.
    classes: BTreeMap<String, Vec<Choice>>,
    section_gate: Gate,
}

type Result<T> = std::result::Result<T, TableError>;

impl Parser {
    /// The finished table.
    pub(crate) fn finish(self) -> Result<Table> {
        match effect::check(&self.table) {
            Ok(()) => Ok(self.table),
            Err(message) => Err(TableError { file: "isa".to_owned(), line: 0, message }),
        }
    }

    /// Reads the vocabulary: lines `slot: .modifier .modifier ...`, which give each modifier its home slot; a slot
    /// without home modifiers is declared by `slot:` alone. Lines `name mnemonic ...: slot .modifier ...` say what
    /// belongs to the names of instructions, `optional mnemonic ...: slot ...` what they can do without, and `ignored
    /// mnemonic ...: slot .modifier ...` what they take without a meaning; `ignored_last` the same once more.
    pub(crate) fn vocabulary(&mut self, file: &str, text: &str) -> Result<()> {
        for line in self.lines(file, text) {
            self.line = line.0;
            let (slots, modifiers) =
                line.1.split_once(':').ok_or_else(|| self.error("expected `slot: .modifier ...`"))?;
            if let Some(mnemonics) = slots.strip_prefix("name ") {
                let parts: Vec<String> = modifiers.split_whitespace().map(str::to_owned).collect();
                for part in &parts {
                    if !self.table.home.contains_key(part) {
                        self.known_slot(part)?;
                    }
                }
                for mnemonic in mnemonics.split_whitespace() {
                    self.table.names.insert(mnemonic.to_owned(), parts.clone());
                }
                continue;
            }
            if let Some(mnemonics) = slots.strip_prefix("optional ") {
                let names: Vec<String> = modifiers.split_whitespace().map(str::to_owned).collect();
                names.iter().try_for_each(|slot| self.known_slot(slot))?;
                for mnemonic in mnemonics.split_whitespace() {
                    self.table.optional.insert(mnemonic.to_owned(), names.clone());
                }
                continue;
            }
            let ignoring = ["ignored ", "ignored_last "].into_iter().find(|name| slots.starts_with(name));
            if let Some(name) = ignoring {
                let mnemonics = &slots[name.len()..];
                let mut ignored = Vec::new();
                for part in modifiers.split_whitespace() {
                    match self.table.slots.get(part) {
                        Some(home) => ignored.extend(home.iter().cloned()),
                        None => ignored.push(self.choice(part)?.modifier),
                    }
                }
                for mnemonic in mnemonics.split_whitespace() {
                    let slots = self.table.ignored.entry(mnemonic.to_owned()).or_default();
                    slots.push((name.trim_end().to_owned(), ignored.clone()));
                }
                continue;
            }
            for slot in slots.split_whitespace() {
                if self.table.slots.contains_key(slot) {
                    return Err(self.error(format!("slot `{slot}` is declared twice")));
                }
                self.table.slots.insert(slot.to_owned(), Vec::new());
            }
            let slot = slots.split_whitespace().next().ok_or_else(|| self.error("a slot needs a name"))?;
            for modifier in modifiers.split_whitespace() {
                if !modifier.starts_with('.') {
                    return Err(self.error(format!("modifier `{modifier}` must begin with a dot")));
                }
                if self.table.home.insert(modifier.to_owned(), slot.to_owned()).is_some() {
                    return Err(self.error(format!("modifier `{modifier}` is declared twice")));
                }
                self.table.slots.entry(slot.to_owned()).or_default().push(modifier.to_owned());
            }
        }
        Ok(())
    }

    /// Reads a file of forms.
    pub(crate) fn forms(&mut self, file: &str, text: &str) -> Result<()> {
        self.chapter.clear();
        self.section = None;
        for (number, line) in self.lines(file, text) {
            self.line = number;
            if let Some(rest) = line.strip_prefix("chapter ") {
                self.chapter = rest.to_owned();
                self.section = None;
            } else if let Some(rest) = line.strip_prefix("section ") {
                self.section(rest)?;
            } else if let Some(rest) = line.strip_prefix("does ") {
                self.effects(rest)?;
            } else if line.starts_with('.') {
                self.class(&line)?;
            } else if line.starts_with(|c: char| c.is_ascii_lowercase()) {
                let form = self.form(&line)?;
                self.table.forms.push(form);
            } else {
                return Err(
                    self.error("expected `chapter`, `section`, `does`, a class `.name = ...` or a form")
                );
            }
        }
        Ok(())
    }

    /// Reads the special registers: lines `%name .u32 @gate`, `%name<32> .b32`, `%name .v4.u32`.
    pub(crate) fn special_registers(&mut self, file: &str, text: &str) -> Result<()> {
        for (number, line) in self.lines(file, text) {
            self.line = number;
            let mut words = line.split_whitespace();
            let name = words.next().unwrap_or_default();
            if !name.starts_with('%') {
                return Err(self.error("a special register's name begins with `%`"));
            }
            let ty = words.next().ok_or_else(|| self.error("a special register needs a type"))?;
            let (components, ty) = match ty.strip_prefix(".v4") {
                Some(ty) => (4, ty),
                None => (1, ty),
            };
            let ty = ty.trim_start_matches('.').to_owned();
            if !SCALAR_TYPES.contains(&ty.as_str()) {
                return Err(self.error(format!("`{ty}` is not a type")));
            }
            let mut gate = Gate::default();
            for word in words {
                let text =
                    word.strip_prefix('@').ok_or_else(|| self.error(format!("unexpected `{word}`")))?;
                gate = self.gate(text)?;
            }
            for name in self.family(name)? {
                self.table.specials.push(Special { name, ty: ty.clone(), components, gate: gate.clone() });
            }
        }
        Ok(())
    }

    /// `%pm<8>_64` to `%pm0_64` ... `%pm7_64`; a name without `<count>` to itself.
    fn family(&self, name: &str) -> Result<Vec<String>> {
        let Some((stem, rest)) = name.split_once('<') else {
            return Ok(vec![name.to_owned()]);
        };
        let Some((Ok(count), suffix)) =
            rest.split_once('>').map(|(count, suffix)| (count.parse::<u16>(), suffix))
        else {
            return Err(self.error("expected `%name<count>`"));
        };
        Ok((0..count).map(|i| format!("{stem}{i}{suffix}")).collect())
    }

    /// The logical lines: without comments and blank lines, indented ones joined to the line before.
    fn lines(&mut self, file: &str, text: &str) -> Vec<(usize, String)> {
        self.file = file.to_owned();
        let mut lines: Vec<(usize, String)> = Vec::new();
        for (i, raw) in text.lines().enumerate() {
            let line = if raw.starts_with('#') { "" } else { raw.split(" # ").next().unwrap_or_default() };
            if line.trim().is_empty() {
                continue;
            }
            match lines.last_mut() {
                Some((_, last)) if line.starts_with(' ') => {
                    last.push(' ');
                    last.push_str(line.trim());
                }
                _ => lines.push((i + 1, line.trim_end().to_owned())),
            }
        }
        lines
    }

    fn error(&self, message: impl Into<String>) -> TableError {
        TableError { file: self.file.clone(), line: self.line, message: message.into() }
    }

    /// `9.7.1.1 add @2.0/sm_20`
    fn section(&mut self, rest: &str) -> Result<()> {
        let (number, title) =
            rest.split_once(' ').ok_or_else(|| self.error("expected `section number title`"))?;
        let (title, gate) = match title.split_once(" @") {
            Some((title, gate)) => (title, self.gate(gate)?),
            None => (title, Gate::default()),
        };
        let (chapter, _) =
            self.chapter.split_once(' ').ok_or_else(|| self.error("a section before its chapter"))?;
        if !number.strip_prefix(chapter).is_some_and(|rest| rest.starts_with('.')) {
            return Err(self.error(format!("section {number} is not in chapter {chapter}")));
        }
        if self.table.sections.iter().any(|(n, _)| n == number) {
            return Err(self.error(format!("section {number} is there twice")));
        }
        self.classes.clear();
        self.section_gate = gate;
        self.section = Some(number.to_owned());
        self.table.sections.push((number.to_owned(), title.trim().to_owned()));
        Ok(())
    }

    /// `does atom atom_vector: atomic(a) order=relaxed scope=gpu`.
    fn effects(&mut self, rest: &str) -> Result<()> {
        let (names, effects) = effect::line(rest).map_err(|message| self.error(message))?;
        for name in names {
            if self.table.effects.insert(name.to_owned(), effects.clone()).is_some() {
                return Err(self.error(format!("what `{name}` does is said twice")));
            }
        }
        Ok(())
    }

    /// `.type .dtype = .u16 .u32@8.0/sm_90`.
    fn class(&mut self, line: &str) -> Result<()> {
        let (names, choices) =
            line.split_once('=').ok_or_else(|| self.error("expected `.name = .modifier ...`"))?;
        let mut list: Vec<Choice> = Vec::new();
        for word in choices.split_whitespace() {
            list.push(self.choice(word)?);
        }
        if list.is_empty() {
            return Err(self.error("a class needs a modifier"));
        }
        for name in names.split_whitespace() {
            let name = name
                .strip_prefix('.')
                .ok_or_else(|| self.error(format!("`{name}` must begin with a dot")))?;
            self.known_slot(name)?;
            self.classes.insert(name.to_owned(), list.clone());
        }
        Ok(())
    }

    /// `.u32@8.0/sm_90`
    fn choice(&self, word: &str) -> Result<Choice> {
        let (modifier, gate) = match word.split_once('@') {
            Some((modifier, gate)) => (modifier, self.gate(gate)?),
            None => (word, Gate::default()),
        };
        if !self.table.home.contains_key(modifier) {
            return Err(self.error(format!("modifier `{modifier}` is not in the vocabulary")));
        }
        Ok(Choice { modifier: modifier.to_owned(), gate })
    }

    fn known_slot(&self, name: &str) -> Result<()> {
        if self.table.slots.contains_key(name) {
            return Ok(());
        }
        Err(self.error(format!("slot `{name}` is not in the vocabulary")))
    }

    /// `8.0/sm_90a,sm_100f`, `8.0`, `sm_90`; `<sm_70` and `<6.5` say that these and later ones no longer have it.
    fn gate(&self, text: &str) -> Result<Gate> {
        let mut gate = Gate::default();
        for part in text.trim().split('/') {
            if part.starts_with("sm_") || part.starts_with("<sm_") {
                for target in part.split(',') {
                    if let Some(sm) = target.strip_prefix("<sm_") {
                        let sm = sm.parse().map_err(|_| self.error(format!("`{target}` is not a target")))?;
                        gate.before = Some(sm);
                        continue;
                    }
                    let rest = target.strip_prefix("sm_").unwrap_or_default();
                    let digits = rest.trim_end_matches(['a', 'f']);
                    let variant = match &rest[digits.len()..] {
                        "" => "Base",
                        "a" => "Specific",
                        "f" => "Family",
                        _ => return Err(self.error(format!("`{target}` is not a target"))),
                    };
                    let sm = digits.parse().map_err(|_| self.error(format!("`{target}` is not a target")))?;
                    gate.targets.push(Target { sm, variant });
                }
            } else {
                let (part, until) = part.strip_prefix('<').map_or((part, false), |part| (part, true));
                let version =
                    part.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                let version =
                    Some(version.ok_or_else(|| self.error(format!("`{part}` is not a version or target")))?);
                if until {
                    gate.until = version;
                } else {
                    gate.ptx = version;
                }
            }
        }
        Ok(gate)
    }

    /// `add{.sat}.s32 d:s32 a:s32 b:s32 @8.0/sm_90 => add_int`, with rules such as `; .v8 needs type .b32` at the end.
    fn form(&mut self, line: &str) -> Result<Form> {
        let section = self.section.clone().ok_or_else(|| self.error("a form before the first section"))?;
        let (line, rules) = match line.split_once(';') {
            Some((line, rules)) => (line, rules.split(';').collect()),
            None => (line, Vec::new()),
        };
        let (line, sem) = match line.split_once("=>") {
            Some((line, sem)) => (line, Some(sem.trim().to_owned())),
            None => (line, None),
        };
        if let Some(sem) = &sem {
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if sem.is_empty() || !sem.chars().all(legal) {
                return Err(self.error(format!("`{sem}` is not the name of a semantic function")));
            }
        }
        let mut words = line.split_whitespace();
        let (mnemonic, slots) = self.template(words.next().unwrap_or_default())?;
        let mut gate = self.section_gate.clone();
        let mut operands = Vec::new();
        for word in words {
            match word.strip_prefix('@') {
                Some(text) => {
                    let own = self.gate(text)?;
                    gate.ptx = own.ptx.or(gate.ptx);
                    if !own.targets.is_empty() {
                        gate.targets = own.targets;
                    }
                    gate.before = own.before.or(gate.before);
                    gate.until = own.until.or(gate.until);
                }
                None => operands.push(self.operand(word, &slots)?),
            }
        }
        let mut all = Vec::new();
        for rule in rules {
            all.extend(self.rule(rule, &slots)?);
        }
        let rules = all;
        let name = self.name(&mnemonic, &slots)?;
        Ok(Form { mnemonic, chapter: self.chapter.clone(), section, slots, name, operands, gate, rules, sem })
    }

    /// How many of the slots belong to the name; they are the first ones.
    fn name(&self, mnemonic: &str, slots: &[Slot]) -> Result<usize> {
        let Some(parts) = self.table.names.get(mnemonic) else { return Ok(0) };
        let belongs = |slot: &Slot| {
            parts.contains(&slot.name) || slot.choices.iter().all(|c| parts.contains(&c.modifier))
        };
        let count = slots.iter().take_while(|slot| belongs(slot)).count();
        match slots[count..].iter().find(|slot| belongs(slot)) {
            Some(late) => {
                Err(self.error(format!("slot `{}` belongs to the name, but stands after it", late.name)))
            }
            None => Ok(count),
        }
    }

    /// `.v8 needs type .b32 .f32` (one of them), `.v8 allows type .b32` (it or nothing), `sem with scope`, `cop without evict1`; what
    /// stands first is a modifier, a slot for all of its modifiers, or `slot=.modifier`.
    fn rule(&self, text: &str, slots: &[Slot]) -> Result<Vec<Rule>> {
        let mut words = text.split_whitespace();
        let (Some(when), Some(verb)) = (words.next(), words.next()) else {
            return Err(self.error("expected `.modifier needs slot .modifier ...`"));
        };
        let (in_slot, modifier) = match when.split_once('=') {
            Some((slot, modifier)) => (Some(slot), Some(modifier)),
            None if when.starts_with('.') => (None, Some(when)),
            None => (Some(when), None),
        };
        let mut triggers: Vec<(String, String)> = Vec::new();
        for slot in slots.iter().filter(|s| in_slot.is_none_or(|name| s.name == name)) {
            let choices = slot.choices.iter().filter(|c| modifier.is_none_or(|m| c.modifier == m));
            triggers.extend(choices.map(|c| (slot.name.clone(), c.modifier.clone())));
        }
        if triggers.is_empty() {
            return Err(self.error(format!("this form has no slot and no modifier `{when}`")));
        }
        let spec = |slot: &str| {
            let spec = slots.iter().find(|s| s.name == slot);
            spec.ok_or_else(|| self.error(format!("this form has no slot `{slot}`")))
        };
        let mut rules = Vec::new();
        let mut add = |slot: &Slot, choices: &[String], required: bool| {
            for when in &triggers {
                let (when, slot, choices) = (when.clone(), slot.name.clone(), choices.to_vec());
                rules.push(Rule { when, slot, choices, required });
            }
        };
        match verb {
            "needs" | "allows" => {
                let slot = spec(words.next().unwrap_or_default())?;
                let choices: Vec<String> = words.map(str::to_owned).collect();
                if let Some(odd) = choices.iter().find(|m| !slot.choices.iter().any(|c| c.modifier == **m)) {
                    return Err(
                        self.error(format!("slot `{}` of this form does not take `{odd}`", slot.name))
                    );
                }
                if choices.is_empty() {
                    return Err(
                        self.error(format!("`{verb}` needs a modifier; `without` leaves a slot empty"))
                    );
                }
                add(slot, &choices, verb == "needs");
            }
            "with" => {
                for word in words {
                    let slot = spec(word)?;
                    let choices: Vec<String> = slot.choices.iter().map(|c| c.modifier.clone()).collect();
                    add(slot, &choices, true);
                }
            }
            "without" => {
                for word in words {
                    let slot = spec(word)?;
                    if !slot.optional {
                        return Err(self.error(format!("slot `{word}` of this form cannot be empty")));
                    }
                    add(slot, &[], false);
                }
            }
            _ => {
                return Err(
                    self.error(format!("expected `needs`, `allows`, `with` or `without`, not `{verb}`"))
                );
            }
        }
        Ok(rules)
    }

    /// `add{.sat}.s32`: mnemonic and slots.
    fn template(&self, text: &str) -> Result<(String, Vec<Slot>)> {
        let end = text.find(['.', '{']).unwrap_or(text.len());
        let (mnemonic, mut rest) = text.split_at(end);
        let mut slots: Vec<Slot> = Vec::new();
        while !rest.is_empty() {
            let optional = rest.starts_with('{');
            let piece;
            if optional {
                let end = rest.find('}').ok_or_else(|| self.error("`{` without `}` in the template"))?;
                piece = &rest[1..end];
                rest = &rest[end + 1..];
            } else {
                let end = rest[1..].find(['.', '{']).map_or(rest.len(), |i| i + 1);
                piece = &rest[..end];
                rest = &rest[end..];
            }
            let slot = self.slot(piece, optional)?;
            if slots.iter().any(|s| s.name == slot.name) {
                return Err(
                    self.error(format!("slot `{}` stands twice: name one `.slot=modifier`", slot.name))
                );
            }
            slots.push(slot);
        }
        if let Some(optional) = self.table.optional.get(mnemonic) {
            slots
                .iter_mut()
                .filter(|slot| optional.contains(&slot.name))
                .for_each(|slot| slot.optional = true);
        }
        let has = |modifier: &String| {
            slots.iter().flat_map(|slot| &slot.choices).any(|choice| choice.modifier == *modifier)
        };
        let ignored = self.table.ignored.get(mnemonic).into_iter().flatten();
        let more: Vec<Slot> = ignored
            .filter(|(_, modifiers)| !modifiers.iter().any(has))
            .map(|(name, modifiers)| {
                let choice = |modifier: &String| Choice { modifier: modifier.clone(), gate: Gate::default() };
                Slot { name: name.clone(), optional: true, choices: modifiers.iter().map(choice).collect() }
            })
            .collect();
        slots.extend(more);
        Ok((mnemonic.to_owned(), slots))
    }

    /// `.class`, `.modifier`, `.slot=modifier|modifier`; each with a gate.
    fn slot(&self, piece: &str, optional: bool) -> Result<Slot> {
        let name =
            piece.strip_prefix('.').ok_or_else(|| self.error(format!("`{piece}` must begin with a dot")))?;
        if let Some(choices) = self.classes.get(name) {
            return Ok(Slot { name: name.to_owned(), optional, choices: choices.clone() });
        }
        let (slot, list) = match name.split_once('=') {
            Some((slot, list)) => (Some(slot), list),
            None => (None, name),
        };
        let mut choices = Vec::new();
        for word in list.split('|') {
            choices.push(self.choice(&format!(".{word}"))?);
        }
        let slot = match slot {
            Some(slot) => slot.to_owned(),
            None => self.table.home[&choices[0].modifier].clone(),
        };
        self.known_slot(&slot)?;
        Ok(Slot { name: slot, optional, choices })
    }

    /// `d:type`, `{|p}:pred`, `[a]:space`, `{c}:!pred`: see `crates/ptx/isa/README.md`.
    fn operand(&self, word: &str, slots: &[Slot]) -> Result<Operand> {
        let (head, spec) = match word.rsplit_once("]:").map(|(h, s)| (format!("{h}]"), s)) {
            Some((head, spec)) => (head, spec),
            None => match word.split_once(':') {
                Some((head, spec)) => (head.to_owned(), spec),
                None => (word.to_owned(), ""),
            },
        };
        let mut name = head.as_str();
        let mut optional = false;
        if let Some(inner) = name.strip_prefix('{').and_then(|n| n.strip_suffix('}')) {
            name = inner;
            optional = true;
        }
        let (spec, gate) = match spec.split_once('@') {
            Some((spec, gate)) => (spec, self.gate(gate)?),
            None => (spec, Gate::default()),
        };
        let (spec, with) = match spec.split_once('?') {
            Some((spec, with)) => (spec, Some(self.modifier_of_form(with, slots)?)),
            None => (spec, None),
        };
        let joined = name.starts_with('|');
        name = name.strip_prefix('|').unwrap_or(name);
        let sink = name.ends_with("|_");
        name = name.strip_suffix("|_").unwrap_or(name);
        let (role, name) = match name.as_bytes().first() {
            Some(b'=') => ("Write", &name[1..]),
            Some(b'+') => ("ReadWrite", &name[1..]),
            _ if name == "d" || joined => ("Write", name),
            _ => ("Read", name),
        };
        if let Some(inner) = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
            return self.memory_operand(inner, spec, optional, role == "Write", slots);
        }
        let read = role == "Read";
        let (spec, limit, cut) = self.limit(spec)?;
        let (spec, negatable) = match spec.strip_prefix('-') {
            Some(rest) => (rest, true),
            None => (spec, false),
        };
        let marks = spec.trim_start_matches(['&', '%', '#', '$', '~', '*', '=']);
        let (marks, spec) = (&spec[..spec.len() - marks.len()], marks);
        let marked = |mark: char| marks.contains(mark);
        let operand = |kind, ty| Operand {
            name: name.to_owned(),
            role,
            kind,
            ty,
            optional,
            joined,
            with: with.clone(),
            gate: gate.clone(),
            limit: limit.clone(),
            symbols: marked('$'),
            loose: marked('~'),
            stores: false,
            negatable,
            lax: marked('*'),
            exact: marked('='),
            cut,
        };
        if let Some(plain) = plain_kind(spec) {
            return Ok(operand(Kind::Plain(plain), Type::None));
        }
        if let "pred" | "!pred" | "!%pred" = spec {
            let kind = Kind::Predicate { negatable: spec != "pred", constant: spec == "!pred", sink };
            return Ok(operand(kind, Type::Pred));
        }
        if let Some(slot) = spec.strip_prefix('!') {
            let kind = Kind::Predicate { negatable: true, constant: true, sink };
            return Ok(operand(kind, self.ty(slot, slots)?));
        }
        for (name, parts) in [("selected(", "One"), ("halves(", "Halves"), ("bytes(", "Bytes")] {
            if let Some(inner) = spec.strip_prefix(name).and_then(|s| s.strip_suffix(')')) {
                return Ok(operand(Kind::Selected(parts), self.ty(inner, slots)?));
            }
        }
        if let Some((count, ty)) = spec.split_once('*') {
            let (special, whole) = (!marked('%'), marked('&'));
            let kind = Kind::Vector { count: self.count(count, slots)?, sink, special, whole };
            return Ok(operand(kind, self.ty(ty, slots)?));
        }
        let kind = match marks {
            _ if marked('#') => Kind::Immediate,
            _ if marked('%') || (!read && !marked('&')) => Kind::Register { sink },
            _ => Kind::Value { special: marked('&') },
        };
        if sink && !matches!(kind, Kind::Register { .. }) {
            return Err(self.error(format!("operand `{name}` is not a register: it cannot be `_`")));
        }
        Ok(operand(kind, self.ty(spec, slots)?))
    }

    /// The limit at the end of `type(0..31)`, `type(4|8|16)` or `type(%8)`.
    fn limit<'t>(&self, spec: &'t str) -> Result<(&'t str, Option<Limit>, bool)> {
        let Some((ty, limit)) = spec.strip_suffix(')').and_then(|s| s.rsplit_once('(')) else {
            return Ok((spec, None, false));
        };
        if !limit.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '%') {
            return Ok((spec, None, false));
        }
        let (limit, cut) = limit.strip_suffix('~').map_or((limit, false), |limit| (limit, true));
        let number = |text: &str| text.parse::<i64>().ok();
        let read = match (limit.strip_prefix('%'), limit.split_once("..")) {
            (Some(step), _) => number(step).map(Limit::MultipleOf),
            (_, Some((low, high))) => number(low).and_then(|low| match high.split_once('%') {
                Some(("", step)) => Some(Limit::Steps(low, i64::MAX, number(step)?)),
                Some((high, step)) => Some(Limit::Steps(low, number(high)?, number(step)?)),
                None if high.is_empty() => Some(Limit::Range(low, i64::MAX)),
                None => Some(Limit::Range(low, number(high)?)),
            }),
            _ => limit.split('|').map(number).collect::<Option<_>>().map(Limit::OneOf),
        };
        let read = read.ok_or_else(|| {
            self.error("expected `type(low..high)`, `type(low..)`, `type(1|2)` or `type(%step)`")
        })?;
        Ok((ty, Some(read), cut))
    }

    /// `[a]:space`, `[a]:.shared`, `[a,c]:texture(type)`, ...
    fn memory_operand(
        &self,
        inner: &str,
        spec: &str,
        optional: bool,
        stores: bool,
        slots: &[Slot],
    ) -> Result<Operand> {
        let marks = spec.trim_start_matches(['~', '*']);
        let (marks, spec) = (&spec[..spec.len() - marks.len()], marks);
        let (kind, ty) = match spec.split_once('(') {
            Some(("mbarrier", slot)) => {
                let slot = slot.strip_suffix(')').ok_or_else(|| self.error("`(` without `)`"))?;
                self.slot_of_form(slot, slots)?;
                (Kind::Address { space: Space::Mbarrier(slot.to_owned()) }, Type::None)
            }
            Some((name, ty)) => {
                let ty = ty.strip_suffix(')').ok_or_else(|| self.error("`(` without `)`"))?;
                let kind = match name {
                    "texture" => "Texture",
                    "surface" => "Surface",
                    "tensormap" => "TensorMap",
                    "descriptor" => "Descriptor",
                    _ => return Err(self.error(format!("`{name}` is not a kind of memory operand"))),
                };
                (Kind::Plain(kind), self.ty(ty, slots)?)
            }
            None if spec == ".tensor" => (Kind::Plain("TensorMemory"), Type::None),
            None => {
                let space = match spec.strip_prefix('.') {
                    Some(fixed) => Space::Fixed(match fixed {
                        "generic" => "Generic",
                        "const" => "Const",
                        "global" => "Global",
                        "local" => "Local",
                        "shared" => "Shared",
                        _ => return Err(self.error(format!("`{fixed}` is not a state space"))),
                    }),
                    None if spec.is_empty() => Space::Fixed("Generic"),
                    None => {
                        self.slot_of_form(spec, slots)?;
                        Space::Of(spec.to_owned())
                    }
                };
                (Kind::Address { space }, Type::None)
            }
        };
        Ok(Operand {
            name: format!("[{inner}]"),
            role: "Read",
            kind,
            ty,
            optional,
            joined: false,
            with: None,
            gate: Gate::default(),
            limit: None,
            symbols: false,
            loose: marks.contains('~'),
            stores,
            negatable: false,
            lax: marks.contains('*'),
            exact: false,
            cut: false,
        })
    }

    fn modifier_of_form(&self, modifier: &str, slots: &[Slot]) -> Result<String> {
        if slots.iter().any(|s| s.choices.iter().any(|c| c.modifier == modifier)) {
            return Ok(modifier.to_owned());
        }
        Err(self.error(format!("no slot of this form takes `{modifier}`")))
    }

    fn slot_of_form(&self, name: &str, slots: &[Slot]) -> Result<()> {
        if slots.iter().any(|s| s.name == name) {
            return Ok(());
        }
        Err(self.error(format!("this form has no slot `{name}`")))
    }

    fn count(&self, text: &str, slots: &[Slot]) -> Result<Count> {
        if let Ok(n) = text.parse() {
            return Ok(Count::Fixed(n));
        }
        Ok(match text {
            "parts" => Count::Parts,
            "offsets" => Count::Offsets,
            "A" | "B" | "C" | "D" => Count::Fragment(match text {
                "A" => "A",
                "B" => "B",
                "C" => "C",
                _ => "D",
            }),
            _ => {
                self.slot_of_form(text, slots)?;
                Count::Of(text.to_owned())
            }
        })
    }

    /// `.u32`, a slot, `wide(slot)`, `bits(slot)`, `unsigned(slot)`, `fragment(slot)`, `any`, `any(.b32)`.
    fn ty(&self, text: &str, slots: &[Slot]) -> Result<Type> {
        if let Some(fixed) = text.strip_prefix('.') {
            if !SCALAR_TYPES.contains(&fixed) {
                return Err(self.error(format!("`{text}` is not a type")));
            }
            return Ok(Type::Fixed(fixed.to_owned()));
        }
        if text == "any" {
            return Ok(Type::Any);
        }
        if let Some(width) = text.strip_prefix("any(").and_then(|text| text.strip_suffix(')')) {
            return match self.ty(width, slots)? {
                Type::Fixed(ty) => Ok(Type::AnyOf(ty)),
                _ => Err(self.error(format!("`{text}` needs a type"))),
            };
        }
        let (rule, slot) = match text.split_once('(') {
            Some((rule, slot)) => {
                (rule, slot.strip_suffix(')').ok_or_else(|| self.error("`(` without `)`"))?)
            }
            None => ("", text),
        };
        self.slot_of_form(slot, slots)?;
        let rule = match rule {
            "" => "Of",
            "address" => "Address",
            "wide" => "Wide",
            "bits" => "Bits",
            "unsigned" => "Unsigned",
            "fragment" => "Fragment",
            _ => return Err(self.error(format!("`{rule}` is not a rule for types"))),
        };
        Ok(Type::Rule(rule, slot.to_owned()))
    }
}

/// The kinds of operand without type.
fn plain_kind(spec: &str) -> Option<&'static str> {
    Some(match spec {
        "label" => "Label",
        "function" => "Function",
        "results" => "Results",
        "arguments" => "Arguments",
        "branchtargets" => "BranchTargets",
        "calltargets" => "CallTargets",
        "sink" => "Sink",
        _ => return None,
    })
}
