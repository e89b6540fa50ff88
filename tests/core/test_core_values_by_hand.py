"""Keys, rows, moments and seeds of the core, each decision with an answer by hand."""

import json
import os
import sys
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy import sparse
from sklearn.covariance import EmpiricalCovariance
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import InvalidParameterError

from skmia import Outputs
from skmia._core import (
    containers,
    copies,
    error_hints,
    files,
    gaussians,
    hashing,
    moments,
    out_of_core,
    outputs,
    progress,
    query,
    randomness,
    saving,
    splits,
    transactions,
    writers,
)


def as_key(key, n=5):
    try:
        found = outputs.as_key(key, n)
    except IndexError as error:
        return str(error)[:40]
    return (found.start, found.stop, found.step) if isinstance(found, slice) else found


def check_single(values, kind="value"):
    try:
        found = outputs.check_single(array(values), kind)
    except ValueError as error:
        return str(error)
    return found.dtype.name, found.tolist()


def say_classes(y, classes, values):
    made = Outputs(array(values), classes, "label")
    return outputs._say_classes(array(y), made)[:60]


def find_digests(*prints):
    known = NS(
        _prints=array([2, 5, 9], dtype=np.uint64),
        _second=array([1, 1, 3], dtype=np.uint64),
        _columns=array([7, 4, 0]),
    )
    return hashing.DigestIndex.find(known, array(prints, dtype=np.uint64).T)


def take_moments(product):
    side = moments.Moments(array([1, 2, 3]), array([[1.0, 2, 3]]), array([[4.0, 5, 6]]))
    sides = moments.SideMoments(side, side, product if product is None else array([product]))
    found = moments.take_moments(sides, array([2, 0]))
    return found.into.count, found.out.squares, found.product


def check_spread(*columns):
    found = tell_refusal(lambda: gaussians.check_column_variance(array(columns).T))
    return found and found[:11]


def check_moments(mean, covariance):
    try:
        found = gaussians.check_moments(mean, covariance)
    except ValueError as error:
        return str(error)[:43]
    return found


class Odd(EmpiricalCovariance):
    def fit(self, X, y=None):
        self.location_, self.covariance_ = np.zeros(1), np.eye(1)
        return self


def seed_estimator(*estimators):
    model = make_pipeline(*estimators)
    randomness.seed_estimator(model, np.random.SeedSequence(0))
    return [one.get_params().get("random_state") for one in estimators]


STATES = (np.random.SeedSequence(0).generate_state(2) >> np.uint32(1)).tolist()


def seed_torch(accelerator):
    """Return what is seeded of a torch with an accelerator that is there, is not, or is older."""
    seeded = []
    torch = NS(
        manual_seed=lambda seed: seeded.append(("all", seed)),
        default_generator=NS(manual_seed=lambda seed: seeded.append(("own", seed))),
    )
    if accelerator is not None:
        torch.accelerator = NS(is_available=lambda: accelerator)
    kept = np.random.get_state()  # noqa: NPY002
    try:
        with mock.patch.dict(sys.modules, {"torch": torch}):
            randomness.seed_everything(7)
        return seeded, np.random.randint(10**6)  # noqa: NPY002
    finally:
        np.random.set_state(kept)  # noqa: NPY002


class Learner:
    _lasting = ("_lasts",)

    def __init__(self, given_=1):
        self.given_ = given_


def list_learned(**state):
    learner = Learner()
    vars(learner).update(state)
    return sorted(transactions._list_learned(learner))


def note_private(kept, **state):
    learner = Learner()
    vars(learner).update(state)
    transactions._note_private(learner, kept)
    return vars(learner).get(transactions._PRIVATE)


def join_tables(first, second):
    found = tell_refusal(
        lambda: containers._check_joined_tables([pd.DataFrame(first), pd.DataFrame(second)])
    )
    return found and found[58:]


