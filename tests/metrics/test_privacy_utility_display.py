from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.metrics import PrivacyUtilityDisplay
from skmia.model_selection import RememberTraining, make_leakage_scorer

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_the_frontier_is_that_of_two_loops():
    rng = np.random.default_rng(0)
    utility, leakage = rng.integers(6, size=(2, 40)) / 5
    expected = [
        not any(
            utility[j] >= utility[i]
            and leakage[j] <= leakage[i]
            and (utility[j] > utility[i] or leakage[j] < leakage[i])
            for j in range(40)
        )
        for i in range(40)
    ]
    none = np.zeros(40)
    display = PrivacyUtilityDisplay(
        utility=utility, leakage=leakage, utility_std=none, leakage_std=none, labels=range(40)
    )
    np.testing.assert_array_equal(display.frame()["on_frontier"], expected)


def test_marks_and_the_ring_are_named_in_colors_of_the_drawing():
    some, none = np.array([0.9, 0.8, 0.7]), np.zeros(3)
    display = PrivacyUtilityDisplay(
        utility=some,
        leakage=np.array([0.4, 0.1, 0.2]),
        utility_std=none,
        leakage_std=none,
        labels=["large", "small", "odd"],
        chosen=1,
    ).plot()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert set(texts) == {"chosen by the search", "on the frontier", "below the frontier"}
    ring = next(line for line in display.ax_.lines if line.get_label() == "chosen by the search")
    frontier = next(line for line in display.ax_.lines if line.get_drawstyle() == "steps-post")
    assert ring.get_markeredgecolor() == frontier.get_color()


def test_candidates_are_drawn_with_their_deviations_and_the_frontier_joins_the_best():
    display = PrivacyUtilityDisplay(
        utility=np.array([0.9, 0.7, 0.8]),
        leakage=np.array([0.4, 0.2, 0.1]),
        utility_std=np.array([0.01, 0.02, 0.03]),
        leakage_std=np.array([0.05, 0.06, 0.07]),
        labels=["large", "odd", "small"],
        utility_name="recall",
    ).plot()
    ax, found = display.ax_, {}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("leakage (left = better)", "recall (up = better)")
    for bars in ax.containers:
        marks, _, sides = bars.lines
        along, across = ([segment for segment in side.get_segments()] for side in sides)
        ends = [(*one[:, 0], *other[:, 1]) for one, other in zip(along, across, strict=True)]
        found[bars.get_label()] = marks.get_xydata().tolist(), ends
    (best, best_ends), (rest, rest_ends) = (
        found[f"{side} the frontier"] for side in ("on", "below")
    )
    assert (best, rest) == ([[0.1, 0.8], [0.4, 0.9]], [[0.2, 0.7]])
    np.testing.assert_allclose(best_ends, [[0.03, 0.17, 0.77, 0.83], [0.35, 0.45, 0.89, 0.91]])
    np.testing.assert_allclose(rest_ends, [[0.14, 0.26, 0.68, 0.72]])
    (frontier,) = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
    assert frontier.get_xydata().tolist() == best
    assert {text.get_text(): text.xy for text in ax.texts} == {
        "small": (0.1, 0.8),
        "large": (0.4, 0.9),
    }
    assert "chosen by the search" not in [line.get_label() for line in ax.lines]
    bare = display.plot(annotate=False, despine=False).ax_
    assert not bare.texts
    assert bare.spines["top"].get_visible() and not ax.spines["top"].get_visible()


@pytest.fixture(scope="module")
def search():
    X, y = load_iris(return_X_y=True)
    scoring = {"accuracy": "accuracy", "leakage": make_leakage_scorer(Records(X, y))}
    return GridSearchCV(
        RememberTraining(DecisionTreeClassifier(random_state=0)),
        {"estimator__max_depth": [1, 2, 8]},
        scoring=scoring,
        refit="accuracy",
    ).fit(X, y)


def test_a_search_is_drawn_with_its_choice(search):
    display = PrivacyUtilityDisplay.from_search(search)
    frame = display.frame()
    assert frame["candidate"].tolist() == ["max_depth=1", "max_depth=2", "max_depth=8"]
    np.testing.assert_array_equal(frame["leakage"], -search.cv_results_["mean_test_leakage"])
    named = {text.get_text() for text in display.ax_.texts}
    assert named == set(frame.loc[frame["on_frontier"], "candidate"])
    assert display.ax_.get_xlabel() == f"{display.leakage_name} (left = better)"
    assert display.ax_.get_ylabel() == f"{display.utility_name} (up = better)"
    chosen = next(line for line in display.ax_.lines if line.get_label() == "chosen by the search")
    assert chosen.get_ydata()[0] == search.cv_results_["mean_test_accuracy"][search.best_index_]


def test_a_score_that_is_missing_is_named(search):
    with pytest.raises(ValueError, match="no score 'auc' in its scoring"):
        PrivacyUtilityDisplay.from_search(search, leakage="auc")


def test_candidates_without_a_score_are_not_on_the_frontier(search):
    results = {**search.cv_results_, "mean_test_leakage": np.array([np.nan, -0.1, -0.2])}
    some = SimpleNamespace(cv_results_=results)
    with pytest.warns(UserWarning, match="1 of 3 candidates .* number 0, have no leakage"):
        frame = PrivacyUtilityDisplay.from_search(some).frame()
    assert not frame["on_frontier"][0]
    results["mean_test_leakage"] = np.full(3, np.nan)
    with pytest.raises(ValueError, match="All 3 candidates of the search have no leakage"):
        PrivacyUtilityDisplay.from_search(some)
