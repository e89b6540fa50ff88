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
    own = [column for column in kept if column not in COLUMNS[name](kept)]
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