def join_frames(*frames):
    frames = [pd.DataFrame(one) for one in frames]
    found = containers._join_frames(iter(frames), sum(map(len, frames)))
    return {name: (found[name].dtype.name, found[name].tolist()) for name in found}


def write_json(tmp_path, document):
    saving.write_json(document, tmp_path / "a.json")
    return (tmp_path / "a.json").read_text("utf-8")


FRAME = pd.DataFrame({"a": [1.0, nan, 3.0], "b": ["x", "y", "x"], "c": [nan, nan, 1.0]})


def advise_on_text(value, *columns):
    X = pd.DataFrame({name: ["x", "y"] if name in columns else [1.0, 2.0] for name in "abcdefg"})
    return error_hints._advise_on_text(f"'{value}'", X)


def advise_on_numbers(X, what="missing values (NaN)"):
    return error_hints._advise_on_numbers(np.isnan, what, X)


class Weights:
    dtype = "torch.float32"

    def parameters(self):
        return iter([self])


def advise_on_dtype(X, depth=0):
    model = NS(module_=Weights())
    for _ in range(depth):
        model = NS(estimator=model)
    return error_hints._advise_on_dtype(model, X)


def raise_within(error, model=None):
    try:
        with error_hints.with_advice(model or LinearRegression(), np.zeros((1, 1))):
            raise error
    except Exception as found:
        return type(found).__name__, str(found)[:46]


def is_same(given, found):
    return copies._is_same_parameter(given, found)


def check_targets(answered, y, kind="value"):
    outputs = NS(kind=kind, shape=np.shape(answered))
    return (tell_refusal(lambda: query.check_targets(LinearRegression(), outputs, y)) or "")[:64]


class Untagged:
    def fit(self, X, y):
        return self


def refuse_outputs(answers, model=None):
    model = LinearRegression() if model is None else model
    return (tell_refusal(lambda: query._refuse_outputs(answers, model, None)) or "")[:38]


def compute_strata(y, is_classification=False):
    return splits.compute_strata(array(y), is_classification)


def draw_halves(n_units, n_samples, strata=None):
    """Draw halves of units of two records each, and count them in each stratum."""
    units = np.repeat(np.arange(n_units), 2)
    strata = np.zeros(2 * n_units, dtype=int) if strata is None else np.repeat(strata, 2)
    inside = splits.draw_halves(units, strata, n_samples, np.random.default_rng(0))
    apart = not (inside[0] & inside[1]).any()
    whole = bool((inside[:, ::2] == inside[:, 1::2]).all())
    counts = [
        sorted(int(side[strata == k].sum()) for side in inside) for k in range(strata.max() + 1)
    ]
    return counts, apart, whole


def remove_leftovers(tmp, names, all_done=False):
    for name in names:
        (tmp / name).write_text("")
    files.remove_leftovers(tmp, all_done)
    left = sorted(path.name for path in tmp.iterdir())
    for path in tmp.iterdir():
        path.unlink()
    return left


def set_attributes(body):
    space = {}
    exec(f"def f(self, net):\n    {body}\n", space)
    return writers._sets_attributes(space["f"].__code__)


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
def count_bytes(values, n_columns):
    return hashing._count_bytes([NS(values=values)], n_columns)


def take_dense(values, which):
    values = array(values)
    found = hashing._take_dense(values, array(which))
    return found, found is values


def write_lines(*texts):
    """Write states of a bar as lines; return what a file was told."""
    told = []
    file = NS(write=told.append, flush=lambda: told.append("flush"))
    stream = progress._LineStream(file)
    for text in texts:
        stream.write(text)
    stream.flush()
    return told


SPARSE = array([[0, 7, 9], [0, 0, 0], [8, 0, 0]], dtype=np.int8)
WRITTEN = ["a 1\n", "b\n", "a 1\n", "flush"]
LISTED = [b"\1\0\0\0\2\0\0\0\7\t", b"", b"\0\0\0\0\x08"]


