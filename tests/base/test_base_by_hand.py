"""Small functions of attacks on pools at the limits of their branches, with answers by hand."""

from contextlib import nullcontext
from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array
from scipy import stats
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records
from skmia.base import _choose_by_power, _connect, _pool_attack
from skmia.victims import CallableVictim

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


def count_rows(n_queries, n_models, n_blocks=1):
    reader = NS(
        answers=NS(signals=np.broadcast_to(0, (5, n_queries, n_models, 9))),
        _comparison=NS(n_blocks=n_blocks),
    )
    return _pool_attack.PoolReader.count_rows(reader)


def read_victim():
    told = []
    answers = NS(
        victim_values=lambda victim, records, reads: (victim, records, reads),
        warn_of_victim=lambda *given: told.append(given),
    )
    reader = NS(answers=answers, _comparison=NS(reads="loss"))
    return told, _pool_attack.PoolReader.of_victim(reader, "victim", "records")


def draw_columns():
    answers = NS(
        draw_columns=lambda n, usable: (n, usable.tolist()),
        n_inside=array([0, 1, 2, 3]),
        membership=np.zeros((3, 4)),
    )
    reader = _pool_attack.PoolReader(answers, NS(least=(1, 1)), "It")
    return reader.draw_columns(7), reader._have_enough(array([2, 3])).tolist()


class Light:
    pool_ = "whole"

    def _score_part(self, records):
        return [self.pool_, *records]


def score_apart():
    light = Light()
    return _pool_attack._score_apart(light, (slice(2), "ab", "part")), light.pool_


def cut(*columns):
    pool = NS(locate_usable=lambda records: array(columns), part=lambda columns: [*columns])
    return _pool_attack.PoolAttack._cut(NS(pool_=pool), "abcdef", slice(2, 4))[1:]


def read_unlike(victim=None, n_records=2, fields=(), usual=0.0):
    """Warn of a victim, if at all; return whom it asked for which records, and about what."""
    asked = []

    def read(who, records, signal, values):
        asked.append((who, [*records.rows], signal))
        return [array(values), np.full(2, 99.0)]

    class Rows(NS):
        def __len__(self):
            return len(self.rows)

        def __getitem__(self, key):
            return Rows(rows=self.rows[key], fields=self.fields)

    pool = NS(
        stored_=["first", "second"],
        output_kind_="label",
        victim_values=lambda victim, *given: read(victim, *given, [0.0, usual * 2]),
        values=lambda *given: read("models", *given, [[0.0, usual * 2]] * 3),
    )
    records = Rows(rows=range(n_records), fields=fields)
    _pool_attack.warn_unlike(pool, victim, records, 0.01)
    return [(who, len(rows), rows[-1], signal) for who, rows, signal in asked]


def asks(who, n_rows, last):
    return [(who, n_rows, last, "first"), ("models", n_rows, last, "first")]


ASKED = "victim", "records", "loss"
queried = CallableVictim(len, [0, 1])


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
        (lambda: count_rows(2, 4), 1 << 17),
        (lambda: count_rows(2, 4, 3), 3 << 17),
        (lambda: count_rows(2, 1 << 20, 3), 3),
        (read_victim, ([(ASKED, *ASKED[1:])], ASKED)),
        (draw_columns, ((7, [False, True, True, False]), [True, False])),
        (score_apart, ((slice(2), ["part", "a", "b"]), "whole")),
        (lambda: cut(3, 0), ("cd", [3, 0])),
        (lambda: [type(one) for one in cut(3, -1)], [str, NS]),
        (lambda: read_unlike(), []),
        (lambda: read_unlike(queried), []),
        (lambda: read_unlike(fields=["outputs"]), asks(None, 2, 1)),
        (lambda: read_unlike(queried, fields=["outputs"], usual=5.0), asks(None, 2, 1)),
        (lambda: read_unlike("victim")[:1], [("victim", 2, 1, "first")]),
        (lambda: read_unlike("victim", 2000)[0][1:3], (2000, 1999)),
        (lambda: read_unlike("victim", 2001)[0][1:3], (1001, 2000)),
        (lambda: _pool_attack.check_repeatable(plain), None),
        (
            lambda: tell_refusal(lambda: _pool_attack.check_repeatable(3)),
            "attack must be one that compares records with shadow models; got int.",
        ),
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
        victim_values=lambda *_: [array([0.0, 1 + 2 * share * reach])],  # their mean is compared
        values=lambda *_: [np.column_stack([usual, usual])],
    )
    told = pytest.warns(UserWarning, match="unlike the shadow") if is_unlike else nullcontext()
    with told:
        _pool_attack.warn_unlike(pool, "victim", np.zeros(1), 0.01)


def test_defaults_are_those_of_the_docstrings():
    from skmia import base

    found, n_compared = compare_defaults_of(base)
    assert not found
    assert n_compared >= 10
