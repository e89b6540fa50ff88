"""Steps, roundings and tokens of signals, each decision with an answer by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy import sparse
from scipy.special import expit

from skmia import Outputs, Records
from skmia.signals import (
    AdversarialDistance,
    BoundaryDistance,
    Confidence,
    Correctness,
    Entropy,
    Hinge,
    LabelRobustness,
    LogResidual,
    Loss,
    OrientedPrediction,
    ScaledLogit,
    _base,
    _boundary,
    _confidence,
    _joint_residual,
    _oriented_prediction,
    _perturbation,
    _registry,
    _signals,
    sequences,
)

LOG = np.log
PROBA = Outputs(array([[0.2, 0.3, 0.5], [0.1, 0.9, 0.0]]), ["a", "b", "c"])
VALUES = Outputs(array([1.0, 4.0]), kind="value")


def compute_middle(values, n_pieces=2):
    pieces = np.array_split(array(values, dtype=np.float32), n_pieces)
    return _base.compute_middle(lambda: pieces, len(values))


def check(outputs, y, signal=None):
    signal = Loss() if signal is None else signal
    try:
        return signal._check(outputs, y)
    except ValueError as error:
        return str(error)


def rows_of_numbers(X):
    try:
        values, restore = _perturbation.as_rows_of_numbers(X, "It")
    except ValueError as error:
        return str(error)
    return values.tolist(), type(restore(values)).__name__


def as_scale(scale, shape=(2, 2)):
    try:
        return _perturbation.as_scale(scale, shape, "it")
    except ValueError as error:
        return str(error)


def compute_margin(other=None):
    """Return margins of two points with three logits, and the weights of their gradient."""
    logits = array([[1.0, 5.0, 3.0], [4.0, 2.0, 0.5]])
    box = NS(logits=lambda points: logits.copy(), logit_gradient=lambda points, weights: weights)
    return _boundary.compute_margin(box, np.zeros((2, 1)), array([1, 2]), other)


def approach(edge):
    """Approach a boundary at a share of the way from 1 to 9."""
    boundary = NS(origin=array([[0.0], [1.0]]))
    boundary.is_wrong = lambda points, rows: points[:, 0] >= 1 + 8 * edge
    found = _boundary._DecisionBoundary.approach(boundary, array([[9.0]]), array([1]))
    return float((found[0, 0] - 1) / 8)


def find_nearest_classes(slopes):
    """Find the class that is nearest if margins are divided by slopes."""
    logits = array([[5.0, 1.0, 3.0, 4.0]])
    boundary = NS(origin=np.zeros((1, 2)), shape=(2,), label=array([0]))
    boundary.white_box = NS(logits=lambda points: logits.copy())
    boundary.margin = lambda points, rows, other: (
        logits[0, other] - logits[0, 0],
        array([[slopes[int(k)], 0.0] for k in other]),
    )
    return _boundary._DecisionBoundary.find_nearest_classes(boundary, array([0]), "l2")


def make_search(edges, steps=None):
    """Make a search of records of two features that are wrong beyond an edge of the first one."""
    search = object.__new__(_boundary._BoundarySearch)
    search.origin = np.zeros((len(edges), 2))
    search.step = np.zeros((len(edges), 2)) if steps is None else array(steps, dtype=float)
    search.is_wrong = lambda steps, rows: steps[..., 0] > array(edges)[rows, None]
    return search


def start_search():
    """Search along two lines; the third record is wrong, and no point near the last one is."""
    search = make_search([2.0, 0.1, -1.0, 99.0])
    lines = array([[3.0, -4.0], [-5.0, 0.0]])
    found = search.start(NS(normal=lambda size: lines))
    return found, search.step / 2**0.5


def search_smallest(edge, n_rounds=4):
    """Search a point at nine tenths of each radius beyond an edge; return radii and objectives."""
    asked = []

    def ascend(boundary, climb, rows, radius, norm, n_steps):
        asked.append((float(radius[0]), getattr(climb, "keywords", None)))
        return np.column_stack([0.9 * radius, np.zeros(1)]), radius >= edge

    boundary = NS(origin=np.zeros((3, 2)), margin=lambda points, rows, other=None: None)
    boundary.find_nearest_classes = lambda rows, norm: [5]
    boundary.approach = lambda wrong, rows: wrong
    signal = AdversarialDistance("l2", n_rounds=n_rounds)
    with mock.patch.object(_boundary, "ascend", ascend):
        found = signal._find_smallest(boundary, array([2]), 8.0)
    return found, asked


def list_ascent(n_steps):
    log = []

    class Ascent:
        adversarial, found = "points", "found"

        def __init__(self, *given):
            pass

        def step(self, is_first):
            log.append(is_first)

        def reconsider(self, n):
            log.append(n)

    with mock.patch.object(_boundary, "_BoundaryAscent", Ascent):
        found = _boundary.ascend(None, None, None, None, "l2", n_steps)
    return found, log


def reconsider_sparsity(n_nonzero):
    """Return how many of ten features change next if so many differ at the best point."""
    best = np.where(np.arange(10) < n_nonzero, 1.0, 0.0)[None]
    one = array([1.0])
    state = NS(norm="l1", origin=np.zeros((1, 10)), best=best, n_changed=array([5]), n_raised=one)
    for name in ("eta", "eta_before", "best_loss", "loss_before", "loss"):
        setattr(state, name, one)
    for name in ("points", "last", "gradient", "best_gradient"):
        setattr(state, name, best)
    _boundary._BoundaryAscent.reconsider(state, 1)
    return state.n_changed


def list_fields(checkpoint, **fields):
    records = Records(array([[0.0]]), [0], **fields)
    return tell_refusal(lambda: _signals._ask_checkpoint(checkpoint, records))


def orient(sign):
    """Orient predictions of 160 records, whose gaps have one sign where labels are large."""
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 10.0], 80)
    inside = np.zeros((4, 160), dtype=bool)
    inside[:2] = True
    level = 5.0 + np.zeros(160)
    gap = np.where(y > 5, 1.0, sign) * 1.0
    predictions = level + np.where(inside, gap / 2, -gap / 2) + rng.normal(size=(4, 160)) * 0.01
    found = _oriented_prediction.orient_predictions(predictions, inside, y)
    return found and (found.edges, found.directions, found.is_log)


HELD_AS_LISTS = [
    BoundaryDistance([1.0, 2.0]),
    LabelRobustness(magnitudes=array([0.5, 1.0]), scale=pd.Series([1.0, 2.0])),
    AdversarialDistance(bounds=[0, 1]),
    OrientedPrediction([0.0], array([-1.0, 1.0]), is_log=True),
]
HELD_AS_TUPLES = [
    BoundaryDistance((1.0, 2.0)),
    LabelRobustness(magnitudes=(0.5, 1.0), scale=(1.0, 2.0)),
    AdversarialDistance(bounds=(0, 1)),
    OrientedPrediction((0.0,), (-1.0, 1.0), is_log=True),
]

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _base: [
        (lambda: compute_middle([5.0, -1.0, 3.0]), [3.0, 3.0]),
        (lambda: compute_middle([5.0, -1.0, 3.0, -7.5]), [-1.0, 3.0]),
        (lambda: compute_middle([0.0, -0.0, 1e-30, -1e30, inf], 3), [0.0, 0.0]),
        (
            lambda: np.argsort(_base._sortable(array([3.0, -2.0, -5.0, 0.5], dtype=np.float32))),
            [2, 1, 3, 0],
        ),
        (lambda: _base._largest_finite(array([[[1.0, -7.0], [inf, 2.0]]])), 7.0),
        (lambda: _base._largest_finite(array([[[inf, nan]]])), 0.0),
        (
            lambda: float(
                _base.LogitSmoothing._compute_step(array([[[3.0, inf]]]), np.dtype(np.float64))
            ),
            float(expit(-3.0)),
        ),
        (
            lambda: float(
                _base.LogitSmoothing._compute_step(array([[[99.0]]]), np.dtype(np.float32))
            ),
            float(np.finfo(np.float32).eps),
        ),
        (
            lambda: float(_base.LogitSmoothing._compute_step(array([[[99.0]]]), np.dtype(int))),
            float(np.finfo(float).eps),
        ),
        (lambda: _base.ClippedSmoothing._compute_step(array([[[3.0, inf, -5.0]]]), None), 5.0),
        (lambda: _base.Unsmoothed._compute_step(None, None), 0.0),
        (lambda: check(PROBA, ["a", "c"]), ["a", "c"]),
        (lambda: check(VALUES, [1, 2]), [1, 2]),
        (lambda: check(VALUES, array(["1", "2"], dtype=object)), [1.0, 2.0]),
        (lambda: check(VALUES, array(["a", "b"]))[:20], "y must be numbers, l"),
        (
            lambda: check(VALUES, [1, 2, 3]),
            "y must hold one number for each prediction; got y of shape (3,) and predictions of "
            "shape (2,).",
        ),
        (
            lambda: check(Outputs(array(["a"]), ["a", "b"], "label"), ["a"], Entropy()),
            "Signal 'entropy' needs predict_proba; the victim has only predict. Its answers suit "
            "the signal correctness.",
        ),
        (
            lambda: check(VALUES, [1, 2], Hinge()),
            "Signal 'hinge' needs predict_proba or decision_function; the victim has only a "
            "regressor's predict. Its answers suit the signals log_residual, loss and "
            "squared_error.",
        ),
        (lambda: [hash(one) for one in HELD_AS_LISTS], [hash(one) for one in HELD_AS_TUPLES]),
        (lambda: HELD_AS_LISTS == HELD_AS_TUPLES, True),
        (lambda: BoundaryDistance(array(2.0)) == BoundaryDistance(2.0), True),
        (lambda: BoundaryDistance(array([[1.0, 2.0]])).scale[0][1], 2.0),
    ],
    _confidence: [
        (lambda: _confidence.sigmoid(array([0.0, LOG(3.0), -800.0, 800.0])), [0.5, 0.75, 0.0, 1.0]),
        (lambda: _confidence.sigmoid(array([0.0], dtype=np.float32)).dtype.name, "float32"),
        (
            lambda: _confidence._log_others(PROBA, LOG(array([[0.2, 0.3, 0.5]]))),
            LOG(array([[0.8, 0.7, 0.5]])),
        ),
        (
            lambda: _confidence._log_others(NS(kind="logits"), LOG(array([[0.2, 0.3, 0.5]]))),
            LOG(array([[0.8, 0.7, 0.5]])),
        ),
        (lambda: Loss().derive_from(LogResidual())(array([LOG(2.0)])), [-0.25]),
        (lambda: Loss().derive_from(ScaledLogit())(array([0.0])), [LOG(0.5)]),
        (lambda: Loss().derive_from(Hinge()), None),
        (lambda: Confidence().derive_from(ScaledLogit())(array([LOG(3.0)])), [0.75]),
        (lambda: Confidence().derive_from(ScaledLogit(temperature=2.0)), None),
        (lambda: Correctness()(PROBA, ["c", "a"]), [1.0, 0.0]),
        # A probability of 1 says no more than that it is within the floor of 1; a logit says it.
        (lambda: ScaledLogit()(Outputs([[1.0, 0.0]], ["a", "b"]), ["a"]), [-LOG(1e-12)]),
        (lambda: ScaledLogit()(Outputs([[90.0, 0.0]], ["a", "b"], kind="logits"), ["a"]), [90.0]),
    ],
    _perturbation: [
        (lambda: rows_of_numbers(array([[1, 2]])), ([[1, 2]], "ndarray")),
        (lambda: rows_of_numbers(pd.DataFrame({"a": [1.5]})), ([[1.5]], "DataFrame")),
        (
            lambda: rows_of_numbers(sparse.csr_array(array([[1.0]]))),
            "It changes every feature by a number; X must not be sparse.",
        ),
        (
            lambda: rows_of_numbers(pd.DataFrame({"a": [1], "b": ["x"]})),
            "It changes every feature by a number; 'b' holds no numbers. LabelRobustness("
            "change='swap', population=records) and TransferredQueryAttack(search='swap') put in "
            "values of other records.",
        ),
        (
            lambda: rows_of_numbers(
                pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [True, False]})
            ),
            "It changes every feature by a number; some of X are missing.",
        ),
        (
            lambda: rows_of_numbers(pd.DataFrame({"a": [1.5, 2], "b": [True, False]})),
            ([[1.5, 1.0], [2.0, 0.0]], "DataFrame"),
        ),
        (
            lambda: rows_of_numbers(pd.DataFrame({"a": [1j]})),
            "It changes every feature by a number; 'a' holds no numbers. LabelRobustness("
            "change='swap', population=records) and TransferredQueryAttack(search='swap') put in "
            "values of other records.",
        ),
        (
            lambda: rows_of_numbers(array([["a"]]))[:55],
            "It changes every feature by a number; X holds no number",
        ),
        (lambda: as_scale(2.0), [[2.0, 2.0], [2.0, 2.0]]),
        (lambda: as_scale([1.0, 2.0, 3.0, 4.0]), [[1.0, 2.0], [3.0, 4.0]]),
        (
            lambda: as_scale([1.0, 2.0]),
            "scale of it must be one number or one for each of 4 features; got 2.",
        ),
        (
            lambda: _perturbation.loss_rounding(VALUES, array([3.0, -1.0])) / 2**-52,
            array([2 * 4 * 2, 2 * 5 * 5]) * float(_perturbation._ROUNDINGS),
        ),
        (
            lambda: _perturbation.loss_rounding(PROBA, ["a", "b"]) / 2**-52,
            (1 - LOG(array([0.2, 0.9]))) * float(_perturbation._ROUNDINGS),
        ),
        (
            lambda: (
                _perturbation.loss_rounding(
                    Outputs(array([[0.0, 9.0], [5.0, 5.0]]), ["a", "b"], "logits"), ["a", "b"]
                )
                / 2**-52
            ),
            array([9.0, 5 * LOG(2)]) * float(_perturbation._ROUNDINGS),
        ),
    ],
    _registry: [
        (lambda: _registry.what_to_read("auto"), "auto"),
        (lambda: _registry.what_to_read("auto", 2), ("auto", 2.0)),
        (lambda: _registry.what_to_read("loss"), Loss()),
        (lambda: _registry.what_to_keep(ScaledLogit()), "auto"),
        (lambda: _registry.what_to_keep(ScaledLogit(temperature=2.0)), ("auto", 2.0)),
        (lambda: _registry.what_to_keep("auto"), "auto"),
        (lambda: _registry.threshold_signal_of("proba"), Loss()),
        (lambda: _registry.threshold_signal_of("label"), Correctness()),
        (lambda: _registry.threshold_signal_of("decision"), Hinge()),
        (lambda: _registry.kinds_of("oriented_prediction"), ("value",)),
        (lambda: _registry.kinds_of("scaled_logit"), ("proba", "logits", "log_odds")),
        (lambda: _registry.kinds_of("log_residual"), ("value", "values")),
        (lambda: _registry.kinds_of("entropy"), ()),
        (
            lambda: [one in _registry.COMPARED for one in ("label", "values", "value")],
            [False, False, True],
        ),
        (lambda: _registry.COMPARED_JOINTLY - _registry.COMPARED, {"values"}),
        (lambda: _registry.POOLED - _registry.COMPARED_JOINTLY, {"label"}),
        (lambda: _registry.names_that_read("label"), ["correctness"]),
        (lambda: _registry.names_that_read("decision"), ["correctness", "hinge"]),
        (lambda: _registry.names_that_read("log_odds"), ["confidence", "loss", "scaled_logit"]),
        (lambda: _registry.names_that_read("values"), ["log_residual", "loss", "squared_error"]),
        (lambda: "loss" in _registry.names_that_read("proba"), True),
        (lambda: "hinge" in _registry.names_that_read("value"), False),
    ],
    _signals: [
        (lambda: _signals._check_times((1, 2)), 3),
        (lambda: _signals._check_times(2), 2),
        (lambda: tell_refusal(lambda: _signals._check_times(1)) is None, False),
        (
            lambda: tell_refusal(lambda: _signals._check_times(()))[:42],
            "checkpoints must hold at least one earlier",
        ),
        (
            lambda: list_fields("a"),
            "The records have no field 'a' with Outputs of a checkpoint; their fields: none.",
        ),
        (lambda: list_fields("a", a=array([1.0]))[-15:], "their fields: a."[-15:]),
        (lambda: list_fields("a", a=Outputs(array([[0.5, 0.5]]), [0, 1])), None),
    ],
    sequences: [
        (
            lambda: sequences.count_lowest(array([[1.0, 2, 3, 4, 5], [1, 2, 3, nan, nan]]), 0.4),
            [2, 1],
        ),
        (lambda: sequences.count_lowest(array([[1.0, nan]]), 0.1), [1]),
        (lambda: sequences.count_lowest(array([[1.0] * 10]), 0.3), [3]),
        (
            lambda: sequences.mean_of_lowest(array([[5.0, 1, 4, 2, 3], [9, 2, 7, nan, nan]]), 0.4),
            [1.5, 2.0],
        ),
        (lambda: sequences.mean_log_proba(NS(log_proba=array([[-1.0, -3.0, nan]]))), [-2.0]),
    ],
    _boundary: [
        (
            compute_margin,
            ([5 - 3.0, 0.5 - 4.0], [[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]]),
        ),
        (
            lambda: compute_margin(array([0, 1])),
            ([5 - 1.0, 0.5 - 2.0], [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]),
        ),
        (lambda: 0 <= approach(0.3) - 0.3 < 2.0**-_boundary._HALVINGS, True),
        (lambda: approach(1.0), 1.0),
        # Three halvings of the way end at a multiple of an eighth, just beyond the edge.
        (
            lambda: make_search([1.0, 0.0, 2.5]).shorten(
                array([[8.0, 16.0], [4.0, 0.0]]), array([2, 0]), 3
            ),
            [[3.0, 6.0], [1.5, 0.0]],
        ),
        (lambda: make_search([1.0]).shorten(array([[8.0, 2.0]]), array([0]), 0), [[8.0, 2.0]]),
        # Of the lengths 4, 2, 1, 1/2 and 1/4, the first one that stays beyond the edge.
        (
            lambda: make_search([0.7, -9.0, 0.2, 0.2], [[1.0, 0.0]] * 4).advance(
                array([0, 1, 2]), array([[-1.0, 0.0], [-1.0, 2.0], [-1.0, 0.0]]), array([4.0] * 3)
            ),
            [[0.75, 0.0], [-3.0, 8.0], [0.5, 0.0]],
        ),
        (
            lambda: make_search([0.8], [[1.0, 0.0]]).advance(
                array([0]), array([[-1.0, 0.0]]), array([4.0])
            ),
            [[1.0, 0.0]],
        ),
        # At half of the distance around a point on the edge, one of four probes is wrong; and at a
        # point far beyond it all are.
        (
            lambda: make_search([1.0, 0.0], [[1.0, 0.0], [9.0, 0.0]]).estimate_gradient(
                array([0, 1]), array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
            ),
            # Signs 1, -1, -1 and 1; and the sum of the probes.
            array([[2.6, -0.2], [0.6, 1.8]]) / np.hypot([2.6, 0.6], [-0.2, 1.8])[:, None],
        ),
        # Radii are powers of two from an eighth to 64, times the root of the number of features.
        (
            start_search,
            (
                [0, 1],
                [
                    [2.0, 0.0],
                    [0.125 * 0.6, -0.125 * 0.8],
                    [0.0, 0.0],
                    [64 * 0.6, -64 * 0.8],
                ],
            ),
        ),
        (
            lambda: search_smallest(3.0),
            ([3.24], [(8.0, {"other": [5]}), (3.6, None), (1.62, {"other": [5]}), (2.43, None)]),
        ),
        (lambda: search_smallest(9.0, 2), ([8.0], [(8.0, {"other": [5]}), (8.0, None)])),
        (
            lambda: list_ascent(6),
            (("points", "found"), [True, False, 2, False, 1, False, 1, False, 1, False]),
        ),
        (lambda: reconsider_sparsity(6), [4]),
        (lambda: reconsider_sparsity(9), [5]),
        (lambda: reconsider_sparsity(0), [1]),
        (lambda: find_nearest_classes([0, 1.0, 1.0, 1.0]), [3]),
        (lambda: find_nearest_classes([0, 9.0, 1.0, 1.0]), [1]),
        (lambda: find_nearest_classes([0, 1.0, 9.0, 1.0]), [2]),
        (lambda: _boundary.check_bounds((0, 1)), None),
        *(
            (
                lambda bounds=bounds: (tell_refusal(lambda: _boundary.check_bounds(bounds)) or "")[
                    :27
                ],
                "bounds must be two numbers,",
            )
            for bounds in ((1, 0), (1, 1), (0, 1, 2), (nan, 1))
        ),
    ],
    _joint_residual: [
        (
            lambda: _joint_residual._shrink(array([[4.0, 2.0], [2.0, 8.0]]), 0.25),
            array([[4.0, 1.5], [1.5, 8.0]]) + np.eye(2) * _joint_residual._RIDGE * 6,
        ),
    ],
    _oriented_prediction: [
        (
            lambda: _oriented_prediction._mean_of(
                array([[1.0, 2.0], [3.0, 9.0], [8.0, 4.0]]),
                array([[1, 0], [1, 1], [0, 1]], dtype=bool),
            ),
            [2.0, 6.5],
        ),
        (
            lambda: _oriented_prediction._find_directions(
                array([1.0, -1.5, 2.0]), array([0, 0, 1]), 3
            ),
            [-1.0, 1.0, 1.0],
        ),
        (lambda: _oriented_prediction._cut_labels(np.repeat([0.0, 4.0, 6.0], 20)), [2.0, 5.0]),
        (lambda: _oriented_prediction._cut_labels(np.repeat([0.0, 4.0, 6.0], 19)), [4.0]),
        (lambda: _oriented_prediction._cut_labels(np.arange(60.0)), [59 / 3, 118 / 3]),
        (lambda: orient(1.0), ((5.0,), (1.0, 1.0), True)),
        (lambda: orient(-1.0), None),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
