"""Numbers of an audit and of its checks from small arrays, with answers by hand."""

from contextlib import nullcontext
from dataclasses import make_dataclass
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy import sparse, stats
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from skmia import Outputs, Records
from skmia.report import (
    _examine,
    _gaps,
    _measure,
    _people,
    _report,
    _rows_used,
    _shared_rows,
    _sides,
    _surrogate,
    _validation_rows,
)
from skmia.report._sides import BOTH, HELD_OUT, MEMBERS, SidesReader, TrainedAnswers
from skmia.report.agreement import _answered_rows, _clones, _file_questions, _skill
from skmia.report.checks import _duplicates, _formats, _permutation, _record_rates, _results, _units
from skmia.report.checks._base import Check

# -- rows on both sides


def exceeds(copies, inside, n, sizes=(1, 1), more=()):
    """Judge so many rows with a number of copies, so many of which are inside, and others."""
    rows = [(inside, copies - inside)] * n + [*more]
    return bool(_shared_rows._exceeds_chance(*np.transpose(rows).astype(float), sizes))


def find_shared(inside, outside):
    prints = array([*inside, *outside])
    found = _shared_rows.find_shared_rows(prints, np.arange(len(prints)) < len(inside))
    return found and tuple(found)


def describe_shared(*counts, **names):
    return _shared_rows.SharedRows(*counts).describe(**names)


SHARED = [
    (
        lambda: describe_shared(2000, 2000, 2000, 2000),
        "the training data and the held-out data hold the same 2,000 rows, so none of them is held "
        "out",
    ),
    (
        lambda: describe_shared(2, 1, 2, 1, train="A", held_out="B")[:27],
        "A and B hold the same rows,",
    ),
    (
        lambda: describe_shared(2000, 1500, 1700, 1500),
        "all 1,500 rows of the held-out data are also among the 2,000 of the training data",
    ),
    (
        lambda: describe_shared(1500, 2000, 1500, 1700),
        "all 1,500 rows of the training data are also among the 2,000 of the held-out data",
    ),
    (
        lambda: describe_shared(1500, 2000, 1100, 1200),
        "1,200 of the 2,000 rows of the held-out data are also among the 1,500 of the training "
        "data",
    ),
    # Pairs across the sides exceed their mean by 1/2, 2/3 and 1, and their variance is 1/4, 8/9
    # and 3/2; six standard deviations of n rows are exceeded by more than 36, 72 and 54 of them.
    (lambda: [exceeds(2, 1, n) for n in (36, 37)], [False, True]),
    (lambda: [exceeds(3, 2, n, (2, 1)) for n in (71, 73)], [False, True]),
    (lambda: [exceeds(4, 2, n, (5, 5)) for n in (54, 55)], [False, True]),
    # Nine rows with copies are too few, and more than twenty copies do not count.
    (lambda: [exceeds(2, 1, n, (1, 99)) for n in (9, 10)], [False, True]),
    (lambda: exceeds(2, 1, 37, more=[(1, 0)] * 9), True),
    (lambda: exceeds(2, 1, 37, more=[(21, 0)]), True),
    (lambda: exceeds(2, 1, 37, more=[(20, 0)]), False),
    (lambda: exceeds(2, 1, 9, (1, 99), more=[(1, 0), (0, 1)]), False),
    # More than half of the smaller side; the same twenty rows, or pairs beyond chance.
    (lambda: find_shared(range(20), range(20)), (20, 20, 20, 20)),
    (lambda: find_shared(range(19), range(19)), None),
    (lambda: find_shared(range(40), range(20)), None),
    (lambda: find_shared(range(100), range(80)), (100, 80, 80, 80)),
    (lambda: find_shared(range(80), range(30, 130)), (80, 100, 50, 50)),
    (lambda: find_shared(range(80), range(40, 140)), None),
    (lambda: find_shared(range(100), [*range(60, 140)]), None),
    (lambda: find_shared([], range(40)), None),
]

# -- intervals


def widen(estimate, low, high, metric="auc"):
    row = {"metric": metric, "estimate": estimate, "low": low, "high": high, "n": 7}
    found = _measure.widen(row)
    assert found["estimate"] == estimate and found["n"] == 7
    return found["low"], found["high"]


ROOT = 2**0.5
WIDENED = [
    # On the log-odds scale, limits at -1 and 2, and around 1 at 0 and 3.
    (lambda: widen(0.5, expit(-1), expit(2)), (expit(-ROOT), expit(2 * ROOT))),
    (lambda: widen(expit(1), 0.5, expit(3), "tpr"), (expit(1 - ROOT), expit(1 + 2 * ROOT))),
    (
        lambda: widen(0.0, 2 * expit(-1) - 1, 2 * expit(2) - 1, "advantage"),
        (2 * expit(-ROOT) - 1, 2 * expit(2 * ROOT) - 1),
    ),
    (lambda: widen(0.0, 0.0, 0.19), (0.0, 1 - 0.81**2)),
    (lambda: widen(1.0, 0.9, 1.0), (0.81, 1.0)),
    (lambda: widen(-1.0, -1.0, -0.62, "advantage"), (-1.0, 1 - 2 * 0.81**2)),
    (lambda: widen(0.5, -0.1, 1.1), (0.0, 1.0)),
]

# -- which rows a model was trained on


def answers(*values, fits=()):
    return TrainedAnswers(array(values, dtype=float).reshape(-1, 1), array(fits, dtype=float))


def reader(pool=None, **case):
    usual = {"request": NS(outputs="outputs"), "membership": array([True, False, False])}
    return SidesReader(NS(**(usual | case)), pool)


def find_same(**trained):
    """Return whose answers are those of the victim, which are 0 and 0."""
    found = reader()
    found._own = answers(0.0, 0.0)
    return found._find_same({name: one and answers(*one) for name, one in trained.items()})


def read_sides(members="m", others="o", both="b", *, near=None, same=None, has_more=False):
    """Read what a model was trained on, given models of each side."""
    trained, found, asked = {MEMBERS: members, HELD_OUT: others, BOTH: both}, reader(), []

    def find(found):
        asked.append(found == trained)
        return same

    found._train, found._find_same = trained.get, find
    found._is_near = lambda one, most: one == near and most == 1e-9
    found._weigh = lambda found: "weighed" if found == trained else None
    return tuple(found.read(has_more)), asked


def weigh(members, others, gaps=0.5, pool="pool"):
    """Weigh how far both sides lie between models that have not seen them and that have."""
    found, seen = reader(pool), []
    trained = {MEMBERS: "m", HELD_OUT: "o", BOTH: "b"}

    def place(side, without, with_them, spread):
        seen.append((without, with_them, spread, side.tolist()))
        return others if len(seen) == 1 else members

    found._place = place
    with mock.patch.object(_sides, "measure_gaps", lambda case, pool: gaps and {"sd": gaps}):
        rows = found._weigh(trained)
    if seen:
        sides = [False, True, True], [True, False, False]
        assert seen == [("m", "b", 0.5, sides[0]), ("o", "b", 0.5, sides[1])]
    return rows


def place(own, low, high, spread):
    found = reader()
    found._own = answers(fits=own)
    side = array([True, True, False])
    return found._place(side, answers(fits=low), answers(fits=high), spread)


def obstacle(n=200_000, victim=None, own="own", has_recipe=False, given=None):
    """Return the first words of what stands in the way of models like the victim."""
    model = Ridge().fit([[0.0], [1.0]], [0, 1]) if victim is None else victim
    request = NS(outputs=0, has_own_recipe=has_recipe, victim=model if given is None else given)
    found = reader(victim=model, records=range(n), request=request)
    found._own = None if own is None else own
    return found.obstacle and found.obstacle[:34]


def train_last(model, seed=5):
    """Return what a model is trained on, and what it is a copy of."""
    records = Records(array([[0.0], [1.0], [2.0]]), array([0, 1, 1]))
    found = reader(victim=model, records=records, seeds={"checks": seed})
    with mock.patch.object(_sides, "fit_weighted", lambda *given: given) as _:
        copied, X, y, _, params = found._train_last_step(array([True, False, True]))
    assert X.ravel().tolist() == [0.0, 2.0] and y.tolist() == [0, 1] and params is None
    return copied is model, copied[0] is model[0]


FITTED = Ridge().fit([[0.0], [1.0]], [0, 1])
SIDES = [
    (lambda: find_same(members=(0, 0)), None),
    (lambda: find_same(members=(0, 0), both=None), None),
    (lambda: find_same(members=(0, 0), both=(1, 1)), "members"),
    (lambda: find_same(members=(1, 1), others=(9, 9), both=(0, 0)), "both"),
    (lambda: find_same(members=(0.0195, 0), both=(1, 0)), "members"),
    (lambda: find_same(members=(0.0199, 0), both=(0.99, 0)), None),
    (lambda: find_same(members=(0, 0), both=(2e-6, 2e-6)), "members"),
    (lambda: find_same(members=(0, 0), both=(1e-6, 0)), None),
    # Of models that have not seen 1, or have: a place of half between means of 0 and 4.
    (
        lambda: place([1, 3, 9], [0, 0, 9], [3, 5, 9], 0.25),
        (
            0.5,
            0.5 - 3.3 * np.hypot(1 / ROOT, 0.25 * ROOT) / 4,
            0.5 + 3.3 * np.hypot(1 / ROOT, 0.25 * ROOT) / 4,
        ),
    ),
    (lambda: place([1, 3, 9], [1, 1, 9], [2, 2, 9], 0.0)[0], 1.0),
    (lambda: place([1, 3, 9], [2, 2, 9], [2, 2, 9], 0.25), None),
    (lambda: place([1, 3, 9], [0, 3, 9], [2, 2, 9], 0.0)[0], 1.0),
    (lambda: weigh((0.1, 0.0, 0.2), (0.9, 0.6, 1.0)), HELD_OUT),
    (lambda: weigh((0.1, 0.0, 0.5), (0.9, 0.6, 1.0)), None),
    (lambda: weigh((0.1, 0.0, 0.2), (0.9, 0.5, 1.0)), None),
    (lambda: weigh((0.85, 0.6, 1.0), (0.9, 0.6, 1.0)), BOTH),
    (lambda: weigh((0.9, 0.6, 1.0), (0.85, 0.6, 1.0)), BOTH),
    (lambda: weigh((0.84, 0.6, 1.0), (0.9, 0.6, 1.0)), None),
    (lambda: weigh((0.9, 0.6, 1.0), (0.84, 0.6, 1.0)), None),
    (lambda: weigh((0.9, 0.5, 1.0), (0.9, 0.6, 1.0)), None),
    (lambda: weigh((0.9, 0.6, 1.0), (0.9, 0.5, 1.0)), None),
    (lambda: weigh((0.9, 0.6, 1.0), (0.9, 0.1, 1.0)), None),
    (lambda: weigh(None, (0.9, 0.6, 1.0)), None),
    (lambda: weigh((0.9, 0.6, 1.0), None), None),
    (lambda: weigh((0.9, 0.6, 1.0), (0.9, 0.6, 1.0), gaps=None), None),
    (lambda: weigh((0.9, 0.6, 1.0), (0.9, 0.6, 1.0), pool=None), None),
    # One model is enough if it is the same; three are compared with each other, and weighed.
    (lambda: read_sides(None), ((None, False, None), [])),
    (lambda: read_sides(near="m"), ((MEMBERS, True, None), [])),
    (lambda: read_sides(same=HELD_OUT), ((HELD_OUT, True, None), [True])),
    (lambda: read_sides(), (("weighed", False, None), [True])),
    (lambda: read_sides(has_more=True), ((None, False, None), [True])),
    (lambda: read_sides(others=None), ((None, False, None), [True])),
    (lambda: read_sides(both=None, same=MEMBERS), ((MEMBERS, True, None), [True])),
    (lambda: obstacle(), None),
    (lambda: obstacle(200_001), "It trains models on whole sides, o"),
    (lambda: obstacle(own=None), "Models like this one cannot be tra"),
    (lambda: obstacle(has_recipe=True), "Models like this one cannot be tra"),
    (lambda: obstacle(given=Ridge()), "Models like this one cannot be tra"),
    (
        lambda: obstacle(victim=NS(fit=1, predict=1), given=FITTED),
        "Models like this one cannot be tra",
    ),
    (lambda: _sides.name_fitted_step(Ridge()), None),
    (lambda: _sides.name_fitted_step(NS()), None),
    (lambda: _sides.name_fitted_step(make_pipeline(FrozenEstimator(FITTED), Ridge())), "Pipeline"),
    (
        lambda: _sides.name_fitted_step(NS(get_params=lambda deep: {"cv": "prefit"})),
        "SimpleNamespace",
    ),
    (lambda: train_last(make_pipeline(FrozenEstimator(FITTED), Ridge()))[0], False),
    (lambda: train_last(make_pipeline(LogisticRegression(), Ridge())), (False, False)),
]

# -- groups that are too small, and rates of records


def judge_rounds(guesses, membership, mask=(1, 1, 1, 0), people=None):
    rounds = NS(guesses=array(guesses), membership=array(membership))
    advantage, bound = _results._judge_rounds(rounds, array(mask, dtype=bool), people)
    return advantage, bound


def list_small(null=(), rounds=None, judged=(0.25, 0.001), results=(("sex", "f"), ("sex", "m"))):
    """List small groups of records, of which the first is in one group and the rest in another."""
    masks = {"f": [1, 0, 0, 0], "m": [0, 1, 1, 1]}
    records = Records(np.eye(4), np.arange(4), group_by=list("abcd"))
    case = NS(level=0.95, records=records, membership=array([1, 0, 1, 0]) > 0)
    case.subsets = [("overall", "all", 1)]
    case.subsets += [("sex", name, array(mask, dtype=bool)) for name, mask in masks.items()]
    parts = [("overall", "all"), *results, *results]
    results = pd.DataFrame(parts, columns=["scope", "group"])
    null = pd.DataFrame(null, columns=["scope", "group", "pvalue_least"])
    seen = []

    def judge(rounds, mask, people):
        seen.append((mask.tolist(), people.tolist()))
        return judged

    with mock.patch.object(_results, "_judge_rounds", judge):
        found = _results.list_small_groups(case, results, null, rounds)
    return [tuple(one) for one in found], seen


def repeated(alarms, n_out):
    return float(_record_rates._count_repeated(array(alarms), array(n_out)))


