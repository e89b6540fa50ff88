"""Programs without a standard output or error, as services are, lose nothing."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from forked import FORKS, run_forked

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")


def slowly(closed):
    """Streams that are closed in slow tests: to start a program takes as long as its work."""
    return pytest.param(closed, marks=pytest.mark.slow)


def run_closed(folder, *arguments, closed):
    """Run a program whose streams are closed, and return its exit code."""
    command = " ".join([sys.executable, "-m", "skmia", *map(str, arguments), closed])
    return subprocess.run(["sh", "-c", command], cwd=folder, timeout=300, check=False).returncode


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("closed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["y"], frame["member"] = (X[:, 0] > 0).astype(int), np.arange(120) % 2
    frame.to_csv(folder / "rows.csv", index=False)
    for name, part in (("real", frame[:40]), ("holdout", frame[40:80]), ("made", frame[80:])):
        part.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture
def audited(folder):
    """Audit once, in a copy of this process whose streams are closed."""
    if not (folder / "out").exists():
        given = ["--data", "rows.csv", "--target", "y", "--members", "member", "--quick"]
        given += ["--seed", 0, "--estimator", "logistic", "--jobs", 1, "--out", "out"]
        assert run_forked("audit", *given, folder=folder, closed=(1, 2)) in (0, 4)


@FORKS
@pytest.mark.usefixtures("audited")
def test_an_audit_writes_its_files(folder):
    assert json.loads((folder / "out" / "audit.json").read_text())["schema"] == "skmia.audit"
    assert (folder / "out" / "report.html").exists()


@FORKS
@pytest.mark.usefixtures("audited")
def test_documents_are_read_and_written_in_a_copy(folder):
    given = ["report", "out/audit.json", "--out", "copy.html"]
    assert run_forked(*given, folder=folder, closed=(0, 1, 2)) == 0
    assert "<html" in (folder / "copy.html").read_text()


@FORKS
@pytest.mark.usefixtures("audited")
@pytest.mark.parametrize("closed", map(slowly, (">&-", "2>&-", "<&- >&- 2>&-")))
def test_documents_are_read_and_written(folder, closed):
    assert run_closed(folder, "report", "out/audit.json", "--out", "again.html", closed=closed) == 0
    assert "<html" in (folder / "again.html").read_text()
    (folder / "again.html").unlink()


@pytest.mark.parametrize("closed", [">&-", slowly("2>&-"), slowly(">&- 2>&-")])
def test_wrong_calls_have_their_code(folder, closed):
    assert run_closed(folder, "report", "nothing.json", closed=closed) == 2


@pytest.mark.parametrize("closed", map(slowly, (">&-", "2>&-", ">&- 2>&-")))
def test_help_ends_well(folder, closed):
    assert run_closed(folder, "--help", closed=closed) == 0


@FORKS
def test_a_table_is_audited(folder):
    given = ["made.csv", "real.csv", "--held-out", "holdout.csv", "--out", "table"]
    assert run_forked("table", *given, folder=folder, closed=(0, 1, 2)) in (0, 4)
    assert (folder / "table" / "table.json").exists()
