import itertools
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import auc
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from skmia import Records
from skmia._core import drawing
from skmia.metrics import (
    MembershipRocDisplay,
    ScoreDistributionDisplay,
    _plot_roc,
    membership_roc_curve,
    operating_point,
    tpr_at_fpr_score,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(0)
    membership = rng.permutation(np.repeat([1, 0], [400, 1200]))
    strong = rng.normal(size=1600) + 1.5 * membership
    weak = (rng.normal(size=1600) + 0.5 * membership).round(1)
    return membership, strong, weak


@pytest.fixture(scope="module")
def shown(evaluation):
    """The curve of the strong scores; nobody changes it."""
    membership, strong, _ = evaluation
    return MembershipRocDisplay.from_predictions(membership, strong, name="strong")


@pytest.fixture
def undrawn(monkeypatch):
    """Displays that draw nothing, for tests of their tables."""
    for display in (MembershipRocDisplay, ScoreDistributionDisplay):
        monkeypatch.setattr(display, "plot", lambda display, *args, **kwargs: display)


@pytest.fixture(scope="module")
def fitted():
    X, membership = make_classification(n_samples=600, flip_y=0.4, random_state=0)
    attacks = {
        "linear": LogisticRegression().fit(X, membership),
        "bayes": GaussianNB().fit(X, membership),
    }
    return attacks, X, membership


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_roc_line_is_the_curve_from_ten_false_positives_on(evaluation, shown):
    (membership, strong, _), display = evaluation, shown
    x, y = display.lines_["strong"].get_data()
    frame = display.frame()
    seen = frame["fpr"] > 10.5 / 1200
    np.testing.assert_array_equal(x, [10 / 1200, *frame.loc[seen, "fpr"]])
    first = tpr_at_fpr_score(membership, strong, max_fpr=10 / 1200)
    np.testing.assert_array_equal(y, [first, *frame.loc[seen, "tpr"]])
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlim() == (10 / 1200, 1)
    assert display.ax_.get_xticklabels()[0].get_text() == "0.0083"


def test_a_very_long_curve_keeps_points_that_are_close_together(evaluation, shown, monkeypatch):
    (membership, strong, _), whole = evaluation, shown
    monkeypatch.setattr(_plot_roc, "_MOST_POINTS", 400)
    display = MembershipRocDisplay.from_predictions(membership, strong, name="strong")
    points, kept = (list(zip(*one.curves["strong"])) for one in (whole, display))
    assert set(kept) < set(points) and len(kept) <= 400
    assert kept[:100] == points[:100] and kept[-1] == points[-1]
    monkeypatch.setattr(_plot_roc, "_MOST_POINTS", len(points))
    assert len(_plot_roc._thin_curve(whole.curves["strong"])[0]) == len(points)
    pairs = zip(legend_texts(display), legend_texts(whole), strict=True)
    assert all(text[:15] == other[:15] for text, other in pairs)  # the AUC with two decimals
    rates = [point[0] for point in kept]
    assert max(np.diff(rates)) < 0.02
    # On logarithmic axes, too: a hundred steps from the first rate to 1 skip no more than a step.
    places = np.array([points.index(point) for point in kept])
    for rates in np.transpose(points)[:2]:
        step = (1 / rates[rates > 0][0]) ** (1 / 99)
        first, last = rates[places[:-1] + 1], rates[places[1:]]
        assert (last[first > 0] <= step * first[first > 0] * (1 + 1e-9)).all()


def test_roc_frame_is_the_best_tpr_of_every_fpr(evaluation, undrawn):
    membership, _, weak = evaluation
    frame = MembershipRocDisplay.from_predictions(membership, weak, name="weak").frame()
    assert (frame["name"] == "weak").all()
    assert frame["fpr"].is_unique
    for row in frame.iloc[::5].itertuples():
        best = tpr_at_fpr_score(membership, weak, max_fpr=row.fpr, on_unresolvable="ignore")
        assert row.tpr == best
        if np.isfinite(row.threshold):
            assert np.mean(weak[membership == 0] >= row.threshold) == pytest.approx(row.fpr)
            assert np.mean(weak[membership == 1] >= row.threshold) == pytest.approx(row.tpr)


def test_roc_frame_has_the_intervals_of_single_rates(evaluation, shown):
    membership, strong, _ = evaluation
    frame = shown.frame(confidence_level=0.8)
    assert (frame["tpr_low"] <= frame["tpr"]).all() and (frame["tpr"] <= frame["tpr_high"]).all()
    for row in frame.iloc[[10, 100, 500]].itertuples():
        point = operating_point(membership, strong, row.fpr, confidence_level=0.8)
        assert (row.tpr, row.threshold) == (point.tpr, point.threshold)
        # Limits at many rates are interpolated between some, to far less than their width.
        width = point.tpr_high - point.tpr_low
        assert row.tpr_low == pytest.approx(point.tpr_low, abs=0.03 * width)
        assert row.tpr_high == pytest.approx(point.tpr_high, abs=0.03 * width)


def test_records_are_independent_unless_sizes_are_given(evaluation):
    membership, strong, _ = (one[::16] for one in evaluation)
    settings = {"max_fpr": 0.2, "confidence_level": None}
    expected = MembershipRocDisplay.from_predictions(membership, strong, **settings)
    sides = {"n_members": expected.n_members, "n_nonmembers": expected.n_nonmembers}
    display = MembershipRocDisplay(curves=expected.curves, **sides).plot(**settings)
    pd.testing.assert_frame_equal(display.frame(), expected.frame())
    assert legend_texts(display) == legend_texts(expected)
    assert "not resolvable" not in legend_texts(display)[0]
    lines = [one.lines_[None].get_xydata() for one in (display, expected)]
    np.testing.assert_array_equal(*lines)


def test_the_band_has_the_limits_of_single_rates(evaluation, shown):
    membership, strong, _ = evaluation
    edges = pd.DataFrame(shown.bands_["strong"].get_paths()[0].vertices, columns=["fpr", "tpr"])
    band = edges.groupby("fpr")["tpr"].agg(["min", "max"])
    assert (band.index[0], band.index[-1]) == (pytest.approx(10 / 1200), 1)
    for fpr, (low, high) in band.iloc[[20, 60, 120, -20]].iterrows():
        point = operating_point(membership, strong, fpr, on_unresolvable="ignore")
        width = point.tpr_high - point.tpr_low
        assert (low, high) == pytest.approx((point.tpr_low, point.tpr_high), abs=0.03 * width)


def test_a_short_frame_has_the_intervals_of_all_its_rates(undrawn):
    membership, scores = [1, 1, 1, 0, 0, 0, 0], [3, 1, 5, 2, 4, 0, 3]
    frame = MembershipRocDisplay.from_predictions(membership, scores).frame()
    assert frame["fpr"].tolist() == [0, 0.25, 0.5, 0.75, 1]
    for row in frame.itertuples():
        point = operating_point(membership, scores, row.fpr, on_unresolvable="ignore")
        assert (row.tpr_low, row.tpr_high) == pytest.approx(
            (point.tpr_low, point.tpr_high), abs=0.01
        )


def test_band_of_people_is_wider_than_that_of_rows(evaluation, undrawn):
    _, strong, _ = evaluation
    people = np.arange(800) // 10
    membership = people < 20
    scores = np.random.default_rng(0).normal(size=80)[people] + 0.1 * strong[:800]
    bands = []
    for groups in (None, people):
        frame = MembershipRocDisplay.from_predictions(membership, scores, groups=groups).frame()
        bands.append(frame["tpr_high"] - frame["tpr_low"])
    middle = slice(100, -100)
    assert (bands[1][middle] > 1.5 * bands[0][middle]).all()


def test_rate_that_people_do_not_resolve_is_not_told():
    people = np.arange(2000) // 10
    membership, rng = people >= 100, np.random.default_rng(0)
    scores = rng.normal(size=200)[people] + 0.01 * rng.normal(size=2000)
    names = {False: "records", True: "people"}
    for of_people, groups in ((False, None), (True, people)):
        display = MembershipRocDisplay.from_predictions(
            membership,
            scores,
            groups=groups,
            max_fpr=0.03,
            confidence_level=None,
            name=names[of_people],
        )
        (label,) = [line.get_label() for line in display.lines_.values()]
        assert ("not resolvable" in label) == of_people
        begin = display.lines_[names[of_people]].get_xdata()[0]
        at_ends = [
            operating_point(
                membership, scores, rate, groups=groups, on_unresolvable="ignore"
            ).resolvable
            for rate in (begin, 0.95 * begin)
        ]
        assert at_ends == [True, False]


def test_people_are_those_of_the_records(fitted, undrawn):
    attacks, X, membership = fitted
    X, membership = X[:300], membership[:300]
    people = np.arange(len(X)) // 4
    records = Records(X, group_by=people)

    class OfRecords(LogisticRegression):
        def decision_function(self, records):
            return attacks["linear"].decision_function(records.X)

    shown = MembershipRocDisplay.from_estimator(OfRecords(), records, membership).frame()
    scores = attacks["linear"].decision_function(X)
    expected = MembershipRocDisplay.from_predictions(membership, scores, groups=people).frame()
    np.testing.assert_array_equal(shown["tpr_high"], expected["tpr_high"])


def test_one_figure_holds_several_attacks(evaluation):
    membership, strong, weak = evaluation
    scores = {"LiRA": strong, "loss": weak}
    display = MembershipRocDisplay.from_predictions(membership, scores, max_fpr=0.02)
    assert list(display.lines_) == list(display.bands_) == ["LiRA", "loss"]
    assert len({line.get_color() for line in display.lines_.values()}) == 2
    for (name, score), text in zip(scores.items(), legend_texts(display), strict=False):
        tpr = tpr_at_fpr_score(membership, score, max_fpr=0.02)
        assert text.startswith(f"{name}: AUC 0.")
        assert text.endswith(f"TPR {tpr:.3g} at FPR ≤ 0.02")
    frame = display.frame()
    assert set(frame["name"]) == {"LiRA", "loss"} and frame.index.tolist() == [*range(len(frame))]


def test_estimators_plot_what_they_answer(fitted):
    attacks, X, membership = fitted
    bare = {"confidence_level": None}
    display = MembershipRocDisplay.from_estimator(attacks, X, membership, **bare)
    scores = {
        "linear": attacks["linear"].decision_function(X),
        "bayes": attacks["bayes"].predict_proba(X)[:, 1],
    }
    for name, score in scores.items():
        for got, expected in zip(
            display.curves[name], membership_roc_curve(membership, score), strict=True
        ):
            np.testing.assert_array_equal(got, expected)
    single = MembershipRocDisplay.from_estimator(attacks["bayes"], X, membership, **bare)
    assert list(single.lines_) == ["GaussianNB"]


@pytest.mark.parametrize("display", [MembershipRocDisplay, ScoreDistributionDisplay])
def test_classifiers_of_sparse_rows_have_the_tables_of_dense_ones(fitted, undrawn, display):
    attacks, X, membership = fitted
    shown, expected = (
        display.from_estimator(attacks["linear"], rows, membership).frame()
        for rows in (sparse.csr_matrix(X), X)
    )
    pd.testing.assert_frame_equal(shown, expected)


class JudgesSome(LogisticRegression):
    """It judges records whose first feature is positive."""

    def can_judge(self, X):
        return X[:, 0] > 0


def test_people_of_records_that_an_attack_cannot_judge_are_left_out(evaluation, undrawn):
    membership, strong, weak = (one[::8] for one in evaluation)
    people, judged = np.arange(len(strong)) // 3, np.arange(len(strong)) % 4 > 0
    scores, every = {"all": strong, "some": weak}, np.ones(len(strong), dtype=bool)
    draw = MembershipRocDisplay.from_predictions
    shown = draw(membership, scores, groups=people, judged={"all": every, "some": judged})
    expected = draw(membership[judged], weak[judged], groups=people[judged], name="some")
    assert shown.counts["some"] == expected.counts["some"]
    frame = shown.frame()
    found = frame[frame["name"] == "some"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected.frame())


@pytest.mark.parametrize("display", [MembershipRocDisplay, ScoreDistributionDisplay])
def test_records_that_an_attack_cannot_judge_are_left_out(fitted, display):
    _, X, membership = fitted
    attack, judged = JudgesSome().fit(X, membership), X[:, 0] > 0
    assert 0 < membership[~judged].mean() < 1
    shown = display.from_estimator(attack, X, membership)
    expected = display.from_estimator(attack, X[judged], membership[judged])
    assert legend_texts(shown) == legend_texts(expected)
    pd.testing.assert_frame_equal(shown.frame(), expected.frame())


def test_rates_at_a_probability_of_one_half_are_those_of_predict(fitted):
    _, X, membership = fitted
    attack = KNeighborsClassifier(2).fit(X[::2], membership[::2])
    X, membership = X[1::2], membership[1::2]
    assert (attack.predict_proba(X)[membership == 1, 1] == 0.5).any()
    display = ScoreDistributionDisplay.from_estimator(attack, X, membership)
    tpr, fpr = (attack.predict(X)[membership == bit].mean() for bit in (1, 0))
    members, others, threshold = legend_texts(display)
    assert members.endswith(f"TPR {tpr:.3g}") and others.endswith(f"FPR {fpr:.3g}")
    assert threshold == "threshold 0.5"


@pytest.mark.parametrize("display", [MembershipRocDisplay, ScoreDistributionDisplay])
@parametrize_refusals(
    (
        lambda display: display.from_estimator(object(), [[0], [1]], [0, 1]),
        "object has neither decision_function nor predict_proba",
        TypeError,
    ),
    (
        lambda display: display.from_predictions([1, 0], [np.nan, 0.0]),
        "y_score must be finite; got nan",
    ),
    (lambda display: display.from_predictions([1, 1], [1.0, 0.0]), "got members only"),
)
def test_wrong_scores_are_refused(call, words, error, display):
    check_refusal(call, words, error, display)


@parametrize_refusals(
    (lambda draw: draw([0.6, 0.4], max_fpr=1.5), "max_fpr must be a fraction"),
    (
        lambda draw: draw([0.6, 0.4], confidence_level=95),
        "confidence_level must be a fraction",
    ),
    (lambda draw: draw({}), "at least one; got an empty one"),
    (
        lambda draw: draw({"a": [0.6, 0.4]}, name="LiRA"),
        "keys of a mapping are names; got 'LiRA'",
    ),
)
def test_wrong_settings_are_refused(call, words, error):
    check_refusal(call, words, error, partial(MembershipRocDisplay.from_predictions, [1, 0]))


@pytest.mark.parametrize("settings", [{"max_fpr": 1.5}, {"confidence_level": 95}], ids=str)
def test_axes_are_left_alone_by_settings_that_are_refused(settings):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    with pytest.raises(ValueError, match="must be a fraction"):
        MembershipRocDisplay.from_predictions([1, 0], [0.6, 0.4], ax=ax, **settings)
    assert not ax.lines and ax.get_xscale() == "linear"


def test_unresolvable_rates_are_not_drawn_but_named(evaluation):
    membership, strong, _ = evaluation
    display = MembershipRocDisplay.from_predictions(membership, strong, max_fpr=0.001)
    drawn = [line for line in display.ax_.lines if "chance" not in line.get_label()]
    assert drawn == [display.lines_[None]] and not display.ax_.patches
    assert legend_texts(display)[0].endswith("TPR at FPR ≤ 0.001 not resolvable")
    few = MembershipRocDisplay.from_predictions(np.arange(20) % 2, np.arange(20))
    assert len(few.lines_[None].get_xdata()) == 1
    assert "No rate can be resolved" in few.ax_.texts[0].get_text()


@pytest.mark.parametrize(
    "n_members, n_nonmembers, ticks, others",
    [
        (400, 1000, [0.01, 0.1, 1], [0.01, 0.1, 1]),
        (10, 3000, [1 / 300, 0.01, 0.1, 1], [0.05, 1]),
        (3, 20, [0.1, 1], [0.1, 1]),
    ],
)
def test_axes_begin_at_what_records_resolve_or_at_a_tenth(n_members, n_nonmembers, ticks, others):
    curves = {None: (np.array([0, 0.004, 1]), np.array([0, 0.5, 1]), np.array([np.inf, 1, 0]))}
    display = MembershipRocDisplay(curves=curves, n_members=n_members, n_nonmembers=n_nonmembers)
    ax = display.plot(confidence_level=None).ax_
    assert ax.get_xticks() == pytest.approx(ticks) and ax.get_yticks() == pytest.approx(others)
    assert (ax.get_xlim(), ax.get_ylim()) == ((ax.get_xticks()[0], 1), (ax.get_yticks()[0], 1))
    assert ax.xaxis.get_minor_formatter()(0.2) == ax.yaxis.get_minor_formatter()(0.2) == ""
    # The point of the legend is where the curve begins if its own rate is lower.
    points = [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "o"]
    assert points == ([[[max(0.004, 10 / n_nonmembers), 0.5]]] if n_nonmembers > 20 else [])


def test_curves_on_the_same_axes_differ_and_share_what_they_mean(evaluation):
    import matplotlib.pyplot as plt

    membership, strong, weak = (one[::8] for one in evaluation)
    _, ax = plt.subplots()
    for k in range(8):
        settings = {"name": f"attack {k}", "confidence_level": 0.95 if k in (0, 5) else None}
        MembershipRocDisplay.from_predictions(membership, strong + k * weak, ax=ax, **settings)
    curves = [line for line in ax.lines if line.get_label().startswith("attack")]
    dashes = [str(line._unscaled_dash_pattern) for line in curves]  # no public name holds them all
    colors = [line.get_color() for line in curves]
    assert len(set(colors[:6])) == len(set(dashes[:6])) == 6
    assert len(set(zip(colors, dashes, strict=True))) == 8
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text[:8] for text in texts] == [f"attack {k}" for k in range(8)] + [
        "pointwis",
        "chance: ",
    ]
    assert sum(line.get_label().startswith("chance") for line in ax.lines) == 1


