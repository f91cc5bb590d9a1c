//! From a template and what is known of its mnemonic to the operands of a form.
//!
//! The template is cut at its commas into places. What a set prints may have commas too, `, P0` or nothing: then the place
//! is there for some of its codes. Registers are found in what the pieces print, code by code, so that each
//! operand knows by which field it gets its number; how many registers it has is tried for every code of the fields that matter.

use std::collections::BTreeSet;

use crate::bits::Bits;
use crate::operand::{ABSENT, Access, Class, NEGATED, TRUE};
use crate::roles::{Count, Kind, Role, Roles, Width};
use crate::source::{Form, Listed, Memory, Piece, Source};

/// What a field says, code by code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Values {
    pub(crate) bits: Bits,
    pub(crate) values: Vec<u8>,
}

impl Values {
    fn always(value: u8) -> Values {
        Values { bits: Bits::default(), values: vec![value] }
    }
}

/// An operand that has been found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Found {
    pub(crate) name: Box<str>,
    pub(crate) place: Option<u8>,
    pub(crate) bracketed: bool,
    pub(crate) class: Class,
    pub(crate) access: Access,
    pub(crate) number: Values,
    pub(crate) width: Values,
    pub(crate) aligned: bool,
    pub(crate) reuse: Option<Values>,
}

/// The most bits of fields by which a number of registers may depend.
const MOST_BITS: u32 = 13;

/// A part of a place: always the same text, or what a field prints there.
#[derive(Clone, Debug)]
struct Part {
    bits: Bits,
    /// For each code what it prints here; `None` where it is illegal or the place is left out.
    texts: Vec<Option<String>>,
    /// It is a number that is printed whatever it is.
    number: bool,
    /// The suffix of the register before it.
    suffix: bool,
}

/// What stands between two commas.
#[derive(Clone, Debug, Default)]
struct Slot {
    parts: Vec<Part>,
}

/// A form's text, cut up.
struct Cut {
    guard: Option<Part>,
    head: Vec<Part>,
    places: Vec<Slot>,
}

/// A register in a place.
struct Named {
    class: Class,
    bracketed: bool,
    /// How many registers it is for what stands around it, if that says so: for each code of the field.
    around: Option<Values>,
    number: Values,
    reuse: Option<Values>,
}

/// The operands of a form, or why they are not known.
pub(crate) fn operands(
    source: &Source,
    form: &Form,
    mnemonics: &[Box<str>],
    roles: &Roles,
) -> Result<Vec<Found>, String> {
    let cut = Cut::new(source, form);
    let mut found: Vec<Found> = Vec::new();
    if let Some(part) = &cut.guard {
        let (class, number) = predicate_of(part);
        let (name, width) = ("guard".into(), Values::always(1));
        let access = Access::Read;
        found.push(Found {
            name,
            place: None,
            bracketed: false,
            class,
            access,
            number,
            width,
            aligned: false,
            reuse: None,
        });
    }
    let mnemonic = mnemonics.first().map_or("", |it| it);
    let signatures = roles.of(mnemonic);
    if mnemonics
        .iter()
        .any(|other| roles.of(other) != signatures || roles.flow(other) != roles.flow(mnemonic))
    {
        return Err(format!("{} have different operands, but share a form", mnemonics.join(" ")));
    }
    let named: Vec<Vec<Named>> = cut.places.iter().map(Slot::named).collect();
    if signatures.is_empty() {
        return match named.iter().all(Vec::is_empty) {
            true => Ok(found),
            false => Err(format!("the operands of {mnemonic} are not known")),
        };
    }
    let matched = signatures.iter().find_map(|it| matched(&it.roles, &cut.places, &named, 0));
    let roles_of =
        matched.ok_or_else(|| format!("no line about {mnemonic} has places for these operands"))?;
    for (at, (role, named)) in roles_of.iter().zip(named).enumerate() {
        let place = Some(at as u8);
        let access = match (role.read, role.written) {
            (_, false) => Access::Read,
            (false, true) => Access::Write,
            (true, true) => Access::ReadWrite,
        };
        if let Some((class, number)) = cut.special(at, role) {
            let width = if class == Class::Constant { cut.by_role(role, roles)? } else { Values::always(1) };
            let (name, aligned) = (role.name.clone(), role.aligned);
            found.push(Found {
                name,
                place,
                bracketed: false,
                class,
                access,
                number,
                width,
                aligned,
                reuse: None,
            });
        }
        for it in named {
            // What is in brackets is read, whatever happens to what it is the address of.
            let access = if it.bracketed { Access::Read } else { access };
            let width = cut.width(role, &it, roles)?;
            let (name, aligned) = (role.name.clone(), role.aligned && !it.bracketed);
            let Named { class, bracketed, number, reuse, .. } = it;
            found.push(Found { name, place, bracketed, class, access, number, width, aligned, reuse });
        }
    }
    Ok(found)
}

