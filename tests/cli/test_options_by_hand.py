"""Texts of options, read at the ends of what they may be and beside them."""

import argparse
import math
from types import SimpleNamespace as NS
from unittest import mock

import pytest
from by_hand import expect_answers, tell_refusal

from skmia.cli import _audit, _options, _policy
from skmia.cli._options import CommandLimit, TableLimit
from skmia.cli._parser import make_parser

WRONG_LIMITS = ["auc", "auc=1.01", "auc=-0.01", "auc=x", "tpr=0.5", "auc@0.1=0.5", "tpr@0=0.5"]
WRONG_LIMITS += ["tpr@1=0.5", "tpr@x=0.5", "group:=A:auc=0.6", "group:a:auc=0.6", "level=severe"]
WRONG_LIMITS += ["x=0.5"]


def refuse(read, *texts):
    """Return which of some texts are refused."""
    return [text for text in texts if tell_refusal(lambda text=text: read(text)) is not None]


def words(text):
    return [*_options.parse_reading(text).settings]


def limit(text):
    return tuple(_options.parse_limit(text))[1:]


def tell_hint(text):
    return tell_refusal(lambda: _options.parse_reading(text)).rpartition("; ")[2][:30]


read_page = _options.place_page("report.html")


def list_conflicts(line):
    """Return what is wrong with the options of a line of the command, file names apart."""
    return [*_options._list_conflicts(make_parser().parse_args(line.split()))]


SIDES = "audit --train a --held-out b"
TABLE = "audit --data a --members m"
PLAIN = f"{TABLE} --target y"
MODEL = f"{TABLE} --model m.skops"
NEEDS_TWO = (
    " needs --members, or a second table of rows that the model has not seen (--train and "
    "--held-out): which rows was the model trained on?"
)
AS_ANSWERS = f"{PLAIN} --answers p"
NO_RATE = "--fail-above: tpr@0.5 is not reported; available rates: "
WITH_RECIPE = "--recipe goes with --policy, --estimator, and --answers or --model"
OF_TABLE = "table s.csv r.csv"
RECIPE = f"{AS_ANSWERS} --policy p --estimator mlp --recipe x"
UNSEEN = "--validation goes with a --model that is trained again, as .skops"

TOGETHER = "--train and --held-out go together: the members, and other rows"

