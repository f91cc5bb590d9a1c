//! Development: prints a cubin as text.
fn main() {
    let path = std::env::args().nth(1).unwrap();
    print!("{}", cuasm::disassemble(&std::fs::read(&path).unwrap()).unwrap());
}