def test_records_of_other_numbers_take_the_counts_out_of_the_title(evaluation):
    import matplotlib.pyplot as plt

    membership, strong, _ = evaluation
    _, ax = plt.subplots()
    settings = {"ax": ax, "confidence_level": None}
    MembershipRocDisplay.from_predictions(membership, strong, **settings)
    MembershipRocDisplay.from_predictions(membership, -strong, **settings)
    assert ax.get_title() == "ROC of membership inference\n400 members, 1,200 non-members"
    few = np.r_[np.flatnonzero(membership), np.flatnonzero(~membership.astype(bool))[:200]]
    MembershipRocDisplay.from_predictions(membership[few], strong[few], **settings)
    assert ax.get_title() == "ROC of membership inference"
    assert ax.get_xlim() == ax.get_ylim() == (10 / 1200, 1)


def test_a_color_is_the_one_that_the_lines_of_others_use_least():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.plot([0, 1], color="#1f77b4")  # the blue of matplotlib is near the first color
    ax.plot([0, 1], color="0.5")  # gray is no curve's
    assert drawing.next_style(ax) == {"color": drawing.COLORS[1], "linestyle": "--"}


# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
COLOR_VISIONS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear_rgb(color):
    from matplotlib.colors import to_rgb

    values = np.array(to_rgb(color))
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(linear):
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ np.clip(linear, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(*colors):
    low, high = sorted(linear_rgb(color) @ [0.2126, 0.7152, 0.0722] for color in colors)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", ["#ffffff", "#0f1318"])
def test_colors_stand_out_from_light_and_dark_paper(paper):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.set_facecolor(paper)
    assert all(contrast(color, paper) >= 3 for color in drawing.COLORS)
    assert contrast(drawing.gray(ax), paper) >= 4.5
    assert contrast(drawing.ink(ax), paper) >= 7


@pytest.mark.parametrize("vision", COLOR_VISIONS)
def test_colors_differ_with_any_color_vision(vision):
    seen = [lab(COLOR_VISIONS[vision] @ linear_rgb(color)) for color in drawing.COLORS]
    # Differences of 2.3 are just noticeable.
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


@pytest.mark.parametrize(
    "layout", [None, pytest.param("constrained", marks=pytest.mark.slow), "tight"]
)
@pytest.mark.parametrize(
    "size", [pytest.param((6.4, 4.8), marks=pytest.mark.slow), (3.3, 3.3)], ids=["wide", "small"]
)
@pytest.mark.filterwarnings("error")
def test_a_legend_covers_no_axes_and_a_title_fits(evaluation, layout, size):
    import matplotlib.pyplot as plt

    membership, strong, weak = (one[::2] for one in evaluation)
    figure, ax = plt.subplots(figsize=size, layout=layout)
    scores = {"LiRA": strong, "reference ratio": weak}
    MembershipRocDisplay.from_predictions(membership, scores, ax=ax, max_fpr=0.02)
    figure.canvas.draw()
    legend, title = ax.get_legend().get_window_extent(), ax.title.get_window_extent()
    assert legend.y1 < ax.xaxis.label.get_window_extent().y0
    for box in (legend, title):
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1
    assert ax.bbox.height > 0.3 * figure.bbox.height


def test_a_legend_stays_on_axes_that_nothing_moves(evaluation):
    import matplotlib.pyplot as plt

    membership, strong, _ = (one[::4] for one in evaluation)
    figure = plt.figure()
    ax = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    MembershipRocDisplay.from_predictions(membership, strong, ax=ax)
    assert ax.get_position().bounds == pytest.approx((0.1, 0.1, 0.8, 0.8))
    legend = ax.get_legend().get_window_extent()
    assert ax.bbox.x0 <= legend.x0 and legend.y1 <= ax.bbox.y1


def test_band_and_chance_line_can_be_left_out(evaluation):
    membership, strong, _ = (one[::8] for one in evaluation)
    full = MembershipRocDisplay.from_predictions(membership, strong)
    bare = MembershipRocDisplay.from_predictions(
        membership, strong, confidence_level=None, plot_chance_level=False
    )
    assert bare.bands_ == {}
    assert len(full.bands_) == 1
    dropped = set(legend_texts(full)) - set(legend_texts(bare))
    assert dropped == {"chance: TPR = FPR", "pointwise 95% interval of TPR"}


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param([0.0] * 6, id="tied", marks=pytest.mark.slow),
        pytest.param([1, 1, 1, 0, 0, 0], id="right", marks=pytest.mark.slow),
        pytest.param([0, 0, 0, 1, 1, 1], id="wrong"),
    ],
)
def test_extreme_scores_are_drawn(scores):
    membership = [1, 1, 1, 0, 0, 0]
    for display_class in (MembershipRocDisplay, ScoreDistributionDisplay):
        display = display_class.from_predictions(membership, scores)
        display.figure_.canvas.draw()
        assert np.isfinite(display.frame().select_dtypes("number").iloc[:, 0]).all()


