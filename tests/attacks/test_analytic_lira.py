"""LiRA in closed form, beside refits with other training sets."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records
from skmia._core import linear_influence
from skmia._core.linear_influence import LinearInfluence
from skmia._core.query import unwrap
from skmia.attacks import AnalyticLiRA
from skmia.victims._linear_model import LogisticLoss, SoftmaxLoss, SquaredLoss


def make_rows(n=60, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, X @ rng.normal(size=n_features) + rng.normal(size=n)


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("weight", [0.5, 0.2, 1.0])
def test_outputs_of_least_squares_move_as_in_refits(alpha, weight):
    X, y = make_rows()
    weights = np.full(len(X), weight)
    model = Ridge(alpha) if alpha else LinearRegression()
    outputs = model.fit(X, y, sample_weight=weights).predict(X)[:, None]
    curve = SquaredLoss().curve(outputs, y)
    penalty = np.append(np.full(X.shape[1], alpha), 0.0)
    influence = LinearInfluence(with_ones(X), curve, weight, penalty)
    leverage = influence.leverage(with_ones(X))
    for added in (1 - weight, -weight):
        moves = influence.move(leverage, curve, np.full(len(X), added))
        for i in (0, 17):
            changed = weights.copy()
            changed[i] += added
            refit = model.fit(X, y, sample_weight=changed).predict(X[[i]])
            np.testing.assert_allclose(moves[i], refit - outputs[i], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n", "n_features"), [(400, 4), (150, 25)])
def test_means_and_variances_are_those_of_refits_without_the_record(n, n_features):
    X, y = make_rows(n, n_features)
    rng = np.random.default_rng(1)
    A = with_ones(X)
    drawn = (rng.random((2000, n)) < 0.5).astype(float)
    squares = np.einsum("kn,ni,nj->kij", drawn, A, A, optimize=True)
    coefs = np.linalg.solve(squares, ((drawn * y) @ A)[..., None])[..., 0]
    outputs = np.where(drawn > 0, np.nan, coefs @ A.T)
    attack = AnalyticLiRA(FrozenEstimator(LinearRegression().fit(X, y))).fit(Records(X, y))
    leverages, means, variances, _ = attack._describe(Records(X, y))
    inverse = np.linalg.inv(squares)
    expected = [A[i] @ inverse[drawn[:, i] == 0].mean(axis=0) @ A[i] for i in range(5)]
    np.testing.assert_allclose(leverages[:5], expected, rtol=0.1)
    # Of 1,000 draws, a mean has a standard error of 3% of the spread.
    spread = np.nanstd(outputs, axis=0)
    assert np.abs(np.nanmean(outputs, axis=0) - means).max() < 0.15 * spread.max()
    # The variance is that of the first order, to which many features add.
    assert -0.05 < np.median(spread**2 / variances) - 1 < (0.05 if n_features < 10 else 0.5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty", [1.0, 0.0])
def test_outputs_of_logistic_regression_move_nearly_as_in_refits(n_classes, penalty):
    X, y = make_classification(
        400, 6, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.3, random_state=0
    )
    loss = LogisticLoss() if n_classes == 2 else SoftmaxLoss()
    model = LogisticRegression(C=1 / penalty if penalty else np.inf, tol=1e-10, max_iter=500)

    def fit(weights):
        outputs = model.fit(X, y, sample_weight=weights).decision_function(X)
        return outputs.reshape(len(X), -1)

    weights = np.full(len(X), 0.5)
    outputs = fit(weights)
    curve = loss.curve(outputs, y)
    influence = LinearInfluence(with_ones(X), curve, 0.5, np.append(np.full(6, penalty), 0.0))
    leverage = influence.leverage(with_ones(X))
    moves = influence.move(leverage, curve, weights)
    refits = np.empty_like(moves[:8])
    for i in range(8):
        changed = weights.copy()
        changed[i] = 1.0
        refits[i] = fit(changed)[i] - outputs[i]
    if n_classes > 2:  # a number added to all outputs changes nothing
        refits -= refits.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(moves[:8], refits, rtol=0.1, atol=3e-3)


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss(), SoftmaxLoss()])
def test_slopes_are_derivatives(loss):
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(5, 3 if isinstance(loss, SoftmaxLoss) else 1))
    y = np.array([0, 1, 1, 0, 1])
    for k in range(outputs.shape[1]):
        step = np.zeros(outputs.shape[1])
        step[k] = 1e-6
        change = (loss.signal(outputs + step, y) - loss.signal(outputs - step, y)) / 2e-6
        np.testing.assert_allclose(change, loss.slope(outputs, y)[:, k], atol=1e-8)
        bend = loss.curve(outputs - step, y).slopes - loss.curve(outputs + step, y).slopes
        np.testing.assert_allclose(bend / 2e-6, loss.curve(outputs, y).bends[:, k], atol=1e-8)


def play(model, X, y, seed, **settings):
    rng = np.random.default_rng(seed)
    inside = rng.permutation(len(X)) < len(X) // 2
    victim = FrozenEstimator(model.fit(X[inside], y[inside]))
    return Records(X, y), inside, AnalyticLiRA(victim, **settings)


def measure(model, X, y, n_victims):
    """Mean AUC of the attack and of the bare loss, and the standard error of the difference."""
    results = []
    for seed in range(n_victims):
        records, inside, attack = play(model, X, y, seed)
        scores = attack.fit(records).score_samples(records)
        if hasattr(model, "classes_"):
            loss = model.predict_proba(X)[np.arange(len(X)), y]
        else:
            loss = -np.abs(y - model.predict(X))
        results.append([roc_auc_score(inside, scores), roc_auc_score(inside, loss)])
    results = np.array(results)
    return results.mean(axis=0), np.diff(results, axis=1).std(ddof=1) / np.sqrt(n_victims)


def test_the_attack_is_stronger_than_the_residual_of_least_squares():
    X, y = make_rows(n=300, n_features=50)
    (attack, loss), error = measure(LinearRegression(), X, y, 8)
    assert attack - loss > 0.02 + 3 * error


def test_the_attack_is_stronger_than_the_loss_of_logistic_regression():
    X, y = make_classification(600, 40, n_informative=15, flip_y=0.4, random_state=0)
    (attack, loss), error = measure(LogisticRegression(max_iter=500), X, y, 8)
    assert attack - loss > 0.02 + 3 * error


def test_the_attack_is_stronger_than_the_loss_of_three_classes():
    X, y = make_classification(600, 40, n_informative=15, n_classes=3, flip_y=0.4, random_state=0)
    (attack, loss), error = measure(LogisticRegression(max_iter=500), X, y, 4)
    assert attack - loss > 0.02 + 3 * error


def test_a_pipeline_and_its_search_are_read_like_the_model_on_its_features():
    X, y = make_rows(n=80)
    pipeline = make_pipeline(StandardScaler(), Ridge(1.0))
    records, _, attack = play(pipeline, X, y, 0)
    expected = attack.fit(records).score_samples(records)
    Z = StandardScaler().fit_transform(X)
    search = GridSearchCV(pipeline, {"ridge__alpha": [1.0]}, cv=2)
    records, _, searched = play(search, X, y, 0)
    np.testing.assert_allclose(searched.fit(records).score_samples(records), expected)
    victim = unwrap(attack.victim)
    frozen = make_pipeline(victim[0], FrozenEstimator(victim[1]))  # whose clone keeps its fit
    np.testing.assert_allclose(AnalyticLiRA(frozen).fit(records).score_samples(records), expected)
    given = AnalyticLiRA(attack.victim, Ridge(1.0)).fit(Records(Z, y))
    np.testing.assert_allclose(
        given._influence.leverage(with_ones(Z)),
        attack._influence.leverage(attack._model.read(records.X, records.y)[0]),
    )


def test_stored_predictions_suffice_when_the_recipe_is_given():
    X, y = make_rows(n=80)
    records, _, attack = play(Ridge(1.0), X, y, 0)
    expected = attack.fit(records).score_samples(records)
    stored = records.with_outputs(attack.victim)
    again = AnalyticLiRA(None, Ridge(1.0))
    assert not again.needs().access and attack.needs().access == {"optimum"}
    np.testing.assert_allclose(again.fit(stored).score_samples(stored), expected)


def test_a_record_that_was_not_given_to_fit_has_no_weight_in_it():
    X, y = make_rows(n=80)
    records, _, attack = play(LinearRegression(), X, y, 0)
    some = attack.fit(records[10:])
    scores = some.score_samples(records)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores[10:], some.score_samples(records[10:]))
    assert not np.allclose(scores[:10], attack.fit(records).score_samples(records[:10]))


def test_non_members_have_no_advantage_over_other_non_members():
    X, y = make_rows(n=300, n_features=20)
    members, others = slice(0, 100), np.arange(100, 300)
    victim = FrozenEstimator(LinearRegression().fit(X[members], y[members]))
    attack = AnalyticLiRA(victim, prior=1 / 3).fit(Records(X, y))
    scores = attack.score_samples(Records(X, y)[others])
    coins = np.random.default_rng(0).integers(0, 2, (50, 200))
    aucs = [roc_auc_score(coin, scores) for coin in coins]
    # The standard error of an AUC of 100 against 100 is .041; of the mean of 50, .006.
    assert abs(np.mean(aucs) - 0.5) < 4 * 0.041 / np.sqrt(50)


@pytest.mark.parametrize(
    "model, wanted, error",
    [
        (LogisticRegression(class_weight="balanced"), "class weights", ValueError),
        (LogisticRegression(solver="liblinear"), "penalizes the intercept", ValueError),
        (RidgeClassifier(), "got RidgeClassifier", TypeError),
    ],
)
def test_models_without_a_closed_form_are_refused(model, wanted, error):
    X, y = make_classification(60, 4, n_redundant=0, random_state=0)
    records, _, attack = play(model, X, y, 0)
    with pytest.raises(error, match=wanted):
        attack.fit(records)


def test_dependent_features_are_refused():
    X, y = make_rows(n=60)
    records, _, attack = play(LinearRegression(), np.hstack([X, X]), y, 0)
    with pytest.raises(ValueError, match="coefficients are not unique"):
        attack.fit(records)


def test_a_recipe_is_needed_without_a_victim():
    X, y = make_rows(n=60)
    victim = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match="estimator must say how the victim was trained"):
        AnalyticLiRA().fit(Records(X, y).with_outputs(victim))


@pytest.mark.parametrize("unit", [2.0**-24, 2.0**10])
def test_unit_of_the_targets_changes_no_score(unit):
    X, y = make_rows(n=40, n_features=8)
    expected, scores = (
        AnalyticLiRA(FrozenEstimator(LinearRegression().fit(X[::2], given[::2])))
        .fit(Records(X, given))
        .score_samples(Records(X, given))
        for given in (y, unit * y)
    )
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_sparse_features_give_the_scores_of_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8)) * (rng.random((150, 8)) < 0.4)
    y = rng.integers(0, 3, 150)
    records, _, attack = play(LogisticRegression(tol=1e-8, max_iter=500), X, y, 0)
    expected = attack.fit(records).score_samples(records)
    stored = Records(csr_array(X), y)
    np.testing.assert_allclose(attack.fit(stored).score_samples(stored), expected, atol=1e-5)


@pytest.mark.parametrize("model", [Ridge(2.0), LogisticRegression(tol=1e-8)])
def test_more_features_than_records_are_judged_by_the_records(model, monkeypatch):
    X, y = make_rows(n=40, n_features=70)
    y = (y > 0).astype(int) if isinstance(model, LogisticRegression) else y
    records, _, attack = play(model, X, y, 0)
    scores = attack.fit(records).score_samples(records)
    monkeypatch.setattr(linear_influence, "is_dual", lambda *given: False)
    np.testing.assert_allclose(attack.fit(records).score_samples(records), scores, rtol=1e-6)


def test_more_than_half_a_gigabyte_is_refused_before_it_is_held():
    X, y = make_rows(n=30, n_features=4)
    records, _, attack = play(Ridge(1.0), X, y, 0)
    assert attack.expect_cost(records).n_bytes < 500e6
    places = np.arange(5000), np.zeros(5000, dtype=int)
    wide = Records(csr_array((np.ones(5000), places), shape=(5000, 4999)), np.arange(5000) % 2)
    victim = LogisticRegression(tol=10).fit(wide.X, wide.y)
    with pytest.raises(ValueError, match=r"696 MB for a matrix of 5,000 x 5,000 coefficients"):
        AnalyticLiRA(victim).fit(wide)
