//! A case: one instruction on one texture or surface.

use std::collections::HashMap;

/// A case.
#[derive(Debug)]
pub struct Case {
    line: String,
    values: HashMap<String, String>,
}

impl Case {
    /// Reads a case.
    ///
    /// # Panics
    /// If it is none.
    pub fn parse(line: &str) -> Self {
        let pairs = line.split(' ').map(|word| word.split_once('=').expect("key=value"));
        let values = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        Self { line: line.to_owned(), values }
    }

    /// A value, if the case has it.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// A value that every case has.
    ///
    /// # Panics
    /// If it is not there.
    pub fn text(&self, key: &str) -> &str {
        self.get(key).unwrap_or_else(|| panic!("no {key} in {}", self.line))
    }

    /// A number; zero if it is not there.
    ///
    /// # Panics
    /// If it is no number.
    pub fn number(&self, key: &str) -> u64 {
        self.get(key).map_or(0, |text| text.parse().expect("a number"))
    }

    /// A float; zero if it is not there.
    ///
    /// # Panics
    /// If it is no number.
    pub fn float(&self, key: &str) -> f32 {
        self.get(key).map_or(0.0, |text| text.parse().expect("a number"))
    }

    /// The PTX of the case: 16 words in and 5 out for each thread.
    pub fn kernel(&self) -> String {
        let post = match self.get("dst").unwrap_or("w") {
            "h4" => "cvt.u32.u16 %d0, %h0; cvt.u32.u16 %d1, %h1; cvt.u32.u16 %d2, %h2; cvt.u32.u16 %d3, %h3;",
            "d2" => "mov.b64 {%d0,%d1}, %w0; mov.b64 {%d2,%d3}, %w1;",
            _ => "",
        };
        format!(
            ".version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .b64 tex, .param .b64 surf, .param .b64 in, .param .b64 out, .param .b32 n, .param .b32 step)
{{
.reg .b64 %t, %s, %a, %o, %w<8>; .reg .b32 %c<16>, %d<8>, %i, %n, %m; .reg .b16 %h<8>; .reg .pred %p, %q;
ld.param.b64 %t, [tex]; ld.param.b64 %s, [surf];
ld.param.b32 %n, [n]; ld.param.b32 %m, [step];
mov.u32 %i, %ctaid.x; mov.u32 %d0, %tid.x; mad.lo.u32 %i, %i, 128, %d0;
loop:
setp.ge.u32 %p, %i, %n; @%p ret;
ld.param.b64 %a, [in]; mad.wide.u32 %a, %i, 64, %a;
ld.param.b64 %o, [out]; mad.wide.u32 %o, %i, 20, %o;
ld.global.v4.b32 {{%c0,%c1,%c2,%c3}}, [%a]; ld.global.v4.b32 {{%c4,%c5,%c6,%c7}}, [%a+16];
ld.global.v4.b32 {{%c8,%c9,%c10,%c11}}, [%a+32]; ld.global.v4.b32 {{%c12,%c13,%c14,%c15}}, [%a+48];
mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0; mov.b32 %d4, 0;
mov.b64 %w0, {{%c8,%c9}}; mov.b64 %w1, {{%c10,%c11}};
cvt.u16.u32 %h0, %c8; cvt.u16.u32 %h1, %c9; cvt.u16.u32 %h2, %c10; cvt.u16.u32 %h3, %c11;
setp.ne.u32 %q, 0, 0;
{op} {args};
{post}
selp.b32 %d4, 1, 0, %q;
st.global.b32 [%o], %d0; st.global.b32 [%o+4], %d1; st.global.b32 [%o+8], %d2; st.global.b32 [%o+12], %d3;
st.global.b32 [%o+16], %d4;
add.u32 %i, %i, %m; setp.ne.u32 %p, %m, 0; @%p bra loop;
ret;
}}
",
            op = self.text("op"),
            args = self.text("args"),
        )
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.line)
    }
}
