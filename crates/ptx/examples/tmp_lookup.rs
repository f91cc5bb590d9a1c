#![allow(missing_docs)]
use ptx::isa::*;
fn main() {
    let mut n = 0;
    for l in std::io::stdin().lines() {
        let l = l.unwrap();
        match lookup(&l) {
            Ok(v) => {
                n += 1;
                if std::env::args().count() > 1 {
                    for o in &v {
                        println!(
                            "{l} | {} | {:?}",
                            o.data().template,
                            o.operand_types()
                                .iter()
                                .map(|t| t.map_or("-".to_string(), |t| t.to_string()))
                                .collect::<Vec<_>>()
                                .join(" ")
                        );
                    }
                }
            }
            Err(e) => println!("{l}: {}", e.message(&l)),
        }
    }
    println!("{n} ok, {} forms", FORMS.len());
}
