"""Commands on stored documents, and targets of a model of a file, with answers by hand."""

import argparse
from pathlib import Path
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from skmia.cli import _documents, _inputs, _inspect, _labels

# -- commands on documents

AUDIT, TABLE = _documents.SCHEMA, _documents.TABLE_SCHEMA


def check(document, **readers):
    def read(document):
        if document.get("odd"):
            raise ValueError("it is odd")
        return "checked"

    known = {"skmia.audit": read, "skmia.table": read}
    call = lambda: _documents._check_document("a.json", document, known)  # noqa: E731
    return tell_refusal(call) or call()


def write_report(recommendation=None, *, folder=False, out=None, title=None, schema=AUDIT):
    """Return what is said, the pages that are written, and how they are drawn."""
    written, drawn, path = [], [], Path("in/audit.json")
    document = {"schema": schema, "recommendation": recommendation}

    def draw(name):
        return lambda *given, **named: drawn.append((name, given[1:], named)) or name

    parts = {
        "find_document": lambda result: path,
        "check_is_no_source": lambda out, paths: drawn.append((out, paths)),
        "read_json_document": lambda path: "read",
        "_check_document": lambda found, read, readers: document if read == "read" else None,
        "render_table": draw("table"),
        "render_audit": draw("audit"),
        "render_sheet": draw("sheet"),
        "write_page": lambda path, page: written.append((str(path), page)),
    }
    result = NS(is_dir=lambda: folder)
    with mock.patch.multiple(_documents, **parts):
        text = _documents.run_report(NS(result=result, out=out, title=title), None)
    assert drawn.pop(0) == (Path(written[0][0]), [path])
    assert text.split("\n") == [f"written: {name}" for name, _ in written]
    return written, drawn


def decide(document=None, error=None, path="in/audit.json", **given):
    """Return what is said and written, and what a decision is made of."""
    found = {"recommendation": {}} if document is None else document
    seen, path = {}, Path(path)
    usual = dict(result="r", provenance=[("b", "2")], decision="conditions", by="me", role="boss")
    usual |= dict(date="2026-01-02", conditions=["c"], because="d", reason=[("e", "f")])
    usual |= dict(replace=False)

    def record(document, **given):
        if error is not None:
            raise error
        seen.update(given)
        return "decided"

    parts = {
        "find_document": lambda result: path if result == "r" else None,
        "read_json_document": lambda given: found if given is path else None,
        "_check_document": lambda path, document, readers: seen.update(readers=readers),
        "record_decision": record,
        "write_json": lambda *given: seen.update(json=given),
        "write_sheet": lambda *given: seen.update(sheet=given),
    }
    with mock.patch.multiple(_documents, **parts):
        call = lambda: _documents.run_decide(NS(**usual | given), None)  # noqa: E731
        text = tell_refusal(call)
        if text is not None:
            return text
        text = call()
    assert seen.pop("readers") is _documents.READERS and seen.pop("json") == ("decided", path)
    sheet = seen.pop("sheet")
    return text.split("\n"), (sheet[0], str(sheet[1]), sheet[2]), seen


def compare(*, out=None, tasks=("t", "t"), levels=(0.9, 0.9), numbers=(1,), same=False, left=()):
    """Return what is said of two audits, what is shown and what is written."""
    seen, paths = [], [Path("x/a.json"), Path("y/b.json")]
    documents = [
        {"task": task, "settings": {"confidence_level": level}}
        for task, level in zip(tasks, levels)
    ]
    found = NS(numbers=numbers, left_out=left)
    parts = {
        "find_document": lambda path: paths[path],
        "check_is_no_source": lambda *given: seen.append(given),
        "read_json_document": paths.index,
        "_check_document": lambda path, place, readers: (
            documents[place] if [*readers] == [AUDIT] else None
        ),
        "compare_audits": lambda *given: found if [*given] == documents else None,
        "format_comparison": lambda *given: given[2],
        "render_comparison": lambda *given: given[2],
        "write_page": lambda *given: seen.append(given),
        "is_same_file": lambda *given: same,
        "describe_page": lambda out: f"page {out}",
    }
    shown = []
    with mock.patch.multiple(_documents, **parts):
        call = lambda: _documents.run_compare(NS(first=0, second=1, out=out), shown.append)  # noqa: E731
        text = tell_refusal(call)
        if text is not None:
            return text
        seen.clear()
        text = call()
    assert seen == ([] if out is None else [(out, paths), (out, shown[-1])])
    return text, shown[-1]


