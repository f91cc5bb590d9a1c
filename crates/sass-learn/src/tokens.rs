//! Texts as tokens, with what depends on values made regular: inside brackets every term is present, numbers carry their
//! sign, a branch's target is an offset.

/// What an opcode's texts look like, found from samples before anything else is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Some memory operand begins with a register, so one without has the one there that stands for none.
    pub(crate) register: Option<&'static str>,
    /// The second bracket of a constant may begin with a register: the one that stands for none.
    pub(crate) index: Option<&'static str>,
    /// Some memory operand has an offset, so one without has 0 there.
    pub(crate) offset: bool,
    /// The bits of the offset, once known.
    pub(crate) offset_width: u32,
    /// The last number of the text is a target relative to the address.
    pub(crate) relative: bool,
    /// Some texts end with a number below 16 and some with none: it is printed like a modifier, as the components of a texture are.
    pub(crate) tail: bool,
}

impl Style {
    /// The style that these texts show.
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Style {
        let mut style = Style::default();
        let (mut with, mut without, mut wide) = (false, false, false);
        for text in texts {
            match text.rsplit_once(", ").map(|it| value(it.1)) {
                Some(Some(0..16)) => with = true,
                Some(Some(_)) => wide = true,
                _ => without = true,
            }
            for (at, _) in text.match_indices('[') {
                let inside = text[at + 1..].split(']').next().unwrap_or("");
                let constant = is_constant(text, at);
                let register = inside.starts_with('R');
                if constant {
                    if register {
                        style.index = Some("RZ");
                    } else if inside.starts_with("UR") && style.index.is_none() {
                        style.index = Some("URZ");
                    }
                } else if !is_bank(text, at) {
                    if register {
                        style.register = Some("RZ");
                    } else if inside.starts_with("UR") && style.register.is_none() {
                        style.register = Some("URZ");
                    }
                    style.offset |= inside.contains("+0x") || inside.contains("+-0x");
                }
            }
        }
        style.tail = with && without && !wide;
        style
    }
}

/// The bracket at this byte is the first of `c[..][..]` or `cx[..][..]`.
fn is_bank(text: &str, at: usize) -> bool {
    let before = &text[..at];
    before.ends_with("c[")
        || [" c", "-c", "|c", "~c", " cx", "-cx", "|cx", "~cx"].iter().any(|it| before.ends_with(it))
}

/// The bracket at this byte is the second of `c[..][..]`.
fn is_constant(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end();
    before.ends_with(']') && before.rfind('[').is_some_and(|open| is_bank(text, open))
}

/// The kind of number that a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Hex,
    Offset,
    Float,
}

/// What kind of number the token is, if one.
pub(crate) fn number(token: &str) -> Option<Number> {
    if token.starts_with("+0x") || token.starts_with("+-0x") {
        Some(Number::Offset)
    } else if token.starts_with("0x") || token.starts_with("-0x") {
        Some(Number::Hex)
    } else if is_named_float(token) || token.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
    {
        token.bytes().all(|it| it.is_ascii_digit() || b"+-.eINFQASD".contains(&it)).then_some(Number::Float)
    } else {
        None
    }
}

fn is_named_float(token: &str) -> bool {
    matches!(token, "+INF" | "-INF" | "+QNAN" | "-QNAN" | "+SNAN" | "-SNAN" | "-0.0")
}

/// The value of a hexadecimal token.
pub(crate) fn value(token: &str) -> Option<i128> {
    let token = token.strip_prefix('+').unwrap_or(token);
    let (negative, token) = token.strip_prefix('-').map_or((false, token), |it| (true, it));
    let value = i128::from(u64::from_str_radix(token.strip_prefix("0x")?, 16).ok()?);
    Some(if negative { -value } else { value })
}

/// A number as a token of this kind.
pub(crate) fn spell(value: i128, kind: Number) -> String {
    let plus = if kind == Number::Offset { "+" } else { "" };
    let sign = if value < 0 { "-" } else { "" };
    format!("{plus}{sign}{:#x}", value.unsigned_abs())
}

/// The tokens of a text that was printed for the address. The first is the guard with its blank, or empty.
pub(crate) fn tokens(text: &str, address: u64, style: &Style) -> Vec<String> {
    let guard = if text.starts_with('@') { text.find(' ').map_or(0, |it| it + 1) } else { 0 };
    let mut tokens = vec![text[..guard].to_string()];
    split(&text[guard..], style, &mut tokens);
    if style.relative
        && let Some(last) = tokens.iter_mut().rev().find(|it| number(it) == Some(Number::Hex))
        && let Some(to) = value(last)
    {
        let offset = (to as u64).wrapping_sub(address.wrapping_add(16)) as i64;
        *last = spell(i128::from(offset), Number::Hex);
    }
    if style.tail
        && let [.., comma, last] = &mut tokens[..]
        && comma == ", "
        && number(last) == Some(Number::Hex)
    {
        comma.push_str(last);
        tokens.pop();
    }
    tokens
}