def test_smallest_evaluation_is_drawn():
    for display_class in (MembershipRocDisplay, ScoreDistributionDisplay):
        display_class.from_predictions([1, 0], [0.5, 0.5]).figure_.canvas.draw()


@pytest.mark.parametrize("display_class", [MembershipRocDisplay, ScoreDistributionDisplay])
def test_displays_draw_on_given_axes_and_again(evaluation, display_class):
    import matplotlib.pyplot as plt

    membership, strong, _ = evaluation
    figure, ax = plt.subplots()
    display = display_class.from_predictions(membership, strong, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.plot() is display
    assert display.ax_ is not ax
    assert tuple(display.figure_.get_size_inches()) == (6.8, 5)  # room for labels and a legend


def test_constructors_only_assign():
    curves = {"a": object()}
    assert MembershipRocDisplay(curves=curves, n_members=1, n_nonmembers=2).curves is curves
    scores = object()
    display = ScoreDistributionDisplay(
        member_scores=scores, nonmember_scores=scores, bin_edges=scores
    )
    assert display.member_scores is display.nonmember_scores is display.bin_edges is scores


def test_histograms_share_bins_and_count_everybody(evaluation):
    membership, strong, _ = evaluation
    display = ScoreDistributionDisplay.from_predictions(membership, strong, bins=20)
    frame = display.frame()
    assert frame.groupby("group")["count"].sum().to_dict() == {"member": 400, "non-member": 1200}
    np.testing.assert_allclose(frame.groupby("group")["fraction"].sum(), 1.0)
    for group, bit in (("member", 1), ("non-member", 0)):
        part = frame[frame["group"] == group]
        values, edges, _ = display.patches_[group].get_data()
        np.testing.assert_array_equal(values, part["fraction"])
        np.testing.assert_array_equal(edges[:-1], part["bin_left"])
        expected, _ = np.histogram(strong[membership == bit], edges)
        np.testing.assert_array_equal(part["count"], expected)


@pytest.mark.parametrize("name", [None, "LiRA"])
def test_histograms_by_hand(name):
    display = ScoreDistributionDisplay.from_predictions(
        [1, 1, 0, 1], [2.0, 1.0, 0.0, 0.5], bins=2, threshold=1.0, name=name
    )
    frame, ax = display.frame(), display.ax_
    assert frame.columns.tolist() == ["group", "bin_left", "bin_right", "count", "fraction"]
    assert frame.index.tolist() == [0, 1, 2, 3] and frame.to_numpy().tolist() == [
        ["member", 0.0, 1.0, 1, 1 / 3],
        ["member", 1.0, 2.0, 2, 2 / 3],
        ["non-member", 0.0, 1.0, 1, 1.0],
        ["non-member", 1.0, 2.0, 0, 0.0],
    ]
    texts = ["members (n = 3), TPR 0.667", "non-members (n = 1), FPR 0", "threshold 1"]
    assert legend_texts(display) == texts
    assert ax.get_title() == ("" if name is None else "LiRA\n") + "Member and non-member scores"
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "Score (higher = member)",
        "Fraction of the group",
    )
    assert ax.get_yscale() == "linear" and not ax.spines["top"].get_visible()
    # Each histogram has an outline, of another color and other dashes than the other one's.
    outlines = [patch for patch in ax.patches if not patch.get_fill()]
    assert len(outlines) == 2 and len(ax.patches) == 4
    assert len({patch.get_edgecolor() for patch in outlines}) == 2
    assert [patch.get_linestyle() for patch in outlines] == ["-", "--"]
    with pytest.raises(ValueError, match="Scores from 0 to 1 cannot be divided into bins='many':"):
        ScoreDistributionDisplay.from_predictions([1, 0], [1.0, 0.0], bins="many")