def gather(n=2):
    seen, paths = [], [Path(f"{k}.json") for k in range(n)]
    parts = {
        "find_document": lambda path: paths[path],
        "check_is_no_source": lambda *given: seen.append(given),
        "read_json_document": lambda path: f"of {path}",
        "_check_document": lambda *given: seen.append(given[:2]),
        "render_authority_sheet": lambda *given: given,
        "write_page": lambda *given: seen.append(given),
    }
    arguments = NS(results=range(n), out=Path("out.html"), provenance=[("a", "1")])
    with mock.patch.multiple(_documents, **parts):
        text = _documents.run_evidence(arguments, None)
    read = [(path, f"of {path}") for path in paths]
    sheet = [f"of {path}" for path in paths], {"a": "1"}
    assert seen == [(Path("out.html"), paths), *read, (Path("out.html"), sheet)]
    return text


DIFFERENT = "the audits have intervals of different confidence levels, 90% in {} and 95% in {}"
DECISION = {
    "decision": "release with conditions",
    "name": "me",
    "role": "boss",
    "day": "2026-01-02",
    "given": {
        "conditions": ["c"],
        "because": "d",
        "reasons": {"e": "f"},
        "provenance": {"b": "2"},
        "replace": False,
    },
}
DOCUMENTS = [
    (lambda: check({"schema": "skmia.audit"}), "checked"),
    (lambda: check({"schema": "skmia.table"}), "checked"),
    (
        lambda: check({"schema": "other"}),
        "a.json was not written by skmia audit or skmia table (schema 'other')",
    ),
    (lambda: check({"schema": ["a"]})[-14:], "(schema ['a'])"),
    (lambda: check([])[-13:], "(schema None)"),
    (
        lambda: check({"schema": "skmia.audit", "odd": 1}),
        "a.json is damaged, or another version wrote it: it is odd; audit again",
    ),
    # A page beside its document, or in the folder that is named.
    (lambda: write_report(), ([("in/audit.html", "audit")], [("audit", (), {})])),
    (lambda: write_report(folder=True)[0], [("in/report.html", "audit")]),
    (lambda: write_report(folder=True, out=Path("x.html"))[0], [("x.html", "audit")]),
    (lambda: write_report(schema=TABLE, title="T")[1], [("table", (), {"title": "T"})]),
    (
        lambda: write_report("yes", out=Path("o/x.html")),
        (
            [("o/x.html", "audit"), ("o/decision.html", "sheet")],
            [("audit", (), {}), ("sheet", ("x.html",), {})],
        ),
    ),
    (
        lambda: decide(),
        (
            ["recorded: in/audit.json", "written: in/decision.html"],
            ("decided", "in/decision.html", "report.html"),
            DECISION,
        ),
    ),
    (lambda: decide(path="in/mine.json")[1][2], "mine.html"),
    (lambda: decide(decision="release")[2]["decision"], "release"),
    (lambda: len(decide(date=None)[2]["day"]), 10),
    (lambda: decide(error=ValueError("It is odd.")), "It is odd"),
    (
        lambda: decide({"recommendation": None}),
        "in/audit.json has no recommendation to decide on: audit with --policy",
    ),
    (lambda: compare(), ("\npage None", ["a.json", "b.json"])),
    (
        lambda: compare(out="o", same=True)[0],
        "\nA and B are the same file, so nothing differs.\npage o",
    ),
    (lambda: compare(tasks="ab"), "one audit is of a a, the other of a b"),
    (
        lambda: compare(levels=(0.9, 0.95)).partition(": ")[0],
        DIFFERENT.format("x/a.json", "y/b.json"),
    ),
    (
        lambda: compare(numbers=()),
        "the two audits have no number in common that could be measured",
    ),
    (
        lambda: compare(numbers=(), left=[("a", "x"), ("b", "y")]).partition("measured")[2],
        ": a (x); b (y)",
    ),
    (lambda: gather(), "written: out.html"),
]

