"""Programs without a standard output or error, as services are, lose nothing.

To start a program takes longer than most of what it does here. Two are started, and the others are
copies of this process whose streams are closed as Python finds them closed when it starts.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from quick_audits import shrink_models

from skmia.cli import main

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="needs a shell"),
    pytest.mark.filterwarnings("ignore:This process"),  # has threads, which a copy has not
]


def start_closed(folder, *arguments, closed=">&- 2>&-"):
    """Start a program whose streams are closed, and return its exit code."""
    command = " ".join([sys.executable, "-m", "skmia", *map(str, arguments), closed])
    return subprocess.run(["sh", "-c", command], cwd=folder, timeout=300, check=False).returncode


STREAMS = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-"}


def run_closed(folder, *arguments, closed=">&- 2>&-"):
    """Run a command in a copy of this process, and return the exit code."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    code = 70  # of an error that nobody caught
    try:
        os.chdir(folder)
        for number, (name, sign) in enumerate(STREAMS.items()):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(number, "r+", buffering=1, closefd=False))
            if sign in closed.split():
                os.close(number)
                setattr(sys, name, None)
        code = main([*map(str, arguments)])
    except SystemExit as end:
        code = end.code or 0
    finally:
        os._exit(code)


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


@pytest.fixture(scope="module")
def audited(folder):
    given = ["--data", "rows.csv", "--target", "y", "--members", "member", "--quick", "--seed", 0]
    given += ["--estimator", "logistic"]
    with pytest.MonkeyPatch.context() as patch:
        shrink_models(patch)
        return run_closed(folder, "audit", *given, "--out", "out")


def test_an_audit_writes_its_files(audited, folder):
    assert audited in (0, 4)
    assert json.loads((folder / "out" / "audit.json").read_text())["schema"] == "skmia.audit"
    assert (folder / "out" / "report.html").exists()


@pytest.mark.usefixtures("audited")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_documents_are_read_and_written(folder, closed):
    assert run_closed(folder, "report", "out/audit.json", "--out", "again.html", closed=closed) == 0
    assert "<html" in (folder / "again.html").read_text()
    (folder / "again.html").unlink()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_wrong_calls_have_their_code(folder, closed):
    if "2>&-" in closed.split()[1:]:
        assert start_closed(folder, "report", "nothing.json", closed=closed) == 2
    assert run_closed(folder, "report", "nothing.json", closed=closed) == 2
    assert run_closed(folder, "--help", closed=closed) == 0


def test_a_table_is_audited(folder):
    given = ["made.csv", "real.csv", "--held-out", "holdout.csv"]
    assert start_closed(folder, "table", *given, "--out", "table") in (0, 4)
    assert (folder / "table" / "table.json").exists()
