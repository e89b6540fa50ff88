"""What the command prints for other programs."""

import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from skmia._core.levels import Level
from skmia._core.screens import Screen
from skmia.attacks import LiRA, ThresholdAttack
from skmia.cli import _main, main
from skmia.cli._colors import COLORS
from skmia.cli._gate import GateFinding, judge_verdict
from skmia.cli._output import format_result
from skmia.disclosure import load_policy

REFUSED = "skmia audit: exit code 1: the policy own says: do not release\n"
QUICK = ["--estimator", "logistic", "--shadows", "8", "--jobs", "1"]
# What the picture shows, tests of the report see.
pytestmark = pytest.mark.usefixtures("no_drawing")
LIMITS = ["--fail-above", "auc=0.9", "advantage=0.01", "tpr@0.001=0.5"]


@pytest.fixture
def printed(run, data, audit_once, one_attack):
    one_attack["attacks"] = {"LiRA": LiRA(), "threshold (loss)": ThresholdAttack()}

    def printed(*options):
        base = ["--data", data, "--target", "income", "--drop", "trained", "--group", "city"]
        return run(*base, *QUICK, *options)

    return printed


def test_json_is_the_document_alone(printed, tmp_path):
    code, text, err = printed("--format", "json", "--out", tmp_path / "out")
    assert (code, err) == (0, "")
    document = json.loads(text)
    saved = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert document["results"] == saved["results"]
    assert document["schema"] == "skmia.audit"


def test_junit_has_a_case_for_the_verdict_and_each_limit(printed):
    code, text, err = printed("--format", "junit", *LIMITS)
    suite = ET.fromstring(text).find("testsuite")
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    expected = {
        "verdict": ["system-out"],
        "auc=0.9": [],
        "advantage=0.01": ["failure"],
        "tpr@0.001=0.5": ["error"],
    }
    assert cases == expected
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
    }
    assert code == 1
    assert suite.find("testcase/failure").get("message") in err


