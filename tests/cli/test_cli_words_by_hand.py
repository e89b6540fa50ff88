"""Words of a call that go together, findings, and the forms in which they are written, by hand."""

import warnings
from pathlib import Path
from types import SimpleNamespace as NS
from unittest import mock

import pytest
from by_hand import expect_answers, tell_refusal

from skmia._core.levels import Level
from skmia.cli import _gate, _options, _output, _spelling
from skmia.cli._options import CommandError


def refuse(call):
    """Return what a call returns, or the words in which it is refused."""
    try:
        return call()
    except CommandError as error:
        return str(error)


# -- files of a call


def place(*names, command="audit", **given):
    """Return where files are placed that are named without an option."""
    usual = dict(command=command, files=[*map(Path, names)], data=None, model=None)
    usual |= dict(train=None, held_out=None)

    def call():
        arguments = NS(**usual | given)
        _options.place_files(arguments)
        assert arguments.files == []
        found = {name: vars(arguments)[name] for name in ("model", "data", "train", "held_out")}
        return {name: path.name for name, path in found.items() if isinstance(path, Path)}

    return refuse(call)


ORDER = "files are a model and one table, or a model and two: the rows that it was trained on, and "
ORDER += "others; got {}"
FIRST = f"{ORDER}. The model comes first: {{}}"
PLACES = [
    (lambda: place(), {}),
    (lambda: place("a.csv"), {"data": "a.csv"}),
    (lambda: place("a.csv", "b.csv"), {"train": "a.csv", "held_out": "b.csv"}),
    (lambda: place("m.skops"), {"model": "m.skops"}),
    (lambda: place("m.skops", "a.csv"), {"model": "m.skops", "data": "a.csv"}),
    (
        lambda: place("m.skops", "a.csv", "b.csv"),
        {"model": "m.skops", "train": "a.csv", "held_out": "b.csv"},
    ),
    # Of three files the first is the model, unless it is known to be a table.
    (lambda: place("m", "a.csv", "b.csv")["model"], "m"),
    (lambda: place("c.csv", "a.csv", "b.csv"), ORDER.format("c.csv a.csv b.csv")),
    (lambda: place("m", "a.csv"), {"train": "m", "held_out": "a.csv"}),
    (lambda: place("a.csv", "m.skops"), FIRST.format("a.csv m.skops", "m.skops a.csv")),
    (
        lambda: place("a b.csv", "b.csv", "m.skops"),
        FIRST.format("a b.csv b.csv m.skops", "m.skops 'a b.csv' b.csv"),
    ),
    (lambda: place("a.csv", "m.skops", "n.skops"), ORDER.format("a.csv m.skops n.skops")),
    (lambda: place("a.csv", "b.csv", "c.csv", "m.skops")[-7:], "m.skops"),
    (lambda: place("a.csv", data=Path("b.csv")), "--data: given twice, as a.csv as well"),
    (
        lambda: place("a.csv", "b.csv", held_out=Path("c.csv")),
        "--held-out: given twice, as b.csv as well",
    ),
    (lambda: place("h.csv", command="table"), {"held_out": "h.csv"}),
    (
        lambda: place("h.csv", "i.csv", "j.csv", command="table"),
        "files are a synthetic table, the training rows, and held-out rows; got 2 more",
    ),
    (lambda: place("h.csv", command="table", held_out=Path("b"))[:16], "--held-out: give"),
    (lambda: place("a.csv", command="inspect", model=Path("m.skops"))["data"], "a.csv"),
    (
        lambda: place("a.csv", "b.csv", command="inspect", model=Path("m.skops")),
        "files are a model and one table of candidates; got 1 more; skmia audit compares training "
        "rows with others",
    ),
    (
        lambda: place("m.skops", command="inspect", model=Path("a.csv")),
        "A model and one table of candidates: m.skops a.csv",
    ),
    (lambda: place("b.csv", command="inspect", model=Path("a.csv"))["data"], "b.csv"),
]

# -- options in other words


def hint(option, command="audit"):
    return _spelling._hint(option, command)


def known(line):
    return tell_refusal(lambda: _spelling._check_known_options(line.split()))


def parse(*words):
    return refuse(lambda: [*map(str, _spelling.parse_words([*words]).files)])


