"""Tables about people, with the groups and identities that an audit needs."""

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
    """Rows of comma-separated whole numbers below 256, bare or in quotes, as a uint8 array.

    In pieces: Texas is 800 MB of text, and 400 MB as numbers.
    """
    pieces = pd.read_csv(
        stream, header=None, dtype=np.uint8, skipinitialspace=True, chunksize=_ROWS_AT_ONCE
    )
    with pieces:
        return np.concatenate([piece.to_numpy() for piece in pieces])


def _check_bits(numbers):
    if numbers.max() > 1:
        raise ValueError(f"features must be 0 or 1; got {numbers.max()}")
    return np.ascontiguousarray(numbers)


def _as_labels(numbers, n_classes):
    if numbers.min() < 1 or numbers.max() > n_classes:
        found = f"{numbers.min()} to {numbers.max()}"
        raise ValueError(f"labels must be 1 to {n_classes}; got {found}")
    return numbers.astype(np.intp) - 1


def _fetch_labeled_bits(remote, member, n_classes, *cache):
    def parse(stream):
        table = _read_small_integers(stream)
        return Records(_check_bits(table[:, 1:]), _as_labels(table[:, 0], n_classes))

    return read_remote(remote, {member: parse}, *cache)[member]


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
    >>> from skmia.datasets.literature import fetch_purchase100
    >>> fetch_purchase100()  # doctest: +SKIP
    Records(197324 records, X=ndarray(197324, 600), uint8, y=int64)
    """
    return _fetch_labeled_bits(_PURCHASE, "dataset_purchase", 100, data_home, download_if_missing)


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
    >>> from skmia.datasets.literature import fetch_texas100
    >>> fetch_texas100()  # doctest: +SKIP
    Records(67330 records, X=ndarray(67330, 6169), uint8, y=int64)
    """
    parsers = {
        "100/feats": lambda stream: _check_bits(_read_small_integers(stream)),
        "100/labels": lambda stream: _as_labels(_read_small_integers(stream).ravel(), 100),
    }
    parsed = read_remote(_TEXAS, parsers, data_home, download_if_missing)
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
    return _fetch_labeled_bits(_LOCATION, "bangkok", 30, data_home, download_if_missing)


