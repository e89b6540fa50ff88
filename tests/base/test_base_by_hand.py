"""Small functions of attacks on pools at the limits of their branches, with answers by hand."""

from contextlib import nullcontext
from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers
from defaults import compare_defaults_of
from numpy import array
from scipy import stats
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records
from skmia.base import _choose_by_power, _connect, _pool_attack

fitted = LogisticRegression().fit([[0.0], [1.0]], [0, 1])


def withhold(**more):
    return _connect.offer_of(fitted, withheld=more).withheld


plain = NS(score_left_out=len, _learns_in_place=False)
learner = NS(score_left_out=len, _learns_in_place=True)


def score_pseudo(n_models, n_records, n_scores):
    """Return the models that are treated as the victim, and what is made of their scores."""
    asked = []

    def score_left_out(records, models):
        asked.append((models, sorted(records.X[:, 0])))
        yield (
            0,
            array([[1.0, 2.0], [3.0, 4.0]]),
            array([[1, 0], [0, 1]]) > 0,
            array([[True, True], [False, True]]),
        )
        yield 1, array([[5.0], [6.0]]), array([[1], [1]]) > 0, array([[False], [True]])

    attack = NS(
        pool_=NS(membership_=np.zeros((n_models, 2))),
        score_left_out=score_left_out,
    )
    records = Records(np.arange(n_records)[:, None])
    found = _pool_attack.PoolAttack._score_pseudo(attack, records, n_scores)
    (models, scored), *_ = asked
    return models, len({*scored}), *found


def score_some(n_models, n_records, n_scores):
    return score_pseudo(n_models, n_records, n_scores)[:2]


tie = _pool_attack._TIE


def rate_pair(lower, upper):
    """Return how far above a score the threshold lies that one score in three may reach."""
    return round(_pool_attack.rate_threshold(array([upper, 0.1, lower]), 0.4) - lower, 15)


