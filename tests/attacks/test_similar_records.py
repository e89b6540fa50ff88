"""What models do to similar records, and who is likely to be a member, in the stack."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skmia import Outputs, Records, ShadowPool
from skmia._core.pseudo_victims import MOST_VICTIMS, choose_pairs
from skmia.attacks import StackedAttack, _stacked
from skmia.attacks._stacked import SimilarRecords

# Symmetric, so that both coordinates have the same scale.
ANGLES = np.deg2rad([0, 10, 20, 70, 80, 90])


def average(similar, records, values, number=64):
    """Means of values over the most similar records, of shape (n_values, n)."""
    return values @ similar.weigh(records, {number})[number].T.toarray()


@pytest.fixture
def known():
    """Two clusters of directions in class 0 and their opposites in class 1."""
    X = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    return Records(np.concatenate([X, -X]), np.repeat([0, 1], 6))


def test_means_are_over_the_nearest_records_of_the_class(known, monkeypatch):
    monkeypatch.setattr(_stacked, "_LEAST_WEIGHT", 0.0)
    means = average(SimilarRecords(known), known, np.arange(12.0)[None], 2)[0]
    # Weights are cosines minus that of the third record from the first one.
    weights = np.cos(ANGLES[1:3]) - np.cos(ANGLES[3])
    assert means[0] == pytest.approx(weights @ [1, 2] / weights.sum())
    assert 0 < means[1] < 2 < 3 < means[4] < 5
    assert np.allclose(means[6:], means[:6] + 6)


def test_blocks_and_order_do_not_matter(known, monkeypatch):
    values = np.random.default_rng(0).normal(size=(3, 12))
    similar, order = SimilarRecords(known), np.random.default_rng(1).permutation(12)
    whole = average(similar, known, values)
    assert np.allclose(average(similar, known[order], values), whole[:, order])
    for name in ("_BLOCK", "_MOST_CELLS"):
        monkeypatch.setattr(_stacked, name, 8)
        assert np.allclose(average(similar, known, values), whole)


def test_several_numbers_at_once(known):
    together = SimilarRecords(known).weigh(known, {1, 2, 64})
    assert list(np.diff(together[1].indptr)) == [1] * 12
    for number, weights in together.items():
        alone = SimilarRecords(known).weigh(known, {number})[number]
        assert np.array_equal(weights.toarray(), alone.toarray())


def test_unlike_records_have_a_mean_of_zero(known):
    values = np.ones((1, 12))
    others = Records([[1.0, 0.0]], [2])
    assert average(SimilarRecords(known), others, values) == 0
    alike = Records(np.ones((5, 2)), np.zeros(5, int))
    assert np.array_equal(average(SimilarRecords(alike), alike, np.ones((1, 5))), np.zeros((1, 5)))


@pytest.mark.parametrize(
    "convert",
    [
        sparse.csr_array,
        lambda X: np.where(X == X[3, 1], np.nan, X),
        lambda X: np.column_stack([X, np.full(len(X), np.nan)]),
        lambda X: pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down")}),
        lambda X: X.reshape(-1, 1, 2),
        lambda X: pd.DataFrame(X, columns=["a", "b"]).astype({"a": str}),
    ],
)
def test_features_of_any_kind(known, convert):
    records = Records(convert(np.asarray(known.X)), known.y)
    values = np.random.default_rng(0).normal(size=(2, 12))
    means = average(SimilarRecords(records), records, values)
    assert np.isfinite(means).all() and means.any()


def test_few_records_are_searched_where_each_is_large(known, monkeypatch):
    monkeypatch.setattr(_stacked, "_MOST_CELLS", 6)
    usable = np.arange(12) % 2 == 0
    few = _stacked._draw_usable_records(known, usable)
    assert len(few) == 3 and np.isin(few.fingerprint, known.fingerprint[usable]).all()
    again = _stacked._draw_usable_records(known[::-1], usable[::-1])
    assert np.array_equal(again.fingerprint, few.fingerprint[::-1])


@pytest.fixture(scope="module")
def clusters():
    """Models that move all records of a cluster together, by more than one training record."""
    rng = np.random.default_rng(0)
    n_clusters, size, n_models = 60, 10, 8
    cluster = np.repeat(np.arange(n_clusters), size)
    X = rng.normal(size=(n_clusters, 20))[cluster] + 0.1 * rng.normal(size=(len(cluster), 20))
    inside = rng.random((n_models, len(cluster))) < 0.5
    inside[1::2] = ~inside[::2]
    membership = rng.permutation(np.arange(len(cluster)) % 2).astype(bool)
    center = rng.normal(size=len(cluster))
    target, *shadows = (
        center
        + members
        + 2 * rng.normal(size=n_clusters)[cluster]
        + 0.5 * rng.normal(size=len(cluster))
        for members in (membership, *inside)
    )
    answers = Outputs(np.column_stack([np.zeros(len(target)), target]), [0, 1], "logits")
    records = Records(X, np.ones(len(cluster), int), outputs=answers)
    pool = FrozenEstimator(ShadowPool.from_scores(shadows, inside, records))
    return records, membership, StackedAttack(shadows=pool, boosted=False).fit(records)


def test_stack_knows_what_moves_similar_records(clusters):
    records, membership, attack = clusters
    bare = StackedAttack(shadows=attack.shadows, boosted=False).fit(Records(records.X, records.y))
    aucs = []
    for one in (attack, bare):
        assert ("similar_records" in one.feature_names_) == (one is attack)
        aucs.append(roc_auc_score(membership, one.score_samples(records)))
    # A gap of 1 and a variance of 4.25 give an AUC of 0.63, a variance of 0.25 of 0.92.
    assert aucs[0] > 0.75 and aucs[1] < 0.7


def test_record_scores_alike_alone_and_without_having_been_fitted(clusters):
    records, membership, attack = clusters
    whole = attack.score_samples(records)
    assert np.allclose(attack.score_samples(records[7:9]), whole[7:9])
    part = StackedAttack(shadows=attack.shadows, boosted=False).fit(records[::2])
    others = slice(1, None, 2)
    auc = roc_auc_score(membership[others], part.score_samples(records[others]))
    assert auc > 0.65


SIZE = 8


def draw_copies(shift, n_models=8, n_groups=100, seed=0):
    """Groups of near copies, all members or none: models say much of a half, little of the rest."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), SIZE)
    X = rng.normal(size=(n_groups, 10))[group] + 0.01 * rng.normal(size=(len(group), 10))
    inside = rng.random((n_models, n_groups)) < 0.5
    inside[1::2] = ~inside[::2]
    sides = np.vstack([rng.permutation(np.arange(n_groups) % 2).astype(bool), inside])[:, group]
    is_quiet = rng.random(len(group)) < 0.5
    noise = np.where(is_quiet, 0.5, 8.0) * rng.normal(size=sides.shape)
    target, *shadows = np.where(is_quiet, 1, 9) + shift * sides + noise
    answers = Outputs(np.column_stack([np.zeros(len(target)), target]), [0, 1], "logits")
    records = Records(X, np.ones(len(group), int), outputs=answers)
    pool = FrozenEstimator(ShadowPool.from_scores(shadows, sides[1:], records))
    return records, sides[0], pool