def flag(scores, is_out, rate):
    found = _record_rates.flag_by_model(array(scores), array(is_out, dtype=bool), rate)
    return found.astype(int).tolist()


def measure_alarms(level, n_models=6, n=40, same=True):
    """Return the rate of records of which the first two are mistaken by each model, or any."""
    alarms = np.zeros((n_models, n), dtype=bool)
    for k, row in enumerate(alarms):
        row[[0, 1] if same else [2 * k, 2 * k + 1]] = True
    is_out = np.ones_like(alarms)
    is_out[:, -1] = False
    rng = np.random.default_rng(0)
    return _record_rates.measure_repeated_alarms(alarms, is_out, level, rng)


MIXED = ("sex", "f", 0.025), ("sex", "m", 0.026)
RATES = [
    # One round: members are 1 and 2 of four, each side of the mean of 1/2 guessed or not.
    (lambda: judge_rounds([[1, 1, 0, 0]], [[1, 1, 0, 0]]), (1.0, np.exp(-2 * 1.5**2 / 3))),
    (lambda: judge_rounds([[1, 0, 0, 1]], [[1, 1, 0, 0]]), (0.5, np.exp(-2 * 0.5**2 / 3))),
    (lambda: judge_rounds([[0, 0, 1, 1]], [[1, 1, 0, 0]]), (-1.0, 1.0)),
    (lambda: judge_rounds([[1, 1, 0, 0]], [[1, 1, 1, 0]]), (None, 1.0)),
    (lambda: judge_rounds([[1, 1, 0, 0]], [[0, 0, 0, 1]]), (None, 1.0)),
    # A record without a side in a round counts neither there nor in the mean of its round.
    (
        lambda: judge_rounds([[1, 1, 0, 0], [1, 1, 0, 0]], [[1, 1, 0, 0], [-1, 1, 0, 1]]),
        (1.0, np.exp(-2 * (1.5 + 1 / 3 + 2 / 3) ** 2 / 5)),
    ),
    # Two records of one person count as one, whose two signs are added.
    (
        lambda: judge_rounds([[1, 1, 0, 0]], [[1, 1, 0, 0]], people=list("aabb")),
        (1.0, np.exp(-2 * 1.5**2 / (2**2 + 1))),
    ),
    (lambda: list_small(MIXED), ([("sex", "m", 3, None, False)], [])),
    (
        lambda: list_small(MIXED, NS(rows=array([3, 0, 1]))),
        (
            [("sex", "m", 3, 0.25, True)],
            [([True, False, True], ["d", "a", "b"])],
        ),
    ),
    # The p-values of two groups are doubled.
    (
        lambda: [one[-1] for one in list_small((), NS(rows=slice(None)), (0.25, 0.0125))[0]],
        [True, True],
    ),
    (
        lambda: [one[-1] for one in list_small((), NS(rows=slice(None)), (0.25, 0.0126))[0]],
        [False, False],
    ),
    (lambda: list_small(MIXED, results=[("sex", "f")]), ([], [])),
    # Three alarms of ten models without a record: 6 pairs of 90 + 2, over the rate 4 of 12.
    (lambda: repeated([3, 1], [10, 2]), (6 / 92) / (4 / 12)),
    (lambda: repeated([0, 0], [10, 2]), 0.0),
    (lambda: repeated([0, 0], [0, 0]), 0.0),
    (lambda: repeated([1, 0], [1, 1]), 0.0),
    # The scores of 1, 2, 3 and 4 are those of others: one of four may be above.
    (lambda: flag([[1, 2, 3, 4, 5, 3]], [[1, 1, 1, 1, 0, 0]], 0.25), [[0, 0, 0, 1, 1, 0]]),
    (lambda: flag([[1, 2, 3, 4, 5, 3]], [[1, 1, 1, 1, 0, 0]], 0.24), [[0] * 6]),
    (lambda: flag([[4, 2, 3, 1]], [[1, 1, 1, 1]], 0.5), [[1, 0, 1, 0]]),
    (
        lambda: flag([[1.0, 2.0], [2.0, 1.0]], [[1, 1], [1, 1]], 0.5),
        [[0, 1], [1, 0]],
    ),
    (lambda: flag(np.arange(10.0)[None], np.ones((1, 10)), 0.3)[0], [0] * 7 + [1] * 3),
    # Two records of 39 by each of six models: surely again, and six pairs of models out of six.
    (lambda: measure_alarms(0.95).estimate, 1.0),
    (lambda: measure_alarms(0.95, same=False), None),
    (lambda: measure_alarms(0.5)[1:] != measure_alarms(0.95)[1:], True),
    (lambda: measure_alarms(0.9999), None),
]

# -- copies


def measure_part(caught, mistaken, metric="auc", max_fpr=nan):
    return _duplicates._measure_part(array(caught), array(mistaken), metric, max_fpr)


def compare_parts(scores, parts, judged=None, metric="auc", max_fpr=nan):
    """Compare parts of six records, the first three of which are members."""
    found = object.__new__(_duplicates.ComparedParts)
    found._membership, found._parts = np.arange(6) < 3, [array(one, dtype=bool) for one in parts]
    judged = np.ones(6, dtype=bool) if judged is None else array(judged, dtype=bool)
    return found.compare(array(scores, dtype=float), judged, metric, max_fpr)


def draw_parts():
    rest, membership = array([1, 1, 0, 1, 0, 0, 0]) > 0, np.arange(7) < 3
    drawn = _duplicates.ComparedParts(rest, membership, 0)._parts
    sizes = {(int(one[:3].sum()), int(one[3:].sum())) for one in drawn}
    return len(drawn), drawn[0].tolist() == rest.tolist(), sizes, len({*map(bytes, drawn)}) > 9


def judge_rest(n_alone=100, n_copied=0, pvalue=0.5, adjusted=(0.5,), reached=(), **run):
    """Judge records of which the first hundred and later ones are members and others in turn."""
    n = 2 * (n_alone + n_copied)
    X = np.r_[np.arange(2.0 * n_alone), np.repeat(np.arange(n_copied), 2) + 0.5].reshape(-1, 1)
    membership = np.arange(n) % 2 == 0
    frame = pd.DataFrame({"pvalue_adjusted": adjusted, "attack": ["a", "file"][: len(adjusted)]})
    frame["metric"], frame["max_fpr"] = "auc", nan
    seen = {}

    def test(members, scores, **given):
        seen.update(given, members=members, scores=scores)
        return NS(pvalue=pvalue, n_permutations=999, frame=frame)

    class Parts:
        def __init__(self, rest, membership, seed):
            assert (int(rest.sum()), seed) == (2 * n_alone, 5)
            self.reached = iter(reached)

        def compare(self, scores, judged, metric, max_fpr):
            assert len(scores) == len(judged) == n and metric == "auc"
            return next(self.reached)

    case = NS(records=Records(X, np.zeros(n)), membership=membership, fprs=[0.1, 0.09])
    case.level, case.seeds = 0.95, {"checks": 5}
    ones = np.ones(n, dtype=bool)
    run = NS(scores={"a": np.arange(n)}, tested={"a": ones}, file_scores=run.get("file"))
    parts = {"permutation_test": test, "ComparedParts": Parts}
    with mock.patch.multiple(_duplicates, **parts):
        hides, why = _duplicates._judge_rest(case, run)
    if seen:
        assert seen["random_state"] == 5 and len(seen["members"]) == 2 * n_alone
        assert seen["members"].sum() == n_alone and seen["max_fprs"] == [0.1][: n_alone >= 100]
        assert len(seen["judged"]["a"]) == len(seen["scores"]["a"]) == 2 * n_alone
    return hides, why.partition("other record has, and ")[2], len(seen.get("scores", ()))


def as_finite(X):
    X, missing = _duplicates._as_finite(sparse.csr_array(array(X)))
    return X.toarray(), missing


FIND = "the attacks find members among them "
COPIES = [
    # Two members at the highest score, one with two others, and another lowest.
    (lambda: measure_part([2, 1, 0], [0, 2, 2]), (2 * 4 + 2 + 0.5 * 2) / 3 / 4),
    (lambda: measure_part([0, 0], [1, 1]), 0.0),
    (lambda: measure_part([1, 1], [0, 0]), 0.0),
    (lambda: measure_part([2, 1, 1], [0, 1, 3], "tpr", 0.25), 0.75),
    (lambda: measure_part([2, 1, 1], [0, 1, 3], "tpr", 0.2), 0.5),
    (lambda: measure_part([2, 1, 1], [0, 1, 3], "tpr", 1.0), 1.0),
    # The AUC of the first part is 3/4; of the others 1 and 1/2.
    (
        lambda: compare_parts(
            [3, 1, 4, 2, 0, 1],
            [[1, 1, 0, 1, 1, 0], [1, 0, 1, 1, 1, 0], [0, 1, 0, 1, 1, 0]],
        ),
        2 / 3,
    ),
    (
        lambda: compare_parts(
            [3, 1, 4, 2, 0, 1],
            [[1, 1, 0, 1, 1, 0], [0, 1, 1, 1, 1, 0], [0, 1, 0, 1, 1, 0]],
            judged=[1, 1, 0, 1, 1, 1],
        ),
        1 / 3,
    ),
    (lambda: draw_parts(), (400, True, {(2, 1)}, True)),
    # A hundred records of each side without a copy are enough, or a quarter of a smaller side.
    (lambda: judge_rest()[::2], (False, 1)),
    (lambda: judge_rest(n_alone=100, n_copied=900)[0], False),
    (lambda: judge_rest(n_alone=99, n_copied=900)[2], 0),
    (lambda: judge_rest(n_alone=10, n_copied=30)[2], 1),
    (lambda: judge_rest(n_alone=10, n_copied=31)[::2], (True, 0)),
    (lambda: judge_rest(file=np.arange(200))[2], 2),
    (
        lambda: judge_rest(pvalue=0.0251),
        (False, "the attacks find no leakage among them (p = 0.05).", 1),
    ),
    (
        lambda: judge_rest(pvalue=0.025, adjusted=[0.025], reached=[0.1]),
        (True, f"{FIND}(p = 0.05).", 1),
    ),
    (
        lambda: judge_rest(pvalue=0.001, adjusted=[0.025], reached=[0.1025])[1],
        f"{FIND}(p \u2264 0.002), as many as among other records: p = 0.1 for more.",
    ),
    (
        lambda: judge_rest(pvalue=0.0011, adjusted=[0.025], reached=[0.11])[1][:50],
        f"{FIND}(p = 0.0022), "[:50],
    ),
    (lambda: judge_rest(pvalue=0.025, adjusted=[0.025], reached=[0.101])[0], False),
    (
        lambda: judge_rest(
            pvalue=0.02, adjusted=[0.02, 0.02], reached=[0.5, 0.05], file=np.arange(200)
        )[0],
        True,
    ),
    (
        lambda: judge_rest(
            pvalue=0.02, adjusted=[0.02, 0.026], reached=[0.5, 0.05], file=np.arange(200)
        )[0],
        False,
    ),
    (
        lambda: as_finite([[1.0, nan], [-inf, 2.0]]),
        ([[1.0, 0.0], [0.0, 2.0]], [False, True, True, False]),
    ),
]


# -- how well answers fit numbers, and columns a model


RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=60)
GUESSES = TRUTH + RNG.normal(size=60)
UNITS = np.r_[np.arange(50), np.arange(10)]


def measure_numbers(values=GUESSES, truth=TRUTH, units=UNITS):
    values, truth = array(values, dtype=float), array(truth, dtype=float)
    found = _skill._measure_numbers(values, truth, len(np.unique(units)), array(units))
    return tuple(found.rank), tuple(found.decision), found.plain


def measure_rank(truth, values=None, units=None, floor=0.01, most=50):
    truth = array(truth, dtype=int)
    first = array([0.9, 0.4, 0.5, 0.1])[: len(truth)]
    values = np.column_stack([first, 1 - first]) if values is None else values
    units = np.arange(len(truth)) if units is None else array(units)
    with mock.patch.object(_skill, "_MOST_CLASSES", most):
        return tuple(_skill._measure_rank(values, truth, units, floor))


OF_THREE = array([[1.0] * 3 + [0.0] * 3, [0.5] * 6, [0.0, 0.1, 0.2, 0.3, 0.4, -0.5]]).T


def measure_kappa(predicted, truth, units=None, floor=0.01):
    predicted, truth = array(predicted, dtype=int), array(truth, dtype=int)
    units = np.arange(len(truth)) if units is None else array(units)
    return tuple(_skill._measure_kappa(predicted, predicted == truth, truth, units, floor))


def measure_classes(predicted=(0, 0, 1, 1)):
    """Measure four answers to two classes, of units that are numbered in any way."""
    scores = _skill.AnswerScores(np.eye(2)[list(predicted)], array(predicted))
    found = _skill.measure_skill(scores, array([0, 0, 1, 1]), array([9, 3, 5, 7]))
    return tuple(found.rank), tuple(found.decision), found.plain


def is_far_below(one, other):
    pairs = ([_skill.SkillMeasure(value, 0.0) for value in pair] for pair in (one, other))
    return _skill.is_far_below(*(_skill.AnswerSkill(*pair, 0.5) for pair in pairs))


def compute_numbers():
    """Compute the same by a sum for each unit, with scipy's correlation of ranks."""
    rank = stats.spearmanr(GUESSES, TRUTH)[0]
    off, away = np.abs(TRUTH - GUESSES), np.abs(TRUTH - np.median(TRUTH))
    ratio = off.sum() / away.sum()
    each = pd.Series((off - ratio * away) / away.sum()).groupby(UNITS).sum()
    error = 1.06 * (1 - rank**2) / np.sqrt(47)
    return (rank, error), (1 - ratio, np.sqrt((each**2).sum())), off.mean()


def score(outputs, classes, as_labels=False):
    found = _skill.make_scores(outputs, classes, as_labels)
    return found.values.tolist(), found.predicted.tolist()


def are_outside(thresholds, values=(0.0, 8.0) * 5):
    return bool(
        _file_questions._are_outside(NS(thresholds=array(thresholds), values=array(values)))
    )


def is_elsewhere(center, spread, n=10):
    one = NS(values=np.arange(float(n)), center=center, spread=spread)
    return bool(_file_questions._is_elsewhere(one))


