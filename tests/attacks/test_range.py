"""Range membership."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, LiRA, QuantileAttack, RangeAttack, RenyiAttack, ThresholdAttack
from skmia.attacks.ranges import GaussianRange, UnknownValues
from skmia.base import BaseAttack, Needs, Offer
from skmia.datasets import make_membership_problem


class FirstFeature(BaseAttack):
    """Its score is the first feature, and its threshold is 0.25."""

    def __init__(self, victim=None):
        self.victim = victim

    def _needs(self):
        return Needs(frozenset({"proba"}))

    def _fit(self, records, membership):
        pass

    def _score_samples(self, records):
        return records.X[:, 0]

    def _natural_offset(self, records):
        return 0.25


class Noted:
    """A sampler that keeps the noise that it added."""

    def __init__(self):
        self.drawn = []

    def __call__(self, records, rng):
        self.drawn.append(rng.uniform())
        return Records(records.X + self.drawn[-1], records.y)


@pytest.fixture(scope="module")
def problem():
    records, membership = make_membership_problem(400, random_state=0)
    members = records[membership == 1]
    victim = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    pool = ShadowPool(victim, 8, store="models", random_state=0).fit(records)
    return FrozenEstimator(victim), FrozenEstimator(pool), records, membership


@pytest.mark.parametrize(
    "trim, kept",
    [((0, 1), slice(0, 5)), ((0.4, 1.0), slice(2, 5)), ((0.2, 0.6), slice(1, 3))],
)
def test_the_score_is_the_trimmed_mean_of_the_scores_of_the_points(problem, trim, kept):
    victim, _, records, _ = problem
    sampler = Noted()
    attack = RangeAttack(
        victim, FirstFeature(), sampler=sampler, n_samples=5, trim=trim, random_state=0
    ).fit(records)
    sampler.drawn.clear()
    scores = attack.score_samples(records)
    points = [(records.X[:, 0] + one).astype(float) for one in sorted(sampler.drawn)]
    np.testing.assert_allclose(scores, np.mean(points[kept], axis=0), rtol=1e-12)
    assert attack.offset_ == 0.25
    assert len(sampler.drawn) == 5


def test_a_trim_between_two_quantiles_keeps_one_score(problem):
    victim, _, records, _ = problem
    sampler = Noted()
    attack = RangeAttack(
        victim, FirstFeature(), sampler=sampler, n_samples=3, trim=(0.9, 1), random_state=0
    ).fit(records)
    sampler.drawn.clear()
    scores = attack.score_samples(records)
    np.testing.assert_array_equal(scores, records.X[:, 0] + max(sampler.drawn))


@pytest.mark.parametrize(
    "attack",
    [LiRA(), *(pytest.param(one, marks=pytest.mark.slow) for one in (RMIA(), LiRA(online=False)))],
)
def test_more_points_of_a_range_tell_more(problem, attack):
    victim, pool, records, membership = problem
    aucs = []
    for n_samples in (1, 8):
        ranges = RangeAttack(
            *(victim, attack, pool), sampler=GaussianRange(0.3), n_samples=n_samples, random_state=0
        )
        aucs.append(roc_auc_score(membership, ranges.fit(records).score_samples(records)))
    # Standard error of one AUC below 0.026, and of the difference on the same records much less.
    assert aucs[1] > 0.73
    assert aucs[1] > aucs[0] + 0.03


def test_values_that_are_unknown_are_not_read(problem):
    victim, pool, records, membership = problem
    others = records[membership == 0]
    ranges = RangeAttack(
        *(victim, RMIA(), pool), sampler=UnknownValues([0, 3], others), n_samples=5, random_state=0
    ).fit(records)
    scores = ranges.score_samples(records)
    assert roc_auc_score(membership, scores) > 0.7
    X = records.X.copy()
    X[:, [0, 3]] = 7.0
    sampler, centers = UnknownValues([0, 3], others), Records(X, records.y)
    points, same = (sampler(one, np.random.RandomState(0)) for one in (records, centers))
    np.testing.assert_array_equal(points.X, same.X)
    # The two values of a point belong together.
    pairs = {tuple(row) for row in others.X[:, [0, 3]]}
    assert all(tuple(row) in pairs for row in points.X[:, [0, 3]])
    assert len(np.unique(points.X[:, 0])) > 100


def test_a_model_without_the_records_gives_nothing_away(problem):
    _, pool, records, membership = problem
    others, _ = make_membership_problem(300, random_state=1)
    victim = FrozenEstimator(RandomForestClassifier(10, random_state=0).fit(others.X, others.y))
    settings = {"sampler": GaussianRange(0.3), "n_samples": 5, "random_state": 0}
    ranges = RangeAttack(victim, RMIA(), pool, **settings)
    auc = roc_auc_score(membership, ranges.fit(records).score_samples(records))
    n_members = membership.sum()
    n_others = len(records) - n_members
    assert abs(auc - 0.5) < 3.3 * np.sqrt((len(records) + 1) / (12 * n_members * n_others))


def test_a_center_is_judged_where_each_of_its_points_is():
    ranges, points = RangeAttack(trim=(0.0, 1.0)), []
    ranges.attack_ = SimpleNamespace(offset_=0.5)
    for scores, can_judge in (([1.0, 2.0, 3.0], [1, 1, 0]), ([3.0, 4.0, 5.0], [1, 0, 1])):
        judge = {"score_samples": scores, "can_judge": np.array(can_judge, bool)}
        judge = {name: lambda points, found=found: found for name, found in judge.items()}
        points.append((SimpleNamespace(**judge), None))
    ranges._draw = lambda records: points
    below = np.nextafter(0.5, -np.inf)
    np.testing.assert_array_equal(ranges._score_samples(range(3)), [2.0, below, below])
    np.testing.assert_array_equal(ranges._can_judge(range(3)), [True, False, False])


def test_relatives_have_the_training_sets_of_their_originals(problem):
    _, pool, records, _ = problem
    points = Records(records.X + 1e-3, records.y)
    half = pool.estimator.with_relatives(points[::2], records[::2])
    np.testing.assert_array_equal(half.count_inside(points)[::2], pool.count_inside(records)[::2])
    assert not half.count_inside(points)[1::2].any()
    np.testing.assert_array_equal(half.count_inside(records), pool.count_inside(records))
    for rows, values, inside, n_inside in half.blocks(points[::2], 100):
        np.testing.assert_array_equal(inside, pool.membership(records[::2]).T[:, rows])
        np.testing.assert_array_equal(n_inside, inside.sum(axis=0))
        assert values.shape[1:] == inside.shape


def test_tables_keep_their_types():
    frame = pd.DataFrame(
        {
            "age": [30, 40, 50],
            "city": pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"]),
        }
    )
    records = Records(frame, [0, 1, 0], group=["x", "y", "y"])
    points = UnknownValues(["city"], records)(records, np.random.RandomState(0))
    assert points.X.dtypes.tolist() == frame.dtypes.tolist()
    assert points.X["age"].tolist() == [30, 40, 50]
    assert points["group"].tolist() == ["x", "y", "y"]
    others = Records(frame[:2].astype({"city": str}))
    points = UnknownValues(["city"], others)(records, np.random.RandomState(0))
    assert points.X.dtypes.tolist() == frame.dtypes.tolist()
    noisy = GaussianRange([1.0])(Records(frame[["age"]], [0, 1, 0]), np.random.RandomState(0))
    assert np.ptp(noisy.X["age"].to_numpy() - frame["age"]) < 1e-12


def test_needs_are_those_of_the_attack_and_queries():
    needs = RangeAttack(attack=LiRA()).needs()
    assert needs.keeps == LiRA().needs().keeps | {"models"}
    assert "queries" in needs.why_not(Offer("proba"))
    assert RangeAttack(attack=ThresholdAttack()).needs().keeps == frozenset()
    assert RangeAttack(attack=QuantileAttack()).needs().lacks == ("attack__population",)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"attack": RenyiAttack()}, "learns from known members"),
        ({"victim": None}, "stored outputs do not suffice"),
        ({"trim": (0.5, 0.5)}, "the smaller one first"),
        ({"sampler": lambda records, rng: records[:2]}, "one point for each record"),
    ],
)
def test_what_cannot_run_is_refused(problem, settings, message):
    victim, _, records, membership = problem
    given = {"victim": victim, "attack": ThresholdAttack(), **settings}
    with pytest.raises(ValueError, match=message):
        RangeAttack(**given).fit(records, membership)


def test_a_sampler_is_called_with_records_and_a_generator(problem):
    victim, _, records, membership = problem
    attack = RangeAttack(victim, ThresholdAttack(), sampler=lambda records: records)
    with pytest.raises(TypeError, match=r"called as f\(records, rng\); got <function"):
        attack.fit(records, membership)


def test_shadow_models_that_cannot_be_queried_are_refused(problem):
    victim, pool, records, _ = problem
    small = ShadowPool(victim.estimator, 4, random_state=0).fit(records)
    with pytest.raises(ValueError, match='store="models"'):
        RangeAttack(victim, LiRA(), FrozenEstimator(small)).fit(records)
    centers = Records(records.X + 0.01, records.y)
    with pytest.raises(ValueError, match="online=False"):
        RangeAttack(victim, LiRA(), pool).fit(centers)
    RangeAttack(victim, LiRA(online=False), pool, n_samples=2).fit(centers)


def make_tensors():
    return Records(pytest.importorskip("torch").eye(3))


@parametrize_refusals(
    (lambda: GaussianRange(0.0), "scale"),
    (lambda: UnknownValues([0], None), "population"),
    (lambda: UnknownValues("age", Records(np.eye(2))), "columns"),
    (lambda: UnknownValues([4], Records(np.eye(3)))(Records(np.eye(3)), 0), "column 4"),
    (lambda: UnknownValues([True], Records(np.eye(3)))(Records(np.eye(3)), 0), "column True"),
    (lambda: UnknownValues([1.0], Records(np.eye(3)))(Records(np.eye(3)), 0), "column 1.0"),
    (lambda: UnknownValues([0], Records(np.eye(3)))(Records(np.eye(2)), 0), "population"),
    (lambda: UnknownValues([0], Records(np.eye(3)))(make_tensors(), 0), "got a tensor"),
)
def test_bad_ranges_are_refused(call, words, error):
    check_refusal(call, words, error)
