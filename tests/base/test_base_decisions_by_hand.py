"""Thresholds, folds and models that leave, each decision with an answer by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan

from skmia import Records
from skmia.base import (
    _attack,
    _choose_by_power,
    _connect,
    _cross_fitting,
    _pool_attack,
    _supervised,
)


def best_threshold(membership, scores):
    return _attack.best_threshold(array(membership), array(scores, dtype=float))


def assign_folds(membership, fingerprint=None, groups=None):
    """Assign records to folds; return the folds, and how many of both sides are in each."""
    n = len(membership)
    fields = {} if groups is None else {"group_by": array(groups)}
    records = type("R", (), {"__len__": lambda self: n})()
    records.fingerprint = np.arange(n) if fingerprint is None else array(fingerprint)
    records.fields = fields
    try:
        folds = _cross_fitting.assign_folds(records, array(membership), 0)
    except ValueError as error:
        return str(error)[-8:]
    sides = [
        np.bincount(folds[array(membership) == side], minlength=folds.max() + 1) for side in (0, 1)
    ]
    return folds, [sorted(one.tolist()) for one in sides]


def learn_offset(judged):
    """Return the threshold learned from five records, of which some can be judged."""
    attack = NS(
        score_samples=lambda records: array([3.0, 2.0, 1.0, 1.0, 0.5]),
        _can_judge=lambda records: array(judged),
    )
    return _attack.BaseAttack._learned_offset(attack, None, array([1, 0, 1, 1, 0]) > 0)


def judge(offset=None, **able):
    attack = NS(predict=lambda records: array([0, 1, 1]), **able)
    if offset is not None:
        attack.offset_ = offset
    before, _cross_fitting.score = (
        _cross_fitting.score,
        lambda attack, records: array([1.0, 2.0, 3.0]),
    )
    try:
        return _cross_fitting.judge_records(attack, range(3))[1:]
    finally:
        _cross_fitting.score = before


def cross_fit():
    """Cross-fit scores on two scales, with a tie."""
    names = "assign_folds", "fit_known", "judge_records", "clone"
    before = {name: getattr(_cross_fitting, name) for name in names}
    scales = iter([1.0, 100.0])
    _cross_fitting.assign_folds = lambda *given: array([0, 1, 0, 1, 0])
    _cross_fitting.clone = lambda attack: attack
    _cross_fitting.fit_known = lambda attack, records, membership: (
        next(scales),
        records,
        membership,
    )

    def judge(attack, records):
        told.append((attack[1].tolist(), attack[2].tolist()))
        return attack[0] * records, records > 3, records > 1

    told, _cross_fitting.judge_records = [], judge
    try:
        found = _cross_fitting.cross_fit(
            None, array([5.0, 1, 2, 4, 5]), array([1, 0, 0, 1, 1], dtype=bool), 0
        )
    finally:
        for name, function in before.items():
            setattr(_cross_fitting, name, function)
    return *found, told


def find_judged(least, n_in, others, n=4):
    """Find where models suffice if one of two models leaves, with another one."""
    reader = NS(_comparison=NS(least=least))
    reader.are_enough = lambda *given: _pool_attack.PoolReader.are_enough(reader, *given)
    inside = np.zeros((n, len(n_in)), dtype=bool)
    for column, count in enumerate(n_in):
        inside[:count, column] = True
    return _pool_attack.find_judged(reader, inside, array(n_in), array([0, n - 1]), array(others))


def score_in_place(judged):
    """Score three records with two models, and tell which were scored together."""
    asked = []

    def score(shadows, inside, models, others):
        asked.append((models.tolist(), shadows[0, 0].tolist()))
        return models[:, None] * 10 + shadows[0, 0][None]

    comparison = NS(_score_left_out=score, _unjudged=-1.0)
    shadows = np.broadcast_to(array([1.0, 2.0, 3.0]), (1, 4, 3))
    inside, others = np.ones((4, 3), dtype=bool), np.zeros((2, 1), dtype=int)
    found = _pool_attack.score_in_place(
        comparison, shadows, inside, array([1, 3]), others, array(judged, dtype=bool)
    )
    return found, asked


def say_too_few(least, alternative=None, place=""):
    reader = NS(_comparison=NS(least=least, alternative=alternative), _name="It")
    return _pool_attack.PoolReader.say_too_few(reader, 5, place)


def refuse_unjudged(judged, least_in, known):
    reader = NS(_comparison=NS(least=(least_in, 1)), _name="It")
    reader.say_too_few = lambda n: f"too few of {n}"
    reader.answers = NS(locate=lambda records: array(known), how_to_know=lambda records: "how.")
    return tell_refusal(
        lambda: _pool_attack.PoolReader.refuse_unjudged(reader, array(judged), [1, 2])
    )


def compare(figures, units, decisive=0):
    found = _choose_by_power.compare_by_power(
        [{"a": 1}, {"a": 2}], array(figures), array(units), 0.1, decisive
    )
    return found.params, found.power.to_numpy().tolist()


def locate(*prints):
    attack = NS(_known=array([2, 5, 9]))
    return _supervised.SupervisedAttack._locate_known(attack, NS(fingerprint=array(prints)))


def check_folds(n_members, n_others, n_both=0, cv=3):
    sides = np.repeat([1, 0, 2], [n_members, n_others, n_both])
    return tell_refusal(lambda: _supervised.SupervisedAttack._check_folds(NS(cv=cv), sides))


def assign_units(sides, cv=2):
    """Assign units to folds; return the sides of each fold."""
    folds = _supervised.SupervisedAttack._assign_folds(NS(cv=cv), array(sides), 0)
    return [sorted(array(sides)[folds == fold].tolist()) for fold in range(cv)]


def part(access=(), **parameters):
    made = NS(get_params=lambda deep: parameters)
    made.needs = lambda: NS(access=set(access), keeps={"k"}, uses={"u"})
    return made


TABLE = Records(array([[1.0], [2.0]]), [0, 1])
OTHER = Records(array([[1.0], [7.0]]), [0, 1])
PAIRED = [[[0.5, 0.1], [0.7, 0.3], [0.8, 0.2]], [[0.6, 0.5], [0.6, 0.5], [0.6, 0.5]]]

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _attack: [
        (lambda: best_threshold([0, 0, 1, 1], [1, 2, 4, 5]), 3.0),
        (lambda: best_threshold([0, 0, 1, 1], [1, 3, 2, 8]), 5.5),
        (lambda: best_threshold([1, 1, 0, 0], [1, 2, 4, 5]), float(np.nextafter(5, 6))),
        (lambda: best_threshold([0, 1], [1, np.nextafter(1, 2)]) > 1, True),
        (lambda: best_threshold([0, 0, 1], [0, 1, np.nextafter(1, 2)]) > 1, True),
        (lambda: best_threshold([1, 0, 1, 1], [1, 1, 1, 1]), float(np.nextafter(1, 2))),
        # Two members, the third and fourth record, are found only if they can be judged.
        (lambda: learn_offset([True, True, True, True, True]), 0.75),
        (lambda: learn_offset([True, True, False, False, True]), 2.5),
        (lambda: learn_offset([False] * 5), 0.75),
    ],
    _cross_fitting: [
        (lambda: judge(), ([False, True, True], [True] * 3)),
        (lambda: judge(2.0)[0], [False, True, True]),
        (lambda: judge(2.5)[0], [False, False, True]),
        *(
            (
                lambda at=at: judge(at, can_judge=lambda records: array([True, True, False])),
                ([False, True, False], [True, True, False]),
            )
            for at in (None, 2.0)
        ),
        (
            cross_fit,
            (
                [2 / 3, 0.25, 0.5 / 3, 0.75, 2 / 3],
                [True, False, False, True, True],
                [True, False, True, True, True],
                [([1.0, 4.0], [False, True]), ([5.0, 2.0, 5.0], [True, False, True])],
            ),
        ),
        (lambda: assign_folds([1] * 10 + [0] * 12)[1], [[2, 2, 2, 3, 3], [2, 2, 2, 2, 2]]),
        (lambda: assign_folds([1] * 3 + [0] * 6)[1], [[2, 2, 2], [1, 1, 1]]),
        (lambda: assign_folds([1] * 6 + [0] * 2)[1], [[1, 1], [3, 3]]),
        (lambda: assign_folds([1, 0, 0, 0]), "1 and 3."),
        (lambda: assign_folds([1, 1, 1, 0]), "3 and 1."),
        (lambda: assign_folds([1, 1, 0, 0], [5, 5, 6, 7]), "1 and 2."),
        (lambda: assign_folds([1, 1, 0, 0], groups=["a", "b", "c", "c"]), "2 and 1."),
        (
            lambda: np.diff(assign_folds([1, 1, 1, 0, 0, 0], groups=[*"aabccd"])[0])[[0, 3]],
            [0, 0],
        ),
    ],
    _pool_attack: [
        # Two IN and two OUT models, of which one of each leaves.
        (lambda: find_judged((1, 1), [2], [[3], [0]]), [[True], [True]]),
        (lambda: find_judged((2, 1), [2], [[3], [0]]), [[False], [False]]),
        (lambda: find_judged((1, 2), [2], [[3], [0]]), [[False], [False]]),
        (lambda: find_judged((2, 1), [2], [[-1], [-1]]), [[False], [True]]),
        (lambda: find_judged((1, 2), [2], [[-1], [-1]]), [[True], [False]]),
        (lambda: find_judged((0, 0), [2], [[3], [0]]), [[True], [True]]),
        (lambda: find_judged((2, 0), [3, 2], [[3, 3], [0, 0]]), [[True, False], [True, False]]),
        (
            lambda: score_in_place([[1, 1, 1], [1, 1, 1]]),
            ([[11.0, 12.0, 13.0], [31.0, 32.0, 33.0]], [([1, 3], [1.0, 2.0, 3.0])]),
        ),
        (
            lambda: score_in_place([[1, 1, 0], [1, 0, 0]]),
            (
                [[11.0, 12.0, -1.0], [31.0, -1.0, -1.0]],
                [([1, 3], [1.0]), ([1], [2.0])],
            ),
        ),
        (lambda: score_in_place([[0, 0, 0], [0, 0, 1]])[1], [([3], [3.0])]),
        (
            lambda: say_too_few((2, 3)),
            "It requires at least 2 IN and 3 OUT shadow models per record; none of the 5 records "
            "has them. Fit the pool with more models.",
        ),
        (
            lambda: say_too_few((0, 3), "online=False", " here")[12:],
            "at least 3 OUT shadow models per record here; none of the 5 records has them. Fit the "
            "pool with more models or set online=False.",
        ),
        (lambda: refuse_unjudged([False, True], 2, [-1, -1]), None),
        (lambda: refuse_unjudged([False, False], 0, [-1, -1]), "too few of 2"),
        (lambda: refuse_unjudged([False, False], 2, [-1, 0]), "too few of 2"),
        (
            lambda: refuse_unjudged([False, False], 2, [-1, -1]),
            "It needs IN shadow models, and 2 of 2 records are not in the shadow pool; how.",
        ),
    ],
    _choose_by_power: [
        # Means over three models; the errors are of a pair of models and one alone.
        (
            lambda: compare(PAIRED, [0, 0, 1]),
            (
                {"a": 1},
                [[1, 2 / 3, 0.1, 0.2, 0.0], [2, 0.6, 0.0, 0.5, 0.0]],
            ),
        ),
        (lambda: compare(PAIRED, [0, 0, 1], 1)[0], {"a": 2}),
        (lambda: compare(PAIRED, [0, 0, 0])[1][0], [1, 2 / 3, nan, 0.2, nan]),
        (
            lambda: compare([[[0.5, 0.1], [nan, 0.3]], [[0.6, 0.5], [0.2, 0.5]]], [0, 1])[1],
            [[1, 0.5, nan, 0.1, nan], [2, 0.6, nan, 0.5, nan]],
        ),
        (
            lambda: tell_refusal(lambda: compare([[[nan, 0.1]], [[0.6, 0.5]]], [0]))[:41],
            "The power of an attack cannot be measured",
        ),
    ],
    _supervised: [
        (lambda: locate(5, 2, 7, 9, 99), [1, 0, -1, 2, -1]),
        (lambda: check_folds(3, 3), None),
        (lambda: check_folds(2, 3)[46:], "many members that do not belong together; got 2."),
        (lambda: check_folds(3, 2)[46:], "many non-members that do not belong together; got 2."),
        (lambda: check_folds(2, 1, 2), None),
        (lambda: check_folds(1, 3, 1)[-6:], "got 2."),
        (lambda: assign_units([1, 1, 1, 0, 0]), [[0, 1, 1], [0, 1]]),
        (lambda: assign_units([1, 0, 2]), [[0, 1], [2]]),
        (lambda: assign_units([2, 2, 2, 2, 1, 0], cv=3), [[0, 1, 2], [2], [2, 2]]),
    ],
    _connect: [
        (lambda: _connect.is_open(part(a=None), "a"), True),
        (lambda: _connect.is_open(part(a=1), "a"), False),
        (lambda: _connect.is_open(part(), "a"), False),
        (lambda: sorted(_connect.list_keeps(part(), TABLE)), ["k", "u"]),
        (lambda: sorted(_connect.list_keeps(part(population=TABLE), TABLE)), ["k", "u"]),
        (lambda: sorted(_connect.list_keeps(part(population=OTHER), TABLE)), ["k", "models", "u"]),
        (lambda: _connect._reads_stored(part()), True),
        (lambda: _connect._reads_stored(part({"tokens"})), True),
        (lambda: _connect._reads_stored(part({"tokens", "file"})), False),
        (lambda: _connect._reads_stored(part(population=TABLE)), False),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