@pytest.fixture(scope="module")
def copies():
    records, membership, pool = draw_copies(1.0)
    return records, membership, StackedAttack(shadows=pool, boosted=False).fit(records)


def test_copies_are_judged_together(copies):
    records, membership, attack = copies
    power = attack.power_.set_index("score")["auc"]
    assert attack.chosen_ == "joint" == power.idxmax()
    auc = roc_auc_score(membership, attack.score_samples(records))
    # A quiet record alone has an AUC of 0.92, another one of 0.54: such records are judged by their
    # copies. Means of the signal do not tell which of them are quiet.
    assert auc > 0.82 and power["joint"] > power["logistic regression"] + 0.05
    proba = attack.predict_proba(records)[:, 1]
    error = np.sqrt(SIZE * np.sum(proba * (1 - proba))) / len(proba)
    assert abs(proba.mean() - membership.mean()) < 4 * error


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 2))]
)
def test_copies_without_a_leak_tell_nothing(seed):
    records, membership, pool = draw_copies(0.0, seed=seed)
    attack = StackedAttack(shadows=pool, boosted=False).fit(records)
    auc = roc_auc_score(membership, attack.score_samples(records))
    # At worst, all records of a group have one score.
    error = np.sqrt(101 / (3 * 100**2))
    assert abs(auc - 0.5) < 4 * error
    joint = attack.power_.set_index("score")["auc"]["joint"]
    assert abs(joint - 0.5) < 4 * error / np.sqrt(4)


def test_few_models_do_not_judge_together():
    records, _, pool = draw_copies(1.0, n_models=6, n_groups=50)
    attack = StackedAttack(shadows=pool, boosted=False).fit(records)
    assert "joint" not in set(attack.power_["score"])


def test_joint_scores_depend_on_the_record_and_the_fit_alone(copies):
    records, _, attack = copies
    whole = attack.score_samples(records)
    for some in (slice(7, 8), np.random.default_rng(0).permutation(len(records))):
        # Weights of similar records are in single precision.
        assert np.allclose(attack.score_samples(records[some]), whole[some], atol=1e-5)
    order = np.random.default_rng(1).permutation(len(records))
    again = StackedAttack(shadows=attack.shadows, boosted=False).fit(records[order])
    assert again.chosen_ == "joint"
    assert np.allclose(again.score_samples(records), whole, rtol=1e-5, atol=1e-4)
    kept = pickle.loads(pickle.dumps(attack))
    some = records[:5]
    assert np.allclose(kept.score_samples(some), attack.score_samples(some), rtol=1e-12)


def test_models_that_were_not_learned_from_are_judged_together_too():
    records, _, pool = draw_copies(1.0, n_models=20, n_groups=60)
    attack = StackedAttack(shadows=pool, boosted=False).fit(records)
    assert attack.chosen_ == "joint"
    learned = set(choose_pairs(pool.design_, MOST_VICTIMS)[0])
    others = sorted(set(range(20)) - learned)
    assert len(others) == 4
    ((_, scores, inside, _),) = attack.score_left_out(records, others)
    areas = [roc_auc_score(*one) for one in zip(inside, scores, strict=True)]
    assert np.mean(areas) > attack.power_.set_index("score")["auc"]["logistic regression"] + 0.05


def test_victim_is_asked_once_about_records_of_the_fit(copies, monkeypatch):
    records, _, attack = copies
    bare, asked, given = Records(records.X, records.y), [], records.fields["outputs"].values

    def answer(victim, some):
        asked.append(len(some))
        columns = attack.pool_.locate(some)
        return Outputs(given[columns], [0, 1], "logits")

    monkeypatch.setattr(_stacked, "query", answer)
    victim = FrozenEstimator(LogisticRegression().fit([[0], [1]], [0, 1]))
    again = StackedAttack(victim, attack.shadows, boosted=False).fit(bare)
    assert again.chosen_ == "joint" and asked == [len(records)]
    assert np.array_equal(again.score_samples(bare), attack.score_samples(records))
