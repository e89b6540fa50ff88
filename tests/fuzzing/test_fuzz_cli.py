"""Odd files and arguments on the command line: one line, or an audit."""

import contextlib
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skmia import audit
from skmia.attacks import ThresholdAttack
from skmia.cli import _audit, main

from .budget import calls
from .oracle import COLLECT, COUNTS, FOUND
from .strategies import generators

CELLS = (
    *("", "nan", "NA", "inf", "-inf", "1e400", "1e-400", "9" * 400, "0x10", "1_000", "true"),
    *("=HYPERLINK(1)", "\x1b[2J", "a\n\nexit 0", '"', "'", ",", ";", "\u202e", "\x00", "\ufeff"),
    *("2020-01-01", "1,5", "a b", "é", "-0.0", "None"),
)
WORDS = ("", "0", "1", "-1", "0.5", "nan", "inf", "1e400", "a", "x", "\x1b[2J", "10" * 30, "=", "y")
OPTIONS = (
    *("--task", "--drop", "--group", "--group-by", "--members", "--estimator", "--model"),
    *("--shadows", "--fpr", "--jobs", "--seed", "--fail-above", "--target", "--data", "--unknown"),
)


@st.composite
def csv_files(draw):
    rng = draw(generators())
    frame = pd.DataFrame(rng.normal(size=(24, 2)).round(2), columns=["x", "z"]).astype(object)
    frame["y"] = np.where(np.arange(24) % 2, "b", "a").astype(object)
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        cell = draw(st.sampled_from(CELLS))
        where = draw(st.sampled_from(("one", "column", "row", "name", "raw")))
        i, j = rng.integers(24), rng.integers(3)
        if where == "one":
            frame.iloc[i, j] = cell
        elif where == "column":
            frame.iloc[:, j] = cell
        elif where == "row":
            frame.iloc[i, :] = cell
        elif where == "name":
            frame.columns = [cell if k == j else name for k, name in enumerate(frame)]
    content = frame.to_csv(index=False).encode("utf-8", "surrogatepass")
    kind = draw(st.sampled_from(("whole",) * 6 + ("cut", "bytes", "empty", "header", "flip")))
    if kind == "flip":
        place = int(rng.integers(len(content)))
        return content[:place] + bytes([int(rng.integers(256))]) + content[place + 1 :]
    damaged = {"cut": content[: len(content) // 3], "bytes": bytes(rng.integers(0, 256, 99, "u1"))}
    return {**damaged, "empty": b"", "header": content[:6]}.get(kind, content)


ARGUMENTS = st.lists(st.tuples(st.sampled_from(OPTIONS), st.sampled_from(WORDS)), max_size=1)


def run(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(["audit", *arguments])
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()


def find_fault(code, out, err):
    """Say what is wrong with an end of the command."""
    if code not in (0, 1, 2, 4):
        return f"exit code {code}"
    if code == 0 and not out:
        return "nothing printed"
    if code == 2 and (out or not err.startswith("skmia") or err.count("\n") != 1):
        return "not refused by one line"
    odd = {one for one in out + err if ord(one) < 32 and one != "\n"}
    return f"control characters: {odd}" if odd else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A place for tables, whose audits attack by the loss alone: test_fuzz_audit.py has all."""

    def attack_once(*given, **settings):
        attacks = {"threshold (loss)": ThresholdAttack()}
        return audit(*given, **settings | {"attacks": attacks, "file": False})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_audit, "audit", attack_once)
        yield tmp_path_factory.mktemp("fuzz")


@calls(0.06)
@given(content=csv_files(), arguments=ARGUMENTS)
@pytest.mark.filterwarnings("ignore")
def test_tables_and_arguments(folder, content, arguments):
    path = folder / "table.csv"
    path.write_bytes(content)
    given = ["--data", str(path), "--target", "y", "--estimator", "logistic", "--shadows", "4"]
    given += ["--fpr", "0.5", "--jobs", "1", *(part for pair in arguments for part in pair)]
    code, out, err = run(given)
    fault = find_fault(code, out, err)
    ending = "foreign" if fault else "answer" if out else "sentence"
    COUNTS["command line", ending] += 1
    if fault:
        text = f"command line: {fault}\n  {given[8:]}\n  {content!r}\n  {out[-500:]}\n  {err}"
        if not COLLECT:
            pytest.fail(text)
        FOUND.append(("command line", fault, text))