FITS = [
    (measure_numbers, compute_numbers()),
    # The least error is that of two of all units, here of six.
    (
        lambda: measure_numbers([1, 2, 3, 4, 5, 7], [1, 2, 3, 4, 5, 6], range(6)),
        ((1.0, 1 / 3), (1 - 1 / 9, 1 / 3), 1 / 6),
    ),
    (
        lambda: measure_numbers([1, 2, 3, 4, 5], [3, 3, 3, 3, 3], range(5)),
        ((0.0, 1.06 / ROOT), (0.0, 1.0), 1.2),
    ),
    (lambda: measure_numbers([1, 2, 3, 4], [1, 2, 3, 4], range(4)), ((0.0, 1.0), (0.0, 1.0), nan)),
    (
        lambda: measure_numbers([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [0, 1, 2, 3, 3]),
        ((0.0, 1.0), (0.0, 1.0), nan),
    ),
    (lambda: _skill.correlate_ranks([1, 3], [2, 9]), 1.0),
    (lambda: _skill.correlate_ranks([1], [2]), 0.0),
    (lambda: _skill.correlate_ranks([1, 1], [2, 9]), 0.0),
    (lambda: _skill.correlate_ranks([1, 2], [2, 2]), 0.0),
    # Each class against the others: of two members and two others, three of four pairs are right.
    (lambda: measure_rank([0, 0, 1, 1]), (0.5, 0.5)),
    (lambda: measure_rank([0, 0, 1, 1], units=[0, 0, 1, 2]), (0.5, 0.125**0.5)),
    (lambda: measure_rank([0, 0, 1, 1], floor=0.6), (0.5, 0.6)),
    # Three, two and one records are found in all, half and none of 9, 8 and 5 pairs.
    (lambda: measure_rank([0, 0, 0, 1, 1, 2], OF_THREE), (2 * 13 / 22 - 1, 0.01)),
    # The most frequent classes count: the first is always found, and the third never.
    (lambda: measure_rank([2, 2, 2, 1, 1, 0], OF_THREE[:, ::-1], most=1), (1.0, 0.01)),
    (lambda: measure_rank([0, 1, 1, 1, 2, 2], OF_THREE[::-1, ::-1], most=1)[0], 0.0),
    (lambda: measure_rank([1, 1, 1]), (0.0, 1.0)),
    (lambda: measure_rank([]), (0.0, 1.0)),
    # Of four records three are right, of which half are expected by chance.
    (lambda: measure_kappa([0, 1, 1, 1], [0, 0, 1, 1]), (0.5, 0.375)),
    (lambda: measure_kappa([0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 1, 2]), (0.5, 0.0234375**0.5)),
    (lambda: measure_kappa([0, 1, 1, 1], [0, 0, 1, 1], floor=0.4), (0.5, 0.4)),
    (lambda: measure_kappa([0, 0, 1, 1], [0, 0, 1, 1]), (1.0, 0.01)),
    (lambda: measure_kappa([1, 1, 0, 0], [0, 0, 1, 1]), (-1.0, 0.01)),
    (lambda: measure_kappa([2, 2], [0, 1]), (0.0, 0.01)),
    (lambda: measure_kappa([0, 1], [2, 2]), (0.0, 0.01)),
    (lambda: measure_kappa([1, 1], [1, 1]), (0.0, 1.0)),
    (lambda: measure_kappa([], []), (0.0, 1.0)),
    (measure_classes, ((1.0, 0.5), (1.0, 0.5), 1.0)),
    (lambda: measure_classes([1, 1, 0, 0])[1:], ((-1.0, 0.5), 0.0)),
    # Both numbers are below half of the others, and the rank not above a tenth.
    (lambda: is_far_below((0.1, 0.14), (0.3, 0.3)), True),
    (lambda: is_far_below((0.1, 0.15), (0.3, 0.3)), False),
    (lambda: is_far_below((0.1, 0.0), (0.2, 0.3)), False),
    (lambda: is_far_below((0.11, 0.0), (0.3, 0.3)), False),
    (lambda: _skill.AnswerScores(array([[0.5, 0.1], [0.4, 0.9]]), 1).find_spread(), [0.1, 0.9]),
    (lambda: _skill.AnswerScores(array([3.0, 5.0])).find_spread(), [3.0, 5.0]),
    (lambda: _skill.AnswerScores(array([[1.0, 2.0]] * 2)).are_constant, True),
    (lambda: _skill.AnswerScores(array([[1.0, 2.0], [1.0, 3.0]])).are_constant, False),
    (lambda: tuple(_skill.AnswerScores(array([3.0])).make_empty()), ([0.0], None)),
    (
        lambda: tuple(_skill.AnswerScores(array([[3.0, 4.0]]), array([1])).make_empty()),
        ([[0.0, 0.0]], [0]),
    ),
    # Answers in the order of other classes; those of unknown ones count for nothing.
    (
        lambda: score(Outputs(array([[0.25, 0.75], [0.5, 0.5]]), ["b", "c"]), ["a", "c", "b"]),
        ([[0.0, 0.75, 0.25], [0.0, 0.5, 0.5]], [1, 1]),
    ),
    (
        lambda: score(Outputs(array([[0.25, 0.75], [1.0, 0.0]]), ["b", "x"]), ["a", "b"]),
        ([[0.0, 0.25], [0.0, 1.0]], [1, 1]),
    ),
    (
        lambda: score(Outputs(array([[0.25, 0.75], [0.75, 0.25]]), ["b", "c"]), ["c", "b"], True),
        ([[1.0, 0.0], [0.0, 1.0]], [0, 1]),
    ),
    (
        lambda: score(Outputs(array(["c", "x"]), ["c", "x"], "label"), ["b", "c"]),
        ([[0.0, 1.0], [1.0, 0.0]], [1, 0]),
    ),
    (
        lambda: score(
            Outputs(array([[-2.0, -1.0, 3.0]]), ["a", "b", "c"], "decision"), ["c", "d", "a", "b"]
        ),
        ([[3.0, -3.0, -2.0, -1.0]], [0]),
    ),
    # Half of the thresholds may lie beyond the range of 8 and a quarter of it.
    (lambda: are_outside([-3.0, -3.0, 1.0, 2.0, 11.0]), True),
    (lambda: are_outside([-3.0, 1.0, 1.0, 2.0, 11.0]), False),
    (lambda: are_outside([-3.0, 1.0, 1.0, 2.0, 11.0, 11.0]), False),
    (lambda: are_outside([-2.0, -2.0, 10.0, 10.0, 10.0]), False),
    (lambda: are_outside([-2.1, -2.1, 1.0, 1.0, 10.1]), True),
    (lambda: are_outside([-9.0] * 4), False),
    (lambda: are_outside([-9.0] * 5, [0.0, 8.0, 1.0] * 3), False),
    (lambda: are_outside([1.0000005] * 5, [1.0] * 10), False),
    (lambda: are_outside([1.000002] * 5, [1.0] * 10), True),
    (lambda: are_outside([-1.0000005] * 5, [-1.0] * 10), False),
    # Ten values with quartiles of 2.25, 4.5 and 6.75.
    (lambda: [is_elsewhere(one, 1.0) for one in (1.5, 1.4, 7.5, 7.6)], [False, True, False, True]),
    (lambda: [is_elsewhere(4.5, one) for one in (0.45, 0.44)], [False, True]),
    (lambda: is_elsewhere(-9.0, 0.1, n=9), False),
]

# -- permutations


def count_top(scores, rates, *, turned=None, labels=None, most_kept=100, **parts):
    """Return rates of true positives of labelings, less those that are found one by one."""
    n = len(scores)
    labels = RNG.random((5, n)) < 0.4 if labels is None else labels
    columns = RNG.permutation(n)
    load = lambda: (scores, (columns, turned))  # noqa: E731
    sides = labels[:, columns] if turned is None else labels[:, columns] != turned
    with mock.patch.multiple(_permutation, **parts, _MOST_KEPT=most_kept):
        found = _permutation.TopCounter(load, rates).compute_tprs(labels, sides.sum(axis=1))
    wanted = np.zeros_like(found)
    for row, inside in zip(wanted, sides, strict=True):
        for j, rate in enumerate(rates):
            for one in scores:
                if (scores[~inside] >= one).sum() <= rate * (~inside).sum() + 1e-9:
                    row[j] = max(row[j], (scores[inside] >= one).sum() / max(inside.sum(), 1))
    return np.abs(found - wanted).max() < 1e-12


def draw_exchanges(n):
    with mock.patch.multiple(_units, _N_BUNDLES=40, _N_TOGETHER=10):
        blocks = [*_units._draw_exchanges(n, np.random.default_rng(0))]
    bits = np.vstack(blocks)
    is_mixed = bool(0.3 * 40 * n <= bits[1:, :-1].sum() <= 0.7 * 40 * n)
    return [len(one) for one in blocks], bits.dtype.kind, is_mixed, int(bits[:, -1].sum())


def compute_tails(*numbers, mean=0.5, variance=1 / 12, both=True):
    steps = np.full(len(numbers), 0.05, dtype=np.float32)
    return tuple(_permutation.compute_tails(array(numbers), steps, mean, variance, both))


def sum_columns(turned=None, n_columns=5):
    """Return the sums of three numbers, of which the first and last are in one column."""
    columns = array([2, 0, 2]) if n_columns > 2 else array([1, 0, 1])
    turned = None if turned is None else array(turned)
    row = _permutation._sum_columns(array([1.0, 2.0, 3.0]), columns, turned, n_columns)
    return row.toarray()[0]


def list_permuted(*sizes, judged=None, scope="sex"):
    """List the parts of 20 members and 20 others, of which groups hold so many of each."""
    masks = [np.r_[np.arange(20) < one, np.arange(20) < other] for one, other in sizes]
    subsets = [(scope, f"g{k}", mask) for k, mask in enumerate(masks)]
    judged = judged and {name: np.arange(40) >= first for name, first in judged.items()}
    given = np.repeat([1, 0], 20), ["a", "b"], [0.5, 0.9], subsets, judged
    found = _permutation._list_permuted_parts(*given)
    names = [(one.attack, one.group, one.n_records, one.rates) for one in found]
    return names, [found[0].rows is one.rows for one in found]


def describe_null(*numbers):
    return _permutation._describe_null(array(numbers)).T


NOBODY = np.zeros((2, 300), dtype=bool)
HUNDREDTHS = np.arange(101) / 100
BOTH_RATES = [0.5, 0.9]
TIED = RNG.integers(6, size=60).astype(float)
PERMUTED = [
    # Of a uniform law the tails are the numbers, half a step nearer to the middle.
    (
        lambda: compute_tails(0.3, 0.9, nan, 0.0, 1.0),
        ([0.75, 0.15, 1.0, 1.0, 0.05], [0.35, 0.95, 1.0, 0.05, 1.0], 0.05),
    ),
    (lambda: compute_tails(0.3, 0.9, both=False)[1], [1.0, 1.0]),
    (lambda: compute_tails(0.3, 0.9, variance=0), ([1.0, 1.0], [1.0, 1.0], 1.0)),
    (
        lambda: compute_tails(0.3, mean=0.25, variance=0.25 * 0.75 / 4),
        (
            [stats.beta.sf(0.25, 0.75, 2.25)],
            [stats.beta.cdf(0.35, 0.75, 2.25)],
            stats.beta.sf(0.95, 0.75, 2.25),
        ),
    ),
    (sum_columns, [2.0, 0.0, 4.0, 0.0, 0.0]),
    (lambda: sum_columns([True, False, False]), [2.0, 0.0, 2.0, 0.0, 0.0]),
    (lambda: sum_columns(n_columns=3), [2.0, 0.0, 4.0]),
    (lambda: sum_columns(n_columns=2), [2.0, 4.0]),
    (lambda: sum_columns([False, True, True], n_columns=2), [-2.0, -2.0]),
    # Groups of two of each side are tested, at rates that allow ten of their others.
    (
        lambda: list_permuted((2, 20), (20, 19), (20, 11)),
        (
            [
                *(("a", "all", 40, BOTH_RATES), ("b", "all", 40, BOTH_RATES)),
                *(("a", "g0", 22, BOTH_RATES), ("b", "g0", 22, BOTH_RATES)),
                *(("a", "g1", 39, [0.9]), ("b", "g1", 39, [0.9])),
                *(("a", "g2", 31, []), ("b", "g2", 31, [])),
            ],
            [True, True] + [False] * 6,
        ),
    ),
    (lambda: len(list_permuted((1, 20), (20, 1))[0]), 2),
    (lambda: len(list_permuted((20, 20), scope="overall")[0]), 2),
    (
        lambda: list_permuted(judged={"a": 30, "b": 30}),
        ([("a", "all", 10, BOTH_RATES), ("b", "all", 10, BOTH_RATES)], [True, True]),
    ),
    (
        lambda: list_permuted((20, 2), judged={"a": 0, "b": 19})[0][1:],
        [("b", "all", 21, BOTH_RATES), ("a", "g0", 22, [])],
    ),
    # Of the truth and 101 permutations, which it is among.
    (
        lambda: describe_null([0.5, *HUNDREDTHS], [2.0, *HUNDREDTHS]),
        [
            [0.5, 0.5, np.sqrt(0.0858499999999), 0.025, 0.975, 52 / 102],
            [2.0, 0.5, np.sqrt(0.0858499999999), 0.025, 0.975, 1 / 102],
        ],
    ),
    (lambda: describe_null([0.5, 0.25]), [[0.5, 0.25, 0.0, 0.25, 0.25, 0.5]]),
    (
        lambda: _permutation._count_reached(array([0.5, 0.1, 0.3, 0.1]), [0.1, 0.2, 0.05, 0.5]),
        [0.5, 0.5, 0.0, 1.0],
    ),
    (lambda: count_top(TIED, [0.1, 0.3, 1.0]), True),
    (lambda: count_top(TIED, [0.3, 0.05], turned=RNG.random(60) < 0.5), True),
    (lambda: count_top(RNG.normal(size=300), [0.01, 0.02, 0.4], most_kept=4), True),
    (lambda: count_top(RNG.normal(size=300), [0.2], _MOST_COUNTS=150), True),
    (lambda: count_top(TIED, [0.0, 0.3]), True),
    # Members take the first two hundred places, of which at first only a part is counted.
    (
        lambda: count_top(-np.arange(300.0), [0.05], turned=np.arange(300) < 200, labels=NOBODY),
        True,
    ),
    (lambda: count_top(-np.ones(60), [0.3, 1.0]), True),
    (lambda: count_top(TIED, [0.3], labels=np.zeros((2, 60), dtype=bool)), True),
    (lambda: count_top(TIED, [0.3], labels=np.ones((2, 60), dtype=bool)), True),
    (lambda: draw_exchanges(25), ([1, 10, 10, 5], "b", True, 0)),
    (lambda: draw_exchanges(0)[0], [1]),
]


# -- equal records, people who are exposed, and how values are written


def measure_pairs(membership, rows=(0, 0, 0, 1, 1, 2), persons=(0, 1, 2, 3, 4, 5)):
    pairs = _units._EqualPairs(array(rows), array(persons))
    return pairs.every, pairs.measure(array(membership, dtype=bool))


def make_units(membership, group_by=None):
    found = _units.make_units(array(membership, dtype=bool), group_by and array(list(group_by)))
    return tuple(found)


def iter_labelings(n, blocks, is_member, together=2):
    """Return how many permutations come at a time, the members of each block, and who moves."""
    units = NS(is_member=array(is_member, dtype=bool), blocks=array(blocks))
    with mock.patch.object(_units, "_BLOCK_ELEMENTS", together * len(blocks) + 1):
        found = [*_units._iter_labelings(units, n, np.random.default_rng(0))]
    (first,), labels = found[0], np.vstack(found[1:])
    assert (first == units.is_member).all()
    members = {tuple(np.bincount(blocks, label).tolist()) for label in labels}
    return [len(one) for one in found], members, np.ptp(labels.astype(int), axis=0)


def order_units(keys, places, is_member, blocks=None):
    n_mixed = 0 if blocks is None else max(blocks)
    blocks = np.zeros(len(is_member), dtype=int) if blocks is None else array(blocks)
    units = _units.MembershipUnits(array(places), array(is_member) > 0, blocks, n_mixed)
    return tuple(_units.order_units(units, [array(key, dtype=float) for key in keys]))


def find_most(turned=None):
    """Return the largest numbers of three permutations, each of which is measured by its places."""
    blocks = iter([array([[9, 9]]) > 0, array([[1, 0], [0, 1]]) > 0, array([[0, 0]]) > 0])
    turned = None if turned is None else array(turned) > 0
    seen, labelings = [], NS(blocks=blocks, columns=array([1, 0, 1]), turned=turned)

    def draw(units, n, rng):
        assert (units, n) == ("units", _units._N_PERMUTATIONS)
        return labelings

    def measure(membership):
        seen.append(membership.astype(int).tolist())
        return array([membership[0], -1.0 * membership.sum()])

    with mock.patch.object(_units, "draw_labelings", draw):
        return _units._find_most(NS(measure=measure), "units", 0).tolist(), seen


def choose_columns(n_columns, most, n_rows=10, most_values=20):
    with mock.patch.object(_formats, "_MOST_VALUES", most_values):
        X, rng = np.zeros((n_rows, n_columns)), np.random.default_rng(0)
        found = _formats._choose_columns(X, most, rng)
    assert (np.diff(found) > 0).all() and found.max() < n_columns
    return len(found)


def count_codes(codes, units=None):
    units = None if units is None else array(units)
    return np.exp(_formats._count_codes(array(codes), units)).round(6)


def list_column_formats(X):
    """Return columns and values of the features of numbers and of other columns."""
    parts = {
        "_describe_digits": lambda block, units: [("digits", block), ("more", -block)],
        "_describe_texts": lambda column, units: [("text", np.zeros((len(column), 1)))],
    }
    with mock.patch.multiple(_formats, **parts):
        found = _formats._list_column_formats(X, None, np.random.default_rng(0))
    return [(one.column, one.kind, one.values.tolist()) for one in found]


def list_format_features(X, y=None, people=None):
    """Return what describes the rows 2 and 0 of a table, and features of its targets."""
    parts = {
        "_describe_stored": lambda X: [f"stored {X.shape}"],
        "_describe_array": lambda X, rng: [f"array {X.shape}"],
        "_list_column_formats": lambda X, units, rng: [f"table {X.shape} {units}"],
        "_describe_digits": lambda values, units: [("digits", values)],
    }
    records = NS(X=X, y=None if y is None else array(y))
    with mock.patch.multiple(_formats, **parts):
        found, n = _formats._list_format_features(records, array([2, 0]), people, None)
    return [one if isinstance(one, str) else (one.column, one.values.tolist()) for one in found], n


def describe_stored(X, most=100):
    with mock.patch.object(_formats, "_MOST_VALUES", most):
        found = _formats._describe_stored(sparse.csr_array(array(X, dtype=float)))
    return {one.kind: one.values for one in found if one.kind.startswith("multiple")}


def measure_distances(n, wide):
    """Measure distances between rows and the rows that are twice as far from the origin."""
    take = lambda rows, dtype: (  # noqa: E731
        np.outer(rows, [3.0, 0.0]).astype(dtype),
        sparse.csr_array(np.outer(rows, [4.0]).astype(dtype)) if wide else None,
    )
    return _duplicates._measure_distances(NS(take=take), np.arange(n), 2 * np.arange(n))


def read_coded(learned, column):
    return _duplicates._CodedColumn(pd.Series(learned)).read(pd.Series(column, dtype=object))


LARGE = 1e200
THREE_ROWS = np.arange(6.0).reshape(3, 2)


def rank_people(scores, inside, most=2):
    """Rank people of whom the second has two records and is left out."""
    people = NS(inside=array(inside, dtype=bool), names=array(list("abcdef")))
    people.numbers, people.is_whole = array([0, 1, 1, 2, 3, 3, 4, 5]), np.arange(6) != 1
    rows = np.arange(5)
    with mock.patch.object(_examine, "MOST_EXPOSED", most):
        found = _examine._rank_exposed_members(people, rows, array(scores, dtype=float))
    return [tuple(one.values()) for one in found]


def tell_formats(text="more digits", pvalue=0.02, warns=False, features=True, tokens=False):
    found = NS(text=text, pvalue=pvalue, is_warning=warns, features=range(1200))
    case = NS(records=NS(has_features=features), membership="m", seeds={"checks": 4})
    parts = {
        "hold_tokens": lambda records: tokens,
        "compare_formats": mock.Mock(return_value=found),
    }
    with mock.patch.multiple(_formats, **parts):
        told = _formats.FormatsCheck().ask(case, None, None)
    asked = parts["compare_formats"]
    if asked.called:
        assert asked.call_args.args == (case.records, "m")
        assert asked.call_args.kwargs == {"random_state": 4} and told.finding is found
    return told.status, told.text


def describe_texts(*values):
    found = dict(_formats._describe_texts(pd.Series([*values], dtype=object), None))
    return {
        kind: array(found[kind], dtype=float).ravel().tolist()
        for kind in found
        if kind not in ("frequency", "capitals", "digits", "marks", "order")
    }


def list_tables(*rows):
    names = ["scope", "group", "n_members", "n_nonmembers", "status"]
    frame = pd.DataFrame(rows, columns=names)
    table = lambda part: {"attack": part["group"].tolist(), "AUC": ["x"] * len(part)}  # noqa: E731
    with mock.patch.object(_report, "tabulate_attacks", table):
        return [*_report._list_report_tables(frame)]


def ask_known(*columns, n_inside=10, has_model=True):
    """Ask about columns with so many unknown values, of texts or not, and foreign or not."""
    made = [
        NS(n_unknown=n, part=part, unknown=list("xyzw"), column=f"c{n}", foreign=foreign)
        for n, part, foreign in columns
    ]
    for one in made:
        one.may_be_seen = one.is_missing = False
    parts = {
        "has_file": lambda model: model == "model",
        "take_rows": lambda X, rows: rows.tolist(),
        "list_unknown_values": lambda model, X: made if X == [*range(n_inside)] else None,
        "_is_foreign_column": lambda one, n: one.foreign and n == n_inside,
        "_describe_unknown_values": lambda one: f"column {one.column}",
    }
    met = NS(model="model" if has_model else None, records=NS(X=0), inside=np.arange(20) < n_inside)
    with mock.patch.multiple(_file_questions, **parts):
        found = _file_questions.KnownValuesQuestion().ask(met, [])
    return found and (found.status, found.text)


def put(predicted=True):
    labels = [array([0, 0, 0]), array([1, 2, 3])] if predicted else [None, None]
    scores, new = (
        _skill.AnswerScores(values, one)
        for values, one in zip((np.zeros(3), array([0.5, 0.25, 0.125])), labels)
    )
    _clones._put_scores(scores, new, array([True, False, True]))
    return scores.values, scores.predicted


OTHERS = [
    # Whole people are units; records of people on both sides change places among themselves.
    (lambda: make_units([1, 0, 1]), ([0, 1, 2], [True, False, True], [0, 0, 0], 0)),
    (
        lambda: make_units([1, 1, 0, 0, 1, 0], "aabccd"),
        ([0, 0, 1, 3, 4, 2], [True, False, False, False, True], [0, 0, 0, 1, 1], 1),
    ),
    (lambda: make_units([1, 0, 0, 1, 1], "bbaab")[2:], ([2, 2, 1, 1, 2], 2)),
    (lambda: make_units([1, 1, 0], "aab")[2:], ([0, 0], 0)),
    (
        lambda: iter_labelings(5, [0, 0, 0, 0], [1, 0, 0, 1])[:2],
        ([1, 2, 2, 1], {(2,)}),
    ),
    (
        lambda: iter_labelings(40, [0, 0, 0, 1, 1, 2, 2, 2], [1, 1, 0, 0, 1, 1, 1, 0])[1:],
        ({(2, 1, 2)}, [1] * 8),
    ),
    (lambda: iter_labelings(40, [1, 1, 1], [0, 1, 0])[1:], ({(0, 1)}, [1] * 3)),
    # Units are sorted by the sums of their keys, those of mixed people last, and by person.
    (lambda: order_units([[3, 1, 2]], [0, 1, 2], [1, 0, 0])[:2], ([2, 0, 1], [False, False, True])),
    (lambda: order_units([[3, 3, 7]], [0, 0, 1], [1, 0])[:2], ([0, 0, 1], [True, False])),
    (lambda: order_units([[3, 3, 5]], [0, 0, 1], [1, 0])[:2], ([1, 1, 0], [False, True])),
    (
        lambda: order_units([[9, 1, 2]], [0, 1, 2], [1, 1, 0], [0, 1, 1]),
        ([0, 1, 2], [True, True, False], [0, 1, 1], 1),
    ),
    (
        lambda: order_units([[0, 5, 1, 2, 3]], range(5), [1, 1, 0, 1, 0], [0, 1, 1, 2, 2]),
        ([0, 4, 3, 1, 2], [True, True, False, False, True], [0, 2, 2, 1, 1], 2),
    ),
    (find_most, ([1.0, 0.0], [[0, 1, 0], [1, 0, 1], [0, 0, 0]])),
    (
        lambda: find_most([1, 0, 0]),
        ([1.0, -1.0], [[1, 1, 0], [0, 0, 1], [1, 0, 0]]),
    ),
    # At most so many columns, and so many values.
    (lambda: [choose_columns(5, most) for most in (1, 2, 3, 5)], [1, 2, 2, 2]),
    (lambda: [choose_columns(n, 5, most_values=30) for n in (2, 3, 4)], [2, 3, 3]),
    (lambda: choose_columns(5, 5, most_values=9), 1),
    (lambda: count_codes([0, 0, 1, 0]), [3.0, 3.0, 1.0, 3.0]),
    (lambda: count_codes([0, 0, 1, 0], [0, 0, 1, 1]), [2.0, 2.0, 1.0, 2.0]),
    (
        lambda: list_column_formats(array([1.0, 2.0])),
        [("column 0", "digits", [1.0, 2.0]), ("column 0", "more", [-1.0, -2.0])],
    ),
    (
        lambda: [
            one[:2]
            for one in list_column_formats(
                pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [3, 4], "d": ["x", "y"]})
            )
        ],
        [
            ("column d", "text"),
            *((f"column {name}", kind) for kind in ("digits", "more") for name in "ac"),
            *(("column b", kind) for kind in ("digits", "more")),
        ],
    ),
    (
        lambda: list_column_formats(pd.DataFrame({"a": [1, 2], "c": [3, 4]}))[1],
        ("column c", "digits", [3, 4]),
    ),
    (lambda: list_format_features(THREE_ROWS), (["table (2, 2) None"], 2)),
    (
        lambda: list_format_features(THREE_ROWS, people=array(["b", "a"]))[0],
        ["table (2, 2) [0 1]"],
    ),
    (lambda: list_format_features(sparse.csr_array(THREE_ROWS))[0], ["stored (2, 2)"]),
    (lambda: list_format_features(THREE_ROWS.reshape(3, 2, 1))[0], ["array (2, 2, 1)"]),
    (lambda: list_format_features(THREE_ROWS, [1, 0, 1])[0], ["table (2, 2) None"]),
    (
        lambda: list_format_features(THREE_ROWS, [1.0, 2.0, 3.0])[0][1:],
        [("the target", [3.0, 1.0])],
    ),
    (
        lambda: list_format_features(THREE_ROWS, THREE_ROWS)[0][1:],
        [("target 0", [4.0, 0.0]), ("target 1", [5.0, 1.0])],
    ),
    # Means over stored values, of which every second one is read where they are too many.
    (
        lambda: describe_stored([[1, 0], [5, 10], [0, 0]]),
        {"multiple of 5": [0.0, 1.0, 0.0], "multiple of 10": [0.0, 0.5, 0.0]},
    ),
    (
        lambda: describe_stored([[1, 0], [5, 10], [0, 0]], most=2)["multiple of 10"],
        [0.0, 1.0, 0.0],
    ),
    (lambda: describe_stored([[0.0, 0.0]]), {}),
    # Medians where values are missing, and means and deviations of numbers of any size.
    (
        lambda: _duplicates._summarize_columns(
            array([[1.0, nan, 2, 0, LARGE], [nan, inf, 2, 0, -LARGE], [4, nan, 2, 0, 0]])
        ),
        (
            [2.5, 0.0, 0.0, 0.0, 0.0],
            [2.5, 0.0, 2.0, 0.0, 0.0],
            [1.5**0.5, 0.0, 0.0, 0.0, LARGE * (2 / 3) ** 0.5],
            [1, 3, 0, 0, 0],
        ),
    ),
    (lambda: measure_distances(501, False)[[1, 499, 500]], [3.0, 1497.0, 1500.0]),
    (lambda: measure_distances(3, True), [0.0, 5.0, 10.0]),
    (lambda: read_coded([1.0, 2.0], ["3", "x", None, 4]), [3.0, nan, nan, 4.0]),
    (lambda: read_coded(["a", "b", None], ["b", "c", None, "a"]), [1, 3, 2, 0]),
    # Pairs of three and of two equal records: one pair of the three is of members.
    (lambda: measure_pairs([1, 1, 0, 0, 0, 1])[0], 4.0),
    (
        lambda: measure_pairs([1, 1, 0, 0, 0, 1])[1],
        [(2 / 4 - 0.5) / 0.5, (2 * 0.25 - 2 * 0.25) / 4 / 0.25],
    ),
    (
        lambda: measure_pairs([1, 1, 1, 0, 0, 0])[1],
        [1.0, 1.0],
    ),
    # Of two members of six, both of whom are equal.
    (
        lambda: measure_pairs([1, 1, 0, 0, 0, 0])[1],
        [
            (2 / 4 - 5 / 9) / (4 / 9),
            ((4 / 9 - 2 * 2 / 9) + 1 / 9) / 4 / (2 / 9),
        ],
    ),
    # Records of one person are no pair.
    (lambda: measure_pairs([1, 1, 1, 0, 0, 0], persons=(0, 0, 1, 2, 3, 4))[0], 3.0),
    (lambda: measure_pairs([1, 1, 1, 0, 0, 0], persons=(0, 1, 2, 3, 3, 4))[0], 3.0),
    # People a, d and e are members; one of two others scores as high as e.
    (
        lambda: rank_people([5, 1, 4, 3, 4], [1, 0, 1, 1, 0]),
        [("a", 1, 5.0, 0, 1, 1 / 3), ("d", 2, 4.0, 1, 1, 2 / 3)],
    ),
    (lambda: len(rank_people([5, 1, 4, 3, 4], [1, 0, 1, 1, 0], most=9)), 3),
    (
        lambda: tell_formats(),
        (
            "passed",
            "Members and non-members are written alike: the largest of 1,200 differences is that "
            f"more digits (p = 0.02; a warning is given at {_formats.FORMATS_ERROR:g} or below).",
        ),
    ),
    (
        lambda: tell_formats(warns=True, pvalue=1e-9),
        (
            "warning",
            "Members and non-members were written in different ways: more digits (p \u2264 "
            f"{1 / (1 + _formats._N_PERMUTATIONS):.2g}).",
        ),
    ),
    (lambda: tell_formats(None), ("passed", "No feature of how values are written varies.")),
    (lambda: tell_formats(features=False)[0], "not run"),
    (lambda: tell_formats(tokens=True), ("not run", _formats._TOKENS)),
    (
        lambda: describe_texts("Ab", " a  b", None, "N/A ", 7, "\u00e9", "Ab"),
        {
            "missing": [0, 0, 1, 0, 0, 0, 0],
            "no text": [0, 0, 0, 0, 1, 0, 0],
            "word for missing": [0, 0, 0, 1, 0, 0, 0],
            "first capital": [1, 0, 0, 1, 0, 0, 1],
            "space at an end": [0, 1, 0, 1, 0, 0, 0],
            "double space": [0, 1, 0, 0, 0, 0, 0],
            "not ASCII": [0, 0, 0, 0, 0, 1, 0],
            "length": np.log1p([2, 5, 0, 4, 1, 1, 2]).tolist(),
        },
    ),
    (
        lambda: list_tables(
            ("overall", "all", 1200, 30, "ok"),
            ("s_x", "f*", 1, 2, "too few records"),
            ("overall", "all", 9, 9, "ok"),
        ),
        [
            [
                "## All records",
                "",
                "1,200 members, 30 non-members.",
                "",
                "| attack | AUC |",
                "| --- | --- |",
                "| all | x |",
                "| all | x |",
            ],
            ["## s\\_x = f\\*", "", "1 members, 2 non-members.", "too few records."],
        ],
    ),
    # Foreign columns stop, three of which are named; of the others the worst is told.
    (
        lambda: ask_known((1, "Encoder", True), (2, "Encoder", False)),
        (
            "stop",
            "Column c1.",
        ),
    ),
    (
        lambda: ask_known(*((k, "Encoder", True) for k in range(4)))[1],
        "Column c0; column c1; column c2.",
    ),
    (
        lambda: ask_known((2, "Encoder", False), (1200, "Encoder", False), (3, "Encoder", False)),
        (
            "warn",
            "1,200 members have values in column 'c1200' that the model has never seen, such as "
            "'x', 'y' and 'z', so the model was not trained on these rows as given.",
        ),
    ),
    (
        lambda: ask_known((1, "Encoder", False), (9, "CountVectorizer", False))[1][:60],
        "1 member has a value in column 'c1' that the model has never",
    ),
    (lambda: ask_known((1, "Encoder", False))[1][-21:], "on this row as given."),
    (lambda: ask_known((9, "CountVectorizer", False)), None),
    (lambda: ask_known((1, "Encoder", True), has_model=False), None),
    (lambda: put(), ([0.5, 0.0, 0.125], [1, 0, 3])),
    (lambda: put(False), ([0.5, 0.0, 0.125], None)),
]


