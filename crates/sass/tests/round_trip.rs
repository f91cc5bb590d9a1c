//! Whatever a word is, its exact text gives it back.

use proptest::prelude::*;
use sass::{Arch, Control, NoSymbols, decode, parse};

fn arch() -> impl Strategy<Value = Arch> {
    proptest::sample::select(Arch::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn words_survive(arch in arch(), word: u128, address in 0u64..1 << 20) {
        let address = address * 16;
        if let Some(instruction) = decode(arch, word) {
            let mut text = String::new();
            instruction.print_exact(address, &mut text, |_, _| false);
            let again = parse(arch, &text, Control::of(word), address, &mut NoSymbols);
            prop_assert_eq!(again.map(|it| it.word()).map_err(|it| (it, text)), Ok(word));
        }
    }

    #[test]
    fn control_codes_survive(word: u128) {
        let control = Control::of(word);
        prop_assert_eq!(control.put(word), word);
        let text = control.to_string();
        prop_assert_eq!(text.parse::<Control>(), Ok(Control { reuse: 0, ..control }));
    }

    #[test]
    fn any_text_is_answered(text in "[@!P0-7 ]{0,5}[A-Z0-9.]{1,12} [-\\[\\]RUP0-9xZ+,. |~c`()]{0,40}") {
        let _ = parse(Arch::Sm90, &text, Control::default(), 0, &mut NoSymbols);
    }
}
