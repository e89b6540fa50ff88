"""A generator that is trained with differential privacy."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.accountant import choose_noise_multiplier, spent_epsilon
from .._core.containers import is_tensor, to_numpy
from .._core.matrix import check_container
from .._core.numbers import check_count, show
from .._core.optional import import_optional
from .._core.randomness import check_random_state, isolated_randomness
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import ArrayLike, Seed
from ..defenses import (
    DELTA,
    FINITE_POSITIVE,
    BudgetedFits,
    PrivacyLedger,
    PrivateRandomness,
    choose_target_delta,
    column_values,
    refuse_crossed,
    validate_rows,
)
from ..defenses.schema import (
    DeclaredSchema,
    NumberColumn,
    ValuesColumn,
    find_range_ends,
    find_type,
    name_features,
)
from ._neighbors import to_frame

# Most values that a column has without being told which.
MOST_VALUES = 128


class GeneratedColumns:
    """How the columns of a table are read, and how drawn rows become such a table."""

    def __init__(self, X, estimator, may_look):
        is_frame = isinstance(X, pd.DataFrame)
        self._names = X.columns if is_frame else None
        self._dtypes = list(X.dtypes) if is_frame else getattr(X, "dtype", None)
        if not may_look:  # a reader of files guesses types from all rows
            self._dtypes = [np.dtype(np.float64)] * X.shape[1] if is_frame else None
        named = _read_named(X, estimator.columns, getattr(X, "columns", ()))
        if is_frame:
            if estimator.columns != "number":
                named = {**_infer_categories(X, named, may_look), **named}
            X = _replace_by_codes(X, named)
        coded = _validate(estimator, X, named)
        if coded.shape[1] <= (most := max(named, default=-1)):
            raise ValueError(f"columns has {most}, which is not a column of X.")
        # Of each column as an Index; None for numbers.
        self.values = [named.get(place) for place in range(coded.shape[1])]
        self.contributes = np.ones(len(coded), dtype=bool)
        if is_frame and not may_look:
            pairs = zip(self._dtypes, self.values)
            self._dtypes = [dtype if own is None else own.dtype for dtype, own in pairs]
        if not is_frame:
            for place, values in named.items():
                if values is not None:
                    coded[:, place] = _codes(pd.Series(coded[:, place]), values, place)
        self._read_ranges(coded, estimator, named)

    def _read_ranges(self, coded, estimator, named):
        """Numbers in [0, 1]; whole numbers of a short range become values."""
        is_number = np.array([values is None for values in self.values])
        names = [] if self._names is None else list(self._names)
        lower, upper = (
            _ends(name, getattr(estimator, name), is_number, names) for name in ("lower", "upper")
        )
        lower[~is_number], upper[~is_number] = 0, [len(v) - 1 for v in self.values if v is not None]
        _check_ranges(coded, lower, upper)
        if estimator.columns != "number" and self._dtypes is not None:
            for place in np.flatnonzero(is_number):
                if place not in named and (values := self._whole(place, lower, upper)) is not None:
                    coded[:, place] -= values[0]
                    self.values[place] = values
                    lower[place], upper[place] = 0, len(values) - 1
        self._scale(coded, lower, upper)

    def _scale(self, coded, lower, upper):
        from ._gan_training import ColumnLayout  # torch is an extra

        self.lower, self.span = lower, upper - lower
        self.layout = ColumnLayout([1 if v is None else len(v) for v in self.values])
        scaled = np.divide(coded - lower, self.span, out=np.zeros_like(coded), where=self.span > 0)
        # A column of one value is a number that is always 0.
        self._rows = np.where(self.layout.is_number, np.clip(scaled, 0, 1), coded)

    def take_rows(self):
        """Return the table in the form of the layout, and which rows contribute.

        Neither is kept.
        """
        return self.__dict__.pop("_rows"), self.__dict__.pop("contributes")

    def _whole(self, place, lower, upper):
        """Return the whole numbers of the range of a column of whole numbers.

        None if there are many.
        """
        dtype = self._dtypes if self._names is None else self._dtypes[place]
        if dtype is None or not pd.api.types.is_integer_dtype(dtype):
            return None
        first, last = np.ceil(lower[place]), np.floor(upper[place])
        # An empty range has no rows, and far from 0 there are gaps between floats.
        if not 0 <= last - first < MOST_VALUES or max(abs(first), abs(last)) > 2.0**52:
            return None
        return pd.Index(np.arange(first, last + 1))

    def restore(self, rows):
        """Return a table like the one given, of rows in the form of the layout."""
        numbers = self.lower + self.span * rows
        columns = []
        for place, values in enumerate(self.values):
            if values is None:
                columns.append(numbers[:, place])
            else:
                codes = rows[:, place].round().astype(int) if len(values) > 1 else 0
                columns.append(values[np.broadcast_to(codes, len(rows))])
        if self._names is not None:
            typed = [_as_column_type(*parts) for parts in zip(columns, self._dtypes)]
            made = pd.concat(typed, axis=1)
            made.columns = self._names
            return made
        made = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
        is_whole = self._dtypes is not None and self._dtypes.kind in "biu"
        return made.round().astype(self._dtypes) if is_whole else made


class DeclaredColumns(GeneratedColumns):
    """Columns of a declared schema; of a table nothing counts but what its cells say."""

    def __init__(self, X, estimator):
        schema = estimator.schema
        coded, self.contributes = schema.read_table(X)
        name_features(estimator, schema)
        declared = list(schema.columns.values())
        self._names = pd.Index(list(schema.columns), tupleize_cols=False)
        self._dtypes = [find_type(column) for column in declared]
        lower, upper = np.zeros((2, len(declared)))
        self.values = []
        for place, column in enumerate(declared):
            self.values.append(_list_values(column))
            if isinstance(column, NumberColumn):
                lower[place], upper[place] = find_range_ends(column)
            if (values := self.values[-1]) is not None:
                coded[:, place] -= lower[place]
                lower[place], upper[place] = 0, len(values) - 1
        self._scale(coded, lower, upper)


def _list_values(column):
    """Return values of a declared column, also of one of few whole numbers; None for numbers."""
    if isinstance(column, ValuesColumn):
        return pd.Index(list(column.values), tupleize_cols=False)
    first, last = find_range_ends(column)
    if column.whole and last - first < MOST_VALUES:
        return pd.Index(np.arange(first, last + 1))
    return None


def _read_named(X, columns, names):
    """Return the values of columns by place, None for numbers, as the user names them."""
    if isinstance(columns, str):
        return {}
    names, named = list(names), {}
    for column, values in columns.items():
        place = names.index(column) if column in names else column
        n_columns = len(names) or np.inf
        if isinstance(place, bool) or not isinstance(place, Integral) or not 0 <= place < n_columns:
            raise ValueError(f"columns has {show(column)}, which is not a column of X.")
        named[int(place)] = _check_column_values(values, column)
    return named


def _check_column_values(values, column):
    if isinstance(values, str):
        if values == "number":
            return None
    elif np.iterable(values) and not isinstance(values, Mapping | set | frozenset):
        index = pd.Index(list(values))
        if len(index) and index.is_unique:
            return index
    raise ValueError(
        f"columns[{column!r}] must be 'number' or the values of the column, each once; got "
        f"{show(values)}."
    )


def _infer_categories(X, named, may_look):
    """Return the values of columns that are not numbers, where they may be read from the data."""
    found = {}
    for place, dtype in enumerate(X.dtypes):
        if place in named:
            continue
        is_listed = isinstance(dtype, pd.CategoricalDtype)
        if may_look and pd.api.types.is_bool_dtype(dtype) and not is_listed:
            lacks = X.iloc[:, place].isna().any()
            found[place] = pd.Index([False, True, None] if lacks else [False, True])
        elif pd.api.types.is_datetime64_any_dtype(dtype):
            raise ValueError(
                f"Column {X.columns[place]!r} has dates; turn them into numbers, such as days, or "
                "name their values in columns."
            )
        elif may_look and not pd.api.types.is_numeric_dtype(dtype):
            column = X.iloc[:, place]
            values = dtype.categories if is_listed else pd.Index(column.dropna().unique())
            if len(values) > MOST_VALUES:
                raise ValueError(
                    f"Column {X.columns[place]!r} has {len(values)} values; drop it, or name its "
                    "values in columns."
                )
            if not is_listed:
                values = values.sort_values()
            found[place] = values.append(pd.Index([None])) if column.isna().any() else values
    return found


def _replace_by_codes(X, named):
    coded = {
        place: _codes(X.iloc[:, place], values, X.columns[place])
        for place, values in named.items()
        if values is not None
    }
    parts = [
        pd.Series(coded[place], index=X.index) if place in coded else X.iloc[:, place]
        for place in range(X.shape[1])
    ]
    return pd.concat(parts, axis=1, keys=X.columns) if parts else X


def _codes(column, values, name):
    """Return the place of each row's value among the values of a column."""
    codes = values.get_indexer(pd.Index(column))
    if (lacks := values.isna()).any():
        codes = np.where(column.isna(), lacks.argmax(), codes)
    if (codes < 0).any():  # neither the value nor the number of a row: an error is about the data
        raise ValueError(
            f"Column {name!r} has values that columns does not name; name all values that the "
            "column can have, with None where it can lack one."
        )
    return codes.astype(np.float64)


