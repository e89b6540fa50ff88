"""The privacy numbers of a synthetic table, of training rows beside held-out rows.

A missing value equals another missing one in the risks and copies, whose rows are ``TableCells`` of
``synthetic/_cells.py``. Distances of all pairs take no gaps: ``thin_and_fill`` puts the median into
a missing number, and adds a column that says so.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import norm, rankdata

from ..._core.blind import score_blindly
from ..._core.randomness import derive_random_state, derive_seed
from ..._core.records import Records
from ...metrics import auc_interval
from .._adversarial_accuracy import PrivacyLoss
from .._cells import TableCells
from .._copy_test import CopyTest, compute_smallest_share
from .._generator_attack import score_by_each
from .._neighbors import MOST_COMPARED, draw_places
from .._risks import InferenceRisk, LinkabilityRisk, average_by_person, permute_rows
from .._singling_out import SinglingOutRisk
from ._evidence import (
    COPIES,
    IDENTIFIERS,
    ONE_CELL,
    ONE_COLUMN,
    RARE_TEXTS,
    correct,
    share_significance,
)
from ._people import group_of

# Statistics of GeneratorAttack, by the names of the numbers.
ATTACKS = {
    "membership by distances": "distance_difference",
    "membership by DOMIAS": "domias",
    "membership by Gen-LRA": "gen_lra",
    "membership by a classifier": "classifier",
}


def measure_row_membership(tables, settings, n_permutations, people):
    """Return how much more often training rows, or persons, have the higher score than others."""
    rng = derive_random_state(settings["random_state"], "membership")
    real, holdout, made = thin_and_fill(tables, rng)
    own, held = (group_of(people, *pair) for pair in ((real, "real"), (holdout, "holdout")))
    known, control = _halve(holdout, held, rng)
    rows = pd.concat([real, control], ignore_index=True)
    is_train = np.arange(len(rows)) < len(real)
    persons = np.arange(len(rows))
    if people is not None:
        numbers = np.append(own, own.max() + 1 + group_of(people, control, "holdout"))
        persons = np.unique(numbers, return_inverse=True)[1]
        is_train = np.arange(persons.max() + 1) < len(np.unique(own))
    n_train, numbers = int(is_train.sum()), {}
    parts = (table.reset_index(drop=True) for table in (made, known))
    each = score_by_each(ATTACKS.values(), *parts, rows, settings["random_state"])
    for name, scores in zip(ATTACKS, each):
        scores = average_by_person(scores, persons)
        interval = auc_interval(is_train, scores, confidence_level=settings["confidence_level"])
        # The sum of the ranks of the training rows is the statistic of Mann and Whitney.
        ranks = rankdata(scores)
        pvalue = permute_rows(ranks[is_train], ranks[~is_train], n_permutations, rng)
        low, estimate, high = (2 * interval[k] - 1 for k in (1, 0, 2))
        number = {"estimate": estimate, "low": low, "high": high, "pvalue": pvalue}
        numbers[name] = number | {"n_attacks": n_train, "n_controls": len(is_train) - n_train}
    return numbers


def _halve(table, persons, rng):
    """Return halves of the rows of a table, or of its persons, each in the order of the rows."""
    if persons is None:
        order = rng.permutation(len(table))
        return [table.iloc[np.sort(part)] for part in np.array_split(order, 2)]
    order = rng.permutation(np.unique(persons))
    return [table[np.isin(persons, part)] for part in np.array_split(order, 2)]


# Bins of a number in a pair, draws of the bootstrap and of halves, and what is compared at most.
_N_BINS, _N_DRAWS, _N_HALVES = 10, 100, 20
MOST_ROWS, _MOST_PAIRS = 10_000, 200


class TableSimilarity:
    """Similarity of a table to reference rows, for any weights of these."""

    def __init__(self, cells, made, rows, pairs):
        self._number, self._pairs = cells.is_number, pairs
        self._n_rows = cells.sizes[rows]
        tables = cells.tables[rows], cells.tables[made]
        self._columns = [_JointHistogram(*parts) for parts in zip(*tables)]
        binned = [self._bin(place, *parts) for place, parts in enumerate(zip(*tables))]
        self._cross = {
            pair: _JointHistogram(*_combine(binned[pair[0]], binned[pair[1]]))
            for pair in pairs
            if not self._are_numbers(pair)
        }
        numbers = sorted({column for pair in pairs for column in pair if self._are_numbers(pair)})
        self._place = {column: place for place, column in enumerate(numbers)}
        self._filled = [_fill_numbers([table[column] for column in numbers]) for table in tables]
        self._made = _correlate(self._filled[1], np.ones(len(tables[1][0]))) if numbers else None

    def _are_numbers(self, pair):
        return self._number[pair[0]] and self._number[pair[1]]

    def _bin(self, place, own, made):
        """Return the codes of a column in both tables, of at most ten values for a number."""
        if not self._number[place]:
            return own, made
        known = own[~np.isnan(own)]
        edges = np.zeros(0)
        if len(known):
            edges = np.linspace(known.min(), known.max(), _N_BINS + 1)[1:-1]
        return tuple(
            np.where(np.isnan(part), _N_BINS, np.searchsorted(edges, part, "right"))
            for part in (own, made)
        )

    def compare(self, weights=None):
        """Return the similarity of each column and of each pair.

        NaN for a pair with a constant number.
        """
        weights = np.ones(self._n_rows) if weights is None else weights
        gaps = [column.gap(weights) for column in self._columns]
        columns = [
            1 - (np.abs(np.cumsum(gap)).max() if number else np.abs(gap).sum() / 2)
            for gap, number in zip(gaps, self._number)
        ]
        if self._made is not None:
            gap = np.abs(_correlate(self._filled[0], weights) - self._made) / 2
        pairs = [
            1 - np.abs(self._cross[pair].gap(weights)).sum() / 2
            if pair in self._cross
            else 1 - gap[self._place[pair[0]], self._place[pair[1]]]
            for pair in self._pairs
        ]
        return np.array(columns), np.array(pairs, dtype=float)


class _JointHistogram:
    """Frequencies of the values of two tables."""

    def __init__(self, own, made):
        values, codes = np.unique(np.concatenate([own, made]), return_inverse=True)
        self._codes, self._n_values = codes[: len(own)], len(values)
        self._made = np.bincount(codes[len(own) :], minlength=self._n_values) / len(made)

    def gap(self, weights):
        own = np.bincount(self._codes, weights, self._n_values)
        return own / weights.sum() - self._made


def _combine(one, other):
    """Return a number for each pair of codes, which may be -1."""
    width = max(int(part.max()) for part in other) + 2
    return tuple(
        (a + 1).astype(np.int64) * width + b.astype(np.int64) + 1 for a, b in zip(one, other)
    )


def _fill_numbers(columns):
    """Return the columns of numbers as a matrix; a missing one is the median."""
    filled = []
    for column in columns:
        known = column[~np.isnan(column)]
        filled.append(np.where(np.isnan(column), np.median(known) if len(known) else 0.0, column))
    return np.array(filled).T


def _correlate(matrix, weights):
    share = weights / weights.sum()
    centered = matrix - share @ matrix
    # Columns of any size, whose squares do not overflow.
    scale = np.abs(centered).max(axis=0, initial=0.0)
    centered = centered / np.where(scale > 0, scale, 1.0)
    covariance = (centered * share[:, None]).T @ centered
    spread = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        return covariance / np.outer(spread, spread)


def measure_utility(synthetic, real, holdout, confidence_level, rng, people=None):
    """Similarity of the synthetic rows to the holdout, or without one to the training rows."""
    names = ("real", "synthetic") if holdout is None else ("real", "holdout", "synthetic")
    tables = (real, synthetic) if holdout is None else (real, holdout, synthetic)
    reference = "real" if holdout is None else "holdout"
    persons = people and people.get(reference)
    kept = [draw_places(len(table), MOST_ROWS, rng) for table in tables]
    cells = TableCells([table.iloc[rows] for table, rows in zip(tables, kept)], names)
    persons = None if persons is None else persons[kept[len(tables) - 2]]
    everything = list(combinations(range(len(cells.columns)), 2))
    pairs = [everything[place] for place in draw_places(len(everything), _MOST_PAIRS, rng)]
    rows = len(tables) - 2
    made = TableSimilarity(cells, len(tables) - 1, rows, pairs)
    others = TableSimilarity(cells, 0, rows, pairs) if holdout is not None else None
    found = _estimate_similarity(made, cells.sizes[rows], confidence_level, rng, persons)
    reached = (
        np.full(len(found), np.nan) if others is None else _average_similarity(*others.compare())
    )
    found["real"] = reached
    n_columns = len(cells.columns)
    by_column = found.iloc[3 : 3 + n_columns].set_axis(map(str, cells.columns))
    titles = [f"{cells.columns[a]} and {cells.columns[b]}" for a, b in pairs]
    by_pair = found.iloc[3 + n_columns :].set_axis(titles)
    return found.iloc[:3].set_axis(["columns", "pairs", "quality"]), by_column, by_pair


def _estimate_similarity(similarity, n_rows, confidence_level, rng, persons):
    """Return the similarity of columns and of pairs, on average and single, with intervals."""
    columns, pairs = similarity.compare()
    n_columns, estimate = len(columns), _average_similarity(columns, pairs)
    units = np.arange(n_rows)
    if persons is not None:
        units = np.unique(persons, return_inverse=True)[1]
    n_units = int(units.max()) + 1
    share = np.full(n_units, 1 / n_units)
    draws = np.array(
        [
            _average_similarity(
                *similarity.compare(rng.multinomial(n_units, share).astype(float)[units])
            )
            for _ in range(_N_DRAWS)
        ]
    )
    reach = norm.ppf((1 + confidence_level) / 2) * draws.std(axis=0, ddof=1)
    # Chance makes tables differ, by about the inverse root of the number of rows: halves of the
    # rows show how much, and what all rows would show is where the line through both ends.
    is_half = np.arange(n_units) < max(1, n_units // 2)
    halves = np.mean(
        [
            np.concatenate(similarity.compare(rng.permutation(is_half).astype(float)[units]))
            for _ in range(_N_HALVES)
        ],
        axis=0,
    )
    found = np.concatenate([columns, pairs])
    least = np.minimum(found + (found - halves) / (np.sqrt(2) - 1), 1.0)
    high = np.maximum(_average_similarity(least[:n_columns], least[n_columns:]), estimate) + reach
    high = np.minimum(high, 1.0)
    return pd.DataFrame({"estimate": estimate, "low": estimate - reach, "high": high})


def _average_similarity(columns, pairs):
    """Return means over columns and pairs, their mean, and all single ones."""
    known = pairs[~np.isnan(pairs)]
    means = [columns.mean(), known.mean() if len(known) else np.nan]
    return np.concatenate([means, [np.nanmean(means)], columns, pairs])


# Level of the interval of the AUC that distinguishes training rows from holdout.
_SHIFT_LEVEL = 0.99
# What a check of a table found.
PASSED, WARNING, STATED, NOT_RUN = "passed", "warning", "stated", "not run"

COLUMNS = ["estimate", "low", "high", "attack", "control", "naive", "n_attacks", "n_controls"]
COLUMNS += ["pvalue", "pvalue_below", "pvalue_holm"]


def count_table_permutations(n_numbers, alpha):
    """Return so many permutations that the smallest corrected p-value is below the level."""
    return max(999, int(np.ceil(5 * n_numbers / alpha)))


def measure_synthetic_table(tables, settings, secrets, clock, people, identifiers):
    """Return the numbers with their p-values, the copies, and the resemblance.

    people: numbers of the persons of "real" and "holdout"; identifiers: which rows of both have an
    identifier that is in the synthetic table, or None.
    """
    n_columns = tables[0].shape[1]
    n_numbers = 7 + len(ATTACKS) + (0 if n_columns < 2 else len(secrets or range(n_columns)))
    alpha = 1 - settings["confidence_level"]
    n_permutations = count_table_permutations(n_numbers, alpha)
    groups = None if people is None else (people["real"], people["holdout"])
    # All attacks read the tables as they are encoded once.
    with clock("copies"):
        cells = TableCells(tables, ("real", "holdout", "synthetic"))
        test = CopyTest(**settings)._fit_cells(cells, groups)
    copies = test.result_
    # Without a cell, no row of a few values is rare.
    counted = [name for name in COPIES if name in copies.index]
    if ONE_CELL in counted and not copies.loc[ONE_CELL, "share_counted"]:
        counted.remove(ONE_CELL)
    found = {name: _read_copies(copies.loc[name]) for name in counted}
    if identifiers is not None:
        found[IDENTIFIERS] = _read_copies(test.summarize_matches(identifiers))
    with clock("privacy loss"):
        loss = measure_loss(tables, settings, n_permutations, people)
        found["privacy loss"], resemblance = loss
    with clock("membership"):
        found |= measure_row_membership(tables, settings, n_permutations, people)
    settings = {**settings, "n_permutations": n_permutations}
    for name, risk in _list_risks(settings, tables, secrets):
        with clock(name):
            result = risk._fit_cells(cells, groups).result_
        rows = result if name == "inference" else result.iloc[:1]
        for column, row in rows.rename(columns={"risk": "estimate"}).iterrows():
            found[f"inference of {column}" if name == "inference" else name] = row.to_dict()
        if name == ONE_COLUMN and (matches := find_rare_texts(cells, groups)).any():
            found[RARE_TEXTS] = _read_copies(test.summarize_matches(matches))
    # What a number does not have is missing.
    results = pd.DataFrame(found).T.reindex(columns=COLUMNS).astype(float)
    results["pvalue_holm"] = correct(results.index, results["pvalue"])
    levels = dict(zip(results.index, alpha * share_significance(results.index)))
    copies["smallest_share_corrected"] = [
        compute_smallest_share(row, row["share_counted"], levels.get(name, alpha))
        for name, row in copies.iterrows()
    ]
    return results, copies, resemblance


def find_rare_texts(cells, groups):
    """Return which real rows have a text that is in the synthetic table and in no other real row.

    cells: of real, holdout and synthetic table; groups: numbers of the persons of both real tables,
    whose rows may share a text, or None.
    """
    n_rows = sum(cells.sizes[:2])
    persons = np.arange(n_rows)
    if groups is not None:
        persons = np.append(groups[0], groups[0].max() + 1 + groups[1])
    n_persons = persons.max() + 1  # some of whom may have been left out
    matches = np.zeros(n_rows, dtype=bool)
    for column, codes in enumerate(cells.join_first(2)):
        if cells.is_number[column]:
            continue
        n_texts = len(cells.kinds[column]) - 1  # of the synthetic table; the last one is missing
        known = np.flatnonzero((codes >= 0) & (codes < n_texts))
        pairs = codes[known].astype(np.int64) * n_persons + persons[known]
        owners = np.bincount(np.unique(pairs) // n_persons, minlength=n_texts)
        matches[known[owners[codes[known]] == 1]] = True
    return matches


def _draw_one_each(tables, people, rng):
    """Return one row of each person, so that rows are independent."""
    if people is None:
        return tables
    drawn = []
    for table, name in zip(tables, ("real", "holdout")):
        order = rng.permutation(len(table))
        first = np.unique(group_of(people, table, name)[order], return_index=True)[1]
        drawn.append(table.iloc[np.sort(order[first])])
    return [*drawn, tables[-1]]


def _list_risks(settings, tables, secrets):
    # More predicates than rows would be about the same rows.
    few = {**settings, "n_attacks": min(MOST_COMPARED, *map(len, tables))}
    yield "singling out", SinglingOutRisk(**few)
    yield ONE_COLUMN, SinglingOutRisk("univariate", **few)
    if tables[0].shape[1] > 1:
        many = {**settings, "n_attacks": MOST_COMPARED}
        yield "linkability", LinkabilityRisk(**many)
        yield "inference", InferenceRisk(secrets, **many)


def measure_loss(tables, settings, n_permutations, people):
    rng = derive_random_state(settings["random_state"], "privacy loss")
    tables = _draw_one_each(thin_and_fill(tables, rng), people, rng)
    loss = PrivacyLoss(metric="gower", n_permutations=n_permutations, **settings).fit(*tables)
    low, high = loss.interval_
    number = {"estimate": loss.statistic_, "low": low, "high": high}
    number |= {"n_attacks": loss.n_rows_, "n_controls": loss.n_rows_}
    number |= {"pvalue": loss.pvalue_, "pvalue_below": loss.pvalue_below_}
    resemblance = loss.result_.loc["resemblance loss, test", ["estimate", "low", "high"]]
    return number, tuple(resemblance.astype(float))


def _read_copies(row):
    number = {"estimate": row["share"], "low": row["low"], "high": row["high"]}
    number |= {"attack": row["train"] / row["n_train"], "control": row["test"] / row["n_test"]}
    number |= {"n_attacks": row["n_train"], "n_controls": row["n_test"]}
    return number | {"pvalue": row["pvalue"], "pvalue_below": row["pvalue_below"]}


def measure_shift(real, holdout, seed, people=None):
    """AUC of a model that distinguishes training rows from the holdout without synthetic rows.

    It learns on half of the persons and is judged on the others: a forest of extremely randomized
    trees (``score_blindly`` in ``_core/blind.py``).

    Return interval: with a 99% interval; None if there are too few rows.
    """
    rows = pd.concat([real, holdout], ignore_index=True)
    membership = np.arange(len(rows)) < len(real)
    persons, fields = None, {}
    if people is not None:
        persons = np.append(people["real"], people["real"].max() + 1 + people["holdout"])
        fields = {"group_by": persons}
    seed = derive_seed(seed, "one population")
    found = score_blindly(Records(rows, np.zeros(len(rows)), **fields), membership, seed)
    if found is None:
        return None
    places, scores = found
    return auc_interval(
        membership[places],
        scores,
        groups=None if persons is None else persons[places],
        confidence_level=_SHIFT_LEVEL,
    )


def check_shift(shift, units):
    """Return the check of one population, which warns if the interval lies above 0.5."""
    if shift is None:
        text = f"There are too few {units.many}."
        return {"status": NOT_RUN, "text": text, "interval": None}
    estimate, low, high = shift
    text = (
        f"A model without the synthetic rows distinguishes training {units.many} from the holdout "
        f"with AUC {estimate:.3f} [{low:.3f}, {high:.3f}]"
    )
    end = "; a warning is given if the interval lies above 0.5." if low <= 0.5 else "."
    status = PASSED if low <= 0.5 else WARNING
    return {"status": status, "text": text + end, "interval": list(map(float, shift))}


def thin_and_fill(tables, rng):
    """At most 2,000 rows of each table, without missing numbers, for distances of all pairs."""
    return _fill([thin(table, rng) for table in tables])


def thin(table, rng, most=MOST_COMPARED):
    """Return at most so many rows of a table, drawn at random."""
    return table.iloc[draw_places(len(table), most, rng)]


def _fill(tables):
    """Return tables whose columns of numbers lack nothing.

    Whether a value was missing is a category.
    """
    frames = [table.copy() for table in tables]
    for column in frames[-1].columns:
        lacks = [frame[column].isna() for frame in frames]
        numeric = all(pd.api.types.is_numeric_dtype(frame[column].dtype) for frame in frames)
        if not numeric or not any(part.any() for part in lacks):
            continue
        known = frames[-1][column].dropna()
        middle = known.median() if len(known) else 0.0
        added = f"{column} is missing"
        while added in frames[-1]:
            added += " "
        for frame, part in zip(frames, lacks):
            frame[column] = frame[column].fillna(middle)
            frame[added] = part.to_numpy().astype(str)
    return frames