def test_threshold_is_drawn_with_the_rates_it_realizes(evaluation):
    membership, strong, _ = evaluation
    display = ScoreDistributionDisplay.from_predictions(membership, strong, threshold=1.0)
    assert list(display.threshold_line_.get_xdata()) == [1.0, 1.0]
    tpr, fpr = (np.mean(strong[membership == bit] >= 1.0) for bit in (1, 0))
    assert legend_texts(display) == [
        f"members (n = 400), TPR {tpr:.3g}",
        f"non-members (n = 1,200), FPR {fpr:.3g}",
        "threshold 1",
    ]
    assert ScoreDistributionDisplay.from_predictions(membership, strong).threshold_line_ is None
    with pytest.raises(ValueError, match="threshold must be a finite number or None; got nan"):
        ScoreDistributionDisplay.from_predictions(membership, strong, threshold=np.nan)


@pytest.mark.parametrize("name, natural", [("linear", 0.0), ("bayes", np.nextafter(0.5, 1))])
def test_histogram_of_an_attack_shows_its_own_threshold(fitted, name, natural):
    attacks, X, membership = fitted
    display = ScoreDistributionDisplay.from_estimator(attacks[name], X, membership, log=True)
    assert display.threshold == natural
    assert display.name == type(attacks[name]).__name__
    assert display.ax_.get_yscale() == "log"
    guess = attacks[name].predict(X)
    assert np.mean(display.member_scores >= natural) == pytest.approx(guess[membership == 1].mean())


