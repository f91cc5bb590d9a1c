"""A pytest plugin: test suites of GPU programs on the virtual GPU.

`pytest --warploom[=DEVICE]` runs the suite under `warploom exec`: the process is replaced, once, by one in whose environment our
libraries stand for NVIDIA's. With `--warploom-check=race,memory` the sanitizer watches; what it finds fails the test that has shown it
first, with the report. pytest-xdist's workers inherit both.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

#: Set in the process that runs under `warploom exec`, to the device's name.
INSIDE = "WARPLOOM_PYTEST"
MARKS = {
    "needs_sass": "needs machine code to be executed (a cubin, cuBLAS, cuDNN): skipped on the virtual GPU",
    "needs_real_gpu": "needs hardware, such as its clocks or its speed: skipped on the virtual GPU",
    "needs_devices(n)": "needs so many devices: skipped if there are fewer (--warploom-count)",
    "warploom_finds(*kinds)": "the checks must find problems of exactly these kinds in this test",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warploom", "the virtual GPU")
    group.addoption(
        "--warploom",
        nargs="?",
        const="h200",
        metavar="DEVICE",
        help="run GPU code on a virtual GPU (h200, or another of `warploom devices`)",
    )
    group.addoption("--warploom-count", type=int, default=1, metavar="N", help="how many devices there are")
    group.addoption(
        "--warploom-check",
        metavar="CHECKS",
        help="fail tests in which the sanitizer finds something: race,memory,init,sync or all, predict, locks",
    )
    group.addoption("--warploom-suppress", metavar="FILE", help="what the sanitizer leaves out")
    group.addoption("--warploom-engine", metavar="NAME", help="what runs kernels: interp, jit or auto")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> Generator[None, None, None]:
    # Before output is captured and before a conftest can have loaded a driver.
    options = early_config.known_args_namespace
    if options.warploom and INSIDE not in os.environ:
        replace(options, list(early_config.invocation_params.args))
    return (yield)


def replace(options: Any, arguments: list[str]) -> None:
    """Replaces this process by one that runs the same under `warploom exec`."""
    started = Path(sys.argv[0]).name
    if started not in ("pytest", "py.test", "__main__.py") or "PYTEST_XDIST_WORKER" in os.environ:
        raise pytest.UsageError("--warploom needs a process of its own: run `pytest`, or this program under `warploom exec`")
    command = [program(), "exec", "--device", options.warploom, "--count", str(options.warploom_count)]
    if options.warploom_engine:
        command += ["--engine", options.warploom_engine]
    command += ["--", sys.executable, "-m", "pytest", *arguments]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, {**os.environ, INSIDE: options.warploom})


def program() -> str:
    """The command: the one that was installed with this package, or the one in the search path."""
    scripts = Path(sysconfig.get_path("scripts")) / "warploom"
    found = str(scripts) if scripts.is_file() else shutil.which("warploom")
    if found is None:
        raise pytest.UsageError("--warploom: there is no command `warploom`")
    return found


def pytest_configure(config: pytest.Config) -> None:
    for mark, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    if checks := config.getoption("warploom_check"):
        if INSIDE not in os.environ:
            raise pytest.UsageError("--warploom-check needs --warploom")
        config.pluginmanager.register(Checker(checks, config.getoption("warploom_suppress")), "warploom-checker")


def pytest_report_header(config: pytest.Config) -> str | None:
    if INSIDE not in os.environ:
        return None
    checks = config.getoption("warploom_check")
    return f"warploom: {config.getoption('warploom_count')} x {os.environ[INSIDE]}" + (f", checking {checks}" if checks else "")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if INSIDE not in os.environ:
        return
    for name in ("needs_sass", "needs_real_gpu"):
        if item.get_closest_marker(name):
            pytest.skip(f"{name}: not on the virtual GPU")
    if mark := item.get_closest_marker("needs_devices"):
        there = item.config.getoption("warploom_count")
        if mark.args[0] > there:
            pytest.skip(f"needs {mark.args[0]} devices, there are {there} (--warploom-count)")


class Checker:
    """Reads what the driver's sanitizer writes, test by test."""

    def __init__(self, checks: str, suppressions: str | None) -> None:
        descriptor, path = tempfile.mkstemp(prefix="warploom-pytest-", suffix=".jsonl")
        os.close(descriptor)
        self.path = Path(path)
        self.read = 0
        # The driver reads them when it is first used.
        os.environ["WARPLOOM_CHECK"] = checks
        os.environ["WARPLOOM_CHECK_REPORT"] = path
        if suppressions:
            os.environ["WARPLOOM_CHECK_SUPPRESS"] = os.path.abspath(suppressions)

    def new(self) -> list[dict[str, Any]]:
        """What was written since the last time, whole lines."""
        with self.path.open("rb") as file:
            file.seek(self.read)
            text = file.read()
        text = text[: text.rfind(b"\n") + 1]
        self.read += len(text)
        return [json.loads(line) for line in text.splitlines()]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "setup" and report.outcome == "skipped":
            return report
        synchronise()
        lines = self.new()
        # A report that was told again only counts further.
        known = item.session.stash.setdefault(KNOWN, set())
        found = []
        for line in lines:
            if "kind" in line and (key := (line["process"], line["number"])) not in known:
                known.add(key)
                found.append(line)
        mark = item.get_closest_marker("warploom_finds")
        if mark is not None:
            seen = item.stash.setdefault(SEEN, set())
            seen |= {line["kind"] for line in found}
            if call.when == "teardown" and seen != set(mark.args):
                wanted = ", ".join(sorted(mark.args)) or "nothing"
                fail(report, f"the checks should find {wanted}, and have found {', '.join(sorted(seen)) or 'nothing'}")
            return report
        for line in found:
            report.user_properties.append(("warploom", line["title"]))
            if report.outcome != "passed":
                report.sections.append((f"warploom: {line['kind']}", line["text"]))
        cut = [line["cut_short"] for line in lines if "cut_short" in line]
        if report.outcome == "passed" and (found or cut):
            texts = [line["text"] for line in found] + [f"not checked to the end: {why}" for why in cut]
            fail(report, "\n\n".join(texts))
        return report

    def pytest_unconfigure(self) -> None:
        self.path.unlink(missing_ok=True)


KNOWN = pytest.StashKey[set[tuple[int, int]]]()
SEEN = pytest.StashKey[set[str]]()


def fail(report: pytest.TestReport, why: str) -> None:
    report.outcome = "failed"
    report.longrepr = why


def synchronise() -> None:
    """Waits for what the process has launched, if it has loaded the driver: only what has run is checked."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return
    context = ctypes.c_void_p()
    if driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context:
        driver.cuCtxSynchronize()
        return
    count = ctypes.c_int()
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return
    for device in range(count.value):
        flags, active = ctypes.c_uint(), ctypes.c_int()
        if driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active)) == 0 and active.value:
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
            driver.cuCtxPushCurrent_v2(context)
            driver.cuCtxSynchronize()
            driver.cuCtxPopCurrent_v2(ctypes.byref(context))
            driver.cuDevicePrimaryCtxRelease_v2(device)
