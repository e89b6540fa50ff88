"""Printed values beside our results: facts of the documents, and pages that are up to date."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from published import COLUMNS, annotate, read_authors_files, read_printed
from scipy import stats

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
RESULTS = BENCHMARKS / "results"
KEPT = sorted(name for name in COLUMNS if (RESULTS / name).exists())


@pytest.mark.parametrize("name", KEPT)
def test_printed_columns_of_results_hold_the_facts(name):
    """``python benchmarks/published`` writes them."""
    kept = pd.read_csv(RESULTS / name)
    written = io.StringIO(annotate(name, kept).to_csv(index=False))
    again = pd.read_csv(written)
    printed = COLUMNS[name](kept)
    own = [column for column in kept if column not in printed]
    assert own and list(again) == list(kept)
    for column in again.columns.difference(own):
        values = pd.to_numeric(again[column], errors="coerce").to_numpy(float)
        expected = pd.to_numeric(kept[column], errors="coerce").to_numpy(float)
        assert np.isfinite(expected).any() or "reject" in column
        np.testing.assert_allclose(values, expected, rtol=1e-5)


def test_nothing_else_is_called_published():
    for path in RESULTS.glob("*.csv"):
        named = [column for column in pd.read_csv(path, nrows=0) if column.startswith("published")]
        assert not named or path.name in COLUMNS, path.name


def test_every_table_of_the_page_follows_from_the_results():
    """``python benchmarks/compare_published.py`` writes it."""
    from compare_published import make_page

    assert (RESULTS / "published.md").read_text(encoding="utf-8") == make_page()


def test_the_printed_p_values_follow_from_the_printed_t_and_f():
    for table in ("7.4", "7.6"):
        printed = read_printed("odell", table)
        p = 2 * stats.t.sf(printed["t"].abs(), 199)
        np.testing.assert_allclose(p, printed["p"], atol=6e-5)
        np.testing.assert_allclose(stats.false_discovery_control(p), printed["p_corr"], atol=6e-5)
    first, second = (read_printed("odell", table).loc["race"] for table in ("7.3", "7.5"))
    assert stats.f.sf(second["F"], 4, 796) == pytest.approx(second["p"], rel=1e-6)
    assert stats.f.sf(first["F"], 4, 796) > 1e7 * first["p"]
    assert stats.f.sf(first["F"] + 10, 4, 796) == pytest.approx(first["p"], rel=1e-5)


def test_tables_have_their_printed_size():
    for table in ("3.2", "3.3", "3.4"):
        printed = read_printed("del_grosso", table)
        assert printed.shape == (21, 7) and printed.notna().all(axis=None)
    assert read_printed("slides", "Carlini I").notna().sum().sum() == 63
    assert read_printed("slides", "Shokri III").notna().sum().sum() == 92
    assert len(read_authors_files("3.1 top")) == 14
    with pytest.raises(ValueError, match="no table"):
        read_printed("odell", "7.7")


def test_claims_are_judged_as_the_printed_table_says():
    """The facts in the notes on the claims follow from the printed AUROC."""
    from published.claims_del_grosso import FAILS, HOLDS, OPEN, make_claims
    from published.strategies import STRATEGIES

    names = {printed: ours for ours, printed in STRATEGIES.items()}
    auc = read_printed("del_grosso", "3.2").rename(index=names) / 100
    rows = [line.split(" | ") for line in make_claims(auc, RESULTS).body.splitlines()[2:-2]]
    judged = {row[0].lstrip("| "): row[1:] for row in rows}

    def find(words):
        (found,) = (value for claim, value in judged.items() if words in claim)
        return found

    assert find("Div. Metric")[0] == HOLDS and find("Div. Metric")[1].startswith("3.1 of 21")
    assert find("learned diversity")[0] == FAILS and "mean rank 15.4" in find("learned")[1]
    assert find("Rényi")[0] == find("Merlin")[0] == find("equivalent")[0] == HOLDS
    assert find("further samples")[0] == FAILS and "gradient norm w (4.7)" in find("further")[1]
    assert find("no pair")[0] == find("on AlexNet")[0] == OPEN
