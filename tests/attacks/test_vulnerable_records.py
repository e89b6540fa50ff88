"""Who has neighbors, and what is said of those who have none."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import VulnerableRecordsAttack
from skmia.exceptions import ResolutionWarning

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(200, 4)), RNG.integers(3, size=200)
RECORDS = Records(X, Y)
MEMBERSHIP = np.arange(200) % 2
VICTIM = FrozenEstimator(LogisticRegression().fit(X[MEMBERSHIP == 1], Y[MEMBERSHIP == 1]))
POOL = FrozenEstimator(
    ShadowPool(LogisticRegression(), 16, store="outputs", random_state=0).fit(RECORDS)
)


def fit(**settings):
    settings = {"level": 0.2, **settings}
    return VulnerableRecordsAttack(VICTIM, POOL, random_state=0, **settings).fit(RECORDS)


@pytest.mark.parametrize("radius, max_neighbors", [(0.001, 0), (0.004, 2), (0.05, 110)])
def test_neighbors_are_those_of_two_loops(radius, max_neighbors):
    answers = np.moveaxis(POOL.estimator.answers(RECORDS), 0, 1).reshape(200, -1)
    lengths = np.linalg.norm(answers, axis=1)
    distance = 1 - answers @ answers.T / np.outer(lengths, lengths)
    np.fill_diagonal(distance, np.inf)
    # No pair lies so close to the radius that rounding decides.
    assert np.abs(distance - radius).min() > 1e-7
    expected = (distance <= radius).sum(axis=1) <= max_neighbors
    assert 0 < expected.sum() < 200
    attack = fit(radius=radius, max_neighbors=max_neighbors)
    np.testing.assert_array_equal(attack.is_vulnerable(RECORDS), expected)
    np.testing.assert_array_equal(attack.is_vulnerable(RECORDS[:7]), expected[:7])


def test_the_score_is_minus_the_logarithm_of_a_p_value_within_a_rank():
    attack = fit(radius=0.0)  # nobody has a neighbor
    scores = attack.score_samples(RECORDS)
    pool = POOL.estimator
    target = pool.victim_values(VICTIM, RECORDS)[0]
    evidence, inside = pool.transform(RECORDS), pool.membership(RECORDS)
    for k in range(200):
        out = evidence[k][~inside[k]]
        above = (out >= target[k]).sum()
        assert above / (1 + len(out)) <= np.exp(-scores[k]) <= (1 + above) / (1 + len(out))
    assert attack.offset_ == -np.log(0.2)


@pytest.mark.parametrize("max_neighbors", [0, 3])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_share_of_the_records_is_tested(share, max_neighbors):
    attack = fit(share=share, max_neighbors=max_neighbors)
    assert attack.is_vulnerable(RECORDS).sum() == 200 * share
    fixed = fit(radius=attack.radius_, max_neighbors=max_neighbors)
    np.testing.assert_array_equal(fixed.is_vulnerable(RECORDS), attack.is_vulnerable(RECORDS))


def test_few_models_leave_no_ties():
    pool = ShadowPool(LogisticRegression(), 8, store="outputs", random_state=0).fit(RECORDS)
    attack = VulnerableRecordsAttack(
        VICTIM, FrozenEstimator(pool), level=0.2, radius=0.0, random_state=0
    )
    assert len(np.unique(attack.fit(RECORDS).score_samples(RECORDS))) == 200


def test_records_with_neighbors_are_no_evidence():
    attack = fit(radius=0.003)
    vulnerable = attack.is_vulnerable(RECORDS)
    scores = attack.score_samples(RECORDS)
    np.testing.assert_array_equal(scores[~vulnerable], 0)
    np.testing.assert_array_equal(
        scores[vulnerable], fit(radius=0.0).score_samples(RECORDS)[vulnerable]
    )
    assert not attack.predict(RECORDS)[~vulnerable].any()


def test_vulnerable_members_of_an_overfit_victim_are_found():
    tree = DecisionTreeClassifier(random_state=0)
    model = FrozenEstimator(tree.fit(X[MEMBERSHIP == 1], Y[MEMBERSHIP == 1]))
    pool = ShadowPool(tree, 40, store="outputs", random_state=0).fit(RECORDS)
    attack = VulnerableRecordsAttack(model, FrozenEstimator(pool), radius=0.2, random_state=0)
    vulnerable = attack.fit(RECORDS).is_vulnerable(RECORDS)
    assert vulnerable.sum() > 50
    scores = attack.score_samples(RECORDS)
    members = vulnerable & (MEMBERSHIP == 1)
    assert scores[members].mean() > 2 * scores[vulnerable & (MEMBERSHIP == 0)].mean()


def test_a_threshold_for_a_rate_counts_the_silent_records():
    attack = fit(radius=0.003, target_fpr=0.02)
    rounds = attack.score_left_out(RECORDS, range(16))
    rest = np.concatenate([scores[judged & ~inside] for _, scores, inside, judged in rounds])
    assert np.mean(rest >= attack.offset_) <= 0.02


def test_references_are_drawn_where_there_are_many():
    attack = fit(radius=0.003, n_references=50)
    assert len(attack._references) == 50
    assert attack.is_vulnerable(RECORDS).sum() >= fit(radius=0.003).is_vulnerable(RECORDS).sum()


def test_the_pool_must_have_kept_its_answers():
    pool = ShadowPool(LogisticRegression(), 4, store="signals", random_state=0).fit(RECORDS)
    with pytest.raises(ValueError, match="outputs"):
        VulnerableRecordsAttack(VICTIM, FrozenEstimator(pool)).fit(RECORDS)


def test_a_level_that_cannot_be_reached_is_named():
    with pytest.warns(ResolutionWarning, match=r"down to 0\.11; level=0\.05 is in the tail"):
        fit(level=0.05)


def test_a_record_without_an_in_model_can_be_judged_and_one_without_an_out_model_cannot():
    answers = POOL.estimator.to_answers()
    membership = answers.membership.copy()
    membership[:, 0], membership[:, 1] = False, True
    lacking = FrozenEstimator(POOL.estimator.with_answers(replace(answers, membership=membership)))
    attack = VulnerableRecordsAttack(VICTIM, lacking, radius=0.0, level=0.2).fit(RECORDS)
    np.testing.assert_array_equal(attack.can_judge(RECORDS), np.arange(200) != 1)