/// The roles of the places, each in turn; a role that may be left out is, if the others fit only so.
fn matched<'r>(roles: &'r [Role], places: &[Slot], named: &[Vec<Named>], at: usize) -> Option<Vec<&'r Role>> {
    let Some(place) = places.get(at) else {
        return roles.iter().all(|it| it.optional || it.kind == Kind::Rest).then(Vec::new);
    };
    let (role, rest) = roles.split_first()?;
    if fits(role, place, &named[at]) {
        let rest = if role.kind == Kind::Rest { roles } else { rest };
        if let Some(mut others) = matched(rest, places, named, at + 1) {
            others.insert(0, role);
            return Some(others);
        }
    }
    if role.optional || role.kind == Kind::Rest { matched(rest, places, named, at) } else { None }
}

/// Whether a role may be that of a place.
fn fits(role: &Role, place: &Slot, named: &[Named]) -> bool {
    let predicates = !named.is_empty() && named.iter().all(|it| it.class.is_predicate() && !it.bracketed);
    let address = named.iter().any(|it| it.bracketed) || place.has("[");
    match role.kind {
        Kind::Value => {
            let constant = place.has("c[") || place.has("cx[");
            !predicates && (constant || !address) && !place.has_word("PR")
        }
        Kind::Predicate => predicates || named.is_empty() && (place.has_word("PT") || place.has_word("UPT")),
        Kind::Address => address,
        Kind::Barrier => !predicates && !address,
        Kind::Predicates => place.has_word("PR") || place.has_word("UPR"),
        Kind::Uniform => {
            !named.is_empty() && named.iter().all(|it| it.class == Class::Uniform && !it.bracketed)
        }
        Kind::Nothing => named.is_empty(),
        Kind::Rest => true,
    }
}

impl Part {
    fn text(text: &str) -> Part {
        Part { bits: Bits::default(), texts: vec![Some(text.to_owned())], number: false, suffix: false }
    }

    fn number(bits: Bits) -> Part {
        Part { bits, texts: Vec::new(), number: true, suffix: false }
    }

    fn listed(source: &Source, Listed { set, bits }: Listed) -> Part {
        let strings = source.sets[set as usize].strings.iter();
        let texts = strings.map(|it| it.as_ref().map(|it| it.to_string())).collect();
        Part { bits, texts, number: false, suffix: false }
    }

    /// For each code whether it has a text with a property.
    fn codes(&self, property: impl Fn(&str) -> bool) -> Values {
        let values = self.texts.iter().map(|it| u8::from(it.as_deref().is_some_and(&property)));
        Values { bits: self.bits, values: values.collect() }
    }

    fn any(&self, property: impl Fn(&str) -> bool) -> bool {
        self.texts.iter().flatten().any(|it| property(it))
    }
}

impl Cut {
    fn new(source: &Source, form: &Form) -> Cut {
        let mut cut = Cut { guard: None, head: Vec::new(), places: Vec::new() };
        let mut depth = 0usize;
        for piece in &form.pieces {
            for part in parts(source, piece) {
                cut.add(part, &mut depth);
            }
        }
        cut
    }