CONFLICTS = {
    "audit": [],
    PLAIN: [],
    MODEL: [],
    AS_ANSWERS: [],
    f"{SIDES} --target y": [],
    f"{SIDES} --model m.skops": [],
    TABLE: ["a table needs --target, the column that the model predicts"],
    f"{TABLE} --answers p": ["a table needs --target, the column that the model predicts"],
    # A quick audit trains no shadow models.
    f"{PLAIN} --quick": [],
    f"{PLAIN} --quick --shadows 4": ["--quick goes without --shadows"],
    f"{PLAIN} --quick --time-limit 5": ["--quick goes without --time-limit"],
    f"{PLAIN} --quick --controls": ["--quick goes without --controls"],
    f"{PLAIN} --quick --release file": ["--quick goes without --release file"],
    f"{PLAIN} --release file --controls --shadows 4": [],
    f"{PLAIN} --decimals 2": ["--decimals goes with --policy"],
    f"{PLAIN} --decimals 0": ["--decimals goes with --policy"],
    f"{PLAIN} --measure-conditions": ["--measure-conditions goes with --policy"],
    f"{PLAIN} --provenance purpose=b": ["--provenance goes with --policy"],
    f"{PLAIN} --decimals 2 --measure-conditions --policy p": [],
    RECIPE: [],
    RECIPE.replace("--policy p ", ""): [WITH_RECIPE],
    RECIPE.replace("--estimator mlp ", ""): [WITH_RECIPE],
    RECIPE.replace("--answers p ", ""): [WITH_RECIPE],
    f"{PLAIN} --time-limit 5": [],
    f"{PLAIN} --time-limit 5 --shadows 4": [
        "--time-limit limits the shadow models of --shadows auto"
    ],
    "audit --train a --target y": [
        "--train and --held-out go together: the members, and other rows"
    ],
    f"{PLAIN} --held-out b": ["--train and --held-out go together: the members, and other rows"],
    f"{SIDES} --target y --data c": ["--data goes without --train and --held-out"],
    f"{SIDES} --target y --members m": ["--members goes without --train and --held-out"],
    f"{PLAIN} --member-value x": [],
    f"{SIDES} --target y --member-value x": ["--member-value goes with --members"],
    "audit --target y": ["--target goes with --data or a table"],
    "audit --drop y": ["--drop goes with --data or a table"],
    # A model that is given is not trained, unless its file holds no recipe.
    f"{MODEL} --estimator mlp": [
        "--estimator goes with a model that is trained here, not with --model"
    ],
    f"{MODEL} --task regression": [
        "--task goes with a model that is trained here, not with --model"
    ],
    f"{MODEL[:-6]}.onnx --estimator mlp": [],
    f"{MODEL[:-6]}.onnx": [
        "--model: no models like m.onnx can be trained from the file; name the kind of the shadow "
        "models with --estimator"
    ],
    f"{MODEL} --answers p": ["--answers goes without --model, which gives its answers itself"],
    "audit --data a --model m.skops": [f"--model{NEEDS_TWO}"],
    "audit --data a --target y --answers p": [f"--answers{NEEDS_TWO}"],
    "audit --data a --target y": [],
    f"{MODEL} --validation v": [],
    f"{PLAIN} --validation v": [UNSEEN],
    f"{MODEL[:-6]}.onnx --estimator mlp --validation v": [UNSEEN],
    f"{AS_ANSWERS} --weights w": ["--weights goes with --estimator where only --answers are known"],
    f"{AS_ANSWERS} --weights w --estimator mlp": [],
    f"{PLAIN} --weights w": [],
    f"{PLAIN} --label-map a=b": ["--label-map goes with --model or --answers"],
    f"{AS_ANSWERS} --label-map a=b": [],
    f"{MODEL} --label-map a=b": [],
    f"{PLAIN} --positive a": ["--positive goes with --answers"],
    f"{AS_ANSWERS} --positive a": [],
    f"{PLAIN} --classes a b": ["--classes goes with --answers, or with a --model in an ONNX file"],
    f"{MODEL} --classes a b": ["--classes goes with --answers, or with a --model in an ONNX file"],
    f"{AS_ANSWERS} --classes a b": [],
    f"{MODEL[:-6]}.onnx --estimator mlp --classes a b": [],
    # Limits at rates that are measured.
    f"{PLAIN} --fail-above tpr@0.01=0.5": [],
    f"{PLAIN} --fail-above tpr@0.5=0.5": [f"{NO_RATE}0.01, 0.001 (see --fpr)"],
    f"{PLAIN} --fail-above tpr@0.5=0.5 --fpr 0.5": [],
    "audit --fail-above tpr@0.5=0.5": [f"{NO_RATE}0.1, 0.02 (see --fpr)"],
    f"{PLAIN} --fail-above auc=0.5": [],
    # Other commands.
    "inspect m.skops": [],
    "inspect m.skops --data a --target y --drop z": [],
    "inspect m.skops --target y": ["--target goes with --data"],
    "inspect m.skops --drop y": ["--drop goes with --data"],
    OF_TABLE: [],
    f"{OF_TABLE} --target y": ["--target needs --held-out, on which the models are measured"],
    f"{OF_TABLE} --target y --held-out h": [],
    f"{OF_TABLE} --held-out h": [],
    f"{OF_TABLE} --provenance purpose=b": ["--provenance goes with --policy"],
}


@pytest.mark.parametrize("line", CONFLICTS)
def test_options_that_do_not_go_together(line):
    assert list_conflicts(line) == CONFLICTS[line]


