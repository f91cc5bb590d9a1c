//! Texts as tokens, with what depends on values made regular: inside brackets every term is present, numbers carry their
//! sign, a branch's target is an offset.

/// What an opcode's texts look like, found from samples before anything else is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Some memory operand begins with a register, so one without has RZ there.
    pub(crate) register: bool,
    /// The second bracket of a constant may begin with a register.
    pub(crate) indexed_constant: bool,
    /// Some memory operand has an offset, so one without has 0 there.
    pub(crate) offset: bool,
    /// The bits of the offset, once known.
    pub(crate) offset_width: u32,
    /// The last number of the text is a target relative to the address.
    pub(crate) relative: bool,
}

impl Style {
    /// The style that these texts show.
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Style {
        let mut style = Style::default();
        for text in texts {
            for (at, _) in text.match_indices('[') {
                let inside = text[at + 1..].split(']').next().unwrap_or("");
                let constant = is_constant(text, at);
                let register = inside.starts_with('R');
                if constant {
                    style.indexed_constant |= register;
                } else if !is_bank(text, at) {
                    style.register |= register;
                    style.offset |= inside.contains("+0x") || inside.contains("+-0x");
                }
            }
        }
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

/// The tokens of a text that was printed for the address.
pub(crate) fn tokens(text: &str, address: u64, style: &Style) -> Vec<String> {
    let mut tokens = split(text, style);
    if style.relative
        && let Some(last) = tokens.iter_mut().rev().find(|it| number(it) == Some(Number::Hex))
        && let Some(to) = value(last)
    {
        let offset = (to as u64).wrapping_sub(address.wrapping_add(16)) as i64;
        *last = spell(i128::from(offset), Number::Hex);
    }
    tokens
}

fn split(text: &str, style: &Style) -> Vec<String> {
    let bytes = text.as_bytes();
    let mut tokens: Vec<String> = Vec::new();
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
                (true, _) => style.indexed_constant,
                (false, true) => false,
                (false, false) => style.register || style.offset,
            };
            if memory {
                tokens.push("[".to_string());
                split_memory(&text[at + 1..end], constant, style, &mut tokens);
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
    tokens
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
    let register = if constant { style.indexed_constant } else { style.register };
    if register && !terms.first().is_some_and(|it| it.starts_with('R') || it.starts_with('?')) {
        tokens.push("RZ".to_string());
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
        let joined = nth > 0 || register && !(name.starts_with('R') || name.starts_with('?'));
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