    /// Adds a part, cut where its texts begin the operands or have commas outside brackets and braces.
    fn add(&mut self, part: Part, depth: &mut usize) {
        if part.number {
            if let Some(place) = self.places.last_mut() {
                place.parts.push(part);
            }
            return;
        }
        if part.any(|it| it.starts_with('@')) {
            self.guard = Some(part);
            return;
        }
        let begun = !self.places.is_empty();
        let cuts: Vec<Option<(Vec<String>, usize)>> =
            part.texts.iter().map(|text| text.as_deref().map(|text| cut_text(text, begun, *depth))).collect();
        *depth = cuts.iter().flatten().map(|it| it.1).next().unwrap_or(*depth);
        let most = cuts.iter().flatten().map(|it| it.0.len()).max().unwrap_or(0);
        for nth in 0..most {
            let texts: Vec<Option<String>> =
                cuts.iter().map(|it| it.as_ref().and_then(|it| it.0.get(nth).cloned())).collect();
            let part = Part { texts, ..part.clone() };
            match (nth, self.places.last_mut()) {
                (0, None) => self.head.push(part),
                (0, Some(place)) => place.parts.push(part),
                _ => self.places.push(Slot { parts: vec![part] }),
            }
        }
    }

    /// What a role makes of a place beyond its registers: a constant's bank, a barrier's number, the predicates of a mask.
    fn special(&self, at: usize, role: &Role) -> Option<(Class, Values)> {
        match role.kind {
            Kind::Value => {
                let parts = &self.places[at].parts;
                let opened = parts.iter().position(|it| it.any(|text| text.ends_with("c[")))?;
                let bank = parts.get(opened + 1).filter(|it| it.number && it.bits.width() <= 8)?;
                let values = (0..1u16 << bank.bits.width()).map(|it| it as u8).collect();
                Some((Class::Constant, Values { bits: bank.bits, values }))
            }
            Kind::Barrier => {
                let number =
                    |it: &str| it.trim().strip_prefix("0x").and_then(|it| u8::from_str_radix(it, 16).ok());
                let said = |part: &&Part| part.number || part.any(|it| number(it).is_some());
                let part = self.places[at].parts.iter().filter(|it| it.bits.width() <= 8).find(said)?;
                let values = match part.number {
                    true => (0..1u16 << part.bits.width()).map(|it| it as u8).collect(),
                    false => {
                        part.texts.iter().map(|it| it.as_deref().and_then(number).unwrap_or(ABSENT)).collect()
                    }
                };
                Some((Class::Barrier, Values { bits: part.bits, values }))
            }
            Kind::Predicates => {
                let uniform = self.places[at].has_word("UPR");
                let class = if uniform { Class::UniformPredicates } else { Class::Predicates };
                let mask = self.places.last().and_then(|it| it.parts.iter().find(|it| it.number));
                let all = Values::always(0x7f);
                let values =
                    mask.map_or(all, |part| Values { bits: part.bits.low(7), values: (0..0x80).collect() });
                Some((class, values))
            }
            _ => None,
        }
    }

    /// How many registers an operand has.
    fn width(&self, role: &Role, named: &Named, roles: &Roles) -> Result<Values, String> {
        if named.class.is_predicate() {
            return Ok(Values::always(1));
        }
        // A constant's address is no part of the value.
        let constant = named.bracketed && role.kind != Kind::Address;
        let by_rule = if constant { Values::always(1) } else { self.by_role(role, roles)? };
        let Some(around) = &named.around else { return Ok(by_rule) };
        // What stands around it wins where it says something.
        let bits = around.bits.and_then(by_rule.bits).filter(|it| it.width() <= MOST_BITS);
        let bits = bits.ok_or("too many bits say how many registers an operand has")?;
        let low = around.bits.width();
        let values = (0..1usize << bits.width()).map(|code| match around.values[code & ((1 << low) - 1)] {
            0 => by_rule.values[code >> low],
            said => said,
        });
        Ok(Values { bits, values: values.collect() })
    }