def hash_kind(X, name=None):
    """Return the kind of a table as it is hashed, and its number of columns."""
    table = hashing._as_hashed_table(X)
    if name is not None:
        stored = table._columns[0].values
        return stored.toarray(), stored.nnz
    return type(table).__name__, len(table._columns)


ANSWERS = {
    outputs: [
        (lambda: as_key(2), [2]),
        (lambda: as_key(-5), [-5]),
        (lambda: as_key(5), "Record 5 was requested; there are 5 reco"),
        (lambda: as_key(-6), "Record -6 was requested; there are 5 rec"),
        (lambda: as_key((2, ...)), [2]),
        (lambda: as_key(slice(1, 4)), (1, 4, None)),
        (lambda: as_key(slice(None, None, 2)), (None, None, 2)),
        (lambda: as_key(slice(None, None, -2)), [4, 2, 0]),
        (lambda: as_key([True, False, True, False, False]), [0, 2]),
        (lambda: as_key([True, False]), "The mask has 2 entries; there are 5 reco"),
        (lambda: as_key([0, -5, 4]), [0, -5, 4]),
        (lambda: as_key([0, 7, -9]), "Record 7 was requested; there are 5 reco"),
        (lambda: as_key([0, -6]), "Record -6 was requested; there are 5 rec"),
        (lambda: as_key([]), []),
        (lambda: as_key([0.5]), "Records are selected by an integer, a sl"),
        (lambda: as_key([[0]]), "Records are selected by an integer, a sl"),
        (lambda: as_key(True), "Records are selected by an integer, a sl"),
        (lambda: as_key([[1], [2, 3]]), "Records are selected by an integer, a sl"),
        (lambda: check_single([1, 2]), ("float64", [1.0, 2.0])),
        (lambda: check_single([[1.5], [2.5]]), ("float64", [1.5, 2.5])),
        (
            lambda: check_single(array([1, 2], dtype=np.float32), "log_odds"),
            ("float32", [1.0, 2.0]),
        ),
        (lambda: check_single(array([1, 2], dtype=np.float32)), ("float64", [1.0, 2.0])),
        (lambda: check_single([[1.0, 2.0]], "values"), ("float64", [[1.0, 2.0]])),
        (lambda: check_single([[1.0]], "values")[-25:], "an array of shape (1, 1)."),
        (lambda: check_single([1.0], "values")[-23:], "an array of shape (1,)."),
        (
            lambda: check_single([[1.0, 2.0]])[-48:],
            ' Use kind="values" for a regressor of several targets.'[-48:],
        ),
        (lambda: check_single([["a", "b"]], "label")[-25:], "an array of shape (1, 2)."),
        (lambda: check_single(["a", "b"], "label")[1], ["a", "b"]),
        (
            lambda: outputs.measure_errors(Outputs(array([1.0, 6.0]), kind="value"), [0.0, 4.0]),
            [1 / 4, 4 / 4],
        ),
        (
            lambda: outputs.measure_errors(Outputs(array([1.0, 6.0]), kind="value"), [4.0, 4.0]),
            [9.0, 4.0],
        ),
        (
            lambda: outputs.measure_errors(
                Outputs(array([[1.0, 6.0], [2.0, 8.0]]), kind="values"), [[0.0, 4.0], [4.0, 4.0]]
            ),
            [(1 / 4 + 4) / 2, (4 / 4 + 16) / 2],
        ),
        (
            lambda: say_classes(["a", "b", "c"], [0, 1], [0, 1, 0]),
            "",
        ),
        (
            lambda: say_classes(["1", "0"], [0, 1], [0, 1])[:48],
            " Pass the labels that the model was trained with",
        ),
        (lambda: say_classes([5, 7], [0, 1], [0, 0]), ""),
        (
            lambda: say_classes(["x", "y"], [0, 1], [0, 0]),
            " Pass the numbers that the model was trained with.",
        ),
        (lambda: say_classes(["x", "y"], ["a", "b"], ["a", "a"]), ""),
    ],
    progress: [
        (lambda: write_lines("\ra 1 \n", "\ra 1", "\r  ", "b", "a 1"), WRITTEN),
        (lambda: write_lines(), ["flush"]),
    ],
    hashing: [
        (lambda: count_bytes(np.zeros((3, 5), dtype=np.int16), 7), 14),
        (lambda: count_bytes(sparse.csr_array(np.ones((2, 3), dtype=np.float32)), 7), 48),
        (lambda: count_bytes(sparse.csr_array((0, 3)), 7), 0),
        (lambda: count_bytes(sparse.csr_array(np.ones((1, 3))), 7), 96),
        (lambda: take_dense([[1.0], [2.0]], [True, True]), ([[1.0], [2.0]], True)),
        (lambda: take_dense([[1.0], [2.0]], [False, True]), ([[2.0]], False)),
        (
            lambda: hashing._take_dense(
                sparse.csr_array([[1.0, 0.0], [0.0, 2.0]]), array([False, True])
            ),
            [[0.0, 2.0]],
        ),
        (
            lambda: hashing._stack_missing(
                [NS(missing=None), NS(missing=array([True, False, True]))], [1, 2], 2
            ),
            [[False, False], [False, True]],
        ),
        (lambda: hashing._list_sparse(SPARSE), LISTED),
        (lambda: hashing._list_sparse(sparse.csr_array(SPARSE)), LISTED),
        (
            lambda: hashing._hash_missing_cells(
                array([[5], [6]], dtype=np.int8), array([[0, 1, 1], [0, 0, 0]])
            ),
            [b"\1\0\0\0\2\0\0\0\5", b"\6"],
        ),
        (lambda: hash_kind(pd.DataFrame({"a": [1], "b": [2]})), ("_HashedNumbers", 2)),
        (lambda: hash_kind(pd.DataFrame({"a": [1], "b": ["x"]})), ("_HashedCells", 2)),
        (lambda: hash_kind(pd.DataFrame({"a": ["y"], "b": ["x"]})), ("_HashedCells", 2)),
        (lambda: hash_kind(array([[1.0, 2.0]])), ("_HashedNumbers", 1)),
        (lambda: hash_kind(array([["a", "b"]], dtype=object)), ("_HashedCells", 2)),
        (lambda: hash_kind(np.zeros((2, 3, 4))), ("_HashedNumbers", 1)),
        (
            lambda: hash_kind(sparse.csr_array(([1.0, 2.0, 0.0], [1, 1, 0], [0, 3])), "values"),
            ([[0.0, 3.0]], 1),
        ),
        (
            lambda: find_digests((5, 1), (2, 1), (9, 3), (9, 1), (99, 3), (1, 1)),
            [4, 7, 0, -1, -1, -1],
        ),
    ],
    moments: [
        (
            lambda: moments.Moments(array([4, 0, 1]), None, array([[8.0, 0.0, 3.0]])).variance,
            [[2.0, 1e-24, 3.0]],
        ),
        (lambda: take_moments(None), ([3, 1], [[6.0, 4.0]], None)),
        (lambda: take_moments([1.0, nan, 3.0])[2], [[3.0, 1.0]]),
        (lambda: take_moments([nan, 2.0, 3.0])[2], None),
    ],
    gaussians: [
        (lambda: check_spread([0.0, 1.0], [5.0, 5.0]), None),
        (lambda: check_spread([0.0, 1.0], [-1e200, 1e200]), "Column 1 of"),
        (lambda: check_spread([1e-200, 3e-200], [0.0, 1.0]), "Column 0 of"),
        (lambda: check_spread([-1.7e308, 1.7e308]), "Column 0 of"),
        (lambda: gaussians.get_shrinkage(np.zeros((3, 2)), "full"), None),
        (lambda: gaussians.get_shrinkage(np.zeros((3, 2)), "auto"), (1.0, 1.0)),
        (lambda: gaussians.get_shrinkage(np.zeros((3, 2)), EmpiricalCovariance()), None),
        (
            lambda: gaussians.estimate_moments(
                array([[1.0, 2.0], [3.0, 6.0]]), EmpiricalCovariance()
            ),
            ([2.0, 4.0], [[1.0, 2.0], [2.0, 4.0]]),
        ),
        (
            lambda: (
                tell_refusal(lambda: gaussians.estimate_moments(np.eye(2), LinearRegression()))
                is None
            ),
            False,
        ),
        (
            lambda: tell_refusal(lambda: gaussians.estimate_moments(np.eye(2), Odd())),
            "The covariance estimator describes 1 features; X has 2.",
        ),
        (lambda: check_moments([1.0, 2.0], [0.0, 3.0]), ([1.0, 2.0], [0.0, 3.0])),
        (lambda: check_moments([1.0], [[3.0]]), ([1.0], [[3.0]])),
        (lambda: check_moments([[1.0]], [[3.0]]), "mean must be a vector, and covariance a vec"),
        (lambda: check_moments([1.0, 2.0], [3.0]), "mean must be a vector, and covariance a vec"),
        (lambda: check_moments([1.0], [-0.5]), "Variances must not be negative; got -0.5."),
        (lambda: check_moments([1.0, 2.0], [[1.0, -3.0], [-3.0, 1.0]])[0], [1.0, 2.0]),
        (lambda: check_moments([nan], [1.0]), "mean and covariance must be finite."),
        (lambda: check_moments([1.0], [inf]), "mean and covariance must be finite."),
    ],
    randomness: [
        (lambda: seed_estimator(LinearRegression(), RandomForestClassifier()), [None, STATES[0]]),
        (lambda: seed_estimator(RandomForestClassifier())[0], STATES[0]),
        (lambda: seed_torch(True), ([("all", 7)], np.random.RandomState(7).randint(10**6))),
        (lambda: seed_torch(False)[0], [("own", 7)]),
        (lambda: seed_torch(None)[0], [("all", 7)]),
        (
            lambda: randomness.derive_seed(5, "a") == randomness.derive_seed(5, "a"),
            True,
        ),
        (lambda: randomness.derive_seed(5, "a") == randomness.derive_seed(5, "b"), False),
        (lambda: randomness.derive_seed(5, "a") == randomness.derive_seed(6, "a"), False),
        (
            lambda: randomness.derive_seed(5, "a"),
            int(randomness.derive_random_state(5, "a").randint(2**31 - 1)),
        ),
    ],
    transactions: [
        # What ends with an underscore, but no parameter; and private ones that were noted.
        (
            lambda: list_learned(
                coef_=1, plain=2, _own=3, _kept=4, **{transactions._PRIVATE: ("_own",)}
            ),
            sorted(["coef_", "_own", transactions._PRIVATE]),
        ),
        (lambda: list_learned(__own_=1, coef_=2), ["coef_"]),
        (lambda: list_learned(), []),
        (lambda: note_private({"_kept": 1}, _kept=1, _own=2, coef_=3, _lasts=4), ("_own",)),
        (lambda: note_private({}, coef_=3), None),
    ],
    containers: [
        (lambda: join_tables({"a": [1]}, {"a": [2]}), None),
        (lambda: join_tables({"a": [1], "b": [1]}, {"b": [1], "a": [1]})[-6:], "order."),
        (
            lambda: join_tables({"a": [1], "b": [1]}, {"b": [1], "c": [1]})[-21:],
            "r; only one has a, c.",
        ),
        (
            lambda: join_frames(
                {"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"]}, {"a": [3], "b": [2.5], "c": ["z"]}
            ),
            {
                "a": ("int64", [1, 2, 3]),
                "b": ("float64", [0.5, 1.5, 2.5]),
                "c": (pd.Series(["x"]).dtype.name, ["x", "y", "z"]),
            },
        ),
        (lambda: join_frames({"a": [1]}, {"a": [3]}), {"a": ("int64", [1, 3])}),
    ],
    out_of_core: [
        (lambda: out_of_core.take_where(array([1, 0, 1], dtype=bool), array([5, 6, 7])), [5, 7]),
        (lambda: out_of_core.find_where(array([0, 1, 0, 1], dtype=bool)), [1, 3]),
        (
            lambda: out_of_core.take_table(np.arange(6).reshape(3, 2), array([2, 0])),
            [[4, 5], [0, 1]],
        ),
    ],
    error_hints: [
        (lambda: advise_on_text("x"), None),
        (lambda: advise_on_text("z", "a"), None),
        (
            lambda: advise_on_text("x", "b"),
            "The model takes numbers, but column 'b' of X holds text such as 'x'. Encode it, for "
            "example with a OneHotEncoder in a Pipeline, or leave it out.",
        ),
        (lambda: advise_on_text("x", "a", "b")[30:62], "olumns 'a', 'b' of X hold text s"),
        (lambda: " others" in advise_on_text("x", *"abcdefg"[: error_hints._MOST_COLUMNS]), False),
        (
            lambda: (
                " and 1 others" in advise_on_text("x", *"abcdefg"[: error_hints._MOST_COLUMNS + 1])
            ),
            True,
        ),
        (
            lambda: advise_on_numbers(FRAME),
            "The model takes no missing values (NaN), and column 'a' and 1 more of X holds 1 of "
            f"them, first in row 2. {error_hints._CURES['missing values (NaN)']} the columns or "
            "the records.",
        ),
        (
            lambda: advise_on_numbers(FRAME[["c"]])[41:95],
            "and column 'c' of X holds 2 of them, first in row 1. I",
        ),
        (lambda: advise_on_numbers(FRAME[["b"]]), None),
        (lambda: advise_on_numbers(array([[1.0, 2.0]])), None),
        (lambda: advise_on_numbers(array([[1.0, nan]]))[41:55], "and column 1 o"),
        (lambda: advise_on_numbers(array([nan])), None),
        (
            lambda: advise_on_dtype(np.zeros((1, 1))),
            "The weights of the net are float32 and the records float64. Convert the records: "
            "Records(X.astype('float32'), y).",
        ),
        (
            lambda: advise_on_dtype(np.zeros((1, 1)), 2)[:43],
            "The weights of the net are float32 and the ",
        ),
        (
            lambda: advise_on_dtype(np.zeros((1, 1), dtype=np.float32))[-64:],
            "er type. Add a step FunctionTransformer(np.float32) before the net."[-64:],
        ),
        (lambda: error_hints._advise_on_dtype(LinearRegression(), np.zeros(1)), None),
        (
            lambda: raise_within(ZeroDivisionError("x")),
            ("ValueError", "LinearRegression cannot take these records: Ze"),
        ),
        (lambda: raise_within(IndexError("x"))[1][-2:], "In"),
        (
            lambda: raise_within(TypeError("x")),
            ("TypeError", "LinearRegression cannot take these records: Ty"),
        ),
        (lambda: raise_within(RuntimeError("x"))[0], "ValueError"),
        (  # a parameter of the model, not its records
            lambda: raise_within(InvalidParameterError("The 'alpha' parameter of Ridge must")),
            ("InvalidParameterError", "The 'alpha' parameter of Ridge must"),
        ),
    ],
    copies: [
        (lambda: is_same(1, 1), True),
        (lambda: is_same([1], [1]), True),
        (lambda: is_same([1], (1,)), False),
        (lambda: is_same([1], [2]), False),
        (lambda: is_same(1, 1.0), False),
        (lambda: is_same(array([1, 2]), array([1, 2])), True),
        (lambda: is_same(array([1, 2]), array([1, 3])), False),
        (lambda: is_same(array([1, 2]), array([1.0, 2.0])), False),
        (lambda: is_same(array([nan]), array([nan])), True),
        (lambda: is_same(array([1]), [1]), False),
    ],
    query: [
        (lambda: check_targets([1.0, 2.0], [3.0, 4.0]), ""),
        (lambda: check_targets([1.0, 2.0], None), ""),
        (lambda: check_targets([1.0, 2.0], [[3.0, 4.0]] * 2, "proba"), ""),
        (
            lambda: check_targets([1.0, 2.0], [[3.0, 4.0]] * 2),
            "LinearRegression answers with one number for each record, and y ",
        ),
        (
            lambda: check_targets([[1.0, 2.0]] * 2, [3.0, 4.0], "values"),
            "LinearRegression answers with 2 numbers for each record, as for ",
        ),
        (lambda: check_targets([[1.0, 2.0]] * 2, [[3.0, 4.0]] * 2, "values"), ""),
        (lambda: query.has_tags(LinearRegression()), True),
        (lambda: query.has_tags(object()), False),
        (lambda: tell_refusal(lambda: query.check_tags(LinearRegression(), "victim")), None),
        (
            lambda: (
                "derives its class" in tell_refusal(lambda: query.check_tags(Untagged(), "victim"))
            ),
            True,
        ),
        (
            lambda: (
                "derives its class" in tell_refusal(lambda: query.check_tags(object(), "victim"))
            ),
            False,
        ),
        (lambda: refuse_outputs(None), "predict_proba of LinearRegression retu"),
        (lambda: refuse_outputs([np.zeros((2, 2))] * 2), "LinearRegression has several outputs f"),
        (
            lambda: refuse_outputs(np.zeros((2, 2)), NS(classes_=[[1], [2]]))[-24:-3],
            "e has several outputs",
        ),
    ],
    splits: [
        (lambda: compute_strata([5, 7, 5, 9], True), [0, 1, 0, 2]),
        (lambda: compute_strata(np.arange(20.0)[::-1]), np.repeat(np.arange(10), 2)[::-1]),
        # Standardized by -1 and 1, the second column counts as much as the first.
        (
            lambda: compute_strata([[1.0, 900.0], [3.0, 100.0], [3.0, 900.0], [1.0, 100.0]]),
            [2, 5, 7, 0],
        ),
        (lambda: draw_halves(6, 12), ([[6, 6]], True, True)),
        (lambda: draw_halves(8, 4)[1:], (True, True)),
        (lambda: sum(draw_halves(8, 4)[0][0]), 8),
        (lambda: draw_halves(5, 10)[0], [[4, 6]]),
        (lambda: draw_halves(8, 16, [0] * 4 + [1] * 4), ([[4, 4], [4, 4]], True, True)),
        (lambda: sum(draw_halves(4, 0)[0][0]), 4),
    ],
    writers: [
        (lambda: set_attributes("self.a = 1"), False),
        (lambda: set_attributes("net.a = 1"), True),
        (lambda: set_attributes("self.a.b = 1"), True),
        (lambda: set_attributes("net['a'] = 1"), False),
        (lambda: set_attributes("a = net.b"), False),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_a_document_is_written_with_two_spaces(tmp_path):
    assert write_json(tmp_path, {"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}\n'
    assert json.loads(write_json(tmp_path, {"a": None})) == {"a": None}
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path, {"a": nan})


def test_half_written_files_of_others_are_left(tmp_path):
    end, host = files._SUFFIX, files._host()
    mine = f"a.{host}-{2**22 + 1}-0{end}"  # of a process that cannot be
    own, other = f"a.{host}-{os.getpid()}-0{end}", f"a.elsewhere-5-0{end}"
    assert remove_leftovers(tmp_path, [mine, own, other, "b.txt"]) == sorted([own, other, "b.txt"])
    assert remove_leftovers(tmp_path, [own, other], all_done=True) == [own]
    assert remove_leftovers(tmp_path, [own, other, "a"]) == sorted([own, "a"])
    odd = [f"a.elsewhere-x-0{end}", f".elsewhere-5-0{end}"]
    assert remove_leftovers(tmp_path, odd, all_done=True) == sorted(odd)