# -- the target of a model

FRAME = pd.DataFrame(
    {
        "x": [0.5, 1.5, 2.5, 3.5],
        "y": ["a", "b", "a", "b"],
        "z": ["a", "a", "b", "c"],
        "w": ["p", "q", "p", "q"],
    }
)
TWICE = FRAME.assign(v=FRAME["y"])
NUMBERED = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
CLASSES = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
NUMBERED_AS_TEXT = LogisticRegression().fit([[0.0], [1.0]], ["0", "1"])


def guess_target(victim=CLASSES, features=("x",), frame=FRAME, drop=(), **given):
    usual = dict(members=None, group_by=None, weights=None, drop=drop)
    arguments = argparse.Namespace(**usual | given)
    with mock.patch.object(_inputs, "match_features", lambda model, names: features):
        call = lambda: _inputs._guess_target(arguments, frame, victim).target  # noqa: E731
        return tell_refusal(call) or call()


def check_labels(y, classes=("a", "b"), asked=None, numbers=False, few=None):
    """Return labels as their classes, of a model that answers so or not."""
    victim = NS(classes_=[*classes] if isinstance(classes, list) else array(classes))
    victim.classes_are_numbers = numbers
    parts = {
        "_match_most": lambda *given: few,
        "propose_map": lambda y, predicted, classes: f"map {y} {predicted}",
        "propose_classes": lambda y, predicted, classes: f"classes {y} {predicted}",
    }
    with mock.patch.multiple(_labels, **parts):
        call = lambda: _labels.check_known_labels(  # noqa: E731
            NS(target="t"), array(y), victim, lambda: asked, None
        )
        return tell_refusal(call) or (call()[0].tolist(), call()[1])


def match_most(y, classes=("a", "b"), membership=(1,) * 10 + (0,) * 10):
    found = _labels._match_most(
        NS(target="t"),
        array(y),
        np.unique(array(y)).tolist(),
        array(classes),
        None if membership is None else array(membership, dtype=bool),
    )
    return found and ([*dict.fromkeys(found[0].tolist())], found[1])


def ask_some(n=5, membership=None, fails=False, most=3):
    def predict(X):
        if fails:
            raise KeyError("odd")
        return [[one] for one in X[:, 0]]

    X = np.arange(float(n)).reshape(-1, 1)
    membership = membership and array(membership, dtype=bool)
    with mock.patch.object(_inputs, "_MOST_TRIED", most):
        found = _inputs._ask_some(NS(predict=predict), X, membership)
    if found is None:
        return None
    return len(found[0]), sorted(found[0].tolist()) == found[1].tolist(), int(found[0].max())


def name_task(victim):
    call = lambda: _inputs._name_task(victim)  # noqa: E731
    return tell_refusal(call) or call()


def read_labels(task="classification", column=("a", "b"), suffix=".skops", label_map=(), **fewest):
    arguments = NS(label_map=label_map, target="t", model=Path(f"m{suffix}"))
    frame = pd.DataFrame({"t": [*column] * 30})
    parts = {
        "map_labels": lambda column, pairs, classes: ("mapped", pairs, [*classes]),
        "read_target": lambda frame, name, task, fewest: (name, task, fewest),
        "check_known_labels": lambda arguments, y, *rest: (y, rest[1:]),
    }
    with mock.patch.multiple(_inputs, **parts):
        call = lambda: _inputs._read_target_labels(  # noqa: E731
            arguments, frame, task, CLASSES, "ask", membership="members", **fewest
        )
        return tell_refusal(call) or call()


