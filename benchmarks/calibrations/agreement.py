"""Promises of the check that model and table belong together: its level and its power."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records
from skmia._core.query import query_victim
from skmia.report.agreement import check_agreement
from skmia.victims import CallableVictim

from ._registry import promise

CLASSIFIERS = {
    "forest": RandomForestClassifier(30),
    "boosting": HistGradientBoostingClassifier(max_iter=30),
    "gradient boosting": GradientBoostingClassifier(n_estimators=20),
    "logistic": LogisticRegression(max_iter=300),
    "neighbors": KNeighborsClassifier(),
    "machine": SVC(),
    "tree": DecisionTreeClassifier(max_depth=8),
}
REGRESSORS = {
    "forest": RandomForestRegressor(30),
    "boosting": HistGradientBoostingRegressor(max_iter=30),
    "ridge": Ridge(),
    "neighbors": KNeighborsRegressor(),
}
REGULARIZED = {
    "forest": {"min_samples_leaf": 20, "max_depth": 3},
    "boosting": {"max_iter": 3, "min_samples_leaf": 30},
    "gradient boosting": {"n_estimators": 3},
    "logistic": {"C": 1e-3},
    "neighbors": {"n_neighbors": 15},
    "machine": {"C": 0.02},
    "tree": {"max_depth": 1},
    "ridge": {"alpha": 1e3},
}
NUMBERS = ("regression", "curved")
ABLE = ("linear", "sharp", "four classes", "regression", "curved")
PROBLEMS = (*ABLE, "nearby", "weak", "one in fifty", "alternating", "noisy labels")
SIZES = (200, 400, 1000)


def draw_table(rng, name, n):
    """Features and labels of a problem."""
    X, noise = rng.normal(size=(n, 8)), rng.logistic(size=n)
    straight = X[:, :4] @ np.array([1.5, -1.0, 0.8, 0.6])
    if name == "regression":
        return X, straight + rng.normal(size=n)
    if name == "curved":
        return X, np.exp(0.4 * straight + 0.3 * rng.normal(size=n))
    if name == "four classes":
        return X, np.digitize(straight + 0.5 * noise, [-1.5, 0, 1.5])
    if name == "nearby":
        return X, (X[:, 0] ** 2 + X[:, 1] ** 2 + 0.2 * noise > 1.5).astype(int)
    if name == "alternating":
        return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (rng.random(n) < 0.05)).astype(int)
    if name == "one in fifty":
        margin = straight + 0.5 * noise
        return X, (margin > np.quantile(margin, 0.98)).astype(int)
    scale = {"sharp": 4.0, "weak": 0.25}.get(name, 1.0)
    y = (scale * straight + noise > 0).astype(int)
    return X, np.where(rng.random(n) < 0.3, 1 - y, y) if name == "noisy labels" else y


class NoisyWeights(ClassifierMixin, BaseEstimator):
    """A logistic regression whose weights are released with noise, as private training does."""

    def __init__(self, scale=0.3):
        self.scale = scale

    def fit(self, X, y):
        self.scaler_ = StandardScaler().fit(X)
        self.model_ = LogisticRegression(C=0.1).fit(self.scaler_.transform(X), y)
        self.classes_ = self.model_.classes_
        rng = np.random.default_rng(int(1e6 * abs(X.sum())))  # other noise for other rows
        self.model_.coef_ += self.scale * rng.normal(size=self.model_.coef_.shape)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(self.scaler_.transform(X))

    def predict(self, X):
        return self.model_.predict(self.scaler_.transform(X))


class FunctionRegressor(RegressorMixin, BaseEstimator):
    """Somebody else's regressor, of which only the answers are known."""

    is_trainable = False

    def __init__(self, model):
        self.model = model

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y):
        raise TypeError("It cannot be trained.")

    def predict(self, X):
        return self.model.predict(X)


