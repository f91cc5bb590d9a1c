"""The module, against NumPy and against what the command says of the same kernels."""

import array
import signal
import threading
import time

import numpy as np
import pytest

import warploom

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
SCALE = (
    HEAD
    + """
.visible .entry scale(.param .u64 data, .param .f32 by, .param .u32 n)
{
    .reg .pred %out;
    .reg .b32 %i, %n, %ctas;
    .reg .f32 %x, %by;
    .reg .b64 %p;
    ld.param.u64 %p, [data];
    ld.param.f32 %by, [by];
    ld.param.u32 %n, [n];
    mov.u32 %i, %tid.x;
    mov.u32 %ctas, %ctaid.x;
    mad.lo.u32 %i, %ctas, 128, %i;
    setp.ge.u32 %out, %i, %n;
    @%out bra DONE;
    mad.wide.u32 %p, %i, 4, %p;
    ld.global.f32 %x, [%p];
    mul.f32 %x, %x, %by;
    st.global.f32 [%p], %x;
DONE:
    ret;
}
"""
)
RACE = (
    HEAD
    + """
.visible .entry sum(.param .u64 to)
{
    .reg .b32 %x;
    .reg .b64 %p;
    ld.param.u64 %p, [to];
    ld.global.u32 %x, [%p];
    add.u32 %x, %x, 1;
    st.global.u32 [%p], %x;
    ret;
}
"""
)
FOREVER = HEAD + ".visible .entry spin()\n{\nAGAIN:\n    bra AGAIN;\n}\n"


def test_arrays_come_back():
    rng = np.random.default_rng(1)
    data = rng.standard_normal(1000, dtype=np.float32)
    expected = data * np.float32(1.5)
    launch = warploom.Module(SCALE).kernel().launch(8, 128, data, 1.5, len(data))
    np.testing.assert_array_equal(data, expected)
    assert launch.grid == (8, 1, 1) and launch.block == (128, 1, 1)
    assert launch.statistics is None and launch.findings is None


def test_configured_kernels_and_other_buffers():
    kernel = warploom.Module(SCALE)["scale"]
    numbers = array.array("f", [1, 2, 3])
    kernel[1, 128](numbers, 2, 3)
    assert numbers.tolist() == [2, 4, 6]
    view = memoryview(bytearray(np.ones(4, "f4").tobytes()))
    kernel[1, 128](view, np.float64(3), np.int64(4))
    assert np.frombuffer(view, "f4").tolist() == [3] * 4


def test_read_only_arrays_stay():
    data = np.ones(4, "f4")
    data.flags.writeable = False
    warploom.Module(SCALE)["scale"][1, 128](data, 2.0, 4)
    assert data.tolist() == [1] * 4


def test_statistics_count_every_warp():
    data = np.zeros(100, "f4")
    launch = warploom.Module(SCALE).kernel().launch(1, 128, data, 2.0, 100, stats=True)
    statistics = launch.statistics
    table = statistics.table()
    load = table["text"].index(next(text for text in table["text"] if "ld.global" in text))
    # 100 threads are three whole warps and four lanes of the last.
    assert table["warp_instructions"][load] == 4
    assert table["thread_instructions"][load] == 100
    assert table["sectors"][load] == 13
    assert statistics.total["divergent_branches"] == 1
    html = launch._repr_html_()
    assert "ld.global.f32" in html and "25.0" in html


def test_traces_have_a_line_for_each_warp_instruction():
    launch = warploom.Module(SCALE).kernel().launch(1, 32, np.zeros(32, "f4"), 2.0, 32, trace=True)
    assert len(launch.trace) == launch.warp_instructions
    assert "ld.param.u64" in launch.trace[0]


def test_races_are_found():
    launch = warploom.Module(RACE).kernel().launch(2, 1, np.zeros(1, "u4"), check="race")
    assert {finding.kind for finding in launch.findings} == {"race"}
    assert "st.global.u32" in str(launch.findings[0])
    assert "<iframe" in launch.findings._repr_html_()
    clean = warploom.Module(RACE).kernel().launch(1, 1, np.zeros(1, "u4"), check="all")
    assert clean.findings == []


def test_faults_say_where():
    module = warploom.Module(SCALE, name="scale.ptx")
    with pytest.raises(warploom.Fault) as stopped:
        module["scale"][1, 32](None, 2.0, 32)
    fault = stopped.value
    assert fault.kernel == "scale" and fault.block == (0, 0, 0)
    assert SCALE.splitlines()[fault.line - 1].strip().startswith("ld.global.f32")
    assert "scale.ptx:" in str(fault)
    # The module can go on.
    data = np.ones(1, "f4")
    module["scale"][1, 32](data, 2.0, 1)
    assert data[0] == 2