# -- how values are written


def table_of(*features):
    """Make a table of features of three records, by their column, kind and values."""
    made = [_formats._FormatFeature(*one[:2], array(one[2:], dtype=float)) for one in features]
    return _formats._FormatTable(made, 3)


def describe_table():
    table = table_of(
        ("a", "decimals", 1, 2, 6),
        ("a", "missing", 0, 1, 1),
        ("b", "zero", 1, 1, 1),
        ("b", "missing", 1, 0, 1),
    )
    found = table.describe(array([True, True, False]), array([0.1, -0.3, 0.2996, 0.2]))
    return table, found


def draw_reached(n_permutations, reached, most=3, together=4):
    """Draw permutations of which each so many reach the statistic, and return how many."""
    drawn = []

    def draw(units, n, rng):
        labels = np.arange(n + 1) + sum(drawn)
        drawn.append(n)
        return NS(blocks=iter([labels[:1], labels[1:3], labels[3:]]))

    measure = lambda labels: np.where(labels % reached, 0.5, -1.0)[:, None]  # noqa: E731
    parts = {"draw_labelings": draw, "_MANY": most, "_N_TOGETHER": together}
    with mock.patch.multiple(_formats, **parts):
        found = _formats._draw_permutations(measure, 1.0, None, n_permutations, None)
    return len(found), int(found.sum()), drawn