TARGETS = [
    (lambda: guess_target(), "y"),
    (lambda: guess_target(NUMBERED, frame=FRAME[["x", "w"]]), "w"),
    (lambda: guess_target(features=("x", "y"), frame=TWICE), "v"),
    *(
        (
            lambda given=given: guess_target(frame=TWICE, **given),
            "v",
        )
        for given in ({"members": "y"}, {"group_by": "y"}, {"weights": "y"}, {"drop": ["y"]})
    ),
    (
        lambda: guess_target(frame=TWICE),
        "--target is needed, as 2 columns can be what the model predicts: --target y or --target v",
    ),
    (
        lambda: guess_target(frame=FRAME[["x"]]),
        "--target is needed, as no column is what the model predicts: none holds its classes 'a' "
        "and 'b'",
    ),
    (
        lambda: guess_target(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), ("w",), LONG),
        "x",
    ),
    (  # counts of few values, where nothing else has more
        lambda: guess_target(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), ("x",), COUNTED),
        "n",
    ),
    (
        lambda: guess_target(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), (), LONG),
        "--target is needed, as no column is what the model predicts",
    ),
    (
        lambda: guess_target(NS(classes_=[array([0, 1]), array([0, 1])])),
        "--model: SimpleNamespace has several outputs for each record; audit one of them in "
        "Python, by skmia.victims.OneOutput(model, k), or its answers, by --answers",
    ),
    (lambda: check_labels(["a", "b"]), (["a", "b"], [])),
    (lambda: check_labels([0, 1], (0, 1)), ([0, 1], [])),
    (lambda: check_labels(["0", "1"], (0, 1))[0], [0, 1]),
    (lambda: len(check_labels(["0", "1"], (0, 1))[1]), 1),
    (lambda: check_labels(["a", "z"], few=(array(["few"]), ["note"])), (["few"], ["note"])),
    (lambda: check_labels(["a", "z"], ["a", "b"]), (["a", "z"], [])),
    (
        lambda: check_labels(["a", "z"]),
        "--target: the model does not know 'z'; its classes are a and b. --label-map LABEL=CLASS "
        "names the class of a label",
    ),
    (
        lambda: check_labels(["a", "z"], asked=(array([1]), array(["b"]))).partition("a and b. ")[
            2
        ],
        "Map ['z'] ['b']",
    ),
    (
        lambda: check_labels(["y", "z"], (0, 1), numbers=True),
        "--target: the model does not know 'y' and 'z'; the file names no classes. --classes LABEL "
        "... names the label of each column of its answers",
    ),
    (
        lambda: check_labels(["y", "z"], (0, 1), (array([0]), array([1])), True).partition(
            "no classes. "
        )[2],
        "Classes ['y'] [1]",
    ),
    # A tenth of a side at most is not known.
    (lambda: match_most(list("abababababababababaz")), (["a", "b", "z"], [])),
    (lambda: match_most(list("zzababababababababab")), None),
    (lambda: match_most(list("abababababababababaz"), membership=None), None),
    (lambda: match_most(["z"] * 20), None),
    (lambda: match_most([0, 1] * 9 + [0, 7], (0, 1)), ([0, 1, 7], [])),
    (lambda: match_most(["0", "1"] * 9 + ["0", "7"], (0, 1))[0], [0, 1, 7]),
    (lambda: match_most(["0", "1"] * 9 + ["0", "x"], (0, 1)), None),
    (lambda: match_most(["0", "1"] * 9 + ["0", "7.5"], (0, 1)), None),
    (lambda: match_most([0, 1] * 9 + [0, 7], ("0", "1"))[0], ["0", "1", "7"]),
    (lambda: match_most(["0", "1"] * 9 + ["0.0", "7"], (0, 1)), None),
    (lambda: ask_some(), (3, True, 4)),
    (lambda: ask_some(most=9), (5, True, 4)),
    (lambda: ask_some(membership=[1, 1, 0, 0, 0]), (2, True, 1)),
    (lambda: ask_some(fails=True), None),
    (
        lambda: [name_task(CLASSES), name_task(Ridge().fit([[0.0]], [1.0]))],
        ["classification", "regression"],
    ),
    (lambda: name_task(Ridge()), "--model: the Ridge in the file is not fitted"),
    (
        lambda: name_task(StandardScaler()),
        "--model: a classifier or a regressor is needed, and the file holds a StandardScaler, "
        "which transforms; save the model behind it, in one Pipeline with it",
    ),
    # A class that the model knows may have one row.
    (lambda: read_labels(), (("t", "classification", 1), ("ask", "members"))),
    (
        lambda: read_labels(column=["a", "z"]),
        (("t", "classification", 2), ("ask", "members")),
    ),
    (lambda: read_labels("regression", [0.5, 1.5], fewest=7), (("t", "regression", 7), [])),
    (lambda: read_labels(label_map=[("x", "a")]), (("mapped", {"x": "a"}, ["a", "b"]), [])),
    (lambda: read_labels("regression", label_map=[1]), "--label-map goes with a classifier"),
    (
        lambda: read_labels("regression", ["b", "a"], ".onnx"),
        "--target: column 't' holds classes, and m.onnx answers with one number; if it is the "
        "probability of the second class, name both, as --classes a b",
    ),
    (lambda: read_labels("regression", ["b", "a"])[0][1], "regression"),
]
LONG = pd.DataFrame({"x": np.arange(40) + 0.5, "y": ["a", "b"] * 20, "w": np.arange(40) / 7})
COUNTED = pd.DataFrame({"x": np.arange(9) / 7, "n": [0, 1, 2] * 3, "y": [True, *[False] * 8]})

