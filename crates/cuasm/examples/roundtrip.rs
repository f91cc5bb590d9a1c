//! Development: disassembles and assembles files, and counts.
use ptx::source::Source;
fn main() {
    let (mut same, mut other) = (0, 0);
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        match cuasm::disassemble(&bytes) {
            Ok(text) => {
                let source = Source::new(path.clone(), text);
                match cuasm::assemble(&source) {
                    Ok(found) if found.bytes == bytes => same += 1,
                    Ok(found) => {
                        let at = found.bytes.iter().zip(&bytes).position(|(a, b)| a != b);
                        println!("{path}: differs at {at:x?}, {} and {} bytes", found.bytes.len(), bytes.len());
                        other += 1;
                    }
                    Err(list) => {
                        for d in list.iter().take(3) {
                            println!("{path}:{:?}: {} {} `{}`", source.line_column(d.span.start), d.code, d.message, source.slice(d.span));
                        }
                        other += 1;
                    }
                }
            }
            Err(error) => {
                println!("{path}: {error}");
                other += 1;
            }
        }
    }
    println!("{same} the same, {other} not");
}
