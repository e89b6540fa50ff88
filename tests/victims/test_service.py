import asyncio
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from asking import answers_of
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skmia import Outputs, Records, ShadowPool
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


def test_a_table_of_answers_has_the_classes_in_the_order_given():
    def answer(rows):
        return pd.DataFrame(Service()(rows), columns=["no", "yes"])

    np.testing.assert_allclose(CallableVictim(answer, ["no", "yes"]).predict_proba(X), answer(X))
    with pytest.raises(ValueError, match="columns of the answers are no, yes, and classes are ye"):
        CallableVictim(answer, ["yes", "no"]).predict_proba(X)


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


@pytest.mark.parametrize("share", [lambda p: p[:, 1], lambda p: p[:, 1:]], ids=["(n,)", "(n, 1)"])
def test_shares_of_the_second_class_alone_are_refused_with_the_columns(share):
    victim = CallableVictim(lambda rows: share(np.full((len(rows), 2), 0.5)), classes=[0, 1])
    with pytest.raises(ValueError, match="second class, stack 1 - p and p as two columns"):
        victim.predict_proba(np.zeros((3, 1)))


def test_labels_in_place_of_probabilities_are_refused_with_the_kind():
    victim = CallableVictim(lambda rows: ["b"] * len(rows), classes=["a", "b"])
    with pytest.raises(ValueError, match=r'got \(3,\)\. For labels, pass kind="label"\.'):
        victim.predict_proba(np.zeros((3, 1)))


def test_a_column_of_rows_is_no_matrix():
    victim = CallableVictim(lambda rows: pd.Series([[0.5, 0.5]] * len(rows)), classes=["a", "b"])
    with pytest.raises(ValueError, match=r"of shape \(3, 2\); got \(3,\)\."):
        victim.predict_proba(np.zeros((3, 1)))


def test_a_column_of_labels_is_one_label_a_row():
    victim = CallableVictim(lambda rows: [["b"]] * len(rows), classes=["a", "b"], kind="label")
    assert victim.predict(np.zeros((3, 1))).tolist() == ["b"] * 3


def test_a_table_with_its_classes_in_another_order_is_refused():
    table = pd.DataFrame({"b": [0.9], "a": [0.1]})
    victim = CallableVictim(lambda rows: table, classes=["a", "b"])
    with pytest.raises(ValueError, match="columns of the answers are b, a, and classes are a, b"):
        victim.predict_proba(np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("low", "high", "cure"), [(0, 87, "Divide percent by 100"), (-3, 2, "Take the softmax")]
)
def test_numbers_that_are_no_probabilities_are_refused_with_what_makes_them_some(low, high, cure):
    with pytest.raises(ValueError, match=f"lie in .0, 1.; got .*{cure}"):
        Outputs([[low, high]], [0, 1])


def test_nan_of_a_service_is_reported():
    def broken(rows):
        answer = np.full((len(rows), 2), 0.5)
        answer[3:] = np.nan
        return answer

    with pytest.raises(ValueError, match="NaN for 22 of 25 records, first at position 3"):
        answers_of(CallableVictim(broken, [0, 1]), X)


@pytest.mark.parametrize("wrong", [np.nan, 100.0])
def test_answers_that_are_refused_are_not_kept_for_later_queries(wrong, tmp_path):
    """They are asked for again: of the three batches the second one."""
    service = Service()

    def broken(rows):
        answer = service(rows)
        return answer * wrong if len(service.sizes) == 2 else answer

    for error in (pytest.raises(ValueError, match=r"NaN for 10 of 25|must lie in \[0, 1\]"), None):
        victim = CallableVictim(broken, ["no", "yes"], batch_size=10, checkpoint=tmp_path)
        with error or nullcontext():
            proba = answers_of(victim, X).values
    np.testing.assert_allclose(proba[:, 1], expit(X[:, 0]))
    assert service.sizes == [10, 10, 5, 10]


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


class Flaky(Service):
    """Fails at some of its calls."""

    def __init__(self, failing, error=ConnectionError):
        super().__init__()
        self.failing, self.error, self.n_calls = set(failing), error, 0

    def __call__(self, rows):
        self.n_calls += 1
        if self.n_calls in self.failing:
            raise self.error(f"call {self.n_calls}")
        return super().__call__(rows)


@pytest.fixture
def slept(monkeypatch):
    """Seconds of each wait, of which none passes."""
    seconds = []
    monkeypatch.setattr("time.sleep", seconds.append)
    return seconds