    /// How many registers a role has by itself.
    fn by_role(&self, role: &Role, roles: &Roles) -> Result<Values, String> {
        match &role.count {
            Count::Fixed(count) => Ok(Values::always(*count)),
            Count::Width(name) => {
                self.by_words(roles.width(name).ok_or_else(|| format!("there is no width {name}"))?)
            }
        }
    }

    /// What a width says for every code of the fields whose words matter to it.
    fn by_words(&self, rule: &Width) -> Result<Values, String> {
        if let Width::Ones(mask) = rule {
            return self.by_mask(rule, *mask);
        }
        let parts =
            self.head.iter().chain(self.places.iter().flat_map(Slot::outside)).filter(|it| !it.number);
        // For each part its field and the words that matter.
        let said: Vec<(Bits, Vec<Option<Vec<&str>>>)> = parts
            .map(|part| {
                let texts = part
                    .texts
                    .iter()
                    .map(|text| text.as_ref().map(|it| words(it).filter(|it| rule.cares_for(it)).collect()));
                reduced(part.bits, texts.collect())
            })
            .collect();
        let mut bits = Bits::default();
        let mut shifts: Vec<(Bits, u32)> = Vec::new();
        for (field, _) in said.iter().filter(|it| it.0.width() > 0) {
            if shifts.iter().all(|it| it.0 != *field) {
                shifts.push((*field, bits.width()));
                let more = bits.and_then(*field).filter(|it| it.width() <= MOST_BITS);
                bits = more.ok_or("too many modifiers say how many registers an operand has")?;
            }
        }
        let value = |code: usize| {
            let words = said.iter().flat_map(|(field, texts)| {
                let shift = shifts.iter().find(|it| it.0 == *field).map_or(0, |it| it.1);
                texts[code >> shift & ((1 << field.width()) - 1)].iter().flatten().copied()
            });
            rule.of(&words.collect::<Vec<&str>>(), 0)
        };
        Ok(Values { bits, values: (0..1usize << bits.width()).map(value).collect() })
    }
}

impl Cut {
    /// What a width says for every code of the operand that is a number by itself.
    fn by_mask(&self, rule: &Width, mask: u64) -> Result<Values, String> {
        // For each code of the place what it is as a number, if it is nothing but that.
        let number = |place: &Slot| {
            let blank = |part: &&Part| !part.number && !part.any(|text| !text.trim().is_empty());
            let mut parts = place.parts.iter().filter(|part| !blank(part));
            let part = parts.next().filter(|part| part.bits.width() <= MOST_BITS)?;
            let read = |text: &Option<String>| {
                u64::from_str_radix(text.as_deref()?.trim().strip_prefix("0x")?, 16).ok()
            };
            let codes: Vec<Option<u64>> = match part.number {
                true => (0..1 << part.bits.width()).map(Some).collect(),
                false => part.texts.iter().map(read).collect(),
            };
            (parts.next().is_none() && codes.iter().any(Option::is_some)).then_some((part.bits, codes))
        };
        let mut numbers = self.places.iter().filter_map(number);
        let (bits, codes) =
            numbers.next_back().ok_or("no operand is a number, by whose ones registers are counted")?;
        let said = codes.into_iter().map(|code| code.map(|code| rule.of(&[], code & mask)));
        let (bits, said) = reduced(bits, said.collect());
        Ok(Values { bits, values: said.into_iter().map(Option::unwrap_or_default).collect() })
    }
}

/// A field and what it says, without the bits that do not matter; what illegal codes say, `None`, matters not.
fn reduced<T: Clone + PartialEq>(bits: Bits, mut said: Vec<Option<T>>) -> (Bits, Vec<Option<T>>) {
    let mut kept: Vec<(u8, u8)> = Vec::new();
    let places = bits.runs().iter().flat_map(|&(low, len)| low..low + len);
    for place in places {
        let bit = 1usize << kept.len();
        let same = |code: usize| match (&said[code], &said[code | bit]) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        let without: Vec<usize> = (0..said.len()).filter(|code| code & bit == 0).collect();
        if without.iter().all(|&code| same(code)) {
            said =
                without.iter().map(|&code| said[code].clone().or_else(|| said[code | bit].clone())).collect();
        } else {
            kept.push((place, 1));
        }
    }
    let mut bits = Bits::default();
    for (place, len) in kept {
        // No more runs than the field had bits.
        let _ = bits.push(place, len);
    }
    (bits, said)
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').filter(|it| !it.is_empty())
}

