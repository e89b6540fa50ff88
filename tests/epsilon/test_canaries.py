"""Canaries: records and gradients."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from skmia import Records
from skmia.epsilon import EpsilonAudit, one_run_epsilon_lower_bound
from skmia.epsilon.bounds import epsilon_lower_bound, gaussian_epsilon
from skmia.epsilon.canaries import (
    make_canaries,
    make_gradient_canaries,
    mislabel,
    trace_scores,
)

one_run_gaussian_bound = partial(one_run_epsilon_lower_bound, bound="gdp")
gaussian_bound = partial(epsilon_lower_bound, method="gaussian")

X, y = load_iris(return_X_y=True)
NAMES = np.array(["a", "b", "c"])[y]


def test_natural_canaries_are_different_rows():
    canaries = make_canaries(X, NAMES, 150, random_state=0, kind="natural")
    assert sorted(canaries.rows) == list(range(150))
    np.testing.assert_array_equal(canaries.X, X[canaries.rows])
    np.testing.assert_array_equal(canaries.y, NAMES[canaries.rows])


def test_wrong_labels_are_any_of_the_others():
    canaries = make_canaries(X, NAMES, 150, random_state=0, kind="random_label")
    assert (canaries.y != NAMES[canaries.rows]).all()
    pairs = set(zip(NAMES[canaries.rows], canaries.y, strict=True))
    assert len(pairs) == 6
    again = make_canaries(X, NAMES, 150, random_state=0, kind="random_label")
    np.testing.assert_array_equal(canaries.y, again.y)


def test_exposed_canaries_are_the_hardest_to_predict():
    model = LogisticRegression(max_iter=1000)
    canaries = make_canaries(X, NAMES, 7, estimator=model, kind="exposed")
    proba = cross_val_predict(model, X, y, cv=5, method="predict_proba")
    worst = np.argsort([row[label] for row, label in zip(proba, y, strict=True)])[:7]
    assert canaries.rows.tolist() == worst.tolist()


def test_a_mislabeled_record_is_exposed():
    wrong = y.copy()
    wrong[3] = 2
    assert make_canaries(X, wrong, kind="exposed").rows == [3]


def test_of_equally_hard_records_the_first_ones_are_taken():
    canaries = make_canaries(X, y, 3, kind="exposed", estimator=DummyClassifier())
    assert canaries.rows.tolist() == [0, 1, 2]


def test_clip_bkd_takes_the_direction_of_least_variance():
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    data = rng.normal(size=(400, 4)) * [3, 2, 1, 1e-3] @ rotation.T + 5
    label = data @ rotation[:, 0] > np.median(data @ rotation[:, 0])
    canaries = make_canaries(data, label, 2, kind="clip_bkd")
    scale = np.median(np.linalg.norm(data, axis=1))
    np.testing.assert_allclose(np.linalg.norm(canaries.X, axis=1), scale)
    assert abs(canaries.X[0] @ rotation[:, 3]) == pytest.approx(scale, rel=1e-6)
    assert abs(canaries.X[1] @ rotation[:, 2]) > 0.9 * scale
    for row in canaries.X:
        assert row[np.abs(row).argmax()] > 0
    assert len(canaries.rows) == 0


def test_clip_bkd_takes_the_least_likely_label():
    data, label = make_classification(
        300, 6, n_informative=4, n_classes=3, n_redundant=0, random_state=0
    )
    canary = make_canaries(data, label, norm=4.0, kind="clip_bkd")
    assert np.linalg.norm(canary.X) == pytest.approx(4)
    model = LogisticRegression(max_iter=1000).fit(data, label)
    assert canary.y == model.predict_proba(canary.X).argmin(axis=1)


def test_clip_bkd_keeps_to_itself_that_its_model_did_not_converge():
    data, label = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        LogisticRegression(max_iter=1000).fit(data, label)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_canaries(data, label, kind="clip_bkd")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_clip_bkd_keeps_the_precision_of_floats(dtype):
    made = make_canaries((10 * X).astype(dtype), y, kind="clip_bkd").X
    assert made.dtype == (np.float64 if dtype == np.int64 else dtype)


@pytest.mark.parametrize(
    "kind, n, message",
    [
        ("natural", 151, "from 1 to 150, the number of records; got 151"),
        ("natural", 0, "got 0"),
        ("random_label", 1.5, "n_canaries must be an integer from 1 to .*; got 1.5"),
        ("clip_bkd", 5, "from 1 to 4, the number of features; got 5"),
    ],
)
def test_impossible_numbers_of_canaries_are_refused(kind, n, message):
    with pytest.raises(ValueError, match=message):
        make_canaries(X, y, n, kind=kind)


@pytest.mark.parametrize(
    "kind, settings, message",
    [
        ("natural", {"norm": 1.0}, "norm is only taken with kind='clip_bkd'; got it with kind='n"),
        ("clip_bkd", {"cv": 3}, "cv is only taken with kind='exposed'"),
        ("random_label", {"estimator": DummyClassifier()}, "estimator is only taken with kind='e"),
        ("other", {}, "kind must be one of 'clip_bkd', 'exposed', .*; got 'other'"),
    ],
)
def test_what_a_kind_of_canaries_does_not_take_is_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        make_canaries(X, y, kind=kind, **settings)


@pytest.mark.parametrize("kind, own", [("clip_bkd", False), ("exposed", True)])
def test_an_audit_takes_the_canaries_that_are_made_by_hand(kind, own):
    model = LogisticRegression(C=0.01)
    audit = EpsilonAudit(model, canary=kind, n_trials=4, random_state=0).fit(X, y)
    made = make_canaries(X, y, kind=kind, **({"estimator": model} if own else {}))
    np.testing.assert_array_equal(audit.canary_.X, made.X)
    assert audit.canary_.y == made.y


def test_one_class_has_no_wrong_label():
    with pytest.raises(ValueError, match="two classes or more"):
        make_canaries(X, np.zeros(150, dtype=int), kind="random_label")


def test_mislabeled_records_have_any_other_label_and_are_the_same_otherwise():
    records = Records(X, NAMES, group_by=np.arange(150) // 2)
    changed, canaries = mislabel(records, 150, random_state=0)
    assert canaries.dtype == bool and canaries.all()
    assert (changed.y != NAMES).all() and (records.y == NAMES).all()
    assert len(set(zip(NAMES, changed.y, strict=True))) == 6
    np.testing.assert_array_equal(changed.X, X)
    assert (changed.fields["group_by"] == np.arange(150) // 2).all()
    some, canaries = mislabel(records, 3, random_state=0)
    assert np.flatnonzero(some.y != NAMES).tolist() == np.flatnonzero(canaries).tolist()
    assert canaries.sum() == 3
    for n_canaries in (0, 151):
        with pytest.raises(ValueError, match=f"an integer from 1 to 150; got {n_canaries}"):
            mislabel(records, n_canaries)
    with pytest.raises(ValueError, match="need two classes for wrong labels; got 1 class"):
        mislabel(records[:50], 1)


# Gradients


def test_dirac_canaries_do_not_overlap():
    settings = {"n_parameters": 40, "max_grad_norm": 0.7, "random_state": 0}
    gradients, rows = make_gradient_canaries(30, **settings)
    assert len(rows) == 0
    np.testing.assert_allclose(gradients @ gradients.T, 0.49 * np.eye(30))
    assert (np.count_nonzero(gradients, axis=1) == 1).all()


def test_spread_canaries_do_not_overlap_either():
    made = partial(make_gradient_canaries, 30, kind="spread", n_parameters=40, max_grad_norm=0.7)
    gradients, rows = made(random_state=0)
    assert len(rows) == 0
    np.testing.assert_allclose(gradients @ gradients.T, 0.49 * np.eye(30), atol=1e-12)
    assert (gradients != 0).all()
    np.testing.assert_array_equal(gradients, made(random_state=0).gradients)
    # A direction and its opposite are equally likely.
    signs = np.sign([made(random_state=seed).gradients.ravel() for seed in range(10)])
    assert abs(signs.mean()) < 0.1


@pytest.mark.parametrize("kind", ["dirac", "spread"])
@pytest.mark.parametrize("n, size, norm", [(5, 4, 1.0), (0, 4, 1.0), (1, 4, 0.0), (1, 4, np.inf)])
def test_impossible_canaries_are_refused(n, size, norm, kind):
    with pytest.raises(ValueError, match="n_canaries must be|max_grad_norm must be"):
        make_gradient_canaries(n, kind=kind, n_parameters=size, max_grad_norm=norm)


@pytest.mark.parametrize("aggregate", ["mean", "max"])
def test_selected_gradients_against_the_definition(aggregate):
    rng = np.random.default_rng(0)
    gradients, reference = (
        rng.normal(size=(4, 30, 5)),
        rng.normal(size=(4, 60, 5)) * [1, 2, 3, 4, 5],
    )
    scores = np.empty((4, 30))
    for t in range(4):
        variance = reference[t].var(axis=0, ddof=1) + (1.5 * 0.8) ** 2 / 10
        scores[t] = ((gradients[t] - reference[t].mean(axis=0)) ** 2 / variance).sum(axis=1)
    expected = np.argsort(-getattr(scores, aggregate)(axis=0))[:6]
    found = make_gradient_canaries(
        6,
        kind="selected",
        gradients=gradients,
        noise_multiplier=1.5,
        max_grad_norm=0.8,
        batch_size=10,
        reference=reference,
        aggregate=aggregate,
    )
    assert found.rows.tolist() == expected.tolist()
    np.testing.assert_array_equal(found.gradients, gradients[:, expected])


def test_selected_gradients_have_no_noise_and_single_rows_by_default():
    # Candidate 0 stands out in a column of little variance, which noise hides.
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(3, 400, 2)) * [1, 1e-3]
    gradients = np.broadcast_to([[0, 0.01], [6, 0]], (3, 2, 2))
    settings = {"kind": "selected", "gradients": gradients, "reference": reference}
    select = partial(make_gradient_canaries, 1, max_grad_norm=0.0015, **settings)
    assert select().rows == select(noise_multiplier=0.0).rows == [0]
    # Scores of 36 against 100 / (1 + 1.5**2 / batch_size).
    noisy = [select(noise_multiplier=1.0, **size).rows for size in ({}, {"batch_size": 2})]
    assert noisy == [[1], [0]]


@pytest.mark.parametrize(
    "settings, message",
    [
        ({}, "kind='dirac' needs n_parameters; got None"),
        ({"kind": "selected"}, "kind='selected' needs gradients; got None"),
        ({"n_parameters": 4, "aggregate": "max"}, "aggregate is only taken with kind='selected'"),
        ({"kind": "selected", "n_parameters": 4}, "n_parameters is only taken with kind='dirac'"),
        ({"kind": "selected", "gradients": np.ones((4, 2))}, "gradients must have the shape"),
        ({"kind": "spread"}, "kind='spread' needs n_parameters; got None"),
        ({"kind": "chosen"}, "kind must be one of 'dirac', 'selected', 'spread'; got 'chosen'"),
    ],
)
def test_what_a_kind_of_gradients_does_not_take_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_gradient_canaries(1, **settings)


@pytest.mark.parametrize("rate", [1.0, 0.3])
@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_trace_scores_are_log_likelihood_ratios(rate, aggregate):
    rng = np.random.default_rng(0)
    canaries, steps = rng.normal(size=(3, 6)), rng.normal(size=(5, 6)) / 20
    sigma, clip, batch = 1.3, 0.5, 20
    scale = sigma * clip / batch
    expected = np.empty((5, 3))
    for t in range(5):
        for i in range(3):
            without = norm.logpdf(steps[t], 0, scale).sum()
            included = norm.logpdf(steps[t], canaries[i] / batch, scale).sum()
            expected[t, i] = np.log(1 - rate + rate * np.exp(included - without))
    found = trace_scores(
        steps,
        canaries,
        batch_size=batch,
        noise_multiplier=sigma,
        max_grad_norm=clip,
        sample_rate=rate,
        aggregate=aggregate,
    )
    np.testing.assert_allclose(found, getattr(expected, aggregate)(axis=0), rtol=1e-9)


def test_trace_scores_take_the_moments_of_reference_gradients():
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(4, 50, 3)) * [1, 2, 3] + [5, 0, -5]
    canaries, steps = rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 3))
    expected = np.zeros(2)
    for t in range(4):
        mean, variance = reference[t].mean(axis=0), reference[t].var(axis=0, ddof=1) + 4 / 10
        away = canaries[t] - mean
        expected += (away / variance) @ (steps[t] - mean) - (away**2 / variance).sum(axis=1) / 20
    found = trace_scores(steps, canaries, batch_size=10, noise_multiplier=2.0, reference=reference)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"noise_multiplier": 0.0}, "above 0 without reference"),
        ({"aggregate": "mean"}, "aggregate must be one of 'sum', 'max'"),
        ({"sample_rate": 0}, "sample_rate must be above 0"),
        ({"sample_rate": 1.01}, "sample_rate must be above 0 and at most 1"),
        ({"batch_size": 0.5}, "batch_size must be an integer"),
        ({"canaries": np.ones((2, 4))}, "gradients of 3 parameters"),
    ],
)
def test_bad_settings_of_trace_scores_are_refused(settings, message):
    given = {"canaries": np.ones((2, 3)), "batch_size": 5, "noise_multiplier": 1.0} | settings
    with pytest.raises(ValueError, match=message):
        trace_scores(np.ones((4, 3)), given.pop("canaries"), **given)


# A private training whose epsilon is known: every row takes part in every step.

N_STEPS, NOISE = 20, 4.0
MU = np.sqrt(N_STEPS) / NOISE


def train(canaries, rng):
    """Noisy sums of clipped gradients of logistic regressions, less those of the known rows.

    Each row of canaries takes part in a training of its own; shape (n_trainings, N_STEPS, 8).
    """
    data = np.hstack([X[y < 2], np.zeros((100, 4))])
    sign, sizes = 1 - 2 * y[y < 2], np.linalg.norm(data, axis=1)
    weights, trace = np.zeros(canaries.shape), []
    for _ in range(N_STEPS):
        slopes = -sign / (1 + np.exp(sign * (weights @ data.T)))  # gradients are multiples of rows
        known = (slopes / np.maximum(1, np.abs(slopes) * sizes)) @ data
        total = known + canaries + NOISE * rng.normal(size=canaries.shape)
        weights = weights - 0.1 * total / 100
        trace.append(total - known)
    return np.stack(trace, axis=1) / 100


def test_a_white_box_audit_of_private_training_finds_more_than_half_of_its_epsilon():
    canary, epsilon = np.eye(8)[7:], gaussian_epsilon(MU, 1e-5)
    rng, bits = np.random.default_rng(0), np.repeat([True, False], 600)
    settings = {"batch_size": 100, "noise_multiplier": NOISE}
    traces = train(bits[:, None] * canary, rng)
    # The last component alone tells: those of all trainings are scored as if they were of one.
    scores = trace_scores(traces[:, :, 7].T, np.eye(len(bits)), **settings)
    bound = gaussian_bound(bits, scores)
    assert 0.5 * epsilon < bound.epsilon < epsilon


def test_many_gradients_in_one_private_training():
    rng, m = np.random.default_rng(0), 1000
    canaries = make_gradient_canaries(m, n_parameters=m, random_state=0).gradients
    coins = rng.integers(2, size=m).astype(bool)
    trace = (canaries[coins].sum(axis=0) + NOISE * rng.normal(size=(N_STEPS, m))) / 100
    scores = trace_scores(trace, canaries, batch_size=100, noise_multiplier=NOISE)
    epsilon = gaussian_epsilon(MU, 1e-5)
    any_mechanism = one_run_epsilon_lower_bound(coins, scores, delta=1e-5).epsilon
    gaussian = one_run_gaussian_bound(coins, scores).epsilon
    assert 0.2 * epsilon < any_mechanism < gaussian < epsilon


def test_one_class_has_natural_canaries():
    assert make_canaries(X[:9], np.zeros(9), 2, kind="natural").y.tolist() == [0, 0]


@pytest.mark.parametrize("shape", [(3, 1, 2, 4), (3, 2, 5), (2, 2, 4)])
def test_gradients_of_other_steps_and_parameters_are_refused(shape):
    with pytest.raises(ValueError, match="canaries must be gradients of 4 parameters, in all or"):
        trace_scores(np.ones((3, 4)), np.ones(shape), batch_size=10, noise_multiplier=2.0)
