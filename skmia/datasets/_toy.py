"""The small data sets that come with scikit-learn, as records."""

from sklearn import datasets

from .._core.records import Records


def load_breast_cancer(*, as_frame: bool = False) -> Records:
    """Load 569 tumours, malignant (0) or benign (1).

    Parameters
    ----------
    as_frame : bool, default=False
        If True, X is a DataFrame with the names of the features.

    Returns
    -------
    records : Records
        X of shape (569, 30); y 0 or 1.

    See Also
    --------
    sklearn.datasets.load_breast_cancer : Source and description of the data.

    Examples
    --------
    >>> from skmia.datasets import load_breast_cancer
    >>> load_breast_cancer()
    Records(569 records, X=ndarray(569, 30), float64, y=int64)
    """
    return Records(*datasets.load_breast_cancer(return_X_y=True, as_frame=as_frame))


def load_diabetes(*, as_frame: bool = False) -> Records:
    """Load 442 diabetic patients and how far their disease went on in a year (regression).

    Parameters
    ----------
    as_frame : bool, default=False
        If True, X is a DataFrame with the names of the features.

    Returns
    -------
    records : Records
        X of shape (442, 10), scaled; y real, 25 to 346.

    See Also
    --------
    sklearn.datasets.load_diabetes : Source and description of the data.

    Examples
    --------
    >>> from skmia.datasets import load_diabetes
    >>> load_diabetes()
    Records(442 records, X=ndarray(442, 10), float64, y=float64)
    """
    return Records(*datasets.load_diabetes(return_X_y=True, as_frame=as_frame))


def load_digits(*, images: bool = False, as_frame: bool = False) -> Records:
    """Load 1,797 handwritten digits of 8 x 8 pixels.

    Parameters
    ----------
    images : bool, default=False
        If True, X holds images of shape (8, 8) instead of rows of 64 pixels.
    as_frame : bool, default=False
        If True, X is a DataFrame with the names of the pixels.

    Returns
    -------
    records : Records
        X of shape (1797, 64) or (1797, 8, 8), 0 to 16; y 0 to 9.

    Raises
    ------
    ValueError
        If both ``images`` and ``as_frame`` are asked for.

    See Also
    --------
    sklearn.datasets.load_digits : Source and description of the data.

    Examples
    --------
    >>> from skmia.datasets import load_digits
    >>> load_digits(images=True)
    Records(1797 records, X=ndarray(1797, 8, 8), float64, y=int64)
    """
    if images and as_frame:
        raise ValueError(
            "A DataFrame cannot hold images; give images=True or as_frame=True, not both."
        )
    X, y = datasets.load_digits(return_X_y=True, as_frame=as_frame)
    return Records(X.reshape(-1, 8, 8) if images else X, y)


def load_iris(*, as_frame: bool = False) -> Records:
    """Load 150 irises of three species.

    Parameters
    ----------
    as_frame : bool, default=False
        If True, X is a DataFrame with the names of the features.

    Returns
    -------
    records : Records
        X of shape (150, 4), in cm; y 0, 1 or 2.

    See Also
    --------
    sklearn.datasets.load_iris : Source and description of the data.

    Examples
    --------
    >>> from skmia.datasets import load_iris
    >>> load_iris()
    Records(150 records, X=ndarray(150, 4), float64, y=int64)
    """
    return Records(*datasets.load_iris(return_X_y=True, as_frame=as_frame))


def load_wine(*, as_frame: bool = False) -> Records:
    """Load 178 wines of three growers.

    Parameters
    ----------
    as_frame : bool, default=False
        If True, X is a DataFrame with the names of the features.

    Returns
    -------
    records : Records
        X of shape (178, 13); y 0, 1 or 2.

    See Also
    --------
    sklearn.datasets.load_wine : Source and description of the data.

    Examples
    --------
    >>> from skmia.datasets import load_wine
    >>> load_wine()
    Records(178 records, X=ndarray(178, 13), float64, y=int64)
    """
    return Records(*datasets.load_wine(return_X_y=True, as_frame=as_frame))
