"""Models that answer in a form that an audit cannot read: a sentence says which is needed."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Outputs, Records, audit
from skmia.base import query

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
MODEL = LogisticRegression().fit(X, Y)
P = MODEL.predict_proba(X)


class Answering(ClassifierMixin, BaseEstimator):
    """A classifier whose predict_proba returns what it was given."""

    def __init__(self, answers=None):
        self.answers = answers

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return MODEL.predict(X)

    def predict_proba(self, X):
        return self.answers


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (P[:, 1], "two columns"),
        (P[:, 1:], "stack 1 - p and p as two columns"),
        (np.column_stack([P, P]), "one number for each of its 2 classes"),
        (P[:-1], "returned 59 outputs for 60 records"),
        (P.astype(str), "must return numbers"),
        (3 * P, "must lie in [0, 1]"),
        (P + [-2, 2], "As rows sum to 1, set negative ones to 0 and divide each row by its sum"),
        (P - 2, "Take the softmax of logits"),
        (None, "predict_proba of Answering returned nothing"),
        ([P, P], "several outputs for each record"),
        (pd.DataFrame(P[:, ::-1], columns=[1, 0]), "columns of the answers are 1, 0, and classes"),
    ],
)
def test_probabilities_in_another_form(answers, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        query(Answering(answers), Records(X, Y))


@pytest.mark.parametrize("answers", [P.tolist(), pd.DataFrame(P), P.astype(np.float32)])
def test_probabilities_that_are_read(answers):
    np.testing.assert_allclose(query(Answering(answers), Records(X, Y)).values, P, atol=1e-6)


def test_a_table_of_answers_names_its_classes():
    answers = pd.DataFrame({"no": [0.9], "yes": [0.1]})
    assert Outputs(answers, classes=["no", "yes"]).values.tolist() == [[0.9, 0.1]]
    with pytest.raises(ValueError, match=r"columns of the answers are no, yes, and classes are"):
        Outputs(answers, classes=["yes", "no"])


def test_several_numbers_of_a_regressor():
    model = LinearRegression().fit(X, X[:, :2])
    with pytest.raises(ValueError, match="answers with 2 numbers for each record, as for several"):
        query(model, Records(X, X[:, 0]))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (IsolationForest(n_estimators=3, random_state=0), "IsolationForest is an outlier detector"),
        (KMeans(2, n_init=1), "KMeans is a clusterer"),
        (make_pipeline(StandardScaler(), KMeans(2, n_init=1)), "Pipeline is a clusterer"),
        (GaussianMixture(2), "GaussianMixture is a density estimator"),
        (PCA(2), "with a predict method; got PCA"),
    ],
)
def test_a_model_without_labels_is_attacked_by_its_scores(model, words):
    # The numbers of clusters are no guesses of labels, even if labels are numbers.
    with pytest.raises(TypeError, match=f"{words}.*Attack its scores.*ShadowPool.from_scores"):
        query(model.fit(X), Records(X, Y))


def test_a_model_without_classes():
    class Mixture(BaseEstimator):
        def fit(self, X, y=None):
            self.model_ = GaussianMixture(2).fit(X)
            return self

        def predict(self, X):
            return self.model_.predict(X)

        def predict_proba(self, X):
            return self.model_.predict_proba(X)

    with pytest.raises(ValueError, match="^A classifier or a regressor is needed, and Mixture has"):
        query(Mixture().fit(X), Records(X, Y))


def test_a_result_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    result = api.OLS(X[:, 0], X[:, 1:]).fit()
    with pytest.raises(TypeError, match="is no estimator of scikit-learn.*store its answers"):
        audit(result, Records(X, X[:, 0]), np.arange(60) % 2)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (Y.astype(str), "{'0': 0, '1': 1}, which have the same values"),
        (np.array(["ill", "well"])[Y], "{'ill': 0, 'well': 1}, with which"),
        (np.array(["well", "ill"])[Y], "{'ill': 1, 'well': 0}, with which"),
        (Y + 1, "{1: 0, 2: 1}, with which"),
    ],
)
def test_labels_that_a_model_does_not_know(labels, words):
    outputs = query(MODEL, Records(X, Y))
    with pytest.raises(ValueError, match=re.escape(words)):
        outputs.label_index(labels)


def test_missing_and_infinite_numbers_are_named_with_their_column():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LogisticRegression().fit(frame, Y)
    for value, what in ((np.nan, "missing values (NaN)"), (np.inf, "infinite numbers (inf)")):
        words = re.escape(f"no {what}, and column 'b' of X holds 1 of them")
        bad = frame.assign(b=frame["b"].where(np.arange(60) != 3, value))
        with pytest.raises(ValueError, match=words):
            query(model, Records(bad, Y))


def test_a_model_that_lacks_a_part():
    model = LogisticRegression().fit(X, Y)
    del model.coef_
    with pytest.raises(ValueError, match="cannot answer: .*coef_.* damaged, or was saved with"):
        query(model, Records(X, Y))
