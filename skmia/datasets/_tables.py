"""Tables about people, with the groups and identities that an audit needs."""

import numpy as np
import pandas as pd

from .._core.records import Records
from .._core.types import PathLike
from ._fetch import RemoteFile, read_remote

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
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
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
    return pd.read_csv(
        stream,
        skipinitialspace=True,
        keep_default_na=False,
        na_values=["?", ""],
        low_memory=False,
        **options,
    )


def _read_adult(stream):
    # The test file opens with a line of comment and ends each label with a full stop.
    frame = _read_table(stream, names=_ADULT_COLUMNS, comment="|")
    return frame.assign(income=frame["income"].str.rstrip("."))


def _as_text(column):
    return column.astype(object).where(column.notna(), "?").to_numpy(dtype=str)


def _with_categories(frame):
    text = frame.select_dtypes(exclude="number").columns
    return frame.astype(dict.fromkeys(text, "category"))


def _read_law_school(stream):
    frame = _with_categories(_read_table(stream))
    records = Records.from_frame(frame, target="pass_bar", race="race", male="male")
    return Records(
        records.X,
        records.y.astype(np.intp),
        race=_as_text(records.X["race"]),
        male=records["male"].astype(np.intp),
    )


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
    parts = read_remote(
        _ADULT,
        dict.fromkeys(("adult.data", "adult.test"), _read_adult),
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    frame = pd.concat(
        [parts["adult.data"].assign(split="train"), parts["adult.test"].assign(split="test")],
        ignore_index=True,
    )
    fields = {name: _as_text(frame[name]) for name in ("race", "sex", "split")}
    X = _with_categories(frame.drop(columns=["income", "split"]))
    return Records(X, _as_text(frame["income"]), **fields)


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
    >>> from skmia.datasets import fetch_diabetes130
    >>> fetch_diabetes130()  # doctest: +SKIP
    Records(101766 records, X=DataFrame(101766, 47), y=<U3, fields=group_by,race,gender)
    """
    name = "diabetic_data.csv"
    frame = read_remote(
        _DIABETES130,
        {name: _read_table},
        data_home=data_home,
        download_if_missing=download_if_missing,
    )[name]
    return Records(
        _with_categories(frame.drop(columns=["encounter_id", "patient_nbr", "readmitted"])),
        _as_text(frame["readmitted"]),
        group_by=frame["patient_nbr"].to_numpy(),
        race=_as_text(frame["race"]),
        gender=_as_text(frame["gender"]),
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
    return read_remote(
        _LAW_SCHOOL,
        {"*": _read_law_school},
        data_home=data_home,
        download_if_missing=download_if_missing,
    )["*"]
