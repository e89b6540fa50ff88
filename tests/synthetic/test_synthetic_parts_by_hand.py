"""Parts of the attacks on tables, with answers by hand, from all pairs or from other formulas."""

import inspect
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy.stats import binom, norm, poisson
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skmia import Records, synthetic
from skmia.base import BaseAttack
from skmia.synthetic import (
    CopyTest,
    InferenceRisk,
    LinkabilityRisk,
    PrivacyLoss,
    SinglingOutRisk,
    _cells,
    _copy_test,
    _generator_attack,
    _risks,
    _singling_out,
    excess_risk,
)
from skmia.synthetic._table import _audit, _cost, _measure

# Numbers with a range of 8 in the last table, words of which one is not there, and what is missing.
first = pd.DataFrame({"n": [1.0, nan, 3.0, 9.0], "w": ["a", "b", None, "z"]})
second = pd.DataFrame({"n": [2.0, 5.0], "w": ["b", "b"]})
last = pd.DataFrame({"n": [0.0, 8.0, nan, 3.0, 3.0], "w": ["a", "b", None, "a", "c"]})
cells = _cells.TableCells([first, second, last], ["first", "second", "last"])
units = NS(many="rows", one="row")


def code_missing(n):
    """Code what is missing, and what is unknown, beside so many categories."""
    given = [pd.Series([None, -5], dtype=object), pd.Series(range(n))]
    return _cells._code_categories(given)[0][:2]


def gap(column, own, other):
    if column == 0:
        if np.isnan(own) or np.isnan(other):
            return float(np.isnan(own) != np.isnan(other))
        return abs(own - other) / 8
    return float(own != other)


def measure_all(columns=(0, 1)):
    """Return the distances of rows of the first table from those of the last one, pair by pair."""
    rows, others = cells.tables[0], cells.tables[-1]
    return array(
        [
            [sum(gap(c, rows[c][i], others[c][j]) for c in columns) for j in range(5)]
            for i in range(4)
        ]
    )


def list_near(limit):
    near = _cells.find_rows_within(
        cells, [0, 1], cells.tables[0], cells.tables[-1], np.full(4, limit)
    )
    return sorted(zip(near.row.tolist(), near.place.tolist()))


def list_pairs(distances):
    return sorted(zip(*(part.tolist() for part in np.nonzero(distances))))


def list_nearest(k):
    near, reach = _cells.find_nearest_rows(cells, [0, 1], cells.tables[0], cells.tables[-1], k)
    return sorted(zip(near.row.tolist(), near.place.tolist())), reach


def wanted_nearest(k):
    total = measure_all()
    reach = np.sort(total, axis=1)[:, k - 1]
    return list_pairs(total <= reach[:, None] + 1e-9), reach


def list_nearest_without(left_out):
    found = _cells.iter_nearest_without(cells, [0, 1], cells.tables[0], cells.tables[-1], left_out)
    return [sorted(zip(rows.tolist(), places.tolist())) for rows, places in found]


def wanted_nearest_without(left_out):
    found = []
    for column in left_out:
        total = measure_all([c for c in (0, 1) if c != column])
        found.append(list_pairs(total <= total.min(axis=1, keepdims=True) + 1e-9))
    return found


def holds(operation, value=3.0):
    condition = _singling_out.CellCondition(0, operation, value)
    return condition.holds(array([1.0, nan, 3.0, 9.0]))


def show(column, operation, value):
    return _singling_out.CellCondition(column, operation, value).show(cells)


def find_rows(*conditions):
    predicate = [_singling_out.CellCondition(*one) for one in conditions]
    return _singling_out.find_rows_of_predicate(predicate, cells.tables[-1])


class Drawer(BaseEstimator):
    """A generator whose rows are known."""

    def __init__(self, made):
        self.made = made

    def fit(self, X=None):
        self.fitted_ = True
        return self

    def sample(self, n_samples):
        return self.made


