"""What an audit is made of: tables, labels, members and models of a command, by hand."""

from pathlib import Path
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from sklearn.linear_model import LogisticRegression

from skmia import Records
from skmia.cli import _features_and_target, _inputs, _labels
from skmia.cli._inputs import CommandProblem
from skmia.cli._options import CommandError


def refuse(call):
    """Return what a call returns, or the words in which it is refused."""
    try:
        return call()
    except CommandError as error:
        return str(error)


# -- the steps of making a problem


def make_table(known=(), of_features=(), **given):
    """Return the notes, the parts of the problem and the steps that made it, in their order."""
    told = []

    def tell(name, *found):
        return lambda *args, **kwargs: told.append(name) or (found[0] if found else None)

    def know(model, features=None):
        told.append(f"know {features}")
        return dict.fromkeys(known if features is None else of_features)

    def make(name):
        def made(*args):
            told.append(name)
            assert args[-4:-2] == ("frame", ["f"]) or name == "model"
            return CommandProblem("v", "r", args[-1], ["p"])

        return made

    def read(arguments, known, classes=()):
        told.append(f"read {None if known is None else [*known]}")
        return {"y": "labels"}, "halves", ["n"]

    parts = {
        "load_model": lambda path, trust_pickle, classes: (path, trust_pickle, classes),
        "know_columns": know,
        "read_command_tables": read,
        "_guess_target": lambda arguments, frame, victim: NS(**vars(arguments) | {"target": "y"}),
        "_check_named_columns": tell("check"),
        "_list_feature_columns": lambda arguments, frame: ["f"],
        "_read_record_fields": lambda frame, arguments: ({"id": 1}, {"g": "g"}),
        "read_members": lambda frame, name, value: f"members {name} {value}",
        "_train_victim": lambda *args: told.append("train") or found(args),
        "_take_victim": lambda *args: told.append(f"model {args[0]}") or found(args[1:]),
        "_take_answers": lambda *args: told.append("answers") or found(args),
        "_refuse_shared_rows": tell("shared"),
        "_read_validation": lambda arguments, features, victim: ({"fit": features}, ["w"]),
        "_keep_words": lambda records, column: (records, column),
        "name_other_value": lambda frame, name, value, inside: f"not {value} of {inside}",
    }

    def found(args):
        _, frame, features, fields, membership = args
        assert (frame, features, fields) == ({"y": "labels"}, ["f"], {"id": 1})
        return CommandProblem("v", "r", membership, ["p"])

    usual = dict(model=None, target="y", members=None, member_value="1", answers=None)
    usual |= dict(validation=None, trust_pickle=True, classes=[])
    with mock.patch.multiple(_inputs, **parts):
        problem = _inputs._make_table(NS(**usual | given))
    assert problem.records == ("r", "labels") and problem.groups == {"g": "g"}
    rest = problem.membership, problem.fit_params, problem.other_value
    return problem.notes, rest, told


GUESSED = "The target is the column 'y' (--target overrides)."
AS_MODEL = "model ('m', True, None)"
STEPS = [
    (
        lambda: make_table(),
        (["n", "p"], ("halves", None, None), ["read None", "check", "train", "shared"]),
    ),
    (
        lambda: make_table(members="m"),
        (
            ["n", "p"],
            ("members m 1", None, "not 1 of members m 1"),
            ["read None", "check", "train", "shared"],
        ),
    ),
    (lambda: make_table(answers="a")[2][2], "answers"),
    (
        lambda: make_table(["a"], ["a"], model="m"),
        (
            ["n", "p"],
            ("halves", None, None),
            ["know None", "read ['a']", "check", "know ['f']", AS_MODEL, "shared"],
        ),
    ),
    (lambda: make_table(["a"], ["a"], model="m", target=None)[0], ["n", GUESSED, "p"]),
    (lambda: make_table(["a"], ["a"], model="m", classes=["c"])[2][4], "model ('m', True, ['c'])"),
    # A model without names knows columns by those that are left, which are read once more.
    (
        lambda: make_table([], ["f"], model="m")[2],
        [
            "know None",
            "read []",
            "check",
            "know ['f']",
            "know ['f']",
            "read ['f']",
            AS_MODEL,
            "shared",
        ],
    ),
    (
        lambda: make_table(["a"], ["a"], model="m", validation="v")[:2],
        (["n", "w", "p"], ("halves", {"fit": ["f"]}, None)),
    ),
]

