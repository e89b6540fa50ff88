"""Attacks on people: sums by hand, what several records gain, and p-values of non-members."""

import numpy as np
import pytest
from scipy.stats import binom

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, LiRA, ThresholdAttack, attack_people, shadow_nonmember_scores
from skmia.attacks._attack_people import NumberedPeople
from skmia.metrics import auc_interval

WAYS = [(LiRA, "sum"), (RMIA, "sum"), (LiRA, "standardized"), (RMIA, "max"), (LiRA, "likelihood")]


def make_case(counts, *, leak=1.0, n_models=16, correlation=0.2, seed=0, cut=None, never=()):
    """Log odds of 16 shadow models and a victim, trained on random halves of the people."""
    rng, counts = np.random.default_rng(seed), np.asarray(counts)
    person, n_people = np.repeat(np.arange(len(counts)), counts), len(counts)
    inside = np.empty((n_models + 1, n_people), dtype=bool)
    for k in range(0, n_models, 2):
        inside[k] = rng.permutation(n_people) < n_people // 2
        inside[k + 1] = ~inside[k]
    inside[-1] = rng.permutation(n_people) < n_people // 2
    inside[:-1, never] = False
    noise = (1 - correlation) ** 0.5 * rng.normal(size=(n_models + 1, len(person)))
    noise += correlation**0.5 * rng.normal(size=inside.shape)[:, person]
    log_odds = rng.normal(size=len(person)) + leak * inside[:, person] + noise
    records = Records.from_ids(np.arange(len(person)), np.zeros(len(person)))
    of_models = inside[:-1, person].copy()
    if cut is not None:
        of_models[0, cut] = ~of_models[0, cut]
    pool = ShadowPool.from_scores(log_odds[:-1], of_models, records)
    answers = Outputs(log_odds[-1], kind="log_odds")
    return pool, records.with_fields(outputs=answers, group_by=person), inside[-1]


@pytest.mark.parametrize("kind", [LiRA, RMIA])
def test_sums_by_hand(kind):
    pool, records, _ = make_case([1, 3, 2, 1] * 20)
    attack, person = kind(None, pool).fit(records), records["group_by"]
    found = attack_people(attack, records)
    assert found.n_records.tolist() == [1, 3, 2, 1] * 20 and found.judged.all()
    sums = np.bincount(person, attack.score_samples(records))
    np.testing.assert_allclose(found.scores, sums)
    nulls = []
    for rows, scores, inside, _ in attack.score_left_out(records, np.arange(16)):
        assert rows == slice(0, len(records))
        nulls += [
            np.bincount(person, own)[~np.bincount(person, is_in).astype(bool)]
            for own, is_in in zip(scores, inside)
        ]
    np.testing.assert_allclose(found.nonmember_scores, np.concatenate(nulls))
    np.testing.assert_allclose(
        found.pvalues[:3],
        [(1 + (found.nonmember_scores >= s).sum()) / 641 for s in found.scores[:3]],
    )


