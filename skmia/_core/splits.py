"""Random training sets of shadow models, and folds; records that belong together stay so."""

import os

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .groups import number_groups
from .hashing import number_equal
from .moments import cut
from .numbers import SMALLEST
from .out_of_core import (
    count_up,
    empty_table,
    find_first,
    find_smallest,
    map_table,
    take_table,
)

_N_BINS = 10

# Published attacks use a few hundred shadow models, and drawing the seeds of a billion takes hours.
MOST_MODELS = 100_000


def _count_bytes_of_memory():
    """Return the memory of this machine, or infinity if the system does not report it."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return np.inf


def check_room(n_models, n_records, n_temperatures):
    """Refuse a pool whose signals do not fit the memory, before anything is drawn or trained."""
    needed = n_models * n_records * (4 * n_temperatures + 1)
    if needed > _count_bytes_of_memory():
        raise ValueError(
            f"The signals of n_estimators={n_models:,} shadow models on {n_records:,} records take "
            f"{needed / 1e9:,.0f} GB, more than the memory of this machine; train fewer models, or "
            "keep the signals in files with on_disk=True."
        )


def number_units(fingerprint, group_by=None):
    """Number the sets of records that must be in or out of a training set together.

    Equal records form a unit, and so do all records with one value of group_by. Two groups with
    equal records become one unit, because these records cannot be in and out at once.
    """
    units = number_equal(fingerprint)
    if group_by is None:
        return units
    _, groups = number_groups(group_by, len(units))
    n_units = units.max() + 1
    n_nodes = n_units + groups.max() + 1
    # scipy 1.11 only reads 32-bit indices; with others it returns a single component.
    ends = units.astype(np.int32), (n_units + groups).astype(np.int32)
    edges = coo_array((np.ones(len(units)), ends), shape=(n_nodes, n_nodes))
    _, component = connected_components(edges, directed=False)
    return np.unique(component[units], return_inverse=True)[1]


def number_sides(units, membership):
    """Return the side of each unit: 0 for non-members, 1 for members, 2 if it holds both."""
    size, n_members = np.bincount(units), np.bincount(units, membership)
    return np.where(n_members == 0, 0, np.where(n_members == size, 1, 2))


def spread_over_folds(strata, n_folds, rng):
    """Return the fold of each unit: those of a stratum are assigned to the folds in turn."""
    folds = np.empty(len(strata), dtype=int)
    for stratum in np.unique(strata):
        units = rng.permutation(np.flatnonzero(strata == stratum))
        folds[units] = np.arange(len(units)) % n_folds
    return folds


def join_copies(membership, fingerprint):
    """Count a model that was trained on one of several equal records as trained on all of them.

    Take membership of shape (n_estimators, n), fingerprint of shape (n,); return membership of
    shape (n_estimators, n).
    """
    order = np.argsort(fingerprint, kind="stable")
    ordered = fingerprint[order]
    if not np.any(ordered[1:] == ordered[:-1]):
        return membership.copy()
    _, starts, record = np.unique(ordered, return_index=True, return_inverse=True)
    joined = np.empty_like(membership)
    joined[:, order] = np.logical_or.reduceat(membership[:, order], starts, axis=1)[:, record]
    return joined


def compute_strata(y, is_classification):
    """Return the class of each record, or the decile of a real target, or of a mean of several."""
    if is_classification:
        return number_equal(y)
    if np.ndim(y) == 2:
        y = np.asarray(y, dtype=np.float64)
        y = ((y - y.mean(axis=0)) / np.maximum(y.std(axis=0), SMALLEST)).mean(axis=1)
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return ranks * _N_BINS // len(y)


def _sort_by_strata(units, read):
    """Sort units by their stratum, which a function reads of some; the order within one stays."""
    n = len(units)
    joined = map_table(
        lambda rows: read(units[rows]) * n + np.arange(rows.start, rows.stop), n, np.int64
    )
    joined.sort()
    joined %= n
    return take_table(units, joined)


def draw_halves(units, strata, n_samples, rng, first=None):
    """Draw two disjoint sets of records for a pair of shadow models.

    Units are shuffled within their stratum and assigned to the two halves in turn, so that the
    halves differ by at most one unit in every stratum and in total.

    Return inside of shape (2, n).
    """
    first = find_first(units) if first is None else first
    n_units = len(first)
    order = count_up(n_units)
    rng.shuffle(order)
    stratum_order = rng.permutation(strata.max() + 1)
    order = _sort_by_strata(order, lambda some: stratum_order[strata[first[some]]])
    sides = (order[::2], order[1::2])
    if rng.integers(2):
        sides = sides[::-1]
    inside = np.zeros((2, n_units), dtype=bool)
    for side, members in zip(inside, sides, strict=True):
        wanted = max(1.0, len(members) * min(1.0, 2 * n_samples / len(units)))
        shift = rng.random()
        for rows in cut(len(members)):
            edges = np.arange(rows.start, rows.stop + 1) * (wanted / len(members))
            if rows.stop == len(members):
                edges[-1] = wanted
            side[members[rows][np.diff(np.floor(edges + shift)) > 0]] = True
    return inside[:, units]


def draw_block(units, strata, size, rng):
    """Draw the training sets of a block of models so that each unit is in exactly half of them.

    Each training set holds half of the units of every stratum, and of all, up to one unit.

    Return inside of shape (size, n).
    """
    first = np.unique(units, return_index=True)[1]
    strata, n_strata = strata[first], strata.max() + 1
    inside = np.zeros((size, len(first)), dtype=bool)
    due = np.full(len(first), size // 2)
    # Model after model, a unit is drawn with the share of the remaining models that it is due in:
    # never when it has been in half of them, and always when it is due in all that remain. The
    # order is drawn again for each model, so that no two units exclude each other throughout.
    for k, training_set in enumerate(inside):
        order, stratum_order = rng.permutation(len(first)), rng.permutation(n_strata)
        order = _sort_by_strata(order, lambda some, places=stratum_order: places[strata[some]])
        start, n_left = rng.integers(size - k), size - k
        edges = np.append(0, np.cumsum(due[order])) + start
        training_set[order[np.diff(edges // n_left) > 0]] = True
        due -= training_set
    return inside[:, units]


class PairDraws:
    """Draws the training sets of a pair of models, of shape (2, n), from a seed."""

    def __init__(self, records, strata, n_samples):
        n_records = len(records)
        if not 1 <= n_samples <= (n_records + 1) // 2:
            raise ValueError(
                f"max_samples asks for {n_samples} of {n_records} records; complementary halves "
                f"hold at most {(n_records + 1) // 2}."
            )
        self._units, self._strata, self._n_samples = _number_units_of(records), strata, n_samples
        self._first = find_first(self._units)

    def __call__(self, seed):
        rng = np.random.default_rng(seed)
        return draw_halves(self._units, self._strata, self._n_samples, rng, self._first)


class BlockDraws:
    """Draws the training sets of a block of models from a seed, each record in half of them."""

    def __init__(self, records, strata, size):
        self._units, self._strata, self._size = _number_units_of(records), strata, size

    def __call__(self, seed):
        return draw_block(self._units, self._strata, self._size, np.random.default_rng(seed))


def _number_units_of(records):
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    if units.max() == 0:
        raise ValueError(
            "All records belong together (they are equal, or have one value of group_by); halves "
            "need at least 2 units."
        )
    return units


def draw_rows(n_records, n_wanted, seed, groups=(), n_fewest=0, units=None):
    """Draw about so many records at random, and of each group at least some.

    The draw depends on nothing else, so what holds for records that were assigned at random holds
    for the sample. Records of one unit are drawn together.

    groups: mask (n_records,) of each; units (n_records,), from 0 -> rows (k,): positions in order.
    """
    keys = empty_table(n_records if units is None else int(units.max()) + 1)
    np.random.default_rng(seed).random(out=keys)
    if units is not None:
        keys = keys[units]
    chosen = keys <= _find_cut(keys, n_wanted)
    for mask in groups:
        chosen |= mask & (keys <= _find_cut(keys[mask], n_fewest))
    return np.flatnonzero(chosen)


def _find_cut(keys, n_wanted):
    """Return the key up to which so many records are drawn."""
    if n_wanted >= len(keys):
        return np.inf
    return find_smallest(keys, n_wanted) if n_wanted else -np.inf