def test_launches_are_checked():
    kernel = warploom.Module(SCALE).kernel()
    with pytest.raises(warploom.LaunchError, match="2048|1024"):
        kernel[1, 2048](np.zeros(1, "f4"), 1.0, 1)
    with pytest.raises(TypeError, match="takes 3 arguments"):
        kernel[1, 32](1)
    with pytest.raises(TypeError, match="argument 1, by"):
        kernel[1, 32](np.zeros(1, "f4"), "two", 1)
    with pytest.raises(OverflowError, match="32 bits"):
        kernel[1, 32](np.zeros(1, "f4"), 1.0, 1 << 32)
    with pytest.raises(BufferError, match="contiguous"):
        kernel[1, 32](np.zeros((4, 4), "f4")[:, 1], 1.0, 4)
    with pytest.raises(ValueError, match="block"):
        kernel.launch(1)
    with pytest.raises(ValueError, match="no device `h300`"):
        warploom.Module(SCALE, device="h300")
    with pytest.raises(KeyError, match="scale"):
        warploom.Module(SCALE).kernel("scales")


def test_errors_are_objects():
    with pytest.raises(warploom.CompileError) as wrong:
        warploom.Module(SCALE.replace("mul.f32", "mull.f32"), name="x.ptx")
    (diagnostic,) = [d for d in wrong.value.diagnostics if d.severity == "error"]
    line = SCALE.splitlines()[diagnostic.start.line - 1]
    assert "mul.f32" in line and "mull" in diagnostic.text and "x.ptx:" in str(wrong.value)
    assert warploom.check(SCALE) == []


def test_ctrl_c_stops_a_kernel():
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        warploom.Module(FOREVER).kernel()[1, 1]()
    assert time.monotonic() - begun < 30


def test_other_threads_run_meanwhile():
    counted = 0
    over = threading.Event()

    def count():
        nonlocal counted
        while not over.is_set():
            counted += 1
            time.sleep(0.01)

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(warploom.Fault):
        warploom.Module(FOREVER).kernel().launch(1, 1, max_instructions=20_000_000)
    over.set()
    thread.join()
    assert counted > 1


def test_progress_is_told():
    told = []
    with pytest.raises(ZeroDivisionError):
        warploom.Module(FOREVER).kernel().launch(3, 1, progress=lambda done, total: (told.append(total), 1 / 0))
    assert told == [3]


def test_printing_is_captured():
    text = (
        HEAD
        + """
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 hello[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry k()
{
    .reg .b64 %p;
    .param .b64 format;
    .param .b64 arguments;
    .param .b32 r;
    mov.u64 %p, hello;
    cvta.global.u64 %p, %p;
    st.param.b64 [format], %p;
    st.param.b64 [arguments], 0;
    call (r), vprintf, (format, arguments);
    ret;
}
"""
    )
    assert warploom.Module(text).kernel()[1, 2]().printed == "hello\nhello\n"


def test_litmus_tests_are_decided():
    text = """PTX SB
{
x=0; y=0;
}
 P0@cta 0,gpu 0        | P1@cta 1,gpu 0        ;
 st.relaxed.gpu x, 1   | st.relaxed.gpu y, 1   ;
 %s | %s ;
 ld.relaxed.gpu r0, y  | ld.relaxed.gpu r0, x  ;
exists (P0:r0 == 0 /\\ P1:r0 == 0)
"""
    allowed = warploom.litmus(text % ("fence.acq_rel.gpu", "fence.acq_rel.gpu"))
    forbidden = warploom.litmus(text % ("fence.sc.gpu", "fence.sc.gpu"), outcomes=True)
    assert allowed.holds and not forbidden.holds
    assert allowed.certified and forbidden.certified and forbidden.certificate == "proof"
    assert len(forbidden.outcomes) == 3
    assert allowed.svg.startswith("<svg") and allowed._repr_svg_() == allowed.svg


def test_mistakes_in_other_texts():
    with pytest.raises(ValueError):
        warploom.litmus("PTX x\nnonsense\n")
    with pytest.raises(ValueError):
        warploom.disassemble(b"\x7fELF nothing")
    with pytest.raises(warploom.CompileError):
        warploom.assemble("nonsense\n")