def test_sums_of_equal_scores_in_another_order_tie():
    rng = np.random.default_rng(0)
    scores = np.array([rng.permutation([0.1, 0.2, 0.3, 0.7, 0.9]) for _ in range(40)]).ravel()
    people = NumberedPeople(np.arange(200) // 5)
    (sums,) = people.combine(scores[None], np.ones(200, dtype=bool), "sum")
    assert len(set(sums)) == 1


@pytest.mark.parametrize("kind, combine", WAYS)
def test_people_without_in_models_have_the_score_0(kind, combine):
    pool, records, _ = make_case([2] * 50, never=[3])
    found = attack_people(kind(None, pool).fit(records), records, combine=combine)
    assert np.flatnonzero(~found.judged).tolist() == [3]
    assert found.scores[3] == 0 and np.count_nonzero(found.scores) == 49


@pytest.mark.parametrize("kind, combine", WAYS)
def test_one_record_each_is_the_attack_on_records(kind, combine):
    pool, records, _ = make_case(np.ones(200, dtype=int))
    attack = kind(None, pool).fit(records)
    found = attack_people(attack, records, combine=combine)
    assert np.isnan(found.correlation)
    if combine == "standardized":
        return
    np.testing.assert_allclose(found.scores, attack.score_samples(records), rtol=1e-4, atol=1e-4)
    nulls = shadow_nonmember_scores(attack, records)
    np.testing.assert_allclose(found.nonmember_scores, nulls, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind, combine", WAYS[:3] + WAYS[4:])
def test_people_with_ten_records_are_found_more_surely(kind, combine):
    pool, records, is_in = make_case([10] * 400)
    attack, person = kind(None, pool).fit(records), records["group_by"]
    settings = {"confidence_level": 0.999}
    scores = attack.score_samples(records)
    alone = auc_interval(is_in[person], scores, groups=person, **settings)
    found = attack_people(attack, records, combine=combine)
    together = auc_interval(is_in, found.scores, **settings)
    assert 0.5 < alone.low < alone.high < together.low


def test_the_correlation_of_records_is_estimated():
    pool, records, _ = make_case([10] * 200)
    found = attack_people(LiRA(None, pool).fit(records), records, combine="likelihood")
    assert found.correlation == pytest.approx(0.2, abs=0.05)  # 8 models of 200 people


@pytest.mark.parametrize("kind, combine", WAYS)
def test_pvalues_of_nonmembers_keep_their_level(kind, combine):
    n_small = n_people = 0
    for seed in range(2):
        counts = np.random.default_rng(seed).integers(1, 12, size=200)
        pool, records, is_in = make_case(counts, seed=seed)
        found = attack_people(kind(None, pool).fit(records), records, combine=combine)
        n_small += (found.pvalues[~is_in] <= 0.05).sum()
        n_people += 100
    assert n_small <= binom.ppf(0.9995, n_people, 0.05)
    assert n_small >= binom.ppf(0.0005, n_people, 0.05)


def test_standardized_people_of_any_size_have_one_false_positive_rate():
    counts = [1] * 200 + [20] * 200
    # Where nothing leaks, sums of log ratios are about the noise of people alone.
    pool, records, is_in = make_case(counts, leak=0.5, correlation=0.5, n_models=32)
    attack, large = RMIA(None, pool).fit(records), np.asarray(counts) > 1
    shares = {}
    for combine in ("sum", "standardized"):
        found = attack_people(attack, records, combine=combine)
        small = found.pvalues <= 0.1
        shares[combine] = [small[~is_in & large].mean(), small[~is_in & ~large].mean()]
    n_each = min((~is_in & large).sum(), (~is_in & ~large).sum())
    assert shares["sum"][0] > shares["sum"][1]
    most, least = binom.ppf([0.999, 0.001], n_each, 0.1) / n_each
    assert least <= min(shares["standardized"]) <= max(shares["standardized"]) <= most


def test_models_with_some_records_of_a_person_are_refused():
    pool, records, _ = make_case([2] * 50, cut=7)
    attack = LiRA(None, pool).fit(records)
    with pytest.raises(ValueError, match="Of 1 of 50 people, such as 3, some shadow models"):
        attack_people(attack, records)


def test_bad_input_is_refused():
    pool, records, _ = make_case([2] * 50)
    attack = RMIA(None, pool).fit(records)
    with pytest.raises(ValueError, match="combine must be one of 'sum'"):
        attack_people(attack, records, combine="mean")
    with pytest.raises(ValueError, match=r"combine must be one of .*; got array\("):
        attack_people(attack, records, combine=np.array(["sum", "max"]))
    with pytest.raises(TypeError, match="combine='likelihood' is for LiRA; got RMIA"):
        attack_people(attack, records, combine="likelihood")
    with pytest.raises(ValueError, match="pass groups="):
        attack_people(attack, Records(records.X, records.y, outputs=records["outputs"]))
    simple = ThresholdAttack().fit(records)
    with pytest.raises(TypeError, match="shadow models that can take its place; got Threshold"):
        attack_people(simple, records)
    with pytest.raises(TypeError, match="compares records with shadow models; got Threshold"):
        shadow_nonmember_scores(simple, records)
    groups = np.arange(100) // 2
    again = attack_people(attack, records, groups=groups)
    assert (again.scores == attack_people(attack, records).scores).all()


def test_the_summary_counts_people_that_are_found():
    pool, records, _ = make_case([1, 3] * 20, leak=3.0)
    found = attack_people(LiRA(None, pool).fit(records), records)
    n_found = (found.pvalues <= 0.05).sum()
    text = str(found)
    assert text == found.summary()
    assert text.startswith("40 people with 1 to 3 records each, combine='sum'")
    assert f"{n_found} of 40 have a p-value of at most 0.05; without members about 2" in text
    assert "correlation" in text and "too few" not in text


def test_messages_name_the_parameter_that_is_wrong():
    pool, records, _ = make_case([2] * 50)
    attack = LiRA(None, pool).fit(records)
    with pytest.raises(ValueError, match="^groups needs one value"):
        attack_people(attack, records, groups=[1, 2])
