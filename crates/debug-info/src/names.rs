//! Names as the author of a program knows them.

/// A name as it was written in C++, if it is mangled as the Itanium C++ ABI says.
pub fn demangled(name: &str) -> String {
    let symbol = if name.starts_with("_Z") { cpp_demangle::Symbol::new(name).ok() } else { None };
    symbol.and_then(|symbol| symbol.demangle().ok()).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_read() {
        assert_eq!(demangled("_Z5scaleILi4EEvPfi"), "void scale<4>(float*, int)");
        assert_eq!(["k", "_Zx", "_Z"].map(demangled), ["k", "_Zx", "_Z"]);
    }
}