_UCI = "https://archive.ics.uci.edu/static/public/"
_ADULT = RemoteFile(
    "adult.zip",
    _UCI + "2/adult.zip",
    members={
        "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    },
)
_ADULT_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()
_DIABETES130 = RemoteFile(
    "diabetes130.zip",
    _UCI + "296/diabetes+130-us+hospitals+for+years+1999-2008.zip",
    members={
        "diabetic_data.csv": "0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97"
    },
)
_LAW_SCHOOL = RemoteFile(
    "law_school_clean.csv",
    "https://raw.githubusercontent.com/tailequy/fairness_dataset/main/experiments/data/"
    "law_school_clean.csv",
)


def _read_table(stream, **options):
    # "None" and "NA" are values in these tables; unknown is a question mark or nothing.
    options |= {"keep_default_na": False, "na_values": ["?", ""]}
    return pd.read_csv(stream, skipinitialspace=True, low_memory=False, **options)


def _read_adult(stream):
    # The test file opens with a line of comment and ends each label with a full stop.
    frame = _read_table(stream, names=_ADULT_COLUMNS, comment="|")
    return frame.assign(income=frame["income"].str.rstrip("."))


def _fill_unknown_texts(column):
    return column.astype(object).where(column.notna(), "?").to_numpy(dtype=str)


def _with_categories(frame):
    text = frame.select_dtypes(exclude="number").columns
    return frame.astype(dict.fromkeys(text, "category"))


def _read_law_school(stream):
    frame = _with_categories(_read_table(stream))
    records = Records.from_frame(frame, target="pass_bar", race="race", male="male")
    fields = {
        "race": _fill_unknown_texts(records.X["race"]),
        "male": records["male"].astype(np.intp),
    }
    return Records(records.X, records.y.astype(np.intp), **fields)


def fetch_adult(*, data_home: PathLike | None = None, download_if_missing: bool = True) -> Records:
    """Fetch Adult: who of the US census of 1994 earns more than 50,000 dollars a year.

    Both files of the UCI Machine Learning Repository [1]_; the sha256 of their content is known and
    verified at every use. 3,620 rows have an unknown value; 52 rows repeat an earlier row exactly
    and thus count as one record with it. License CC BY 4.0.

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
        X is a DataFrame of shape (48842, 14), text columns as pandas categories, unknown as
        missing; y is "<=50K" or ">50K"; the fields ``race`` (5 groups) and ``sex`` repeat columns
        that stay in X, ``split`` is "train" for the 32,561 rows of the publisher's training file,
        else "test".

    Raises
    ------
    OSError
        If the file is neither in the cache nor available, or is not the published one.

    References
    ----------
    .. [1] B. Becker and R. Kohavi (1996). Adult. UCI Machine Learning Repository,
       doi:10.24432/C5XW20.

    Examples
    --------
    >>> from skmia.datasets import fetch_adult
    >>> fetch_adult()  # doctest: +SKIP
    Records(48842 records, X=DataFrame(48842, 14), y=<U5, fields=race,sex,split)
    """
    parsers = dict.fromkeys(("adult.data", "adult.test"), _read_adult)
    parts = read_remote(_ADULT, parsers, data_home, download_if_missing)
    train, test = (parts[f"adult.{name}"] for name in ("data", "test"))
    both = [train.assign(split="train"), test.assign(split="test")]
    frame = pd.concat(both, ignore_index=True)
    fields = {name: _fill_unknown_texts(frame[name]) for name in ("race", "sex", "split")}
    X = _with_categories(frame.drop(columns=["income", "split"]))
    return Records(X, _fill_unknown_texts(frame["income"]), **fields)


def fetch_diabetes130(
    *, data_home: PathLike | None = None, download_if_missing: bool = True
) -> Records:
    """Fetch Diabetes 130: which diabetic patients are back in hospital, and how soon.

    101,766 stays of 71,518 patients in 130 US hospitals, 1999 to 2008 [1]_, [2]_. 16,773 patients
    have more than one stay, so where a person is what must not leak, the stays of one person have
    to be members or non-members together: this is what the field ``group_by`` is for. The sha256 of
    the content is known and verified at every use. License CC BY 4.0.

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
        X is a DataFrame of shape (101766, 47), text columns as pandas categories, unknown as
        missing (97 % of ``weight``); y is "NO", "<30" or ">30" (days until readmission); the field
        ``group_by`` is the number of the patient, which is not in X, and ``race`` (unknown is "?")
        and ``gender`` repeat columns that stay in X.

    Raises
    ------
    OSError
        If the file is neither in the cache nor available, or is not the published one.

    References
    ----------
    .. [1] J. Clore, K. Cios, J. DeShazo and B. Strack (2014). Diabetes 130-US hospitals for years
       1999-2008. UCI Machine Learning Repository, doi:10.24432/C5230J.
    .. [2] B. Strack et al. (2014). Impact of HbA1c measurement on hospital readmission rates.
       BioMed Research International, 781670.

    Examples
    --------
    >>> from skmia.datasets.literature import fetch_diabetes130
    >>> fetch_diabetes130()  # doctest: +SKIP
    Records(101766 records, X=DataFrame(101766, 47), y=<U3, fields=group_by,race,gender)
    """
    name = "diabetic_data.csv"
    frame = read_remote(_DIABETES130, {name: _read_table}, data_home, download_if_missing)[name]
    return Records(
        _with_categories(frame.drop(columns=["encounter_id", "patient_nbr", "readmitted"])),
        _fill_unknown_texts(frame["readmitted"]),
        group_by=frame["patient_nbr"].to_numpy(),
        race=_fill_unknown_texts(frame["race"]),
        gender=_fill_unknown_texts(frame["gender"]),
    )


def fetch_law_school(
    *, data_home: PathLike | None = None, download_if_missing: bool = True
) -> Records:
    """Fetch Law School: which students of law pass the bar exam.

    The longitudinal study of the Law School Admission Council, 1991 to 1997 [1]_, as cleaned for
    the survey of Le Quy et al. [2]_: 20,798 students. The publisher gives no checksum: the first
    download is trusted, its sha256 is written beside it and every later use is held to it. No
    license is stated.

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
        X is a DataFrame of shape (20798, 11), text columns as pandas categories; y is 1 for those
        who passed, else 0; the fields ``race`` ("White", "Non-White") and ``male`` (1 or 0) repeat
        columns that stay in X.

    Raises
    ------
    OSError
        If the file is neither in the cache nor available, or is not the file it was.

    References
    ----------
    .. [1] L. F. Wightman (1998). LSAC national longitudinal bar passage study. Law School Admission
       Council.
    .. [2] T. Le Quy et al. (2022). A survey on datasets for fairness-aware machine learning. WIREs
       Data Mining and Knowledge Discovery 12(3), e1452.
       https://github.com/tailequy/fairness_dataset

    Examples
    --------
    >>> from skmia.datasets import fetch_law_school
    >>> fetch_law_school()  # doctest: +SKIP
    Records(20798 records, X=DataFrame(20798, 11), y=int64, fields=race,male)
    """
    return read_remote(_LAW_SCHOOL, {"*": _read_law_school}, data_home, download_if_missing)["*"]
