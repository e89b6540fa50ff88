"""Thresholds, folds and models that leave, each decision with an answer by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline

from skmia import Records, ShadowPool
from skmia._core.needs import BOTH, NOBODY, NON_MEMBERS, Needs, Offer
from skmia._core.query import AlignedModel
from skmia.base import (
    _attack,
    _choose_by_power,
    _connect,
    _cross_fitting,
    _pool_attack,
    _supervised,
)
from skmia.victims import CallableVictim


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


def part(access=(), lacks=(), **parameters):
    """Return a part of an attack, or another estimator, whose own parameters alone count."""
    made = NS(**parameters)
    made.get_params = lambda deep: {} if deep else parameters
    made.set_params = made.fit = lambda **given: parameters.update(given)
    made.needs = lambda: NS(access=set(access), keeps={"k"}, uses={"u"}, lacks=lacks)
    return made


def plain(*parts, **parameters):
    """Return an estimator that combines parts."""
    parameters |= {f"part_{k}": one for k, one in enumerate(parts)}
    made = part(**parameters)
    del made.needs
    return made


def list_own_pools(attack):
    return [
        (name, pool.n_estimators, type(pool.estimator).__name__)
        for _, name, pool in _connect.get_own_pools(attack, TABLE)
    ]


def connect(stored=False, pool="pool", **parts):
    """Connect a victim and a pool to parts; return what each part has then."""
    parts = {name: part(**given) for name, given in parts.items()}
    attack = plain(*parts.values())
    assert _connect.connect(attack, "victim", pool, stored=stored) is attack
    names = "victim", "shadows"
    found = [one.get_params(deep=False) for one in parts.values()]
    return [tuple(one[name] for name in names if name in one) for one in found]


def reach(change, *given, **parts):
    """Return the parameters of parts after a change of the estimator that combines them."""
    parts = [part(**given) for given in parts.values()]
    change(plain(*parts), *given)
    return [one.get_params(deep=False) for one in parts]


def open_pool(shadows, victim=None):
    attack = NS(shadows=shadows, victim=victim, random_state=3)
    try:
        pool = _connect.open_pool(attack, TABLE)
    except (TypeError, ValueError) as error:
        return type(error), str(error).rpartition("; ")[2]
    if pool is shadows:
        return pool
    return pool.n_estimators, pool.store, pool.random_state, type(pool.estimator).__name__


def with_own(**own):
    offer = Offer("proba", {"queries"}, {"auto"}, trainable=False, withheld={"file": "no"})
    found = _connect._with_own(part(**own), offer)
    return found.kind, sorted(found.access), found.keeps, found.trainable, found.withheld["file"]


def align(y, victim=None, access=None):
    """Return the classes of a victim that knows 0 and 1, after what else it could be asked for."""
    victim = LogisticRegression().fit([[0.0], [1.0]], [0, 1]) if victim is None else victim
    attack = NS() if access is None else NS(needs=lambda: NS(access=set(access)))
    found = _connect.align_victim(victim, attack, array(y))
    return "as it was" if found is victim else found.classes_


def needing(*reads, known=NOBODY, lacks=(), **parameters):
    made = part(**parameters)
    made.needs = lambda: Needs(frozenset(reads), known=known, lacks=lacks)
    return made


def tell_needs(estimator):
    needs = _connect.needs_of(estimator)
    return needs and (sorted(needs.reads), needs.known, needs.lacks)


def why_not(*parts):
    """Return the beginning of why parts cannot run on class probabilities."""
    told = _connect.why_not(plain(*parts), Offer("proba"))
    return told and told[:8]


class OfKind(BaseEstimator):
    """A classifier or a regressor, or neither, that may need a target."""

    def __init__(self, kind, required=False):
        self.kind = kind
        self.required = required

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = self.kind, self.required
        return tags


def fit_pools(change, *given):
    """Change with pools that are not trained, but tell for how many models and records."""
    before = _connect.fit_once
    _connect.fit_once = lambda pool, records: ("fitted", pool.n_estimators, len(records))
    try:
        return change(*given)
    finally:
        _connect.fit_once = before


def fit_own_pools(**parameters):
    own = part(**parameters)
    fit_pools(_connect.fit_own_pools, plain(own), TABLE)
    return own.get_params(deep=False)


def get_pools(*shadows):
    """Return the number of the pool of each of several attacks."""
    before, _choose_by_power.get_pool = _choose_by_power.get_pool, lambda *given: object()
    attacks = {k: NS(shadows=one, score_left_out=len) for k, one in enumerate(shadows)}
    try:
        found = [id(pool) for pool in _choose_by_power._get_pools(attacks, None).values()]
    finally:
        _choose_by_power.get_pool = before
    return [found.index(one) for one in found]


def check_sets(*pools):
    """Check pools, each given as the places of two records and the models of these places."""
    pools = {
        f"pool {k}": NS(
            locate=lambda records, places=places: array(places),
            inside=lambda columns, inside=inside: array(inside)[:, columns],
        )
        for k, (places, inside) in enumerate(pools)
    }
    told = tell_refusal(lambda: _choose_by_power._check_training_sets(pools, TABLE))
    return told and told[:50]


def score_by(**methods):
    return _cross_fitting.score(NS(**methods), None)


def fit_known(known, lacks=()):
    given = []
    attack = NS(
        fit=lambda *pair: given.append(pair),
        needs=lambda: NS(known=known, lacks=lacks),
        set_params=lambda population: given.append(population),
        get_params=lambda deep: {},
    )
    _cross_fitting.fit_known(attack, array([5, 6, 7]), array([True, False, True]))
    return given


TABLE = Records(array([[1.0], [2.0]]), [0, 1])
OTHER = Records(array([[1.0], [7.0]]), [0, 1])
UNFITTED, FITTED = ShadowPool(), ShadowPool()
FITTED._answers = NS(membership=None)
OPEN = {"victim": None, "shadows": None}
ALIGNED = AlignedModel(LogisticRegression(), [0, 1], "proba")
A_ALONE = ["a"], NOBODY, ()
OF_TWO = LogisticRegression()
OF_TWO.classes_ = [[0, 1], [0, 1]]
FEW = CallableVictim(len, [0, 1], kind="label")
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
        (lambda: score_by(score_samples=lambda X: [1], decision_function=len), [1.0]),
        (lambda: score_by(decision_function=lambda X: [2], predict=len), [2.0]),
        (lambda: score_by(predict_proba=lambda X: [[0.3, 0.7]], predict=len), [0.7]),
        (lambda: score_by(predict=lambda X: [1, 0]), [1.0, 0.0]),
        (
            lambda: tell_refusal(lambda: _cross_fitting.score(3, None)),
            "int has no method that scores records.",
        ),
        (lambda: fit_known(BOTH), [([5, 6, 7], [1, 0, 1])]),
        (lambda: fit_known(NON_MEMBERS, ("population",)), [[6], ([5, 6, 7], None)]),
        (lambda: _cross_fitting.learns(NS(needs=lambda: NS(known=NOBODY))), False),
        (lambda: _cross_fitting.learns(NS(needs=lambda: NS(known=NON_MEMBERS))), True),
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
        # One model with members and others, one without members and one without others.
        (
            lambda: _choose_by_power.measure_pseudo_victims(
                (
                    array([[3.0, 1, 2, 9], [1, 2, 3, 4], [1, 2, 3, 4]]),
                    array([[1, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 1]], dtype=bool),
                    array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 1]], dtype=bool),
                ),
                [0.1, 0.5],
            ),
            [[0.5, 0.0, 1.0], [nan] * 3, [nan] * 3],
        ),
        (lambda: get_pools(UNFITTED, 4, FITTED, UNFITTED, 4), [0, 1, 2, 0, 4]),
        (lambda: get_pools(FrozenEstimator(FITTED), FITTED), [0, 0]),
        (
            lambda: tell_refusal(lambda: get_pools()),
            "attack must be an attack or name at least one; got an empty mapping.",
        ),
        (lambda: check_sets(([0, 1], [[1, 0], [0, 1]])), None),
        (lambda: check_sets(([0, 1], [[1, 0], [0, 1]]), ([1, 0], [[0, 1], [1, 0]])), None),
        *(
            (
                lambda last=last: check_sets(*[([0, 1], [[1, 0], [0, 1]])] * 2, last),
                "The shadow models of 'pool 0' and 'pool 2' have di",
            )
            for last in (([0, 1], [[0, 1], [1, 0]]), ([-1, 0], [[0, 1], [1, 0]]))
        ),
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
        (
            lambda: list_own_pools(part(shadows=4, others=6, victim=LogisticRegression())),
            [("shadows", 4, "LogisticRegression")],
        ),
        (lambda: list_own_pools(part(shadows=None, n=4)), []),
        (lambda: list_own_pools(plain(pool=UNFITTED)), [("pool", 64, "NoneType")]),
        *(
            (
                lambda call=call: tell_refusal(call).rpartition("write ")[0],
                f"{told} is a class, not an instance: ",
            )
            for call, told in (
                (lambda: _connect.open_pool(NS(shadows=ShadowPool), TABLE), "The pool ShadowPool"),
                (lambda: _connect.open_pool(Records, TABLE), "The attack Records"),
                (lambda: _connect.parts_of(NS), "The attack SimpleNamespace"),
                (lambda: _connect.needs_of(NS), "The attack SimpleNamespace"),
            )
        ),
        (
            lambda: list_own_pools(plain(part(shadows=UNFITTED), part(pool=UNFITTED))),
            [("shadows", 64, "NoneType"), ("pool", 64, "NoneType")],
        ),
        (lambda: list_own_pools(part(shadows=FITTED, pool=UNFITTED)), [("pool", 64, "NoneType")]),
        (
            lambda: connect(a=OPEN, b={"victim": 1, "shadows": 2}, c={"victim": None}, d={}),
            [("victim", "pool"), (1, 2), ("victim",), ()],
        ),
        (lambda: connect(pool=None, a=OPEN), [("victim", None)]),
        (
            lambda: connect(True, a=OPEN, b={**OPEN, "access": {"queries"}}),
            [(None, "pool"), ("victim", "pool")],
        ),
        (
            lambda: reach(_connect.set_victim, 5, a={"victim": 1}, b={"n": 2}, c={"victim": None}),
            [{"victim": 5}, {"n": 2}, {"victim": 5}],
        ),
        (
            lambda: reach(
                _connect.give_population, 5, a={"n": 1, "lacks": ("population", "x")}, b={}
            ),
            [{"n": 1, "population": 5}, {}],
        ),
        (lambda: _connect.set_victim(plain(victim=1), 5).get_params(deep=False), {"victim": 5}),
        (lambda: _connect.takes_victim(plain(part(n=1), part(victim=None))), True),
        (lambda: _connect.takes_victim(plain(part(n=1))), False),
        (lambda: _connect.takes_victim(plain(victim=None)), True),
        (lambda: _connect.has_own_victim(plain(part(n=1), part(victim=1))), True),
        (lambda: _connect.has_own_victim(plain(part(victim=None), part())), False),
        (lambda: open_pool(4, LogisticRegression()), (4, "models", 3, "LogisticRegression")),
        (lambda: open_pool(2, LogisticRegression())[0], 2),
        *(
            (
                lambda given=given: open_pool(given),
                (error, f"got {told}."),
            )
            for given, error, told in (
                (0, ValueError, 0),
                (3, ValueError, 3),
                (-2, ValueError, -2),
                (True, TypeError, "bool"),
                (4.0, TypeError, "float"),
                (None, TypeError, "NoneType"),
            )
        ),
        (lambda: open_pool(4)[1][-16:], "like the victim."),
        (lambda: open_pool(UNFITTED) is UNFITTED, True),
        (lambda: open_pool(FrozenEstimator(FITTED)).estimator is FITTED, True),
        (lambda: with_own(), ("proba", ["queries"], {"auto"}, False, "no")),
        (lambda: with_own(victim=None, shadows=None)[2:4], ({"auto"}, False)),
        (
            lambda: with_own(shadows=NS(keeps={"outputs"}))[:4],
            ("proba", ["queries"], {"outputs"}, True),
        ),
        (lambda: with_own(shadows=4)[2:4], (None, True)),
        (lambda: with_own(victim=FEW)[0], "label"),
        (lambda: align([0, 1, 1]), "as it was"),
        (lambda: align([1, 1]), "as it was"),
        (
            lambda: open_pool(4, AlignedModel(LogisticRegression(), [0, 1], "proba"))[3],
            "LogisticRegression",
        ),
        (lambda: open_pool(4, FEW)[1][-16:], "like the victim."),
        (lambda: fit_pools(_connect.get_pool, NS(shadows=FITTED), TABLE) is FITTED, True),
        (lambda: fit_pools(_connect.get_pool, NS(shadows=UNFITTED), TABLE), ("fitted", 64, 2)),
        (lambda: fit_own_pools(shadows=UNFITTED, n=1), {"shadows": ("fitted", 64, 2), "n": 1}),
        (lambda: fit_own_pools(shadows=FITTED)["shadows"] is FITTED, True),
        (lambda: _connect.parts_of(FrozenEstimator(part())), []),
        (
            lambda: tell_needs(FrozenEstimator(needing("a", known=BOTH, lacks=("b",)))),
            (["a"], NOBODY, ()),
        ),
        (lambda: tell_needs(FrozenEstimator(LogisticRegression())), None),
        (lambda: tell_needs(plain(LogisticRegression())), None),
        (
            lambda: tell_needs(plain(needing("a", "b"), LogisticRegression(), needing("b", "c"))),
            (["b"], BOTH, ()),
        ),
        (
            lambda: tell_needs(Pipeline([("a", needing("a", known=NON_MEMBERS, lacks=("b",)))])),
            (["a"], NON_MEMBERS, ("b",)),
        ),
        *(
            (lambda child=child: _connect._learns(Pipeline([("a", child)]), [child]), answer)
            for child, answer in (
                (OfKind("classifier"), True),
                (OfKind("regressor"), True),
                (OfKind(None), False),
                (OfKind(None, required=True), True),
            )
        ),
        (lambda: why_not(needing("proba"), needing("proba", "label")), None),
        (lambda: why_not(needing("proba"), needing("label")), "it reads"),
        (lambda: why_not(needing("label", victim=FEW), needing("proba", victim=None)), None),
        (lambda: why_not(needing("proba", victim=FEW)), "it reads"),
        (lambda: align([0, 2]), [0, 1, 2]),
        (lambda: align([0, 2], access={"queries"}), [0, 1, 2]),
        (lambda: align([0, 2], access={"file"}), "as it was"),
        (lambda: align([0, 2], LinearRegression()), "as it was"),
        (lambda: align([0, 2], LogisticRegression()), "as it was"),
        (lambda: align([[0, 2]]), "as it was"),
        (lambda: align([0, 2], OF_TWO), "as it was"),
        (lambda: _connect.is_open(part(a=None), "a"), True),
        (lambda: _connect.is_open(part(a=1), "a"), False),
        (lambda: _connect.is_open(part(), "a"), False),
        (lambda: sorted(_connect.list_keeps(part(), TABLE)), ["k", "u"]),
        (lambda: sorted(_connect.list_keeps(part(population=TABLE), TABLE)), ["k", "u"]),
        (lambda: sorted(_connect.list_keeps(part(population=TABLE[:1]), TABLE)), ["k", "u"]),
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