def compare(values, membership, places=None, reached=(), n_permutations=9):
    """Compare features of records whose permutations reach the statistic, or not."""
    values = array(values, dtype=np.float32)
    seen = []
    table = NS(values=values, features=[])
    table.describe = lambda membership, found: pd.DataFrame({"difference": found})
    membership = array(membership, dtype=bool)
    places = np.arange(len(membership)) if places is None else array(places)
    units = NS(places=places, is_member=membership[np.unique(places, return_index=True)[1]])

    def draw(measure, statistic, units, n, rng):
        seen.append((round(statistic, 4), n))
        return array(reached, dtype=bool)

    parts = {
        "_draw_permutations": draw,
        "_MANY": 3,
        "_tell_largest_difference": lambda row: "told",
    }
    with mock.patch.multiple(_formats, **parts):
        found = _formats._compare_formats(table, membership, units, n_permutations, None)
    told = found.pvalue, found.statistic, found.text
    return (*told, found.features["difference"].tolist(), found.n_permutations), seen


def tell_difference(kind, members, others):
    row = {"column": "column a", "feature": kind, "members": members, "nonmembers": others}
    return _formats._tell_largest_difference(row)


def describe_digits(*values, kinds=(), dtype=float):
    found = dict(_formats._describe_digits(array(values, dtype=dtype)[:, None]))
    return [found[kind].ravel().astype(float).tolist() for kind in kinds], len(found)


def describe_array(X):
    found = _formats._describe_array(array(X), np.random.default_rng(0))
    return {one.kind: one.values.tolist() for one in found if one.kind in ("zero", "infinite")}


def read_values(values):
    values, found = _formats._read_column_values(pd.Series(values), None)
    return None if values is None else values.dtype.kind, [kind for kind, _ in found]


def count_decimals(*values):
    return [one.tolist() for one in _formats._count_written_decimals(array(values), 1e-12)][:2]