def draw(made, names=("a", "b"), columns=("a",)):
    generator = Drawer(made).fit()
    tables = {"synthetic": range(3), "real": pd.DataFrame(columns=list(columns))}
    return _audit._draw_synthetic_table(generator, tables, list(names), None)


def spread(monkeypatch):
    """Return the spread of five tables whose quality is 1, 2, 3, 4 and 10."""
    values = iter([4.0, 1.0, 10.0, 2.0, 3.0])
    monkeypatch.setattr(_audit, "fit_columns", lambda tables: (tables, None))
    monkeypatch.setattr(_audit, "_leave_out", lambda *_: [])
    monkeypatch.setattr(_audit, "unify", lambda tables: tables)
    monkeypatch.setattr(_audit, "_draw_synthetic_table", lambda *_: None)
    monkeypatch.setattr(_audit, "_measure_table", lambda *_: {"quality": next(values)})
    columns = _audit._ComparedColumns(*[None] * 6)
    return _audit.measure_spread(None, {}, columns, {"random_state": 0}, None, None)


def count_by_search(chance, chance_test, share, odds, alpha):
    """Return the smallest number of copies by going through all of them."""
    matches = np.arange(int(poisson.ppf(1 - 1e-6, chance_test)) + 1)
    needed = []
    for other in matches:
        pvalues = binom.sf(np.arange(200) - 1, np.arange(200) + other, odds)
        needed.append(np.flatnonzero(pvalues <= alpha)[0])
    for number in range(1, 1000):
        found = poisson.sf(array(needed) - 1, chance + share * number)
        if poisson.pmf(matches, chance_test) @ found >= 0.8:
            return number
    return None


def choose_cut(expected, copied):
    return _copy_test.choose_cut(array(expected), array(copied, dtype=float))


