"""Lists of members: their entries by hand, and how often they are false."""

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy.stats import binom

from skmia.metrics import conformal_pvalues, list_members


def test_the_list_by_hand():
    # P-values 0.1, 0.2, 0.3 and 1 of four records; 0.5 * (1, 2, 3, 4) / 4 bounds the ordered ones.
    known = np.arange(9.0)
    found = list_members([7.5, 6.5, 10.0, -1.0], known, false_share=0.5)
    np.testing.assert_allclose(found.pvalues, [0.2, 0.3, 0.1, 1.0])
    assert found.positions.tolist() == [2, 0, 1]
    assert list_members([7.5, 6.5, 10.0, -1.0], known, false_share=0.3).positions.tolist() == []
    # Among equal p-values the highest scores come first.
    tied = list_members([10.0, 12.0, 7.5, 11.0], known, false_share=0.5)
    assert tied.positions.tolist() == [1, 3, 0, 2]
    assert found.pvalues.tolist() == conformal_pvalues([7.5, 6.5, 10.0, -1.0], known).tolist()


def test_a_list_says_how_many_known_nonmembers_it_needs():
    scores = np.append(np.full(50, 9.0), np.zeros(50))
    few = list_members(scores, np.linspace(-1, 1, 9))
    assert few.least_entries == 100 and len(few.positions) == 0
    enough = list_members(scores, np.linspace(-1, 1, 19))
    assert enough.least_entries == 50 and sorted(enough.positions) == list(range(50))
    assert enough.summary().startswith("50 of 100 records are listed as members")
    assert "more known non-members" in list_members(scores, [0.0]).summary()


@pytest.mark.parametrize("from_shadows", [False, True])
@pytest.mark.parametrize(
    "n_known, told",
    [(39, "5 entries or more, or none."), (9, "20 entries or more, or none."), (8, "no entries: ")],
)
def test_the_summary_says_what_the_list_was_calibrated_on(n_known, told, from_shadows):
    found = list_members([9.0] * 20, np.zeros(n_known), from_shadows=from_shadows)
    source = "known non-members"
    if from_shadows:
        source = "scores of non-members by shadow models, if the victim behaves like them"
    if n_known == 8:
        told += f"more {source.partition(',')[0]} are needed."
    assert found.summary() == (
        f"{20 if n_known > 8 else 0} of 20 records are listed as members; on average over "
        f"repetitions at most 0.1 of a list are non-members. Calibrated on {n_known} {source}, "
        f"with which a list has {told}"
    )


@pytest.mark.parametrize(
    "n, n_known, false_share, least", [(15, 149, 0.01, 10), (8, 99, 0.01, 8), (15, 149, 0.1, 1)]
)
def test_a_list_of_as_few_entries_as_it_can_have_is_found(n, n_known, false_share, least):
    # In doubles 1 / 150 is above 0.01 * 10 / 15.
    scores = np.where(np.arange(n) < least, 5.0, -5.0)
    found = list_members(scores, np.zeros(n_known), false_share=false_share)
    assert found.least_entries == len(found.positions) == least
    fewer = np.where(np.arange(n) < least - 1, 5.0, -5.0)
    assert not len(list_members(fewer, np.zeros(n_known), false_share=false_share).positions)


@pytest.mark.parametrize("n_members", [0, 30])
def test_lists_keep_their_share_of_false_entries(n_members):
    rng, n_lists, n, false_share = np.random.default_rng(0), 300, 100, 0.2
    member = np.arange(n) < n_members
    shares = []
    for _ in range(n_lists):
        # Scores of the same model move together.
        scores = rng.normal(size=n + 200) + rng.normal() + np.append(3.0 * member, np.zeros(200))
        listed = list_members(scores[:n], scores[n:], false_share=false_share).positions
        shares.append((~member[listed]).mean() if len(listed) else 0.0)
    # A share in [0, 1] varies at most as much as a coin of the same mean.
    most = binom.ppf(0.999, n_lists, false_share * (1 - n_members / n))
    assert sum(shares) <= most
    assert n_members == 0 or sum(shares) > 0


@parametrize_refusals(
    (lambda: list_members([1.0], []), "at least one known non-member"),
    (lambda: list_members([np.nan], [1.0]), "y_score"),
    (lambda: list_members([1.0], [1.0], false_share=1), "above 0 and below 1"),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


def test_scores_may_be_tensors():
    torch = pytest.importorskip("torch")
    scores, known = np.array([7.5, 6.5, 10.0, -1.0]), np.arange(9.0)
    plain = list_members(scores, known, false_share=0.5)
    given = torch.tensor(scores, requires_grad=True), torch.tensor(known)
    found = list_members(*given, false_share=0.5)
    assert found.positions.tolist() == plain.positions.tolist()
    assert found.n_known == 9