@pytest.mark.parametrize("folder", [False, True])
def test_an_interrupted_query_goes_on_where_it_stopped(tmp_path, folder):
    service = Flaky([3])
    settings = {"batch_size": 7, "checkpoint": tmp_path / "answers" if folder else None}
    victim = CallableVictim(service, [0, 1], **settings)
    with pytest.raises(ConnectionError, match="call 3"):
        answers_of(victim, X)
    assert service.sizes == [7, 7]
    # A folder serves another process as well.
    again = CallableVictim(service, [0, 1], **settings) if folder else victim
    np.testing.assert_allclose(answers_of(again, X).values[:, 1], expit(X[:, 0]))
    assert service.sizes == [7, 7, 7, 4]
    assert victim.n_calls_ + again.n_calls_ * folder == 5
    again.predict_proba(X)  # a complete query is asked again, unless a folder has it
    assert len(service.sizes) == (4 if folder else 8)


@pytest.mark.parametrize(
    ("changed", "n_more"),
    [
        ({"retries": 1}, 6),
        ({"function": lambda rows: np.column_stack([expit(rows), expit(-rows)])}, 8),
        ({"n_repeats": 1}, 4),
        ({"n_repeats": 3}, 12),
        ({"classes": [2, 1]}, 8),
    ],
    ids=["retries", "function", "mean of 1", "mean of 3", "classes"],
)
def test_an_interrupted_query_keeps_the_answers_of_what_is_set_alone(changed, n_more):
    service = Flaky([3])
    victim = CallableVictim(service, [0, 1], batch_size=7, n_repeats=2)
    with pytest.raises(ConnectionError, match="call 3"):
        victim.predict_proba(X)
    victim.set_params(**changed)
    sign = -1 if "function" in changed else 1
    np.testing.assert_allclose(victim.predict_proba(X)[:, 1], expit(sign * X[:, 0]))
    assert victim.n_calls_ == 3 + n_more
    assert len(service.sizes) == 2 + (0 if "function" in changed else n_more)


def test_votes_of_an_interrupted_query_are_for_the_classes_that_are_set():
    answers = iter([["b", "a"]] * 2 + [KeyError("down")] + [["b", "a"]] * 3)

    def vote(rows):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    victim = CallableVictim(vote, ["a", "b"], kind="label", n_repeats=3)
    with pytest.raises(KeyError):
        victim.predict(X[:2])
    victim.set_params(classes=["b", "a"])
    assert victim.predict(X[:2]).tolist() == ["b", "a"]


def test_many_records_are_one_query(monkeypatch):
    monkeypatch.setattr("skmia._core.query.CHUNK", 10)
    service = Flaky([4])
    victim = CallableVictim(service, [0, 1], batch_size=5)
    with pytest.raises(ConnectionError):
        answers_of(victim, X)
    answers_of(victim, X)
    assert service.sizes == [5] * 5


def test_labels_are_kept_with_their_classes(tmp_path):
    lists = [False, True], ["no", "yes"], pd.Series(["of", "text"]), np.array([1, 2], dtype=object)
    for classes in lists:
        victim = CallableVictim(
            lambda rows, classes=classes: [classes[int(x > 0)] for x in rows[:, 0]],
            classes,
            kind="label",
            checkpoint=tmp_path / str(classes[0]),
        )
        first, again = victim.predict(X), victim.predict(X)
        assert first.tolist() == again.tolist() == [classes[int(x > 0)] for x in X[:, 0]]
        assert victim.n_queries_ == 25


def test_errors_that_may_pass_are_asked_again(slept):
    service = Flaky([1, 2, 5])
    victim = CallableVictim(service, [0, 1], batch_size=10, retries=2)
    np.testing.assert_allclose(victim.predict_proba(X)[:, 1], expit(X[:, 0]))
    assert slept == [1, 2, 1]
    assert (victim.n_calls_, victim.n_queries_) == (6, 10 * 3 + 10 + 5 * 2)
    with pytest.raises(ConnectionError, match="call 2"):
        CallableVictim(Flaky([1, 2]), [0, 1], retries=1).predict_proba(X)
    with pytest.raises(KeyError):  # not among those that a user named
        CallableVictim(Flaky([1], KeyError), [0, 1], retries=5).predict_proba(X)
    victim = CallableVictim(Flaky([1], KeyError), [0, 1], retries=1, retry_on=(KeyError,))
    assert victim.predict_proba(X).shape == (25, 2)