def test_sarif_has_a_result_for_the_verdict_and_each_limit(printed):
    code, text, _ = printed("--format", "sarif", *LIMITS)
    assert code == 1
    (run,) = json.loads(text)["runs"]
    kinds = [(result["ruleId"], result["kind"], result["level"]) for result in run["results"]]
    assert kinds == [
        ("verdict", "informational", "none"),  # no leakage
        ("limit", "pass", "none"),
        ("limit", "fail", "error"),
        ("limit", "open", "none"),
    ]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} == rules
    (place,) = run["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "table.csv"


def test_markdown_is_a_table_for_each_group(printed):
    code, text, _ = printed("--format", "markdown")
    assert code == 0
    lines = text.splitlines()
    assert lines[0] == "# Membership-inference audit"
    assert "## All records" in lines
    assert "## city = Rome" in lines
    heads = [line for line in lines if line.startswith("| attack |")]
    assert len(heads) >= 2
    tables = [line for line in lines if line.startswith("|")]
    assert {line.count(" | ") for line in tables} == {heads[0].count(" | ")}


def test_the_text_is_that_of_80_columns_and_ends_with_the_exit_code(printed, monkeypatch):
    code, text, err = printed(*LIMITS)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80 and "\x1b" not in text
    words = ["LEAKAGE", "how often a member", "Trust", "Next", "Model"]
    places = [next(k for k, line in enumerate(lines) if word in line) for word in words]
    assert places[0] == 0 and places == sorted(places)
    assert "threshold (loss)" not in text
    assert err.startswith(f"skmia audit: exit code {code}: ") and err.count("\n") == 1
    assert lines[-2:] == ["", "A page of this, and its numbers: --out FOLDER, or FILE.html"]
    details = printed("--verbose", *LIMITS)[1]
    assert details.startswith("\n".join(lines[:-2])) and "threshold (loss)" in details
    assert "Note: Task: classification of 'income'" in details


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_terminal_gets_colors_unless_they_are_not_wanted(monkeypatch, encoding):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("COLORTERM", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    text = "  \u2582\u2585\u2588  SEVERE LEAKAGE   as a file\n\nSEVERE   is a word."
    printed = []
    for unwanted in ("", "1"):
        monkeypatch.setenv("NO_COLOR", unwanted)
        monkeypatch.setattr(sys, "stdout", Terminal(io.BytesIO(), encoding=encoding))
        _main._print(text)
        printed.append(sys.stdout.buffer.getvalue().decode(encoding))
    bars = "\u2582\u2585\u2588" if encoding == "utf-8" else "###"
    assert printed[0].startswith(
        f"\x1b[{COLORS[16][3]}m  {bars}  SEVERE LEAKAGE\x1b[0m   as a file\n"
    )
    assert printed[0].count("\x1b") == 2
    assert printed[1].startswith(f"  {bars}  SEVERE LEAKAGE   as a file\n")


def test_names_cannot_write_markup():
    class Report:
        def to_markdown(self):
            from skmia._core.text import escape

            return escape("<img src=x>|`a`\n# b")

    assert format_result("markdown", Report(), {}, [], None) == (
        "\\<img src=x\\>\\|\\`a\\`\\\\n\\# b"
    )
    finding = GateFinding("service", "auc<&\x01", 1, 'a "quoted" <name>\x1b')

    class Timed:
        seconds = {"total": 1.0}

    (case,) = ET.fromstring(format_result("junit", Timed(), {}, [finding], None)).find("testsuite")
    assert case.get("name") == "auc<&\\x01"
    assert case.find("failure").get("message") == 'a "quoted" <name>\\x1b'


def test_python_runs_the_package():
    done = subprocess.run(
        [sys.executable, "-m", "skmia", "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith("skmia ")


def test_a_policy_decides(printed, tmp_path):
    given = ["--policy", "cautious", "--decimals", "2", "--out", tmp_path / "out"]
    code, text, err = printed(*given)
    assert code == 4  # 120 non-members do not resolve a rate of 1%
    assert "by the policy cautious: cannot be said" in text
    assert err == "skmia audit: exit code 4: the policy cautious says: cannot be said\n"
    found = json.loads((tmp_path / "out" / "audit.json").read_text())["recommendation"]
    assert found["reasons"][0] == "To be measured: tpr_at_fpr_01 (all)."
    assert len(found["provenance"]["sha256 of table.csv"]) == 64


@pytest.fixture
def strict(tmp_path):
    policy = tmp_path / "own.toml"
    policy.write_text('name = "own"\nversion = 1\n[limits.service]\nauc = 0.0\n')
    return policy


def test_a_policy_of_ones_own(printed, tmp_path):
    policy = tmp_path / "own.toml"
    policy.write_text('name = "own"\nversion = 1\n[limits.service]\nauc = 1.0\n')
    code, text, err = printed("--policy", policy)
    assert (code, err) == (0, "")
    assert "by the policy own: release" in text


@pytest.mark.slow  # quick tests show what is handed over, and what is said of conditions
def test_conditions_are_measured_if_asked(printed, strict, tmp_path):
    policy, out = strict, tmp_path / "out"
    code, text, err = printed("--policy", policy, "--measure-conditions", "--out", out)
    assert (code, err) == (1, REFUSED)
    assert "labels alone: does not suffice." in text
    tried = json.loads((out / "audit.json").read_text())["recommendation"]["tried"]
    assert [part["helps"] for part in tried] == [False] * 3


def test_conditions_that_are_not_measured_are_named(printed, strict):
    code, text, err = printed("--policy", strict, "--verbose")
    assert (code, err) == (1, REFUSED)
    assert "with --measure-conditions" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--policy", "strict"],
            "--policy: policy must be one of 'cautious', 'research', 'anon",
        ),
        (["--decimals", "2"], "--decimals goes with --policy"),
        (["--decimals", "0"], "--decimals goes with --policy"),
        (["--measure-conditions"], "--measure-conditions goes with --policy"),
        (["--policy", "cautious", "--decimals", "18"], "must lie between 0 and 17"),
    ],
)
def test_wrong_policies_are_refused(refuse, data, options, message):
    assert message in refuse("--data", data, "--target", "income", *QUICK, *options)


def test_a_policy_is_shown(capsys, tmp_path):
    assert main(["policy", "show", "research"]) == 0
    text = capsys.readouterr().out
    (tmp_path / "mine.toml").write_text(text)
    assert load_policy(tmp_path / "mine.toml").limits == load_policy("research").limits
    assert main(["policy", "show", "strict"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("skmia policy: show: policy must be one of 'cautious', 'research', 'anon")


def test_a_decision_is_recorded(printed, strict, tmp_path, capsys):
    pytest.importorskip("jinja2")
    out = tmp_path / "out"
    known = ["--provenance", "recipients=partners <b>", "purpose=a study"]
    assert printed("--policy", strict, "--out", out, *known)[0] == 1
    page = (out / "decision.html").read_text(encoding="utf-8")
    assert ">partners &lt;b&gt;</textarea>" in page and ">a study</textarea>" in page
    assert '<a href="decision.html">' in (out / "report.html").read_text(encoding="utf-8")

    def decide(*options):
        code = main(["decide", str(out), "--by", "A. Smith", *options])
        return code, *capsys.readouterr()

    code, told, err = decide("--decision", "release")
    assert (code, told, err.count("\n")) == (2, "", 1)
    assert err.startswith("skmia decide: The policy says 'do not release', so 'release' needs")
    code, told, err = decide("--decision", "refuse", "--provenance", "purpose=a game")
    assert (code, err) == (0, "")
    assert told.splitlines() == [f"recorded: {out / 'audit.json'}", f"written: {out}/decision.html"]
    found = json.loads((out / "audit.json").read_text())["recommendation"]
    assert found["decision"]["decision"] == "refuse"
    assert found["signatures"][1]["name"] == "A. Smith"
    # What was recorded stays when the pages are made again.
    assert main(["report", str(out / "audit.json")]) == 0
    page = (out / "decision.html").read_text(encoding="utf-8")
    assert 'value="refuse" checked' in page and 'value="A. Smith"' in page
    assert ">a game</textarea>" in page and '<a href="audit.html">full report' in page
    assert decide("--role", "researcher")[0] == 2
    # Nor does another audit take its place, which is told before anything is read.
    first, second = str(tmp_path / "first.csv"), str(tmp_path / "second.csv")
    for path in (first, second):
        Path(path).touch()
    for command in (["audit", "--target", "y", "--data", first], ["table", first, second]):
        assert main([*command, "--out", str(out)]) == 2
        assert "audit.json has the decision 'refuse' recorded" in capsys.readouterr().err
    assert found == json.loads((out / "audit.json").read_text())["recommendation"]


def test_a_decision_needs_an_audit_with_a_policy(printed, tmp_path, capsys):
    out = tmp_path / "out"
    for folder, message in ((tmp_path, "holds neither audit.json nor table.json"), (out, "policy")):
        if folder is out:
            assert printed("--out", out)[0] == 0
        assert main(["decide", str(folder), "--by", "A. Smith", "--decision", "refuse"]) == 2
        assert message in capsys.readouterr().err


def test_what_a_request_does_not_name_is_refused(refuse, data):
    asked = ["--data", data, "--target", "income", "--provenance"]
    assert "must name one of 'what is released', 'recipients'" in refuse(*asked, "color=red")
    assert "must be NAME=TEXT; got 'purpose='" in refuse(*asked, "purpose=")
    assert "--provenance goes with --policy" in refuse(*asked, "purpose=a study")


@pytest.mark.parametrize(
    "level, kind, said",
    [
        ("severe", "fail", "error"),
        ("clear", "fail", "warning"),
        ("slight", "fail", "note"),
        ("none", "informational", "none"),
    ],
)
def test_sarif_and_junit_say_the_level(level, kind, said):
    class Found:
        seconds = {"total": 1.0}

    found = Level(level)
    screen = Screen(found, found.heading, (), "**Two** of 100 records.", ())
    finding = judge_verdict("service", screen)
    (run,) = json.loads(format_result("sarif", Found, {}, [finding], None))["runs"]
    assert [(one["kind"], one["level"]) for one in run["results"]] == [(kind, said)]
    (case,) = ET.fromstring(format_result("junit", Found, {}, [finding], None)).find("testsuite")
    told = case.find("system-out").text
    assert told == f"{found.heading}. Two of 100 records."
    assert run["results"][0]["message"]["text"] == f"As a service: {told}"