/// A text cut at its first blank, if the operands have not begun, and at commas outside brackets; and how deep it is in them at its end.
fn cut_text(text: &str, begun: bool, mut depth: usize) -> (Vec<String>, usize) {
    let mut cuts = vec![String::new()];
    let mut begun = begun;
    for letter in text.chars() {
        match letter {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !begun && letter == ' ' || begun && letter == ',' && depth == 0 {
            begun = true;
            cuts.push(String::new());
        } else if let Some(last) = cuts.last_mut() {
            last.push(letter);
        }
    }
    (cuts, depth)
}

/// What a piece prints, in parts.
fn parts(source: &Source, piece: &Piece) -> Vec<Part> {
    match piece {
        Piece::Text(text) => vec![Part::text(text)],
        Piece::Set(field) => vec![Part::listed(source, *field)],
        Piece::Hex { bits, .. } | Piece::Relative { bits, .. } | Piece::Float { bits, .. } => {
            vec![Part::number(*bits)]
        }
        Piece::Memory(memory) => {
            let Memory { register, suffix, uniform, offset, .. } = **memory;
            let mut parts = Vec::new();
            parts.extend(register.map(|field| Part::listed(source, field)));
            parts.extend(suffix.map(|field| Part { suffix: true, ..Part::listed(source, field) }));
            parts.extend(uniform.map(|_| Part::text("+")));
            parts.extend(uniform.map(|field| Part::listed(source, field)));
            parts.extend(offset.map(Part::number));
            parts
        }
    }
}

impl Slot {
    /// What stands outside brackets: what is said in an address is said of the address.
    fn outside(&self) -> impl Iterator<Item = &Part> {
        let mut depth = 0usize;
        self.parts.iter().filter(move |part| {
            let text = part.texts.iter().flatten().next().map_or("", |it| it.as_str());
            let before = depth;
            depth = (depth + text.matches('[').count()).saturating_sub(text.matches(']').count());
            before == 0 && depth == 0
        })
    }

    fn has(&self, what: &str) -> bool {
        let text: String = self
            .parts
            .iter()
            .filter_map(|it| it.texts.iter().flatten().next())
            .map(|it| it.as_str())
            .collect();
        text.contains(what)
    }

    fn has_word(&self, what: &str) -> bool {
        self.parts.iter().any(|part| part.any(|text| words(text).any(|it| it == what)))
    }

    /// The registers in it.
    fn named(&self) -> Vec<Named> {
        let mut all: Vec<Named> = Vec::new();
        let mut before = String::new();
        for (at, part) in self.parts.iter().enumerate() {
            if part.number {
                before.push('0');
                continue;
            }
            let names: Vec<Option<(Class, u8)>> =
                part.texts.iter().map(|it| it.as_deref().and_then(|it| register_of(it, &before))).collect();
            let bracketed = before.matches('[').count() > before.matches(']').count()
                || part.any(|it| it.find('[').is_some_and(|open| it[open..].contains('R')));
            let next = self.parts.get(at + 1);
            // A field may have registers of two classes.
            let classes: BTreeSet<Class> =
                names.iter().flatten().filter(|it| it.1 != ABSENT).map(|it| it.0).collect();
            for class in classes {
                let own = |it: &Option<(Class, u8)>| it.filter(|it| it.0 == class).map_or(ABSENT, |it| it.1);
                let number = Values { bits: part.bits, values: names.iter().map(own).collect() };
                let around = bracketed.then(|| around(&before, part, next)).flatten();
                // Signs may stand between a register and its flag.
                let mut behind = self.parts[at + 1..].iter();
                let reuse = behind.find(|it| it.any(|it| it.contains(".reuse")));
                let reuse = reuse.map(|it| it.codes(|text| text.contains(".reuse")));
                all.push(Named { class, bracketed, around, number, reuse });
            }
            before.push_str(part.texts.iter().flatten().max_by_key(|it| it.len()).map_or("", |it| it));
        }
        all
    }
}

/// How many registers one in brackets is, if what stands before it or behind it says so: 0 where it does not.
fn around(before: &str, part: &Part, next: Option<&Part>) -> Option<Values> {
    let own = |count: u8| Some(Values::always(count));
    let opened = before.rfind('[').map_or("", |open| &before[..open]).trim_end();
    let inside = before.rfind('[').map_or("", |open| &before[open + 1..]);
    match opened.rsplit(|it: char| !it.is_ascii_alphanumeric()).next() {
        Some("desc") if inside.is_empty() => return own(2),
        Some("cx") if inside.is_empty() => return own(2),
        _ => {}
    }
    let said = |text: &str| match text {
        _ if text.contains(".64") => 2,
        _ if text.contains(".U32") || text.contains(".X") => 1,
        _ => 0,
    };
    if inside.contains(".64") && inside.ends_with('+') {
        return own(2);
    }
    if part.any(|it| said(it) > 0) {
        return Some(spoken(part, said));
    }
    let next = next.filter(|it| it.suffix || it.bits.width() == 0)?;
    next.any(|it| said(it) > 0).then(|| spoken(next, said))
}

/// What the texts of a part say, without the bits that do not matter.
fn spoken(part: &Part, said: impl Fn(&str) -> u8) -> Values {
    let (bits, values) = reduced(part.bits, part.texts.iter().map(|it| it.as_deref().map(&said)).collect());
    Values { bits, values: values.into_iter().map(Option::unwrap_or_default).collect() }
}

/// The register at the end of what a part prints: its class and number, with `before` in front of it.
fn register_of(text: &str, before: &str) -> Option<(Class, u8)> {
    let text = text.trim();
    let start = text.find(|it: char| it.is_ascii_alphanumeric())?;
    let word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    if start == 0 && before.ends_with(|it: char| word(it) || it == '.') || text[..start].contains('.') {
        return None;
    }
    let end = text[start..].find(|it| !word(it)).map_or(text.len(), |len| start + len);
    let negated = text[..start].contains('!');
    if text[end..].starts_with('[') {
        return register_of(&text[end + 1..], "[");
    }
    name_of(&text[start..end]).map(|(class, number)| match class.is_predicate() && negated {
        true => (class, number | NEGATED),
        false => (class, number),
    })
}

fn name_of(word: &str) -> Option<(Class, u8)> {
    let stem = word.trim_end_matches(|it: char| it.is_ascii_digit());
    let number = || word[stem.len()..].parse().ok();
    Some(match stem {
        "R" => (Class::Register, number()?),
        "UR" => (Class::Uniform, number()?),
        "P" => (Class::Predicate, number()?),
        "UP" => (Class::UniformPredicate, number()?),
        "B" => (Class::Convergence, number()?),
        "SB" => (Class::Scoreboard, number()?),
        "RZ" => (Class::Register, ABSENT),
        "URZ" => (Class::Uniform, ABSENT),
        "PT" => (Class::Predicate, TRUE),
        "UPT" => (Class::UniformPredicate, TRUE),
        _ => return None,
    })
}

/// The guard's class and numbers: what prints nothing is PT.
fn predicate_of(part: &Part) -> (Class, Values) {
    let uniform = part.any(|it| it.contains("UP"));
    let class = if uniform { Class::UniformPredicate } else { Class::Predicate };
    let of = |text: &Option<String>| match text.as_deref() {
        None => ABSENT,
        Some(text) => register_of(text.trim_start_matches('@'), "").map_or(TRUE, |it| it.1),
    };
    (class, Values { bits: part.bits, values: part.texts.iter().map(of).collect() })
}
