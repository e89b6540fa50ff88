"""A table of what the calls ended in, and the failure of long runs, which go on after a find."""

import pytest
from quick_audits import shrink_models

from .oracle import COUNTS, FOUND


@pytest.fixture(autouse=True, scope="module")
def quick_audits():
    with pytest.MonkeyPatch.context() as patch:
        shrink_models(patch)
        yield


@pytest.fixture(autouse=True)
def find_nothing():
    """Fail after all calls of a test where they are collected."""
    seen = len(FOUND)
    yield
    found = {fault: text for _, fault, text in FOUND[seen:]}
    if found:
        pytest.fail("\n\n".join(found.values()), pytrace=False)


def pytest_sessionfinish(session):
    """Hand the counts of a process of several to the one that prints them."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["fuzzed"] = [[*key, count] for key, count in COUNTS.items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    for door, end, count in getattr(node, "workeroutput", {}).get("fuzzed", ()):
        COUNTS[door, end] += count


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    if not COUNTS:
        return
    terminalreporter.section("fuzzed calls")
    ends = ("answer", "sentence", "foreign")
    for door in sorted({door for door, _ in COUNTS}):
        counts = (f"{COUNTS[door, end]:6d}" for end in ends)
        terminalreporter.write_line(f"{door:28s}" + "".join(counts))
    totals = (f"{sum(COUNTS[key] for key in COUNTS if key[1] == end):6d}" for end in ends)
    terminalreporter.write_line(f"{'all: ' + ', '.join(ends):28s}" + "".join(totals))
