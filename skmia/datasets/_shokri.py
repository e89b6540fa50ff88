"""The three tables of Shokri et al. (2017), common benchmarks of the literature."""

import numpy as np
import pandas as pd

from .._core.records import Records
from .._core.types import PathLike
from ._fetch import RemoteFile, read_remote

_BASE = "https://raw.githubusercontent.com/privacytrustlab/datasets/master/"
_PURCHASE = RemoteFile("dataset_purchase.tgz", _BASE + "dataset_purchase.tgz")
_TEXAS = RemoteFile("dataset_texas.tgz", _BASE + "dataset_texas.tgz")
_LOCATION = RemoteFile("dataset_location.tgz", _BASE + "dataset_location.tgz")
_ROWS_AT_ONCE = 4096


def _read_small_integers(stream):
    """Rows of comma-separated whole numbers below 256, bare or in quotes, as a uint8 array."""
    # In pieces: Texas is 800 MB of text, and 400 MB as numbers.
    pieces = pd.read_csv(
        stream, header=None, dtype=np.uint8, skipinitialspace=True, chunksize=_ROWS_AT_ONCE
    )
    with pieces:
        return np.concatenate([piece.to_numpy() for piece in pieces])


def _as_bits(numbers):
    if numbers.max() > 1:
        raise ValueError(f"features must be 0 or 1; got {numbers.max()}")
    return np.ascontiguousarray(numbers)


def _as_labels(numbers, n_classes):
    if numbers.min() < 1 or numbers.max() > n_classes:
        found = f"{numbers.min()} to {numbers.max()}"
        raise ValueError(f"labels must be 1 to {n_classes}; got {found}")
    return numbers.astype(np.intp) - 1


def _fetch_labeled_bits(remote, member, n_classes, **cache):
    def parse(stream):
        table = _read_small_integers(stream)
        return Records(_as_bits(table[:, 1:]), _as_labels(table[:, 0], n_classes))

    return read_remote(remote, {member: parse}, **cache)[member]


def fetch_purchase100(
    *, data_home: PathLike | None = None, download_if_missing: bool = True
) -> Records:
    """Fetch Purchase100: which items customers bought, in 100 classes of customers.

    The records of 197,324 customers of the "acquire valued shoppers" challenge (Kaggle, 2014), each
    saying which of 600 items the customer has bought; the classes are clusters of the rows, found
    by k-means [1]_. The publisher gives no checksum: the first download is trusted, its sha256 is
    written beside it and every later use is held to it. No license is stated. Reading it takes
    about 5 seconds.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache, by default scikit-learn's
        (:func:`sklearn.datasets.get_data_home`); the file is in its folder ``skmia``.
    download_if_missing : bool, default=True
        If False, raise an OSError when the file is not in the cache.

    Returns
    -------
    records : Records
        X of shape (197324, 600), dtype uint8, 0 or 1; y 0 to 99, the published label minus one.

    Raises
    ------
    OSError
        If the file is neither in the cache nor available, or is not the file it was.

    See Also
    --------
    make_membership_problem : Synthetic table like this one, without a download.

    References
    ----------
    .. [1] R. Shokri, M. Stronati, C. Song and V. Shmatikov (2017). Membership inference attacks
       against machine learning models. IEEE S&P. https://github.com/privacytrustlab/datasets

    Examples
    --------
    >>> from skmia.datasets import fetch_purchase100
    >>> fetch_purchase100()  # doctest: +SKIP
    Records(197324 records, X=ndarray(197324, 600), uint8, y=int64)
    """
    return _fetch_labeled_bits(
        _PURCHASE,
        "dataset_purchase",
        100,
        data_home=data_home,
        download_if_missing=download_if_missing,
    )


def fetch_texas100(
    *, data_home: PathLike | None = None, download_if_missing: bool = True
) -> Records:
    """Fetch Texas100: hospital stays, in the classes of their 100 most frequent procedures.

    67,330 stays of the Texas hospital discharge data, each with 6,169 bits for causes of injury,
    diagnosis, procedures and the patient; the class is the main procedure [1]_. The publisher gives
    no checksum: the first download is trusted, its sha256 is written beside it and every later use
    is held to it. No license is stated. Reading it takes about half a minute.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache, by default scikit-learn's
        (:func:`sklearn.datasets.get_data_home`); the file is in its folder ``skmia``.
    download_if_missing : bool, default=True
        If False, raise an OSError when the file is not in the cache.

    Returns
    -------
    records : Records
        X of shape (67330, 6169), dtype uint8 (400 MB), 0 or 1; y 0 to 99, the published label
        minus one.

    Raises
    ------
    OSError
        If the file is neither in the cache nor available, or is not the file it was.

    References
    ----------
    .. [1] R. Shokri, M. Stronati, C. Song and V. Shmatikov (2017). Membership inference attacks
       against machine learning models. IEEE S&P. https://github.com/privacytrustlab/datasets

    Examples
    --------
    >>> from skmia.datasets import fetch_texas100
    >>> fetch_texas100()  # doctest: +SKIP
    Records(67330 records, X=ndarray(67330, 6169), uint8, y=int64)
    """
    parsers = {
        "100/feats": lambda stream: _as_bits(_read_small_integers(stream)),
        "100/labels": lambda stream: _as_labels(_read_small_integers(stream).ravel(), 100),
    }
    parsed = read_remote(
        _TEXAS, parsers, data_home=data_home, download_if_missing=download_if_missing
    )
    return Records(parsed["100/feats"], parsed["100/labels"])


def fetch_location30(
    *, data_home: PathLike | None = None, download_if_missing: bool = True
) -> Records:
    """Fetch Location30: places that people visited, in 30 classes of people.

    Foursquare check-ins of 5,010 people in Bangkok, each with 446 bits for regions and kinds of
    place visited; the classes are clusters of the rows [1]_, [2]_. The publisher gives no checksum:
    the first download is trusted, its sha256 is written beside it and every later use is held to
    it. No license is stated.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache, by default scikit-learn's
        (:func:`sklearn.datasets.get_data_home`); the file is in its folder ``skmia``.
    download_if_missing : bool, default=True
        If False, raise an OSError when the file is not in the cache.

    Returns
    -------
    records : Records
        X of shape (5010, 446), dtype uint8, 0 or 1; y 0 to 29, the published label minus one;
        the classes have 97 to 308 records.

    Raises
    ------
    OSError
        If the file is neither in the cache nor available, or is not the file it was.

    References
    ----------
    .. [1] R. Shokri, M. Stronati, C. Song and V. Shmatikov (2017). Membership inference attacks
       against machine learning models. IEEE S&P. https://github.com/privacytrustlab/datasets
    .. [2] D. Yang, D. Zhang and B. Qu (2016). Participatory cultural mapping based on collective
       behavior data in location-based social networks. ACM TIST 7(3), 30.

    Examples
    --------
    >>> from skmia.datasets import fetch_location30
    >>> fetch_location30()  # doctest: +SKIP
    Records(5010 records, X=ndarray(5010, 446), uint8, y=int64)
    """
    return _fetch_labeled_bits(
        _LOCATION, "bangkok", 30, data_home=data_home, download_if_missing=download_if_missing
    )
