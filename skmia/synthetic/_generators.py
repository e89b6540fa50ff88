"""Generators as estimators with fit and sample, and as regressors for shadow models."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._core.copies import copy_unfitted
from .._core.matrix import validate_matrix
from .._core.numbers import check_count, show
from .._core.optional import import_optional
from .._core.query import draw_samples
from .._core.randomness import check_random_state, isolated_randomness
from .._core.sdv_parts import seed_synthesizer
from .._core.sklearn import HasMethods, StrOptions, at_least
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Seed
from ._kinds import is_number_dtype
from ._neighbors import (
    GowerSpace,
    align_frames,
    find_nearest,
    to_frame,
    validate_frame,
)


class BaseGenerator(TransactionMixin, BaseEstimator):
    """Base of generators that make tables like the table given to fit.

    Subclasses have _fit(table, random_state) and _draw(n_samples, random_state), which get and
    return a DataFrame.
    """

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit the generator.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_features)
            A table.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = to_frame(X)
        self._is_frame = isinstance(X, pd.DataFrame)
        if self._is_frame:
            table = validate_frame(self, X).reset_index(drop=True)
        else:
            table = pd.DataFrame(validate_matrix(self, X))
        self._dtypes = table.dtypes
        self._fit(table)
        self.n_rows_ = len(table)
        return self

    def sample(self, n_samples: int = 1, *, random_state: Seed = None) -> pd.DataFrame | np.ndarray:
        """Draw rows.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows to draw.
        random_state : int, RandomState instance or None, default=None
            Seed of the rows. If None, every call draws new rows.

        Returns
        -------
        X : DataFrame or ndarray of shape (n_samples, n_features)
            A DataFrame with the columns and types of the training table, or an array if the
            generator was fitted on an array.
        """
        check_is_fitted(self)
        n_samples = check_count(n_samples, "n_samples")
        made = self._draw(n_samples, check_random_state(random_state))
        made = made.reset_index(drop=True).astype(self._dtypes)
        return made if self._is_frame else made.to_numpy()

    def _fit(self, table):
        raise NotImplementedError

    def _draw(self, n_samples, random_state):
        raise NotImplementedError


class BootstrapGenerator(BaseGenerator):
    """Generator that draws training rows with replacement.

    The table is as useful as a table can be, and each row is a copy of a training row: the other
    end of the scale from an independent sample when generators are compared.

    Attributes
    ----------
    n_rows_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    See Also
    --------
    SmoteGenerator : Generator of rows between training rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmia.synthetic import BootstrapGenerator
    >>> table = pd.DataFrame({"age": [20, 30], "sex": ["f", "m"]})
    >>> BootstrapGenerator().fit(table).sample(3, random_state=0)
       age sex
    0   20   f
    1   30   m
    2   30   m
    """

    _parameter_constraints: dict = {}

    def _fit(self, table):
        self._table = table

    def _draw(self, n_samples, random_state):
        return self._table.iloc[random_state.randint(len(self._table), size=n_samples)]


# Sums of squares of larger numbers overflow.
_LARGEST = 1e150


class SmoteGenerator(BaseGenerator):
    """Generator of rows between neighboring training rows (SMOTE), by imbalanced-learn.

    Numbers lie on the segment between a training row and one of its nearest neighbors; each
    category is the most frequent one among these neighbors. SMOTE was made to balance classes. It
    is also used for synthetic tables, although its rows stay near training rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbors.

    Attributes
    ----------
    n_rows_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    Raises
    ------
    ImportError
        If imbalanced-learn is not installed.
    ValueError
        If there are not more rows than neighbors, or a column of numbers has missing values.

    See Also
    --------
    BootstrapGenerator : Generator that draws training rows again.

    Notes
    -----
    Columns of a DataFrame that are not numeric, and truth values, are categories. Whole numbers are
    rounded. All rows are one class; ``SMOTEN`` is used where all columns are categories.

    References
    ----------
    Chawla, N. V., Bowyer, K. W., Hall, L. O. and Kegelmeyer, W. P. (2002). SMOTE: synthetic
    minority over-sampling technique. Journal of Artificial Intelligence Research 16.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import SmoteGenerator
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> SmoteGenerator().fit(X).sample(10, random_state=0).shape  # doctest: +SKIP
    (10, 2)
    """

    _parameter_constraints = {"n_neighbors": [at_least(1)]}

    def __init__(self, *, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def _fit(self, table):
        if len(table) <= self.n_neighbors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} needs more rows than neighbors; got {len(table)}."
            )
        import_optional("imblearn.over_sampling", "smote")
        self._is_category = [not is_number_dtype(dtype) for dtype in table.dtypes]
        for place in np.flatnonzero(~np.array(self._is_category)):
            column = table.iloc[:, place].to_numpy(dtype=float, na_value=np.nan)
            if not np.abs(column).max() < _LARGEST:
                raise ValueError(
                    f"Column {table.columns[place]!r} must hold numbers below {_LARGEST:g}, none "
                    "missing; fill or scale it."
                )
        self._table = table

    def _draw(self, n_samples, random_state):
        over_sampling = import_optional("imblearn.over_sampling", "smote")
        table, n_rows = self._table.copy(), len(self._table)
        codes = {}  # categories as places, so that types and missing values do not matter
        for place in np.flatnonzero(self._is_category):
            column = table.iloc[:, place]
            code, codes[place] = pd.factorize(column, use_na_sentinel=False)
            table.isetitem(place, code)
        settings = {
            "sampling_strategy": {1: n_rows + n_samples},
            "k_neighbors": self.n_neighbors,
            "random_state": random_state.randint(np.iinfo(np.int32).max),
        }
        if all(self._is_category):
            sampler = over_sampling.SMOTEN(**settings)
        elif codes:
            sampler = over_sampling.SMOTENC(categorical_features=list(codes), **settings)
        else:
            sampler = over_sampling.SMOTE(**settings)
        # There have to be two classes; the other one, of a single row, plays no part.
        rows = np.vstack([table.to_numpy(dtype=float), table.to_numpy(dtype=float)[:1]])
        made, _ = sampler.fit_resample(rows, np.append(np.ones(n_rows, int), 0))
        made = pd.DataFrame(np.asarray(made)[n_rows + 1 :], columns=table.columns)
        for place, dtype in enumerate(self._dtypes):
            if place in codes:
                made.isetitem(place, codes[place].take(made.iloc[:, place].astype(int)))
            elif pd.api.types.is_integer_dtype(dtype):
                made.isetitem(place, made.iloc[:, place].round())
        return made


_NAMES = {
    "gaussian_copula": "GaussianCopulaSynthesizer",
    "ctgan": "CTGANSynthesizer",
    "tvae": "TVAESynthesizer",
}


class SDVGenerator(BaseGenerator):
    """Generator that trains a synthesizer of SDV, the Synthetic Data Vault.

    Parameters
    ----------
    synthesizer : {"gaussian_copula", "ctgan", "tvae"}, default="gaussian_copula"
        The synthesizer.
    settings : dict, default=None
        Other arguments of the synthesizer, for instance ``{"epochs": 100}``.
    random_state : int, RandomState instance or None, default=None
        Controls training, as far as it follows the generators of numpy and torch.

    Attributes
    ----------
    synthesizer_ : object of SDV
        The trained synthesizer.
    n_rows_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    Raises
    ------
    ImportError
        If SDV is not installed.

    See Also
    --------
    GeneratorAttack : Membership attack on generators.
    DPWassersteinGAN : Generator with differential privacy.

    Notes
    -----
    Versions 1 and 2 of SDV are supported, whose interfaces differ. Numeric columns are
    ``numerical`` in SDV's words, columns of truth values ``boolean``, all others ``categorical``;
    nothing is guessed from values.

    SDV is not among the extras of ``skmia[all]``, because it holds pandas at an older version.

    References
    ----------
    Patki, N., Wedge, R. and Veeramachaneni, K. (2016). The synthetic data vault. DSAA.

    Xu, L., Skoularidou, M., Cuesta-Infante, A. and Veeramachaneni, K. (2019). Modeling tabular data
    using conditional GAN. NeurIPS.

    Examples
    --------
    >>> from skmia.synthetic import SDVGenerator
    >>> generator = SDVGenerator("ctgan", settings={"epochs": 25}, random_state=0)
    >>> generator.fit(table).sample(100)  # doctest: +SKIP
    """

    _parameter_constraints = {
        "synthesizer": [StrOptions(set(_NAMES))],
        "settings": [Mapping, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        synthesizer: Literal["gaussian_copula", "ctgan", "tvae"] = "gaussian_copula",
        *,
        settings: Mapping[str, Any] | None = None,
        random_state: Seed = None,
    ) -> None:
        self.synthesizer = synthesizer
        self.settings = settings
        self.random_state = random_state

    def _fit(self, table):
        single_table = import_optional("sdv.single_table", "sdv")
        self._names = table.columns
        table = _prepare_sdv_table(table)
        make = getattr(single_table, _NAMES[self.synthesizer])
        metadata, is_named = _make_sdv_metadata(table)
        self.synthesizer_ = make(metadata, **(self.settings or {}))
        with _seeded(self.random_state):
            self.synthesizer_.fit({"table": table} if is_named else table)

    def _draw(self, n_samples, random_state):
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        seed_synthesizer(self.synthesizer_, seed)
        with _seeded(seed):
            made = self.synthesizer_.sample(num_rows=n_samples)
        made = made["table"] if isinstance(made, dict) else made
        return made.set_axis(self._names, axis=1)


def _prepare_sdv_table(table):
    """Return columns with names that are strings, and types that all versions of SDV read alike."""
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    for name, dtype in table.dtypes.items():
        if _name_sdv_type(dtype) == "categorical":
            table[name] = table[name].astype(object)
    return table


def _name_sdv_type(dtype):
    if pd.api.types.is_bool_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype):
        return "boolean"
    return "numerical" if pd.api.types.is_numeric_dtype(dtype) else "categorical"


def _make_sdv_metadata(table):
    """Return the metadata of a table, and whether tables have to be given by name."""
    module = import_optional("sdv.metadata", "sdv")
    columns = {name: {"sdtype": _name_sdv_type(dtype)} for name, dtype in table.dtypes.items()}
    is_first = hasattr(module, "SingleTableMetadata")  # version 1
    if not hasattr(module, "Metadata"):  # before 1.17
        return module.SingleTableMetadata.load_from_dict({"columns": columns}), False
    tables = {"tables": {"table": {"columns": columns}}, "relationships": []}
    return module.Metadata.load_from_dict(tables), not is_first


def _seeded(random_state):
    """Return the global generators seeded for a while; fresh ones if random_state is None."""
    seed = None
    if random_state is not None:
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    return isolated_randomness(np.random.SeedSequence(seed))


class SyntheticDistance(TransactionMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Regressor of the distance from each row to the nearest row of a generator.

    It makes a generator accessible to attacks on regressors: the error of a record with target 0 is
    its distance, which is small if the generator returns similar rows. Every attack on regressors
    can therefore be used, and a :class:`~skmia.ShadowPool` trains shadow generators.

    Parameters
    ----------
    generator : estimator
        Generator with ``fit(X)`` and ``sample(n_samples)``. It is cloned and fitted.
    n_samples : int, default=None
        Number of rows to draw. If None, the number of training rows.
    metric : str or callable, default="euclidean"
        Any metric of :class:`~sklearn.neighbors.NearestNeighbors`, or ``"gower"`` for tables with
        categories, see :class:`GowerEncoder`; ranges and categories come from the synthetic rows.
    random_state : int, RandomState instance or None, default=None
        Controls the generator, if it has such a parameter, and the draw of rows.

    Attributes
    ----------
    generator_ : estimator
        The fitted generator.
    synthetic_ : ndarray of shape (n_samples, n_features)
        The rows that were drawn; with ``metric="gower"`` as points of the encoder.
    encoder_ : GowerEncoder or None
        The encoder, with ``metric="gower"``.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    See Also
    --------
    GeneratorAttack : Attack without shadow generators.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KernelDensity
    >>> from skmia import Records, ShadowPool
    >>> from skmia.attacks import LiRA
    >>> from skmia.synthetic import SyntheticDistance
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> records, membership = Records(X, np.zeros(200)), np.arange(200) < 100
    >>> model = SyntheticDistance(KernelDensity(bandwidth=0.1))
    >>> victim = model.fit(X[membership])
    >>> attack = LiRA(victim, ShadowPool(model, 16, random_state=0)).fit(records)
    >>> bool(attack.score(records, membership) > 0.2)
    True
    """

    _parameter_constraints = {
        "generator": [HasMethods(["fit", "sample"])],
        "n_samples": [at_least(1), None],
        "metric": [str, callable],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        generator: BaseEstimator,
        *,
        n_samples: int | None = None,
        metric: str | Callable[..., float] = "euclidean",
        random_state: Seed = None,
    ) -> None:
        self.generator = generator
        self.n_samples = n_samples
        self.metric = metric
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit the generator and draw rows from it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        table = X = to_frame(X)
        # y is checked as far as it is there, since nothing else would notice a mistake.
        checks = self._checks(X)
        if y is None:
            X = validate_matrix(self, X, **checks)
        else:
            X, _ = validate_matrix(self, X, y, y_numeric=True, **checks)
        if isinstance(table, pd.DataFrame):
            X = table  # a generator may need names and types of columns
        random_state = check_random_state(self.random_state)
        if not hasattr(self.generator, "get_params"):
            raise TypeError(
                "generator must be a scikit-learn estimator, of which each fit trains a copy; got "
                f"{show(self.generator)}. Derive its class from sklearn.base.BaseEstimator."
            )
        self.generator_ = copy_unfitted(self.generator)
        if "random_state" in self.generator_.get_params():
            self.generator_.set_params(random_state=random_state.randint(np.iinfo(np.int32).max))
        self.generator_.fit(X)
        drawn = draw_samples(self.generator_, self.n_samples or len(X), random_state)
        drawn = align_frames((table, drawn), ("X", "The table of synthetic rows"))[1]
        self._space = self.encoder_ = None
        if self.metric == "gower":
            name = "The table of synthetic rows"
            self._space = GowerSpace((drawn,), (name,))
            self.encoder_, (drawn,) = self._space.encoder, self._space.tables
        self.synthetic_ = np.asarray(drawn, dtype=float)
        return self

    def _checks(self, X, **checks):
        """Return settings of the validation: with Gower's distance cells need not be numbers."""
        if self.metric == "gower" and isinstance(X, pd.DataFrame):
            return {**checks, "skip_check_array": True}
        return checks

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the distance to the nearest row that the generator returned.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        distance : ndarray of shape (n_rows,)
        """
        X = to_frame(X)
        X = validate_matrix(self, X, **self._checks(X, reset=False))
        metric = self.metric
        if self._space is not None:
            X, metric = self._space.encode(X, "X"), "manhattan"
        return find_nearest(X, self.synthetic_, 1, metric)[0][:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.regressor_tags.poor_score = True  # y is not looked at
        return tags