PLACE = "it has no option in front of it: skmia"
OPTIONS = [
    (lambda: hint("--targt"), "did you mean '--target'?"),
    (lambda: hint("--real", "table"), f"{PLACE} table SYNTHETIC REAL HELD_OUT"),
    (lambda: hint("--held_out", "table"), "did you mean '--held-out'?"),
    (lambda: hint("--quick", "table"), "it is an option of skmia audit"),
    (lambda: hint("--zzzzzz"), "skmia audit --help lists the options"),
    (lambda: hint("--zzzzzz", "policy"), "skmia policy --help lists the options"),
    (lambda: known("audit --seed=3 -x a"), "unrecognized arguments: -x; " + hint("-x")),
    (lambda: known("audit --seed=3 a -- -x"), None),
    (lambda: known("audit --zzzzzz=4")[:34], "unrecognized arguments: --zzzzzz=4"),
    (lambda: known("adit --zzzzzz"), None),
    (
        lambda: _spelling.spell(["audit", "--holdout", "a", "--", "--holdout"]),
        ["audit", "--held-out", "a", "--", "--holdout"],
    ),
    (lambda: _spelling.spell(["other", "--holdout"]), ["other", "--holdout"]),
    (lambda: _spelling.spell([]), []),
    (lambda: parse("audit", "a", "--seed", "3", "b"), ["a", "b"]),
    (lambda: parse("audit", "a"), ["a"]),
    (
        lambda: parse("policy", "show", "cautious", "a b"),
        "unrecognized arguments: 'a b'; skmia policy --help lists the options",
    ),
]

# -- findings of an audit, and how they are written


def list_way(*limits, found=True, parts=(("overall", "all", True),), answers=()):
    """Return the findings of a route whose limits give these answers in turn."""
    given, asked = iter(answers), []

    def compare(kind):
        return lambda found, limit, scope, group: asked.append((kind, group)) or next(given)

    told = {
        "show_way": lambda report, way: NS(level=Level("clear"), told=f"told of {way}"),
        "_list_limited_parts": lambda found, limit: parts,
        "_compare_level": compare("level"),
        "_compare_limit": compare("number"),
    }
    with mock.patch.multiple(_gate, **told):
        found = _gate._list_way("report", "file", "found" if found else None, limits)
    return [(one.name, one.code, one.text) for one in found], asked


def list_findings(release):
    report = NS(service="s", file="f")
    ways = lambda report, way, found, limits: [(way, found, limits)]  # noqa: E731
    with mock.patch.object(_gate, "_list_way", ways):
        return _gate.list_findings(report, "limits", release)


def limit(text="auc=0.6", metric="auc", scope=None):
    return NS(text=text, metric=metric, scope=scope)


TOLD = ("verdict", 0, "told of file")
WITHOUT = (
    "the model has no file at hand, or its file was not attacked; give the file of the model, "
)
WITHOUT += "or ask for --release service"
PARTS = [("overall", "all", True), ("sex", "f", False)]
FINDINGS = [
    (lambda: list_way(), ([TOLD], [])),
    (lambda: list_way(limit(), found=False), ([("verdict", 4, WITHOUT)], [])),
    (
        lambda: list_way(limit(), limit("level=none", "level"), answers=[(0, ""), (1, "b")]),
        ([TOLD, ("auc=0.6", 0, ""), ("level=none", 1, "b")], [("number", "all"), ("level", "all")]),
    ),
    # Of groups beside all records, a number that is not there is no finding.
    (
        lambda: list_way(limit(), parts=PARTS, answers=[(0, ""), (1, "b")])[0][1:],
        [("auc=0.6", 0, ""), ("auc=0.6 in sex=f", 1, "b")],
    ),
    (
        lambda: list_way(limit(), parts=PARTS, answers=[(4, "a"), (4, "b")])[0][1:],
        [("auc=0.6", 4, "a")],
    ),
    (
        lambda: list_way(limit(scope="sex"), parts=PARTS[1:], answers=[(0, "")])[0][1:],
        [("auc=0.6", 0, "")],
    ),
    (lambda: list_findings("service"), [("service", "s", "limits")]),
    (lambda: list_findings("file"), [("service", "s", "limits"), ("file", "f", "limits")]),
    (
        lambda: [
            (one.code, one.text, one.level)
            for one in (
                _gate.judge_verdict("file", NS(level=name, told="t"))
                for name in ("unknown", "clear")
            )
        ],
        [(4, "t", "unknown"), (0, "t", "clear")],
    ),
]


def finding(way="service", name="auc=0.6", code=0, text="", level=None):
    return _gate.GateFinding(way, name, code, text, level)


def sarif(source=None, **given):
    return _output._as_sarif_result(finding(**given), source)


def result(rule, kind, level, text):
    return {"ruleId": rule, "kind": kind, "level": level, "message": {"text": text}}


REPORT = NS(
    seconds={"total": 1.23456},
    summary=lambda verbose=False: f"summary {verbose}",
    to_markdown=lambda: "page",
)
JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="skmia" tests="4" failures="1" errors="2" time="1.235">
  <testsuite name="skmia table" tests="4" failures="1" errors="2" time="1.235">
    <testcase classname="skmia.service" name="auc=0.6"></testcase>
    <testcase classname="skmia.service" name="auc=0.6">
      <failure message="b"/>
    </testcase>
    <testcase classname="skmia.service" name="auc=0.6">
      <error message=""/>
    </testcase>
    <testcase classname="skmia.file" name="auc=0.6">
      <error message=""/>
    </testcase>
  </testsuite>
