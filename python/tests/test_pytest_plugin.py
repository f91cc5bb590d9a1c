"""The pytest plugin: small suites that use the CUDA driver through ctypes, run by a pytest of their own."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUITE = '''
import ctypes
import pytest

PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry racy(.param .u64 to)
{
    .reg .b32 %x;
    .reg .b64 %p;
    ld.param.u64 %p, [to];
    ld.global.u32 %x, [%p];
    add.u32 %x, %x, 1;
    st.global.u32 [%p], %x;
    ret;
}
.visible .entry clean(.param .u64 to)
{
    .reg .b64 %p;
    ld.param.u64 %p, [to];
    red.relaxed.gpu.global.add.u32 [%p], 1;
    ret;
}
"""


@pytest.fixture(scope="module")
def launch():
    cuda = ctypes.CDLL("libcuda.so.1")

    def must(result):
        assert result == 0, result

    context, module, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    must(cuda.cuInit(0))
    must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(cuda.cuCtxSetCurrent(context))
    must(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    must(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4)))

    def launch(name, ctas):
        must(cuda.cuMemsetD32_v2(memory, ctypes.c_uint(0), ctypes.c_size_t(1)))
        function = ctypes.c_void_p()
        must(cuda.cuModuleGetFunction(ctypes.byref(function), module, name))
        arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(memory), ctypes.c_void_p))
        must(cuda.cuLaunchKernel(function, ctas, 1, 1, 1, 1, 1, 0, None, arguments, None))

    return launch


def test_clean(launch):
    launch(b"clean", 3)


def test_racy(launch):
    launch(b"racy", 3)


@pytest.mark.needs_sass
def test_library():
    raise AssertionError("the library is SASS")


@pytest.mark.needs_devices(2)
def test_peers():
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
    assert count.value == 2
'''


def usable() -> bool:
    command = Path(sysconfig.get_path("scripts")) / "warploom"
    found = str(command) if command.is_file() else shutil.which("warploom")
    return found is not None and subprocess.run([found, "exec", "--", "true"], capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not usable(), reason="there is no `warploom` command with libraries")


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.delenv("WARPLOOM_PYTEST", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent) if local() else "")
    installed = [] if not local() else ["-p", "warploom.pytest_plugin"]
    pytester.makepyfile(test_suite=SUITE)

    def run(*arguments):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *installed, *arguments]
        return pytester.run(*command)

    return run


def local() -> bool:
    """Whether the package is used from its source, where it has no entry points."""
    import importlib.metadata

    try:
        importlib.metadata.distribution("warploom")
    except importlib.metadata.PackageNotFoundError:
        return True
    return False


def test_a_suite_runs_on_the_virtual_gpu(run):
    result = run("--warploom")
    result.assert_outcomes(passed=2, skipped=2)
    result.stdout.fnmatch_lines(["warploom: 1 x h200"])


def test_races_fail_the_test_that_has_them(run):
    result = run("--warploom=h100", "--warploom-count=2", "--warploom-check=race", "--junit-xml=out.xml")
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["warploom: 2 x h100, checking race", "*racy*"])
    result.stdout.fnmatch_lines(["*test_racy*"])
    assert "racy" in Path("out.xml").read_text()


def test_expected_findings_pass(run, pytester):
    marked = SUITE.replace("def test_racy", '@pytest.mark.warploom_finds("race")\ndef test_racy')
    marked = marked.replace("def test_clean", '@pytest.mark.warploom_finds("race")\ndef test_clean')
    pytester.makepyfile(test_suite=marked)
    result = run("--warploom", "--warploom-check=race", "-k", "clean or racy")
    # The clean one does not have what is expected of it.
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the checks should find race, and have found nothing*"])
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 2 and outcomes["errors"] == 1


def test_workers_of_xdist(run):
    pytest.importorskip("xdist")
    result = run("--warploom", "--warploom-check=race", "-n", "2")
    result.assert_outcomes(passed=1, failed=1, skipped=2)


def test_without_the_option_nothing_changes(run):
    result = run("--collect-only", "-q")
    assert result.ret == 0 and "warploom:" not in result.stdout.str()
    result = run("--warploom-check=race")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--warploom-check needs --warploom*"])


def test_usage_is_told(run):
    result = run("--warploom=h300")
    assert result.ret != 0 and "h300" in result.stderr.str()