ROWS = [
    # Words of a reader: of one file or of all, of one column or of all, with commas as values.
    (lambda: words("sep=;"), [(None, "sep", None, ";")]),
    (
        lambda: words("sep=,,decimal=,,data.encoding=utf-8"),
        [
            (None, "sep", None, ","),
            (None, "decimal", None, ","),
            ("data", "encoding", None, "utf-8"),
        ],
    ),
    (lambda: words("holdout.sep=a"), [("held_out", "sep", None, "a")]),
    (lambda: words("train.sep=a"), [("train", "sep", None, "a")]),
    (
        lambda: words("dtype=str,dtype.a.b=int,dtype.c=d=float,answers.na_values.e=x=y"),
        [
            (None, "dtype", None, "str"),
            (None, "dtype", "a.b", "int"),
            (None, "dtype", "c=d", "float"),
            ("answers", "na_values", "e", "x=y"),
        ],
    ),
    (lambda: words(r"sep=\t"), [(None, "sep", None, "\t")]),
    (lambda: words(r"sep=\s+"), [(None, "sep", None, r"\s+")]),
    (
        lambda: words("na_values=\"x y\",comment='#'"),
        [(None, "na_values", None, "x y"), (None, "comment", None, "#")],
    ),
    (lambda: words("quotechar='"), [(None, "quotechar", None, "'")]),
    (lambda: words("na_values=''"), [(None, "na_values", None, "''")]),
    (
        lambda: words("header=NONE,skiprows=12"),
        [(None, "header", None, "none"), (None, "skiprows", None, "12")],
    ),
    (
        lambda: refuse(
            words,
            "sep=ab",
            "decimal=ab",
            "skiprows=-1",
            "skiprows=x",
            "header=1",
            "quoting=1",
            "dtype=object",
            "encoding=no such",
            "keep_default_na=yes",
            "a",
            "=;",
            "x=1,sep=;",
        ),
        [
            "sep=ab",
            "decimal=ab",
            "skiprows=-1",
            "skiprows=x",
            "header=1",
            "quoting=1",
            "dtype=object",
            "encoding=no such",
            "keep_default_na=yes",
            "a",
            "=;",
            "x=1,sep=;",
        ],
    ),
    (lambda: refuse(words, "sep=;,decmal=,"), ["sep=;,decmal=,"]),
    (lambda: refuse(words, "na_values=a,bc=d"), []),
    (lambda: tell_hint("decmal=;")[:17], "did you mean 'dec"),
    (lambda: tell_hint("qqqqqqqq=;"), "the words are sep, decimal, th"),
    # Limits of an audit.
    (lambda: limit("auc=0.6"), (None, None, "auc", None, "estimate", 0.6)),
    (lambda: limit("tpr@0.01.high=1"), (None, None, "tpr", 0.01, "high", 1.0)),
    (lambda: limit("advantage.low=0"), (None, None, "advantage", None, "low", 0.0)),
    (lambda: limit("group:race=A:auc=0.6"), ("race", "A", "auc", None, "estimate", 0.6)),
    (
        lambda: limit("group:a=b:c=d:level=slight"),
        ("a", "b:c=d", "level", None, "estimate", "slight"),
    ),
    (
        lambda: refuse(limit, *WRONG_LIMITS, "auc=0", "auc=1", "tpr@0.5=0"),
        WRONG_LIMITS,
    ),
    (lambda: isinstance(_options.parse_limit("level=none").value, str), True),
    (lambda: type(_options.parse_limit("auc=1")), CommandLimit),
    # Limits of a table.
    (
        lambda: _options.parse_table_limit("privacy_loss.high=-1"),
        TableLimit("privacy_loss.high=-1", "privacy_loss", None, "high", -1.0),
    ),
    (
        lambda: _options.parse_table_limit("inference:a=b=0.5"),
        TableLimit("inference:a=b=0.5", "inference", "a=b", "estimate", 0.5),
    ),
    (lambda: _options.parse_table_limit("inference=1").secret, None),
    (
        lambda: refuse(
            _options.parse_table_limit,
            "x=0.5",
            "inference:=0.5",
            "linkability:a=0.5",
            "linkability=1.01",
            "linkability=-1.01",
            "linkability=x",
            "linkability",
        ),
        [
            "x=0.5",
            "inference:=0.5",
            "linkability:a=0.5",
            "linkability=1.01",
            "linkability=-1.01",
            "linkability=x",
            "linkability",
        ],
    ),
    (lambda: _options.split_end("a.low"), ("a", "low")),
    (lambda: _options.split_end("a.high.low"), ("a.high", "low")),
    (lambda: _options.split_end("a.middle"), ("a.middle", "estimate")),
    (lambda: math.isnan(_options.as_float("x")), True),
    # Numbers at their ends and beside them.
    (lambda: refuse(_options.decimal_count, "-1", "0", "17", "18", "x"), ["-1", "18", "x"]),
    (
        lambda: refuse(_options.seed, "-1", "0", "4294967295", "4294967296", "1.5"),
        ["-1", "4294967296", "1.5"],
    ),
    (
        lambda: refuse(_options.job_count, "-2", "-1", "0", "1", "10000", "10001"),
        ["-2", "0", "10001"],
    ),
    (lambda: refuse(_options.shadow_count, "auto", "2", "3", "4", "5", "6"), ["2", "3", "5"]),
    (lambda: [_options.shadow_count(text) for text in ("auto", "4")], ["auto", 4]),
    (
        lambda: tell_refusal(lambda: _options.shadow_count("x")),
        "must be auto or a whole number; got 'x'",
    ),
    (lambda: tell_refusal(lambda: _options.seed("x")), "must be a whole number; got 'x'"),
    (lambda: refuse(_options.fraction, "0", "0.001", "0.999", "1", "x"), ["0", "1", "x"]),
    (lambda: refuse(_options.seconds, "0", "0.1", "1e9", "inf", "x"), ["0", "inf", "x"]),
    (
        lambda: [
            _options.size_in_bytes(text)
            for text in ("auto", "1", "2k", " 1.5 MB ", "3gb", "1e3t", "7b")
        ],
        ["auto", 1.0, 2e3, 1.5e6, 3e9, 1e15, 7.0],
    ),
    (
        lambda: refuse(_options.size_in_bytes, "0.9", "1", "x", "1.2.3", "-5", "1e400"),
        ["0.9", "x", "1.2.3", "-5", "1e400"],
    ),
    (lambda: refuse(_options.place, "", " ", "a"), ["", " "]),
    (lambda: read_page("a.htm").as_posix(), "a.htm"),
    (lambda: read_page("a").as_posix(), "a.html"),
    (lambda: read_page("no_such_folder/").as_posix(), "no_such_folder/report.html"),
    (lambda: read_page(".").as_posix(), "report.html"),
    (lambda: _options.parse_text("a=b=c"), ("a", "b=c")),
    (lambda: refuse(_options.parse_text, "a", "=b", "a= ", "a=b"), ["a", "=b", "a= "]),
    (lambda: refuse(_options.parse_pair, "a", "=b", "a=", "a=b"), ["a", "=b", "a="]),
]


