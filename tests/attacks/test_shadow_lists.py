"""Lists of members that are calibrated by shadow models, also where nothing leaks."""

import numpy as np
import pytest
from scipy.stats import binom

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import LiRA, shadow_nonmember_scores
from skmia.metrics import list_members


def draw(rng, leak, n_records=150, n_models=16):
    """Signals with a scale for each record, and a shift common to all records of a model."""
    inside = np.empty((n_models + 1, n_records), dtype=bool)
    for k in range(0, n_models, 2):
        inside[k] = rng.random(n_records) < 0.5
        inside[k + 1] = ~inside[k]
    inside[-1] = np.arange(n_records) % 2 == 1
    moved = rng.standard_t(5, size=inside.shape) + 0.4 * rng.normal(size=(n_models + 1, 1))
    scale = np.exp(0.5 * rng.normal(size=n_records))
    signals = 2 * rng.normal(size=n_records) + scale * (moved + leak * inside)
    records = Records.from_ids(np.arange(n_records), np.zeros(n_records))
    pool = ShadowPool.from_scores(signals[:-1], inside[:-1], records)
    answers = Outputs(signals[-1], kind="log_odds")
    return pool, records.with_fields(outputs=answers), inside[-1]


@pytest.mark.parametrize(
    "leak, online",
    [
        (0.0, False),
        (4.0, True),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((0.0, True), (4.0, False))),
    ],
)
def test_lists_from_shadows_keep_their_share_of_false_entries(leak, online):
    rng, n_lists, shares, n_right = np.random.default_rng(0), 10, [], 0
    for _ in range(n_lists):
        pool, records, member = draw(rng, leak, n_models=12)
        attack = LiRA(None, pool, online=online).fit(records)
        known, scores = shadow_nonmember_scores(attack, records), attack.score_samples(records)
        listed = list_members(scores, known, false_share=0.2, from_shadows=True).positions
        right = member if leak else np.zeros_like(member)  # nobody is told apart without a leak
        shares.append((~right[listed]).mean() if len(listed) else 0.0)
        n_right += right[listed].sum()
    # A share in [0, 1] varies at most as much as a coin of the same mean.
    assert sum(shares) <= binom.ppf(0.999, n_lists, 0.1 if leak else 0.2)
    assert leak == 0 or n_right > 10 * n_lists


def test_the_summary_names_the_assumption():
    pool, records, _ = draw(np.random.default_rng(0), 4.0)
    attack = LiRA(None, pool).fit(records)
    known = shadow_nonmember_scores(attack, records)
    assert known.shape == (8 * 150,)
    found = list_members(attack.score_samples(records), known, from_shadows=True)
    assert found.from_shadows and found.n_known == 1200
    assert "Calibrated on 1200 scores of non-members by shadow models, if the victim" in (
        found.summary()
    )
    few = list_members(attack.score_samples(records), known[:3], from_shadows=True)
    assert few.summary().endswith(
        "no entries: more scores of non-members by shadow models are needed."
    )


def test_the_scores_of_nonmembers_are_those_of_models_without_the_record():
    pool, records, _ = draw(np.random.default_rng(0), 4.0)
    attack = LiRA(None, pool).fit(records)
    ((rows, scores, inside, judged),) = attack.score_left_out(records, np.arange(16))
    assert rows == slice(0, 150) and judged.all()
    np.testing.assert_array_equal(
        np.sort(shadow_nonmember_scores(attack, records)), np.sort(scores[~inside])
    )
