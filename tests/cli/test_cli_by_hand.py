"""Small functions of the command line at the limits of their branches, with answers by hand."""

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan

from skmia._core.levels import Level
from skmia.cli import (
    _answers,
    _audit,
    _colors,
    _columns,
    _dialect,
    _documents,
    _features_and_target,
    _gate,
    _inspect,
    _labels,
    _main,
    _model,
    _model_input,
    _numbers,
    _options,
    _other_files,
    _output,
    _reading,
    _spelling,
    main,
)
from skmia.cli._options import CommandError
from skmia.cli._parser import make_parser
from skmia.report import TOO_FEW

row = dict(metric="tpr", max_fpr=0.01, fpr=0.02)
F = NS(way="service", name="auc", code=0, text="")


def found_by(code, text, *, policy=False):
    return NS(code=code, text=text, is_policy=policy)


ROW_1 = "the probabilities in row 1 of a.csv"
ANSWER_FILE, YES_NO = Path("a.csv"), {"no": 0, "yes": 1}
HALVES = [0] * 90 + [1] * 90


def refuse_length(n_answers, names=("a",), membership=None, n_rows=4):
    answers = pd.DataFrame(0.0, index=range(n_answers), columns=list(names))
    return tell_refusal(lambda: _answers._check_length(ANSWER_FILE, answers, n_rows, membership))


def read_proba(*rows):
    names = [f"{place:04d}" for place in range(len(rows[0]))]
    labels = {name: 10 * place for place, name in enumerate(names)}
    columns = [pd.Series(column, name=name) for name, column in zip(names, array(rows, float).T)]
    outputs, notes = _answers._as_probabilities(ANSWER_FILE, columns, labels, ["first"])
    return outputs.values, [*outputs.classes], len(notes)


def refuse_proba(*rows):
    told = tell_refusal(lambda: read_proba(*rows))
    return None if told is None else told.partition(" holds ")[0].rpartition(": ")[2]


def read_one(numbers, positive="yes", labels=YES_NO, y=HALVES):
    members = _answers._MemberLabels(array(y), None)
    outputs, _ = _answers._as_scores(ANSWER_FILE, array(numbers), positive, labels, members)
    return outputs.values, [*outputs.classes]


def read_many(n_classes, decimals, percent=False, miss=1.0):
    """Return the number of notes on answers of many classes; None if they are refused."""
    rng = np.random.default_rng(0)
    proba = miss * rng.dirichlet(np.full(n_classes, 0.1), 20)
    written = np.round(proba * (100 if percent else 1), decimals)
    try:
        outputs, _, n_notes = read_proba(*written)
    except CommandError:
        return None
    np.testing.assert_allclose(outputs, written / (100 if percent else 1))
    return n_notes


def propose(numbers, y=HALVES, membership=None):
    members = _answers._MemberLabels(array(y), membership)
    return _answers._propose_positive(array(numbers), YES_NO, members)


def refuse_one(numbers, *args):
    return tell_refusal(lambda: read_one(numbers, *args)).rpartition("LABEL: ")[2]


def read_column(values, name="x", positive=None, classes=None, labels=YES_NO):
    arguments = NS(answers=ANSWER_FILE, positive=positive, classes=classes)
    column, members = pd.Series(values, name=name), _answers._MemberLabels(array(HALVES), None)
    outputs, _ = _answers._read_single_column(arguments, column, labels, members)
    return outputs.kind, outputs.values


def read_values(columns, y=(1.0, 2.0)):
    return _answers._read_value_answers(ANSWER_FILE, pd.DataFrame(columns), array(y))


def propose_classes(order, n=20, labels=("a", "b", "c")):
    """Propose names of columns that hold the probabilities of labels in some order."""
    labels = {name: name for name in labels}
    y = array([*labels] * n)
    numbers = pd.DataFrame(array([(y == name) * 0.5 + 0.1 for name in order]).T)
    return _answers._propose_classes(numbers, labels, _answers._MemberLabels(y, None))


def compare_level(name, scope="overall", group="all"):
    limit = NS(value="clear", text="level=clear")
    found = NS(level=Level(name, groups=[{"scope": "sex", "group": "f", "name": "severe"}]))
    return _gate._compare_level(found, limit, scope, group)


def list_limited(evidence, *leaks, scope=None):
    null = pd.DataFrame(leaks, columns=["scope", "group"]).assign(pvalue_adjusted=0.01)
    found = NS(evidence=evidence, grounds=NS(null=null, level=0.95))
    return _gate._list_limited_parts(found, NS(scope=scope, group="f"))


def number(attack="a", **changed):
    usual = {"scope": "overall", "group": "all", "attack": attack, "metric": "auc", "status": "ok"}
    usual |= {"max_fpr": nan, "estimate": 0.6, "low": 0.5, "high": 0.7, "fpr": nan}
    return usual | changed


def compare_limit(rows, metric="auc", max_fpr=None):
    frame = pd.DataFrame(rows)
    limit = NS(metric=metric, max_fpr=max_fpr, column="estimate", value=0.6, text="auc=0.6")
    return _gate._compare_limit(NS(results=frame), limit, "overall", "all")


def tell_needed(n_nonmembers, status="not resolvable"):
    rows = pd.DataFrame({"n_nonmembers": [n_nonmembers], "status": [status]})
    return _gate._tell_needed(NS(max_fpr=0.01), rows)


def read_members(*values, value=None):
    frame = pd.DataFrame({"m": values})
    return _features_and_target.read_members(frame, "m", value)


WRITTEN = ["1234", "0", "1.5", ".5", "5.", "1,5", "-1e5", "+1.5E-3", "1.234", "1.234,5"]
WRITTEN += ["1.234.567", "0.123.456", "12.34.567", "Inf", "-infinity", "1e", "", "x"]


