"""What cannot be used is refused in one sentence with its name, at every public door."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import (
    Outputs,
    Records,
    ShadowPool,
    audit,
    defenses,
    epsilon,
    leakage,
    memorization,
    metrics,
    report,
    synthetic,
)
from skmia import model_selection as selection
from skmia.attacks import AttributeInferenceAttack, ShadowAttack, ThresholdAttack
from skmia.defenses import mechanisms
from skmia.signals import Loss

X = np.random.default_rng(0).normal(size=(24, 3))
BITS = np.arange(24) % 2
LABELS = np.arange(24) // 2 % 2
RECORDS = Records(X, LABELS)
TREE = DecisionTreeClassifier(max_depth=2)
MASKED = np.ma.masked_array(BITS, mask=BITS == 1)
DATES = np.array(["2020-01-01"] * 24, dtype="datetime64[D]").reshape(-1, 1)
TWICE = pd.DataFrame(X, columns=["a", "a", "b"])
TEXT = np.array([["a", 1.0], ["b", 2.0]] * 12, dtype=object)
HUGE = np.array([[10**400, 1.0]] * 24, dtype=object)


def set_cell(cell):
    cells = X.astype(object)
    cells[3, 1] = cell
    return cells


TREE_OF_RECORDS = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, LABELS)


def ask_shadow_attack(records):
    pool = ShadowPool(TREE, 4, store="outputs", random_state=0)
    attack = ShadowAttack(TREE_OF_RECORDS, pool, attack_estimator=TREE, features=["loss", "group"])
    return attack.fit(RECORDS.with_fields(group=BITS)).score_samples(records)


def fit_pool(**settings):
    return ShadowPool(TREE, 2, random_state=0, **settings).fit(RECORDS)


CALLS = {
    # Hidden values.
    "membership": (lambda: report.blind_baseline(RECORDS, MASKED), "membership is a masked array"),
    "y_true": (lambda: metrics.auc_interval(MASKED, X[:, 0]), "y_true is a masked array"),
    "y_score": (
        lambda: metrics.auc_interval(BITS, np.ma.masked_less(X[:, 0], 0)),
        "y_score is a masked array",
    ),
    "scores": (
        lambda: ShadowPool.from_scores(np.ma.masked_less(X.T, 0), np.ones((3, 24)), RECORDS),
        "scores is a masked array",
    ),
    "canaries": (
        lambda: epsilon.canaries.make_canaries(np.ma.masked_less(X, 0), BITS),
        "X is a masked array",
    ),
    # Numbers.
    "mu": (
        lambda: epsilon.bounds.gaussian_epsilon("1", 1e-5),
        "mu must be finite and 0 or more; got '1'",
    ),
    "epsilon": (
        lambda: mechanisms.gaussian_sigma([1.0], 1e-5),
        "epsilon must be finite and at least",
    ),
    "delta": (
        lambda: mechanisms.gaussian_sigma(1.0, b"a"),
        "delta must be above 0 and below 1",
    ),
    "sensitivity": (
        lambda: mechanisms.gaussian_sigma(1.0, 1e-5, 10**400),
        "sensitivity must be finite and above 0",
    ),
    "epsilon of a mechanism": (
        lambda: mechanisms.LaplaceMechanism(epsilon=Fraction(1, 2)).fit(X),
        "'epsilon' parameter of LaplaceMechanism must be a float",
    ),
    "sensitivity of a mechanism": (
        lambda: mechanisms.LaplaceMechanism(sensitivity=10**400).fit(X),
        "'sensitivity' parameter of LaplaceMechanism must be a float",
    ),
    "gap": (
        lambda: leakage.bounds.bounded_loss_success_bound(10**400),
        "gap must be finite; got 1000",
    ),
    "shapes": (
        lambda: leakage.bounds.dp_advantage_bound([1.0, 2.0], [0.1, 0.1, 0.1]),
        r"epsilon, delta must be numbers or arrays of one shape; got shapes \(2,\), \(3,\)",
    ),
    "noise_scale": (
        lambda: leakage.MahalanobisLeakage(noise_scale={}).fit(X),
        "noise_scale must be one or more finite numbers",
    ),
    "fpr": (
        lambda: leakage.MahalanobisLeakage().fit(X).power(X, {}),
        r"fpr must be a fraction in \[0, 1\]",
    ),
    "trials": (lambda: metrics.clopper_pearson(1, {}), "trials must be whole numbers"),
    "correlation": (
        lambda: metrics.difference_interval((0.5, 0.4, 0.6), (0.5, 0.4, 0.6), correlation=None),
        r"correlation must be a number in \[-1, 1\]; got None",
    ),
    "interval": (
        lambda: metrics.difference_interval(0.5, (0.5, 0.4, 0.6)),
        "an interval must be three numbers",
    ),
    "confidence_level": (
        lambda: metrics.auc_interval(BITS, X[:, 0], confidence_level=Decimal("0.95")),
        "confidence_level must be a fraction",
    ),
    "confidence_level, next to 0": (
        lambda: epsilon.one_run_epsilon_lower_bound(BITS, X[:, 0], confidence_level=5e-324),
        "confidence_level must be a fraction",
    ),
    "max_fpr": (lambda: metrics.operating_point(BITS, X[:, 0], True), "max_fpr must be a fraction"),
    "max_fprs": (
        lambda: selection.leave_one_model_out(ThresholdAttack(), RECORDS, max_fprs=["a"]),
        "attack|max_fprs",
    ),
    "n_canaries": (
        lambda: epsilon.canaries.mislabel(RECORDS, ()),
        r"n_canaries must be an integer from 1 to 24; got \(\)",
    ),
    "n_canaries, a boolean": (
        lambda: epsilon.canaries.mislabel(RECORDS, True),
        "n_canaries must be an integer from 1 to 24; got True",
    ),
    "batch_size": (
        lambda: epsilon.canaries.trace_scores(X, X[:2], batch_size=10**400, noise_multiplier=1.0),
        "batch_size must be an integer",
    ),
    "noise_multiplier": (
        lambda: epsilon.canaries.trace_scores(X, X[:2], batch_size=2, noise_multiplier="a"),
        "noise_multiplier must be finite",
    ),
    "membership of several values": (
        lambda: audit(TREE_OF_RECORDS, RECORDS, [0, 1, (1, 2)] * 8),
        "membership must hold one value for each of 24 records",
    ),
    "sensitive": (
        lambda: AttributeInferenceAttack(TREE_OF_RECORDS, sensitive=pd.NA).fit(RECORDS),
        "sensitive must name the column of the attribute; got <NA>",
    ),
    "n_canaries of gradients": (
        lambda: epsilon.canaries.make_gradient_canaries(True, n_parameters=3),
        "n_canaries must be an integer from 1",
    ),
    "tiny spread": (
        lambda: leakage.MahalanobisLeakage().fit(X * 1e-300),
        "Column 0 of X spreads over .*, so scale the columns",
    ),
    "huge spread": (
        lambda: leakage.MeanScalarProductAttack().fit(X * 1e155),
        "Column 0 of X spreads over .*, so scale the columns",
    ),
    "n_given": (
        lambda: memorization.log_perplexity(
            memorization.NGramModel().fit([[0, 1]]), [[0, 1]], n_given=()
        ),
        "n_given must be between 0 and the 2 tokens",
    ),
    "resolution": (
        lambda: ShadowPool.from_scores(X.T, np.ones((3, 24)), RECORDS, resolution=np.ones(2)),
        'resolution must be "auto" or a finite number',
    ),
    "n_draws": (
        lambda: synthetic.NearestNeighborAdversarialAccuracy(n_draws=0.5).fit(X),
        "The 'n_draws' parameter of NearestNeighborAdversarialAccuracy must be an int",
    ),
    "interpolate": (
        lambda: metrics.fpr_at_tpr_score(BITS, X[:, 0], interpolate=pd.NA),
        "interpolate must be True or False; got <NA>",
    ),
    "n_jobs": (
        lambda: ShadowPool(TREE, 2, n_jobs=10**60).fit(RECORDS),
        r"'n_jobs' parameter of ShadowPool must be an int in the range \[1, 2147483647\]",
    ),
    # Seeds.
    "random_state": (
        lambda: report.blind_baseline(RECORDS, BITS, random_state=-1),
        r"random_state must be an int from 0 to 2\*\*32 - 1, a RandomState or None; got -1",
    ),
    "random_state, too large": (
        lambda: epsilon.canaries.make_canaries(X, BITS, random_state=2**32),
        "random_state must be an int from 0",
    ),
    "random_state, no number": (
        lambda: leakage.total_variation(X, X, random_state="a", method="kde"),
        "random_state must be an int from 0",
    ),
    # Words.
    "version": (
        lambda: synthetic.NearestNeighborAdversarialAccuracy(version=np.empty(2)).fit(X),
        "The 'version' parameter of NearestNeighborAdversarialAccuracy must be a str among",
    ),
    "metric": (
        lambda: selection.make_leakage_scorer(RECORDS, metric=np.empty(0)),
        "metric must be 'advantage', 'auc' or a callable",
    ),
    "kind": (lambda: Outputs(X, kind=np.empty(2)), "kind must be one of"),
    "label": (
        lambda: synthetic.rare_class_rate([0, 1], [0], label=[1, 2]),
        r"label must be a class of y; got \[1, 2\]",
    ),
    # Tables.
    "dates in place of numbers": (
        lambda: synthetic.NearestNeighborAdversarialAccuracy().fit(DATES),
        "X must hold numbers; got .*2020",
    ),
    "a mapping in a cell": (
        lambda: epsilon.canaries.make_canaries(set_cell({"a": 1}), BITS),
        "X must hold numbers; got .*in column 1",
    ),
    "text": (
        lambda: epsilon.canaries.make_canaries(TEXT, BITS),
        "X must hold numbers; got 'a' in column 0",
    ),
    "a missing value of pandas": (
        lambda: leakage.EmpiricalMean().fit(set_cell(pd.NA)),
        "X must hold numbers; got '<NA>' in column 1",
    ),
    "a number that is too large": (
        lambda: epsilon.canaries.make_canaries(HUGE, BITS),
        "X must hold numbers; got '1000.* in column 0",
    ),
    "two columns of one name": (
        lambda: synthetic.NearestNeighborAdversarialAccuracy().fit(TWICE),
        "X has more than one column 'a'",
    ),
    "two columns of one name at a mechanism": (
        lambda: mechanisms.GaussianMechanism().fit(TWICE),
        "X has more than one column 'a'",
    ),
    "text at a mechanism": (
        lambda: mechanisms.GaussianMechanism().fit(TEXT),
        "X must hold numbers",
    ),
    "two columns of one name at a defense": (
        lambda: defenses.TopKDefense(LogisticRegression()).fit(TWICE, BITS),
        "LogisticRegression cannot take these records: DuplicateError",
    ),
    "sequences": (
        lambda: memorization.NGramModel().fit([["a", "b"]]),
        r"X must be a sequence of sequences of whole numbers; got \[\['a', 'b'\]\]",
    ),
    "template": (
        lambda: memorization.CanaryFormat(0.5, "01"),
        "template must be a text or a sequence of tokens; got 0.5",
    ),
    "features whose squares are infinite": (
        lambda: epsilon.canaries.make_canaries(X * 1e299, BITS, kind="clip_bkd"),
        "X holds numbers whose squares are too large",
    ),
    "a sensitive column": (
        lambda: AttributeInferenceAttack(TREE_OF_RECORDS, sensitive=0.5).fit(RECORDS),
        "sensitive=0.5 is not a column of X",
    ),
    "a categorical column": (
        lambda: synthetic.GowerEncoder(categorical_features=[0.5]).fit(X),
        "categorical_features has 0.5, which is not a column of X",
    ),
    # Labels and groups.
    "text as the truth of a regressor": (
        lambda: Loss()(Outputs([0.5, 1.0], kind="value"), np.array(["a", "b"])),
        "y must be numbers, like the predictions of a regressor",
    ),
    "lists as classes": (
        lambda: synthetic.rare_class_rate([(1, 2), "a"], ["a"]),
        "y must hold one class for each row",
    ),
    "a field that the records lack": (
        lambda: ask_shadow_attack(Records(X, LABELS)),
        "The records lack the field 'group'; their fields: none",
    ),
    "fields of two kinds": (
        lambda: Records.concat(
            [
                Records(np.zeros((2, 1)), age=age)
                for age in (pytest.importorskip("torch").zeros(2), np.zeros(2))
            ]
        ),
        "Containers of different kinds cannot be joined: Tensor, ndarray",
    ),
    "labels": (
        lambda: epsilon.canaries.make_canaries(X, np.array([1, "a"] * 12, dtype=object)),
        "y must hold values of one type",
    ),
    "classes": (
        lambda: synthetic.rare_class_rate(np.array([1, "a"], dtype=object), [1]),
        "y must hold values of one type",
    ),
    "missing classes": (
        lambda: synthetic.rare_class_rate(["a", "a", "b", None], ["a"] * 9),
        "y has a missing value in 1 of 4 rows, first in row 3; leave these rows out",
    ),
    "missing sides": (
        lambda: leakage.GeneralizationGapBound().fit(X[:4], ["a", "a", None, "b"]),
        "y has a missing value in 1 of 4 rows, first in row 2",
    ),
    "constant features": (
        lambda: leakage.total_variation([1, 1, 1.0], [2, 3.0], method="kde"),
        "leave the feature out, or use another method, such as 'plugin'",
    ),
    "guesses": (
        lambda: epsilon.one_run_epsilon_lower_bound(BITS, X[:, 0], n_guesses="all"),
        "n_guesses must be 'auto', 'any' or integers from 1 to the number of canaries, 24",
    ),
    "groups": (
        lambda: leakage.total_variation(
            np.array([1, 2], dtype=object), np.array(["a", "b"], dtype=object)
        ),
        "members and nonmembers must hold values of one type",
    ),
    "membership in lists": (
        lambda: report.blind_baseline(RECORDS, np.array([[1]] * 23 + [None], dtype=object)),
        "membership",
    ),
    "no membership": (lambda: report.permutation_test([], {"a": []}), "membership is empty"),
    "subsets": (
        lambda: report.permutation_test(BITS, X[:, 0], subsets=[1]),
        r"subsets must hold \(scope, group, mask\)",
    ),
    "judged": (
        lambda: report.permutation_test(BITS, X[:, 0], judged=True),
        "judged must map each name in scores",
    ),
    # Records.
    "a column": (
        lambda: Records.from_frame(pd.DataFrame(X), target=("a", 0)),
        r"Unknown column \(\'a\', 0\); the columns are 0, 1, 2",
    ),
}
# Values that were taken.
FORBIDDEN = {
    "fprs": lambda: audit(TREE, RECORDS, BITS, fprs=(0,), shadows=4),
    "no fprs": lambda: audit(TREE, RECORDS, BITS, fprs=(), shadows=4),
    "temperatures": lambda: fit_pool(temperatures=(True,)),
    "temperatures twice": lambda: fit_pool(temperatures=(1.0, 1.0)),
    "n_jobs": lambda: fit_pool(n_jobs=True),
    "no n_jobs": lambda: fit_pool(n_jobs=0),
    "n_jobs of audit": lambda: audit(TREE, RECORDS, BITS, n_jobs=True, shadows=4),
    "random_state": lambda: audit(TREE, RECORDS, BITS, random_state=-1, shadows=4),
    "controls": lambda: audit(TREE, RECORDS, BITS, controls=np.empty(0), shadows=4),
    "mean_train_loss": lambda: ThresholdAttack(TREE, mean_train_loss=True).fit(RECORDS),
}


@pytest.mark.parametrize("call, message", CALLS.values(), ids=CALLS)
def test_it_is_one_sentence(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call", FORBIDDEN.values(), ids=FORBIDDEN)
def test_forbidden_values(call, monkeypatch):
    def fit(self, X, y):
        raise AssertionError("a model was trained")

    monkeypatch.setattr(DecisionTreeClassifier, "fit", fit)
    with pytest.raises(ValueError, match=r"must|different"):
        call()


def test_what_does_not_exist_is_documented():
    assert np.isnan(metrics.precision_at_prior(0, 0, 0.5))
    assert metrics.resolvable_fpr(0) == np.inf


def test_an_epsilon_beyond_double_precision_is_infinite():
    assert epsilon.bounds.gaussian_epsilon(1e300, 1e-5) == np.inf
    assert np.isfinite(epsilon.bounds.gaussian_epsilon(1e100, 1e-5))


def test_integers_name_columns():
    frame = pd.DataFrame(X).assign(y=BITS)
    records = Records.from_frame(frame, target="y", drop=0, group=1)
    assert records.X.columns.tolist() == [1, 2]
    np.testing.assert_array_equal(records["group"], X[:, 1])


def test_a_key_that_is_no_selection_is_shown_in_one_line():
    for key in (np.zeros((24, 24)), [[0], 1]):
        with pytest.raises(IndexError, match=r"got .*\.$") as caught:
            RECORDS[key]
        assert "\n" not in str(caught.value)


def test_columns_of_nullable_numbers_are_trained_one_by_one():
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["z"] = pd.array([1, None] * 12, dtype="Int64")
    with pytest.raises(RuntimeError, match=r"could not be trained.*NaN"):
        ShadowPool(LogisticRegression(), 2, random_state=0).fit(Records(frame, LABELS))
