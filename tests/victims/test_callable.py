import numpy as np
import pandas as pd
import pytest
from asking import answers_of
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.victims import CallableVictim

X = np.linspace(-3, 3, 25)[:, None]


class Service:
    """Notes the size of every batch it is sent."""

    def __init__(self):
        self.sizes = []

    def __call__(self, rows):
        self.sizes.append(rows.shape[0])
        first = np.asarray(rows.todense() if sparse.issparse(rows) else rows)[:, 0]
        return np.column_stack([expit(-first), expit(first)])


@pytest.mark.parametrize("batch_size, sizes", [(10, [10, 10, 5]), (25, [25]), (1, [1] * 25)])
def test_rows_are_sent_in_batches(batch_size, sizes):
    service = Service()
    proba = CallableVictim(service, ["no", "yes"], batch_size=batch_size).predict_proba(X)
    assert service.sizes == sizes
    np.testing.assert_allclose(proba[:, 1], expit(X[:, 0]))


@pytest.mark.parametrize("kind", [pd.DataFrame, sparse.csr_array, np.asarray])
def test_batches_are_rows_of_whatever_holds_them(kind):
    victim = CallableVictim(Service(), ["no", "yes"], batch_size=7)
    np.testing.assert_allclose(victim.predict_proba(kind(X))[:, 1], expit(X[:, 0]))


def test_rows_may_be_a_list():
    victim = CallableVictim(lambda rows: expit(np.column_stack([-rows[:, 0], rows[:, 0]])), [0, 1])
    np.testing.assert_array_equal(victim.predict_proba(X.tolist()), victim.predict_proba(X))
    assert victim.predict(X.tolist()).tolist() == victim.predict(X).tolist()
    np.testing.assert_array_equal(answers_of(victim, X.tolist()).values, victim.predict_proba(X))


def test_columns_belong_to_the_classes_in_the_order_given():
    victim = CallableVictim(Service(), classes=["yes", "no"])
    outputs = answers_of(victim, X)
    np.testing.assert_allclose(outputs.scaled_logit(["no"] * 25), X[:, 0])
    assert victim.predict(X).tolist() == ["yes"] * 13 + ["no"] * 12


def test_records_are_attacked_through_a_function():
    y = np.where(X[:, 0] > 0, 1, 0)
    attack = ThresholdAttack(FrozenEstimator(CallableVictim(Service(), [0, 1])))
    scores = attack.fit(Records(X, y)).score_samples(Records(X, y))
    np.testing.assert_allclose(scores, np.log(expit(np.where(y, 1, -1) * X[:, 0])))


def test_shadow_models_attack_a_function():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=25)
    records = Records(X, y)
    pool = ShadowPool(LogisticRegression(), n_estimators=4, random_state=0).fit(records)
    victim = FrozenEstimator(CallableVictim(LogisticRegression().fit(X, y).predict_proba, [0, 1]))
    direct = FrozenEstimator(LogisticRegression().fit(X, y))
    scores = [
        LiRA(model, FrozenEstimator(pool)).fit(records).score_samples(records)
        for model in (victim, direct)
    ]
    np.testing.assert_array_equal(*scores)


def test_clone_calls_the_same_function():
    service = Service()
    victim = clone(CallableVictim(service.__call__, ["no", "yes"], batch_size=3))
    assert victim.get_params()["batch_size"] == 3
    np.testing.assert_allclose(victim.predict_proba(X)[:, 1], expit(X[:, 0]))
    service = Service()
    assert clone(FrozenEstimator(CallableVictim(service, [0, 1]))).estimator.function is service


@pytest.mark.parametrize("classes", [["a"], ["a", "b", "c"]])
def test_answer_of_the_wrong_shape_is_refused(classes):
    victim = CallableVictim(Service(), classes)
    shape = rf"{len(classes)} classes with an array of shape \(25, {len(classes)}\); got \(25, 2\)"
    with pytest.raises(ValueError, match=shape):
        victim.predict_proba(X)


def test_one_number_a_row_is_refused():
    victim = CallableVictim(lambda rows: expit(np.asarray(rows)[:, 0]), [0, 1])
    with pytest.raises(ValueError, match=r"shape \(25, 2\); got \(25,\)"):
        victim.predict_proba(X)


def test_nan_of_a_service_is_reported():
    def broken(rows):
        answer = np.full((len(rows), 2), 0.5)
        answer[3:] = np.nan
        return answer

    with pytest.raises(ValueError, match="NaN for 22 of 25 records, first at position 3"):
        answers_of(CallableVictim(broken, [0, 1]), X)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"function": 5, "classes": [0, 1]}, "'function' parameter of CallableVictim"),
        ({"function": len, "classes": "ab"}, "'classes' parameter of CallableVictim"),
        ({"function": len, "classes": [0, 1], "batch_size": 0}, "'batch_size' parameter"),
    ],
)
def test_wrong_parameters_are_named(settings, message):
    victim = CallableVictim(**settings)
    for check in (victim.fit, lambda: victim.predict_proba(X)):
        with pytest.raises(ValueError, match=message):
            check()


def test_precision_of_the_answers_is_kept():
    victim = CallableVictim(lambda rows: np.full((len(rows), 2), 0.5, np.float32), [0, 1])
    assert answers_of(victim, X).values.dtype == np.float32


def test_no_rows_are_no_call():
    service = Service()
    assert CallableVictim(service, [0, 1]).predict_proba(X[:0]).shape == (0, 2)
    assert service.sizes == []


def test_a_service_is_no_shadow_model():
    """Its clones ask the same service, so nothing would be compared."""
    service = CallableVictim(Service(), classes=[0, 1])
    records = Records(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match="estimator must be a model that can be trained; Callab"):
        ShadowPool(service, 2, random_state=0).fit(records)