def match_numbers(*signs):
    """Return which texts are numbers in a format; three digits behind a point read in two ways."""
    pattern = _numbers._compile(_numbers.NumberFormat(*signs))
    found = [text for text in WRITTEN if pattern.fullmatch(text)]
    return found if signs[0] != "." else [text for text in found if text != "1.234"]


def judge_left(left, n_values=10, has_zeros=False, n_distinct=21, of_model=False, wanted=None):
    found = NS(n_values=n_values, marks=Counter({"NA": 1}), has_zeros=has_zeros)
    found.n_distinct = n_distinct
    given = found, NS(name="a", wanted=wanted), Counter(left), of_model, ["--data"]
    try:
        verdict = _columns._judge_left(*given)
    except CommandError as error:
        return str(error)
    return verdict[0], verdict[2]


LOGITS = "of decision values or log odds, write 1 / (1 + exp(-x))"
ONE_NEEDED = "a regression needs one: keep the column of the prediction, such as the median"

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _answers: [
        (lambda: refuse_length(4), None),
        (lambda: refuse_length(2), "--answers: a.csv has 2 rows and the table 4 rows"),
        (
            lambda: refuse_length(3, ("0.1", "2", "3", "4")).partition("; ")[2][:46],
            "its first line (0.1, 2, 3) was taken for a hea",
        ),
        (lambda: refuse_length(3, ("0.1", "a"))[-6:], "4 rows"),
        (lambda: refuse_length(2, ("0.1", "2"))[-6:], "4 rows"),
        (
            lambda: refuse_length(5, ("0.1", "2")).partition("; ")[2],
            "remove the line that is not the answer to a row, such as a second header",
        ),
        (
            lambda: [
                refuse_length(n, membership=np.arange(6) < 4, n_rows=6).partition(": answers")[2]
                for n in (3, 4, 2)
            ],
            [
                "",
                " to the members alone, and those to all rows are needed",
                " to the non-members alone, and those to all rows are needed",
            ],
        ),
        # Numbers add to one, or to one hundred, but for one percent, or for half of their last
        # decimal, by which a zero can only be too small.
        (lambda: read_proba([0.6, 0.405]), ([[0.6, 0.405]], [0, 10], 1)),
        (lambda: read_proba([60, 41], [0, 100]), ([[0.6, 0.41], [0.0, 1.0]], [0, 10], 2)),
        (lambda: read_proba([1, 0]), ([[1.0, 0.0]], [0, 10], 1)),
        (lambda: refuse_proba([0.3, 0.3, 0.413]), f"{ROW_1} add to 1.01"),
        (lambda: read_proba([0.34, 0.33, 0.335])[1:], ([0, 10, 20], 1)),
        (lambda: read_proba([0.26, 0.26, 0.25, 0.25])[1:], ([0, 10, 20, 30], 1)),
        (lambda: read_proba([0.49, 0.49, 0, 0])[1:], ([0, 10, 20, 30], 1)),
        (lambda: refuse_proba([0.51, 0.51, 0, 0]), f"{ROW_1} add to 1.02"),
        # Whole numbers are one 1 in each row: a model of several labels is none of classes.
        (lambda: refuse_proba([1, 1, 0]), f"{ROW_1} add to 2"),
        (lambda: refuse_proba([0, 0, 0]), f"{ROW_1} add to 0"),
        (lambda: read_proba([26, 26, 25, 25], [49, 49, 0, 0])[1:], ([0, 10, 20, 30], 2)),
        (lambda: refuse_proba([0.49, 0.491, 0, 0]), f"{ROW_1} add to 0.981"),
        (
            lambda: refuse_proba([0.5, 0.5], [0.6, 0.42]),
            "the probabilities in row 2 of a.csv add to 1.02",
        ),
        (lambda: refuse_proba([0.5, 0.5], [0.6, 0.38])[-7:], "to 0.98"),
        (lambda: refuse_proba([0.5, 0.5], [0.5, 0.5], [-0.02, 1.02]), "row 3 of a.csv"),
        (lambda: refuse_proba([0.5, 0.5], [0.4, 0.58], [3.0, -0.01]), "row 2 of a.csv"),
        (lambda: refuse_proba([60, 42]), "row 1 of a.csv"),
        (lambda: refuse_proba([50, 50], [102, -2]), "row 1 of a.csv"),
        # One column is of the second label, or of the first one turned around.
        (lambda: read_one([0.25, 1.0, 0.0]), ([[0.75, 0.25], [0.0, 1.0], [1.0, 0.0]], [0, 1])),
        (lambda: read_one([0.25, 1.0], "no"), ([[0.25, 0.75], [1.0, 0.0]], [0, 1])),
        (lambda: refuse_one([-0.1, 0.5]), LOGITS),
        (lambda: refuse_one([0.0, 1.5]), f"of percent, divide by 100; {LOGITS}"),
        (lambda: refuse_one([0.0, 100.0]), f"of percent, divide by 100; {LOGITS}"),
        (lambda: refuse_one([0.0, 100.5]), LOGITS),
        (lambda: refuse_one([-0.1, 50.0]), LOGITS),
        (
            lambda: refuse_one([0.5], "maybe"),
            "--positive: the target has no label 'maybe'; it has 'no' and 'yes'",
        ),
        (
            lambda: refuse_one([0.5], "a", dict.fromkeys("abc", 0))[:73],
            "--answers: a.csv has one column of numbers, and the target 3 classes; giv",
        ),
        (
            lambda: refuse_one([0.5] * 90 + [0.75] * 90, None).partition("name it: ")[2][:34],
            "--positive yes, with which they ar",
        ),
        # An answer of one half is one for the first label.
        (
            lambda: propose([0.5] * 90 + [0.75] * 90),
            "--positive yes, with which they are right on 100% of the rows that the model was "
            "trained on",
        ),
        (lambda: propose([0.75] * 90 + [0.5] * 90)[:14], "--positive no,"),
        (lambda: propose([0.5, 0.75] * 90), "--positive no or --positive yes"),
        # Of the rows of members alone.
        (
            lambda: propose([0.5] * 90 + [0.75] * 990, HALVES + [0] * 900, np.arange(1080) < 180)[
                :55
            ],
            "--positive yes, with which they are right on 100% of th",
        ),
        (lambda: read_column(["no", "yes", "no"])[0], "label"),
        (
            lambda: read_column(["0.25", "1"], name="proba_no"),
            ("proba", [[0.25, 0.75], [1.0, 0.0]]),
        ),
        (lambda: read_column(["0.25", "1"], "no", "yes"), ("proba", [[0.75, 0.25], [0.0, 1.0]])),
        (
            lambda: read_column(["0", "1"], positive="1", labels={"0": 0, "1": 1}),
            ("proba", [[1.0, 0.0], [0.0, 1.0]]),
        ),
        (lambda: read_column(["0", "1"], labels={"0": 0, "1": 1})[0], "label"),
        (
            lambda: tell_refusal(lambda: read_column([0.25] * 180, "0", labels={"0": 0, "1": 1}))[
                :61
            ],
            "--answers: a.csv has one column of numbers between 0 and 1; i",
        ),
        (
            lambda: tell_refusal(lambda: read_column(["no", "maybe"])),
            "--answers: 'maybe' in a.csv is not a label of the table, which has 'no' and 'yes'",
        ),
        (
            lambda: tell_refusal(lambda: read_column(["0.5", "maybe"], positive="yes")),
            "--answers: column 'x' of a.csv must hold numbers; got 'maybe' in row 2",
        ),
        (
            lambda: tell_refusal(lambda: read_column(["no"], classes=["a"]))[:37],
            "--classes: a.csv has one column; --po",
        ),
        (
            lambda: tell_refusal(
                lambda: read_column(["0.5"], name="a", labels={"a": 0, "b": 1, "c": 2})
            )[:55],
            "--answers: a.csv has one column of numbers, and the tar",
        ),
        # A regression has one column, beside one that numbers the rows.
        (lambda: read_values({"x": ["0.5", "2"]}).values, [0.5, 2.0]),
        (lambda: read_values({"id": [7, 8], "x": [0.5, 2.0]}).values, [0.5, 2.0]),
        (
            lambda: tell_refusal(lambda: read_values({"x": [0.5], "z": [2.0]})),
            "--answers: a.csv has 2 columns, 'x' and 'z', as of several quantiles or targets; "
            + ONE_NEEDED,
        ),
        (
            lambda: tell_refusal(
                lambda: read_values({"1": [0.5], "2": [0.25], "x": [0.1]})
            ).partition("'x'")[2],
            ", which are values of the target: give --task classification",
        ),
        (
            lambda: tell_refusal(lambda: read_values({"1": [0.5], "2": [0.25]}, y=(1.0, 2.0, 3.0)))[
                -9:
            ],
            "he median",
        ),
        # The columns are named in an order that is right on the training rows.
        (
            lambda: propose_classes("bca"),
            "; --classes b c a names them in an order that is right on 100% of the rows that the "
            "model was trained on",
        ),
        (lambda: propose_classes("ab"), ""),
        (
            lambda: propose_classes("aaa"),
            "; --classes LABEL ... names the label of each column, in their order",
        ),
        # A name counts as it is, or without a word before it, whichever finds more.
        (lambda: _answers._match_columns(["a", "p_b"], ["a", "b"]), {"a": "a", "b": "p_b"}),
        (lambda: _answers._match_columns(["a", "p_a"], ["a", "b"]), {"a": "a"}),
        (lambda: _answers._match_columns(["p_a", "proba_a"], ["a", "b"]), {}),
        (lambda: _answers._match_columns(["x"], ["a", "b"]), {}),
        (lambda: _answers._MemberLabels(array([3, 4, 5]), None).y, [3, 4, 5]),
        (lambda: _answers._MemberLabels(array([3, 4, 5]), array([0, 1, 1])).y, [4, 5]),
        (lambda: _answers._MemberLabels(array([3, 4, 5]), None).lack_few([3]), False),
        (lambda: _answers._numbers_rows("row", pd.Series([1.5, 2.5])), True),
        (lambda: _answers._numbers_rows("a", pd.Series([3, 4, 5])), True),
        (lambda: _answers._numbers_rows("a", pd.Series([3, 4])), False),
        (lambda: _answers._numbers_rows("a", pd.Series([3, 5, 6])), False),
        (lambda: _answers._numbers_rows("id", pd.Series([9, 4])), True),
        (lambda: _answers._numbers_rows("id", pd.Series([4, 4])), False),
        (lambda: _answers._strip_affixes("P(y=a)"), "y=a"),
        (lambda: _answers._strip_affixes(" proba_a "), "a"),
        (
            lambda: _answers._say_columns(
                pd.DataFrame(columns=["a", "b", "c"]), ["a", "b"], ["a", "B"]
            ),
            [
                "Columns of the answers are read by their names: 'a' as 'a' and 'b' as 'B'.",
                "Columns of the answers that are not classes are left out: 'c'.",
            ],
        ),
        (
            lambda: _answers._say_columns(pd.DataFrame(columns=["a", "b"]), ["a", "b"], ["a", "b"]),
            [],
        ),
        (
            lambda: _answers._drop_numbers(
                pd.DataFrame({"row": [1, 2], "a": [0.5, 0.6], "b": [0.5, 0.4]}), 2
            ).columns.tolist(),
            ["a", "b"],
        ),
        (
            lambda: _answers._drop_numbers(
                pd.DataFrame({"row": [1, 2], "a": [0.5, 0.6]}), 2
            ).columns.tolist(),
            ["row", "a"],
        ),
    ],
    _audit: [
        (lambda: _audit._round_minutes(594), "10"),
        (lambda: _audit._round_minutes(600), "10"),
        (lambda: _audit._round_minutes(6000 * 60), "6,000"),
    ],
    _colors: [
        (lambda: _colors._count_colors({}), 16),
        (lambda: _colors._count_colors({"TERM": "xterm-256color"}), 256),
        (lambda: _colors._count_colors({"TERM": "a-direct"}), 256),
        (lambda: _colors._count_colors({"COLORTERM": "1"}), 256),
        (lambda: _colors._count_colors({"WT_SESSION": "1"}), 256),
    ],
    _columns: [
        # Of ten values, one is a mark of a missing one: eight of nine are numbers.
        (
            lambda: judge_left({"x": 1}),
            (
                None,
                ["column 'a': 8 of 10 values are numbers; not: 'x' (1). It is read as text."],
            ),
        ),
        (lambda: judge_left({"x": 5}), (None, [])),
        (lambda: judge_left({"x": 4}, n_values=9)[1][0][:20], "column 'a': 4 of 9 v"),
        (
            lambda: judge_left({"x": 1}, n_values=11),
            "--data: column 'a': 9 of 11 values are numbers; not: 'x' (1). --read na_values.a=x "
            "takes them as missing, --read dtype.a=str reads the column as text",
        ),
        (lambda: judge_left({"x": 1}, n_values=11, has_zeros=True)[0], None),
        (lambda: judge_left({"x": 1}, n_values=11, n_distinct=20)[0], None),
        (lambda: judge_left({f"{k}": 1 for k in range(20)}, n_values=201)[:6], "--data"),
        (lambda: judge_left({f"{k}": 1 for k in range(21)}, n_values=211)[0], None),
        (
            lambda: judge_left({"x": 1}, of_model=True),
            "--data: column 'a' holds 'x' (1), and the model has numbers there; --read "
            "na_values.a=x takes them as missing",
        ),
        (
            lambda: judge_left({"x": 1}, of_model=True, wanted="float")[:57],
            "--data: column 'a' holds 'x' (1), and --read dtype asks f",
        ),
        (
            lambda: _columns._show_value_counts(Counter(a=3, b=2, c=1)),
            "'a' (3), 'b' (2) and 'c' (1)",
        ),
        (lambda: _columns.is_known_text(None), False),
        (lambda: _columns.is_known_text(NS(kind="text", dtype=None)), True),
        (lambda: _columns.is_known_text(NS(kind="number", dtype=pd.CategoricalDtype())), False),
        (lambda: _columns.is_known_text(NS(kind="number", dtype=pd.CategoricalDtype([1]))), True),
        (lambda: _columns._is_text_column(pd.Series(["a", None], dtype=object)), True),
        (lambda: _columns._is_text_column(pd.Series([1, "a"], dtype=object)), False),
        (lambda: _columns._is_text_column(pd.Series([1])), False),
        (lambda: _columns._mean(True), "true"),
        (lambda: _columns._mean(" TRUE "), "true"),
        (lambda: _columns._mean("2.50"), 2.5),
        (lambda: _columns._mean("a"), None),
        (lambda: _columns._mean(None), None),
        (lambda: _columns._is_nan(nan), True),
        (lambda: _columns._is_nan(1.0), False),
        (lambda: _columns._is_nan("nan"), False),
        (
            lambda: _columns._propose_options("a", ["x", "y z"]),
            (
                "--read na_values.a=x 'na_values.a=y z' takes them as missing, --read "
                "dtype.a=str reads the column as text"
            ),
        ),
        (
            lambda: _columns._propose_options("a", ["x"], may_be_text=False),
            "--read na_values.a=x takes them as missing",
        ),
        (
            lambda: _columns._propose_options("a", list("abcdefghijklmnop"), may_be_text=False),
            "write numbers, or leave these rows out",
        ),
    ],
    _dialect: [
        (lambda: _dialect._recognize_encoding("é".encode("latin-1")), "utf-8"),
        (lambda: _dialect._recognize_encoding("a;b".encode("utf-16-le")), "utf-16-le"),
        (lambda: _dialect._recognize_encoding("a;b".encode("utf-16-be")), "utf-16-be"),
        (lambda: _dialect._recognize_encoding("é".encode()), "utf-8"),
        (lambda: _dialect._decodes(b"\xff", "utf-8"), False),
        (lambda: _dialect._decodes("é".encode()[:1], "utf-8"), True),
        (lambda: _dialect._get_quotechar({}), '"'),
        (lambda: _dialect._get_quotechar({"quoting": "3"}), None),
        (lambda: _dialect._get_quotechar({"quoting": "0", "quotechar": "'"}), "'"),
        (lambda: _dialect._leave_out_comments(["#a", "b"], "#"), ["b"]),
        # Rows of a single field, among them some without a value, and no row with one.
        (lambda: _dialect._measure_division(["a,b", "", '""'], ";", '"')[2:], (0, 1, 1, 1.0)),
        (lambda: _dialect._measure_division([" ", '""'], ";", '"')[2:], (0, 1, 1, 0.0)),
        (lambda: _dialect._measure_division(["a", "b;c;d", "e"], ";", '"')[2:], (0, 1, 3, 0.5)),
        (lambda: _dialect._measure_division(["'a;b'", "c"], ";", "'")[2:], (0, 1, 1, 1.0)),
        (lambda: _dialect._measure_division(["a b", "c  d"], r"\s+", '"')[2:], (0, 2, 2, 1.0)),
        (lambda: _dialect._leave_out_comments(["#a", "b"], None), ["#a", "b"]),
        (
            lambda: tuple(_dialect._measure_division(["a,b", "1,2", "3,4", "5,6,7"], ",", '"')),
            (",", '"', 0, 2, 2, 0.666666667),
        ),
        (lambda: tuple(_dialect._measure_division([], ",", '"')), (",", '"', 0, 1, 1, 0.0)),
        (lambda: tuple(_dialect._measure_division(["a,b,c"], ",", '"')), (",", '"', 0, 3, 3, 1.0)),
        (
            lambda: tuple(_dialect._measure_division(["a", "1,2", "3"], ",", '"')),
            (",", '"', 0, 1, 2, 0.5),
        ),
        (lambda: _dialect._has_spaces([["a", " b"], ["c", " d"]], ",", '"'), True),
        (lambda: _dialect._has_spaces([["a", " b"], ["c", "d"]], ",", '"'), False),
        (lambda: _dialect._has_spaces([["a", " b"]], " ", '"'), False),
        (lambda: _dialect._has_spaces([["a"]], ",", '"'), False),
        (lambda: _dialect._has_spaces([["a", "b"], ["a", "b"], ["a", ' "b']], ",", '"'), True),
    ],
    _documents: [
        (lambda: _documents._name_apart([Path("x/a"), Path("y/a")]), ["x/a", "y/a"]),
        (lambda: _documents._name_apart([Path("x/a"), Path("x/b")]), ["a", "b"]),
        (lambda: _documents._name_apart([Path("x/a"), Path("z/x/a")]), ["a", "b"]),
    ],
    _gate: [
        (lambda: compare_level("clear"), (0, "")),
        (lambda: compare_level("slight"), (0, "")),
        (lambda: compare_level("severe"), (1, "the level is severe, above clear")),
        (lambda: compare_level("unknown")[0], 4),
        (
            lambda: compare_level("none", "sex", "f"),
            (1, "the level in sex=f is severe, above clear"),
        ),
        (
            lambda: compare_level("none", "sex", "m"),
            (
                4,
                "the level in sex=m could not be measured, so level=clear cannot be said to hold",
            ),
        ),
        (lambda: list_limited("leak", ("overall", "all")), [("overall", "all", True)]),
        (
            lambda: list_limited("leak", ("overall", "all"), ("sex", "f"), ("sex", "f")),
            [("overall", "all", True), ("sex", "f", False)],
        ),
        (
            lambda: list_limited("leak", ("sex", "f")),
            [("overall", "all", True), ("sex", "f", True)],
        ),
        (lambda: list_limited("shift", ("sex", "f")), [("overall", "all", True)]),
        (lambda: list_limited("leak", scope="sex"), [("sex", "f", True)]),
        (lambda: compare_limit([number(), number("b", estimate=0.5)]), (0, "")),
        (
            lambda: compare_limit([number(estimate=0.61)]),
            (1, "AUC of a is 0.610 [0.500, 0.700] above 0.6"),
        ),
        (
            lambda: compare_limit([number(estimate=0.61), number("b", told=1)]),
            (0, ""),
        ),
        # Another attack than the reported one needs no number, as for a policy.
        (lambda: compare_limit([number(status="x"), number("b", told=1)]), (0, "")),
        (lambda: compare_limit([number(scope="sex")])[0], 4),
        (
            lambda: compare_limit([number(), number("b", status="x"), number("c", estimate=nan)]),
            (
                4,
                "AUC could not be measured by b and c, so auc=0.6 cannot be said to hold; audit "
                "with more members and non-members",
            ),
        ),
        (
            lambda: compare_limit([number(status="x")])[1].partition(", so")[0],
            "AUC could not be measured",
        ),
        (
            lambda: compare_limit(
                [number(metric="tpr", max_fpr=k, estimate=e) for k, e in ((0.01, 0.5), (0.1, 0.9))],
                metric="tpr",
                max_fpr=0.01,
            ),
            (0, ""),
        ),
        (lambda: _gate._judge_way([F]), (0, [])),
        (lambda: _gate._judge_way([F, found_by(1, "b"), found_by(4, "c")]), (1, ["b"])),
        (lambda: _gate._judge_way([F, NS(code=0, text=""), NS(code=4, text="c")]), (4, ["c"])),
        (
            lambda: _gate._judge_way([NS(code=4, text="a"), found_by(1, "b"), found_by(4, "c")]),
            (4, ["a", "b"]),
        ),
        (
            lambda: _gate._judge_way(
                [NS(code=4, text="a"), found_by(1, "b"), found_by(1, "c", policy=True)]
            ),
            (1, ["b", "c", "a"]),
        ),
        (lambda: _gate._judge_way([NS(code=4, text="a"), NS(code=4, text="c")]), (4, ["a"])),
        (lambda: _gate._judge_way([NS(code=4, text="a"), NS(code=0, text="")]), (4, ["a"])),
        (
            lambda: _gate.judge(
                [
                    NS(way="a", code=4, text="a"),
                    NS(way="b", code=0, text=""),
                    NS(way="b", code=1, text="b", is_policy=False),
                ]
            ),
            (1, ["b"]),
        ),
        (
            lambda: _gate.judge(
                [
                    NS(way="a", code=4, text="a"),
                    NS(way="b", code=0, text=""),
                    NS(way="b", code=0, text="b"),
                ]
            ),
            (4, ["a"]),
        ),
        (lambda: _gate.judge([NS(way="a", code=0, text="")]), (0, [])),
        (lambda: _gate._tell_measured(row), " (measured at 2%)"),
        (lambda: _gate._tell_measured(dict(row, fpr=0.0101)), ""),
        (lambda: _gate._tell_measured(dict(row, metric="auc")), ""),
        (lambda: _gate._tell_measured(dict(row, fpr=None)), ""),
        (
            lambda: _gate._tell_needed(NS(max_fpr=None), None),
            "audit with more members and non-members",
        ),
        # More non-members, or more records of the same people, are not what is needed.
        (lambda: tell_needed(1000, TOO_FEW), "audit with more members and non-members"),
        *(
            (
                lambda n=n: tell_needed(n),
                f"it takes 1,000 non-members or more{who}, and 0.01 among the rates (--fpr)",
            )
            for n, who in ((999, ""), (1000, " of different people"))
        ),
        (
            lambda: _gate.miss_number("few rows", NS(text="auc=0.6")),
            (4, "few rows, so auc=0.6 cannot be said to hold"),
        ),
        (
            lambda: _gate.miss_number("few rows", NS(text="auc=0.6"), "more"),
            (4, "few rows, so auc=0.6 cannot be said to hold; more"),
        ),
        (
            lambda: _gate.compare_largest(
                pd.DataFrame(
                    [dict(estimate=0.6, low=0.5, high=0.7), dict(estimate=0.55, low=0.5, high=0.8)]
                ),
                NS(column="high", value=0.75),
                lambda row: "AUC",
            ),
            (1, "AUC is 0.550 [0.500, 0.800], whose high end is above 0.75"),
        ),
        (
            lambda: _gate.compare_largest(
                pd.DataFrame([dict(estimate=0.6, low=0.5, high=0.7)]),
                NS(column="estimate", value=0.6),
                lambda row: "AUC",
            ),
            (0, ""),
        ),
        (
            lambda: _gate.compare_largest(
                pd.DataFrame([dict(estimate=0.6, low=0.5, high=0.7)]),
                NS(column="estimate", value=0.59),
                lambda row: "AUC",
            ),
            (1, "AUC is 0.600 [0.500, 0.700] above 0.59"),
        ),
        # A number that is above its limit is not written as the limit itself.
        (
            lambda: _gate.compare_largest(
                pd.DataFrame([dict(estimate=0.60004, low=-0.0001, high=0.7)]),
                NS(column="estimate", value=0.6),
                lambda row: "AUC",
            ),
            (1, "AUC is 0.60004 [0.000, 0.700] above 0.6"),
        ),
    ],
    _inspect: [
        (lambda: _inspect._as_plain_value(np.float64(0.5)), 0.5),
        (lambda: _inspect._as_plain_value(Path("a")), "a"),
    ],
    _labels: [
        (
            lambda: _labels.say_matched("y", {1: "1", "a": "a"}),
            ["Labels of 'y' are read by their values: 1 as '1'."],
        ),
        (lambda: _labels.say_matched("y", {"a": "a"}), []),
        (lambda: _labels.say_matched("y", {"s\xed": "si\u0301"}), []),  # which look the same
        (lambda: _labels.can_be_numbered(pd.Series(["a", "b", None]), [0, 1]), True),
        (lambda: _labels.can_be_numbered(pd.Series(["a", "b", "c"]), [0, 1]), False),
        (lambda: _labels.can_be_numbered(pd.Series(["a", "b"]), [1, 2]), False),
        (lambda: _labels.show_labels(["a", "b", "c"], 2), "'a', 'b' and 1 more"),
    ],
    _main: [
        (lambda: _main._is_missing_stream(None), True),
        (lambda: _main._is_missing_stream(NS(closed=True)), True),
        (lambda: _main._is_missing_stream(NS()), False),
        (
            lambda: _main._describe_interruption(
                NS(command="audit", checkpoint=None), KeyboardInterrupt()
            ),
            "interrupted; no shadow model was kept (--checkpoint DIR keeps the finished ones)",
        ),
        (
            lambda: _main._describe_interruption(
                NS(command="audit", checkpoint="d"), KeyboardInterrupt()
            ),
            "interrupted; finished shadow models, if any, are kept in d",
        ),
        (
            lambda: _main._describe_interruption(NS(command="inspect"), KeyboardInterrupt()),
            "interrupted",
        ),
        (lambda: _main._describe_interruption(NS(), NS(__notes__=["a", "b"])), "interrupted; a b"),
    ],
    _model: [
        (lambda: _model.needs_numbered_labels("mlp", "classification"), True),
        (lambda: _model.needs_numbered_labels("mlp", "regression"), False),
        (lambda: _model.needs_numbered_labels("forest", "classification"), False),
        (lambda: _model._name_types(["__main__.A", "b.C"]), "A of a script or notebook, b.C"),
    ],
    _model_input: [
        (lambda: _model_input._write_value(2.0), "2"),
        (lambda: _model_input._write_value(2.5), "2.5"),
        (lambda: _model_input._write_value(2), "2"),
        (lambda: _model_input._read_bool("True"), True),
        (lambda: _model_input._read_bool("no"), nan),
        (lambda: _model_input._as_bools(pd.Series(["true", "x"])).tolist(), ["true", "x"]),
        (lambda: _model_input._as_model_numbers(pd.Series(["1", "2.5"])).tolist(), [1.0, 2.5]),
        (lambda: _model_input._as_model_numbers(pd.Series(["1", "x"])).tolist(), ["1", "x"]),
        (lambda: _model_input._as_model_texts(pd.Series([1.0, 2.5])).tolist(), ["1", "2.5"]),
        (lambda: _model_input._may_hold_texts(pd.Series(["a"])), True),
        (lambda: _model_input._may_hold_texts(pd.Series([1])), False),
        (lambda: _model_input._may_hold_texts(pd.Series(["a"], dtype="category")), False),
    ],
    _numbers: [
        (lambda: _numbers.is_mark(" NA "), True),
        (lambda: _numbers.is_mark("x"), False),
        (
            lambda: match_numbers(".", ""),
            ["1234", "0", "1.5", ".5", "5.", "-1e5", "+1.5E-3", "Inf", "-infinity"],
        ),
        (
            lambda: match_numbers(",", "."),
            ["1234", "0", "1,5", "-1e5", "1.234", "1.234,5", "1.234.567", "Inf", "-infinity"],
        ),
        (lambda: match_numbers(",", "'"), ["1234", "0", "1,5", "-1e5", "Inf", "-infinity"]),
        (lambda: [tuple(one) for one in _numbers.list_formats("1.234,5")], [(",", ".")]),
        (
            lambda: [tuple(one) for one in _numbers.list_formats("1,234")],
            [(",", ""), (".", ","), (",", "."), (",", "'"), (",", " ")],
        ),
        (lambda: _numbers.list_formats("abc"), ()),
        (lambda: _numbers.read_number(" 1.234,5 ", _numbers.NumberFormat(",", ".")), 1234.5),
        (lambda: _numbers.read_number(" \u22121.5 ", _numbers.NumberFormat(".", "")), -1.5),
        (lambda: tuple(_numbers.strip_affixes("($1.50)")), ("-1.50", False, True)),
        (lambda: tuple(_numbers.strip_affixes("-5 %")), ("-5", True, False)),
        (lambda: _numbers.strip_affixes("(5 %"), None),
        (lambda: _numbers.find_decimals([["1.5", "2"], ["1", "2"]]), "."),
        (lambda: _numbers.find_decimals([["1.5", "2"], ["1,5", "2"]]), None),
        (lambda: _numbers.find_decimal(["1.5", "NA", "2,000.5"]), "."),
        (lambda: _numbers.find_decimal(["1"] * 8 + ["1.5"] + ["x"]), "."),
        (lambda: _numbers.find_decimal(["1"] * 7 + ["1.5"] + ["x"]), None),
        (lambda: _numbers.find_decimal(["1"] * 8 + ["1.5", "?", "NA"] + ["x"]), "."),
    ],
    _options: [
        (lambda: _options.parse_pair("a=b=c"), ("a=b", "c")),
        (lambda: _options.parse_text("a= b "), ("a", "b")),
        (
            lambda: list(_options._list_words({"a": {"b": [1, 2], "c": {"d": 3}}, "e": 4})),
            ["a.b=1", "a.b=2", "a.c.d=3", "e=4"],
        ),
        (lambda: _options.as_option_text(("a", "b")), "a=b"),
        (lambda: _options.as_option_text(Path("a")), "a"),
        (lambda: _options.as_option_text(3), 3),
    ],
    _other_files: [
        (lambda: _other_files.read_suffix(Path("a.CSV.GZ")), ".csv.gz"),
        (lambda: _other_files.read_suffix(Path("a.tar.gz")), ".tar.gz"),
        (lambda: _other_files.read_suffix(Path("a.b.Skops")), ".skops"),
    ],
    _output: [
        (
            lambda: _output._as_case(NS(way="file", name="a", code=0, text="")),
            ['    <testcase classname="skmia.file" name="a"></testcase>'],
        ),
        (
            lambda: _output._as_case(NS(way="file", name="a", code=0, text="b<")),
            [
                (
                    '    <testcase classname="skmia.file" '
                    'name="a"><system-out>b&lt;</system-out></testcase>'
                )
            ],
        ),
        (
            lambda: _output._as_case(NS(way="file", name="a", code=1, text="b")),
            [
                '    <testcase classname="skmia.file" name="a">',
                '      <failure message="b"/>',
                "    </testcase>",
            ],
        ),
        (
            lambda: _output._as_case(NS(way="file", name="a", code=4, text="b")),
            [
                '    <testcase classname="skmia.file" name="a">',
                '      <error message="b"/>',
                "    </testcase>",
            ],
        ),
        (lambda: _output._break(_output.AuditOutcome(None, "", 0, []), ["a"])[2:], (3, ["a"])),
        (
            lambda: _output._break(_output.AuditOutcome(None, "", 4, ["b"]), ["a"])[2:],
            (4, ["b", "a"]),
        ),
        (lambda: _output._break(_output.AuditOutcome(None, "", 0, []), ())[2:], (0, [])),
    ],
    _features_and_target: [
        (lambda: read_members("1", "false", " TRUE"), [True, False, True]),
        (lambda: read_members("a ", "b", value="a"), [True, False]),
        (
            lambda: tell_refusal(lambda: read_members(1, 1)),
            "--members: m names no non-member; the audit needs both",
        ),
        (
            lambda: tell_refusal(lambda: read_members(0, 0)),
            "--members: m names no member; the audit needs both",
        ),
        (
            lambda: tell_refusal(lambda: read_members("1", "x")),
            "--members: m must hold 0/1 or true/false; got 'x' in row 2; name the value of the "
            "members: --member-value 1 or --member-value x",
        ),
        (lambda: tell_refusal(lambda: read_members("1", "x", "y"))[-9:], "names one"),
        (
            lambda: tell_refusal(lambda: read_members("a", "b", None, value="a")),
            "--member-value: m must hold two values, for members and for others; it has '', 'a' "
            "and 'b'",
        ),
        (
            lambda: tell_refusal(lambda: read_members("a", "b", value="c")),
            "--member-value: m has no value 'c'; it has 'a' and 'b'",
        ),
        (
            lambda: tell_refusal(
                lambda: _features_and_target._as_feature("x", pd.Series([1.0, np.inf]))
            ),
            "column 'x' holds infinite numbers; leave it out: --drop x",
        ),
        (
            lambda: _features_and_target._as_feature("x", pd.Series([1, None], dtype="Int64")),
            np.array([1.0, np.nan]),
        ),
        (lambda: _features_and_target._has_header(pd.Series(["member", "1"]), 1, None), True),
        (lambda: _features_and_target._has_header(pd.Series(["1", "0"]), 1, None), False),
        (lambda: _features_and_target._has_header(pd.Series(["member"]), 1, None), False),
        (lambda: _features_and_target._has_header(pd.Series(["a", "b"]), 1, "a"), True),
        (lambda: _features_and_target._has_header(pd.Series(["a", "b"]), 2, "a"), False),
        (
            lambda: _features_and_target._parse_bits(
                pd.Series(["1", " TRUE", "no" if False else "0"]), "a"
            ),
            [True, True, False],
        ),
        # As numpy.savetxt writes.
        (
            lambda: _features_and_target._parse_bits(pd.Series(["1.000e+00", "0.000e+00"]), "a"),
            [True, False],
        ),
        (lambda: _features_and_target._has_header(pd.Series(["1.000e+00", "0"]), 2, None), False),
    ],
    _reading: [
        (lambda: _reading._are_numbers_of_rows(["1", "2"]), True),
        (lambda: _reading._are_numbers_of_rows(["1", "1"]), False),
        (lambda: _reading._are_numbers_of_rows(["1", "a"]), False),
        (lambda: _reading._describe_index(pd.Series([1, 2, 9])), "counts the rows"),
        (lambda: _reading._describe_index(pd.Series([1, 2, 2])), None),
        (lambda: _reading._describe_index(pd.Series([1])), "holds another value in each row"),
        (
            lambda: _reading._describe_index(pd.Series(["a", "b"])),
            "holds another value in each row",
        ),
        (lambda: _reading._describe_index(pd.Series(["a", "a"])), None),
        (lambda: _reading._describe_index(pd.Series([0.5, 1.5])), None),
        (lambda: _reading._describe_index(pd.Series(["a", None])), None),
        (
            lambda: _reading._describe_index(
                pd.Series(
                    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 20]
                )
            ),
            "counts the rows",
        ),
        (
            lambda: _reading._list_missing_words(
                NS(
                    given={"keep_default_na": "false"},
                    dialect=1,
                    of_columns={"na_values": {None: ["x"], "a": ["y"]}},
                ),
                "a",
            ),
            {"x", "y"},
        ),
        (
            lambda: _reading._list_missing_words(
                NS(given={}, dialect=None, of_columns={"na_values": {"a": ["y"]}}), "b"
            ),
            set(),
        ),
        (lambda: _reading._get_column_word(NS(of_columns={"w": {None: 1, "a": 2}}), "w", "a"), 2),
        (lambda: _reading._get_column_word(NS(of_columns={"w": {None: 1, "a": 2}}), "w", "b"), 1),
        (lambda: _reading.suggest_columns("incme", ["income", "age"]), "did you mean 'income'?"),
        (
            lambda: _reading.suggest_columns("zzz", ["income", "age"]),
            "the columns are 'income', 'age'",
        ),
        (lambda: _reading._can_be_thousands(["1.234", "NA"]), True),
        (lambda: _reading._can_be_thousands(["1234", "5"]), False),
        (lambda: _reading._can_be_thousands(["1.23", "1.234"]), False),
    ],
    _spelling: [
        (lambda: _spelling._is_option("--a"), True),
        (lambda: _spelling._is_option("-"), False),
        (lambda: _spelling._is_option("-.5"), False),
        (lambda: _spelling._is_option("-1"), False),
        (lambda: _spelling._is_option("a"), False),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


@pytest.mark.parametrize(
    "text, header, expected",
    [
        # Rows of one field count, and blank lines do not; a header is not a row.
        ("a\n\n1\n \n2,3\n", 0, ({1: 1, 2: 1}, {1: 1, 2: 2})),
        ("1,2\n3,4\n5\n", None, ({2: 2, 1: 1}, {2: 1, 1: 3})),
        ("# no, no, no\na,b\n1,2\n", 0, ({2: 1}, {2: 1})),
    ],
)
def test_rows_are_counted_by_their_fields(tmp_path, text, header, expected):
    path = tmp_path / "a.csv"
    path.write_text(text, "utf-8")
    usual = {"encoding": "utf-8", "n_skipped": text.count("#"), "sep": ",", "quotechar": '"'}
    dialect = NS(**usual, skipinitialspace=False, header=header)
    counts, first = _dialect.count_fields(path, dialect)
    assert (dict(counts), first) == expected


PATHS = {
    "audit": "files config save_config data train held_out members validation model answers "
    "checkpoint out policy",
    "table": "synthetic real files held_out out policy",
    "inspect": "model files data out",
    "report": "result out",
    "compare": "first second out",
    "decide": "result",
    "evidence": "results out",
    "policy": "policy",
}


def test_files_are_proposed_for_options_that_take_a_path_and_for_no_others():
    (commands,) = (one for one in make_parser()._actions if one.dest == "command")
    assert {
        name: " ".join(one.dest for one in command._actions if hasattr(one, "complete"))
        for name, command in commands.choices.items()
    } == PATHS


def test_the_arguments_of_the_process_are_read_without_the_name_of_the_program(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["skmia", "policy"])
    assert main() == main(["policy"])
    first, second = np.split(array(capsys.readouterr().out.splitlines()), 2)
    assert first.tolist() == second.tolist()


def test_streams_that_are_missing_keep_nothing_and_lend_no_number(monkeypatch):
    opened, kept, closed = iter([1, 2, 3]), [], []
    monkeypatch.setattr("sys.stdout", None)
    stderr = sys.stderr
    with monkeypatch.context() as patched:
        patched.setattr(_main.os, "open", lambda path, flags: next(opened))
        patched.setattr(_main.os, "set_inheritable", lambda *given: kept.append(given))
        patched.setattr(_main.os, "close", closed.append)
        with _main._have_streams():
            print("to nobody")
            assert sys.stdout is not None and sys.stderr is stderr
    # The numbers of the three streams stay taken, so that no file gets one of them.
    assert kept == [(1, True), (2, True)] and closed == [3]
    assert sys.stdout is None


@pytest.mark.parametrize("n_classes", [3, 60, pytest.param(200, marks=pytest.mark.slow)])
def test_answers_of_any_number_of_classes_add_up_after_any_rounding(n_classes):
    for decimals in (1, 2, 3, 6, 17):
        assert read_many(n_classes, decimals) == 1
        assert read_many(n_classes, decimals, percent=True) == 2
    assert read_many(n_classes, 0, percent=True) == 2
    for miss in (0.75, 0.98, 1.02, 1.25):
        assert read_many(n_classes, 17, miss=miss) is None
        assert read_many(n_classes, 17, percent=True, miss=miss) is None
    # Labels as zeros and ones are not percent, whatever is the number of classes.
    assert read_proba(*np.eye(n_classes)[:9])[2] == 1
    assert refuse_proba(np.repeat([1.0, 0.0], [2, n_classes - 2])) == f"{ROW_1} add to 2"
