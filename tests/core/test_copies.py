"""Estimators that clone refuses are copied by their parameters, and what cannot be is named."""

import ast
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import skmia
from skmia import ShadowPool, audit
from skmia._core.copies import copy_changed, copy_unfitted
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.defenses import (
    DPSGDClassifier,
    LabelOnlyDefense,
    RoundingDefense,
    SELENADefense,
    SoftLabelDefense,
    StudentDefense,
    evaluate_defense,
)
from skmia.epsilon import EpsilonAudit
from skmia.games import membership_game, unlearning_game
from skmia.leakage import LeaveOneOutLeakage
from skmia.model_selection import RememberTraining

RECORDS, MEMBERSHIP = make_membership_problem(80, random_state=0)
X, Y = RECORDS.X, RECORDS.y


class Linear(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


class Copies(Linear):
    def __init__(self, columns=()):
        self.columns = list(columns)


class Converts(Linear):
    def __init__(self, weights=None):
        self.weights = np.array([1.0] if weights is None else weights, dtype=float)


class Doubles(Linear):
    def __init__(self, strength=1):
        self.strength = 2 * strength


class Holds(Linear):
    def __init__(self, value=None):
        self.value = value


def is_fitted(model):
    try:
        check_is_fitted(model)
    except ValueError:
        return False
    return True


class Keywords(Linear):
    def __init__(self, C=1.0, **others):
        self.C = C
        self.others = others


class Makes(Linear):
    def __init__(self, **settings):
        self.inner = LogisticRegression(**settings)
        self.found = {}


@pytest.mark.parametrize("put", [lambda model: model, lambda model: make_pipeline(model)])
@pytest.mark.parametrize("is_fitted", [False, True])
def test_settings_that_are_no_parameters_are_copied(put, is_fitted):
    keywords, holds = Keywords(2.0, tol=0.5, names=["a"]), Makes(C=3.0)
    if is_fitted:
        keywords.fit(X, Y)
        holds.inner.fit(X, Y)
        holds.found["coef"] = holds.inner.coef_
    copied, held = (
        copy[-1] if hasattr(copy, "steps") else copy
        for copy in map(copy_unfitted, map(put, (keywords, holds)))
    )
    assert copied.get_params() == {"C": 2.0} and not hasattr(copied, "model_")
    assert (
        copied.others == keywords.others and copied.others["names"] is not keywords.others["names"]
    )
    assert held.inner.C == 3.0 and not hasattr(held.inner, "coef_") and held.found == {}


class Shares(Linear):
    def __init__(self, C=1.0):
        self.C = C
        self.inner = LogisticRegression(C=C)


def test_settings_that_follow_from_a_parameter_change_with_it():
    copied = copy_changed(Shares(3.0), lambda part, parameters: {**parameters, "C": 2.0})
    assert copied.C == copied.inner.C == 2.0


@pytest.mark.parametrize("model", [Copies((0, 1)), Converts([3, 4])], ids=["copies", "converts"])
def test_a_constructor_that_copies_or_converts_its_parameter(model):
    with pytest.raises(RuntimeError, match="Cannot clone"):
        clone(model)
    copied = copy_unfitted(model.fit(X, Y))
    assert type(copied) is type(model) and not is_fitted(copied)
    assert repr(copied.get_params()) == repr(model.get_params())


def test_a_part_of_a_pipeline():
    whole = make_pipeline(StandardScaler(), Copies((0, 1))).fit(X, Y)
    copied = copy_unfitted(whole)
    assert copied[-1].columns == [0, 1] and copied[-1] is not whole[-1]
    assert not is_fitted(copied)


def test_a_frozen_part_stays_as_it_is():
    frozen = FrozenEstimator(StandardScaler().fit(X))
    assert copy_unfitted(make_pipeline(frozen, Copies((0, 1))))[0] is frozen


def test_a_constructor_that_does_not_keep_its_parameter():
    unfitted = Doubles(3)
    assert copy_unfitted(unfitted).strength == 6
    with pytest.raises(ValueError, match="'strength'.*unfitted one as estimator="):
        copy_unfitted(unfitted.fit(X, Y))


@pytest.mark.parametrize(
    ("value", "kind"), [(threading.Lock(), "lock"), ((k for k in "ab"), "generator")]
)
def test_what_cannot_be_copied_is_named(value, kind):
    with pytest.raises(ValueError, match=rf"'value' of Holds holds .*{kind}.*cannot be copied"):
        copy_unfitted(Holds(value))


def test_a_generator_of_folds_is_named():
    search = GridSearchCV(LogisticRegression(), {"C": [1]}, cv=KFold(2).split(X))
    with pytest.raises(ValueError, match="'cv' of GridSearchCV.*a list in place of a generator"):
        ShadowPool(search, n_estimators=2).fit(RECORDS)


@pytest.mark.parametrize(
    "around",
    [
        RoundingDefense,
        SoftLabelDefense,
        RememberTraining,
        lambda model: ShadowPool(model, n_estimators=2),
        lambda model: LiRA(shadows=ShadowPool(model, n_estimators=2)),
    ],
    ids=["output", "training", "remember", "pool", "attack"],
)
def test_estimators_that_hold_one_are_cloned_by_scikit_learn(around):
    assert repr(clone(around(Copies((0, 1))))) == repr(around(Copies((0, 1))))


def test_searches_pools_and_games_train_one():
    model = Copies((0, 1))
    search = GridSearchCV(RoundingDefense(model), {"decimals": [1, 2]}, cv=2).fit(X, Y)
    assert search.best_estimator_.estimator_.columns == [0, 1]
    pool = ShadowPool(model.fit(X, Y), n_estimators=2, random_state=0, store="models").fit(RECORDS)
    assert [one.columns for one in pool.estimators_] == [[0, 1], [0, 1]]
    again = ShadowPool(Linear(), n_estimators=2, random_state=0).fit(RECORDS)
    np.testing.assert_array_equal(pool.signals_, again.signals_)
    played = membership_game(model, ThresholdAttack(), RECORDS, n_rounds=2, random_state=0)
    assert played["vulnerability"].shape == (2,)


def test_catboost_with_its_categories_in_the_constructor():
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    table = (X > 0).astype(int)
    model = catboost.CatBoostClassifier(cat_features=[0, 1], **settings).fit(table, Y)
    copied = copy_unfitted(make_pipeline("passthrough", model))[-1]
    assert copied.get_params()["cat_features"] == [0, 1] and not copied.is_fitted()


# Nets around a module object, whose copies start where an earlier fit has ended.


def make_net(module, **settings):
    skorch, torch = pytest.importorskip("skorch"), pytest.importorskip("torch")
    return skorch.NeuralNetClassifier(
        module, criterion=torch.nn.CrossEntropyLoss, train_split=None, verbose=0, max_epochs=1,
        **settings,
    )  # fmt: skip


def trained_net():
    torch = pytest.importorskip("torch")
    net = make_net(torch.nn.Linear(X.shape[1], 2))
    return net.fit(X.astype(np.float32), Y.astype(np.int64))


DOORS = {
    "pool": lambda net: ShadowPool(net, 4).fit(RECORDS),
    "pipeline": lambda net: ShadowPool(make_pipeline(StandardScaler(), net), 4).fit(RECORDS),
    "search": lambda net: RememberTraining(
        GridSearchCV(LogisticRegression(), {"C": [net]})
    ).fit(X, Y),
    "remembering": lambda net: RememberTraining(net).fit(X, Y),
    "student": lambda net: StudentDefense(LogisticRegression(), X, student=net).fit(X, Y),
    "label only": lambda net: LabelOnlyDefense(net).fit(X, Y),
    "SELENA": lambda net: SELENADefense(net).fit(X, Y),
    "teacher": lambda net: StudentDefense(net, X).fit(X, Y),
    "evaluation": lambda net: evaluate_defense({"net": net}, RECORDS),
    "game": lambda net: membership_game(net, ThresholdAttack(), RECORDS),
    "unlearning": lambda net: unlearning_game(net, "retrain", RECORDS),
    "epsilon": lambda net: EpsilonAudit(net, n_trials=4).fit(X, Y),
    "leave one out": lambda net: LeaveOneOutLeakage(net).fit(X, Y),
    "audit": lambda net: audit(net, RECORDS, MEMBERSHIP, random_state=0),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_nets_that_were_trained_before_are_refused_at_every_door(door):
    with pytest.raises(ValueError, match="is a torch module, which fit trains in place"):
        DOORS[door](trained_net())


def test_a_module_that_no_fit_begins_with_is_taken():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 2)
    private = DPSGDClassifier(make_net(module), noise_multiplier=1.0)
    assert copy_unfitted(make_pipeline(private))[-1].estimator.module is not module
    assert copy_unfitted(make_net(torch.nn.Linear, module__in_features=2)) is not None
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    assert copy_unfitted(make_net(module)) is not None


def test_estimators_are_copied_in_one_place():
    # What is to be trained is copied by copy_unfitted or clone_to_train, which refuse such nets.
    root = Path(skmia.__file__).parent
    copied = set()
    for path in root.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "clone(" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "clone":
                copied.add((str(path.relative_to(root)), ast.unparse(node.args[0])))
    own = {("_core/copies.py", "estimator"), ("defenses/_private_training.py", "given")}
    own |= {("testing/_attack_checks/_contract.py", "unwrap(victim)")}
    others = {what for what in copied - own if not re.search("attack|pool|^self$|^own$", what[1])}
    assert own <= copied and others == set()
