"""Models whose answers differ when they are asked again."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from skmia import Records, audit
from skmia.attacks import ThresholdAttack
from skmia.report.agreement import check_agreement
from skmia.report.agreement._answered_rows import AnswerRepetition, measure_repetition
from skmia.report.agreement._skill import AnswerScores
from skmia.victims import CallableVictim, FunctionClassifier

# In rare runs, OpenBLAS tells of invalid values in single-precision products that are all finite.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in matmul")

SENTENCE = "The model gives different answers when it is queried again."
CURE = "net.eval()"


def make_table(n=300, seed=0):
    """Columns with classes that follow from them; the first half are members."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    y = (X @ [1.5, -1.0, 0.8, 0.5, 0.0] + 0.5 * rng.logistic(size=n) > 0).astype(int)
    return X, y, np.arange(n) < n // 2


def ask(model, X, y, members, **settings):
    return check_agreement(model, Records(X, y), members, random_state=0, **settings)


class NoisyRegression(LogisticRegression):
    """A logistic regression that adds noise to its probabilities, from one of three sources."""

    def __init__(self, source="global", scale=0.05):
        super().__init__()
        self.source, self.scale = source, scale

    def predict_proba(self, X):
        sources = {
            "global": check_random_state(None),
            "fresh": np.random.default_rng(),
            "same for each batch": np.random.default_rng(0),
        }
        p = super().predict_proba(X)
        p = np.clip(p + sources[self.source].laplace(scale=self.scale, size=p.shape), 1e-3, None)
        return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("source", ["global", "fresh", "same for each batch"])
@pytest.mark.parametrize("n", [pytest.param(100, marks=pytest.mark.slow), 900])
def test_noise_of_a_fitted_model_is_told_with_its_cure(source, n):
    X, y, members = make_table(n)
    model = NoisyRegression(source).fit(X[members], y[members])
    found = ask(model, X, y, members)
    assert (found.status, found.cause) == ("warn", "repeats")
    assert SENTENCE in found.text and CURE in found.cure and found.cure in found.text


class NoisyForest(RandomForestRegressor):
    def predict(self, X):
        return super().predict(X) + np.random.default_rng().normal(size=len(X))


class RandomizedLabels(ClassifierMixin, BaseEstimator):
    """A classifier of labels alone, a tenth of which are drawn anew in each answer."""

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        labels, rng = self.model_.predict(X), np.random.default_rng()
        return np.where(rng.random(len(X)) < 0.1, 1 - labels, labels)


def test_numbers_labels_and_steps_of_a_pipeline_can_be_noisy():
    X, y, members = make_table()
    noise = FunctionTransformer(lambda X: X + np.random.default_rng().normal(size=X.shape))
    models = {
        "labels": (RandomizedLabels(), y),
        "numbers": (NoisyForest(10, random_state=0), X @ [5.0, 3, 0, 0, 0]),
        "a step": (make_pipeline(noise, LogisticRegression()), y),
    }
    for name, (model, target) in models.items():
        found = ask(model.fit(X[members], target[members]), X, target, members)
        assert found.status == "warn" and SENTENCE in found.text, name


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(10, random_state=0),
        LogisticRegression(),
        SVC(),
        LogisticRegression(C=1e-12),  # of nearly constant answers
    ],
    ids=str,
)
def test_models_that_repeat_their_answers_are_told_nothing(model):
    X, y, members = make_table()
    found = ask(model.fit(X[members], y[members]), X, y, members)
    assert "repeats" in found.asked and SENTENCE not in found.text
    target = 1e6 + X[:, 0]
    found = ask(Ridge().fit(X[members], target[members]), X, target, members)
    assert found.status == "pass" and SENTENCE not in found.text


# -- what it costs


class Service:
    """A function of rows that counts them, with noise or without."""

    def __init__(self, model, scale=0.0):
        self.model, self.scale, self.rows = model, scale, 0

    def __call__(self, X):
        self.rows += len(X)
        p = self.model.predict_proba(X)
        p = np.clip(p + np.random.default_rng().laplace(size=p.shape) * self.scale, 1e-3, None)
        return p / p.sum(axis=1, keepdims=True)


WRAPPERS = {
    "as it is": lambda victim: victim,
    "frozen": FrozenEstimator,
    "in a pipeline": lambda victim: make_pipeline(FunctionTransformer(), victim).fit(np.eye(5)),
}


@pytest.mark.parametrize("scale", [0.0, 0.05])
@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=list(WRAPPERS))
def test_a_service_is_asked_again_for_a_few_records(scale, wrap):
    X, y, members = make_table()
    service = Service(LogisticRegression().fit(X[members], y[members]), scale)
    found = ask(wrap(CallableVictim(service, [0, 1])), X, y, members)
    assert service.rows == len(X) + 50
    assert (found.status, found.cause) == (("warn", "repeats") if scale else ("pass", None))


class LabelService(Service):
    """A function of rows that returns labels, some of which are drawn anew in each answer."""

    def __call__(self, X):
        self.rows += len(X)
        labels, drawn = self.model.predict(X), np.random.default_rng().random(len(X))
        return np.where(drawn < self.scale, 1 - labels, labels)