def test_histogram_of_an_attack_shows_another_threshold_or_none(fitted):
    attacks, X, membership = fitted
    draw = partial(ScoreDistributionDisplay.from_estimator, attacks["bayes"], X, membership)
    assert draw(threshold=None).threshold_line_ is None
    assert draw(threshold=0.25).threshold == 0.25
    with pytest.raises(ValueError, match="threshold must be a finite number or None; got 'best'"):
        draw(threshold="best")


@pytest.mark.parametrize("display_class", [MembershipRocDisplay, ScoreDistributionDisplay])
def test_missing_matplotlib_names_the_extra(monkeypatch, display_class):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(ImportError, match=r'pip install "skmia\[plot\]"'):
        display_class.from_predictions([1, 0], [1.0, 0.0])


def test_keywords_of_scikit_learns_displays_work(evaluation):
    membership, strong, weak = (one[::4] for one in evaluation)
    words = np.where(membership == 1, "in", "out")
    display = MembershipRocDisplay.from_predictions(
        words,
        {"strong": strong, "weak": weak},
        pos_label="in",
        curve_kwargs=[{"color": "red"}, {"color": "blue", "linewidth": 4}],
        plot_chance_level=True,
        chance_level_kw={"color": "green", "label": "luck"},
        despine=False,
    )
    assert [line.get_color() for line in display.lines_.values()] == ["red", "blue"]
    assert display.lines_["weak"].get_linewidth() == 4
    assert display.ax_.spines["top"].get_visible()
    luck = next(line for line in display.ax_.lines if line.get_label() == "luck")
    assert luck.get_color() == "green"
    usual = MembershipRocDisplay.from_predictions(
        membership, {"strong": strong, "weak": weak}, confidence_level=None
    )
    np.testing.assert_array_equal(
        usual.lines_["strong"].get_data(), display.lines_["strong"].get_data()
    )
    assert not usual.ax_.spines["top"].get_visible()


