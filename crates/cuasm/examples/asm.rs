//! Development: assembles a text.
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let source = ptx::source::Source::new(path.clone(), std::fs::read_to_string(&path).unwrap());
    match cuasm::assemble(&source) {
        Ok(found) => std::fs::write(std::env::args().nth(2).unwrap(), found.bytes).unwrap(),
        Err(list) => {
            for d in list {
                println!("{path}:{:?}: {} {} `{}`", source.line_column(d.span.start), d.code, d.message, source.slice(d.span));
            }
        }
    }
}
