import numpy as np
import pandas as pd
import pytest

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
