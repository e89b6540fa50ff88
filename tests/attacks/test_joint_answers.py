"""All answers of naive Bayes and discriminant analysis, and what they say of the training rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records
from skmia.attacks import MomentsAttack
from skmia.attacks.recovered import JointAnswersAttack
from skmia.victims import read_answer_equations
from skmia.victims._class_densities import _DENSITIES, open_class_rows

pytestmark = pytest.mark.contract

KINDS = {
    "normal features": GaussianNB(),
    "wide variances": GaussianNB(var_smoothing=0.3),
    "equal priors": GaussianNB(priors=[0.5, 0.5]),
    "quadratic": QuadraticDiscriminantAnalysis(),
    "regularized": QuadraticDiscriminantAnalysis(reg_param=0.3),
    "linear": LinearDiscriminantAnalysis(),
    "least squares": LinearDiscriminantAnalysis(solver="lsqr"),
    "bits": BernoulliNB(binarize=0.5),
    "counts": MultinomialNB(alpha=0.5),
    "no prior": MultinomialNB(fit_prior=False),
}


def make_classes(d, seed=0, n=300, n_classes=2):
    """Records of classes that overlap, of positive features, and the membership of half of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, d)) * (1 + 0.4 * y[:, None] / np.sqrt(d)) + y[:, None] / np.sqrt(d)
    return Records(np.exp(X / 2), y), np.isin(np.arange(n), rng.permutation(n)[: n // 2])


def fit(recipe, records, member):
    return clone(recipe).fit(records.X[member], records.y[member])


def answer(victim, records, n_decimals=None):
    """Records with rounded answers of a victim alone."""
    values = victim.predict_proba(records.X)
    values = values if n_decimals is None else np.round(values, n_decimals)
    return records.with_fields(outputs=Outputs(values, victim.classes_, "proba"))


def center(values):
    return values - values.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", KINDS)
def test_densities_of_members_are_those_of_the_model(name, n_classes):
    if name == "equal priors" and n_classes == 3:
        return
    records, member = make_classes(6, n_classes=n_classes)
    victim = fit(KINDS[name], records, member)
    # Of the other rows, var_smoothing knows the largest variance as well.
    rows = records[member] if name == "wide variances" else records
    weights = member[member] if name == "wide variances" else member
    densities = _DENSITIES[type(victim)](victim, *open_class_rows(victim, rows)[1:])
    logs = densities.fit(weights.astype(float))
    expected = victim.predict_log_proba(rows.X)
    np.testing.assert_allclose(center(logs), center(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", KINDS)
def test_derivatives_are_those_of_the_densities(name):
    records, _ = make_classes(5, n=40)
    model = KINDS[name].fit(records.X, records.y)
    _, X, y = open_class_rows(model, records)
    densities, rng = _DENSITIES[type(model)](model, X, y), np.random.default_rng(0)
    weights, some, step = rng.random(40) + 0.5, [3, 17, 30], 1e-5
    densities.fit(weights)
    moved = [densities.move(k, X[some], y[some]) for k in range(2)]
    for column, row in enumerate(some):
        away = step * (np.arange(40) == row)
        after, before = densities.fit(weights + away), densities.fit(weights - away)
        slopes = (after - before) / (2 * step)  # of linear discriminant analysis up to a constant
        found = np.column_stack([one[:, column] for one in moved])
        np.testing.assert_allclose(center(found), center(slopes), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "d", "least"),
    [
        ("quadratic", 15, 0.95),
        pytest.param("normal features", 60, 0.8, marks=pytest.mark.slow),
        pytest.param("linear", 60, 0.72, marks=pytest.mark.slow),
        ("bits", 60, 0.7),
    ],
)
def test_rounded_answers_reveal_who_was_a_training_row(name, d, least):
    found, expected = [], []
    for seed in range(2):
        records, member = make_classes(d, seed)
        given = answer(fit(KINDS[name], records, member), records, 4)
        attack = JointAnswersAttack(None, KINDS[name], random_state=0).fit(given)
        found.append(roc_auc_score(member, attack.score_samples(given)))
        expected.append(attack.expected_auc_)
        assert attack.error_ < 1.5 and attack.n_queries_ == 300
    assert np.mean(found) > least
    assert abs(np.mean(expected) - np.mean(found)) < 0.05


def test_several_classes_say_more():
    found = []
    for n_classes in (2, 4):
        records, member = make_classes(30, n_classes=n_classes)
        given = answer(fit(GaussianNB(), records, member), records, 6)
        attack = JointAnswersAttack(None, GaussianNB(), random_state=0).fit(given)
        assert attack.n_equations_ == (n_classes - 1) * 61 + 1
        found.append(roc_auc_score(member, attack.score_samples(given)))
    assert found[1] > found[0] + 0.05


def test_the_file_has_more_than_all_answers():
    records, member = make_classes(30)
    victim = fit(GaussianNB(), records, member)
    attacks = MomentsAttack(victim), JointAnswersAttack(victim, random_state=0)
    of_file, of_answers = (
        roc_auc_score(member, one.fit(records).score_samples(records)) for one in attacks
    )
    assert of_file > of_answers + 0.03


def test_a_scaler_is_a_part_of_the_recipe():
    records, member = make_classes(40)
    recipe = make_pipeline(StandardScaler(), GaussianNB())
    given = answer(fit(recipe, records, member), records, 6)
    scores = [
        JointAnswersAttack(None, one, random_state=0).fit(given).score_samples(given)
        for one in (recipe, GaussianNB())
    ]
    # The noise that is assumed depends on the directions of the equations.
    assert np.corrcoef(scores)[0, 1] > 0.99


@pytest.mark.filterwarnings("ignore:The equations")
def test_a_victim_of_other_records_reveals_nothing():
    found = []
    for seed in range(2):
        records, member = make_classes(40, seed)
        other, half = make_classes(40, seed=100 + seed)
        given = answer(fit(GaussianNB(), other, half), records, 6)
        attack = JointAnswersAttack(None, GaussianNB(), random_state=0).fit(given)
        found.append(roc_auc_score(member, attack.score_samples(given)))
    assert abs(np.mean(found) - 0.5) < 0.07  # three standard errors


def test_missing_members_are_noise():
    records, member = make_classes(15)
    victim = fit(QuadraticDiscriminantAnalysis(), records, member)
    kept = np.ones(300, dtype=bool)
    kept[np.flatnonzero(member)[:15]] = False
    given, rest = answer(victim, records[kept], 6), member[kept]
    attack = JointAnswersAttack(
        None, QuadraticDiscriminantAnalysis(), outsiders=0.1, prior=float(rest.mean())
    )
    found = roc_auc_score(rest, attack.fit(given).score_samples(given))
    assert found > 0.62
    assert abs(attack.expected_auc_ - found) < 0.1


def test_a_further_record_is_one_more_candidate():
    records, member = make_classes(15)
    victim = fit(QuadraticDiscriminantAnalysis(), records, member)
    given = answer(victim, records)
    left_out = np.r_[np.flatnonzero(member)[:3], np.flatnonzero(~member)[:3]]
    rest = np.setdiff1d(np.arange(300), left_out)
    attack = JointAnswersAttack(
        None, QuadraticDiscriminantAnalysis(), random_state=0, outsiders=0.02
    )
    scores = attack.fit(given[rest]).score_samples(given[left_out])
    assert np.isfinite(scores).all()
    assert scores[:3].mean() > scores[3:].mean()


@pytest.mark.parametrize(
    ("recipe", "error", "why"),
    [
        (DecisionTreeClassifier(), TypeError, "DecisionTreeClassifier do not follow"),
        (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1), TypeError, "was shrunk"),
        (BernoulliNB(alpha=[1.0] * 6), TypeError, "alpha is not one positive number"),
        (GaussianNB(), ValueError, "not those of a GaussianNB"),
    ],
)
def test_other_answers_are_refused(recipe, error, why):
    records, member = make_classes(6)
    given = answer(fit(DecisionTreeClassifier(max_depth=4), records, member), records)
    with pytest.raises(error, match=why):
        JointAnswersAttack(None, recipe).fit(given)


def test_answers_are_read_by_their_classes():
    records, member = make_classes(5, n=100, n_classes=3)
    given = answer(fit(GaussianNB(), records, member), records)
    turned = Outputs(given["outputs"].values[:, [2, 0, 1]], [2, 0, 1])
    attack = JointAnswersAttack(None, GaussianNB(), random_state=0)
    some = [given, records.with_fields(outputs=turned)]
    np.testing.assert_allclose(*(attack.fit(one).score_samples(one) for one in some))
    with pytest.raises(ValueError, match="Give records of each of these classes"):
        attack.fit(given[records.y < 2])


def test_few_answers_are_refused():
    records, member = make_classes(20, n=200)
    given = answer(fit(QuadraticDiscriminantAnalysis(), *make_classes(20, n=600)), records)
    assert member.any()
    with pytest.raises(ValueError, match=r"231 coefficients do not follow from \d+ answers"):
        JointAnswersAttack(None, QuadraticDiscriminantAnalysis()).fit(given)


def test_answers_with_noise_are_refused():
    records, member = make_classes(30)
    noise = np.random.default_rng(0).normal(0, 0.02, 300)
    shares = fit(GaussianNB(), records, member).predict_proba(records.X)[:, 1]
    noisy = np.clip(shares + noise, 0.01, 0.99)
    given = records.with_fields(outputs=Outputs(np.column_stack([1 - noisy, noisy]), [0, 1]))
    with pytest.raises(ValueError, match="A service that adds noise"):
        JointAnswersAttack(None, GaussianNB()).fit(given)


def test_a_singular_covariance_is_refused():
    records, member = make_classes(10)
    doubled = Records(np.hstack([records.X, records.X]), records.y)
    given = answer(fit(GaussianNB(), doubled, member), doubled)
    recipe = LinearDiscriminantAnalysis()
    with pytest.raises(ValueError, match="covariance of a class is singular|not those of"):
        JointAnswersAttack(None, recipe).fit(given)


def test_equations_hold_at_the_right_bits():
    records, member = make_classes(20)
    recipe = GaussianNB().fit(records.X, records.y)
    given = answer(fit(GaussianNB(), records, member), records)
    found = read_answer_equations(recipe, records, given["outputs"], 150.0, 10.0)
    rows, targets = found.equations.rows.toarray(), found.equations.targets
    away = rows @ member - targets
    usual = np.sqrt(np.square(rows).sum(axis=1) / 4)  # of bits that are drawn
    assert np.sqrt(np.mean((away / usual) ** 2)) < 0.1
    assert away[-1] == 0


def test_features_of_single_precision_are_no_noise():
    records, member = make_classes(12)
    single = Records(records.X.astype(np.float32), records.y)
    recipe = QuadraticDiscriminantAnalysis()
    given = answer(fit(recipe, single, member), single)
    attack = JointAnswersAttack(None, recipe, random_state=0).fit(given)
    assert attack.error_ < 3
    assert roc_auc_score(member, attack.score_samples(given)) > 0.7