# -- rows of both sides, and rows for early stopping


def refuse_shared(shared=True, train=None):
    found = NS(describe=lambda one, other: f"{one} / {other}") if shared else None
    problem = NS(records=NS(fingerprint="f"), membership="m")
    arguments = NS(train=train, held_out=Path("d/h.csv"))
    with mock.patch.object(_inputs, "find_shared_rows", lambda *given: found):
        return tell_refusal(lambda: _inputs._refuse_shared_rows(problem, arguments))


class Booster:
    def fit(self, X, y, eval_set=None):
        return self


def read_validation(victim=None, quiet=False, names=("a",), columns=("a", "y"), error=None):
    frame = pd.DataFrame({name: [1] for name in columns})

    def read_labels(arguments, frame, task, victim, fewest):
        if error is not None:
            raise CommandError(error)
        return f"{task} {fewest}", []

    parts = {
        "make_reading": lambda arguments, classes=(): "reading",
        "know_columns": lambda victim, features: "known",
        "read_table": lambda path, option, reading, known: (frame, [f"{option} {known}"]),
        "match_features": lambda victim, columns: names and [*names],
        "_read_target_labels": read_labels,
        "_name_task": lambda victim: "task",
        "as_model_input": lambda victim, X, features, option: ([*X.columns], [option]),
        "is_xgboost": lambda victim: quiet,
    }
    with mock.patch.multiple(_inputs, **parts):
        arguments = NS(validation="v.csv", target="y")
        call = lambda: _inputs._read_validation(arguments, ["a", "b"], victim or Booster())  # noqa: E731
        return refuse(call)


def take_victim(suffix, estimator="random-forest", task="classification", **parts):
    """Return what the records and the recipe of a model are, from a file with this ending."""
    given = pd.DataFrame({"a": [1.0, nan], "b": pd.Categorical(["x", None], ["x", "z"])})
    told = []
    parts = {
        "_name_task": lambda victim: task,
        "as_model_input": lambda victim, X, features: (given, [f"{[*X.columns]}"]),
        "_read_target_labels": lambda *args, **more: (array([0, 1]), ["labels"]),
        "make_estimator": lambda name, X, task, seed: (
            told.append([str(one) for one in X.dtypes]) or f"{name} {task} {seed}"
        ),
        "_check_weights_option": lambda arguments, model: told.append(f"weights {model}"),
    } | parts
    arguments = NS(target="y", model=Path(f"m{suffix}"), estimator=estimator, seed=3)
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2], "y": [0, 1]})
    with mock.patch.multiple(_inputs, **parts):
        made = lambda: _inputs._take_victim("v", arguments, frame, ["a", "b"], {}, None)  # noqa: E731
        problem = refuse(made)
    if isinstance(problem, str):
        return problem
    X = problem.records.X
    return (
        problem.recipe,
        told,
        X["b"].isna().tolist(),
        X["b"].cat.categories.tolist(),
        problem.notes,
    )


def take_answers(estimator=None, label_map=(), labels=("x", "y")):
    outputs = NS(kind="kind")
    recipe = NS(X=pd.DataFrame({"a": [1.0, 2.0]}), y=array([0, 1]), labels="l", estimator="e")
    seen = []
    parts = {
        "_make_recipe": lambda arguments, frame, features: (
            seen.append(frame["y"].tolist()) or recipe
        ),
        "make_reading": lambda arguments, classes=(): "reading",
        "read_answers": lambda *given: (outputs, ["told"]),
        "Records": lambda X, y, **fields: fields,
        "StoredAnswers": lambda kind: f"stored {kind}",
        "_describe_task": lambda recipe, arguments: "task",
    }
    with mock.patch.multiple(_inputs, **parts):
        arguments = NS(label_map=[*label_map], target="y", estimator=estimator)
        frame = pd.DataFrame({"y": [*labels]})
        problem = _inputs._take_answers(arguments, frame, ["a"], {"id": 1}, "m")
    assert problem.records == {"outputs": outputs, "id": 1} and problem.membership == "m"
    return problem.victim, seen[0], problem.notes