fn split(text: &str, style: &Style, tokens: &mut Vec<String>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let len = token_len(text, at);
        let token = &text[at..at + len];
        if token == "[" && !is_bank(text, at) {
            let constant = is_constant(text, at);
            let end = text[at..].find(']').map_or(text.len(), |it| at + it);
            // `desc[UR4][R2.64]`: the first bracket holds a uniform register and nothing else.
            let descriptor = !constant && text[end..].starts_with("][");
            let memory = match (constant, descriptor) {
                (true, _) => style.index.is_some(),
                (false, true) => false,
                (false, false) => style.register.is_some() || style.offset,
            };
            if memory {
                tokens.push("[".to_string());
                split_memory(&text[at + 1..end], constant, style, tokens);
                at = end;
                continue;
            }
        }
        at += len;
        if is_named_float(token) && bytes.get(at) == Some(&b' ') {
            at += 1;
        }
        tokens.push(token.to_string());
    }
}

/// Whether a token is R5, RZ, UR5, URZ or ???255, a register that an operand cannot be; perhaps as a term of a sum.
pub(crate) fn is_register(token: &str) -> bool {
    let name = token.trim_start_matches('+');
    let register = name.strip_prefix('U').unwrap_or(name).strip_prefix('R');
    let digits = register.or_else(|| name.strip_prefix("???")).unwrap_or("");
    digits == "Z" || !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit())
}

/// Whether tokens are of one form: the same brackets, registers that are operands and kinds of number. Modifiers and predicates
/// do not count.
pub(crate) fn alike(one: &[String], other: &[String]) -> bool {
    let (one, other) = (skeleton(one), skeleton(other));
    // A register that an operand cannot be is of either kind.
    let same = |(a, b): (char, char)| a == b || a == '?' && "RU".contains(b) || b == '?' && "RU".contains(a);
    one.chars().count() == other.chars().count() && one.chars().zip(other.chars()).all(same)
}

fn skeleton(tokens: &[String]) -> String {
    let mut skeleton = String::new();
    let mut braces = false;
    for token in tokens.iter().skip(1) {
        let name = token.trim_start_matches('+');
        match (token.as_str(), number(token)) {
            ("{" | "}", _) => braces = token == "{",
            ("[" | "]" | "desc" | "gdesc" | "c" | "cx", _) => skeleton.push_str(token),
            (_, Some(kind)) if !braces => skeleton.push(if kind == Number::Float { '.' } else { '0' }),
            _ if is_register(token) => skeleton.extend(name.chars().next()),
            _ => {}
        }
    }
    skeleton
}

/// The inside of a memory operand, each term present.
fn split_memory(inside: &str, constant: bool, style: &Style, tokens: &mut Vec<String>) {
    let mut offset = None;
    let mut terms = Vec::new();
    for term in inside.split('+') {
        match value(term) {
            Some(number) => offset = Some(number),
            None => terms.push(term),
        }
    }
    let none = if constant { style.index } else { style.register };
    let register = none.is_some();
    let stem = none.map_or("R", |it| it.trim_end_matches('Z'));
    if let Some(none) = none
        && !terms.first().is_some_and(|it| it.starts_with(stem) || it.starts_with('?'))
    {
        tokens.push(none.to_string());
        if terms.is_empty()
            && !constant
            && style.offset_width > 0
            && let Some(number) = &mut offset
            && *number >> (style.offset_width - 1) == 1
        {
            *number -= 1 << style.offset_width;
        }
    }
    for (nth, term) in terms.iter().enumerate() {
        let name = term.split('.').next().unwrap_or("");
        let joined = nth > 0 || register && !(name.starts_with(stem) || name.starts_with('?'));
        tokens.push(format!("{}{name}", if joined { "+" } else { "" }));
        for suffix in term.split('.').skip(1) {
            tokens.push(format!(".{suffix}"));
        }
    }
    if style.offset || constant || offset.is_some() {
        tokens.push(spell(offset.unwrap_or(0), Number::Offset));
    }
}

fn token_len(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    let word = |from: usize| {
        rest[from..]
            .iter()
            .take_while(|it| it.is_ascii_alphanumeric() || **it == b'_' || **it == b'?')
            .count()
    };
    match rest[0] {
        b',' if rest.get(1) == Some(&b' ') => 2,
        b'.' => 1 + word(1),
        b'-' if rest[1..].starts_with(b"0x") => 1 + word(1),
        b'-' if rest.get(1).is_some_and(u8::is_ascii_digit) => 1 + float_len(&rest[1..]).max(1),
        b'+' | b'-' if ["INF", "QNAN", "SNAN"].iter().any(|it| rest[1..].starts_with(it.as_bytes())) => {
            1 + word(1)
        }
        b'0'..=b'9' if !rest.starts_with(b"0x") => {
            let float = float_len(rest);
            if word(0) > float { word(0) } else { float }
        }
        it if it.is_ascii_alphanumeric() || it == b'?' || it == b'_' => word(0),
        _ => text[at..].chars().next().map_or(1, char::len_utf8),
    }
}

fn float_len(rest: &[u8]) -> usize {
    let digits = |from: usize| rest[from..].iter().take_while(|it| it.is_ascii_digit()).count();
    let mut len = digits(0);
    if rest.get(len) == Some(&b'.') && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
        if rest.get(len) == Some(&b'e') && rest.get(len + 1).is_some_and(|it| b"+-".contains(it)) {
            len += 2 + digits(len + 2);
        }
    } else if rest.get(len) == Some(&b'e') && rest.get(len + 1).is_some_and(|it| b"+-".contains(it)) {
        len += 2 + digits(len + 2);
    }
    len
}