def test_calls_keep_a_rate(slept, monkeypatch):
    monkeypatch.setattr("time.monotonic", lambda: 100 + sum(slept))
    victim = CallableVictim(Service(), [0, 1], batch_size=5, max_calls_per_second=4)
    victim.predict_proba(X)
    assert slept == [0.0] + [0.25] * 4


def test_coroutine_functions_are_awaited():
    async def ask(rows):
        await asyncio.sleep(0)
        return Service()(rows)

    async def notebook():  # in a loop that runs already
        return CallableVictim(ask, [0, 1], batch_size=9).predict_proba(X)

    expected = Service()(X)
    np.testing.assert_array_equal(CallableVictim(ask, [0, 1]).predict_proba(X), expected)
    np.testing.assert_array_equal(asyncio.run(notebook()), expected)


class Tagless:
    """Has the methods of a classifier and is none of scikit-learn's."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_models_that_are_no_estimators_are_told_the_way():
    records = Records(X, (X[:, 0] > 0).astype(int))
    said = r"is no estimator of scikit-learn\. Give a model that derives its class from .*Callable"
    for make in (lambda: ThresholdAttack(Tagless()), lambda: ShadowPool(Tagless(), 2)):
        with pytest.raises(TypeError, match=said):
            make().fit(records)
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.train({}, xgboost.DMatrix(X, X[:, 0]), 1)
    with pytest.raises(TypeError, match=r"victim xgboost\.Booster .* XGBClassifier .*save_model"):
        ThresholdAttack(booster).fit(records)


# -- means of repeated answers


class NoisyService(Service):
    """Adds another number to each answer, in a known order: 0, 1, 2, ..."""

    def __call__(self, rows):
        return super().__call__(rows) + len(self.sizes) - 1


@pytest.mark.parametrize("batch_size", [10, 100])
def test_the_mean_of_repeated_answers_by_hand(batch_size):
    service = NoisyService()
    victim = CallableVictim(service, ["no", "yes"], batch_size=batch_size, n_repeats=4)
    proba = victim.predict_proba(X)
    # Batches are asked one after the other, four times each.
    added = np.repeat([1.5, 5.5, 9.5], 10)[:25] if batch_size == 10 else 1.5
    np.testing.assert_allclose(proba[:, 1], expit(X[:, 0]) + added)
    assert victim.n_queries_ == 4 * len(X) and clone(victim).n_repeats == 4


def test_the_majority_of_repeated_labels():
    answers = iter([["b", "c"], ["a", "c"], ["b", "a"]])
    victim = CallableVictim(lambda rows: next(answers), ["c", "a", "b"], kind="label", n_repeats=3)
    assert victim.predict([[0.0], [1.0]]).tolist() == ["b", "c"]
    assert not hasattr(victim, "predict_proba")


@pytest.mark.parametrize("stored", [False, True])
def test_an_interrupted_mean_goes_on_with_the_answers_that_it_has(stored, tmp_path):
    service, failing = Service(), [3]

    def answer(rows):
        if len(service.sizes) in failing:
            failing.clear()
            raise KeyError("down")
        return service(rows)

    folder = tmp_path / "answers" if stored else None
    settings = {"batch_size": 13, "n_repeats": 2, "checkpoint": folder}
    victim = CallableVictim(answer, ["no", "yes"], **settings)
    with pytest.raises(KeyError):
        victim.predict_proba(X)
    np.testing.assert_allclose(victim.predict_proba(X)[:, 1], expit(X[:, 0]))
    assert service.sizes == [13, 13, 12, 12]
    again = CallableVictim(answer, ["no", "yes"], **settings)
    again.predict_proba(X)
    assert len(service.sizes) == (4 if stored else 8)
    # Answers of another number of repeats are others.
    once = CallableVictim(answer, ["no", "yes"], batch_size=13, checkpoint=folder)
    once.predict_proba(X)
    assert len(service.sizes) == (6 if stored else 10)


@pytest.mark.parametrize("n_repeats", [0, 1.5, "many"])
def test_a_wrong_number_of_repeats_is_refused(n_repeats):
    with pytest.raises(ValueError, match="n_repeats"):
        CallableVictim(Service(), ["no", "yes"], n_repeats=n_repeats).predict_proba(X)