OTHER_SIDE = "give as --held-out rows of the same population that the model was not trained on"
SIDES = [
    (lambda: refuse_shared(False), None),
    (
        lambda: refuse_shared(),
        "--members: the members / the other rows; the other rows must be of the same population "
        "and unknown to the model",
    ),
    (
        lambda: refuse_shared(train=Path("d/t.csv")),
        f"--train, --held-out: t.csv / h.csv; {OTHER_SIDE}",
    ),
    (
        lambda: read_validation(),
        (
            {"eval_set": [(["a"], "task 1")]},
            ["--validation: --validation known", "--validation: --validation"],
        ),
    ),
    (lambda: read_validation(quiet=True)[0]["verbose"], False),
    (
        lambda: read_validation(LogisticRegression()),
        "--validation: fit of LogisticRegression takes no eval_set",
    ),
    (lambda: read_validation(columns="a")[:37], "--validation: column 'y' not found; t"),
    (lambda: read_validation(columns="y")[:36], "--validation: column 'a' not found; "),
    (lambda: read_validation(names=None)[:36], "--validation: column 'b' not found; "),
    (lambda: read_validation(error="odd"), "--validation: odd"),
    # A model that is trained again, or one whose stand-in is.
    (
        lambda: take_victim(".skops")[::2],
        (None, [False, True], ["['a', 'b']", "labels"]),
    ),
    (lambda: take_victim(".skops")[1], ["weights v"]),
    (
        lambda: take_victim(".onnx"),
        (
            "random-forest classification 3",
            [["float64", "category"], "weights random-forest classification 3"],
            [False, True],
            ["x", "z"],
            ["['a', 'b']", "labels"],
        ),
    ),
    (lambda: take_victim(".json", "mlp"), "--estimator: mlp has other labels than --model"),
    (lambda: take_victim(".json", "mlp", "regression")[0], "mlp regression 3"),
    (lambda: take_answers(), ("stored kind", ["x", "y"], ["task", "told"])),
    (lambda: take_answers("mlp")[0], "e"),
    (lambda: take_answers(label_map=[("x", "b"), ("y", "c=d")])[1], ["b", "c=d"]),
    (lambda: take_answers(label_map=[("1", "b")], labels=[1, 2])[1], ["b", 2]),
    (lambda: take_answers(label_map=[("a=b", "c")], labels=["a", "b"])[1], ["b=c", "b"]),
]

# -- targets, labels and members


def read_target(values, task="classification", fewest=2):
    frame = pd.DataFrame({"y": values})
    found = refuse(lambda: _features_and_target.read_target(frame, "y", task, fewest))
    return found if isinstance(found, str) else (found.dtype.kind, found.tolist())


def infer(values, dtype=None):
    return _features_and_target.infer_task(pd.Series(values, dtype=dtype))


def take(y, *classes):
    found = _labels.take_as_classes("y", array(y), array(classes))
    return found and (found[0].dtype.kind, found[0].tolist(), found[1])


def split(pairs, labels, names=None):
    return _labels.split_pairs(dict(pairs), labels, names)


