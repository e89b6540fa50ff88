"""What exchanges its membership when membership is assigned at random."""

from typing import NamedTuple

import numpy as np

from ..._core.groups import number_groups

_BLOCK_ELEMENTS = 1 << 22


class Units(NamedTuple):
    """Records, or groups of them, that have one membership and change it as a whole.

    Attributes
    ----------
    places : ndarray of shape (n,)
        Unit of each record.
    is_member : ndarray of shape (n_units,), dtype bool
        Whether each unit is a member.
    blocks : ndarray of shape (n_units,)
        Units of one block exchange their membership; block 0 comes first.
    n_mixed : int
        Groups with members and non-members. Each is a block, and its records are units.
    """

    places: np.ndarray
    is_member: np.ndarray
    blocks: np.ndarray
    n_mixed: int


def make_units(membership, group_by=None):
    """Units of a permutation: whole groups, and the records of groups that have both sides.

    Where membership was assigned to groups at random, groups that are members as a whole exchange
    it with those that are not. A group with both members and non-members keeps its number of
    members: which of its records they are is what is drawn again. Each of the two is valid by
    itself, and so are both together.

    Parameters
    ----------
    membership : ndarray of shape (n,), dtype bool
        True membership of each record.
    group_by : array-like of shape (n,), default=None
        Who each record belongs to; None makes each record a group.

    Returns
    -------
    units : Units

    Raises
    ------
    ValueError
        If there is not a name for each record.
    """
    n_records = len(membership)
    if group_by is None:
        return Units(np.arange(n_records), membership, np.zeros(n_records, dtype=np.intp), 0)
    _, groups = number_groups(group_by, n_records)
    is_mixed = are_mixed(groups, membership)
    places = np.where(is_mixed[groups], groups.max() + 1 + np.arange(n_records), groups)
    _, first, places = np.unique(places, return_index=True, return_inverse=True)
    blocks = np.where(is_mixed, np.cumsum(is_mixed), 0)[groups[first]]
    return Units(places, membership[first], blocks, int(is_mixed.sum()))


def are_mixed(groups, membership):
    """Which of the groups, numbered from 0, hold both members and non-members."""
    n_members = np.bincount(groups, membership)
    return (n_members > 0) & (n_members < np.bincount(groups))


def name_mixed(membership, group_by):
    """Groups with records on both sides.

    Returns
    -------
    names : list of str
    n_groups : int
        How many groups there are.
    """
    names, groups = number_groups(group_by, len(membership))
    return [str(name) for name in names[are_mixed(groups, membership)]], len(names)


def order_units(units, keys):
    """The same units in an order that does not depend on that of the records.

    Parameters
    ----------
    units : Units
    keys : ndarray of shape (n, n_keys)
        Whole numbers, what is known of each record.

    Returns
    -------
    units : Units
    """
    sums = np.column_stack([np.bincount(units.places, key) for key in keys.T])
    in_block = np.column_stack([np.bincount(units.blocks, key)[units.blocks] for key in sums.T])
    in_block[units.blocks == 0] = 0
    order = np.lexsort([*sums.T, *in_block.T, units.blocks > 0])
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return Units(places[units.places], units.is_member[order], units.blocks[order], units.n_mixed)


def draw_labels(units, n_permutations, rng):
    """The truth, and then permutations of it, some at a time: ones and zeros.

    Parameters
    ----------
    units : Units
        Units in order.
    n_permutations : int
    rng : numpy Generator

    Yields
    ------
    labels : ndarray of shape (n_labelings, n_units)
    """
    yield units.is_member[None].astype(np.float64)
    n_units = len(units.is_member)
    n_whole = int((units.blocks == 0).sum())
    n_members = int(units.is_member[:n_whole].sum())
    # Members come first in each block when its records have been put in random order.
    mixed = units.blocks[n_whole:]
    pattern = units.is_member[n_whole:][np.lexsort([~units.is_member[n_whole:], mixed])]
    step = max(1, _BLOCK_ELEMENTS // n_units)
    for start in range(0, n_permutations, step):
        labels = np.zeros((min(step, n_permutations - start), n_units))
        for row in labels:
            row[rng.choice(n_whole, n_members, replace=False, shuffle=False)] = 1
            if len(mixed):
                row[n_whole + np.argsort(mixed + rng.random(len(mixed)))] = pattern
        yield labels