class _Audit:
    """A table with members and others, and the recipe of a model."""

    def __init__(self, rng, problem, n_members, kind=None, learner=None):
        n_members = max(n_members, 200) if kind == "people" else n_members
        n_others, n_more = int(rng.choice([n_members, n_members // 2])), 4 * n_members
        n = n_members + n_others
        X, self.y = draw_table(rng, problem, n + n_more)
        step = 10 if kind == "people" else 1
        while problem not in NUMBERS and len(np.unique(self.y[: n_members // 2 : step])) < len(
            np.unique(self.y)
        ):
            X, self.y = draw_table(rng, problem, n + n_more)  # the members lack a class
        # Columns in their own units.
        self.X = X * np.exp(rng.normal(0, 1.5, X.shape[1])) + rng.normal(0, 5, X.shape[1])
        self.rng, self.kind, self.people = rng, kind, None
        if kind == "people":
            first = np.arange(n) // 10 * 10
            self.X[:n], self.y[:n] = self.X[first], self.y[first]
            self.X[:n] += 0.1 * self.X.std(axis=0) * rng.normal(size=(n, X.shape[1]))
            self.people = np.r_[first, np.arange(n, n + n_more)]
        self.members, self.others = np.arange(n_members), np.arange(n_members, n)
        if kind == "others of another population":
            self.X[self.others] += 1.5 * self.X.std(axis=0)
        models = REGRESSORS if problem in NUMBERS else CLASSIFIERS
        self.learner = learner or str(rng.choice(list(models)))
        self.model = clone(models[self.learner])
        if self.learner in ("logistic", "neighbors", "machine", "ridge"):
            self.scaler = StandardScaler().fit(self.X[self.members])
            self.X = self.scaler.transform(self.X)
        if hasattr(self.model, "random_state"):
            self.model.set_params(random_state=int(rng.integers(1 << 30)))

    @property
    def rows(self):
        return np.r_[self.members, self.others]

    def fit(self, model, rows, X=None):
        X = self.X if X is None else X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(model).fit(X[rows], self.y[rows])

    def hide(self, victim):
        """A model as a function, which can be asked and not trained."""
        if is_regressor(victim):
            return FunctionRegressor(victim)
        if hasattr(victim, "predict_proba"):
            return CallableVictim(victim.predict_proba, victim.classes_)
        return CallableVictim(victim.predict, victim.classes_, kind="label")

    def check(self, victim, outputs=None, way="own recipe", X=None, y=None):
        """Whether the check stops, for a model that can be asked or for its answers."""
        X, y = (self.X if X is None else X)[self.rows], (self.y if y is None else y)[self.rows]
        fields = {} if self.people is None else {"group_by": self.people[self.rows]}
        given = victim
        if outputs is None and way == "stand-ins":
            given = self.hide(victim)
        if outputs is not None:
            fields["outputs"] = outputs
            given = clone(self.model) if way == "own recipe" else None
        membership = np.arange(len(X)) < len(self.members)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check_agreement(
                given, Records(X, y, **fields), membership, random_state=int(self.rng.integers(1e9))
            )


def _change_answers(rng, outputs, kind):
    if outputs.kind != "proba":
        return (
            outputs.as_labels()
            if kind == "labels alone" and outputs.classes is not None
            else (outputs)
        )
    if kind == "labels alone":
        return outputs.as_labels()
    if kind == "rounded":
        return Outputs(np.round(outputs.values, 1), outputs.classes)
    if kind == "softened":
        z = outputs.log_proba(5.0)
        return Outputs(np.exp(z), outputs.classes)
    return outputs


def run_sound(rng, kind, problem, way, n_members):
    """The outcome for a model that was trained on its table, in some way."""
    one = _Audit(rng, problem, n_members, kind)
    members, model = one.members, one.model
    if kind == "more rows":
        rows = np.r_[members, np.arange(one.others[-1] + 1, len(one.X))]
        return one.check(one.fit(model, rows), way=way)
    if kind == "half of the rows":
        return one.check(one.fit(model, members[: len(members) // 2]), way=way)
    if kind == "regularized":
        # The recipe that is stated for the answers is another one.
        other = clone(model).set_params(**REGULARIZED.get(one.learner, {}))
        outputs = query_victim(one.fit(other, members), one.X[one.rows])
        return one.check(None, outputs, way)
    is_rare = not is_regressor(model) and np.unique(one.y[members], return_counts=True)[1].min() < 3
    if kind == "calibrated" and not is_regressor(model) and not is_rare:
        own = CalibratedClassifierCV(model, cv=3)
        return one.check(one.fit(own, members), way=way)
    if kind == "private" and not is_regressor(model):
        one.model = NoisyWeights()
        return one.check(one.fit(one.model, members), way=way)
    victim = one.fit(model, members)
    if kind in ("labels alone", "rounded", "softened"):
        outputs = _change_answers(rng, query_victim(victim, one.X[one.rows]), kind)
        return one.check(None, outputs, way)
    return one.check(victim, way=way)


SOUND = (
    "as it was trained",
    "regularized",
    "more rows",
    "half of the rows",
    "labels alone",
    "rounded",
    "softened",
    "calibrated",
    "private",
    "people",
    "others of another population",
)
WAYS = "own recipe", "stand-ins"


@promise(
    "`check_agreement` stops the audit of a sound model",
    nominal=0.01,
    side="at most",
    designs={f"{kind}, {way}": {"kind": kind, "way": way} for kind in SOUND for way in WAYS},
    n_trials=400,
)
def sound_models_are_stopped(rng, n_trials, kind, way):
    found = [
        run_sound(rng, kind, str(rng.choice(PROBLEMS)), way, int(rng.choice((40, *SIZES))))
        for _ in range(n_trials)
    ]
    return sum(one.is_stop for one in found), n_trials


def run_wrong(rng, kind, problem, way, n_members):
    """The outcome where model and table do not belong together."""
    one = _Audit(rng, problem, n_members)
    members, model, n = one.members, one.model, len(one.rows)
    if kind == "scaler forgotten":
        raw = one.X * np.exp(rng.normal(1, 1.5, 8)) + rng.normal(0, 10, 8)
        scaled = StandardScaler().fit(raw[members]).transform(raw)
        return one.check(one.fit(model, members, scaled), way=way, X=raw)
    victim = one.fit(model, members)
    if kind == "columns reversed":
        return one.check(victim, way=way, X=one.X[:, ::-1])
    if kind == "classes moved":
        if is_regressor(model):
            return one.check(victim, way=way, y=-one.y)
        return one.check(victim, way=way, y=(one.y + 1) % len(np.unique(one.y)))
    outputs = query_victim(victim, one.X[one.rows])
    if kind == "rows in another order":
        return one.check(None, outputs[rng.permutation(n)], way)
    if kind == "answers of another table":
        other, _ = draw_table(rng, problem, n)
        return one.check(None, query_victim(victim, other[rng.permutation(n)]), way)
    if kind == "answers moved by a row":
        return one.check(None, outputs[np.roll(np.arange(n), 1)], way)
    raise ValueError(kind)


WRONG = (
    "rows in another order",
    "answers moved by a row",
    "answers of another table",
    "scaler forgotten",
    "columns reversed",
    "classes moved",
)


@promise(
    "`check_agreement` stops where model and table do not belong together, with 200 members or "
    "more on problems that clones can solve",
    nominal=0.95,
    side="at least",
    designs={f"{kind}, {way}": {"kind": kind, "way": way} for kind in WRONG for way in WAYS},
    n_trials=200,
)
def wrong_tables_are_stopped(rng, n_trials, kind, way):
    found = [
        run_wrong(rng, kind, str(rng.choice(ABLE)), way, int(rng.choice(SIZES)))
        for _ in range(n_trials)
    ]
    return sum(one.is_stop for one in found), n_trials


@promise(
    "An audit of a model that was trained on neither side is stopped as if it did not know the "
    "table",
    nominal=0.01,
    side="at most",
    n_trials=200,
)
def null_audits_are_stopped(rng, n_trials):
    n_stopped = 0
    for _ in range(n_trials):
        one = _Audit(rng, str(rng.choice(PROBLEMS)), int(rng.choice(SIZES[:2])))
        elsewhere = np.arange(one.others[-1] + 1, len(one.X))[: len(one.members)]
        n_stopped += one.check(one.fit(one.model, elsewhere)).is_stop
    return n_stopped, n_trials
