//! Which parameters of a kernel are addresses.

use crate::compile::module;
use ir::pointers::pointers;

/// Each address is found however it reaches its access, and no number is.
#[test]
fn addresses_are_told_from_numbers() {
    let module = module(
        ".visible .entry k(.param .u64 plain, .param .u64 count, .param .align 8 .b8 both[24], .param .u32 small, .param .u64 chosen, .param .u64 other)
        {
        .reg .pred %p<2>;
        .reg .b32 %r<4>;
        .reg .b64 %rd<16>;
        ld.param.u64 %rd1, [plain];
        ld.param.u64 %rd2, [count];
        ld.param.v2.u64 {%rd3, %rd4}, [both];
        ld.param.u64 %rd5, [both+16];
        ld.param.u32 %r1, [small];
        ld.param.u64 %rd6, [chosen];
        ld.param.u64 %rd7, [other];
        cvta.to.global.u64 %rd8, %rd1;
        mul.wide.u32 %rd9, %r1, 4;
        add.s64 %rd10, %rd8, %rd9;
        ld.global.u32 %r2, [%rd10];
        setp.lt.u64 %p1, %rd2, 7;
        mad.lo.u64 %rd11, %rd2, 8, %rd4;
        st.global.u64 [%rd11], %rd3;
        selp.b64 %rd12, %rd6, %rd7, %p1;
        red.global.add.u32 [%rd12], %r2;
        st.shared.u64 [%rd5], %rd2;
        ret;
        }",
    );
    let function = ir::Function::lower(&module, module.function("k").expect("k")).expect("a body");
    let found: Vec<(String, u64)> = pointers(&function)
        .into_iter()
        .map(|pointer| (module.variables[pointer.parameter.index()].name.clone(), pointer.offset))
        .collect();
    let expected = [("plain", 0), ("both", 8), ("chosen", 0), ("other", 0)];
    assert_eq!(found, expected.map(|(name, offset)| (name.to_owned(), offset)));
}
