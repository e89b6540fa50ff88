import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skmia.attacks import ThresholdAttack
from skmia.disparity import DisparityDisplay, DisparityTest, GroupGuesses

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def table():
    values = np.random.default_rng(0).normal([0.1, 0.2, 0.15], [0.01, 0.05, 0.02], (40, 3))
    return pd.DataFrame(values, columns=["young", "middle", "old"])


def test_frame_is_what_is_drawn(table):
    frame = DisparityDisplay.from_table(table).frame(confidence_level=0.8)
    assert frame.index.tolist() == ["young", "middle", "old"]
    for group, row in frame.iterrows():
        values = table[group]
        quartiles = row[["minimum", "lower_quartile", "median", "upper_quartile", "maximum"]]
        np.testing.assert_allclose(quartiles, np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))
        low, high = stats.t.interval(0.8, 39, loc=values.mean(), scale=stats.sem(values))
        assert (row["mean"], row["low"], row["high"]) == pytest.approx((values.mean(), low, high))
        assert row["n_rounds"] == 40


@pytest.mark.parametrize("kind", ["box", "violin"])
def test_each_group_has_a_body_and_a_mean(table, kind):
    display = DisparityDisplay.from_table(table, kind=kind)
    frame = display.frame()
    assert list(display.bodies_) == list(table.columns)
    x, y = display.means_.lines[0].get_data()
    np.testing.assert_array_equal(x, [0, 1, 2])
    np.testing.assert_allclose(y, frame["mean"])
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == list(table.columns)
    for place, (group, body) in enumerate(display.bodies_.items()):
        corners = body.get_path() if kind == "box" else body.get_paths()[0]
        edges = frame.loc[group, ["lower_quartile", "upper_quartile"]]
        if kind == "violin":
            edges = frame.loc[group, ["minimum", "maximum"]]
        assert corners.vertices[:, 1].min() == pytest.approx(edges.iloc[0])
        assert corners.vertices[:, 1].max() == pytest.approx(edges.iloc[1])
        assert np.mean([corners.vertices[:, 0].min(), corners.vertices[:, 0].max()]) == (
            pytest.approx(place)
        )
    display.figure_.canvas.draw()  # where a formula would be read


def test_a_test_is_drawn_with_its_pvalue(table):
    test = DisparityTest.from_table(table)
    display = DisparityDisplay.from_estimator(test)
    assert "p =" not in display.ax_.get_title()  # a table has no p-value
    rng = np.random.default_rng(0)
    membership = rng.integers(2, size=(40, 60))
    played = GroupGuesses(rng.integers(2, size=(40, 60)), membership, np.arange(60) % 2)
    played = DisparityTest(random_state=0).fit(played)
    title = DisparityDisplay.from_estimator(played).ax_.get_title()
    assert title.endswith(f"all groups equally vulnerable: p = {played.pvalue_:.2g}")
    assert display.ax_.get_title().startswith("Vulnerability of each group, 40 rounds")
    named = DisparityTest.from_table(table).set_params(attack=ThresholdAttack())
    titles = [
        DisparityDisplay.from_estimator(named, name=name).ax_.get_title() for name in (None, "loss")
    ]
    assert titles[0].startswith("ThresholdAttack, 40 rounds")
    assert titles[1].startswith("loss, 40 rounds")


def test_incomplete_rounds_are_not_drawn(table):
    holes = table.copy()
    holes.iloc[0, 0] = np.nan
    display = DisparityDisplay.from_table(holes)
    assert (display.frame()["n_rounds"] == 39).all()


def test_long_names_are_turned(table):
    for name, rotation, side in (("ten letter", 0, "center"), ("eleven char", 30, "right")):
        display = DisparityDisplay.from_table(table.rename(columns={"old": name}))
        label = display.ax_.get_xticklabels()[0]
        assert (label.get_rotation(), label.get_ha()) == (rotation, side)


def test_names_are_no_formulas(table):
    names = [r"$\frac{", "a\n\x1b[2J", *table.columns[2:]]
    display = DisparityDisplay.from_table(table.set_axis(names, axis=1))
    display.figure_.canvas.draw()  # where a formula would be read
    labels = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert set(labels) >= {r"\$\frac{", r"a\n\x1b[2J"}


def test_settings_reach_matplotlib(table):
    display = DisparityDisplay.from_table(table, widths=0.2, patch_artist=False)
    corners = display.bodies_["young"].get_path().vertices[:, 0]
    assert np.ptp(corners) == pytest.approx(0.2)


def test_the_level_of_a_coin_is_a_line_that_can_be_left_out(table):
    def list_labels(**settings):
        ax = DisparityDisplay.from_table(table, **settings).ax_
        return [text.get_text() for text in ax.get_legend().get_texts()]

    mean = "mean and its 90% interval over rounds"
    assert list_labels(confidence_level=0.9) == ["no better than a coin", mean]
    assert list_labels(confidence_level=0.9, plot_chance_level=False) == [mean]
    assert list_labels(chance_level_kw={"label": "chance"})[0] == "chance"


@pytest.mark.parametrize("kind", ["box", "violin"])
def test_constant_groups_are_drawn(kind):
    display = DisparityDisplay.from_table([[0.1, 0.2], [0.1, 0.2], [0.1, 0.2]], kind=kind)
    display.figure_.canvas.draw()  # where a formula would be read


def test_displays_draw_on_given_axes_and_again(table):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = DisparityDisplay.from_table(table, ax=ax)
    assert display.ax_ is ax
    assert display.plot() is display
    assert display.ax_ is not ax


def test_constructor_only_assigns():
    thing = object()
    display = DisparityDisplay(vulnerabilities=thing, pvalue=thing, name=thing)
    assert display.vulnerabilities is display.pvalue is display.name is thing


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"kind": "bars"}, "kind must be one of 'box', 'violin'; got 'bars'"),
        ({"confidence_level": 95}, "confidence_level must be a fraction"),
    ],
)
def test_settings_are_checked(table, settings, message):
    with pytest.raises(ValueError, match=message):
        DisparityDisplay.from_table(table, **settings)


def test_tables_are_checked():
    with pytest.raises(ValueError, match="at least 2 groups"):
        DisparityDisplay.from_table([[1.0], [2.0]])


def test_missing_matplotlib_names_the_extra(monkeypatch, table):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=r'pip install "skmia\[plot\]"'):
        DisparityDisplay.from_table(table)
