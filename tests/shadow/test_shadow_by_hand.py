"""Small functions of shadow pools at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, nan
from sklearn.linear_model import LinearRegression, LogisticRegression

from skmia import Outputs, Records, ShadowPool
from skmia._training.identity import identify_values
from skmia.shadow import (
    _answers,
    _fit_once,
    _job,
    _layouts,
    _pool,
    _record_columns,
    _stored,
    _synthesis,
)
from skmia.signals import Entropy, Loss, Signal


def name_kept(signals=(), temperatures=(), kind="proba", has_outputs=False, model=None):
    return sorted(map(str, _answers.name_kept(signals, temperatures, kind, has_outputs, model)))


def name_all_kept(estimators, outputs, kind="proba"):
    answers = NS(estimators=estimators, outputs=outputs, stored=(), temperatures=(1.0,), kind=kind)
    return sorted(map(str, _answers.PoolAnswers.keeps.fget(answers)))


def count_inside(columns):
    answers = NS(
        columns=NS(find_homes=lambda records, usable: array(records, dtype=int)),
        locate_usable=lambda records: None,
        n_inside=array([3, 5, 7], dtype=np.int16),
    )
    return _answers.PoolAnswers.count_inside(answers, columns)


def count_unfit(estimator, y, on_disk=False):
    pool = NS(estimator=estimator, on_disk=on_disk)
    told = [*_job.list_unfit_for_targets(pool, Records(np.zeros((2, 1)), y))]
    return [one.partition(",")[0][:12] for one in told]


def read_closure(first, second=3, *, third=4):
    def inner():
        return first

    return inner


def make_layout_pool(**signal):
    return NS(
        locate_signal=lambda name: NS(signal=NS(**signal), place=1),
        signals_=[array([1, 2]), array([3, 4])],
    )


STRENGTH, COUNTS = 3, []


def read_other():
    return expect_answers


def read_own():
    return STRENGTH, COUNTS, count_unfit


def call_itself():
    return call_itself


def name_what_is_read(function):
    """Return functions and constants that the code of a function depends on."""
    *_, found = _fit_once._read_own(function, set())
    return [
        (one[0], one[1][1]) if len(one) == 2 else one[1]
        for one in sorted(found, key=lambda one: -len(one))
    ]


def make_keeper(store="signals", temperatures=(1.0,), output_kind="auto"):
    return _job.PoolKeeper(("auto",), temperatures, 0.5, store, output_kind)


def check_arrays(store, **arrays):
    return tell_refusal(lambda: make_keeper(store).check(arrays, 3))


def make_searches():
    """Return five searches that change 8, 5, 8, 8 and 4 features, at least three of them."""
    settings = NS(min_changes=3, max_changes=6, max_rejections=1)
    table = NS(n_features=1, draw=lambda n, rng: np.full((n, 1), 7.0))
    climb = _synthesis.HillClimb(table, None, settings, None)
    climb._proposal = array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    climb._best, climb._best_proba = np.full((5, 1), 9.0), np.full(5, 0.5)
    climb._n_rejections = array([1, 1, 1, 0, 1])
    climb._n_changes, climb._n_iter = array([8, 5, 8, 8, 4]), np.arange(5)
    climb.target = np.arange(5)
    return climb


def move_searches(better):
    climb = make_searches()
    climb._move(array(better), array([0.1, 0.2, 0.75, 0.3, 0.4]))
    names = "_best", "_best_proba", "_n_rejections", "_n_changes", "_n_iter"
    return {name: getattr(climb, name) for name in names}


def keep_searches(kept):
    climb = make_searches()
    climb._keep(array(kept))
    return climb.target, climb._n_changes, climb._n_iter


def start_searches(targets):
    climb = make_searches()
    climb._keep(np.arange(5) == 3)
    climb.target = array([1])
    climb.start(array(targets))
    return climb.target, climb._best_proba, climb._n_changes, climb._n_iter


def list_kept(**settings):
    kept = ShadowPool(LogisticRegression(), **settings).keeps
    return sorted(map(str, (one for one in kept if not isinstance(one, Signal))))


def start(y, **settings):
    """Return for how many models, records and signals room is needed, if it is asked."""
    asked = []
    before, _pool.check_room = _pool.check_room, lambda *given: asked.append(given)
    try:
        pool = ShadowPool(LogisticRegression(), **settings)
        checkpoint, _ = pool._start(Records(np.zeros((len(y), 1)), y))
    finally:
        _pool.check_room = before
    return asked, type(checkpoint).__name__


def remember(warm_start):
    """Return what a pool holds for a larger one, when it is asked twice."""
    pool = ShadowPool(LogisticRegression(), warm_start=warm_start)
    first = pool._get_checkpoint()
    assert pool._get_checkpoint() is first
    copied = pool._copy_continued("fit").get("_memory")
    assert copied is None or copied is not first
    pool.warm_start = False
    return type(first), type(copied), pool._get_checkpoint()


def share(outputs):
    shared = []
    pool = NS(signals_=np.empty((1, 2, 3, 4)), outputs_=outputs)
    ShadowPool._share(pool, NS(share=lambda name, values: shared.append((name, values.shape))))
    return shared


AND_LOSS = "auto", "loss"
single, several = array([0, 1]), array([[0, 1], [1, 0]])

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _answers: [
        (lambda: name_all_kept(None, None), ["auto"]),
        (lambda: name_all_kept(None, 1), ["auto", "outputs"]),
        (lambda: name_all_kept([NS()], None), ["auto", "models", "outputs"]),
        (lambda: name_all_kept([NS()], None, "label"), ["auto", _answers.LABELS, "models"]),
        (lambda: count_inside([2, -1, 0]), [7, 0, 3]),
        (lambda: count_inside([]), []),
        (lambda: name_kept(), []),
        (lambda: name_kept(("loss", "auto"), (1.0, 2)), ["('auto', 2.0)", "auto", "loss"]),
        (lambda: name_kept(kind="label", has_outputs=True), [_answers.LABELS]),
        (lambda: name_kept(has_outputs=True), ["outputs"]),
        (lambda: name_kept(model=NS()), ["models"]),
        (
            lambda: name_kept(model=LogisticRegression().fit([[0.0], [1.0]], [0, 1])),
            ["gradients", "models"],
        ),
    ],
    _fit_once: [
        (lambda: name_what_is_read(read_other), []),
        (lambda: name_what_is_read(read_own), ["count_unfit", ("STRENGTH", 3)]),
        (lambda: name_what_is_read(call_itself), []),
        (lambda: _fit_once._read_closure(read_closure), ([], (3,), {"third": 4})),
        (lambda: _fit_once._read_closure(read_closure(7)), ([7], None, None)),
    ],
    _job: [
        (
            lambda: _job.further_signals(("auto", "loss", Entropy())),
            [Loss(), Entropy()],
        ),
        (lambda: _job.further_signals(("auto",)), []),
        *(
            (
                lambda signals=signals: tell_refusal(lambda: _job.further_signals(signals))[:22],
                'signals must hold "aut',
            )
            for signals in ((), ("loss",), (Entropy(),))
        ),
        (
            lambda: make_keeper(temperatures=(1, 2.0)).describe(),
            {
                "signals": identify_values({}),
                "residuals": "signed",
                "temperatures": [1.0, 2.0],
                "resolution": 0.5,
                "store": "signals",
            },
        ),
        (lambda: make_keeper(output_kind="label").describe()["output_kind"], "label"),
        (lambda: make_keeper("models").keeps_models, True),
        (lambda: make_keeper("outputs").keeps_models, False),
        (lambda: check_arrays("signals", raw=np.zeros((2, 1, 3))), None),
        (lambda: check_arrays("outputs", raw=np.zeros((2, 1, 3)), outputs=0), None),
        (
            lambda: check_arrays("outputs", raw=np.zeros((2, 1, 3))),
            "it holds outputs where none were asked for, or lacks them",
        ),
        (
            lambda: check_arrays("models", raw=np.zeros((2, 1, 3)), outputs=0),
            "it holds outputs where none were asked for, or lacks them",
        ),
        (
            lambda: check_arrays("signals", raw=np.zeros((2, 3))),
            "its signals have the shape (2, 3)",
        ),
        (
            lambda: check_arrays("signals", raw=np.zeros((2, 3, 4))),
            "its signals have the shape (2, 3, 4)",
        ),
        (lambda: count_unfit(LogisticRegression(), single, True), []),
        (lambda: count_unfit(LogisticRegression(), several), ["y has 2 colu"]),
        (lambda: count_unfit(LinearRegression(), several), []),
        (lambda: count_unfit(LinearRegression(), several, True), ["on_disk=True"]),
        (
            lambda: count_unfit(LogisticRegression(), several, True),
            ["y has 2 colu", "on_disk=True"],
        ),
        (lambda: _job._limit_batched(4), 4),
        (lambda: _job._limit_batched(1), None),
        (lambda: _job._limit_batched(True), None),
        (lambda: _job._limit_batched("auto"), None),
    ],
    _layouts: [
        (lambda: _layouts._log_odds_of(make_layout_pool(temperature=1.0)), [3, 4]),
        (
            lambda: tell_refusal(lambda: _layouts._log_odds_of(make_layout_pool())),
            "The layout holds probabilities, and the models of the pool have none.",
        ),
    ],
    _pool: [
        (lambda: list_kept(), ["('auto', 2.0)", "auto"]),
        (lambda: list_kept(temperatures=(1.0,)), ["auto"]),
        (lambda: list_kept(store="outputs"), ["('auto', 2.0)", "auto", "outputs"]),
        (
            lambda: list_kept(store="models"),
            ["('auto', 2.0)", "auto", "gradients", "models", "outputs"],
        ),
        (lambda: list_kept(output_kind="label")[2:], [_answers.LABELS]),
        (
            lambda: tell_refusal(lambda: ShadowPool().signals_),
            "ShadowPool is not fitted, so it has no signals.",
        ),
        (lambda: start([0, 1, 1]), ([(64, 3, 2)], "NoneType")),
        (
            lambda: start([[0, 1]] * 2, n_estimators=4, temperatures=(1.0,), signals=AND_LOSS),
            ([(4, 2, 3)], "NoneType"),
        ),
        (lambda: start([0, 1], on_disk=True, warm_start=True), ([], "MemoryCheckpoint")),
        (lambda: remember(True), (_pool.MemoryCheckpoint, _pool.MemoryCheckpoint, None)),
        (lambda: remember(False), (type(None), type(None), None)),
        (lambda: share(None), [("raw", (3, 1, 2, 4))]),
        (lambda: share(np.empty((3, 4, 5))), [("raw", (3, 1, 2, 4)), ("outputs", (3, 4, 5))]),
        (lambda: ShadowPool._copy_continued(NS(), "fit"), {}),
    ],
    _record_columns: [
        (
            lambda: _record_columns.find_smallest_hashes(
                array([5, 1, 5, 2, 1], dtype=np.uint64), 2
            ),
            [1, 3],
        ),
        (
            lambda: _record_columns.find_smallest_hashes(
                array([5, 1, 5, 2, 1], dtype=np.uint64), 9
            ),
            [1, 3, 0],
        ),
    ],
    _stored: [
        (
            lambda: _stored._estimate_scale(
                -np.log(array([[1.0, 2.0], [3.0, 4.0]])),
                array([[True, False], [False, False]]),
                None,
            ),
            3.10912635,
        ),
    ],
    _synthesis: [
        (
            lambda: move_searches([False, False, True, False, False]),
            {
                "_best": [[9.0], [9.0], [3.0], [9.0], [9.0]],
                "_best_proba": [0.5, 0.5, 0.75, 0.5, 0.5],
                "_n_rejections": [0, 0, 0, 1, 0],
                "_n_changes": [4, 3, 8, 8, 3],
                "_n_iter": [1, 2, 3, 4, 5],
            },
        ),
        (lambda: keep_searches([False, True, False, True, False]), ([1, 3], [5, 8], [1, 3])),
        (lambda: start_searches([2, 0]), ([1, 2, 0], [0.5, 0.0, 0.0], [8, 6, 6], [3, 0, 0])),
        (lambda: _synthesis._compute_range(array([1.0, 3.0, nan])), (1.0, 3.0, 2.0)),
        (lambda: _synthesis._compute_range(array([2.0, 2.0])), (2.0, 2.0, 1.0)),
        (lambda: _synthesis._compute_range(array([1.0, 2.0, 5.0])), (1.0, 5.0, 1.0)),
        (lambda: _synthesis._compute_range(array([1.0, 2.5, 5.0])), (1.0, 5.0, 0.0)),
        (lambda: _synthesis._encode_column(pd.Series([1, 2])), ([1.0, 2.0], None)),
        (lambda: _synthesis._encode_column(pd.Series([True, False]))[0], [0, 1]),
        (lambda: _synthesis._decode_column(array([1.0, 0.0]), None, np.dtype("int64")), [1, 0]),
        (
            lambda: _synthesis._decode_column(array([1.0, 0.0]), pd.Index(["a", "b"]), object),
            ["b", "a"],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


PROBABILITIES = array([[0.25, 0.75], [0, 1], [0.5, 0.5], [0.125, 0.875], [1, 0]])
MARGINS = array([1.0, -2, 0.5, 3, -1])


def make_trained(kind, is_asked):
    """Return a model with outputs for five records and an augmentation, in reverse order."""
    classes = None if kind == "values" else [0, 1]
    values = np.column_stack([0 * MARGINS, MARGINS]) if kind == "decision" else PROBABILITIES
    if kind == "logits":
        values = np.log(values + 1e-3)
    answers = [
        Outputs(values[order], classes, kind) for order in (slice(None), slice(None, None, -1))
    ]
    y = array([1, 1, 0, 1, 0])
    trained = NS(is_asked=is_asked, model="the model", data=NS(y=y, tables=["X", "X reversed"]))
    if kind == "values":
        trained.data.y = np.column_stack([y, y])
    if is_asked:
        trained.answers = answers

    def ask_in_blocks():
        for number, outputs in enumerate(answers):
            for rows in (slice(0, 2), slice(2, 4), slice(4, 5)):
                yield number, rows, outputs[rows]

    trained.ask_in_blocks = ask_in_blocks
    return trained


def keep_trained(kind, signals=("auto",), temperatures=(1.0, 2.0), resolution="auto", **settings):
    """Return what is kept of a model at once; fail if it is another thing block by block."""
    settings = {"store": "signals"} | settings
    keeper = _job.PoolKeeper(signals, temperatures, resolution, **settings)
    known = keeper(make_trained(kind, is_asked=True))
    if settings["store"] != "outputs":
        blocks = keeper(make_trained(kind, is_asked=False))
        assert blocks.facts == known.facts
        assert blocks.arrays.keys() == known.arrays.keys()
        for name, array_ in known.arrays.items():
            assert blocks.arrays[name].dtype == array_.dtype
            np.testing.assert_array_equal(blocks.arrays[name], array_)
        assert blocks.model == known.model
    return known


def test_signals_of_a_model_are_those_of_its_answers_at_once_or_block_by_block(monkeypatch):
    monkeypatch.setattr(_job, "CHUNK", 4)
    kept = keep_trained("proba", ("auto", "entropy"))
    raw, own = kept.arrays["raw"], PROBABILITIES[range(5), [1, 1, 0, 1, 0]]
    assert raw.shape == (3, 2, 5)
    assert raw.dtype == np.float32
    inner = [0, 2, 3]  # without probabilities of 0 and 1
    log_odds = np.log(own[inner] / (1 - own[inner]))
    np.testing.assert_allclose(raw[0, 0, inner], log_odds, rtol=1e-5)
    smooth = (own + 0.125 / 2) / (1 + 0.125)  # by the smallest probability that is not 0
    np.testing.assert_allclose(raw[1, 0], np.log(smooth / (1 - smooth)) / 2, rtol=1e-5)
    np.testing.assert_array_equal(raw[0, 0, [1, 4]], [np.inf, np.inf])
    reverse = PROBABILITIES[::-1][range(5), [1, 1, 0, 1, 0]]
    np.testing.assert_allclose(raw[0, 1, 2], np.log(reverse[2] / (1 - reverse[2])), atol=1e-6)
    assert kept.facts == {"signal": "scaled_logit", "step": 0.125, "dtype": "<f8", "kind": "proba"}
    assert kept.arrays["classes"].tolist() == [0, 1]
    assert kept.model is None
    assert keep_trained("proba", resolution=0.5).facts["step"] == 0.5
    assert keep_trained("proba", store="models").model == "the model"
    outputs = keep_trained("proba", store="outputs").arrays["outputs"]
    np.testing.assert_array_equal(outputs, PROBABILITIES.astype(np.float32))
    assert keep_trained("logits", ("auto", "entropy")).facts["step"] == 0
    margins = keep_trained("decision").arrays["raw"][0, 0]
    np.testing.assert_array_equal(margins, MARGINS * [1, 1, -1, 1, -1])
    labels = keep_trained("proba", output_kind="label")
    assert labels.facts["kind"] == "label"
    np.testing.assert_array_equal(labels.arrays["raw"][0, 0], [1, 1, 1, 1, 1])
    residuals = keep_trained("values").arrays
    assert residuals["raw"].shape == (2, 2, 5)
    assert "classes" not in residuals
    truth = array([1, 1, 0, 1, 0])[:, None]
    np.testing.assert_allclose(residuals["raw"][:, 0].T, truth - PROBABILITIES)


def test_defaults_are_those_of_the_docstrings():
    from skmia import shadow

    found, n_compared = compare_defaults_of(shadow)
    assert not found
    assert n_compared >= 20