def read_columns():
    answers = NS(values_at=lambda columns, reads: ([*columns], reads), inside=sorted)
    reader = NS(answers=answers, _comparison=NS(reads="loss"))
    return _pool_attack.PoolReader.read_columns(reader, array([2, 1]))


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _connect: [
        (
            lambda: [
                type(one).__name__
                for one in _connect._list_children(
                    [LogisticRegression(), [3, StandardScaler()], {"a": LogisticRegression()}]
                )
            ],
            ["LogisticRegression", "StandardScaler"],
        ),
        (lambda: _connect._learns(make_pipeline(StandardScaler()), [StandardScaler()]), False),
        (
            lambda: _connect._learns(make_pipeline(LogisticRegression()), [LogisticRegression()]),
            True,
        ),
        (
            lambda: _connect._learns(
                make_pipeline(FrozenEstimator(LogisticRegression())),
                [FrozenEstimator(LogisticRegression())],
            ),
            False,
        ),
        (lambda: _connect._learns(LogisticRegression(), []), True),
        (lambda: sorted(withhold()), ["nodes", "sums", "thresholds", "tokens"]),
        (lambda: withhold(file="no")["file"], "no"),
        (lambda: withhold(nodes="no")["nodes"], "no"),
        (lambda: len(withhold(file="no")), 5),
        (lambda: _connect.offer_of(fitted).known, _connect.BOTH),
        (lambda: _connect.offer_of(fitted, known=_connect.NOBODY).known, _connect.NOBODY),
        (lambda: _connect.offer_of(fitted, kind="label").kind, "label"),
        (lambda: _connect.offer_of(fitted, access=frozenset()).access, frozenset()),
        (
            lambda: _connect.settings_of_pool({("auto", 2.0), "auto"}),
            {"signals": ("auto",), "temperatures": (1.0, 2.0), "store": "signals"},
        ),
        (
            lambda: _connect.settings_of_pool({"models", "outputs"}),
            {"signals": ("auto",), "temperatures": (1.0,), "store": "models"},
        ),
        (
            lambda: _connect.settings_of_pool({"outputs"}),
            {"signals": ("auto",), "temperatures": (1.0,), "store": "outputs"},
        ),
    ],
    _pool_attack: [
        (lambda: [*_pool_attack.list_repeatable({"a": learner, "b": plain, "c": NS()})], ["b"]),
        (lambda: [*_pool_attack.list_repeatable({"a": learner, "c": NS()})], ["a"]),
        (lambda: _pool_attack.list_repeatable({"c": NS()}), {}),
        (
            lambda: score_pseudo(6, 2, 10),
            ([0, 1, 2, 3, 5], 2, [1.0, 2.0, 4.0, 6.0], [True, False, True, True]),
        ),
        (lambda: score_some(3, 2, 10), ([0, 1, 2], 2)),
        (lambda: score_some(9, 9, 8), ([0, 2, 5, 8], 8)),
        (lambda: score_some(9, 8, 8), ([0, 2, 5, 8], 8)),
        (lambda: _pool_attack.rate_threshold(array([3.0, 1.0, 2.0, 5.0]), 0.25), 4.0),
        (lambda: _pool_attack.rate_threshold(array([3.0, 1.0, 2.0, 5.0]), 0.49), 4.0),
        (lambda: _pool_attack.rate_threshold(array([3.0, 1.0, 3.0, 5.0]), 0.5), 4.0),
        (lambda: _pool_attack.rate_threshold(array([3.0, 1.0]), 0.0) - 3.0, 3 * tie),
        (lambda: _pool_attack.rate_threshold(array([0.25, 0.125]), 0.0) - 0.25, tie),
        (lambda: _pool_attack.rate_threshold(array([2e-9, 1e-9]), 0.5), 1e-9 + tie),
        (lambda: _pool_attack.rate_threshold(array([2e-9, 1e-9]), 0.5, 1e-9), 1.5e-9),
        # Equal up to rounding, which grows with a score but not below one.
        (lambda: rate_pair(1e3, 1e3 * (1 + tie / 2)) / tie, 1000.0),
        (lambda: rate_pair(1e3, 1e3 * (1 + 3 * tie)) / tie, 1500.0),
        (lambda: rate_pair(0.25, 0.25 + tie / 2) / tie, 1.0),
        (lambda: rate_pair(0.25, 0.25 + 3 * tie) / tie, 1.5),
        (lambda: read_columns(), (([2, 1], "loss"), [1, 2])),
        (lambda: _pool_attack.get_neutral(NS(_comparison=NS(neutral=0.5))), None),
    ],
    _choose_by_power: [
        (lambda: _choose_by_power.choose_criterion(0), "roc_auc"),
        (lambda: _choose_by_power.choose_criterion(10), "roc_auc"),
        (lambda: _choose_by_power.choose_criterion(1000), 0.016),
        (lambda: _choose_by_power.choose_criterion(10**6), 0.001),
        (lambda: _choose_by_power._is_auc("roc_auc"), True),
        (lambda: _choose_by_power._is_auc(0.01), False),
        (lambda: _choose_by_power._is_auc("auc"), False),
        (
            lambda: _choose_by_power.sort_sides(
                array([3.0, 1.0, 2.0, 5.0, 4.0]),
                array([True, True, False, False, True]),
                array([True, True, True, True, False]),
            ),
            ([1.0, 3.0], [2.0, 5.0]),
        ),
        (
            lambda: _choose_by_power.compute_auc_of_sorted(
                array([2.0, 3.0]), array([1.0, 2.0, 5.0])
            ),
            0.583333333,
        ),
        (
            lambda: _choose_by_power.compute_tpr(
                array([2.0, 3.0, 4.0]), array([1.0, 2.0, 3.0]), 0.0
            ),
            0.333333333,
        ),
        (
            lambda: _choose_by_power.compute_tpr(
                array([2.0, 3.0, 4.0]), array([1.0, 2.0, 3.0]), 1 / 3
            ),
            0.666666667,
        ),
        (
            lambda: _choose_by_power.compute_tpr(
                array([2.0, 3.0, 4.0]), array([1.0, 2.0, 3.0]), 1.0
            ),
            1.0,
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


@pytest.mark.parametrize(("share", "is_unlike"), [(0.99, False), (1.01, True)])
def test_a_victim_is_unlike_beyond_the_prediction_interval_of_its_shadow_models(share, is_unlike):
    usual = array([0.0, 1.0, 0.0, 1.0])
    reach = stats.t.isf(_pool_attack._LEVEL / 2, 3) * np.sqrt(1 + 1 / 4) * usual.std(ddof=1)
    pool = NS(
        stored_=["signal"],
        output_kind_="label",
        victim_values=lambda *_: [array([0.5 + share * reach])],
        values=lambda *_: [usual[:, None]],
    )
    told = pytest.warns(UserWarning, match="unlike the shadow") if is_unlike else nullcontext()
    with told:
        _pool_attack.warn_unlike(pool, "victim", np.zeros(1), 0.01)


def test_defaults_are_those_of_the_docstrings():
    from skmia import base

    found, n_compared = compare_defaults_of(base)
    assert not found
    assert n_compared >= 10
