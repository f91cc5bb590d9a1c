//! Random structures and unions as C text.

use fastrand::Rng;

/// What a batch of types is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flavor {
    /// Whether pointers have 64 bits, so that there is `__int128`.
    pub(crate) wide: bool,
}

const INTEGERS: [(&str, u64); 13] = [
    ("bool", 1),
    ("char", 8),
    ("signed char", 8),
    ("unsigned char", 8),
    ("short", 16),
    ("unsigned short", 16),
    ("int", 32),
    ("signed", 32),
    ("unsigned", 32),
    ("long", 0),
    ("unsigned long", 0),
    ("long long", 64),
    ("unsigned long long", 64),
];

const OTHERS: [&str; 14] = [
    "float",
    "double",
    "void *",
    "const int *",
    "enum E",
    "enum N",
    "aint16",
    "aint1",
    "char2",
    "short4",
    "float2",
    "float3",
    "float4",
    "double2",
];

/// Declared before all structures: enumerations, and `typedef`s with alignments of their own.
pub(crate) const PRELUDE: &str = "\
enum E { e0, e3 = 3 };
enum N { n0 = -1, n1 };
typedef int aint16 __attribute__((aligned(16)));
typedef int aint1 __attribute__((aligned(1)));
";

/// A structure or union with this tag.
pub(crate) fn record(rng: &mut Rng, flavor: Flavor, tag: &str) -> String {
    let mut names = 0;
    let mut text = body(rng, flavor, tag, 0, &mut names, false);
    text.push_str(";\n");
    text
}

fn body(rng: &mut Rng, flavor: Flavor, tag: &str, depth: u32, names: &mut u32, anonymous: bool) -> String {
    let union = rng.u32(..4) == 0;
    let mut text = String::from(if union { "union " } else { "struct " });
    let attributes = attributes(rng);
    let before = rng.bool();
    if before {
        text.push_str(&attributes);
    }
    text.push_str(tag);
    text.push_str(" { ");
    let count = 1 + rng.u32(..if depth == 0 { 8 } else { 4 });
    for _ in 0..count {
        text.push_str(&member(rng, flavor, depth, names, anonymous));
    }
    text.push('}');
    if !before {
        text.push(' ');
        text.push_str(&attributes);
    }
    text
}

fn attributes(rng: &mut Rng) -> String {
    match rng.u32(..12) {
        0 => "__attribute__((packed)) ".into(),
        1 => format!("__attribute__((aligned({}))) ", 1 << rng.u32(..7)),
        2 => format!("__attribute__((packed, aligned({}))) ", 1 << rng.u32(..6)),
        _ => String::new(),
    }
}

fn name(names: &mut u32) -> String {
    *names += 1;
    format!("m{names}")
}

fn member(rng: &mut Rng, flavor: Flavor, depth: u32, names: &mut u32, anonymous: bool) -> String {
    match rng.u32(..10) {
        0..=3 if !anonymous => bit_field(rng, flavor, names),
        4 if depth < 2 => {
            // The members of one without a name are found by their offsets alone: none is a bit field.
            let without = rng.u32(..3) == 0;
            let inner = body(rng, flavor, "", depth + 1, names, anonymous || without);
            if without { format!("{inner}; ") } else { format!("{inner} {}{}; ", name(names), array(rng)) }
        }
        _ => {
            let ty = scalar(rng, flavor);
            let own = match rng.u32(..14) {
                0 => format!(" __attribute__((aligned({})))", 1 << rng.u32(..6)),
                1 => " __attribute__((packed))".to_owned(),
                _ => String::new(),
            };
            let (first, dimensions) = (name(names), array(rng));
            // No compiler takes elements that are aligned to more than their size.
            let dimensions = if ty == "aint16" { String::new() } else { dimensions };
            let second = if rng.u32(..6) == 0 && !ty.ends_with('*') {
                format!(", {}", name(names))
            } else {
                String::new()
            };
            format!("{ty} {first}{dimensions}{own}{second}; ")
        }
    }
}

fn array(rng: &mut Rng) -> String {
    match rng.u32(..8) {
        0 => format!("[{}]", 1 + rng.u32(..5)),
        1 => format!("[{}][{}]", 1 + rng.u32(..3), 1 + rng.u32(..3)),
        _ => String::new(),
    }
}

fn scalar(rng: &mut Rng, flavor: Flavor) -> &'static str {
    match rng.usize(..if flavor.wide { 28 } else { 27 }) {
        at @ 0..13 => INTEGERS[at].0,
        at @ 13..27 => OTHERS[at - 13],
        _ => "__int128",
    }
}

fn bit_field(rng: &mut Rng, flavor: Flavor, names: &mut u32) -> String {
    if rng.u32(..16) == 0 {
        return format!("enum E {} : {}; ", name(names), 2 + rng.u32(..31));
    }
    let (ty, bits) = rng.choice(INTEGERS).unwrap_or(INTEGERS[0]);
    let bits = if bits == 0 { if flavor.wide { 64 } else { 32 } } else { bits };
    match rng.u32(..8) {
        0 => format!("{ty} : 0; "),
        1 => format!("{ty} : {}; ", 1 + rng.u64(..bits)),
        _ => {
            let own = if rng.u32(..16) == 0 { " __attribute__((packed))" } else { "" };
            format!("{ty} {} : {}{own}; ", name(names), 1 + rng.u64(..bits))
        }
    }
}
