"""What is said of an ordinary X that holds something else than numbers."""

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.utils._testing import ignore_warnings

from skmia import Records
from skmia.leakage import (
    EmpiricalMean,
    GeneralizationGapBound,
    MahalanobisLeakage,
    MeanLikelihoodRatioAttack,
    WorstCaseVulnerability,
    total_variation,
)
from skmia.metrics import RankingTest, membership_roc_curve, precision_at_prior
from skmia.synthetic import GowerEncoder

MEMBERSHIP = np.arange(6) % 2
FITS = {
    "MahalanobisLeakage": lambda X: MahalanobisLeakage().fit(X),
    "MeanLikelihoodRatioAttack": lambda X: MeanLikelihoodRatioAttack().fit(X),
    "EmpiricalMean": lambda X: EmpiricalMean().fit(X),
    "GeneralizationGapBound": lambda X: GeneralizationGapBound().fit(X, MEMBERSHIP),
    "WorstCaseVulnerability": lambda X: WorstCaseVulnerability().fit(X, MEMBERSHIP),
    "RankingTest": lambda X: RankingTest().fit(X),
}
NUMBERS = np.arange(12.0).reshape(6, 2)


@pytest.fixture(params=FITS)
def fit(request):
    return FITS[request.param]


def test_text_is_named_by_its_column(fit):
    frame = pd.DataFrame({"age": NUMBERS[:, 0], "city": ["1", "Bern", "2", "Basel", "3", "4"]})
    with pytest.raises(ValueError, match=r"X must hold numbers; got 'Bern' in column 'city'"):
        fit(frame)
    with pytest.raises(ValueError, match=r"X must hold numbers; got 'Bern' in column 1"):
        fit(frame.to_numpy())


def test_wrong_columns_are_not_said_to_hold_text_where_text_may_be():
    table = pd.DataFrame({"age": NUMBERS[:, 0], "city": list("abcabc")})
    encoder = GowerEncoder().fit(table)
    for other, words in (
        (table.rename(columns={"city": "town"}), "The feature names should match those"),
        (table[["age"]], "The feature names should match those"),
        (table.to_numpy()[:, :1].astype(float), "X has 1 features, but GowerEncoder is expecting"),
    ):
        with pytest.raises(ValueError, match=words), ignore_warnings(category=UserWarning):
            encoder.transform(other)


@pytest.mark.parametrize(
    "values, shown",
    [
        (pd.date_range("2020-01-01", periods=6), "'2020-01-01 00:00:00'"),
        ([[1, 2]] * 6, r"\[1, 2\]"),
        ([b"a"] * 6, "b'a'"),
    ],
)
def test_dates_and_lists_are_named_by_their_column(fit, values, shown):
    frame = pd.DataFrame({"age": NUMBERS[:, 0]}).assign(when=values)
    with pytest.raises(ValueError, match=rf"X must hold numbers; got .*{shown}.* in column 'when'"):
        fit(frame)


@parametrize_refusals(
    (lambda fit: fit(np.zeros(6, dtype=[("a", float), ("b", float)])), "X is a structured array"),
    (lambda fit: fit(pd.DataFrame(NUMBERS, columns=["a", "a"])), "X has more than one column 'a'"),
    (
        lambda fit: fit(np.ma.masked_greater(NUMBERS, 10)),
        "X is a masked array that hides 1 of 12 values",
    ),
)
def test_wrong_calls_with_fit_are_refused(call, words, error, fit):
    check_refusal(call, words, error, fit)


def test_samples_of_a_total_variation_are_named():
    with pytest.raises(ValueError, match=r"nonmembers must hold numbers; got 'b'"):
        total_variation([1.0, 2.0], ["1", "b"], method="kde")
    with pytest.raises(ValueError, match="Input members contains NaN"):
        total_variation(np.array(["a", None], dtype=object), ["a", "b"])
    with pytest.raises(ValueError, match="members is a masked array"):
        total_variation(np.ma.masked_less([1.0, 2.0], 2), [1.0, 2.0], method="kde")


def test_records_hide_nothing():
    hidden = np.ma.masked_array([0, 1, 1], [True, False, False])
    with pytest.raises(ValueError, match="X is a masked array that hides 2 of 12 values"):
        Records(np.ma.masked_greater(NUMBERS, 9), MEMBERSHIP)
    with pytest.raises(ValueError, match="y is a masked array that hides 1 of 3 values"):
        Records(np.eye(3), hidden)
    with pytest.raises(ValueError, match="Field 'group' is a masked array"):
        Records(np.eye(3), group=hidden)
    nothing_hidden = Records(np.ma.masked_array(np.eye(3)), np.ma.masked_array([0, 1, 1]))
    assert type(nothing_hidden.X) is type(nothing_hidden.y) is np.ndarray


def test_metrics_name_what_is_not_a_number():
    with pytest.raises(ValueError, match="tpr must be a number or an array of numbers; got 'half'"):
        precision_at_prior("half", 0.1, 0.1)
    pair = np.array([1, (0, 1), 0], dtype=object)
    with pytest.raises(ValueError, match="y_true must hold one value for each record"):
        membership_roc_curve(pair, [1, 2, 3])