# -- tables that are inspected


def read_inspected(model=CLASSES, target=None, drop=(), same=True):
    """Return what of a table is read, and how often it is read."""
    read, checked = [], []

    def know(model, features=None):
        return {"x": 1} if features is None or same else {"x": 1, "y": 2}

    parts = {
        "make_reading": lambda arguments, classes=(): "reading",
        "know_columns": know,
        "read_table": lambda data, reading, known: (
            read.append([*known]) or (FRAME, [f"read {len(read)}"])
        ),
        "check_option_column": lambda frame, name, option: checked.append((name, option)),
        "as_model_input": lambda model, frame, features, option: (
            np.zeros((4, len(features))),
            [*frame.columns],
        ),
        "_read_inspected_labels": lambda frame, arguments, model: (
            array([1, 2, 3, 4]),
            ["by value"],
        ),
    }
    with mock.patch.multiple(_inspect, **parts):
        arguments = NS(data="data", target=target, drop=[*drop])
        refusal = tell_refusal(lambda: _inspect._read_inspected_records(arguments, model))
        if refusal is not None:
            return refusal
        read.clear()
        records, notes = _inspect._read_inspected_records(arguments, model)
    return records.X.shape[1], notes, read, checked[len(checked) // 2 :]


def inspect_labels(values, model=CLASSES):
    call = lambda: _inspect._read_inspected_labels(  # noqa: E731
        pd.DataFrame({"t": values}), NS(target="t"), model
    )
    return tell_refusal(call) or (call()[0].tolist(), call()[0].dtype.kind, call()[1])


RIDGE = Ridge().fit([[0.0], [1.0]], [0.0, 1.0])
INSPECTED = [
    (lambda: read_inspected(), (4, ["read 1", "x", "y", "z", "w"], [["x"]], [])),
    (
        lambda: read_inspected(target="y", drop=["z"]),
        (2, ["read 1", "x", "z", "w", "by value"], [["x"]], [("y", "--target"), ("z", "--drop")]),
    ),
    (
        lambda: read_inspected(same=False)[1:3],
        (["read 2", "x", "y", "z", "w"], [["x"], ["x", "y"]]),
    ),
    (
        lambda: read_inspected(RIDGE),
        "--data needs --target for a regressor, whose file can hold values of its target",
    ),
    (lambda: read_inspected(RIDGE, target="x")[0], 3),
    (lambda: inspect_labels(["a", "b"]), (["a", "b"], "O", [])),
    (lambda: inspect_labels([1, 2]), ([1, 2], "i", [])),
    (
        lambda: inspect_labels([1, 0], NUMBERED_AS_TEXT),
        (["1", "0"], "U", ["Labels of 't' are read by their values: 0 as '0' and 1 as '1'."]),
    ),
    (lambda: inspect_labels([0.5, 2.0], RIDGE), ([0.5, 2.0], "f", [])),
    (
        lambda: inspect_labels(["a", "b"], RIDGE),
        "--target: column 't' holds text, but a regression needs numbers",
    ),
]


def test_documents_by_hand():
    expect_answers(DOCUMENTS)


def test_targets_by_hand():
    expect_answers(TARGETS)


def test_inspected_tables_by_hand():
    expect_answers(INSPECTED)
