"""A plugin for pytest: one line of JSON for every test, written as soon as it is over.

`WARPLOOM_OUTCOMES` names the file. A suite that is stopped, or whose process dies, leaves what it has done so far; a test
that began and has no outcome is the one that the process died of.
"""

import json
import os

import pytest

_path = os.environ.get("WARPLOOM_OUTCOMES")


def _write(**line):
    if _path:
        with open(_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def pytest_runtest_logstart(nodeid, location):
    _write(test=nodeid, outcome="began")


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        why = "" if report.outcome == "passed" else str(report.longrepr)[-2000:]
        _write(test=report.nodeid, outcome=report.outcome, seconds=round(report.duration, 2), why=why)


def pytest_collectreport(report):
    if report.outcome != "passed":
        _write(test=report.nodeid, outcome=report.outcome, seconds=0, why=str(report.longrepr)[-2000:])


# numba-cuda's tests ask for an option that its repository's own configuration defines; its package comes without that.
@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False


def pytest_collection_modifyitems(config, items):
    """`WARPLOOM_PART=2/5` keeps every fifth test, beginning with the second: suites are run in parts of some minutes."""
    part = os.environ.get("WARPLOOM_PART")
    if part:
        number, parts = map(int, part.split("/"))
        config.hook.pytest_deselected(items=[item for i, item in enumerate(items) if i % parts != number - 1])
        items[:] = items[number - 1 :: parts]