def test_answers_by_hand():
    expect_answers(ROWS)


@pytest.mark.parametrize("is_worse", [True, False])
def test_a_step_that_fails_ends_what_is_shown(is_worse):
    steps, ended = _audit._AuditSteps(argparse.Namespace(), [], None), []
    steps._stages.push(lambda kind, *rest: ended.append(kind))
    steps.fine, steps.bad = (lambda: 7), (lambda: 1 / 0)
    if is_worse:
        with pytest.raises(ZeroDivisionError):
            steps("bad")
    else:
        assert steps("fine") == 7
    assert ended == ([ZeroDivisionError] if is_worse else [])


def follow(results, conditions=((), (), ()), recipe=None, error=None):
    """Follow a policy whose recommendations have these results, and say what it was asked."""
    asked, left = [], iter(results)

    def recommend(result, model, records, **given):
        asked.append((model, given.get("conditions"), given["provenance"]))
        if error is not None:
            raise error
        return NS(result=next(left))

    parts = {
        "recommend_release": recommend,
        "enter_stage": lambda stage: None,
        "is_recipe": lambda victim: victim == "recipe",
        "describe_command_origin": lambda arguments: {"command": "audit", "by": "nobody"},
        "_measure_conditions": lambda *given: conditions,
        "replace": lambda result, **changed: NS(**(vars(result) | changed)),
    }
    arguments = NS(release="file", decimals=2, provenance=[("by", "me")], recipe=recipe)
    policy, audited = NS(name="house"), NS(notes=["n"], recommendation=None)
    with mock.patch.multiple(_policy, **parts):
        problem = NS(victim="recipe" if recipe else "model", records=None)
        found, faults = _policy.follow_policy(audited, policy, problem, arguments)
    result = found.recommendation and found.recommendation.result
    return result, found.notes, faults, asked


def test_conditions_are_measured_where_a_release_is_refused():
    origin = {"command": "audit", "by": "me"}
    assert follow(["release"]) == ("release", ["n"], [], [("model", None, origin)])
    found = follow(["do not release"], ([], ["none"], ["fault"]))
    assert found[:3] == ("do not release", ["n", "none"], ["fault"])
    found = follow(["do not release", "release with conditions"], (["c"], [], []))
    assert found[0] == "release with conditions"
    assert [one[1] for one in found[3]] == [None, ["c"]]
    model, _, given = follow(["release"], recipe="as told")[3][0]
    assert model is None and given == origin | {_policy.RECIPE: "as told"}
    told = "the policy house could not be followed: a"
    assert follow([], error=ValueError("a"))[:3] == (None, ["n"], [told])