NO_VALUE = "--target: column 'y' has no value in 2 of 4 rows, first in row 2; leave these rows "
NO_VALUE += "out, or, if a word such as NA is a class, read it with --read keep_default_na=false"
FRACTIONS = "--target: column 'y' holds fractions, which are not classes; --read dtype.y=str reads "
FRACTIONS += "them as texts"
ONE_ROW = "--target: column 'y' has only one row of the class 'b', which cannot be in both halves; "
ONE_ROW += "merge it with another class"
LABELS = [
    (lambda: read_target(["a", "b", "b", "a"]), ("O", ["a", "b", "b", "a"])),
    (lambda: read_target([True, False, True, False]), ("b", [True, False, True, False])),
    (lambda: read_target([1.0, 2.0, 1.0, 2.0]), ("i", [1, 2, 1, 2])),
    (lambda: read_target([1.5, 2.0, 1.5, 2.0]), FRACTIONS),
    (lambda: read_target([2.0**53 - 1, 1.0] * 2), ("i", [2**53 - 1, 1] * 2)),
    (
        lambda: read_target([-(2.0**53), 1.0] * 2),
        FRACTIONS.replace("fractions", "numbers of 2**53 and above"),
    ),
    *(
        (
            lambda task=task: read_target([1.0, -inf, 2.0, 1.0], task),
            "--target: column 'y' holds infinite numbers, first in row 2; leave these rows out",
        )
        for task in ("classification", "regression")
    ),
    (lambda: read_target([2**53 + 1, 2**53] * 2)[1][:2], [2**53 + 1, 2**53]),
    (lambda: read_target(array([2**63 + 1, 1] * 2, dtype="uint64"))[1][:2], [2**63 + 1, 1]),
    (lambda: read_target(["a", "a", "b"]), ONE_ROW),
    (lambda: read_target(["a", "a", "b"], fewest=1)[1], ["a", "a", "b"]),
    (lambda: read_target([1.0, nan, 2.0, nan]), NO_VALUE),
    (
        lambda: read_target([3, 3]),
        "--target: column 'y' holds one value only, '3'; a model needs at least two",
    ),
    (lambda: read_target([1, 2], "regression"), ("f", [1.0, 2.0])),
    (
        lambda: read_target(["a", "b"], "regression"),
        "--target: column 'y' holds text, but a regression needs numbers",
    ),
    (
        lambda: [infer(["a"]), infer([True]), infer([0.5]), infer([1.0, 2.0])],
        ["classification"] * 2 + ["regression"] * 2,
    ),
    (lambda: [infer(range(20)), infer(range(21))], ["classification", "regression"]),
    # Labels are classes by value, of their type, and it is said where they are written otherwise.
    (lambda: take([1, 0], 0, 1), ("i", [1, 0], [])),
    (lambda: take([2**53, 2**53 + 1], 2**53, 2**53 + 1), ("i", [2**53, 2**53 + 1], [])),
    (
        lambda: take(["1", "0"], 0, 1),
        ("i", [1, 0], ["Labels of 'y' are read by their values: '0' as 0 and '1' as 1."]),
    ),
    (lambda: take([1.0, 0.0], 0, 1)[:2], ("i", [1, 0])),
    (lambda: take(["a", "b"], 0, 1), None),
    # One sign between a label and a class, of several that can be it.
    (lambda: split({"a": "b"}, {"a"}), {"a": "b"}),
    (lambda: split({"a=b": "c"}, {"a"}), {"a": "b=c"}),
    (lambda: split({"a=b": "c"}, {"a", "a=b"}), {"a=b": "c"}),
    (lambda: split({"a=b": "c"}, {"a", "a=b"}, {"c"}), {"a=b": "c"}),
    (lambda: split({"a=b": "c"}, {"a", "a=b"}, {"b=c"}), {"a": "b=c"}),
    (lambda: split({"a=b": "c"}, {"x"}), {"a=b": "c"}),
    (lambda: _labels._match_forms([">50K.", " A "], [">50K", "a"]), {">50K.": ">50K", " A ": "a"}),
    (lambda: _labels._match_forms(["a.", "b"], ["a", "c"]), None),
    (lambda: _labels._match_forms(["a."], ["a", "A"]), None),
    (lambda: _labels._match_forms([1], [1, 2]), None),
    (lambda: _labels._match_forms(["a.", "A"], ["a"]), {"a.": "a", "A": "a"}),
    (lambda: _labels.write_map({"a b": 1, "c": "d"}), "--label-map 'a b=1' c=d"),
]