phases = pd.DataFrame({"seconds": [2.0, 3.0]}, index=["copies", "a longer name"])
cost = _cost.TableCost(phases, 3e6, ["No holdout."])

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _cells: [
        # Codes by the place in the last table; what is missing comes behind them, in any number.
        (
            lambda: _cells._code_categories([pd.Series(["b", None, "x"]), pd.Series(["a", "b"])]),
            ([1, 2, -1, 0, 1], ["a", "b", None]),
        ),
        (
            lambda: [code_missing(n) for n in (127, 128, 255, 256)],
            [[n, -1] for n in (127, 128, 255, 256)],
        ),
        (
            lambda: (cells.columns, cells.is_number, cells.sizes),
            (["n", "w"], [True, False], [4, 2, 5]),
        ),
        (lambda: cells.kinds, [8.0, ["a", "b", "c", None]]),
        (lambda: cells.tables[0][1], [0, 1, 3, -1]),
        (lambda: cells.tables[1][1], [1, 1]),
        (lambda: [len(one) for one in cells.join_first(2)], [6, 6]),
        (
            lambda: cells.measure_gap(0, array([1.0, nan, nan]), array([3.0, 3.0, nan])),
            [0.25, 1.0, 0.0],
        ),
        (lambda: cells.measure_gap(0, array([1.0]), array([5.0])), [0.5]),
        (lambda: cells.measure_gap(1, array([1, 2]), array([1, 1])), [False, True]),
        (lambda: cells.sum_distances([0, 1], cells.tables[0], cells.tables[-1]), measure_all()),
        (lambda: cells.sum_distances([0], cells.tables[0], cells.tables[-1]), measure_all([0])),
        (lambda: cells.sum_distances([1], cells.tables[0], cells.tables[-1]), measure_all([1])),
        *(
            (lambda limit=limit: list_near(limit), list_pairs(measure_all() <= limit))
            for limit in (0.0, 0.125, 0.25, 0.99, 1.0, 1.25, 2.0)
        ),
        *((lambda k=k: list_nearest(k), wanted_nearest(k)) for k in (1, 2, 4)),
        (lambda: list_nearest_without([0, 1, None]), wanted_nearest_without([0, 1, None])),
        (lambda: list_nearest_without([None]), wanted_nearest_without([None])),
        (lambda: _cells._read_number_cells([pd.Series([1.0]), pd.Series([2.0, 5.0])])[1], 3.0),
        (lambda: _cells._read_number_cells([pd.Series([1.0]), pd.Series([2.0, 2.0])])[1], 1.0),
        (lambda: _cells._read_number_cells([pd.Series([1.0]), pd.Series([nan])])[1], 1.0),
        (
            lambda: tell_refusal(
                lambda: _cells._align_tables([first[["n", "n"]], last], ["x", "y"])
            ),
            "x lacks the column 'w' of y.",
        ),
        (
            lambda: tell_refusal(lambda: _cells._align_tables([first[:0], last], ["x", "y"])),
            "x needs at least 1 row and 1 column; got shape (0, 2).",
        ),
        (lambda: list(_cells._align_tables([first[["w", "n"]], last], "xy")[0]), ["n", "w"]),
    ],
    _copy_test: [
        *(
            (
                lambda given=given: _copy_test.count_smallest_number(*given),
                count_by_search(*given),
            )
            for given in (
                (2.0, 1.0, 0.5, 0.5, 0.05),
                (0.5, 0.5, 1.0, 0.75, 0.01),
                (9.0, 4.0, 0.25, 0.6, 0.025),
            )
        ),
        (lambda: _copy_test.count_smallest_number(2.0, 1.0, 0, 0.5, 0.05), inf),
        # Of so few rows as the test needs, all would have to be copied.
        (
            lambda: _copy_test.compute_smallest_share(
                {"n_train": 3, "n_test": 3, "test": 1}, 1.0, 0.001
            ),
            inf,
        ),
        (
            lambda: (
                _copy_test.compute_smallest_share(
                    {"n_train": 60, "n_test": 20, "test": 2}, 0.5, 0.05
                )
                * 60
            ),
            count_by_search(6.0, 2, 0.5, 0.75, 0.05),
        ),
        (lambda: choose_cut([], []), -inf),
        # All eight rows and no copy: the more rows, the better.
        (lambda: choose_cut([1, 2, 3, 4, 5, 6, 7, 8.0], [0] * 8), 8.0),
        # Copies by chance are among the most frequent rows, which are left out.
        (lambda: choose_cut([8, 7, 6, 5, 4, 3, 2, 1.0], [900, 900, 900, 900, 0, 0, 0, 0]), 4.0),
        (lambda: choose_cut([1, 1, 1, 1.0], [1, 0, 1, 0]), 1.0),
    ],
    _singling_out: [
        (lambda: holds("is missing"), [False, True, False, False]),
        (lambda: holds("<="), [True, False, True, False]),
        (lambda: holds(">="), [False, False, True, True]),
        (lambda: holds("=="), [False, False, True, False]),
        (lambda: show(0, ">=", 3.0), "n >= 3.0"),
        (lambda: show(0, "is missing", 3.0), "n is missing"),
        (lambda: show(1, "==", 2.0), "w == c"),
        (lambda: show(1, "==", 3), "w is missing"),
        (lambda: find_rows((0, ">=", 3.0), (1, "==", 0)), [3]),
        (lambda: find_rows((0, ">=", 3.0)), [1, 3, 4]),
        (lambda: find_rows((1, "==", 0), (0, "<=", 0.0)), [0]),
        (lambda: _singling_out.compute_middles(cells), [3.0, nan]),
        (lambda: _singling_out._is_one(array([4, 4])), True),
        (lambda: _singling_out._is_one(array([4, 5])), False),
        (lambda: _singling_out._is_one(array([])), False),
    ],
    _audit: [
        (
            lambda: draw(pd.DataFrame({"b": [1, 2], "a": [3, 4]}, index=[5, 6])),
            {"a": [3, 4]},
        ),
        # Names become texts, and rows are numbered anew.
        (
            lambda: draw(
                pd.DataFrame({1: [1, 2], 0: [3, 4]}, index=[5, 6]), ("0", "1"), ("0",)
            ).to_dict(),
            {"0": {0: 3, 1: 4}},
        ),
        (lambda: draw(array([[1, 2], [3, 4]])), {"a": [1, 3]}),
        (
            lambda: tell_refusal(lambda: draw(array([[1], [3]]))),
            "generator must return rows with the 2 columns of the tables; got 1 columns.",
        ),
        (
            lambda: tell_refusal(lambda: draw(pd.DataFrame({"a": [1], "c": [2]}))),
            "generator must return rows with the 2 columns of the tables; got 2 columns.",
        ),
        (lambda: _measure.check_shift(None, units)["text"], "There are too few rows."),
        (lambda: _measure.check_shift((0.6, 0.5, 0.7), units)["status"], "passed"),
        (lambda: _measure.check_shift((0.6, 0.51, 0.7), units)["status"], "warning"),
        (lambda: _measure.check_shift((0.6, 0.51, 0.7), units)["interval"], [0.6, 0.51, 0.7]),
    ],
    _cost: [
        (lambda: cost.seconds, 5.0),
        (lambda: repr(cost), "TableCost(about 5.0 s, 3 MB)"),
        (
            lambda: cost.summary().splitlines(),
            [
                "phase               time",
                "copies             2.0 s",
                "a longer name      3.0 s",
                "",
                "In all about 5.0 s on one core, 3 MB beside the tables.",
                "No holdout.",
            ],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_the_spread_of_further_tables_has_their_ends_and_their_mean(monkeypatch):
    wanted = {"mean": [4.0], "sd": [12.5**0.5], "smallest": [1.0], "largest": [10.0]}
    found = spread(monkeypatch)
    assert list(found.index) == ["quality"]
    expect_answers([(lambda: found, wanted | {"n_tables": [5]})])


@pytest.mark.parametrize("statistic", ["density", "likelihood", "copies", "neighborhood"])
def test_scores_with_a_reference_are_their_formulas_of_all_pairs(statistic):
    rng = np.random.default_rng(0)
    made, known, points = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    points[0] = made[3]
    space = _generator_attack.RowSpace(made, known, "euclidean", 0.75, 3, 0)
    apart = {
        name: np.sqrt(((points[:, None] - rows) ** 2).sum(axis=2))
        for name, rows in {"made": made, "known": known}.items()
    }
    between = np.sqrt(((made[:, None] - known) ** 2).sum(axis=2))
    width = np.exp(space.log_kernel(array([1.0]))[0] - space.log_kernel(array([0.0]))[0])
    own = {name: width ** (one**2) for name, one in apart.items()}
    if statistic == "density":
        found = _generator_attack.DensityRatio(space)(points)
        wanted = np.log(own["made"].mean(axis=1) / own["known"].mean(axis=1))
    elif statistic == "likelihood":
        found = _generator_attack.LikelihoodRatio(space)(points)
        scale = np.exp(space.log_kernel(array([0.0]))[0])
        density = scale * (width ** (between**2)).sum(axis=1)
        nearest = np.argsort(apart["made"], axis=1)[:, :3]
        wanted = []
        for kernels, places in zip(scale * own["made"], nearest, strict=True):
            # Densities of five rows and the record, and of five rows.
            ratio = (density[places] + kernels[places]) / 6 / (density[places] / 5)
            wanted.append(np.log(ratio).sum())
    elif statistic == "copies":
        found = _generator_attack.RareCopies(space)(points)
        wanted = [apart["known"][0].min(), 0, 0, 0]
    else:
        found = _generator_attack.NeighborhoodShare(space)(points)
        radius = np.median(between.min(axis=0))
        wanted = [
            np.mean(a <= radius * (1 + 1e-9)) - np.mean(b <= radius * (1 + 1e-9))
            for a, b in zip(apart["made"], apart["known"], strict=True)
        ]
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def list_methods_after_fit():
    for name in synthetic.__all__:
        kind = getattr(synthetic, name)
        for method, function in inspect.getmembers(kind, inspect.isfunction):
            is_further = not method.startswith(("_", "fit", "set_", "needs"))
            if hasattr(kind, "fit") and is_further and not hasattr(BaseEstimator, method):
                yield kind, method, function


def find_required(function):
    taken = inspect.signature(function).parameters.values()
    return [
        one for one in taken if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]


def test_what_is_asked_after_fit_needs_fit():
    asked, rows = set(), np.zeros((4, 2))
    for kind, method, function in list_methods_after_fit():
        made = kind(*(Drawer(rows) for _ in find_required(kind.__init__)[1:]))
        given = Records(rows, np.zeros(4)) if issubclass(kind, BaseAttack) else rows
        with pytest.raises(NotFittedError):
            getattr(made, method)(*(given for _ in find_required(function)[1:]))
        asked.add((kind.__name__, method))
    assert {("CopyTest", "summarize_matches"), ("BootstrapGenerator", "sample")} <= asked
    assert len(asked) > 25


def draw_three(n=24):
    """Draw training, held-out and synthetic rows, of which a quarter are training rows."""
    rng = np.random.default_rng(0)
    train, test, made = (
        pd.DataFrame(
            {"a": rng.normal(size=n), "b": rng.normal(size=n), "w": rng.choice([*"xyz"], n)}
        )
        for _ in range(3)
    )
    made[: n // 4] = train[: n // 4].to_numpy()
    return train, test, made.astype({"a": float, "b": float})


def test_intervals_have_the_confidence_level_that_was_asked():
    level = 0.999
    tables, settings = draw_three(), {"confidence_level": level, "random_state": 0}
    for row in CopyTest(**settings).fit(*tables).result_.to_dict("records"):
        counts = [int(row[name]) for name in ("train", "n_train", "test", "n_test")]
        expected = excess_risk(*counts, confidence_level=level)
        assert (row["share"], row["low"], row["high"]) == pytest.approx(expected)
        smallest = _copy_test.compute_smallest_share(row, row["share_counted"], 1 - level)
        assert row["smallest_share"] == pytest.approx(smallest)
    settings["n_permutations"] = 0
    for risk in (SinglingOutRisk("univariate"), LinkabilityRisk(), InferenceRisk("w")):
        risk.set_params(**settings).fit(*tables)
        told = risk.summary()
        assert told.startswith("intervals at 99.9%\n")
        assert risk.set_params(confidence_level=0.5).summary() == told
        for row in risk.result_.to_dict("records"):
            counts = [
                part
                for side in ("attack", "control")
                for part in (row[side] * row[f"n_{side}s"], int(row[f"n_{side}s"]))
            ]
            expected = excess_risk(*counts, confidence_level=level)
            assert (row["risk"], row["low"], row["high"]) == pytest.approx(expected)
            for side, (k, n) in (("attack", counts[:2]), ("control", counts[2:])):
                expected = _risks.wilson(k, n, level)
                assert (row[f"{side}_low"], row[f"{side}_high"]) == pytest.approx(expected)
    # Of a normal law, these are in one ratio to the standard error, which no level changes.
    numbers = [table[["a", "b"]] for table in tables]
    loss = PrivacyLoss(**settings).fit(*numbers)
    usual = PrivacyLoss(n_permutations=0, random_state=0).fit(*numbers)
    reach, at_95 = norm.ppf((1 + level) / 2), norm.ppf(0.975)
    for one, other in ((loss.result_, usual.result_), (measure_use(level), measure_use(0.95))):
        np.testing.assert_allclose(one["estimate"], other["estimate"])
        np.testing.assert_allclose(
            (one["estimate"] - one["low"]) / reach, (other["estimate"] - other["low"]) / at_95
        )
    assert np.diff(loss.interval_) / reach == pytest.approx(np.diff(usual.interval_) / at_95)


def measure_use(level):
    train, test, made = draw_three()
    return _measure.measure_utility(made, train, test, level, np.random.RandomState(0))[0]