</testsuites>"""


def write(kind, *findings, **given):
    return _output.format_result(kind, REPORT, {"a": "\x7f"}, findings, "s.csv", **given)


OUTPUTS = [
    (lambda: sarif(), result("limit", "pass", "none", "As a service: auc=0.6 holds.")),
    (
        lambda: sarif(code=1, text="b.", way="file"),
        result("limit", "fail", "error", "As a file: b."),
    ),
    (lambda: sarif(code=4, text="c"), result("limit", "open", "none", "As a service: c.")),
    *(
        (
            lambda level=level: sarif(name="verdict", text="d", level=NS(name=level)),
            result("verdict", kind, told, "As a service: d."),
        )
        for level, kind, told in [
            ("severe", "fail", "error"),
            ("clear", "fail", "warning"),
            ("slight", "fail", "note"),
            ("none", "informational", "none"),
        ]
    ),
    (lambda: sarif(name="verdict", code=4, text="d")["kind"], "open"),
    (
        lambda: sarif(source="a.csv")["locations"],
        [{"physicalLocation": {"artifactLocation": {"uri": "a.csv"}}}],
    ),
    (lambda: write("text"), "summary False"),
    (lambda: write("text", verbose=True), "summary True"),
    (lambda: write("markdown"), "page"),
    (lambda: write("json"), '{\n  "a": "\\u007f"\n}'),
    (
        lambda: write(
            "junit",
            *[finding(code=code, text=text) for code, text in ((0, ""), (1, "b"), (4, ""))],
            finding("file", code=4),
            command="table",
        ),
        JUNIT,
    ),
    (lambda: write("sarif", finding()).count('"s.csv"'), 1),
]


@pytest.mark.parametrize(
    "rows", [PLACES, OPTIONS, FINDINGS, OUTPUTS], ids=["places", "options", "findings", "outputs"]
)
def test_answers_by_hand(rows):
    expect_answers(rows)


def test_one_file_has_one_role(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("1")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    read = {"--data": tmp_path / "a", "--answers": tmp_path / "b", "--model": tmp_path / "gone"}
    assert tell_refusal(lambda: _options._check_given_once(read)) is None
    told = tell_refusal(lambda: _options._check_given_once(read | {"--train": tmp_path / "link"}))
    assert told == "--data and --train are the same file, a"


def test_words_of_reading_name_files_that_are_given():
    def list_absent(*words, **files):
        read = [_options.parse_reading(word) for word in words]
        return [*_options._list_absent_files(NS(read=read, **files))]

    assert list_absent("sep=;", "data.sep=;", data=1) == []
    assert list_absent("data.sep=;", "held-out.sep=;", "held_out.decimal=.", train=1, real=2) == [
        "--read: no file is given as data; the files are train, real",
        "--read: no file is given as held_out; the files are train, real",
    ]
    assert [*_options._list_absent_files(NS())] == []


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_is_printed_comes_after_what_is_written_and_in_spite_of_it(is_kept, capsys):
    shown = []

    def run(show=shown.append, error=None):
        with _output.shown_after(show, "text", is_kept):
            shown.append("written")
            if error is not None:
                raise error

    run()
    assert shown == ["written", "text"]
    with pytest.raises(KeyboardInterrupt):
        run(error=KeyboardInterrupt())
    assert shown == ["written", "text"] * 2
    full = mock.Mock(side_effect=CommandError("no room"))
    assert tell_refusal(lambda: run(full)) == (None if is_kept else "no room")
    assert capsys.readouterr().err == ("skmia: no room\n" if is_kept else "")


def test_files_that_were_not_written_are_told_and_those_without_a_package_are_no_fault():
    notes = ["no page: install it.", f"no picture: {'word ' * 25}.", "x" * 120]

    def save(document, folder):
        warnings.warn("not seen", UserWarning, stacklevel=1)
        failures = {"a": ImportError(), "b": ValueError()}
        return NS(paths=[Path(folder) / document], notes=notes, failures=failures)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lines, faults = _output._save(save, "report.html", "out")
    assert lines[:2] == ["written: out/report.html", notes[0]] and faults == [notes[1].rstrip(".")]
    first, second = lines[2].split("\n")
    assert 95 < len(first) <= 100 and second.startswith("  word")
    assert lines[3:] == ["x" * 120]  # a path in one piece can be copied


def test_warnings_are_kept_once_each_in_their_order():
    caught = {}
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with _output.collect_warnings(caught):
            for text in ("a", "b", "a"):
                warnings.warn(text, UserWarning, stacklevel=1)
    assert list(caught) == ["a", "b"]
