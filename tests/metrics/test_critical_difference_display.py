import numpy as np
import pandas as pd
import pytest

from skmia._core.drawing import COLORS
from skmia.metrics import CriticalDifferenceDisplay, RankingTest

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_every_method_is_named_with_its_rank():
    names = ["LiRA", "loss", "entropy", "gradient norm"]
    values = np.random.default_rng(0).normal(size=(12, 4)) + [9, 1, 1, 0]
    test = RankingTest().fit(pd.DataFrame(values, columns=names))
    display = CriticalDifferenceDisplay.from_estimator(test)
    labels = " ".join(text.get_text() for text in display.ax_.texts)
    for name, rank in test.average_ranks_.items():
        assert name in labels and f"{rank:.2f}" in labels
    # The better half is named on the left, each at the end of a line from its rank.
    places = {text.get_text().strip("0123456789. "): text.xy for text in display.ax_.texts}
    order = display.frame()["method"].tolist()
    assert [places[name][0] for name in order] == [0.6, 0.6, 4.4, 4.4]
    assert places[order[0]][1] == places[order[3]][1] < places[order[1]][1] == places[order[2]][1]
    elbows = [line.get_xydata() for line in display.ax_.lines if len(line.get_xdata()) == 3]
    for name, elbow in zip(order, elbows, strict=True):
        assert tuple(elbow[0]) == (test.average_ranks_[name], 0) and tuple(elbow[2]) == places[name]
    assert display.ax_.get_xlabel() == "average rank (1 = best)"
    bottom, top = display.ax_.get_ylim()  # the axis of the ranks is the upper edge
    assert top == 0 and bottom >= max(place[1] for place in places.values())
    bars = [line for line in display.ax_.lines if line.get_linewidth() == 4]
    ends = [bar.get_xdata().tolist() for bar in bars]
    ranks = test.average_ranks_
    assert ends == [[ranks[c].min(), ranks[c].max()] for c in test.cliques_]
    many = CriticalDifferenceDisplay(average_ranks=ranks, cliques=[list(ranks.index)] * 3).plot()
    heights = [line.get_ydata()[0] for line in many.ax_.lines if line.get_linewidth() == 4]
    assert np.allclose(np.diff([0, *heights]), heights[0]) and heights[-1] < places[order[0]][1] + 1
    assert display.frame()["method"].iloc[0] == "LiRA"


def test_it_draws_on_given_axes():
    _, ax = plt.subplots()
    ranks = pd.Series([1.0, 2.0], index=["a", "b"])
    display = CriticalDifferenceDisplay(average_ranks=ranks, cliques=[]).plot(ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure


@pytest.mark.parametrize("n_methods, ticks", [(2, [1, 2]), (16, [1, 3, 5, 7, 9, 11, 13, 15])])
def test_the_axis_counts_the_ranks_and_the_bars_have_the_color(n_methods, ticks):
    names = [f"method {k}" for k in range(n_methods)]
    ranks = pd.Series(np.arange(1.0, n_methods + 1), index=names)
    ax = CriticalDifferenceDisplay(average_ranks=ranks, cliques=[names]).plot(color="red").ax_
    assert ax.get_xlim() == pytest.approx((0.6, n_methods + 0.4))
    assert ax.get_xticks().tolist() == ticks and not len(ax.get_yticks())
    # It is the upper edge, and the rest of the frame is left out.
    assert ax.xaxis.get_ticks_position() == ax.xaxis.get_label_position() == "top"
    assert [name for name, spine in ax.spines.items() if spine.get_visible()] == ["top"]
    # The names of either half have a row each, from below the bars on.
    rows = sorted({text.xy[1] for text in ax.texts})
    assert rows == pytest.approx(rows[0] + np.arange(n_methods // 2))
    (bar,) = [line for line in ax.lines if line.get_linewidth() == 4]
    assert bar.get_color() == "red" and 0 < bar.get_ydata()[0] < rows[0]
    usual = CriticalDifferenceDisplay(average_ranks=ranks, cliques=[names]).plot().ax_
    assert [line.get_color() for line in usual.lines if line.get_linewidth() == 4] == [COLORS[0]]
    (marks,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert marks.get_xydata().tolist() == [[rank, 0] for rank in ranks]
    places = {text.get_ha(): text.get_position()[0] for text in ax.texts}
    assert places["right"] < 0 < places["left"]  # from the end of a line outwards