@pytest.mark.parametrize(
    "wrap, kind",
    [
        pytest.param("as it is", "proba", marks=pytest.mark.slow),
        ("frozen", "label"),
        pytest.param("as it is", "label", marks=pytest.mark.slow),
        pytest.param("in a pipeline", "proba", marks=pytest.mark.slow),
    ],
)
def test_the_mean_of_as_many_answers_as_are_named_is_told_nothing(kind, wrap):
    (X, y, members), wrap = make_table(), WRAPPERS[wrap]
    service = (LabelService if kind == "label" else Service)(LogisticRegression(), 0.2)
    service.model.fit(X[members], y[members])
    victim = CallableVictim(service, [0, 1], kind=kind)
    found = ask(wrap(victim), X, y, members)
    assert found.cause == "repeats"
    n_repeats = int(found.cure.partition("n_repeats=")[2].partition(")")[0])
    assert 100 <= n_repeats <= 1000
    mean = CallableVictim(service, [0, 1], kind=kind, n_repeats=n_repeats)
    found = ask(wrap(mean), X, y, members)
    assert found.status == "pass"
    few = CallableVictim(service, [0, 1], kind=kind, n_repeats=2)
    found = ask(wrap(few), X, y, members)
    assert found.cause == "repeats" and "means of 2 answers still differ" in found.text


def test_how_many_answers_are_averaged_by_hand():
    assert AnswerRepetition(0.05, 0.5).suffices(2) and not AnswerRepetition(0.05, 0).suffices(1)
    assert AnswerRepetition(0.02, 0).count_missing(1) == 100
    # Noise of four times what may be left takes 16 times as many answers, and twice these.
    assert AnswerRepetition(0.2, 0).count_missing(10) == 400  # 2 * 10 * 16, in hundreds
    assert AnswerRepetition(0, 0.2).count_missing(10) == 400
    assert (
        AnswerRepetition(np.inf, 1).count_missing(1)
        == AnswerRepetition(9, 1).count_missing(1)
        == 1000
    )
    assert AnswerRepetition(9, 1).suffices(1000) and not AnswerRepetition(9, 1).suffices(999)


def test_the_queries_of_a_service_are_counted():
    X, y, members = make_table()
    service = Service(LogisticRegression().fit(X[members], y[members]))
    attacks, settings = {"loss": ThresholdAttack()}, {"fprs": [0.1], "random_state": 0}
    victim = CallableVictim(service, [0, 1])
    report = audit(victim, Records(X, y), members, attacks=attacks, **settings)
    assert report.data["n_queries"] == service.rows == len(X) + 50


def test_a_service_is_asked_again_where_it_would_be_stopped():
    X, y, members = make_table(600)
    service = Service(LogisticRegression(), 0)
    service.model.fit(X[members], y[members])

    def shuffle(rows):
        return np.random.default_rng().permutation(service(rows))

    found = ask(CallableVictim(shuffle, [0, 1]), X, y, members)
    assert found.status == "warn" and SENTENCE in found.text and CURE in found.text
    assert service.rows >= len(X) + 50


# -- nets


def test_a_net_that_keeps_its_dropout_is_told():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    X, y, members = make_table()

    class Net(torch.nn.Module):
        def __init__(self, stays=True):
            super().__init__()
            self.stays = stays
            self.first, self.last = torch.nn.Linear(5, 32), torch.nn.Linear(32, 2)

        def forward(self, X):
            active = self.stays or self.training
            hidden = torch.nn.functional.dropout(torch.relu(self.first(X)), 0.4, active)
            return self.last(hidden)

    for stays in (True, False):
        torch.manual_seed(0)
        net = skorch.NeuralNetClassifier(
            Net,
            module__stays=stays,
            criterion=torch.nn.CrossEntropyLoss,
            max_epochs=5,
            lr=0.3,
            train_split=None,
            verbose=0,
        ).fit(X[members], y[members])
        found = ask(net, X, y, members)
        assert found.status == ("warn" if stays else "pass")
        assert (SENTENCE in found.text and CURE in found.text) == stays


def test_a_net_of_a_loop_of_ones_own_that_stays_in_training_mode_is_told():
    torch = pytest.importorskip("torch")
    X, y, members = make_table()

    def train(X, y, seed):
        torch.manual_seed(seed)
        net = torch.nn.Sequential(
            torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 2)
        )
        steps = torch.optim.Adam(net.parameters(), 0.02)
        for _ in range(60):
            steps.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(torch.tensor(X)), torch.tensor(y))
            loss.backward()
            steps.step()
        return net

    def forward(net, X):
        with torch.no_grad():
            return net(torch.tensor(np.asarray(X))).numpy()

    for given, status in ((forward, "warn"), (None, "pass")):
        model = FunctionClassifier(train, given, random_state=0).fit(X[members], y[members])
        found = ask(model, X, y, members)
        assert found.status == status and (SENTENCE in found.text) == (status == "warn")


# -- whether two answers are equal, by hand


def are_repeated(first, second):
    return measure_repetition(first, second).suffices(1)


def of_labels(labels):
    return AnswerScores(np.eye(2)[labels], np.asarray(labels))


def test_answers_are_equal_but_for_rounding():
    steps = np.arange(100.0)
    for values in (steps, 1e6 + steps, np.column_stack([steps, -steps])):
        rounded = values * (1 + 1e-8)
        assert are_repeated(AnswerScores(values), AnswerScores(rounded))
        assert not are_repeated(AnswerScores(values), AnswerScores(values[::-1].copy()))
    assert are_repeated(AnswerScores(steps), AnswerScores(steps + 0.2))  # of a spread of 29
    assert not are_repeated(AnswerScores(steps), AnswerScores(steps + 0.4))
    labels = np.arange(200) % 2
    assert are_repeated(of_labels(labels), of_labels(np.r_[1, 0, labels[2:]]))  # 1%
    assert not are_repeated(of_labels(labels), of_labels(np.r_[1, 0, 1, labels[3:]]))


def test_noise_in_a_rare_class_is_noise():
    # Of fifty classes most have a probability near 0, whatever the noise of the others.
    rng = np.random.default_rng(0)
    first, second = (rng.random((200, 50)) * (np.arange(50) < 3) for _ in range(2))
    scores = [AnswerScores(one, np.zeros(200, dtype=int)) for one in (first, second)]
    assert not are_repeated(*scores)
