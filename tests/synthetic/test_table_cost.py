"""What an audit of a synthetic table will cost, by the sizes of its tables."""

import numpy as np
import pandas as pd
import pytest
from quick_audits import permute_no_table

from skmia.synthetic import audit_table
from skmia.synthetic.cost import estimate_table_cost

pytestmark = pytest.mark.usefixtures("quick_tables")


def make(n, d):
    return np.broadcast_to(0.0, (n, d))


def test_it_grows_with_rows_and_columns_and_pairs_of_rows_are_limited():
    small, large = (estimate_table_cost(*[make(n, 10)] * 3).phases for n in (2_000, 200_000))
    for name in ("privacy loss", "membership"):  # of at most 2,000 rows
        assert large.loc[name, "seconds"] == small.loc[name, "seconds"]
    grown = (large - small)["seconds"]
    assert grown["inference"] == pytest.approx(3e-6 * 198_000 * 10)
    wide = estimate_table_cost(*[make(2_000, 20)] * 3).phases
    assert (wide > small).all(axis=None)
    some = estimate_table_cost(*[make(1_000, 10)] * 3).phases.loc["membership", "seconds"]
    whole = small.loc["membership", "seconds"]
    assert whole - 0.1 == pytest.approx(4 * (some - 0.1))


def test_the_phases_are_those_of_the_audit(monkeypatch):
    permute_no_table(monkeypatch)
    rng = np.random.default_rng(0)
    real, made, held = (pd.DataFrame(rng.normal(size=(60, 3))) for _ in range(3))
    report = audit_table(real, made, held, random_state=0)
    cost = estimate_table_cost(real, made, held)
    assert set(cost.phases.index) == set(report.seconds) - {"total"}
    without = audit_table(real, made, random_state=0)
    assert set(estimate_table_cost(real, made).phases.index) <= set(without.seconds) - {"total"}
    assert cost.seconds == pytest.approx(cost.phases["seconds"].sum())
    lines = cost.summary().splitlines()
    assert len(lines) == len(cost.phases) + 3 and repr(cost).startswith("TableCost(about ")


def test_memory_is_counted_from_the_tables():
    table = pd.DataFrame({"a": np.zeros(1000)})  # 8 kB each
    cost = estimate_table_cost(table, table, table)
    assert cost.n_bytes == pytest.approx(190e6 + 3.6 * 24_000)
    with pytest.raises((TypeError, ValueError), match="real"):
        estimate_table_cost(None, table)
