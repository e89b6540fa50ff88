"""Groups of training records that a model does not tell apart."""

from typing import NamedTuple

import numpy as np
import pandas as pd


class GroupSizes(NamedTuple):
    """What is counted in the group of each record.

    Attributes
    ----------
    numbers : ndarray of shape (n,), dtype int
        Group of each record.
    sizes : ndarray of shape (n,), dtype int
        Number of people in it.
    n_classes : ndarray of shape (n,), dtype int
        Number of classes that occur in it.
    smallest_cells : ndarray of shape (n,), dtype int
        Smallest number of people in it who share a class, of the classes that occur.
    """

    numbers: np.ndarray
    sizes: np.ndarray
    n_classes: np.ndarray
    smallest_cells: np.ndarray


def number_rows(columns, n_rows, *, to_the_end=False):
    """Number records by their values in some columns; equal ones have the same number.

    Parameters
    ----------
    columns : iterable of ndarray of shape (n_rows,)
    n_rows : int
    to_the_end : bool, default=False
        Whether all columns are read, also if no two records are equal before.

    Returns
    -------
    numbers : ndarray of shape (n_rows,), dtype int
    """
    numbers, n_groups = np.zeros(n_rows, dtype=np.int64), 1
    for column in columns:
        if n_groups == n_rows:
            if not to_the_end:
                break  # further columns cannot change that
            continue
        codes, values = pd.factorize(column, use_na_sentinel=False)
        numbers, found = pd.factorize(numbers * len(values) + codes)
        n_groups = len(found)
    return numbers


def count_groups(numbers, labels, people=None):
    """Count people and classes in the group of each record.

    Parameters
    ----------
    numbers : ndarray of shape (n,), dtype int
        Group of each record.
    labels : ndarray of shape (n,), dtype int
        Number of the class of each record.
    people : ndarray of shape (n,), dtype int, default=None
        Person of each record; by default each record is one.

    Returns
    -------
    sizes : GroupSizes
    """
    people = np.arange(len(numbers)) if people is None else people
    n_groups, n_labels = numbers.max() + 1, labels.max() + 1
    cells, places = np.unique(numbers * n_labels + labels, return_inverse=True)
    counts = _count_distinct(places, people, len(cells))
    smallest = np.full(n_groups, np.iinfo(np.int64).max)
    np.minimum.at(smallest, cells // n_labels, counts)
    sizes = _count_distinct(numbers, people, n_groups)
    n_classes = np.bincount(cells // n_labels, minlength=n_groups)
    return GroupSizes(numbers, *(part[numbers] for part in (sizes, n_classes, smallest)))


def count_leaves(places, people=None):
    """Count the people in the leaf of each record."""
    people = np.arange(len(places)) if people is None else people
    return _count_distinct(places, people, places.max() + 1)[places]


def _count_distinct(places, people, n_places):
    """Number of different people at each place."""
    n_people = people.max() + 1
    if n_people == len(people):
        return np.bincount(places, minlength=n_places)
    pairs = pd.unique(places.astype(np.int64) * n_people + people)
    return np.bincount(pairs // n_people, minlength=n_places)
