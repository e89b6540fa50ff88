"""What is taken out of the state of a model, and which numbers of trials are drawn, by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia._core.accountant import ORDERS
from skmia.defenses import _released, _trial_laws
from skmia.defenses._trial_laws import NegativeBinomialTrials, PoissonTrials, _count_trials

X, Y = array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 0]


def strip_tree(kind, y, decimals):
    """Return what a tree of one split tells of its records, and its values."""
    tree = kind(max_leaf_nodes=2, random_state=0).fit(X, y).tree_
    _released.strip_tree(tree, decimals)
    told = [tree.impurity, tree.n_node_samples, tree.weighted_n_node_samples]
    return [float(abs(one).max()) for one in told], tree.value[:, 0].tolist(), tree.threshold[0]


def strip_nodes(decimals):
    names = ["count", "gain", "depth", "bin_threshold", "value", "is_leaf"]
    nodes = np.array(
        [(9, 8, 7, 6, 0.126, 0), (5, 4, 3, 2, 0.126, 1)], dtype=[(name, float) for name in names]
    )
    _released.strip_histogram_nodes(nodes, decimals)
    return [[*map(float, one)] for one in nodes]


def strip_bins():
    mapper = NS(random_state=3, n_bins_non_missing_=array([2, 2]), is_categorical_=[0, 1])
    mapper.bin_thresholds_ = [array([0.5]), array([1.5])]
    _released.strip_bins(mapper)
    return mapper.random_state, mapper.n_bins_non_missing_, mapper.bin_thresholds_


def strip_booster_tree(decimals, size=1, **more):
    """Strip a tree of one split, of a weight or of a vector of weights in each leaf."""
    tree = {
        "left_children": [1, -1, -1],
        "base_weights": [0.126] * 3 * size,
        "split_conditions": [0.126, 0.126, 0.254],
        "sum_hessian": [3.0, 2.0, 1.0],
        "tree_param": {"size_leaf_vector": str(size)},
    } | more
    _released._strip_booster_tree(tree, decimals)
    assert tree["sum_hessian"] == [0.0] * 3 and "loss_changes" not in tree
    return tree["base_weights"], tree["split_conditions"], tree.get("leaf_weights")


class Holder(BaseEstimator):
    """An estimator of no known package that holds what it is given."""

    def __init__(self, *held, **named):
        self.held = held
        vars(self).update(named)


def strip_all(*held, decimals=None):
    """Return the number of trees of what is held, after it was stripped."""
    return _released._strip_all(Holder(*held), decimals)


def strip_one(kind="sklearn", booster=None, **state):
    """Return the state of an estimator of a package, and the trees of its booster."""
    estimator = type("Model", (BaseEstimator,), {"__module__": f"{kind}.core"})()
    vars(estimator).update(state)
    if booster is not None:
        estimator._Booster = booster
    told = {kind: lambda booster, decimals: (booster, decimals)}
    with mock.patch.object(_released, "_STRIPPING", told if kind != "sklearn" else {}):
        found = _released._strip_estimator(estimator, 2)
    return {name: one for name, one in vars(estimator).items() if name != "_Booster"}, found


def list_remaining(*arrays):
    state = [NS(path=path, kind=kind, array=array(values)) for path, kind, values in arrays]
    with mock.patch.object(_released, "read_state", lambda model: NS(arrays=state)):
        return _released._list_remaining("model")


def round_none(model):
    call = lambda: _released.make_stripped(model.fit(X, Y), 1)  # noqa: E731
    return tell_refusal(call)


TREE = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, Y)
FOREST = RandomForestClassifier(3, max_depth=1, random_state=0).fit(X, Y)
ZERO = [0.0] * 3
STRIPPED = [
    # The split at 1.5 leaves (1, 0) and (0.5, 0.5).
    (
        lambda: strip_tree(DecisionTreeClassifier, Y, None),
        (ZERO, [[0.0, 0.0], [1.0, 0.0], [0.5, 0.5]], 1.5),
    ),
    (lambda: strip_tree(DecisionTreeClassifier, Y, 0)[1], [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]),
    (
        lambda: strip_tree(DecisionTreeRegressor, [0.0, 0.0, 1.26, 1.26], None)[1],
        [[0.0], [0.0], [1.26]],
    ),
    (
        lambda: strip_tree(DecisionTreeRegressor, [0.0, 0.0, 1.26, 1.26], 1)[1],
        [[0.0], [0.0], [1.3]],
    ),
    (lambda: strip_nodes(None), [[0.0] * 6, [0.0, 0.0, 0.0, 0.0, 0.126, 1.0]]),
    (lambda: strip_nodes(2)[1][4], 0.13),
    (lambda: strip_bins(), (None, [0, 0], [[], [1.5]])),
    (lambda: strip_booster_tree(None), ([0.0] * 3, [0.126, 0.126, 0.254], None)),
    (lambda: strip_booster_tree(2), ([0.0] * 3, [0.126, 0.13, 0.25], None)),
    # Vectors of older versions are where those of one number are none.
    (
        lambda: strip_booster_tree(None, 2),
        ([0.0] * 2 + [0.126] * 4, [0.126, 0.126, 0.254], None),
    ),
    (lambda: strip_booster_tree(2, 2), ([0.0] * 2 + [0.13] * 4, [0.126, 0.126, 0.254], None)),
    (
        lambda: strip_booster_tree(2, 2, leaf_weights=[0.126, 0.254]),
        ([0.0] * 6, [0.126, 0.126, 0.254], [0.13, 0.25]),
    ),
    (lambda: strip_booster_tree(None, 2, leaf_weights=[0.126])[2], [0.126]),
    (lambda: strip_all(), 0),
    (lambda: strip_all(TREE, [FOREST, {"a": TREE}]), 4),
    (lambda: strip_all(array([FOREST, None], dtype=object), DecisionTreeClassifier), 3),
    (lambda: strip_all(FrozenEstimator(TREE)), 1),
    (
        lambda: round_none(LogisticRegression()),
        "LogisticRegression has no leaf values to round; set decimals=None.",
    ),
    (lambda: round_none(RandomForestClassifier(2)), None),
    (lambda: sorted(_released.get_unused(GaussianNB().fit(X, Y))), ["class_count_"]),
    (lambda: sorted(_released.get_unused(TREE)), []),
    (lambda: "class_count_" in vars(_released.make_stripped(GaussianNB().fit(X, Y), None)), False),
    # Seeds go, but for those with which a model draws its answers.
    (
        lambda: (
            _released.make_stripped(
                DecisionTreeClassifier(random_state=3).fit(X, Y), None
            ).random_state
        ),
        None,
    ),
    (lambda: _released.make_stripped(GaussianMixture(random_state=3).fit(X), None).random_state, 3),
    (lambda: strip_one(random_state=3, best_score_=1, a=2), ({"random_state": None, "a": 2}, 0)),
    (
        lambda: strip_one(random_state="a", targets_=[1]),
        ({"random_state": "a", "targets_": None}, 0),
    ),
    (lambda: strip_one("other", random_state=3), ({"random_state": 3}, 0)),
    (
        lambda: strip_one("xgboost", "trees", evals_result_=1, _best_score=2),
        ({"_best_score": {}}, ("trees", 2)),
    ),
    (lambda: strip_one("xgboost", evals_result_=1), ({"evals_result_": 1}, 0)),
    # What remains is named in one order, and numbers that are all 0 tell nothing.
    (lambda: list_remaining(), ""),
    (lambda: list_remaining(("a", "thresholds", [1.0])), "thresholds"),
    (
        lambda: list_remaining(("a", "edges", [1.0]), ("b", "rows", ["x"]), ("c", "values", [1])),
        "rows, values and edges",
    ),
    (lambda: list_remaining(("a", "rows", [0.0]), ("b", "other", [1.0])), ""),
    (
        lambda: list_remaining(("split_conditions", "thresholds", [1.0])),
        "leaf values and thresholds",
    ),
]

# -- numbers of trials by a uniform number, from the largest share of the law down


def draw(law, *uniforms):
    return [law.draw(one) for one in uniforms]


GEOMETRIC, LOGARITHMIC = NegativeBinomialTrials(2.0, 1.0), NegativeBinomialTrials(2.0, 0.0)


def spend(law, delta=0.25):
    """Return what the best of all trials costs beyond one of them, times the order less one."""
    of_one = ORDERS / 8
    with mock.patch.object(_trial_laws, "find_delta", lambda divergences, epsilons: delta):
        return np.round((law.spend(of_one) - of_one) * (ORDERS - 1), 9)


def spend_again(law):
    """Return the cost that all orders share, of divergences of which one order decides."""
    least = (1 - 1 / ORDERS) * ORDERS / 8 - law.log_gamma / ORDERS
    return np.ptp(np.round(spend(law) - (1 + law.eta) * least.min() * (ORDERS - 1), 7))


LAWS = [
    # exp(1) trials cost 1 more at the order 2; each of them may break the bound on its own.
    (lambda: np.ptp(spend(PoissonTrials(np.e), 0.0)), 0.0),
    (lambda: spend(PoissonTrials(np.e), 0.0)[0], 1.0),
    (lambda: spend(PoissonTrials(2.0))[3], np.log(2) + 0.5 * (ORDERS[3] - 1)),
    (lambda: [spend_again(GEOMETRIC), spend_again(LOGARITHMIC)], [0.0, 0.0]),
    (lambda: GEOMETRIC.draw(0.5 - 2.0**-53), 2),
    # Of a mean of 2, one trial has the share 1/2, two 1/4, and none of Poisson exp(-2) = 0.135.
    (lambda: draw(GEOMETRIC, 0.49, 0.51, 0.999), [2, 1, 1]),
    (lambda: draw(GEOMETRIC, 0.26, 0.24, 0.13, 0.12), [2, 3, 3, 4]),
    (lambda: draw(PoissonTrials(2.0), 0.87, 0.86, 0.6, 0.59), [0, 1, 1, 2]),
    (lambda: float(np.exp(GEOMETRIC.log_gamma)), 0.5),
    (lambda: np.exp(LOGARITHMIC._compute_log_mean(LOGARITHMIC.log_gamma)), 2.0),
    (lambda: _count_trials(3, 1, None, 0.5, 0.0), 3),
]


@pytest.mark.parametrize("rows", [STRIPPED, LAWS], ids=["stripped", "laws"])
def test_answers_by_hand(rows):
    expect_answers(rows)


def test_a_model_that_is_asked_inside_keeps_what_is_asked():
    class SelectFromModel(BaseEstimator):
        def __init__(self, estimator=None):
            self.estimator = estimator

    assert _released._strip_all(SelectFromModel(FOREST), None) == 0
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1)).fit(X, Y)
    assert _released._strip_all(model, None) == 1
    catboost = type("CatBoost", (), {"__module__": "catboost.core"})
    told = tell_refusal(lambda: _released._strip_all([catboost()], 1))
    assert told.startswith("Leaf values of CatBoost cannot be rounded in a copy")
    assert _released._strip_all([catboost()], None) == 0
