"""Signals of shadow models for single records."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skmia import Outputs, Records, ShadowPool
from skmia._core.drawing import COLORS
from skmia.shadow import RecordSeparationDisplay, RecordSignalsDisplay, record_separation

N, K = 50, 40
RNG = np.random.default_rng(0)
INSIDE = RNG.random((K, N)) < 0.5
GAP = np.linspace(0, 6, N)
SCORES = RNG.normal(size=(K, N)) + GAP * INSIDE
RECORDS = Records.from_ids(np.arange(N), record_id=np.arange(100, 100 + N))
POOL = ShadowPool.from_scores(SCORES, INSIDE, RECORDS)


def test_separation_of_each_record():
    expected = [
        (s[i].mean() - s[~i].mean()) / (s[i].std() + s[~i].std())
        for s, i in zip(SCORES.T, INSIDE.T, strict=True)
    ]
    order = RNG.permutation(N)
    found = record_separation(FrozenEstimator(POOL), RECORDS[order])
    np.testing.assert_allclose(found, np.array(expected)[order], rtol=1e-4, atol=1e-5)


def test_records_without_two_models_on_a_side_have_no_separation():
    inside = np.zeros((4, N), dtype=bool)
    inside[:2, 1:], inside[0, 0] = True, True
    away = record_separation(ShadowPool.from_scores(SCORES[:4], inside, RECORDS), RECORDS)
    assert np.flatnonzero(np.isnan(away)).tolist() == [0]


def test_the_pool_needs_fit():
    for kind in (RecordSignalsDisplay, RecordSeparationDisplay):
        with pytest.raises(NotFittedError):
            kind.from_pool(ShadowPool(LogisticRegression()), RECORDS)


def test_panels_show_the_models_and_the_victim():
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib.colors import to_rgba

    stored = RECORDS.with_fields(outputs=Outputs(np.arange(N) / 10, kind="log_odds"))
    display = RecordSignalsDisplay.from_pool(FrozenEstimator(POOL), stored[[7, 3, 30, 4]], bins=9)
    assert [ax.get_title(loc="left") for ax in display.axes_] == ["107", "103", "130", "104"]
    frame = display.frame()
    row = frame.query("record == '130'")
    np.testing.assert_allclose(
        row.query("group == 'in'")["signal"], SCORES[INSIDE[:, 30], 30], rtol=1e-6
    )
    assert row.query("group == 'victim'")["signal"].tolist() == [pytest.approx(3.0)]
    assert display.axes_[2].lines[0].get_xdata()[0] == pytest.approx(3.0)
    bars = display.axes_[0].patches
    assert sum(bar.get_height() for bar in bars) == K and len(bars) == 18
    assert [bar.get_facecolor() for bar in bars[::9]] == [to_rgba(c, 0.6) for c in COLORS[:2]]
    assert len(display.figure_.axes) == 4


@pytest.mark.parametrize(("n", "rows", "columns"), [(1, 1, 1), (4, 2, 3)])
def test_panels_without_a_victim_stand_in_rows_of_three(n, rows, columns):
    pytest.importorskip("matplotlib").use("agg")
    style = {"curve_kwargs": {"linewidth": 3}, "alpha": 0.25, "despine": n < 4}
    display = RecordSignalsDisplay.from_pool(POOL, RECORDS[:n], names=[*"abcdefg"[:n]], **style)
    bar = display.axes_[0].patches[0]
    assert (bar.get_alpha(), bar.get_linewidth()) == (0.25, 3)
    assert display.axes_[0].spines["top"].get_visible() == (n >= 4)
    assert {*display.frame()["group"]} == {"in", "out"}
    assert len(display.frame()) == n * K
    assert [ax.get_title(loc="left") for ax in display.axes_] == [*"abcdefg"[:n]]
    assert not any(ax.lines for ax in display.axes_)
    places = [ax.get_subplotspec().rowspan.start for ax in display.axes_]
    assert display.axes_[0].get_gridspec().get_geometry() == (rows, columns)
    assert [ax.get_legend() is not None for ax in display.axes_] == [
        k == places.index(rows - 1) for k in range(n)
    ]


def test_what_cannot_be_shown_is_said():
    pytest.importorskip("matplotlib").use("agg")
    with pytest.raises(ValueError, match="shows 1 to 24 records; got 50. Select some"):
        RecordSignalsDisplay.from_pool(POOL, RECORDS)
    with pytest.raises(ValueError, match="names must hold one title for each of 2"):
        RecordSignalsDisplay.from_pool(POOL, RECORDS[:2], names=["a"])
    with pytest.raises(ValueError, match="axes must hold one for each of 2"):
        RecordSignalsDisplay.from_pool(POOL, RECORDS[:2], axes=[None])
    with pytest.raises(ValueError, match="are not in the shadow pool"):
        RecordSignalsDisplay.from_pool(POOL, Records.from_ids([1000]))
    victim = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="stores the signals"):
        RecordSignalsDisplay.from_pool(POOL, RECORDS[:1], victim, signal="entropy")


def test_histograms_of_the_separation_by_group():
    pytest.importorskip("matplotlib").use("agg")
    groups = np.where(np.arange(N) < 20, "few", "many")
    display = RecordSeparationDisplay.from_pool(POOL, RECORDS, groups, bins=6)
    away = record_separation(POOL, RECORDS)
    np.testing.assert_array_equal(display.frame()["separation"], away)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["few (20 records)", "many (30 records)"]
    for patch, rows in zip(display.ax_.patches, (groups == "few", groups == "many"), strict=True):
        heights, edges, _ = patch.get_data()
        np.testing.assert_allclose(heights, np.histogram(away[rows], edges)[0] / rows.sum())
    assert not display.ax_.spines["top"].get_visible()
    style = {"curve_kwargs": {"linestyle": ":"}, "linewidth": 3, "despine": False}
    alone = RecordSeparationDisplay.from_pool(POOL, RECORDS, ax=display.ax_, **style)
    assert alone.frame()["group"].unique().tolist() == ["all"]
    assert alone.ax_ is display.ax_
    line = alone.ax_.patches[-1]
    assert (line.get_linestyle(), line.get_linewidth()) == (":", 3)
    assert line.get_label() == "all (50 records)"
    with pytest.raises(ValueError, match="one value for each of 50 records"):
        RecordSeparationDisplay.from_pool(POOL, RECORDS, groups[:-1])


def test_records_without_separation_are_left_out_of_the_histogram():
    pytest.importorskip("matplotlib").use("agg")
    inside = np.zeros((4, N), dtype=bool)
    inside[:2, 1:], inside[0, 0] = True, True
    pool = ShadowPool.from_scores(SCORES[:4], inside, RECORDS)
    display = RecordSeparationDisplay.from_pool(pool, RECORDS)
    heights, _, _ = display.ax_.patches[0].get_data()
    assert heights.sum() == pytest.approx(1)
    assert display.frame()["separation"].isna().sum() == 1
