//! Names as C++ mangles them (Itanium C++ ABI, which device code follows).

/// A name as C++ writes it, or as it is.
pub fn demangled(name: &str) -> String {
    let symbol = if name.starts_with("_Z") { cpp_demangle::Symbol::new(name).ok() } else { None };
    symbol.and_then(|symbol| symbol.demangle().ok()).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("_Z5scaleILi4EEvPfi"), "void scale<4>(float*, int)");
        assert_eq!(["k", "_Zx", "_Z"].map(demangled), ["k", "_Zx", "_Z"]);
    }
}
