"""Two attacks on the same victims."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from skmia.metrics import (
    PairedDifference,
    PairedDifferenceDisplay,
    paired_difference,
    tpr_at_fpr_score,
)


def draw_scores(n, rng, shift=1.0, common=0.8):
    """Scores of two attacks of one strength, which correlate."""
    membership = rng.permutation(np.arange(n) % 2)
    shared = rng.normal(size=n)
    rest = np.sqrt(1 - common**2)
    return membership, *(
        shift * membership + common * shared + rest * rng.normal(size=n) for _ in range(2)
    )


def test_delong_is_that_of_two_loops():
    membership, first, second = draw_scores(80, np.random.default_rng(0))
    second = np.round(second, 1)
    members, others = np.flatnonzero(membership == 1), np.flatnonzero(membership == 0)

    def kernel(scores):
        x, y = scores[members][:, None], scores[others]
        return (x > y) + (x == y) / 2

    gaps = kernel(first) - kernel(second)
    variance = gaps.mean(axis=1).var(ddof=1) / 40 + gaps.mean(axis=0).var(ddof=1) / 40
    got = paired_difference(membership, first, second, confidence_level=0.9)
    assert got.estimate == pytest.approx(gaps.mean())
    assert got.standard_error == pytest.approx(np.sqrt(variance))
    assert got.high - got.low == pytest.approx(2 * stats.norm.ppf(0.95) * np.sqrt(variance))
    expected = 2 * stats.norm.sf(abs(gaps.mean()) / np.sqrt(variance))
    assert got.pvalue == pytest.approx(expected)


@pytest.mark.parametrize("n_victims", [2, 7])
@pytest.mark.parametrize("max_fpr", [None, 0.1])
def test_over_victims_it_is_the_paired_t_test(max_fpr, n_victims):
    rng = np.random.default_rng(1)
    truths, first, second = zip(*(draw_scores(201, rng) for _ in range(n_victims)), strict=True)

    def numbers(scores):
        pairs = zip(truths, scores, strict=True)
        if max_fpr is None:
            return [roc_auc_score(truth, score) for truth, score in pairs]
        return [tpr_at_fpr_score(truth, score, max_fpr=max_fpr) for truth, score in pairs]

    expected = stats.ttest_rel(numbers(first), numbers(second))
    got = paired_difference(truths, first, second, max_fpr=max_fpr)
    assert got.pvalue == pytest.approx(expected.pvalue)
    np.testing.assert_allclose([got.low, got.high], expected.confidence_interval())
    np.testing.assert_allclose(got.first, numbers(first))


def test_level_of_delong():
    rng = np.random.default_rng(2)
    pvalues = [paired_difference(*draw_scores(200, rng)).pvalue for _ in range(100)]
    low, high = stats.binom.interval(0.999, 100, 0.05)
    assert low <= np.sum(np.array(pvalues) < 0.05) <= high


def draw_people(rng, n_people=60, rows=10):
    """Scores of two useless attacks, which differ by person more than by row."""
    people = rng.permutation(n_people * rows) // rows
    return (
        people < n_people // 2,
        people,
        *(rng.normal(size=n_people)[people] + rng.normal(size=len(people)) for _ in range(2)),
    )


def test_level_for_people_of_ten_rows():
    rng, pvalues = np.random.default_rng(7), []
    for _ in range(100):
        membership, people, first, second = draw_people(rng)
        pvalues.append(paired_difference(membership, first, second, groups=people).pvalue)
    low, high = stats.binom.interval(0.999, 100, 0.05)
    assert low <= np.sum(np.array(pvalues) < 0.05) <= high


def test_people_vary_as_the_jackknife_of_their_gaps():
    membership, people, first, second = draw_people(np.random.default_rng(8), 8, 3)
    x, y = np.flatnonzero(membership), np.flatnonzero(~membership)
    gaps = np.zeros((len(x), len(y)))
    for sign, scores in ((1, first), (-1, second)):
        gaps += sign * (scores[x][:, None] > scores[y])
    variance = 0.0
    for side, rows in ((gaps.mean(axis=1), x), (gaps.mean(axis=0), y)):
        left_out = [side[people[rows] != person].mean() for person in np.unique(people[rows])]
        variance += np.sum((np.array(left_out) - side.mean()) ** 2) * 3 / 4
    got = paired_difference(membership, first, second, groups=people)
    assert got.standard_error == pytest.approx(np.sqrt(variance))
    assert got.estimate == pytest.approx(gaps.mean())


def test_each_record_a_person_is_as_without_people():
    membership, first, second = draw_scores(80, np.random.default_rng(9))
    names = [f"person {i}" for i in range(80)]
    alone = paired_difference(membership, first, second)
    assert paired_difference(membership, first, second, groups=names)[:5] == pytest.approx(
        alone[:5]
    )


@pytest.mark.parametrize("n_rows", [1, 3])
@pytest.mark.parametrize("side", [0, 1])
def test_a_single_record_or_person_has_the_largest_variance_that_its_mean_allows(side, n_rows):
    rng = np.random.default_rng(10)
    is_alone = np.arange(40) < n_rows
    membership = is_alone == side
    # The first attack errs more, on either side.
    first, second = rng.normal(size=40) - 0.5 * membership, rng.normal(size=40) + membership
    people = np.where(is_alone, 0, np.arange(40))
    got = paired_difference(membership, first, second, groups=None if n_rows == 1 else people)
    assert got.estimate < 0
    one, other = (
        (scores[:n_rows, None] > scores[n_rows:]).mean(axis=0) for scores in (first, second)
    )
    rest = (one - other).var(ddof=1) / (40 - n_rows)
    assert got.standard_error**2 == pytest.approx(1 - got.estimate**2 + rest)
    alike = paired_difference(membership, first, 2 * first)
    assert (alike.estimate, alike.low, alike.high, alike.pvalue) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    "n_members, n_others, is_few", [(19, 30, True), (30, 19, True), (20, 30, False)]
)
def test_below_twenty_members_or_others_the_law_is_students(n_members, n_others, is_few):
    rng = np.random.default_rng(12)
    scores = rng.normal(size=(2, n_members + n_others))
    got = paired_difference(np.repeat([1, 0], [n_members, n_others]), *scores)
    wins = scores[:, :n_members, None] > scores[:, None, n_members:]
    gaps = wins[0].astype(float) - wins[1]
    parts = [gaps.mean(axis=axis).var(ddof=1) / n for axis, n in ((1, n_members), (0, n_others))]
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (n_members - 1) + parts[1] ** 2 / (n_others - 1))
    law = stats.t(freedom) if is_few else stats.norm()
    assert got.standard_error == pytest.approx(np.sqrt(sum(parts)))
    assert got.high == pytest.approx(got.estimate + law.isf(0.025) * np.sqrt(sum(parts)))


def test_attacks_that_differ_on_one_side_alone_are_not_alike():
    # Each member outranks one of both others with either attack, but not the same one.
    got = paired_difference([1, 1, 0, 0], [2, 2, 1, 3], [2, 2, 3, 1])
    assert (got.estimate, got.standard_error, got.pvalue) == (0, 1, 1)
    assert (got.low, got.high) == (-1, 1)


def test_people_of_several_victims_are_refused():
    membership, people, first, second = draw_people(np.random.default_rng(11), 8, 3)
    with pytest.raises(ValueError, match="groups must be None with several victims"):
        paired_difference([membership] * 2, [first] * 2, [second] * 2, groups=people)
    with pytest.raises(ValueError, match="groups needs one value for each of 24 records"):
        paired_difference(membership, first, second, groups=people[1:])


def test_equal_attacks_have_no_difference():
    membership, first, _ = draw_scores(40, np.random.default_rng(3))
    got = paired_difference(membership, first, first)
    assert (got.estimate, got.low, got.high, got.pvalue) == (0, 0, 0, 1)


def test_differences_without_a_spread_prove_nothing():
    membership = [1, 1, 0, 0]
    got = paired_difference([membership] * 3, [[4, 3, 2, 1]] * 3, [[1, 2, 3, 4]] * 3)
    assert (got.estimate, got.low, got.high, got.pvalue) == (1, -1, 1, 1)


@pytest.mark.parametrize("max_fpr", [None, 0.0])
@pytest.mark.parametrize("found", [[(7, 6), (8, 7)], [(7, 6), (8, 7), (9, 8)]])
def test_differences_that_are_equal_but_for_rounding_have_no_spread(found, max_fpr):
    # Of 10 members each attack ranks so many above all non-members, and the others below.
    scores = [[2.0] * n + [0.0] * (10 - n) + [1.0] * 10 for pair in found for n in pair]
    membership = [1] * 10 + [0] * 10
    got = paired_difference([membership] * len(found), scores[::2], scores[1::2], max_fpr=max_fpr)
    assert len(set(got.first - got.second)) > 1
    assert (got.estimate, got.low, got.high, got.pvalue) == (0.1, -1, 1, 1)


def test_attacks_of_one_auc_differ_by_nothing():
    # In each of three victims the first attack errs about other records than the second one.
    membership = np.repeat([1, 0], [15, 17])
    rng = np.random.default_rng(1)
    first = np.append(np.arange(15) * 1.1, np.arange(17))
    second = [np.append(rng.permutation(first[:15]), first[15:]) for _ in range(3)]
    got = paired_difference([membership] * 3, [first] * 3, second)
    assert (got.estimate, got.low, got.high, got.pvalue) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([0, 1], [0.1, 0.2], [0.1, 0.2], 0.1), "over at least two victims"),
        (([[0, 1]] * 2, [[0.1, 0.2]] * 2, [[0.1, 0.2]] * 3), "the same victims; got 2, 2, 3"),
        (([0, 1], [0.1, 0.2], [0.1, 0.2, 0.3]), "equal lengths"),
        (([0, 1], [0.1, 0.2], [0.1, 0.2], 2), "max_fpr must be a fraction"),
        (([], [0.1, 0.2], [0.1, 0.2]), "equal lengths; got 0 and 2"),
        ((None, [0.1, 0.2], [0.1, 0.2]), "y_true must be one-dimensional"),
        (([[0, 1]] * 2, [0.1, 0.2], None), "must hold a vector for each victim"),
        (([[0, 1]] * 2, [[0.1, 0.2]] * 2, [0.1, 0.2]), "must hold a vector for each victim"),
        (
            ([[[0], [0, 1]]], [[0.1, 0.2]], [[0.1, 0.2]]),
            "y_true must hold one value for each record",
        ),
    ],
    ids=[
        "one",
        "victims",
        "lengths",
        "rate",
        "empty",
        "none",
        "no vectors",
        "one vector",
        "ragged",
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message):
    first, *rate = arguments[:3], *arguments[3:]
    with pytest.raises(ValueError, match=message):
        paired_difference(*first, max_fpr=rate[0] if rate else None)


def test_columns_of_tables_are_read_by_position():
    membership, first, second = draw_scores(80, np.random.default_rng(6))
    columns = [pd.Series(part, index=range(5, 85)) for part in (membership, first, second)]
    assert paired_difference(*columns).low == paired_difference(membership, first, second).low


def test_display_shows_every_attack_but_the_reference():
    plt = pytest.importorskip("matplotlib.pyplot")
    membership, first, second = draw_scores(100, np.random.default_rng(4))
    scores = {"loss": first, "RMIA": second, "LiRA": first + second}
    display = PairedDifferenceDisplay.from_predictions(membership, scores, "loss")
    assert display.frame()["attack"].tolist() == ["RMIA", "LiRA"]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["RMIA", "LiRA"]
    assert display.ax_.get_xlabel() == "AUC minus that of loss"
    by_record = PairedDifferenceDisplay.from_predictions(
        membership, scores, "loss", groups=np.arange(100)
    )
    pd.testing.assert_frame_equal(by_record.frame(), display.frame())
    with pytest.raises(ValueError, match="reference"):
        PairedDifferenceDisplay.from_predictions(membership, scores, "odin")
    plt.close("all")


def test_display_draws_the_first_attack_at_the_top():
    plt = pytest.importorskip("matplotlib.pyplot")
    membership, first, second = draw_scores(100, np.random.default_rng(4))
    scores = {"loss": first, "RMIA": second, "LiRA": first + second}
    display = PairedDifferenceDisplay.from_predictions(membership, scores, "loss")
    frame = display.frame()
    (bars,) = display.ax_.containers
    np.testing.assert_allclose(bars.lines[0].get_xydata().T, [frame["estimate"], [1, 0]])
    ends = [segment[:, 0] for segment in bars.lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, frame[["low", "high"]])
    plt.close("all")


def test_a_figure_of_differences_has_its_line_of_chance_and_its_style():
    plt = pytest.importorskip("matplotlib.pyplot")
    some = PairedDifference(0.2, 0.1, 0.4, 0.05, 0.01, np.empty(0), np.empty(0))
    display = PairedDifferenceDisplay({"RMIA": some, "LiRA": some}, "loss", metric="TPR").plot()
    usual = display.ax_
    assert usual.get_xlabel() == "TPR minus that of loss"
    assert usual.get_ylim() == (-0.5, 1.5)
    style = {"color": "red", "fmt": "s"}
    bare = display.plot(plot_chance_level=False, curve_kwargs=style, despine=False).ax_
    (marks,), (others,) = ([one.lines[0] for one in ax.containers] for ax in (usual, bare))
    assert (marks.get_marker(), others.get_marker(), others.get_color()) == ("o", "s", "red")
    for ax, is_full in ((usual, True), (bare, False)):
        chance = [line for line in ax.lines if [*line.get_xdata()] == [0, 0]]
        assert len(chance) == is_full and ax.spines["top"].get_visible() != is_full
    plt.close("all")


def test_a_figure_of_rates_names_the_rate_and_has_the_level_of_its_intervals():
    plt = pytest.importorskip("matplotlib.pyplot")
    truths, first, second = zip(*(draw_scores(60, np.random.default_rng(k)) for k in range(3)))
    scores, rate = {"loss": first, "RMIA": second}, {"max_fpr": 0.1}
    for settings in ({}, {"confidence_level": 0.5}):
        display = PairedDifferenceDisplay.from_predictions(
            truths, scores, "loss", **rate, **settings
        )
        assert display.ax_.get_xlabel() == "TPR at 10% FPR minus that of loss"
        expected = paired_difference(truths, second, first, **rate, **settings)
        assert display.frame().to_numpy().tolist() == [["RMIA", *expected[:5]]]
    plt.close("all")