@pytest.mark.parametrize("rows", [STEPS, SIDES, LABELS], ids=["steps", "sides", "labels"])
def test_answers_by_hand(rows):
    expect_answers(rows)


def test_two_files_are_one_table_of_the_same_columns(tmp_path):
    train, other = tmp_path / "t.csv", tmp_path / "h.csv"
    train.write_text("a,b\n1,2\n3,4\n5,6\n")
    other.write_text("b,a\n7,8\n")
    frame, membership, notes = _features_and_target.read_halves(train, other)
    assert frame.to_dict("list") == {"a": [1, 3, 5, 8], "b": [2, 4, 6, 7]} and notes == []
    assert frame.index.tolist() == [0, 1, 2, 3] and membership.tolist() == [True] * 3 + [False]
    other.write_text("c,a\n7,8\n")
    for files, name, lacks in (((train, other), "t.csv", "c"), ((other, train), "h.csv", "b")):
        told = tell_refusal(lambda files=files: _features_and_target.read_halves(*files))
        assert told == f"--train, --held-out: {name} lacks the other's columns {lacks!r}"


def test_members_are_read_from_a_file_of_one_column(tmp_path):
    path, frame = tmp_path / "m.csv", pd.DataFrame({"a": [5, 6, 7]})

    def read(text, value=None, source=None):
        path.write_text(text)
        call = lambda: _features_and_target.read_members(frame, source or str(path), value)  # noqa: E731
        found = refuse(call)
        return found.replace(f"{path}", "m.csv") if isinstance(found, str) else found.tolist()

    assert read("1\n0\n1\n") == read("member\n1\n0\n1\n") == [True, False, True]
    assert read("in\n1\n0\n1\n", "1") == [True, False, True]
    assert read("in\nout\nin\n", "in") == [True, False, True]
    assert read("1\n0\n") == (
        "--members: m.csv has 2 values and the table 3 rows; one for each row is needed, 1 for "
        "members and 0 for others"
    )
    assert read("1,0\n1,0\n") == "--members: m.csv has 2 columns; a single one of 0/1 is needed"
    assert read("\n").startswith("--members: m.csv cannot be read: ")
    told = read("1\n", source="aa")
    assert told.startswith("--members: column 'aa' not found; did you mean 'a'? (nor is there a ")


def test_values_that_cannot_be_compared_are_refused_by_their_types():
    frame = pd.DataFrame({"a": [[1], {"b": 2}, (3,)], "b": ["x", "y", "z"], "c": [1, 2, 3]})
    check = _features_and_target.check_option_column
    told = tell_refusal(lambda: check(frame, "a", "--target"))
    assert told == "--target: column 'a' holds values of type dict and list"
    for name, option in (("a", "--drop"), ("b", "--target"), ("c", "--target")):
        assert tell_refusal(lambda name=name, option=option: check(frame, name, option)) is None


def test_features_are_numbers_or_categories_with_one_for_what_is_missing():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [True, False]})
    X = _features_and_target.as_features(frame)
    assert X["a"].tolist() == [1.0, 2.0] and X["c"].tolist() == [1.0, 0.0]
    assert X["b"].tolist() == ["x", "(missing)"] and X["b"].dtype == "category"
    as_feature = _features_and_target._as_feature
    dates = pd.Series(pd.to_datetime(["2020-01-01"]))
    told = tell_refusal(lambda: as_feature("a b", dates))
    assert told == "column 'a b' holds dates or times; leave it out: --drop 'a b'"
    told = tell_refusal(lambda: _features_and_target.as_features(frame[[]]))
    assert told == "no features left: all columns are dropped or used by other options"


def test_records_keep_no_words_of_a_target_of_numbers():
    # 101 pairs of 200 rows are those of classes, and of 201 rows as well.
    for n_rows, is_kept in ((200, False), (202, True)):
        y = np.resize(np.arange(101.0), n_rows)
        records = Records(np.zeros((n_rows, 1)), y)
        fields = _inputs._keep_words(records, pd.Series(y.astype(int))).fields
        assert bool(fields) is is_kept