SPREAD = np.std([1, 2, 6])
FORMS = [
    # Shares come first, a constant feature goes, and equal kinds of columns are added.
    (
        lambda: [one.kind for one in describe_table()[0].features],
        ["missing", "missing", "decimals"],
    ),
    (lambda: describe_table()[0].sums, {"missing": [0, 1]}),
    (
        lambda: describe_table()[0].values[:, 2],
        [-2 / SPREAD, -1 / SPREAD, 3 / SPREAD],
    ),
    (
        lambda: np.sign(describe_table()[0].values[:, 3]),
        [-1.0, -1.0, 1.0],
    ),
    # The largest difference first, to three decimals, and columns in their order.
    (
        lambda: describe_table()[1],
        {
            "column": ["b", "a", _formats._ANY_COLUMN, "a"],
            "feature": ["missing", "decimals", "missing", "missing"],
            "members": [0.5, 1.5, 0.5, 0.5],
            "nonmembers": [1.0, 6.0, 1.0, 1.0],
            "difference": [-0.3, 0.2996, 0.2, 0.1],
        },
    ),
    # Permutations are drawn four at a time until three reach the statistic.
    (lambda: draw_reached(10, 2), (8, 4, [4, 4])),
    (lambda: draw_reached(10, 99), (10, 0, [4, 4, 2])),
    (lambda: draw_reached(2, 1), (2, 2, [2])),
    (
        lambda: compare(
            [[1.0, 0.0], [3.0, 0.0], [-2.0, 1.0], [-2.0, -1.0]], [1, 1, 0, 0], reached=[0, 1, 0]
        ),
        ((0.2, 4.0, "told", [4.0, 0.0], 3), [(3.9996, 9)]),
    ),
    (
        lambda: compare([[1.0], [3.0], [-2.0], [-2.0]], [1, 1, 1, 0], reached=[1, 0, 1, 0, 1, 1])[
            0
        ][:2],
        (0.6, 2.6666667),
    ),
    (
        lambda: compare([[1.0], [3.0], [-2.0], [-2.0]], [1, 1, 0, 0], places=[0, 0, 1, 2])[0][:2],
        (0.1, 4.0),
    ),
    (lambda: compare(np.zeros((4, 0)), [1, 1, 0, 0]), ((1.0, 0.0, None, [], 0), [])),
    (
        lambda: tell_difference("missing", 0.25, 0.0625),
        "column a is missing in 25% of the members and 6.25% of the non-members",
    ),
    (
        lambda: tell_difference("decimals", 1.5, 6.0),
        f"column a {_formats._MEANS['decimals'].format(1.5, 6.0)}",
    ),
    (
        lambda: tell_difference("length", np.log1p(3.0), np.log1p(7.0)),
        f"column a {_formats._MEANS['length'].format(3.0, 7.0)}",
    ),
    (
        lambda: tell_difference("frequency", np.log(4.0), np.log(8.0)),
        f"column a {_formats._MEANS['frequency'].format(4.0, 8.0)}",
    ),
    (
        lambda: describe_digits(
            -0.0,
            10.0,
            5.0,
            nan,
            -inf,
            -1.0,
            kinds=[
                "missing",
                "infinite",
                "negative zero",
                "multiple of 5",
                "multiple of 10",
                "zero",
                "equal to -1",
            ],
        )[0],
        [
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        ],
    ),
    (
        lambda: describe_digits(
            0.25,
            1.125,
            0.1 + 0.2,
            70000.5,
            nan,
            1 / 3,
            kinds=[
                "single precision",
                "half precision",
                "rounding error",
                "decimals",
                "at most 2 decimals",
                "last digit 5",
            ],
        )[0],
        [
            [1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [2.0, 3.0, 1.0, 1.0, 0.0, 12.0],
            [1.0, 0.0, 1.0, 1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        ],
    ),
    (
        lambda: describe_digits(5, 0, -1, kinds=["zero"], dtype=int),
        ([[0.0, 1.0, 0.0]], 4 + len(_formats._CODES)),
    ),
    (lambda: count_decimals(0.25, 3.0, 1 / 3, 0.5), [[2, 0, 12, 1], [5, 3, -1, 5]]),
    (
        lambda: describe_array([[[0.0, 1.0], [2.0, inf]], [[0.0, 0.0], [0.0, 3.0]]]),
        {"zero": [0.25, 0.75], "infinite": [0.25, 0.0]},
    ),
    (lambda: describe_array([[["a"]], [["b"]]]), {}),
    # Numbers are read as they are, and complex ones are texts; of truth it is told if it lacks.
    (lambda: read_values([1, 2]), ("i", [])),
    (lambda: read_values(pd.array([1, None], dtype="Int64")), ("f", [])),
    (lambda: read_values([1j, 2j])[1][:2], ["missing", "no text"]),
    (lambda: read_values([True, False]), (None, ["missing"])),
    (lambda: read_values(["a", "b"])[1][:2], ["missing", "no text"]),
    (lambda: read_values(pd.Categorical(["a", "b"]))[1][:2], ["missing", "no text"]),
    (lambda: read_values(pd.to_datetime(["2020-01-01", "2021-01-01"]))[1][:1], ["missing"]),
    (lambda: describe_array(np.zeros((2, 0, 3))), {}),
]


# -- curves, exposed records and rows that a model has used


def thin_curves(judged=None, groups=None, scores=None):
    """Compute curves of three members and four others, with limits that say what they are of."""
    membership = array([1, 1, 1, 0, 0, 0, 0], dtype=bool)
    values = array([5.0, 4.0, 1.0, 4.5, 3.0, 2.0, 0.0])
    seen = []

    def limits(counts, fpr, tail, sizes):
        seen.append((len(fpr), round(tail, 6), sizes))
        return 0 * fpr + 0.1234567, 0 * fpr + 1

    parts = {
        "tpr_limits": limits,
        "sizes_of_sides": lambda values, truth, sides, thresholds: (
            len(values),
            [one.n_rows for one in sides],
            [None if one.alone else len(one.counts) for one in sides],
        ),
    }
    with mock.patch.multiple(_measure, **parts):
        found = _measure.compute_thin_curves(
            {"a": values} if scores is None else scores, membership, 0.9, groups, judged
        )
    return [(one["attack"], one["fpr"], one["tpr"], one["low"][:1]) for one in found], seen


def exposed(judged=None, most=2, values=(5.0, 4.0, 1.0, 4.5, 4.0, 0.0)):
    """List the exposed of three members and three others."""
    scores = {"a": array(values), "b": np.zeros(6)}
    judged = judged and {"a": array(judged, dtype=bool)}
    with mock.patch.object(_measure, "MOST_EXPOSED", most):
        found = _measure.list_exposed(scores, np.arange(6) < 3, list("uvwxyz"), range(6), judged)
    return [tuple(one.values()) for one in found]


def rank(judged=None):
    scores = {"a": array([1.0, 3.0, 2.0, 4.0]), "b": array([4.0, 3.0, 2.0, 1.0])}
    scores["c"] = array([4.0, 1.0, 2.0, 3.0])
    return [*_measure.rank_attacks(scores, array([True, True, False, False]), judged)]


def steps(*parts):
    return NS(steps=[(str(k), part) for k, part in enumerate(parts)])


def use(model, n_rows=5):
    found = _rows_used.find_used_rows(model, n_rows)
    name = lambda one: one and getattr(one, "name", type(one).__name__)  # noqa: E731
    return found.rows, name(found.dropper), name(found.receiver)


def sampler(*kept, name="sampler"):
    return NS(sample_indices_=array(kept), name=name)


def dropped(model, n_members=5):
    told = _rows_used.describe_dropped_rows(model, n_members)
    return [one.partition("; fit")[0] for one in told]


class Forest(NS):
    pass


def listed(*pairs):
    """Rows of scores and of how many members have them, where a document says that."""
    return [
        {"score": score} | ({} if n_equal is None else {"n_equal": n_equal})
        for score, n_equal in pairs
    ]


MANY = "{} more {} have the score of the last one."
LAST = NS(name="last")
JUDGED = {"a": [1] * 4, "b": [1] * 4, "c": [0, 1, 0, 0]}
CURVES = [
    (
        lambda: thin_curves(),
        (
            [("a", [0.25, 0.5, 0.75, 1.0], [0.666667, 0.666667, 1.0, 1.0], [0.123457])],
            [(4, 0.05, (7, [3, 4], [None, None]))],
        ),
    ),
    (
        lambda: thin_curves({"a": array([1, 1, 1, 0, 1, 1, 0], dtype=bool)})[1],
        [(2, 0.05, (5, [3, 2], [None, None]))],
    ),
    (lambda: thin_curves(groups=list("aabcdee"))[1][0][2][2], [2, 3]),
    (lambda: thin_curves({"a": array([1, 1, 1, 0, 0, 0, 0], dtype=bool)})[0], []),
    # The members with the highest scores, and how many others are as high.
    (lambda: exposed(), [("u", 0, "a", 5.0, 0, 1), ("v", 1, "a", 4.0, 2, 1)]),
    (lambda: [one[4] for one in exposed(most=9)], [0, 2, 2]),
    (lambda: exposed([0, 1, 1, 0, 1, 1]), [("v", 1, "a", 4.0, 1, 1), ("w", 2, "a", 1.0, 1, 1)]),
    # Two of three members have the second score, of whom one is listed.
    (
        lambda: exposed(values=[5.0, 4.0, 4.0, 4.5, 4.0, 0.0]),
        [("u", 0, "a", 5.0, 0, 1), ("v", 1, "a", 4.0, 2, 2)],
    ),
    # Members that are as exposed as the last one that is listed, and are not listed.
    *(
        (lambda rows=rows: _people.tell_unlisted(listed(*rows)), told)
        for rows, told in (
            ([], ""),
            ([(4.0, 2)], "1 more record has the score of the last one."),
            ([(5.0, 9), (4.0, 1300), (4.0, 1300)], MANY.format("1,298", "records")),
            ([(5.0, 9), (4.0, 1)], ""),
            ([(4.0, 1), (4.0, 1)], ""),
            ([(4.0, None)], ""),
        )
    ),
    (
        lambda: _people.tell_unlisted(listed((4.0, 3)), _people._PERSONS),
        MANY.format("2", "people"),
    ),
    (lambda: _measure.list_exposed({}, None, None, None), []),
    (lambda: rank(), ["b", "c", "a"]),
    (lambda: rank({name: array(one, dtype=bool) for name, one in JUDGED.items()}), ["b", "a", "c"]),
    # Positions that a step keeps, as they are or as a mask; those of steps after one another.
    (lambda: use(steps(sampler(4, 2, 0), LAST)), ([4, 2, 0], "sampler", "last")),
    (
        lambda: use(steps(sampler(4, 2, 0), None, "passthrough", sampler(2, 1, name="b"), LAST)),
        ([0, 2], "b", "last"),
    ),
    (lambda: use(steps(NS(), LAST)), (None, None, "last")),
    (
        lambda: use(steps(sampler(4, 2, 0), sampler(1, 2, name="own"))),
        ([2, 0], "own", "own"),
    ),
    (
        lambda: use(NS(inlier_mask_=array([1, 0, 1, 1, 0], dtype=bool), estimator_=LAST, name="r")),
        ([0, 2, 3], "r", "last"),
    ),
    (
        lambda: use(Forest(samplers_=[sampler(3, 1), sampler(1, 0)])),
        ([0, 1, 3], "sampler", "Forest"),
    ),
    (
        lambda: use(Forest(estimators_=[NS(), NS()], estimators_samples_=[[0, 1], [1, 2]])),
        ([0, 1, 2], "Forest", "Forest"),
    ),
    (lambda: use(Forest(estimators_=[NS()])), (None, None, None)),
    (lambda: use(Forest(estimators_=[[NS(), NS()]])), (None, None, None)),
    (
        lambda: use(Forest(estimators_=[NS(), sampler(1, 2)])),
        ([0, 1, 2, 3, 4], "sampler", "Forest"),
    ),
    (
        lambda: use(
            Forest(estimators_=[sampler(1, 0), NS()], estimators_samples_=[[4, 3], [2, 2]])
        ),
        ([2, 3, 4], "sampler", "Forest"),
    ),
    (lambda: use(NS(best_estimator_=sampler(3, 1))), ([3, 1], "sampler", "sampler")),
    (lambda: use(NS()), (None, None, None)),
    (lambda: use(sampler(5, 1)), (None, None, None)),
    (lambda: use(sampler(-1, 1)), (None, None, None)),
    (lambda: use(NS(sample_indices_=array([[1, 2]]))), (None, None, None)),
    (lambda: use(NS(sample_indices_=array([], dtype=int))), (None, None, None)),
    (lambda: use(NS(sample_indices_=array([0.0, 1.0]))), (None, None, None)),
    (lambda: use(NS(_sample_indices_=array([0, 1]))), (None, None, None)),
    (lambda: use(NS(inlier_mask_=array([True] * 4))), (None, None, None)),
    (
        lambda: dropped(steps(sampler(4, 2, 2), LAST)),
        ["2 of 5 training rows reached the models of SimpleNamespace"],
    ),
    (
        lambda: dropped(steps(sampler(4, 2), Ridge())),
        ["2 of 5 training rows reached the Ridge (SimpleNamespace)"],
    ),
    (lambda: dropped(steps(sampler(0, 1, 2, 3, 4), Ridge())), []),
    (lambda: dropped(steps(NS(), Ridge())), []),
    (lambda: dropped(3), []),
    # A person with several rows is not the next row of the next person.
    (lambda: _units._EqualPairs(array([0, 1]), array([1, 0])).every, 0.0),
    (
        lambda: _surrogate.name_model(FrozenEstimator(make_pipeline(Ridge(alpha=2.0)))),
        "Ridge(alpha=2.0)",
    ),
]


# -- gaps of models between their training rows and others


class GapPool:
    """Two shadow models or more on four records, whose signals are given, in blocks of two."""

    def __init__(self, values, inside, keeps=("Correctness",)):
        self.values, self.membership_ = array(values, dtype=float), array(inside, dtype=bool)
        self.keeps = keeps

    def locate_signal(self, signal):
        name = signal if isinstance(signal, str) else type(signal).__name__
        if name not in self.keeps:
            raise ValueError("It is not kept.")

    def victim_values(self, victim, answered, signal):
        return [array([0.0, 0.5, 1.0, 0.25])]

    def blocks(self, records, size, signal):
        self.locate_signal(signal)
        assert size == 1 << 16
        for rows in (slice(0, 2), slice(2, 4)):
            yield rows, [self.values[:, rows]], self.membership_[:, rows], None


HALVES = [[1, 1, 0, 0], [1, 0, 1, 0]]


def measure_fits(outputs, values, y=(0, 1, 1, 0), inside=HALVES, keeps=("Correctness",)):
    records = Records(np.zeros((4, 1)), array(y))
    case = NS(request=NS(outputs=outputs), records=records)
    found = _gaps._measure_fits(case, GapPool(values, inside, keeps))
    return found and [one.tolist() for one in found]


def measure_gaps(own=(0.5, 0.25, 0.0, 1.0), gaps=(0.5, 0.1, 0.3), found=True):
    case = NS(membership=array([True, True, False, False]))
    given = (array(own), array(gaps)) if found else None
    with mock.patch.object(_gaps, "_measure_fits", lambda case, pool: given):
        return _gaps.measure_gaps(case, None)


SHARES_OF_FOUR = Outputs(array([[0.75, 0.25], [0.25, 0.75], [0.75, 0.25], [0.75, 0.25]]), [0, 1])
RIGHT = [[1, 0, 1, 1], [0, 1, 1, 0]]
GAPS = [
    # The first model is right on one of its two rows and on both others, the second on one of each.
    (lambda: measure_fits(SHARES_OF_FOUR, RIGHT), [[1.0, 1.0, 0.0, 1.0], [0.5 - 1.0, 0.5 - 0.5]]),
    # Of two classes the sign of a logit tells the same, and so it does of a margin.
    (
        lambda: measure_fits(SHARES_OF_FOUR, [[2, -1, 0.5, 0], [-1, 0.1, 3, -2]], keeps=["auto"])[
            1
        ],
        [0.5 - 0.5, 0.5 - 0.5],
    ),
    (
        lambda: measure_fits(
            Outputs(array([[0.5, 0.25, 0.25]] * 4), [0, 1, 2]), RIGHT, keeps=["auto"]
        ),
        None,
    ),
    (
        lambda: measure_fits(
            Outputs(array([[3.0, 0.0, 1.0]] * 4), [0, 1, 2], "decision"), RIGHT, keeps=["auto"]
        )[0],
        [1.0, 0.0, 0.0, 1.0],
    ),
    (lambda: measure_fits(SHARES_OF_FOUR, RIGHT, keeps=[]), None),
    (lambda: measure_fits("answers", RIGHT), None),
    (
        lambda: measure_fits(
            Outputs(array([0.0, np.log(3), 0.0, 0.0]), kind="log_odds"),
            [[0, np.log(3), 0, 0], [0, 0, 0, 0]],
            keeps=["auto"],
        ),
        [[0.5, 0.75, 0.5, 0.5], [0.125, 0.0]],
    ),
    # Of numbers the squared residual over the variance of the target, which is 1/4.
    (
        lambda: measure_fits(
            Outputs(array([0.5, 1.0, 1.0, 2.0]), None, "value"),
            np.log([[2.0, 1, 1, 1], [1, 1, 1, 1]]),
            y=(0.0, 1.0, 1.0, 0.0),
            keeps=["LogResidual"],
        ),
        [[-1.0, 0.0, 0.0, -16.0], [(-1.0 - 4.0) / 2 + 4.0, 0.0]],
    ),
    (lambda: measure_fits(SHARES_OF_FOUR, RIGHT[:1], inside=HALVES[:1]), None),
    (lambda: measure_fits(SHARES_OF_FOUR, RIGHT, inside=[[1] * 4, HALVES[1]]), None),
    (lambda: measure_fits(SHARES_OF_FOUR, RIGHT, inside=[[0] * 4, HALVES[1]]), None),
    (lambda: measure_gaps(found=False), None),
    (
        lambda: measure_gaps(),
        {
            "victim": -0.125,
            "standard_error": (0.015625 / 2 + 0.25 / 2) ** 0.5,
            "mean": 0.3,
            "sd": 0.2,
            "n_models": 3,
            "z": -0.425 / (0.1328125 + 0.04) ** 0.5,
        },
    ),
    (
        lambda: [
            measure_gaps(own, [0.5, 0.5])["z"]
            for own in ((1, 1, 0.75, 0.75), (1, 1, 0.5, 0.5), (1, 1, 0.25, 0.25))
        ],
        [-1000.0, 0.0, 1000.0],
    ),
]


# -- what stopped a training, and what is asked where an audit ends


class Booster:
    """A model that computes the best score that it has noted."""

    def __init__(self, score=None, **noted):
        self.score = score
        vars(self).update(noted)

    @property
    def best_score(self):
        return self.score


def list_noted(model):
    return _validation_rows._list_noted(model)


def stop_training(noted=(0.5,), members=(0.25,), others=(0.5,), given=False):
    """Return whether a training was stopped by others, by the scores of both sides."""
    case = NS(membership=array([True, False]), victim="model")
    sides = {True: members, False: others}
    parts = {
        "_are_given": lambda case: given,
        "_list_noted": lambda model: [*noted] if model == "model" else None,
        "_measure_validation_side": lambda case, side: [*sides[bool(side[0])]],
    }
    with mock.patch.multiple(_validation_rows, **parts):
        told = _validation_rows.stops_on_held_out(case)
    return told and told[:8]


def are_given(rows, labels=None, params=None, n=4):
    """Return whether rows are held-out rows of a case, of which there are so many."""
    records = Records(np.arange(2.0 * n).reshape(-1, 1), np.zeros(2 * n))
    case = NS(records=records, membership=np.arange(2 * n) < n)
    labels = np.zeros(len(rows)) if labels is None else labels
    given = {"X_val": array(rows, dtype=float).reshape(-1, 1), "y_val": array(labels)}
    case.request = NS(fit_params=given if params is None else params)
    return _validation_rows._are_given(case)


def withhold():
    """Return the outcomes of checks of an audit that ended before its attacks."""
    kinds = {"known": (_examine.KNOWN, "always"), "other": ("role", "always")}
    kinds |= {"some": ("role", _examine.SOMETIMES), "both": (_examine.KNOWN, _examine.SOMETIMES)}
    listed = [
        NS(name=name, role=role, presence=presence) for name, (role, presence) in kinds.items()
    ]

    def ask(check, case, run, findings):
        assert (case, run, len(findings.numbers)) == ("case", None, 0)
        return f"asked {check.name}"

    parts = {"checks": NS(CHECKS=listed), "_ask_check": ask}
    with mock.patch.multiple(_examine, **parts):
        found = _examine.withhold("case").checks
    return {
        name: one if isinstance(one, str) else (one.name, one.status, one.text)
        for name, one in found.items()
    }


def fit_sides():
    """Return the skill of a model on members and on others, whose masks are measured."""
    rows = _answered_rows.AnsweredRows(
        NS(), None, None, array([True, False, True]), None, None, None
    )
    vars(rows)["scores"] = "scores"
    with mock.patch.object(
        _answered_rows.AnsweredRows, "measure", lambda self, scores, mask: (scores, mask.tolist())
    ):
        return rows.fit(), rows.fit(False)


def fit_clones():
    """Return the skill of two kinds of clones, each asked for twice, and how often it was measured.

    The answers of each are its name, for the rows that it has not seen.
    """
    inside = array([True, False, True])
    rows = _answered_rows.AnsweredRows(NS(), None, None, inside, None, None, None)
    kinds = [NS(fresh=k, is_fresh=array([True, True, k == 1])) for k in range(2)]
    measure = mock.Mock(side_effect=lambda scores, mask: (scores, mask.tolist()))
    with mock.patch.object(_answered_rows.AnsweredRows, "measure", measure):
        return [rows.fit_of(kind) for kind in (*kinds, *kinds)], measure.call_count


def examine(memory=False, error=None):
    """Return the outcomes of checks in their order, of people that can be measured or not."""
    listed = [
        NS(name=name, part=f"p {name}", reads=reads) for name, reads in (("b", "a"), ("a", ""))
    ]
    parts = {
        "checks": NS(CHECKS=listed),
        "_measure_all_attacks": lambda case, run: "numbers",
        "_measure_repetitions": lambda case, run, clock: ("power", "disparity"),
        "_ask_within_budget": lambda check, case, run, found: (
            None if memory and check.name == "a" else (check.name, [*found.checks])
        ),
        "measure_people": mock.Mock(side_effect=error, return_value="people"),
    }
    with mock.patch.multiple(_examine, **parts):
        call = lambda: _examine.examine("case", "run", lambda part: nullcontext())  # noqa: E731
        refusal = tell_refusal(call)
        if refusal is not None:
            return refusal
        found = call()
    return found.checks, found.person_level, [*found.lacks]


ENDED = "The audit ended before."


def within_budget(n=10, most=5, answer="Told.", people=None):
    """Ask a check of so many records, of which it may read fewer; return what it says and reads."""
    fields = {} if people is None else {"group_by": people}
    records = Records(np.arange(float(n)).reshape(-1, 1), np.zeros(n), **fields)
    case, seen = NS(records=records, subsets="parts", seeds={"checks": 9}), []

    def draw(*given):
        seen.append((*given[:4], bool(given[4][0] == given[4][1])))
        return array([4, 2])

    def ask(check, case, run, findings):
        seen.append((check, getattr(case, "records", case) is records or case, run, findings))
        return answer and Check("name", "passed", answer)

    parts = {
        "count_asked_records": lambda check, case: most,
        "draw_sample": draw,
        "_take_rows": lambda case, run, rows: (f"case of {rows}", f"{run} of {rows}"),
        "_ask_check": ask,
    }
    with mock.patch.multiple(_examine, **parts):
        found = _examine._ask_within_budget("check", case, "run", "found")
    return found and found.text, seen


def take_rows():
    """Take two of three records of a case and of its run."""
    names = ["records", "queried", "membership", "subsets"]
    case = make_dataclass("SomeCase", names)(*(array([7, 8, 9]) * k for k in (1, 10, 100)), None)
    case.subsets = [("sex", "f", array([True, False, True]))]
    values = ["scores", "guesses", "judged", "tested"]
    several = [{"a": array([1, 2, 3]) * k} for k in (1, 2, 3, 4)]
    run = make_dataclass("SomeRun", [*values, "file_scores"])(*several, None)
    found = []
    for run.file_scores in (None, array([0.5, 0.6, 0.7])):
        some, kept = _examine._take_rows(case, run, array([2, 0]))
        found.append(kept.file_scores)
    taken = [getattr(some, name) for name in names[:3]]
    ((*part, mask),) = some.subsets
    return *taken, part, mask, *(getattr(kept, name)["a"] for name in values), found


def ask_check(reads=(), lacks=(), error=None):
    """Ask a check that reads others, of which one has failed."""
    failed = {"bad": Check("bad", "error", "x"), "good": Check("good", "passed", "x")}

    def ask(case, run, findings):
        if error is not None:
            raise error
        return f"{case} {run}"

    answer = lambda status, text: (status, text)  # noqa: E731
    check = NS(name="own", reads=reads, ask=ask, answer=answer)
    lacks = {name: f"{name} lacks memory." for name in lacks}
    return _examine._ask_check(check, "case", "run", NS(checks=failed, lacks=lacks))


def measure_repetitions(obstacle=None, error=None):
    """Return power and disparity, and what groups are compared by."""
    seen = []

    def compare(rounds, records, subsets, level, seed):
        seen.append((records, [mask.tolist() for *_, mask in subsets], level, seed))
        if error is not None:
            raise error
        return ["scope"]

    case = NS(records="records", level=0.9, seeds={"checks": 5})
    case.subsets = [("sex", "f", array([True, False, True]))]
    rounds = NS(rows=array([0, 1]))
    run = NS(repetitions=("a", rounds, "numbers", obstacle, False))
    take = lambda records, rows: f"{records} {rows}"  # noqa: E731
    with mock.patch.multiple(_examine, compare_groups=compare, take_sampled_records=take):
        found = _examine._measure_repetitions(case, run, lambda part: nullcontext())
    return found, seen


def sort_by_reads(**reads):
    checks = [NS(name=name, reads=tuple(given)) for name, given in reads.items()]
    return "".join(check.name for check in _examine.sort_by_reads(checks))


def chooses_epoch(*kinds, **given):
    """Return whether a callback of these kinds chooses an epoch by validation rows."""
    bases = tuple(type(name, (), {}) for name in kinds)
    callback = type("Own", bases, {})()
    vars(callback).update(given)
    return _validation_rows._chooses_epoch(("name", callback))


def stop_net(data, *chooses, keywords="valid_ds"):
    """Return what rows of a net are compared, which some callbacks stop."""
    split = NS(keywords={keywords: data})
    net = NS(train_split=split, callbacks_=[("name", one) for one in chooses])
    seen = []
    parts = {
        "open_steps": lambda model: ([], net),
        "_chooses_epoch": lambda entry: entry[1],
        "_are_among": lambda case, pairs: seen.append(pairs) or True,
    }
    with mock.patch.multiple(_validation_rows, **parts):
        found = _validation_rows._are_of_net(NS(victim="victim"))
    return found, seen


SHARE_OF_TEN = "It read 2 of 10 records, drawn at random."
# -- numbers of attacks, and the parts of the records that they are of


def measure_attack(n_others=3, people="aabbccdd", fprs=(0.1, 0.2)):
    """Measure an attack on all of eight records and on those with one to so many others."""
    seen, masks = [], [np.ones(8, bool), np.r_[np.zeros(3, bool), np.arange(5) <= n_others]]
    case = NS(records=NS(fields={"group_by": array(list(people))} if people else {}), fprs=fprs)
    case.subsets = [("overall", "all", masks[0]), ("sex", "f", masks[1])]
    case.membership, case.level = np.arange(8) < 4, 0.9

    def measure(scores, guesses, truth, fprs, settings):
        people = settings.pop("groups")
        seen.append((scores.tolist(), guesses.tolist(), truth.sum(), fprs, settings))
        seen[-1] += (people if people is None else "".join(people),)
        return [{"metric": "auc", "n": len(truth)}]

    with mock.patch.object(_measure, "_measure_subset", measure):
        found = _measure.measure_attack("a", np.arange(8), -np.arange(8), case)
    return [tuple(one.values()) for one in found], seen


def measure_subset(resolvable=True, n_others=20, fprs=(0.5,)):
    """Measure a part of the records, with a number at the rates that can be resolved."""
    truth, seen = np.r_[np.ones(4), np.zeros(n_others)], []
    point = NS(resolvable=resolvable, tpr=0.5, tpr_low=0.4, tpr_high=0.6)
    point.fpr, point.fpr_low, point.fpr_high = 0.25, 0.125, 0.375

    def operate(given, scores, rate, *, on_unresolvable, **settings):
        assert given is truth and on_unresolvable == "ignore"
        seen.append((scores, rate, settings))
        return point

    parts = {
        "auc_interval": lambda truth, scores, **settings: (0.75, 0.7, 0.8),
        "advantage_interval": lambda truth, guesses, **settings: (len(guesses), -0.25, 0.25),
        "operating_point": operate,
    }
    with mock.patch.multiple(_measure, **parts):
        found = _measure._measure_subset("scores", "guess", truth, fprs, {"level": 0.9})
    return [tuple(one.values()) for one in found], seen


def list_subsets(group, classes=False, most=20, **fields):
    """Return the names and the records of each part of four records of three classes."""
    records = Records(np.zeros((4, 1)), array([0, 2, 1, 2]), **fields)
    with mock.patch.multiple(_measure, _MOST_CLASSES=most, _MOST_GROUPS=most):
        found = [*_measure.list_subsets(records, group, classes=classes)]
    assert found[0][:2] == ("overall", "all") and found[0][2].all()
    assert len(_measure.list_subsets(records, group, classes=classes and most > 2)) == len(found)
    return [(scope, name, np.flatnonzero(mask).tolist()) for scope, name, mask in found[1:]]


def refuse_group(group):
    return (tell_refusal(lambda: list_subsets(group, **SEXES)) or "")[:32]


def number(metric, rate=nan, values=(nan,) * 3, rates=(nan,) * 3, status="ok"):
    return metric, rate, *values, *rates, status


ALL_OF_IT = ([*range(8)], [-k for k in range(8)], 4, (0.1, 0.2), {"confidence_level": 0.9})
SEXES = {"sex": array(["f", "m", "f", "f"]), "age": array([1.0, nan, 2.5, 1.0])}
OF_SEX = [("sex", "f", [0, 2, 3]), ("sex", "m", [1])]
OF_CLASS = [("class", "0", [0]), ("class", "1", [2]), ("class", "2", [1, 3])]
WHOLE_ROW = "a", "overall", "all", 4, 4, "auc", 8
TOO_FEW_ROWS = [("auc", nan), ("advantage", nan), ("tpr", 0.1), ("tpr", 0.2)]
MEASURED = [
    # One member is too few, and two are not.
    (
        measure_attack,
        (
            [
                WHOLE_ROW,
                *(
                    ("a", "sex", "f", 1, 3, *number(*one, status="too few records"))
                    for one in TOO_FEW_ROWS
                ),
            ],
            [(*ALL_OF_IT, "aabbccdd")],
        ),
    ),
    (lambda: measure_attack(people=None)[1], [(*ALL_OF_IT, None)]),
    (lambda: measure_attack(fprs=())[0][1:][-1][5], "advantage"),
    (
        measure_subset,
        (
            [
                number("auc", values=(0.75, 0.7, 0.8)),
                number("advantage", values=(5, -0.25, 0.25)),
                number("tpr", 0.5, (0.5, 0.4, 0.6), (0.25, 0.125, 0.375)),
            ],
            [("scores", 0.5, {"level": 0.9})],
        ),
    ),
    (
        lambda: [one[2:] for one in (measure_subset(False)[0][2], measure_subset()[0][2])],
        [
            number("", values=(nan,) * 3, status="not resolvable")[2:],
            (0.5, 0.4, 0.6, 0.25, 0.125, 0.375, "ok"),
        ],
    ),
    # Rates at which 19 others allow fewer than ten are not asked.
    (
        lambda: [one[-1] for one in measure_subset(n_others=19, fprs=(0.5, 0.6))[0][2:]],
        ["not resolvable", "ok"],
    ),
    (lambda: len(measure_subset(n_others=19, fprs=(0.5, 0.6))[1]), 1),
    (lambda: list_subsets(None), []),
    (lambda: list_subsets("sex", **SEXES), OF_SEX),
    # Numbers of a column with missing values are whole again.
    (
        lambda: list_subsets(["age", "sex", "age"], **SEXES),
        [("age", _measure.MISSING, [1]), ("age", "1", [0, 3]), ("age", "2.5", [2]), *OF_SEX],
    ),
    (lambda: list_subsets("sex", classes=True, **SEXES), [*OF_SEX, *OF_CLASS]),
    (lambda: list_subsets(None, classes=True), OF_CLASS),
    (lambda: list_subsets(None, classes=True, most=3), OF_CLASS),
    (lambda: list_subsets(None, classes=True, most=2), []),
    (lambda: list_subsets(("class",), classes=True, **{"class": SEXES["sex"]})[0][1], "f"),
    # Classes have the words of the user, of which several may be one class.
    (
        lambda: list_subsets(
            None, classes=True, **{_measure.CLASS_NAME: array(["no", "yes", "b", "a"])}
        ),
        [("class", "a or yes", [1, 3]), ("class", "b", [2]), ("class", "no", [0])],
    ),
    (lambda: len(list_subsets("sex", most=2, **SEXES)), 2),
    (
        lambda: tell_refusal(lambda: list_subsets("sex", most=1, **SEXES)),
        "The field 'sex' has 2 values; at most 1 groups are reported, so put the values into "
        "bands.",
    ),
    (
        lambda: tell_refusal(lambda: list_subsets("no", no=array([nan] * 4))),
        "The field 'no' has no value for any record.",
    ),
    (
        lambda: tell_refusal(lambda: list_subsets(["overall"]))[:33],
        "group must not name a field 'over",
    ),
    (lambda: tell_refusal(lambda: list_subsets([3]))[:34], "group must name a field of the rec"),
    (
        lambda: tell_refusal(lambda: list_subsets({"sex"}))[:34],
        "group must name a field of the rec",
    ),
    (
        lambda: _measure.find_equal(
            pd.DataFrame({"a": list("xyx"), "b": list("uuv")}), a="x", b="u"
        ),
        [True, False, False],
    ),
]


# -- people


def person(name="ann", n=2, pvalue=0.0123, **more):
    return {"person": name, "n_records": n, "pvalue": pvalue, "score": 1.0} | more


def of_people(**changed):
    usual = {"n_members": 1200, "n_nonmembers": 30, "n_mixed": 0, "attack": "a", "combine": "sum"}
    usual |= {"auc": 0.75, "low": 0.7, "high": 0.8, "pvalue": 0.01, "n_permutations": 999}
    return usual | {"exposed": []} | changed


def find_people(*exposed, evidence="leak", **changed):
    found = _people.find_people(of_people(exposed=list(exposed), **changed), ROWS_OF_A, evidence)
    return found.line, found.named, len(found.exposed), found.more


def describe_people(*rows, **changed):
    return _people._describe_people(of_people(**changed), rows)


def measure_people(judged, *, names="aabbccdd", inside=(1, 1, 0, 0, 1, 1, 0, 0), few=2):
    """Measure people by two attacks, of which the first has a neutral score of .5."""
    case = NS(people=array(list(names)), membership=array(inside) > 0, level=0.95)
    case.seeds, seen = {"checks": 3}, []
    scores = {"sums": np.arange(8.0), "means": 7.0 - np.arange(8.0)}
    run = NS(scores=scores, judged={name: array(one) > 0 for name, one in judged.items()})
    run.fitted = {name: name for name in judged}

    def test(membership, scores, **given):
        seen.append((membership.tolist(), {k: one.tolist() for k, one in scores.items()}, given))
        frame = pd.DataFrame({"attack": [*scores], "pvalue_adjusted": np.arange(len(scores)) / 8})
        return NS(frame=frame)

    parts = {
        "get_neutral": lambda attack: {"sums": 0.5, "means": None}[attack],
        "permutation_test": test,
        "_rank_exposed_members": lambda people, rows, own: (rows.tolist(), own.tolist()),
        "auc_interval": lambda sides, own, confidence_level: (confidence_level, 0.0, 1.0),
        "count_permutations": lambda level: int(1000 * level),
        "FEWEST": few,
    }
    with mock.patch.multiple(_examine, **parts):
        return _examine.measure_people(case, run), seen


ROWS_OF_A = [
    {"attack": "b", "scope": "overall", "metric": "auc", "status": "ok", "estimate": 0.5},
    {"attack": "a", "scope": "sex", "metric": "auc", "status": "ok", "estimate": 0.51},
    {"attack": "a", "scope": "overall", "metric": "tpr", "status": "ok", "estimate": 0.52},
    {"attack": "a", "scope": "overall", "metric": "auc", "status": "x", "estimate": 0.53},
    {"attack": "a", "scope": "overall", "metric": "auc", "status": "ok", "estimate": 0.6},
]
MORE_RECORDS = "1,299 more records have the score of the last one."
SIDES_OF_PEOPLE = "1,200 people who are members, 30 who are not"
OF_EACH = "each person taken alone."
SEPARATES = "scores of each person separates them with AUC 0.750 [0.700, 0.800]"
RESTS = "The verdict rests on the numbers of records, and stays open if only people are found."
PEOPLE = [
    (lambda: _people.find_people(None, [], "leak"), None),
    (find_people, ("1,200 who are members, AUC 0.750", "", 0, "")),
    (lambda: find_people(auc=None)[0], "1,200 who are members, too few to be measured"),
    (
        lambda: find_people(person(), person("bob", 1)),
        (
            "1,200 who are members, AUC 0.750; most exposed: ann, bob",
            "Most exposed people: ann (2 records, p = 0.012), bob (1 record, p = 0.012); p is the "
            f"share of non-members whose score is as high, for {OF_EACH}",
            *(2, ""),
        ),
    ),
    # Nobody is named where nothing leaks, and of many the first five.
    (lambda: find_people(person(), evidence="none")[1:3], ("", 0)),
    (
        lambda: find_people(*map(person, "abcdefg"))[0].partition("; ")[2],
        "most exposed: a, b, c, d, e",
    ),
    (lambda: find_people(*map(person, "abcdefg"))[1].count(" records, "), 5),
    (lambda: len(find_people(person("a" * 99))[0]), 68),
    # Who has the score of the last one, and is not listed.
    (
        lambda: find_people(person(n_equal=2), person(n_equal=4))[1].partition(OF_EACH)[2],
        " 2 more people have the score of the last one.",
    ),
    (lambda: find_people(person(n_equal=2))[3], "1 more person has the score of the last one."),
    (lambda: find_people(person(n_equal=1))[3], ""),
    (
        lambda: find_people(*[person(n_equal=7)] * 7)[1].partition(OF_EACH)[2],
        " 2 more people have the score of the last one.",
    ),
    (lambda: _measure.count_unlisted([]), 0),
    (lambda: _people.tell_unlisted([person(n_equal=1300)]), MORE_RECORDS),
    (
        lambda: describe_people(*ROWS_OF_A),
        f"{SIDES_OF_PEOPLE}. The sum of the a {SEPARATES} (p = 0.01 by permutation of people, "
        f"corrected for all attacks), single records with 0.600. {RESTS}",
    ),
    (
        lambda: describe_people(n_mixed=1)[: len(SIDES_OF_PEOPLE) + 46],
        f"{SIDES_OF_PEOPLE}, 1 with records on both sides who is left out",
    ),
    (
        lambda: describe_people(*ROWS_OF_A[:4], n_mixed=1500, pvalue=0.001),
        f"{SIDES_OF_PEOPLE}, 1,500 with records on both sides who are left out. The sum of the a "
        f"{SEPARATES} (p \u2264 0.001 by permutation of people, corrected for all attacks). "
        f"{RESTS}",
    ),
    (
        lambda: describe_people(auc=None),
        f"{SIDES_OF_PEOPLE}. These are too few to measure how well they are identified.",
    ),
    # Sums of what is above a neutral score, and means; whoever cannot be judged has 0.
    (
        lambda: measure_people({"sums": [1] * 8, "means": [1, 1, 1, 0, 0, 0, 1, 1]}, few=1)[1],
        [
            (
                [True, False, True, False],
                {"sums": [0.0, 4.0, 8.0, 12.0], "means": [6.5, 5.0, 0.0, 0.5]},
                {
                    "judged": {"sums": [True] * 4, "means": [True, True, False, True]},
                    "n_permutations": 950,
                    "random_state": 3,
                },
            )
        ],
    ),
    (
        lambda: measure_people({"sums": [1] * 8})[0],
        {
            **{"attack": "sums", "combine": "sum", "n_mixed": 0, "n_members": 2},
            **{"n_permutations": 950, "n_nonmembers": 2, "auc": 0.95},
            **{"low": 0.0, "high": 1.0, "pvalue": 0.0},
            "exposed": ([0, 1, 2, 3], [0.0, 4.0, 8.0, 12.0]),
        },
    ),
    (
        lambda: [
            measure_people({"sums": [1] * 8, "means": [1] * 8})[0][name]
            for name in ("attack", "combine", "pvalue")
        ],
        ["means", "mean", 0.125],
    ),
    # People on both sides are left out, and so is an attack that judges no member.
    (
        lambda: measure_people({"sums": [1] * 8}, inside=(1, 1, 0, 0, 1, 0, 1, 1), few=1)[1][0][:2],
        ([True, False, True], {"sums": [0.0, 4.0, 12.0]}),
    ),
    (
        lambda: measure_people(
            {"sums": [1] * 8, "means": [0, 0, 1, 1, 0, 0, 1, 1]},
        )[0]["attack"],
        "sums",
    ),
    (lambda: measure_people({"sums": [1] * 8}, few=3)[0]["auc"], None),
    (lambda: measure_people({"sums": [1] * 8}, few=3)[0]["n_nonmembers"], 2),
    (lambda: measure_people({"sums": [1] * 8}, names="abcdefgh"), (None, [])),
    (lambda: measure_people({}), (None, [])),
]


STOPPED = [
    (lambda: chooses_epoch("EarlyStopping"), True),
    (lambda: chooses_epoch("EarlyStopping", monitor="valid_loss"), True),
    (lambda: chooses_epoch("EarlyStopping", monitor="train_loss"), False),
    (lambda: chooses_epoch("EarlyStopping", monitor=len), True),
    (lambda: chooses_epoch("Checkpoint"), False),
    (lambda: chooses_epoch("Checkpoint", load_best=True), True),
    (lambda: chooses_epoch("Checkpoint", load_best=True, monitor="train_loss_best"), False),
    (lambda: chooses_epoch("Other", load_best=True), False),
    # Tensors, or features and labels, of a fixed set of rows by which an epoch is chosen.
    (lambda: stop_net(NS(tensors=("X", "y")), False, True), (True, [[("X", "y")]])),
    (lambda: stop_net(NS(X="X", y="y"), True), (True, [[("X", "y")]])),
    (lambda: stop_net(NS(tensors=("X", "y", "w")), True), (False, [])),
    (lambda: stop_net(NS(X="X", y="y"), False), (False, [])),
    (lambda: stop_net(NS(X="X", y="y")), (False, [])),
    (lambda: stop_net(None, True), (False, [])),
    (lambda: stop_net(NS(X="X", y="y"), True, keywords="other"), (False, [])),
    # As many records as a check may read are read as they are.
    (lambda: within_budget(n=5), ("Told.", [("check", True, "run", "found")])),
    (
        within_budget,
        (
            f"Told. {SHARE_OF_TEN}",
            [(10, "parts", 5, 9, False), ("check", "case of [4 2]", "run of [4 2]", "found")],
        ),
    ),
    (lambda: within_budget(people=list("aabbccddee"))[1][0][4], True),
    (lambda: within_budget(answer=None)[0], None),
    (
        take_rows,
        (
            *([9, 7], [90, 70], [900, 700], ["sex", "f"], [True, True]),
            *([3, 1], [6, 2], [9, 3], [12, 4], [None, [0.7, 0.5]]),
        ),
    ),
    (lambda: ask_check(), "case run"),
    (lambda: ask_check(["good", "missing"]), "case run"),
    (
        lambda: ask_check(["good", "bad"]),
        ("error", "The check failed because it needs bad, which failed."),
    ),
    (lambda: ask_check(lacks=["own"]), ("error", "own lacks memory.")),
    (lambda: ask_check(lacks=["other"]), "case run"),
    (lambda: ask_check(error=ValueError("Odd.")), ("error", "The check failed: Odd.")),
    (
        measure_repetitions,
        (
            ({"attack": "a", "numbers": "numbers"}, {"attack": "a", "scopes": ["scope"]}),
            [("records [0 1]", [[True, False]], 0.9, 5)],
        ),
    ),
    (lambda: measure_repetitions("none"), ((None, None), [])),
    (lambda: measure_repetitions(error=MemoryError())[0][1], {"attack": "a", "scopes": []}),
    (lambda: tell_refusal(lambda: measure_repetitions(error=ValueError("odd"))), "odd"),
    # A check comes after those that it reads, and the others stay in their order.
    (lambda: sort_by_reads(a="", b="", c=""), "abc"),
    (lambda: sort_by_reads(a="c", b="a", c="", d=""), "cabd"),
    (
        lambda: tell_refusal(lambda: sort_by_reads(a="", b="c", c="b")),
        "checks read others that are missing or read them in turn: b, c.",
    ),
    (lambda: list_noted(Booster(0.5)), [0.5]),
    (lambda: list_noted(Booster(None, best_score_={"a": 0.25, "b": {"c": 2}})), [0.25, 2.0] * 2),
    (lambda: list_noted(NS(_best_score=0.75)), [0.75]),
    (lambda: list_noted(NS(best_score=inf, _best_score=nan)), []),
    (lambda: list_noted(NS(best_estimator_=Booster(0.5))), [0.5]),
    (lambda: list_noted(make_pipeline(Booster(0.25), Booster(0.5))), [0.5]),
    (lambda: list_noted(NS()), []),
    (lambda: stop_training(), "the scor"),
    (lambda: stop_training(given=True), "they are"),
    (lambda: stop_training([]), None),
    (lambda: stop_training(others=[0.75]), None),
    (lambda: stop_training(members=[0.75, 0.5]), None),
    (lambda: stop_training([0.1, 0.5], [0.75], [0.25, 0.5]), "the scor"),
    # Half of the held-out rows, with their labels, are among validation rows.
    (lambda: are_given([4, 5, 0]), True),
    (lambda: are_given([4, 0, 1]), False),
    (lambda: are_given([4, 5], [0, 1]), False),
    (lambda: are_given([4, 5], params=len), False),
    (
        lambda: are_given(
            [], params={"X_val": 3, "y_val": 4, "eval_set": [(array([[4.0], [5.0]]), np.zeros(2))]}
        ),
        True,
    ),
    (
        lambda: withhold(),
        {"known": "asked known", "other": ("other", "not run", ENDED)},
    ),
    (lambda: fit_sides(), (("scores", [True, False, True]), ("scores", [False, True, False]))),
    (lambda: fit_clones(), ([(0, [True, False, False]), (1, [True, False, True])] * 2, 2)),
    # Checks are asked after those that they read, and listed in their own order.
    (lambda: examine(), ({"b": ("b", ["a"]), "a": ("a", [])}, "people", [])),
    (lambda: examine(memory=True)[0], {"b": ("b", [])}),
    (lambda: examine(error=MemoryError())[1:], (None, ["person level"])),
    (lambda: examine(error=KeyError("odd")), "'odd'"),
]


def test_shared_rows_by_hand():
    expect_answers(SHARED)


def test_widened_intervals_by_hand():
    expect_answers(WIDENED)


def test_sides_by_hand():
    expect_answers(SIDES)


def test_rates_by_hand():
    expect_answers(RATES)


def test_copies_by_hand():
    expect_answers(COPIES)


def test_fits_by_hand():
    expect_answers(FITS)


def test_permuted_numbers_by_hand():
    expect_answers(PERMUTED)


def test_other_numbers_by_hand():
    expect_answers(OTHERS)


def test_forms_of_values_by_hand():
    expect_answers(FORMS)


def test_curves_and_used_rows_by_hand():
    expect_answers(CURVES)


def test_numbers_of_attacks_by_hand():
    expect_answers(MEASURED)


def test_people_by_hand():
    expect_answers(PEOPLE)


def test_gaps_by_hand():
    expect_answers(GAPS)


def test_stopped_trainings_and_audits_by_hand():
    expect_answers(STOPPED)
