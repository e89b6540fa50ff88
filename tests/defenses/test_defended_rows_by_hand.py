"""Rows, weights and targets that defenses hand to a classifier, and noise, with answers by hand."""

import math
from datetime import date
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from skmia import Records
from skmia.defenses import (
    DPSGDClassifier,
    LabelOnlyDefense,
    PATEDefense,
    PrivateSearchCV,
    RoundingDefense,
    SoftLabelDefense,
    StudentDefense,
    TemperatureDefense,
    TopKDefense,
    _cross_fit,
    _evaluation,
    _meta,
    _private_search,
    mechanisms,
    schema,
)
from skmia.defenses._meta import LabeledRows

Y = array(["a", "b", "b"])


class Recorder(BaseEstimator):
    """A classifier that keeps what it is fitted on; its classes are those of the labels."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = np.asarray(X).ravel().tolist(), np.asarray(y).tolist(), sample_weight
        self.classes_ = np.unique(y)
        return self


class Scaler(StandardScaler):
    """Multiply features by ten."""

    def fit_transform(self, X, y=None, **weights):
        return np.asarray(X) * 10


def rows(weight=None):
    return LabeledRows(array([[1.0], [2.0], [3.0]]), Y, None if weight is None else array(weight))


def weigh(weight):
    call = lambda: _meta.weigh_rows(rows(), weight)  # noqa: E731
    told = tell_refusal(call)
    if told is not None:
        return told
    found = call()
    return found.X.ravel(), found.sample_weight


def copy_rows(targets, weight=None):
    X, labels, weights = _meta._copy_rows(rows().X[:2], array(targets), Y[:2], weight)
    return X.ravel(), labels, weights


def fit_targets(*steps, weight=None):
    model = (
        steps[0] if len(steps) == 1 else Pipeline([(f"{k}", one) for k, one in enumerate(steps)])
    )
    targets = array([[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]])
    assert rows(weight).fit(model, targets, Y[:2]) is model
    return _meta._get_last_step(model).seen_


def fit_labels(weight=None):
    return rows(weight).fit_labels(Recorder()).seen_


def widen(proba, of_inner, of_all="abc"):
    defense = NS(classes_=array([*of_all]), estimator_=NS(classes_=array([*of_inner])))
    return _meta.DefendedClassifier._widen(defense, array(proba))


def check_labeled(X, y):
    return tell_refusal(lambda: _meta.check_labeled(X, y, None))


def continues(estimator):
    defense = NS(estimator=estimator, _asked=estimator)
    return _meta.can_continue(defense), _meta.can_continue_on_targets(defense)


class Partial(BaseEstimator):
    def partial_fit(self, X, y):
        return self


TARGETS = [
    (lambda: weigh(None), ([1.0, 2.0, 3.0], None)),
    (lambda: weigh([1, 2, 0.5]), ([1.0, 2.0, 3.0], [1.0, 2.0, 0.5])),
    (lambda: weigh([1, 0, 2]), ([1.0, 3.0], [1.0, 2.0])),
    (
        lambda: weigh([1, 2]),
        "sample_weight must have the shape (3,), one number for each row; got (2,).",
    ),
    *(
        (lambda given=given: weigh(given), "sample_weight must be finite and not negative.")
        for given in ([1, -1, 1], [1, nan, 1], [1, inf, 1])
    ),
    (lambda: weigh([0, 0, 0]), "sample_weight is zero for every row."),
    # A copy of a row for each class of which it has some.
    (
        lambda: copy_rows([[1.0, 0.0], [0.25, 0.75]]),
        ([1.0, 2.0, 2.0], ["a", "a", "b"], [1.0, 0.25, 0.75]),
    ),
    (lambda: copy_rows([[0.5, 0.5], [0.0, 1.0]], array([2.0, 3.0]))[2], [1.0, 1.0, 3.0]),
    (lambda: copy_rows([[1.0, 2.0**-42], [0.0, 1.0]])[2], [1.0, 1.0]),
    (
        lambda: fit_targets(Recorder()),
        ([1.0, 2.0, 2.0, 3.0], ["a", "a", "b", "b"], [1.0, 0.25, 0.75, 1.0]),
    ),
    (lambda: fit_targets(Recorder(), weight=[2.0, 4.0, 1.0])[2], [2.0, 1.0, 3.0, 1.0]),
    (lambda: fit_targets(Pipeline([("only", Recorder())]))[0], [1.0, 2.0, 2.0, 3.0]),
    (lambda: fit_targets(Scaler(), Recorder())[0], [10.0, 20.0, 20.0, 30.0]),
    (lambda: fit_targets(Scaler(), Scaler(), Recorder())[0][0], 100.0),
    (lambda: fit_labels(), ([1.0, 2.0, 3.0], ["a", "b", "b"], None)),
    (lambda: fit_labels([2.0, 1.0, 3.0]), ([1.0, 2.0, 3.0], ["a", "b", "b"], [2.0, 1.0, 3.0])),
    (lambda: _meta.one_hot(Y, array(["a", "b", "c"])), [[1.0, 0, 0], [0.0, 1, 0], [0.0, 1, 0]]),
    (lambda: widen([[0.25, 0.75]], "ac"), [[0.25, 0.0, 0.75]]),
    (lambda: widen([[0.25, 0.75, 0.0]], "abc"), [[0.25, 0.75, 0.0]]),
    (lambda: check_labeled([[1.0], [2.0]], ["a", "b"]), None),
    (lambda: check_labeled(np.zeros((0, 1)), []), "Expected at least 1 row; got 0."),
    (lambda: check_labeled([[1.0], [2.0]], ["a"])[:30], "Found input variables with inc"),
    (lambda: check_labeled([[1.0], [2.0]], [0.5, 1.5])[:18], "Unknown label type"),
    (lambda: continues(Perceptron()), (True, True)),
    (lambda: continues(Partial()), (True, False)),
    (lambda: continues(FrozenEstimator(Perceptron())), (False, False)),
    (lambda: continues(LogisticRegression()), (False, False)),
    (
        lambda: tell_refusal(lambda: _meta.check_takes_targets(Partial(), "It")),
        "It trains on probabilities of the classes, which Partial does not take; use a classifier "
        "whose fit takes sample_weight, or a skorch net with criterion=CrossEntropyLoss, alone or "
        "as the last step of a Pipeline.",
    ),
    (lambda: _meta.check_takes_targets(Pipeline([("a", Recorder())]), "It"), None),
    (lambda: _meta.require_proba(LogisticRegression(), "It", "teacher"), None),
    (
        lambda: tell_refusal(lambda: _meta.require_proba(Partial(), "It", "teacher")),
        "It needs predict_proba of the teacher, which Partial does not have.",
    ),
]

# -- rows that sub-models leave out


def draw_left_out(units, strata, n_models, n_left_out):
    """Draw in the order in which the numbers stand."""
    rng = NS(permutation=lambda numbers: numbers, permuted=lambda orders, axis: orders)
    return _cross_fit.draw_left_out(array(units), array(strata), n_models, n_left_out, rng).astype(
        int
    )


def draw_for(X, y, n_models=2):
    defense = NS(n_estimators=n_models, n_left_out=1)
    data = LabeledRows(array(X), array(y), None)
    call = lambda: _cross_fit.draw_for(defense, data, 0, is_classification=True)  # noqa: E731
    return tell_refusal(call) or call().sum(axis=1)


def number_rows(X, y):
    """Return the place of the first row that each row equals."""
    units = _cross_fit.number_equal_rows(LabeledRows(X, array(y), None)).tolist()
    return [*map(units.index, units)]


UNTOLD = (one for one in ())  # nobody can tell what it holds


def check_trained(weight, targets):
    """Return what a sub-model is fitted on, of the second and the third row."""
    fit = _cross_fit._WeightedFit(rows(weight), targets)
    model = Recorder()
    fit(model, array([1, 2]))
    return model.seen_


def train_left_out(targets=None, weight=None, together=True):
    """Return the models that are trained, their answers, and whether rows are weighted, twice.

    When it is planned which models are trained together, and when they are trained.
    """
    weighted = []

    def note(job):
        weighted.append(isinstance(job.fit, _cross_fit._WeightedFit))
        trained.append((job.subsets.tolist(), job.seeds))

    trained = []
    parts = {
        "plan_training": lambda job, exact: note(job) or NS(together=together),
        "run_visibly": lambda plan, job, verbose, what: (
            note(job) or [(k, NS(facts={"answers": k}, warnings=[f"w{k}"])) for k in (1, 0)]
        ),
    }
    left_out = array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], dtype=bool)
    with mock.patch.multiple(_cross_fit, **parts):
        found = _cross_fit.train_left_out(
            Recorder(), rows(weight), left_out, "abc", targets=targets
        )
    # Models that leave no row out have nothing to answer.
    assert found[0].tolist() == [[True, False, True], [False, True, False]]
    assert trained[0] == ([[False, True, False], [True, False, True]], ["a", "c"])
    assert found[1:] == ([0, 1], ["w0", "w1"])
    return weighted


LEFT = [
    (lambda: train_left_out(), [False, False]),
    (lambda: train_left_out(together=False), [False, True]),
    (lambda: train_left_out(weight=[1.0, 2.0, 3.0]), [True, True]),
    (lambda: train_left_out("targets"), [True, True]),
    # Models take turns: of three, two leave out each row.
    (
        lambda: draw_left_out([0, 1, 2, 3], [0, 0, 0, 0], 3, 2),
        [[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 0]],
    ),
    (lambda: draw_left_out([0, 1, 2], [0, 1, 0], 2, 1), [[1, 1, 0], [0, 0, 1]]),
    (lambda: draw_left_out([0, 1, 0], [0, 0, 0], 2, 1), [[1, 0, 1], [0, 1, 0]]),
    (
        lambda: draw_left_out([0, 1, 2], [0, 0, 0], 4, 2),
        [[1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 1, 0]],
    ),
    (lambda: number_rows(array([[1.0], [2.0], [1.0]]), [0, 0, 0]), [0, 1, 0]),
    (lambda: number_rows(array([[1.0], [2.0], [1.0]]), [0, 0, 1]), [0, 1, 2]),
    (lambda: number_rows(array([{"a": 1}, {"a": 1}]), [0, 0]), [0, 0]),
    (lambda: number_rows(array([UNTOLD, UNTOLD]), [0, 0]), [0, 1]),
    (lambda: draw_for([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]), [2, 2]),
    (
        lambda: draw_for([[1.0], [1.0]], [0, 0]).partition(" at ")[2],
        "least 2 different ones; got n_samples = 2, all equal.",
    ),
    (lambda: draw_for([[1.0]], [0])[-34:], "different ones; got n_samples = 1."),
    (lambda: check_trained(None, None), ([2.0, 3.0], ["b", "b"], None)),
    (lambda: check_trained([1.0, 2.0, 3.0], None), ([2.0, 3.0], ["b", "b"], [2.0, 3.0])),
    (
        lambda: check_trained(None, (array([[1.0, 0], [0.5, 0.5], [0.0, 1.0]]), Y[:2])),
        ([2.0, 2.0, 3.0], ["a", "b", "b"], [0.5, 0.5, 1.0]),
    ),
]

# -- students, searches and schemas


class Picky(Recorder):
    """A classifier that refuses labels of a single class, or all."""

    def __init__(self, fewest=2):
        self.fewest = fewest

    def fit(self, X, y):
        if len(np.unique(y)) < self.fewest:
            raise ValueError("too few")
        return super().fit(X, y)

    def predict(self, X):
        return X


def fit_student(labels, fewest=2, student=None):
    """Fit a student on the rows that got the number of a class; -1 is that of none."""
    defense = NS(estimator=Picky(fewest), student=student, threshold=None)
    public, classes = array([[1.0], [2.0], [3.0]]), array(["a", "b", "c"])
    seeds = np.random.SeedSequence(0)
    call = lambda: PATEDefense._fit_student(defense, public, classes, array(labels), seeds)  # noqa: E731
    told = tell_refusal(call)
    return told or (defense.estimator_.seen_[:2], defense.classes_)


class Teacher(Recorder):
    """A classifier whose answers are told."""

    def __init__(self, answers=()):
        self.answers = answers

    def predict(self, X):
        return array(self.answers)


def teach(answers, fewest=2):
    public = array([[5.0], [6.0]])
    defense = StudentDefense(Teacher(answers), public, student=Picky(fewest))
    told = tell_refusal(lambda: defense.fit([[1.0], [2.0]], ["a", "b"]))
    return told or (defense.estimator_.seen_[:2], defense.classes_)


def release(**found):
    search = NS()
    best = NS(candidate=1, score=0.5, estimator=NS(**found))
    _private_search.PrivateSearchCV._release(search, best, [{"C": 1}, {"C": 2}])
    table = search.cv_results_
    assert table["param_C"].tolist() == [2] and table["mean_test_score"].tolist() == [0.5]
    assert table["params"] == [search.best_params_] and table["rank_test_score"].tolist() == [1]
    return search.best_params_, search.best_score_, search.best_index_, hasattr(search, "classes_")


def run_trial(noise=None, score=0.75, drawn=3.0):
    fitted = []
    estimator = NS(fit=lambda *part: fitted.append(part))
    parts = {
        "check_scoring": lambda estimator, scoring: lambda estimator, X, y: score,
        "predict_flat": lambda estimator, X: array([1, 0, 1, 1]),
        "_draw_noise": lambda scale, seed: drawn * scale,
    }
    comparison = None, array([1, 1, 1, 1]), "scoring", noise
    with mock.patch.multiple(_private_search, **parts):
        found = _private_search._run_trial(7, estimator, ("X", "y"), comparison, 0.25, None)
    assert fitted == [("X", "y")] and found.estimator is estimator
    return tuple(found)[:3]


def bound_trial(*plans):
    """Return the largest divergence of the plans of several candidates."""
    made = iter([NS(plan_steps=lambda *part, plan=plan: plan) for plan in plans])
    search = NS(_make=lambda settings: next(made))
    given = lambda plan: array([len(plan), -len(plan)]) * plan[0][0]  # noqa: E731
    with mock.patch.object(_private_search, "compute_divergences", given):
        return _private_search.PrivateSearchCV._bound_trial(search, range(len(plans)), ("X", "y"))


def split(fraction, n_rows, public=None):
    search = NS(public=public, noise_seed=0, validation_fraction=fraction)
    call = lambda: _private_search.PrivateSearchCV._split(search, n_rows)  # noqa: E731
    return tell_refusal(call) or [len(part) for part in call()]


def make_schema(classes=("a", "b"), upper=2):
    return schema.DeclaredSchema({"x": schema.NumberColumn(0, upper)}, classes=classes)


def list_conflicts(**given):
    usual = {"noise_multiplier": 1.0} | given
    return [*DPSGDClassifier(Recorder(), **usual)._list_conflicting_parameters()]


def read_private(y, X=((1.0,), (2.0,)), **given):
    defense = DPSGDClassifier(Recorder(), noise_multiplier=1.0, **given)
    told = tell_refusal(lambda: defense._read_rows([*X], y))
    return told[:23] if told is not None else defense._read_rows([*X], y)


def is_covered(**given):
    return DPSGDClassifier(Recorder(), noise_multiplier=1.0, **given)._is_covered


class Reads(BaseEstimator):
    """An attack that asks for what it is told."""

    def __init__(self, needs=None):
        self.needs_ = needs

    def needs(self):
        return self.needs_


DAYS = [date(2020, 1, 2), 1]
OTHERS = [
    (lambda: fit_student([0, -1, 2]), (([1.0, 3.0], ["a", "c"]), ["a", "b", "c"])),
    (lambda: fit_student([1, 1, -1], student=Recorder())[0], ([1.0, 2.0], ["b", "b"])),
    (
        lambda: fit_student([1, 1, -1])[:57],
        "2 public rows got a label, of 1 of 3 classes, and the stu",
    ),
    (lambda: fit_student([0, 1, -1], fewest=3), "too few"),
    (lambda: teach(["b", "a"]), (([5.0, 6.0], ["b", "a"]), ["a", "b"])),
    (
        lambda: teach(["b", "b"]),
        "The teacher predicts 'b' for all rows of the student, which could not be fitted on them. "
        "Use other rows, or check y and sample_weight.",
    ),
    (lambda: teach(["b", "a"], 3), "too few"),
    (lambda: release(classes_=[0, 1]), ({"C": 2}, 0.5, 0, True)),
    (lambda: release(), ({"C": 2}, 0.5, 0, False)),
    (lambda: run_trial(), (0.75, 0.25, 7)),
    (lambda: run_trial(score=nan), (-inf, 0.25, 7)),
    (lambda: run_trial(2.0), (2.25, 0.25, 7)),
    (lambda: bound_trial([(2.0, 0.5, 1)], [(1.0, 0.5, 1)] * 3), [3.0, -2.0]),
    (lambda: split(0.2, 11), [8, 3]),
    (lambda: split(0.2, 11, public=1), [11, 0]),
    (lambda: split(0.99, 5)[-26:], "leaves no row to train on."),
    (lambda: split(0.5, 2), [1, 1]),
    (lambda: make_schema() == make_schema(), True),
    (lambda: make_schema() == make_schema(upper=3), False),
    (lambda: make_schema() == make_schema(classes=None), False),
    (lambda: make_schema() == "schema", False),
    (lambda: make_schema(["b", "a"]).find_classes(), ["a", "b"]),
    (lambda: make_schema(DAYS).find_classes().tolist() == DAYS, True),
    (
        lambda: make_schema(["b", "a"]).count_misfits([[1], [3], ["x"]], ["a", "c", "b"]).tolist(),
        [1, 1],
    ),
    (lambda: list_conflicts(), []),
    (
        lambda: list_conflicts(schema=make_schema(), classes=[0, 1]),
        ["classes are those of the schema; leave classes out."],
    ),
    (lambda: list_conflicts(schema=make_schema()), []),
    (lambda: read_private([3, 1], classes=[1, 3]), ([[1.0], [2.0]], [3, 1], [1, 3])),
    (lambda: read_private([0, 1], classes=[0, 1, 2])[2], [0, 1, 2]),
    (lambda: read_private([0.5, 1.5], classes=[0, 1]), "Unknown label type: con"),
    # With a schema, of labels the places among its classes; -1 where a row does not fit.
    (
        lambda: read_private(["b", "a"], schema=make_schema()),
        ([[0.5], [1.0]], [1, 0], ["a", "b"]),
    ),
    (lambda: read_private(["b", "c"], schema=make_schema())[1], [1, -1]),
    (lambda: read_private(["b", "a"], [["x"], [2]], schema=make_schema())[1], [-1, 0]),
    (lambda: is_covered(), True),
    (
        lambda: tell_refusal(
            lambda: DPSGDClassifier(max, noise_multiplier=-1.0).plan_steps([[1.0]], [0])
        )[:33],
        "The 'noise_multiplier' parameter of DPSGDClassifier"[:33],
    ),
    (lambda: [is_covered(noise_seed=0), is_covered(poisson_sampling=False)], [False, False]),
    (lambda: list_conflicts(max_grad_norm=inf), ["Noise needs a finite max_grad_norm; got inf."]),
    (lambda: list_conflicts(max_grad_norm=inf, noise_multiplier=0), []),
]


def search(covered=True, noise_seed=None, public=None, missing=None):
    """Return the cost of a search, what it records and compares by, and its candidates."""
    told = []
    bound = np.full(4, 0.5 if covered else inf)
    parts = {
        "import_optional": mock.Mock(side_effect=missing),
        "_cover_score": lambda divergences, delta: (2 * divergences, 7.0),
        "convert_divergences": lambda curve, delta: float(curve[0]),
        "choose_target_delta": lambda delta, n: 1 / n,
    }
    of_search = {
        "_check_is_private": lambda self: None,
        "_check_scoring": lambda self: None,
        "_list_candidates": lambda self: ["a", "b", "c"],
        "_bound_trial": lambda self, candidates, part: bound,
        "_make_law": lambda self: NS(spend=lambda divergences: 3 * divergences),
        "_record": lambda self, curve, n: told.append((float(curve[-1]), n)),
        "_run_trials": lambda self, law, candidates, part, comparison: told.append(comparison),
        "_release": lambda self, best, candidates: None,
    }
    defense = PrivateSearchCV(
        LogisticRegression(), {}, public=public, noise_seed=noise_seed, validation_fraction=0.25
    )
    with (
        mock.patch.multiple(_private_search, **parts),
        mock.patch.multiple(PrivateSearchCV, **of_search),
    ):
        told_ = tell_refusal(lambda: defense.fit(np.arange(4.0)[:, None], [0, 1, 0, 1]))
    if told_ is not None:
        return told_
    recorded, comparison = told
    assert (defense.delta_, defense.n_candidates_) == (0.25, 3)
    return defense.epsilon_, recorded, len(comparison.y), comparison.noise


def plan_votes(**given):
    """Return the steps that a vote of teachers plans on ten rows."""
    usual = {"noise_multiplier": 2.0, "target_delta": 0.01} | given
    defense = PATEDefense(LogisticRegression(), [[0.0]], **usual)
    call = lambda: defense.plan_steps(np.zeros((10, 1)), np.zeros(10))  # noqa: E731
    return (tell_refusal(call) or "")[:33] or call()


OF_TEACHERS = "The 'n_teachers' parameter of PAT"
PUBLIC = Records(np.zeros((5, 1)), np.zeros(5))
SEARCHES = [
    # A score on rows that are held out costs as well, and public rows do not.
    (lambda: search(), (3.0, (3.0, 4), 1, 7.0)),
    (lambda: search(public=PUBLIC), (1.5, (1.5, 4), 5, None)),
    (lambda: search(covered=False)[:2], (inf, (inf, 4))),
    # Noise that can be repeated covers nothing.
    (lambda: search(noise_seed=0)[:2], (inf, (inf, 4))),
    (lambda: plan_votes(), [(2.0, 1.0, 1)]),
    (lambda: plan_votes(noise_seed=0), [(0.0, 1.0, 1)]),
    (
        lambda: plan_votes(noise_multiplier=None, target_epsilon=0.5),
        [(mechanisms.gaussian_sigma(0.5, 0.01), 1.0, 1)],
    ),
    (lambda: plan_votes(n_teachers=0), OF_TEACHERS),
    (lambda: plan_votes(target_epsilon=0.5)[:10], "Give one o"),
    (lambda: search(missing=ImportError("no opacus")), "no opacus"),
]

# -- answers that are changed, and what a classifier takes


class Learner(Partial):
    """A classifier that counts its calls, and keeps what it is given."""

    def fit(self, X, y):
        self.calls_, self.classes_ = ["fit"], np.unique(y)
        return self

    def partial_fit(self, X, y, classes=None):
        self.calls_ = [*getattr(self, "calls_", []), None if classes is None else [*classes]]
        self.classes_ = array([0, 1])
        return self

    def predict(self, X):
        return X


def continue_fit(*classes, first=False):
    defended = LabelOnlyDefense(Learner())
    if first:
        defended.fit([[1.0], [2.0]], [0, 1])
    for one in classes:
        defended.partial_fit([[1.0]], [0], classes=one)
    return defended.estimator_.calls_, defended.classes_


def describe_tags(defended):
    tags = get_tags(defended)
    return tags.classifier_tags.multi_label, tags.target_tags.multi_output


def describe_inputs(defended):
    inputs = get_tags(defended).input_tags
    return inputs.sparse, inputs.allow_nan


def describe_search(estimator):
    tags = get_tags(PrivateSearchCV(estimator, {}))
    same = ("input_tags", "classifier_tags", "regressor_tags", "target_tags", "estimator_type")
    inner = get_tags(estimator)
    return tags.non_deterministic, all(getattr(tags, one) == getattr(inner, one) for one in same)


BOOSTING, NOISY = HistGradientBoostingClassifier(), dict(target_epsilon=1.0)
SEVERAL, ONE = DecisionTreeClassifier(), LogisticRegression()
OUTPUTS = [
    (lambda: TopKDefense(ONE, k=1).change_proba([[0.4, 0.4, 0.2]]), [[0.4, 0.0, 0.0]]),
    (lambda: TopKDefense(ONE, k=2).change_proba([[0.2, 0.5, 0.3]]), [[0.0, 0.5, 0.3]]),
    (
        lambda: TopKDefense(ONE, k=2, renormalize=True).change_proba([[0.2, 0.5, 0.3]]),
        [[0.0, 0.625, 0.375]],
    ),
    (lambda: RoundingDefense(ONE, decimals=1).change_proba([[0.34, 0.66]]), [[0.3, 0.7]]),
    (lambda: RoundingDefense(ONE, decimals=0).change_proba([[0.5, 0.5]]), [[0.5, 0.5]]),
    (
        lambda: RoundingDefense(ONE, decimals=0, renormalize=False).change_proba([[0.5, 0.5]]),
        [[0.0, 0.0]],
    ),
    (lambda: TemperatureDefense(ONE, temperature=2.0).change_proba([[0.8, 0.2]]), [[2 / 3, 1 / 3]]),
    (lambda: describe_tags(LabelOnlyDefense(SEVERAL)), (True, True)),
    (lambda: describe_tags(LabelOnlyDefense(ONE)), (False, False)),
    (lambda: describe_tags(RoundingDefense(SEVERAL)), (False, False)),
    # Rows reach all that is inside, and noise is not repeated.
    (lambda: describe_inputs(LabelOnlyDefense(ONE)), (True, False)),
    (lambda: describe_inputs(LabelOnlyDefense(BOOSTING)), (False, True)),
    (lambda: describe_inputs(StudentDefense(BOOSTING, Y, student=SEVERAL)), (False, True)),
    (lambda: describe_inputs(StudentDefense(SEVERAL, Y, student=BOOSTING)), (False, True)),
    (lambda: describe_inputs(StudentDefense(SEVERAL, Y, student=ONE)), (True, False)),
    (lambda: describe_inputs(StudentDefense(ONE, SEVERAL)), (True, False)),
    (lambda: get_tags(StudentDefense(SEVERAL, Y)).classifier_tags.multi_label, False),
    (lambda: get_tags(SoftLabelDefense(SEVERAL)).classifier_tags.multi_label, False),
    (lambda: get_tags(PATEDefense(ONE, Y, **NOISY)).non_deterministic, True),
    (lambda: get_tags(PATEDefense(ONE, Y, noise_seed=0, **NOISY)).non_deterministic, False),
    (lambda: get_tags(mechanisms.GaussianMechanism(random_state=0)).non_deterministic, True),
    (lambda: [describe_search(one) for one in (ONE, LinearRegression())], [(True, True)] * 2),
    (lambda: continue_fit([0, 1], None), ([[0, 1], None], [0, 1])),
    (lambda: continue_fit(None, first=True)[0], ["fit", None]),
    (lambda: hasattr(LabelOnlyDefense(FrozenEstimator(Learner())), "partial_fit"), False),
]

# -- noise on columns


def spherical(n_features, sensitivity=1.0, unit=3.0):
    """Return the scale of the noise, and what it is of the sensitivity in steps of the grid."""
    made = mechanisms.GaussianMechanism(sensitivity=sensitivity)
    with mock.patch.object(mechanisms, "discrete_multiplier", lambda *given: unit):
        made._calibrate(n_features)
    return made.sigma_, made._exponents, made._noise_multiplier


def of_ranges(unit=2.0, **given):
    made = mechanisms.NonSphericalGaussianMechanism(**given)
    with mock.patch.object(mechanisms, "discrete_multiplier", lambda *given: unit):
        made._calibrate(2)
    return made.sigma_, made.widths_, made._limit(array([[-5.0, 50.0]]))


def conflicts(**given):
    made = mechanisms.NonSphericalGaussianMechanism(**given)
    return [one[:18] for one in made._list_conflicting_parameters()]


NEITHER, OF_SCHEMA = "Pass either both l", "The schema has the"
NOISE = [
    (lambda: mechanisms.count_scale(array([2.0**52])), [2**52]),
    (
        lambda: tell_refusal(lambda: mechanisms.count_scale(array([1.0, 2.0**52 + 1]))),
        "epsilon is too small for so many columns in one row.",
    ),
    (lambda: spherical(1), (3.0, [2 - 40], 3.0)),
    (lambda: spherical(4, 2.0), (6.0, [3 - 40] * 4, 3.0)),
    (lambda: spherical(1)[0] > 3.0, True),
    # In proportion to the widths, or to their roots.
    (
        lambda: of_ranges(lower=0, upper=[1, 9])[:2],
        ([2 * math.sqrt(2), 18 * math.sqrt(2)], [1.0, 9.0]),
    ),
    (lambda: of_ranges(lower=0, upper=[1, 9])[2], [[0.0, 9.0]]),
    (lambda: of_ranges(widths=[1, 9])[2], [[-5.0, 50.0]]),
    (
        lambda: of_ranges(widths=[1, 9], allocation="minimum_trace")[0],
        [2 * math.sqrt(10), 6 * math.sqrt(10)],
    ),
    (lambda: of_ranges(widths=[0, 9])[0], [0.0, 18 * math.sqrt(2)]),
    (lambda: of_ranges(widths=0)[:2], ([0.0, 0.0], [0.0, 0.0])),
    (
        lambda: tell_refusal(lambda: of_ranges(widths=[1, -1])),
        "widths must be 0 or more; got -1.0.",
    ),
    (lambda: conflicts(widths=1), []),
    (lambda: conflicts(lower=0, upper=1), []),
    (lambda: conflicts(lower=0), [NEITHER]),
    (lambda: conflicts(lower=0, upper=1, widths=1), [NEITHER]),
    (lambda: conflicts(), [NEITHER]),
    (lambda: conflicts(schema=make_schema()), []),
    (lambda: conflicts(schema=make_schema(), lower=0), [OF_SCHEMA]),
    (lambda: conflicts(schema=make_schema(), widths=1), []),
    # What rounding takes off delta, or, where that is too much, the law on the grid itself.
    (
        lambda: (
            mechanisms.discrete_multiplier(1.0, 1e-5, 1, "exact")
            / mechanisms.gaussian_sigma(1.0, 1e-5)
        ),
        1.0,
    ),
    # Off delta, not on it: the noise is never below that of the exact law.
    (
        lambda: (
            mechanisms.discrete_multiplier(1.0, 1e-12, 10_000, "exact")
            > mechanisms.gaussian_sigma(1.0, 1e-12)
        ),
        True,
    ),
    (
        lambda: (
            mechanisms.discrete_multiplier(1.0, 1e-300, 1, "exact")
            == mechanisms._concentrated_multiplier(1.0, 1e-300)
        ),
        True,
    ),
]


def test_targets_by_hand():
    expect_answers(TARGETS)


def test_rows_that_are_left_out_by_hand():
    expect_answers(LEFT)


def test_students_and_searches_by_hand():
    expect_answers([*OTHERS, *SEARCHES])


def test_answers_of_a_defense_by_hand():
    expect_answers(OUTPUTS)


def test_noise_on_columns_by_hand():
    expect_answers(NOISE)


def test_an_attack_that_cannot_read_a_candidate_is_refused():
    needs = NS(why_not=lambda offer: "it needs more", keeps={"k"}, uses={"u"})
    parts = {
        "check_repeatable": lambda attack: None,
        "offer_of": lambda candidate: NS(kind=candidate),
        "settings_of_pool": lambda kept: sorted(kept),
    }
    with mock.patch.multiple(_evaluation, **parts):
        told = tell_refusal(lambda: _evaluation._choose_settings({"a": "proba"}, Reads(needs)))
        assert told == "Reads cannot attack 'a': it needs more."
        found = _evaluation._choose_settings({"a": "label"}, Reads(needs))
    assert found == ["k", "models", "u"]


def test_scores_of_a_pool_are_those_of_its_first_models():
    class Attack(BaseEstimator):
        def __init__(self, shadows=None, victim="v"):
            self.shadows, self.victim = shadows, victim

        def fit(self, records):
            assert (self.shadows, self.victim) == (pool, None)

        def score_left_out(self, records, targets):
            yield slice(0, 1), [[0.5], [0.25]], None, [[True], [False]]
            yield slice(1, 2), [[0.125], [0.75]], None, [[False], [True]]

    records = Records(pd.DataFrame({"x": [1, 2]}))
    pool = NS(estimators_=[NS(predict_proba=lambda X: len(X)), NS(), "third"])
    design = NS(
        membership=np.ones((2, 2)),
        records=records,
        describe=lambda k, labels, proba: {"k": k, "labels": labels, "proba": proba},
        judge=lambda k, scores, judged: {"scores": scores.tolist(), "judged": judged.tolist()},
    )
    with mock.patch.object(_evaluation, "predict_flat", lambda model, X: len(X)):
        table = _evaluation._attack_pool(pool, Attack(), design)
    assert table["scores"].tolist() == [[0.5, 0.125], [0.25, 0.75]]
    assert table["judged"].tolist() == [[True, False], [False, True]]
    assert table["proba"].tolist()[0] == 2 and table["proba"].isna().tolist() == [False, True]
    assert table["k"].tolist() == [0, 1] and table["labels"].tolist() == [2, 2]