def test_curves_without_a_line_of_chance(evaluation):
    membership, strong, _ = evaluation
    display = MembershipRocDisplay.from_predictions(
        membership,
        strong,
        curve_kwargs={"color": "red"},
        confidence_level=None,
        plot_chance_level=False,
    )
    assert len(display.ax_.lines) == 2  # the curve and its point
    with pytest.raises(ValueError, match="one for each of 1 curves; got 2"):
        display.plot(curve_kwargs=[{}, {}])
    with pytest.raises(ValueError, match="pos_label must be a value of y_true.*'yes'"):
        MembershipRocDisplay.from_predictions(membership, strong, pos_label="yes")


def test_scores_take_the_label_of_members(evaluation):
    membership, strong, _ = evaluation
    display = ScoreDistributionDisplay.from_predictions(
        2 - membership, strong, pos_label=1, curve_kwargs={"alpha": 0.9}, despine=False
    )
    assert len(display.member_scores) == membership.sum()
    assert display.patches_["member"].get_alpha() == 0.9
    assert display.ax_.spines["right"].get_visible()


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), KNeighborsClassifier(4)])
@pytest.mark.parametrize("names", [("a member", "none"), ("no", "yes")])
def test_scores_of_a_classifier_are_those_of_the_label_of_members(evaluation, model, names):
    membership, _, weak = (one[::8] for one in evaluation)
    member, other = names if names[0] == "a member" else names[::-1]
    words, X = np.where(membership == 1, member, other), weak[:, None]
    model.fit(X, words)
    curve = MembershipRocDisplay.from_estimator(
        model, X, words, pos_label=member, confidence_level=None
    )
    fpr, tpr, _ = curve.curves[type(model).__name__]
    assert auc(fpr, tpr) > 0.6
    shown = ScoreDistributionDisplay.from_estimator(model, X, words, pos_label=member)
    guesses = model.predict(X) == member
    for scores, side in ((shown.member_scores, 1), (shown.nonmember_scores, 0)):
        assert np.mean(scores >= shown.threshold) == guesses[membership == side].mean()
