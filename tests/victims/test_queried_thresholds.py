"""Thresholds that are found by queries."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from skmia.victims import CallableVictim, bisect_thresholds
from skmia.victims._queried_thresholds import differ

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.random.default_rng(1).normal(size=60)  # each leaf has a value of its own


def find(model, X=X, **options):
    return bisect_thresholds(model, X, **{"max_queries": 20_000, "random_state": 0, **options})


def list_reachable(tree, X):
    """Inner nodes that a row comes to if its value of the column of the node is replaced."""
    reachable = set()
    for node in np.flatnonzero(tree.children_left >= 0):
        moved = X.astype(np.float32)
        moved[:, tree.feature[node]] = tree.threshold[node]
        path = np.asarray(tree.decision_path(moved)[:, [node]].todense())
        reachable |= {node} if path.any() else set()
    return reachable


def test_all_reachable_thresholds_of_a_tree_are_found_to_a_few_roundings():
    tree = DecisionTreeRegressor(random_state=0).fit(X[::2], Y[::2]).tree_
    found = find(DecisionTreeRegressor(random_state=0).fit(X[::2], Y[::2]))
    inside = (
        (found.columns == tree.feature[:, None])
        & (found.lower <= tree.threshold[:, None])
        & (tree.threshold[:, None] < found.upper)
    )
    assert inside.any(axis=0).all()  # nothing is found where no threshold is
    assert set(np.flatnonzero(inside.any(axis=1))) == list_reachable(tree, X)
    scale = np.abs(X).mean(axis=0).max() + np.abs(found.upper)
    assert (found.upper - found.lower <= 5 * 2.0**-23 * scale).all()


def test_a_threshold_that_no_values_explain_is_found_as_well():
    step = np.float32(0.123456)

    def answer(rows):
        p = np.where(rows[:, 1] <= step, 0.2, 0.7)
        return np.column_stack([1 - p, p])

    found = find(CallableVictim(answer, [0, 1]))
    assert len(found.columns) > 0 and set(found.columns) == {1}
    assert (found.lower <= step).all() and (step < found.upper).all()
    assert (found.upper - found.lower).max() < 1e-6


@pytest.mark.parametrize("max_queries", [1, 13, 100, 777])
def test_no_more_queries_are_made_than_allowed(max_queries):
    forest = RandomForestRegressor(10, random_state=0).fit(X[::2], Y[::2])
    rows = []

    class Counted(RandomForestRegressor):
        def predict(self, X):
            rows.extend(map(tuple, np.asarray(X)))
            return forest.predict(X)

    victim = Counted(10, random_state=0).fit(X[::2], Y[::2])
    found = find(victim, max_queries=max_queries)
    assert found.n_queries == len(rows) <= max_queries
    assert len(set(rows)) == len(rows)  # nothing is asked twice


def test_tables_are_varied_in_their_numeric_columns():
    table = pd.DataFrame({"name": list("ab") * 30, "size": X[:, 0], "amount": np.arange(60) * 10})
    seen = []

    def answer(rows):
        seen.append(rows)
        p = 0.1 + 0.2 * (rows["size"] <= 0.1) + 0.3 * (rows["amount"] <= 305)
        return np.column_stack([1 - p, p])

    found = find(CallableVictim(answer, [0, 1]), table, max_queries=300)
    assert found.searched == (1, 2) and set(found.columns) == {1, 2}
    assert all(list(rows.columns) == list(table.columns) for rows in seen)
    assert (
        find(CallableVictim(answer, [0, 1]), table, max_queries=300, columns=["size"]).columns == 1
    ).all()
    assert table["amount"].dtype.kind == "i"


def test_what_cannot_be_searched():
    model = LogisticRegression().fit(X, Y > 0)
    smooth = find(model)
    assert not smooth.has_steps and len(smooth.columns) == 0
    constant = find(CallableVictim(lambda rows: np.full((len(rows), 2), 0.5), [0, 1]))
    assert len(constant.columns) == 0
    with pytest.raises(ValueError, match="columns must name columns of X; got 7"):
        find(model, columns=[7])
    for odd in ([[0, 1], np.eye(2)], [pd.NA], "ab", 3, [], np.array(1.0)):
        with pytest.raises(ValueError, match="columns must"):
            find(model, columns=odd)
    with pytest.raises(ValueError, match="No numeric column has at least a quarter"):
        find(model, X.round())
    with pytest.raises(ValueError, match="must be a table"):
        find(model, X[:, :, None])


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1.0, 1e6, 1e200])
def test_answers_differ_by_more_than_rounding_of_their_own_size(scale):
    some = scale * np.array([[1.0, 0.2], [1.0, 0.2], [0.2, -1.0]])
    others = some + scale * np.array([[1e-12, 0.0], [0.0, 1e-6], [0.0, -1e-6]])
    np.testing.assert_array_equal(differ(some, others), [False, True, True])
