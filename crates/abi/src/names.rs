//! Names as C++ mangles them (Itanium C++ ABI, which device code follows).

/// A name as C++ writes it, or as it is. ABI tags are left out: no source spells them, and Numba keeps its flags there, 100 characters.
pub fn demangled(name: &str) -> String {
    let symbol = if name.starts_with("_Z") { cpp_demangle::Symbol::new(name).ok() } else { None };
    symbol.and_then(|symbol| symbol.demangle().ok()).map_or_else(|| name.to_owned(), |name| untagged(&name))
}

/// A demangled name without its ABI tags.
fn untagged(name: &str) -> String {
    let mut parts = name.split("[abi:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| before + part.split_once(']').map_or("", |(_, behind)| behind))
}

/// A text in which every mangled name stands as C++ writes it.
pub fn demangled_within(text: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_name) {
        let (before, from) = rest.split_at(start);
        let (word, behind) = from.split_at(from.find(|c| !is_of_name(c)).unwrap_or(from.len()));
        written.push_str(before);
        written.push_str(&demangled(word));
        rest = behind;
    }
    written + rest
}

#[cfg(test)]
mod tests {
    use super::{demangled, demangled_within};

    #[test]
    fn names_within_a_text_are_written_too() {
        let text = "kernel _Z3sumPiPKii, at ptx:3: call _Z1fv; in k_Z1fv";
        let expected = "kernel sum(int*, int const*, int), at ptx:3: call f(); in k_Z1fv";
        assert_eq!(demangled_within(text), expected);
        assert_eq!(["", "nothing", "é _Zx"].map(demangled_within), ["", "nothing", "é _Zx"]);
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("_Z5scaleILi4EEvPfi"), "void scale<4>(float*, int)");
        assert_eq!(["k", "_Zx", "_Z"].map(demangled), ["k", "_Zx", "_Z"]);
        // Numba's, with two tags.
        assert_eq!(demangled("_ZN4test7reverseB2v1B3cw5E5ArrayIiLi1EE"), "test::reverse(Array<int, 1>)");
    }
}
