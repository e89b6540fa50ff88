"""Linear equations in the membership bits of candidates."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._core.callers import level_of_user

_MOST_DECIMALS = 6
# Fewer values may be round by coincidence, such as the first step of boosting.
_LEAST_VALUES = 20


class RoundedValues(NamedTuple):
    """Effect of the rounding of values on their equations.

    The value of a node has an error that is uniform within one step, so the error of its equation
    is this error times a sum over the members of the node. By drift, each member adds an error
    because values of earlier trees were also rounded. Members of a node share most of these errors,
    and are assumed to share all of them.
    """

    step: np.ndarray  # (n_nodes,): step of the value of each node; 0 if it was not rounded
    terms: np.ndarray  # (n_candidates,): term of each member in the sum
    constant: float = 0.0  # of the sum of each node
    drift: np.ndarray | float = 0.0  # (n_candidates,): standard deviation of the error


class MarginDrift:
    """Errors of the margins of candidates due to the rounding of earlier trees."""

    def __init__(self, n_candidates, n_outputs):
        self._variances = np.zeros((n_candidates, n_outputs))

    def of(self, k, curvature):
        """Return the standard deviation of the error of each candidate, by output."""
        return np.sqrt(self._variances[:, k]) * curvature

    def add(self, k, steps):
        """Add the rounding of the values of a tree, given the step for each candidate."""
        self._variances[:, k] += steps**2 / 12


def estimate_steps(values):
    """Estimate the steps to which the values of a model were rounded."""
    stored = np.concatenate(values)
    if len(stored) < _LEAST_VALUES or not stored.any():
        return np.zeros_like
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(stored.astype(float), decimals).astype(stored.dtype), stored):
            return lambda some: np.full(np.shape(some), 10.0**-decimals)
    with np.errstate(over="ignore"):
        short = stored.astype(np.float16)
    if np.array_equal(short.astype(stored.dtype), stored):
        return lambda some: np.spacing(np.abs(some).astype(np.float16)).astype(float)
    return np.zeros_like


# Rows of a class in its smallest leaf, at most, among which its number is searched.
_MOST_IN_LEAST = 1000
# Largest distance of a number of rows from an integer.
_WHOLE = 1e-5


def find_weights(trees, has_classes, draws, *, multiplied=False, each=False):
    """Find the weights of the classes in some trees.

    Return weights: for each tree 1.0 if rows have no weights, an array of shape (n_classes,), or
    None if rows of one class have different weights.
    """
    if not multiplied and all(_are_plain(tree, draws) for tree in trees):
        return [1.0] * len(trees)
    if not has_classes:
        return [None] * len(trees)
    parts = [[tree] for tree in trees] if each else [trees]
    found = [_find_by_class(part, draws) for part in parts]
    if draws and each:
        # Balanced weights add to the number of draws.
        found = [_check_total(*pair) for pair in zip(trees, found, strict=True)]
    return found if each else found * len(trees)


def estimate_unlikeness(tree):
    """Return variance of the weights of rows over their squared mean, from the sums in leaves."""
    leaves = (tree.children_left < 0) & (tree.n_node_samples > 0)
    if not leaves.any():
        return 0.0  # the file was stripped
    counts, sums = tree.n_node_samples[leaves], tree.weighted_n_node_samples[leaves]
    ratio = sums / counts / (sums.sum() / counts.sum())
    return float(np.sum(counts * (ratio - 1) ** 2) / max(len(counts) - 1, 1))


def _are_plain(tree, draws):
    sums = tree.weighted_n_node_samples
    if draws and tree.n_outputs == 1 and tree.max_n_classes > 1:
        sums = tree.value[:, 0, :] * sums[:, None]
        return np.abs(sums - np.rint(sums)).max() < _WHOLE
    if draws:
        return np.array_equal(sums, np.rint(sums))
    return np.allclose(sums, tree.n_node_samples)


def _find_by_class(trees, draws):
    counts, sums = [], []
    for tree in trees:
        leaves = tree.children_left < 0
        counts.append(tree.n_node_samples[leaves])
        sums.append(tree.value[leaves, 0, :] * tree.weighted_n_node_samples[leaves, None])
    counts, sums = np.concatenate(counts), np.concatenate(sums)
    if draws:
        weights = np.array([_find_unit(column) for column in sums.T])
    else:
        with np.errstate(divide="ignore"):
            weights = 1 / np.linalg.lstsq(sums, counts, rcond=None)[0]
    if not np.all(weights > 0):
        return None
    rows = sums / weights
    fits = np.abs(rows - np.rint(rows)).max() < _WHOLE
    return weights if fits and (draws or np.allclose(rows.sum(axis=1), counts)) else None


def _find_unit(sums):
    """Return the largest number of which all sums are whole multiples; NaN if there is none."""
    sums = sums[sums > sums.max() * np.finfo(np.float32).eps]
    if not len(sums):
        return 1.0
    parts = sums.min() / np.arange(1, _MOST_IN_LEAST + 1)
    numbers = np.unique(sums)[None] / parts[:, None]
    fits = np.abs(numbers - np.rint(numbers)).max(axis=1) < _WHOLE
    return parts[fits.argmax()] if fits.any() else np.nan


def _check_total(tree, weights):
    if weights is None or isinstance(weights, float):
        return weights
    drawn = (tree.value[0, 0] * tree.weighted_n_node_samples[0] / weights).sum()
    return weights if abs(drawn - tree.weighted_n_node_samples[0]) < 0.5 else None


WEIGHTED = (
    "its equations are multiplied by class weights or sample weights, which it does not store"
)
UNBALANCED = (
    "each of its trees was grown on draws of each class, and it does not store how many rows the "
    "classes have"
)
MONOTONIC = "monotonic constraints move the values of its leaves"


DOUBLE, SINGLE = np.finfo(np.float64).eps, np.finfo(np.float32).eps

# Smallest ratio between the norm of an equation and its rounding error.
_LEAST = 1000


class Equations(NamedTuple):
    """Equations ``rows @ bits = targets``, up to noise of known variance.

    The number of training rows is the one by the file, or 0 if a stripped file does not store it
    and none was assumed. If it was assumed, the last equation says so. The blur of an equation with
    a variance that depends on the bits because values were rounded is this variance times the
    relative change of its root with each bit.
    """

    rows: Any  # csr_array or GradientRows (n_equations, n_candidates): coefficients
    targets: np.ndarray  # (n_equations,): right-hand sides
    variances: np.ndarray  # (n_equations,): of targets; for an exact equation, of its rounding
    n_rows: float
    places: list  # for each set of nodes, the number of the equation of each node; -1 for none
    blur: sparse.csr_array  # (n_equations, n_candidates)
    is_assumed: bool = False
    # For trees and columns: which of them were read, and how many there are.
    chosen: dict | None = None
    # (n_candidates,): log likelihood ratio of each bit beside the equations, and what gives it.
    pulls: np.ndarray | float = 0.0
    hessian: Any = None
    n_totals: int = 0  # how many at the end are no gradients


class SpreadParts:
    """Which of some trees or columns are read: all, or as many as fit, spread evenly."""

    def __init__(self, n_parts, most):
        self.n_parts, self.read, self._most, self._chosen = n_parts, set(), most, None

    def takes(self, number, n_coefficients):
        """Return whether one is read, given how many coefficients those before it have."""
        if self.read:
            if self._chosen is None:  # the first says how large all are
                n_fit = int(min(self._most / max(n_coefficients, 1), self.n_parts))
                self._chosen = {round(one) for one in np.linspace(0, self.n_parts - 1, n_fit)}
            if number not in self._chosen or n_coefficients >= self._most:
                return False
        self.read.add(number)
        return True


# Coefficients by which the memory of those that are collected grows.
_STEP = 1 << 21


class EquationEntries(NamedTuple):
    """Coefficients of some equations, one equation after the other."""

    values: np.ndarray
    records: np.ndarray
    counts: np.ndarray  # (n_equations,): how many each has


class GrowingRows:
    """Rows of a sparse matrix that are appended in blocks, and held once."""

    def __init__(self):
        self._data, self._indices = np.empty(0), np.empty(0, dtype=np.int32)
        self._ends, self.n_entries = [np.zeros(1, dtype=np.int64)], 0

    def append(self, rows):
        """Append rows, given by their entries."""
        start, self.n_entries = self.n_entries, self.n_entries + len(rows.values)
        if self.n_entries > len(self._data):
            self._resize(self.n_entries + min(_STEP, self.n_entries))
        self._data[start : self.n_entries] = rows.values
        self._indices[start : self.n_entries] = rows.records
        self._ends.append(start + np.cumsum(rows.counts))

    def finish(self, n_columns):
        """Return the matrix; no more rows can be appended."""
        self._resize(self.n_entries)
        ends = np.concatenate(self._ends)
        if self.n_entries < np.iinfo(np.int32).max:
            ends = ends.astype(np.int32)
        shape = len(ends) - 1, n_columns
        return sparse.csr_array((self._data, self._indices, ends), shape=shape)

    def _resize(self, size):
        for one in (self._data, self._indices):
            one.resize(size, refcheck=False)  # in place, where a copy would be held beside it


class NodeCollector:
    """Collects the equations of sets of nodes, most often the leaves of a tree."""

    def __init__(self, n_candidates, share=0.5, most=np.inf):
        # most: how many coefficients may be held
        self.n_candidates, self.share, self._n_equations = n_candidates, share, 0
        self._most, self._before = most, 0
        self._chosen, self._skips = {}, False
        self._rows, self._blur = GrowingRows(), GrowingRows()
        self._targets, self._variances, self._places = [], [], []
        self._kept, self._times = 1.0, 1

    def open(self, number, n_parts, kind="trees", share=1.0):
        """Begin one of some trees or columns; return whether its equations are read.

        They may hold a share of what is left when the first begins. Until the next begins,
        equations that are added are left out if they are not read.
        """
        if kind not in self._chosen:
            self._before = self._rows.n_entries
            self._chosen[kind] = SpreadParts(n_parts, (self._most - self._before) * share)
        n_coefficients = self._rows.n_entries - self._before
        self._skips = not self._chosen[kind].takes(number, n_coefficients)
        return not self._skips

    def close(self):
        """Take further equations for those of no tree, which are always read."""
        self._skips = False

    def add(
        self,
        nodes,
        coefficients,
        targets,
        variances=0.0,
        *,
        terms=None,
        precision=DOUBLE,
        rounded=None,
        unlike=0.0,
    ):
        """Add an equation for each node that contains candidates."""
        if self._skips:
            return
        n_nodes = len(targets)
        terms = np.abs(coefficients) if terms is None else terms
        size = np.sqrt(np.bincount(nodes, coefficients**2, minlength=n_nodes))
        rounding = precision * np.sqrt(np.bincount(nodes, terms**2, minlength=n_nodes))
        kept = np.flatnonzero((size > _LEAST * rounding) & np.isfinite(targets))
        place = np.full(n_nodes, -1)
        place[kept] = self._n_equations + np.arange(len(kept))
        self._n_equations += len(kept)
        self._places.append(place)
        self._rows.append(_list_entries(place, nodes, coefficients))
        self._targets.append(np.asarray(targets, dtype=np.float64)[kept] / self._kept)
        drawn = self._times * (1 - self._kept) / self._kept
        noise = (1 + unlike) * (1 + drawn) - 1
        variances = variances + rounding**2 + noise * self.share * size**2
        if rounded is not None and rounded.step.any():
            variances = variances + self._add_blur(place, nodes, rounded)
        else:
            self._blur.append(EquationEntries(np.empty(0), np.empty(0), np.zeros_like(kept)))
        self._variances.append(variances[kept])

    def draw(self, kept, times=1):
        """Take all further equations for those of samples, whose rows are not known."""
        self._kept, self._times = kept, times

    def _add_blur(self, place, nodes, rounded):
        """Return the variance of each equation by rounding, and note its change with the bits."""
        n_nodes, terms, drift = len(place), rounded.terms, rounded.drift
        own = self.share * np.bincount(nodes, terms, minlength=n_nodes) + rounded.constant
        drifted = self.share * np.bincount(nodes, np.broadcast_to(drift, len(nodes)), n_nodes)
        scale = rounded.step**2 / 12
        change = (scale * own)[nodes] * terms + drifted[nodes] * drift
        self._blur.append(_list_entries(place, nodes, change))
        return scale * own**2 + drifted**2

    def warn(self, message):
        """Warn of what the model shows of its equations."""
        warnings.warn(message, UserWarning, stacklevel=level_of_user())

    def equations(self, n_rows):
        """Return all collected equations, given the number of training rows."""
        return Equations(
            self._rows.finish(self.n_candidates),
            np.concatenate(self._targets),
            np.concatenate(self._variances),
            float(n_rows),
            self._places,
            self._blur.finish(self.n_candidates),
            chosen=self._chosen,
        )


class FurtherCollector:
    """Collects the coefficients of further records in the equations of the candidates.

    It has the methods of a Collector and is called with the same nodes in the same order.
    """

    share = 0.5

    def __init__(self, equations, n_records):
        self._n_records = n_records
        self._places, self._rows = iter(equations.places), GrowingRows()
        self._chosen, self._skips = equations.chosen, False

    def open(self, number, n_parts, kind="trees", share=1.0):
        """Begin one of some trees or columns; return whether its equations were read."""
        self._skips = number not in self._chosen[kind].read
        return not self._skips

    def close(self):
        """Take further equations for those of no tree."""
        self._skips = False

    def add(self, nodes, coefficients, targets, *others, **options):
        """Add the coefficients of the records to the equations of their nodes."""
        if not self._skips:
            self._rows.append(_list_entries(next(self._places), nodes, coefficients))

    def draw(self, kept, times=1):
        """Do nothing, as samples change no coefficients."""

    def warn(self, message):
        """Do nothing, as fit has warned."""

    def columns(self):
        """Return the coefficients as a csr_array of shape (n_equations, n_records)."""
        return self._rows.finish(self._n_records)


def _list_entries(place, nodes, coefficients):
    """Return the coefficients of the records in the equations of some nodes.

    A block for each set of nodes takes half the memory of lists of all entries, and less than half
    of the time of a matrix for each.
    """
    equations = place[place >= 0]
    first = equations[0] if len(equations) else 0
    used = np.flatnonzero((coefficients != 0) & (place[nodes] >= 0))
    numbers = place[nodes[used]] - first
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers, minlength=len(equations))
    values = np.asarray(coefficients, dtype=np.float64)[used]
    return EquationEntries(values[order], used[order], counts)
