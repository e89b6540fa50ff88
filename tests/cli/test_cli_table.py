"""``skmia table``: what it prints and writes, its gate, and its refusals."""

import html
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from quick_audits import permute_no_table

from skmia._core import progress
from skmia.cli import main
from skmia.synthetic import audit_units_of_table

pytestmark = pytest.mark.usefixtures("quick_tables")


@pytest.fixture(autouse=True)
def no_permutations(monkeypatch):
    """What p-values are, tests of the audit show."""
    permute_no_table(monkeypatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three tables, and one with copies of training rows."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("tables")
    tables = {}
    for name in ("real", "held", "made"):
        frame = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc")).round(3)
        tables[name] = frame.assign(id=range(100), city=rng.choice(["Rome", "Oslo"], 100))
    tables["leaky"] = pd.concat([tables["real"][:40], tables["made"][40:]])
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def reports():
    return {}


@pytest.fixture
def run(folder, capsys, monkeypatch, reports):
    """Run the command on files of the folder; no table is audited twice."""

    def audit_once(**given):
        key = json.dumps([len(given), *map(str, given.values())])
        if key not in reports:
            reports[key] = audit_units_of_table(**given)
        return reports[key]

    monkeypatch.setattr("skmia.cli._table.audit_units_of_table", audit_once)

    def run(*words):
        words = [str(folder / f"{word}.csv") if word in FILES else str(word) for word in words]
        code = main(["table", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


FILES = ("real", "held", "made", "leaky")
SAFE = ("made", "real", "--held-out", "held", "--drop", "id")
LEAKY = ("leaky", "real", "--held-out", "held", "--drop", "id")


def test_both_verdicts_are_printed_and_end_with_0(run):
    code, out, err = run(*SAFE)
    assert (code, err) == (0, "") and "NO LEAKAGE DETECTED" in out
    code, out, err = run(*LEAKY)
    assert (code, err) == (0, "") and "AT LEAST CLEAR LEAKAGE   as a table" in out


def test_files_and_the_page_again(run, tmp_path):
    pytest.importorskip("jinja2")
    code, out, _ = run(*LEAKY, "--out", tmp_path / "out")
    assert code == 0 and out.count("written: ") == 2
    document = json.loads((tmp_path / "out" / "table.json").read_text())
    command = document["settings"]["command"]
    assert (command["synthetic"], command["drop"], command["seed"]) == ("leaky.csv", ["id"], 0)
    page = tmp_path / "again.html"
    assert main(["report", str(tmp_path / "out" / "table.json"), "--out", str(page)]) == 0
    assert page.read_text() == (tmp_path / "out" / "report.html").read_text()


def test_one_bar_shows_each_part(run, monkeypatch):
    monkeypatch.setattr("skmia.synthetic._table._audit._N_DRAWS", 9)
    seen = []
    monkeypatch.setattr(progress.StageTimes, "enter", lambda self, name: seen.append(name))
    shares = []
    monkeypatch.setattr(
        progress.StageTimes, "__init__", _note_shares(shares, progress.StageTimes.__init__)
    )
    code, _, _ = run(*LEAKY, "--target", "city", "--seed", "3")
    assert code == 0 and list(shares[0]) == list(dict.fromkeys(seen)) and len(shares) == 1
    assert all(shares[0].values())


def _note_shares(shares, make):
    def note_and_make(self, given, file):
        shares.append(given)
        make(self, given, file)

    return note_and_make


@pytest.mark.slow  # how a command is told, test_repeated_by_another.py shows each time
def test_the_command_on_the_page_repeats_the_audit(run, folder, tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2")
    limits = ("--fail-above", "linkability=1", "--secrets", "city", "--seed", "1")
    assert run(*LEAKY, *limits, "--out", tmp_path / "one")[0] == 0
    page = (tmp_path / "one" / "report.html").read_text()
    told = re.search(r"<pre><bdi>skmia (.*)</bdi></pre>", page)[1]
    told = told.replace("--out one", f"--out {tmp_path / 'two'}")
    monkeypatch.chdir(folder)
    assert main(shlex.split(html.unescape(told))) == 0
    capsys.readouterr()
    one, two = (json.loads((tmp_path / name / "table.json").read_text()) for name in ("one", "two"))
    assert one["results"] == two["results"] and one["verdict"] == two["verdict"]


@pytest.mark.parametrize(
    "limits, code, words",
    [
        (["rare_copies.low=0"], 1, "rare copies is 0."),
        (["rare_copies=1", "inference:a=1", "membership=1"], 0, ""),
        (["membership.low=-1"], 1, "membership by"),
        (["singling_out.high=-1"], 1, "whose high end is above -1"),
        (["privacy_loss=0.01", "linkability=1"], 1, "privacy loss is"),
    ],
)
def test_limits(run, limits, code, words):
    found, _, err = run(*LEAKY, "--fail-above", *limits)
    assert found == code and words in err and err.count("\n") == (code > 0)


def test_identifiers_and_persons(run, folder):
    # The column of row numbers is left out, unless it is kept; one person has two rows.
    code, out, _ = run("leaky", "real", "--held-out", "held", "--verbose")
    assert code == 0 and "40 of 100 training rows are in the synthetic table unchanged" in out
    assert "Columns of identifiers are left out of all comparisons: 'id'" in " ".join(out.split())
    frames = {name: pd.read_csv(folder / f"{name}.csv") for name in ("real", "held", "leaky")}
    for place, (name, frame) in enumerate(frames.items()):
        codes = [f"P-{1000 * place + k:05d}" for k in range(len(frame))]
        frame = frame.assign(who=frame["id"] // 2 + 1000 * place, code=codes)
        frame.to_csv(folder / f"who_{name}.csv")
    words = [folder / f"who_{name}.csv" for name in ("leaky", "real", "held")]
    words = [*words[:2], "--held-out", words[2], "--person", "who", "--format", "json"]
    code, out, _ = run(*words, "--keep", "id", "--fail-above", "copies_but_one_cell=-1")
    found = json.loads(out)
    assert code == 1 and found["data"]["n_persons_real"] == 50
    assert found["data"]["identifiers"] == ["code"] and found["settings"]["group_by"] == "who"


def test_without_a_holdout_the_code_is_4(run):
    code, out, err = run("made", "real", "--fail-above", "linkability=1")
    assert code == 4 and "exit code 4: No verdict. A leak could not have been detected." in err
    assert "NO VERDICT" in out
    code, _, err = run("made", "real", "--policy", "cautious")
    assert code == 4


def test_policy(run, folder):
    code, out, err = run(*LEAKY, "--policy", "research", "--format", "json")
    assert code == 1 and err.endswith("exit code 1: the policy research says: do not release\n")
    found = json.loads(out)["recommendation"]
    assert found["release"] == "table" and "sha256 of leaky.csv" in found["provenance"]
    assert str(folder) not in out


def test_formats_for_other_programs(run):
    code, out, _ = run(*LEAKY, "--format", "junit", "--fail-above", "rare_copies=0")
    assert code == 1 and '<testsuite name="skmia table" tests="2" failures="1"' in out
    results = json.loads(run(*SAFE, "--format", "sarif")[1])["runs"][0]["results"]
    assert results[0]["message"]["text"].startswith("As a table: No leakage detected.")
    assert results[0]["level"] == "none"
    found = json.loads(run(*LEAKY, "--format", "sarif")[1])["runs"][0]["results"][0]
    assert found["level"] == "warning" and "As a table: At least clear leakage." in str(found)
    assert "At least clear leakage" in run(*LEAKY, "--format", "junit")[1]
    assert "p, corrected" not in run(*LEAKY)[1] and "p, corrected" in run(*LEAKY, "--verbose")[1]
    assert run(*SAFE, "--format", "markdown")[1].startswith("# Audit of a synthetic table")


@pytest.mark.parametrize(
    "words, message",
    [
        (("made", "none.csv"), "REAL: file not found: none.csv"),
        (("made",), "the following arguments are required: REAL"),
        (("made", "real", "--drop", "x"), "--drop: column 'x' not found"),
        (("made", "real", "--target", "a"), "--target needs --held-out"),
        ((*SAFE, "--person", "cty"), "--person: column 'cty' not found; did you mean 'city'"),
        ((*SAFE, "--keep", "cty"), "--keep: column 'cty' not found; did you mean 'city'"),
        ((*SAFE, "--secrets", "cty"), "--secrets: column 'cty' not found; did you mean 'city'"),
        ((*SAFE, "--fail-above", "auc=1"), "must be NAME=LIMIT, with a NAME such as linkability"),
        ((*SAFE, "--fail-above", "linkability:a=1"), "must be NAME=LIMIT"),
        ((*SAFE, "--fail-above", "linkability=2"), "a limit between -1 and 1"),
        ((*SAFE, "--fail-above", "inference:id=1"), "--fail-above: 'id' is not inferred"),
        (
            (*SAFE, "--policy", "none.toml"),
            "--policy: policy must be one of 'cautious'",
        ),
        (("made", "real", "--drop", *"abc", "id", "city"), "--drop: no columns are left"),
    ],
)
def test_bad_input_has_one_line_and_code_2(run, words, message):
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("skmia table: ") and message in err


def test_tables_of_other_columns_are_refused(run, folder, tmp_path):
    pd.read_csv(folder / "held.csv").drop(columns="city").to_csv(tmp_path / "less.csv", index=False)
    code, _, err = run("made", "real", "--held-out", tmp_path / "less.csv")
    assert code == 2 and "holdout lacks the column 'city' of real" in err


def test_a_model_is_not_compared_with_a_table(run, tmp_path, capsys):
    run(*SAFE, "--out", tmp_path)
    path = str(tmp_path / "table.json")
    assert main(["compare", path, path]) == 2
    assert "was not written by skmia audit (schema 'skmia.table')" in capsys.readouterr().err


def test_a_dry_run_tells_the_cost_and_audits_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setattr("skmia.cli._table.audit_units_of_table", None)
    code, out, err = run(
        *SAFE, "--dry-run", "--out", tmp_path / "new", "--fail-above", "inference=0.1"
    )
    assert (code, err) == (0, "") and not (tmp_path / "new").exists()
    lines = out.splitlines()
    assert lines[0].split() == ["phase", "time"]
    assert any(line.startswith("inference ") for line in lines) and "In all about" in out
    code, out, _ = run("made", "real", "--dry-run")
    assert code == 0 and "Without held-out rows" in out and "inference" not in out
    code, _, err = run("made", "real", "--dry-run", "--secrets", "gone")
    assert code == 2 and "gone" in err and err.count("\n") == 1
