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
    bars = [line for line in display.ax_.lines if line.get_linewidth() == 4]
    ends = [bar.get_xdata().tolist() for bar in bars]
    ranks = test.average_ranks_
    assert ends == [[ranks[c].min(), ranks[c].max()] for c in test.cliques_]
    assert display.frame()["method"].iloc[0] == "LiRA"


def test_it_draws_on_given_axes():
    _, ax = plt.subplots()
    ranks = pd.Series([1.0, 2.0], index=["a", "b"])
    display = CriticalDifferenceDisplay(average_ranks=ranks, cliques=[]).plot(ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