def _validate(estimator, X, named):
    try:
        return np.array(validate_rows(estimator, X, dtype=np.float64))
    except ValueError as error:
        message = str(error)
        if not isinstance(X, pd.DataFrame) or "it has strings" not in message:
            raise
    raise ValueError(
        "X must hold numbers; it has strings or categories in a column whose values are not known. "
        "Name all that it can have in columns, from public knowledge."
    )


def _ends(name, ends, is_number, names):
    """Return one end of the range of each column, of a number, one for each, or by name."""
    if isinstance(ends, pd.Series) and {*ends.index} <= {*names}:
        ends = ends.to_dict()
    if not isinstance(ends, Mapping):
        return column_values(name, ends, len(is_number))
    places = {names.index(key) if key in names else key: end for key, end in ends.items()}
    found = [places.get(place, None if number else 0) for place, number in enumerate(is_number)]
    if None in found:
        column = found.index(None)
        raise ValueError(f"{name} lacks column {names[column] if names else column!r}.")
    return column_values(name, found, len(is_number))


def _check_ranges(X, lower, upper):
    refuse_crossed(lower, upper)
    with np.errstate(over="ignore"):
        if not np.isfinite(upper - lower).all():
            raise ValueError("upper - lower must be finite in double precision.")
    # Neither a value nor the number of a row: an error is about the data.
    if (outside := ((lower > X) | (upper < X)).any(axis=0)).any():
        column = outside.argmax()
        raise ValueError(
            f"Column {column} has values outside its range [{lower[column]}, {upper[column]}]; "
            "give public ranges as lower and upper, and cut values to them."
        )


