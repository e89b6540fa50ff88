"""Similarity of tables by known answers, and models of synthetic rows."""

import numpy as np
import pandas as pd
import pytest

from skmia.synthetic._table._audit import train_on_each
from skmia.synthetic._table._measure import measure_loss, measure_utility


def compare(made, real):
    rng = np.random.RandomState(0)
    overall, columns, pairs = measure_utility(
        pd.DataFrame(made), pd.DataFrame(real), None, 0.95, rng
    )
    return overall["estimate"], columns["estimate"], pairs["estimate"]


def test_known_answers():
    assert compare({"a": [1.0, 2, 3, 4]}, {"a": [0.0, 1, 2, 3]})[1]["a"] == 0.75
    assert compare({"a": list("aab")}, {"a": list("abb")})[1]["a"] == pytest.approx(2 / 3)
    x, y = [0.0, 1, 2, 3], [0.0, 1, 2, 4]
    found = compare({"x": x, "y": [3.0, 2, 1, 0]}, {"x": x, "y": y})[2]
    assert found["x and y"] == pytest.approx(0.0086, abs=5e-5)
    one, other = {"a": list("aabb"), "b": list("pqpq")}, {"a": list("aabb"), "b": list("ppqq")}
    overall, columns, pairs = compare(one, other)
    assert columns.tolist() == [1, 1] and pairs.tolist() == [0.5]
    assert overall["quality"] == 0.75


def test_missing_values_and_constant_numbers_count():
    lacking = {"a": [1.0, np.nan], "b": ["x", None]}
    _, columns, pairs = compare(lacking, {"a": [1.0, 1.0], "b": ["x", "x"]})
    assert columns.tolist() == [0.5, 0.5] and pairs.tolist() == [0.5]
    found = compare({"a": [1.0, 1], "b": [0.0, 1]}, {"a": [1.0, 1], "b": [0.0, 1]})
    assert np.isnan(found[2].iloc[0]) and found[0]["quality"] == 1


def test_the_holdout_shows_what_real_rows_reach():
    rng = np.random.default_rng(0)
    real, holdout, made = map(pd.DataFrame, rng.normal(size=(3, 100, 3)))
    tables = (real, holdout, made + 1)
    overall, columns, _ = measure_utility(made + 1, real, holdout, 0.95, np.random.RandomState(0))
    quality = overall.loc["quality"]
    assert quality["high"] < quality["real"] <= 1
    assert set(columns.columns) == {"estimate", "low", "high", "real"}
    settings = {"confidence_level": 0.95, "random_state": 0}
    _, (_, low, _) = measure_loss(tables, settings, n_permutations=0, people=None)
    assert low > 0  # of the resemblance


@pytest.mark.usefixtures("quick_tables")
@pytest.mark.parametrize(
    "kind, metric, chance", [("two", "AUC", 0.5), ("three", "accuracy", None), ("number", "R2", 0)]
)
def test_models_of_synthetic_rows(kind, metric, chance):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 150))
    y = {
        "two": np.where(x > 0, "yes", "no"),
        "three": np.digitize(x, [-0.5, 0.5]),
        "number": x + 0.1 * rng.normal(size=x.shape),
    }[kind]
    words = np.array(["p", None], dtype=object)[rng.integers(2, size=x.shape)]
    tables = [pd.DataFrame({"x": a, "word": w, "y": b}) for a, w, b in zip(x, words, y)]
    found = train_on_each(*tables, "y", 0.95, np.random.RandomState(0))
    assert found["metric"] == metric and found["chance"] == (chance or found["chance"])
    assert found["real"] > 0.8 and found["low"] <= 1 <= found["high"] + 0.1
    nothing = tables[0].assign(y=tables[0]["y"].iloc[0])
    assert train_on_each(nothing, *tables[1:], "y", 0.95, np.random.RandomState(0))["high"] < 0.8


def test_a_target_that_cannot_be_predicted_has_no_ratio():
    rng = np.random.default_rng(1)
    tables = [pd.DataFrame({"x": rng.normal(size=100), "y": rng.normal(size=100)}) for _ in "abc"]
    found = train_on_each(*tables, "y", 0.95, np.random.RandomState(0))
    assert found["real"] <= 0 and np.isnan(found["estimate"])