def _as_column_type(column, dtype):
    """Return a column of the type of the training table."""
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Series(pd.Categorical(column, dtype=dtype))
    is_whole = pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)
    if is_whole and pd.api.types.is_numeric_dtype(column.dtype):
        column = np.round(np.asarray(column, dtype=np.float64))
    return pd.Series(column).astype(dtype)


def _is_set(value, default):
    return np.ndim(value) > 0 or value != default


class DPWassersteinGAN(BudgetedFits, BaseEstimator):
    """A generator of rows, trained against a critic that sees real rows through noise only.

    The critic is trained with a penalty on its slope (WGAN-GP). Its gradients need not be clipped:
    its weights determine how far one row can move each component, and normal noise is scaled to
    this bound.

    Parameters
    ----------
    lower, upper : float, array-like of shape (n_features,) or dict, default=0.0 and 1.0
        Ends of the range of each column of numbers, or a dictionary, or Series, from names of
        columns to ends. They must be public, not computed from the data.
    columns : {"auto", "number"} or dict, default="auto"
        Which columns have a list of values, with a place in a block of inputs for each. A
        dictionary has for names or places of columns the values, which must be public, with None if
        cells can be empty, or ``"number"``. All other columns are decimal numbers, whatever type
        they have, as types are guessed from all rows. With ``privacy=None`` alone, ``"auto"`` takes
        truth values, columns of an integer type with at most 128 whole numbers in their range, and
        columns of a DataFrame that are not numeric as lists of values; ``"number"`` takes none.
    schema : DeclaredSchema, default=None
        Names, types, ranges and values of the columns, in place of ``lower``, ``upper`` and
        ``columns``. A row that does not fit contributes nothing; without a schema it is an error.
    target_epsilon : float, default=None
        Total privacy budget epsilon of all steps, in nats. Set either this or ``noise_multiplier``.
    target_delta : float, default=None
        The delta at which epsilon is stated. If None, a tenth of one over the number of rows.
    noise_multiplier : float, default=None
        Noise of a step, as a multiple of what one row can change. 0 gives no privacy.
    privacy : {"bounds", "clipping"} or None, default="bounds"
        Noise to the measure of bounds on the gradient; or of ``max_grad_norm``, to which the
        gradient of each row is clipped; or no noise at all, for comparisons.
    noise : {"spherical", "proportional", "minimum_trace"}, default="minimum_trace"
        With ``"bounds"``: the same noise on all components of the gradient; noise in proportion to
        their bounds; in proportion to the roots of these, the smallest sum of variances.
    penalty_bound : {"spectral", "frobenius"}, default="spectral"
        With ``"bounds"``: the norm of the critic's weights in the bound on the gradient of the
        penalty. Both are valid, the spectral one is several times smaller.
    max_grad_norm : float, default=1.0
        Norm to which gradients are clipped, with ``privacy="clipping"``.
    max_weight : float, default=None
        Cut the critic's weights to this absolute value after each step. Bounds are products of
        weights, so this limits them and the noise, and what the critic can learn.
    max_spectral_norm : float, default=None
        Limit of the largest singular value of a layer of the critic, kept after each step. 1 with
        ``penalty=0`` takes the place of the penalty, and is worse without noise and better with it.
    critic_layers, generator_layers : tuple of int, default=(32,) and (32, 32)
        Widths of the hidden layers.
    negative_slope : float, default=0.2
        Negative slope of the critic's leaky ReLU, in [0, 1]; 0 is a ReLU.
    n_latent : int, default=8
        Number of normal random numbers per generated row.
    penalty : float, default=1.0
        Weight of the penalty, and of its bound. Gulrajani et al. (2017) take 10, without noise.
    n_critic : int, default=5
        Steps of the critic for one of the generator.
    max_iter : int, default=1000
        Steps of the generator.
    batch_size : int, default=100
        Mean number of real rows in a step of the critic.
    learning_rate : float, default=2e-3
        Learning rate of Adam, for both nets.
    accountant : {"rdp", "prv"}, default="rdp"
        Rényi differential privacy, or the smaller of that and privacy loss random variables, which
        are usually tighter and slower.
    ledger : PrivacyLedger, default=None
        Where each fit is written down before its first step, see
        :class:`skmia.defenses.PrivacyLedger`.
    noise_seed : int, default=None
        Seed of the coins, the noise and the synthetic rows that go with real ones, for tests:
        ``epsilon_`` is infinite with one. If None, they come from the operating system.
    random_state : int, RandomState instance or None, default=None
        Controls the initial weights and synthetic rows that go without real ones, and with
        ``privacy=None`` all else. It does not touch the noise. Pass an int for reproducible
        initial weights.

    Attributes
    ----------
    generator_, critic_ : torch.nn.Sequential
        The trained nets; epsilon covers both. The critic gets numbers scaled to [0, 1] and blocks
        of values with one 1. Outputs of the generator are log odds of either.
    epsilon_ : float
        Epsilon of all steps at ``delta_``, in nats; infinite without noise.
    delta_ : float
        The delta of ``epsilon_``.
    noise_multiplier_ : float
        As given, or as ``target_epsilon`` needs it; 0 without noise.
    sample_rate_ : float
        Probability with which a row takes part in a step.
    n_steps_ : int
        Steps that saw real rows.
    n_fits_ : int
        Without a ledger, number of private fits of this generator and its clones until this one, as
        far as this process knows: fits in other processes are assumed to cost as much as this one.
    total_epsilon_ : float
        Epsilon of all of them together at ``delta_``, if they read the same rows.
    history_ : DataFrame
        A row for each of these steps: ``gradient_bound`` and ``penalty_bound``, norms of the most
        that one row changes the two sums (the penalty with its weight), and ``noise``, the root of
        the summed variances of the noise on the mean gradient. All follow from the weights, none
        from rows. Without noise it is empty.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    Raises
    ------
    ImportError
        If torch is not installed, or opacus, which accounts for the noise.
    ValueError
        If, without a ``schema``, a row lies outside the ranges or has a value that is not known, or
        if settings contradict each other.

    See Also
    --------
    skmia.defenses.DPSGDClassifier : Classifier with the same guarantee.
    GeneratorAttack : Membership attack on generators.
    rare_class_rate : Share of a rare class among synthetic rows.

    Notes
    -----
    The guarantee is (``epsilon_``, ``delta_``)-differential privacy of both nets and of all rows
    drawn from them, under these assumptions. Neighboring tables differ by one row that is replaced
    with one that contributes nothing (zero-out neighbors); the number of rows is public, and with
    it the sampling rate and the noise, and so are the ranges; the rows of a step are a Poisson
    sample. Without a ``schema``, the names of the columns are public, and the error on a row
    outside the ranges is about the data: cut rows to the ranges first where it could be seen.
    Searches over settings cost more. Sums and noise are rounded to a grid and added without error;
    the noise is drawn from the exact law of rounded normal numbers. :ref:`The limits of the
    guarantee <privacy_limits>` has what is not covered.

    A step releases two sums over the real rows of the sample: gradients of the critic's answers,
    and gradients of the penalty between these rows and made-up ones. With bounds w on the absolute
    values of the components and standard deviations s, a Gaussian mechanism has the noise
    multiplier z if ``sum((w / s)**2) <= 1 / z**2``: spherical is ``s = z * norm(w)``, proportional
    ``s = z * sqrt(k) * w``, minimum trace ``s**2 = z**2 * w * w.sum()``. A component that is 0 for
    all rows gets no noise. The two releases share the multiplier by
    ``1 / z**2 = 1 / z1**2 + 1 / z2**2`` so that the variances have the smallest sum.

    Bounds of the answers' gradient come from intervals that are sent through the critic and back,
    for all rows. With one hidden layer each is attained; with more they hold, but are not tight,
    because intervals ignore that units depend on each other. Pedersen (2022) calls them provably
    tight and mixes the two sets that the sums run over: for the lower end, positive weights take
    the lower ends and negative weights the upper ends. The gradient of a weight matrix is the
    product of the layer's input and the gradient of its biases, where the slides print the gradient
    of the input. In the first layer, a value and the slope behind it depend on each other.

    A column with a list of values is a block of inputs, in which one is 1 and all others are 0, for
    made-up rows as well (straight-through Gumbel softmax). A row moves the weights of a single
    place of each block, with the slope that a unit can have together with it, and a block adds to a
    sum of the first layer one of its weights, whatever their number. The condition above then has,
    for each block, the place with the largest sum; :ref:`the guide <bounds_of_blocks>` derives the
    noise. The gradient of the penalty depends on all weights of a block, so that its noise grows
    with the number of values.

    The penalty's gradient is bounded by ``2 * max(top - 1, 1)`` times the norms of all other
    layers, where top is the product over all layers. The slides print Frobenius norms.

    That every component is bounded by its worst row makes the norm of the bounds large, and it
    grows with the number of weights: few columns and a small critic keep it down. Clipping often
    needs less noise; gradients of a row, of a made-up one and of the penalty are one vector then.

    References
    ----------
    Pedersen, J. (2022). Privacy preservation and evaluation in machine learning. PhD defense, RPI.

    Jang, E., Gu, S. and Poole, B. (2017). Categorical reparameterization with Gumbel-softmax. ICLR.

    Gulrajani, I., Ahmed, F., Arjovsky, M., Dumoulin, V. and Courville, A. (2017). Improved training
    of Wasserstein GANs. NeurIPS.

    Mironov, I., Talwar, K. and Zhang, L. (2019). Rényi differential privacy of the sampled Gaussian
    mechanism. arXiv:1908.10530.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.synthetic import DPWassersteinGAN
    >>> X = np.random.default_rng(0).beta(2, 5, size=(1000, 2))
    >>> gan = DPWassersteinGAN(target_epsilon=3.0, max_iter=5, random_state=0).fit(X)
    >>> 2.97 <= gan.epsilon_ <= 3
    True
    >>> gan.sample(3, random_state=0).shape
    (3, 2)

    Whole numbers and values of categories have to be declared.

    >>> import pandas as pd
    >>> from skmia.defenses.schema import DeclaredSchema, NumberColumn, ValuesColumn
    >>> table = pd.DataFrame({"age": [23, 35, 61] * 50, "sex": ["f", "m", "f"] * 50})
    >>> schema = DeclaredSchema(
    ...     {"age": NumberColumn(18, 90, whole=True), "sex": ValuesColumn(["f", "m"])}
    ... )
    >>> gan = DPWassersteinGAN(schema=schema, noise_multiplier=1.0, max_iter=5, random_state=0)
    >>> made = gan.fit(table).sample(100, random_state=0)
    >>> made.dtypes.equals(table.dtypes), sorted(made["sex"].unique())
    (True, ['f', 'm'])
    """

    _parameter_constraints = {
        "lower": [Interval(Real, None, None, closed="neither"), "array-like", Mapping],
        "upper": [Interval(Real, None, None, closed="neither"), "array-like", Mapping],
        "columns": [StrOptions({"auto", "number"}), Mapping],
        "schema": [DeclaredSchema, None],
        "target_epsilon": [FINITE_POSITIVE, None],
        "target_delta": [DELTA, None],
        "noise_multiplier": [Interval(Real, 0, np.inf, closed="left"), None],
        "privacy": [StrOptions({"bounds", "clipping"}), None],
        "noise": [StrOptions({"spherical", "proportional", "minimum_trace"})],
        "penalty_bound": [StrOptions({"spectral", "frobenius"})],
        "max_grad_norm": [FINITE_POSITIVE],
        "max_weight": [FINITE_POSITIVE, None],
        "max_spectral_norm": [FINITE_POSITIVE, None],
        "critic_layers": [Iterable],
        "generator_layers": [Iterable],
        "negative_slope": [Interval(Real, 0, 1, closed="both")],
        "n_latent": [at_least(1)],
        "penalty": [Interval(Real, 0, np.inf, closed="left")],
        "n_critic": [at_least(1)],
        "max_iter": [at_least(1)],
        "batch_size": [at_least(1)],
        "learning_rate": [FINITE_POSITIVE],
        "accountant": [StrOptions({"rdp", "prv"})],
        "ledger": [PrivacyLedger, None],
        "noise_seed": [Interval(Integral, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        lower: float | ArrayLike | Mapping[Any, float] = 0.0,
        upper: float | ArrayLike | Mapping[Any, float] = 1.0,
        *,
        columns: Literal["auto", "number"] | Mapping[Any, Any] = "auto",
        schema: DeclaredSchema | None = None,
        target_epsilon: float | None = None,
        target_delta: float | None = None,
        noise_multiplier: float | None = None,
        privacy: Literal["bounds", "clipping"] | None = "bounds",
        noise: Literal["spherical", "proportional", "minimum_trace"] = "minimum_trace",
        penalty_bound: Literal["spectral", "frobenius"] = "spectral",
        max_grad_norm: float = 1.0,
        max_weight: float | None = None,
        max_spectral_norm: float | None = None,
        critic_layers: Sequence[int] = (32,),
        generator_layers: Sequence[int] = (32, 32),
        negative_slope: float = 0.2,
        n_latent: int = 8,
        penalty: float = 1.0,
        n_critic: int = 5,
        max_iter: int = 1000,
        batch_size: int = 100,
        learning_rate: float = 2e-3,
        accountant: Literal["rdp", "prv"] = "rdp",
        ledger: PrivacyLedger | None = None,
        noise_seed: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.lower = lower
        self.upper = upper
        self.columns = columns
        self.schema = schema
        self.target_epsilon = target_epsilon
        self.target_delta = target_delta
        self.noise_multiplier = noise_multiplier
        self.privacy = privacy
        self.noise = noise
        self.penalty_bound = penalty_bound
        self.max_grad_norm = max_grad_norm
        self.max_weight = max_weight
        self.max_spectral_norm = max_spectral_norm
        self.critic_layers = critic_layers
        self.generator_layers = generator_layers
        self.negative_slope = negative_slope
        self.n_latent = n_latent
        self.penalty = penalty
        self.n_critic = n_critic
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.accountant = accountant
        self.ledger = ledger
        self.noise_seed = noise_seed
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Train the generator.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_rows, n_features)
            Real rows within the ranges; a class is a column like others.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        import_optional("torch", "torch")
        check_container(X, "X")
        X = to_numpy(X) if is_tensor(X) else to_frame(X)
        # With noise all that the nets are made for has to be public.
        if self.schema is None:
            self._columns = GeneratedColumns(X, self, may_look=self.privacy is None)
        else:
            self._columns = DeclaredColumns(X, self)
        rows, contributes = self._columns.take_rows()
        seed = None
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
        self.delta_ = choose_target_delta(self.target_delta, len(rows))
        self.sample_rate_ = min(self.batch_size, len(rows)) / len(rows)
        self.n_steps_ = self.max_iter * self.n_critic
        self.noise_multiplier_ = float(self.noise_multiplier or 0.0)
        if self.target_epsilon is not None:
            given = self.delta_, self.sample_rate_, self.n_steps_, self.accountant
            self.noise_multiplier_ = float(choose_noise_multiplier(self.target_epsilon, *given))
        is_covered = self.privacy is not None and self.noise_seed is None
        self._price(self.noise_multiplier_ if is_covered else 0.0, len(rows))
        with isolated_randomness(np.random.SeedSequence(seed)):
            # Without privacy there is nothing to hide, and a training can be repeated.
            self._train(rows, contributes, seed if self.privacy is None else self.noise_seed)
        return self

    def _list_conflicting_parameters(self):
        if self.privacy is not None:
            yield from super()._list_conflicting_parameters()
        elif self.target_epsilon is not None or self.noise_multiplier is not None:
            yield "privacy=None takes neither target_epsilon nor noise_multiplier."
        if self.schema is not None:
            taken = {"lower": 0.0, "upper": 1.0, "columns": "auto"}
            for name in taken:
                if _is_set(getattr(self, name), taken[name]):
                    yield f"The schema has what {name} says; leave it out."
        for name in ("critic_layers", "generator_layers"):
            widths = getattr(self, name)
            if isinstance(widths, str) or not np.iterable(widths) or len(widths) == 0:
                yield f"{name} must be widths of at least one hidden layer; got {show(widths)}."
            for width in widths:
                check_count(width, f"A width of {name}")

    def _price(self, noise_multiplier, n_rows):
        """Say what the steps cost, and write them into the ledger."""
        steps = {"noise_multiplier": noise_multiplier}
        steps |= {"sample_rate": self.sample_rate_, "n_steps": self.n_steps_}
        self.epsilon_ = np.inf
        if noise_multiplier:
            self.epsilon_ = spent_epsilon([tuple(steps.values())], self.delta_, self.accountant)
        if self.ledger is not None:
            self.ledger.record(**steps, n_rows=n_rows)
        elif noise_multiplier:
            self.n_fits_, self.total_epsilon_ = self._count_fit(
                tuple(steps.values()), self.delta_, self.accountant
            )

    def _train(self, rows, contributes, noise_seed):
        from ._gan_training import GanTraining

        settings = {**self.get_params(deep=False), "noise_multiplier": self.noise_multiplier_}
        plan, randomness = SimpleNamespace(**settings), PrivateRandomness(noise_seed)
        training = GanTraining(rows, plan, randomness, self._columns.layout, contributes)
        training.run()
        self.generator_, self.critic_ = training.generator, training.critic
        columns = ["gradient_bound", "penalty_bound", "noise"]
        self.history_ = pd.DataFrame(training.history, columns=columns, dtype=float)

    def sample(self, n_samples: int = 1, *, random_state: Seed = None) -> pd.DataFrame | np.ndarray:
        """Draw rows from the generator.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows to generate.
        random_state : int, RandomState instance or None, default=None
            Seed of the rows. If None, every call draws new rows.

        Returns
        -------
        X : DataFrame or ndarray of shape (n_samples, n_features)
            Within the ranges, with the columns and types of the ``schema``, or the columns of the
            training table; with ``privacy=None`` alone also with its types. Values are those named
            in ``columns``, and other numbers are then decimal.
        """
        check_is_fitted(self)
        n_samples = check_count(n_samples, "n_samples")
        torch = import_optional("torch", "torch")
        rng = np.random.default_rng() if random_state is None else check_random_state(random_state)
        latent = torch.tensor(rng.normal(size=(n_samples, self.generator_[0].in_features)))
        with torch.no_grad():
            outputs = self.generator_(latent).numpy()
        if not np.isfinite(outputs).all():
            raise ValueError("The generator draws no finite numbers; train it in smaller steps.")
        return self._columns.restore(self._columns.layout.draw_rows(outputs, rng))
