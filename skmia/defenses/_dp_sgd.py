"""Neural networks trained with differential privacy."""

import copy
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from .._core.accountant import choose_noise_multiplier, spent_epsilon
from .._core.error_hints import with_advice
from .._core.matrix import validate_matrix
from .._core.optional import import_optional
from .._core.probabilities import check_answered
from .._core.randomness import isolated_randomness, preserved_randomness
from .._core.sklearn import HasMethods, Interval, StrOptions
from .._core.types import ArrayLike, Rows, Seed
from ._exact_noise import PrivateRandomness
from ._ledger import PrivacyLedger
from ._meta import _ask_units
from ._repeated_fits import BudgetedFits
from .mechanisms import (
    DELTA,
    FINITE_POSITIVE,
    choose_target_delta,
    read_classes,
    validate_rows,
)
from .schema import DeclaredSchema, name_features


class DPSGDClassifier(BudgetedFits, ClassifierMixin, BaseEstimator):
    """A skorch net trained by differentially private gradient descent.

    In each step every row takes part with the same probability, independently of the others. Its
    gradient is clipped to a norm, normal noise is added to the sum, and the sum is divided by the
    nominal size of the batch. opacus accounts for the noise.

    Only the module, the criterion and the optimizer of the net are used. Each row passes through
    them separately, and only the weights are returned.

    Parameters
    ----------
    estimator : skorch.NeuralNetClassifier or callable
        Net with ``criterion=CrossEntropyLoss`` or ``NLLLoss`` and ``train_split=None``; its
        optimizer, batch size, epochs, device, data set and ``collate_fn`` are used. An
        ``LRScheduler`` callback with a fixed schedule is supported; callbacks that could see rows
        or losses are refused. With ``verbose`` above 0, a progress bar is shown. A callable returns
        such a net for the number of features and the number of classes.
    target_epsilon : float, default=None
        Total privacy budget epsilon of all epochs, in nats. The noise is the smallest that keeps
        within it, to 0.01 of epsilon. Set either this or ``noise_multiplier``.
    target_delta : float, default=None
        The delta at which epsilon is stated. If None, a tenth of one over the number of rows.
    noise_multiplier : float, default=None
        Standard deviation of the noise on the sum of gradients, in units of ``max_grad_norm``. With
        0 the training is not private, and ``epsilon_`` is infinite.
    max_grad_norm : float, default=1.0
        Euclidean norm over all parameters to which the gradient of a row is clipped. Infinity,
        which needs a ``noise_multiplier`` of 0, clips nothing.
    poisson_sampling : bool, default=True
        If False, the net's own batches are used, which no accountant here covers, so ``epsilon_``
        is infinite. Use this only for comparisons.
    accountant : {"rdp", "prv"}, default="rdp"
        Rényi differential privacy, or the smaller of that and privacy loss random variables, which
        are usually tighter and slower.
    classes : array-like of shape (n_classes,), default=None
        All possible labels, known without the data. A row with another label contributes nothing.
        If None, they are taken from ``y``, which ``epsilon_`` does not cover, with a warning.
    schema : DeclaredSchema, default=None
        Columns and classes of the table, declared without looking at it, so that types and shapes
        do not depend on the rows. The inputs of the net are those of
        :meth:`skmia.defenses.schema.DeclaredSchema.encode`. A row that does not fit contributes
        nothing. Replaces ``classes``.
    public_weights : bool, default=False
        If False, the net starts from new weights. If True, it starts from its current weights, and
        you declare that they do not depend on private rows, such as the weights of a module that
        was trained on public data. ``epsilon_`` relies on this declaration, and the ledger records
        it.
    ledger : PrivacyLedger, default=None
        Ledger in which each fit is recorded before its first step, so that the total cost of all
        fits on the same rows, such as those of a search, is known.
    on_step : callable, default=None
        Called as ``on_step(step, noisy_gradient, parameters)`` in each step, with its number from
        0, the noisy sum of clipped gradients divided by the nominal size of the batch (not divided
        with ``criterion__reduction="sum"``), and the trained weights before the step, both as new
        ndarrays of shape (n_parameters,) in the order of the module. ``epsilon_`` covers all of
        this, so an auditor may see it. Pass a function, because ``clone`` copies an object together
        with what it has collected.
    extra_gradients : callable, default=None
        For audits: called as ``extra_gradients(step, parameters)`` in each step; returns an ndarray
        of shape (n_extra, n_parameters), gradients of further rows. Each is clipped, takes part as
        a row does, by a coin in each step (in one step of each epoch without Poisson sampling), and
        is added before the noise; sizes and rates do not count it. If the function does not depend
        on rows, ``epsilon_`` covers rows as well as these gradients, which move the weights.
    noise_seed : int, default=None
        Seed of the coin flips, the noise and the net's random draws in training, for tests only:
        with a seed, ``epsilon_`` is infinite. If None, they come from the operating system.
    random_state : int, RandomState instance or None, default=None
        Controls the initial weights. With noise, it does not affect the random draws of the net in
        training, such as dropout, because they would reveal a missing row in all later draws. Pass
        an int for reproducible initial weights.

    Attributes
    ----------
    estimator_ : skorch.NeuralNetClassifier
        A new net with the trained weights. It has no history, and its optimizer and buffers are as
        they were before the first step.
    epsilon_ : float
        Epsilon of all steps of this fit at ``delta_``, in nats.
    delta_ : float
        The delta of ``epsilon_``.
    noise_multiplier_ : float
        As given, or as ``target_epsilon`` needs it.
    sample_rate_ : float
        Probability with which a row takes part in a step.
    n_steps_ : int
        Number of steps performed.
    n_fits_ : int
        Without a ledger, number of private fits of this estimator and its clones until this one, as
        far as this process knows; fits in other processes are assumed to be like this one.
    total_epsilon_ : float
        Epsilon of all of them together at ``delta_``, if they read the same rows.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where they are strings.

    See Also
    --------
    skmia.defenses.mechanisms.GaussianMechanism : Noise on a result instead of on the training.
    skmia.leakage.bounds.dp_advantage_bound : Largest advantage of an attack under epsilon.
    skmia.epsilon.canaries.make_gradient_canaries : Gradients to plant by ``extra_gradients``.
    skmia.epsilon.canaries.trace_scores : Scores of canaries in the gradients passed to ``on_step``.

    Notes
    -----
    The guarantee is (``epsilon_``, ``delta_``)-differential privacy of the weights, under these
    assumptions: neighboring data sets differ by one row that is replaced with one that contributes
    nothing (zero-out neighbors; for any other replacement, apply the guarantee twice); the rows of
    a step are a Poisson sample; the number of rows is public, and with it the sampling rate, the
    number of steps and the noise; all weights of all steps may be seen. It holds for one fit:
    searches over settings and other choices that depend on the data cost more. :ref:`The limits of
    the guarantee <privacy_limits>` lists what else is not covered.

    The net starts from new weights: a module that is passed as an object is copied, and its layers
    are initialized by ``reset_parameters``. To verify this, three nets are created before each fit.
    Weights that are equal for different seeds and not constant, or that differ for the same seed,
    were not drawn at random, and the net is refused. Weights that do not depend on private rows can
    be kept by ``public_weights=True``; ``epsilon_`` is then a statement about this training alone,
    and relies on the declaration.

    At the order a, of Rényi, a step of the sampling rate q and the noise multiplier s costs
    ``log(sum_k binom(a, k) (1 - q)**(a - k) q**k exp(k (k - 1) / (2 s**2))) / (a - 1)``. T steps
    cost the smallest ``T * step + log(1 - 1 / a) - log(delta * a) / (a - 1)`` over orders.

    The noise on the sum has the variance ``(s * max_grad_norm)**2``; O'Dell (2023) prints
    ``max_grad_norm`` without the square. The sum is divided by the nominal size of the batch for
    any size of the sample, and a step without rows consists of noise alone. An epoch has
    ``ceil(n_samples / batch_size)`` steps. A row whose gradient is not finite contributes nothing.

    Rows go through data set, ``collate_fn``, module and criterion one by one, or together by
    ``torch.func.vmap`` where a trial with synthetic rows shows that this is the same. A module that
    normalizes over the rows of a batch, or whose buffers or gradients change with the rows that it
    saw before, is refused. Clipped gradients are rounded to a grid of about ``2**-30`` of the noise
    and added without error; the noise on each sum is a normal number rounded to the grid, drawn
    from its exact distribution.

    References
    ----------
    Abadi, M., Chu, A., Goodfellow, I., McMahan, H. B., Mironov, I., Talwar, K. and Zhang, L.
    (2016). Deep learning with differential privacy. CCS.

    Mironov, I., Talwar, K. and Zhang, L. (2019). Rényi differential privacy of the sampled Gaussian
    mechanism. arXiv:1908.10530.

    Yousefpour, A. et al. (2021). Opacus: user-friendly differential privacy library in PyTorch.
    arXiv:2109.12298.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skorch import NeuralNetClassifier
    >>> from torch import nn
    >>> from skmia.defenses import DPSGDClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> def make_net(n_features, n_classes):
    ...     return NeuralNetClassifier(
    ...         nn.Linear(n_features, n_classes), criterion=nn.CrossEntropyLoss, batch_size=30,
    ...         max_epochs=2, lr=0.2, train_split=None, verbose=0,
    ...     )
    >>> private = DPSGDClassifier(make_net, target_epsilon=3.0, classes=[0, 1, 2], random_state=0)
    >>> private.fit(X, y).epsilon_ <= 3
    True
    """

    # Each fit draws its weights, or they are declared to be public: copies know no rows.
    _begins_anew = True

    _parameter_constraints = {
        "estimator": [HasMethods(["initialize", "partial_fit", "predict_proba"]), callable],
        "target_epsilon": [FINITE_POSITIVE, None],
        "target_delta": [DELTA, None],
        "noise_multiplier": [Interval(Real, 0, np.inf, closed="left"), None],
        "max_grad_norm": [Interval(Real, 0, None, closed="right")],
        "poisson_sampling": ["boolean"],
        "accountant": [StrOptions({"rdp", "prv"})],
        "classes": ["array-like", None],
        "schema": [DeclaredSchema, None],
        "public_weights": ["boolean"],
        "ledger": [PrivacyLedger, None],
        "on_step": [callable, None],
        "extra_gradients": [callable, None],
        "noise_seed": [Interval(Integral, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator | Callable[..., Any],
        *,
        target_epsilon: float | None = None,
        target_delta: float | None = None,
        noise_multiplier: float | None = None,
        max_grad_norm: float = 1.0,
        poisson_sampling: bool = True,
        accountant: Literal["rdp", "prv"] = "rdp",
        classes: ArrayLike | None = None,
        schema: DeclaredSchema | None = None,
        public_weights: bool = False,
        ledger: PrivacyLedger | None = None,
        on_step: Callable[..., Any] | None = None,
        extra_gradients: Callable[..., Any] | None = None,
        noise_seed: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.target_epsilon = target_epsilon
        self.target_delta = target_delta
        self.noise_multiplier = noise_multiplier
        self.max_grad_norm = max_grad_norm
        self.poisson_sampling = poisson_sampling
        self.accountant = accountant
        self.classes = classes
        self.schema = schema
        self.public_weights = public_weights
        self.ledger = ledger
        self.on_step = on_step
        self.extra_gradients = extra_gradients
        self.noise_seed = noise_seed
        self.random_state = random_state

    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Train the net.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, ...)
            Features, cast to the type of the net's weights.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
            Fitted estimator.

        Raises
        ------
        ImportError
            If opacus is not installed.
        ValueError
            If settings contradict each other, or when clipping would not bound what one row
            changes in the net.
        """
        import_optional("opacus", "dp")
        import_optional("skorch", "torch")
        from . import _private_training as training

        X, y, classes = self._read_rows(X, y)
        given = self.random_state is not None
        seed = check_random_state(self.random_state).randint(2**31 - 1) if given else None
        self.delta_ = choose_target_delta(self.target_delta, len(X))
        with isolated_randomness(np.random.SeedSequence(seed)):
            self.estimator_ = self._make_net(training, X, classes)
            with np.errstate(over="ignore"):  # a warning would tell of the row
                X = X.astype(self._dtype(), copy=False)
            self.classes_ = self._name_units(X.shape[1:], classes)
            together = training.try_net(self.estimator_, X.shape[1:], len(self.classes_))
            if self.schema is None:
                codes = training.encode(y, self.classes_)
            elif len(classes) == len(self.classes_):  # y are places among the declared classes
                codes = y
            else:  # which are numbers of units
                codes = np.where(y < 0, -1, classes[y]).astype(np.int64)
            self._train(training, X, codes, together)
        return self

    def plan_steps(self, X: Rows, y: ArrayLike) -> list[tuple[float, float, int]]:
        """Return the steps of a fit on so many rows, which determine its cost, without training.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, ...)
            Features; their shape alone counts.
        y : array-like of shape (n_samples,)
            Labels, which are read if ``classes`` is None.

        Returns
        -------
        steps : list of tuple
            The noise multiplier, the sampling rate and the number of steps. The noise is 0 if no
            accountant covers the fit.
        """
        self._validate_parameters()
        import_optional("opacus", "dp")
        import_optional("skorch", "torch")
        from . import _private_training as training

        X, _, classes = copy.copy(self)._read_rows(X, y)
        n_rows = len(X)
        with isolated_randomness(np.random.SeedSequence(0)):
            net = self._make_net(training, X, classes)
        delta = choose_target_delta(self.target_delta, n_rows)
        privacy = self._plan(training, net, n_rows, delta)
        noise = float(privacy.noise_multiplier) if self._is_covered else 0.0
        return [(noise, privacy.sample_rate, privacy.n_steps * privacy.n_epochs)]

    @property
    def _is_covered(self):
        """Whether an accountant covers the fit."""
        return self.poisson_sampling and self.noise_seed is None

    def _plan(self, training, net, n_rows, delta):
        def needed_noise(rate, n_steps):
            return choose_noise_multiplier(
                self.target_epsilon, delta, rate, n_steps, self.accountant
            )

        noise = needed_noise if self.noise_multiplier is None else self.noise_multiplier
        return training.plan(net, n_rows, noise, self.max_grad_norm, self.poisson_sampling)

    def _read_rows(self, X, y):
        """Return features, labels and all classes.

        With a schema, of labels the places among these.
        """
        if self.schema is None:
            X, y = validate_rows(self, X, y, allow_nd=True)
            y = column_or_1d(y)
            check_classification_targets(y)
            return X, y, read_classes(self.classes, y)
        classes = self.schema.find_classes()
        (X, fits), codes = self.schema.encode(X), self.schema.read_labels(y, classes)
        check_consistent_length(X, codes)
        name_features(self, self.schema)
        return X, np.where(fits, codes, -1), classes

    def _make_net(self, training, X, classes):
        """Return an initialized net with new weights, all of which private training can take."""
        sizes = X.shape[1], len(classes)
        given = self.poisson_sampling, self.public_weights
        net = training.make_private_net(self.estimator, *sizes, *given)
        training.check_trainable(net)
        return net

    def _list_conflicting_parameters(self):
        yield from super()._list_conflicting_parameters()
        if self.schema is not None and self.classes is not None:
            yield "classes are those of the schema; leave classes out."
        if self.max_grad_norm == np.inf and self.noise_multiplier != 0:
            yield "Noise needs a finite max_grad_norm; got inf."
        if self.target_epsilon is not None and not self.poisson_sampling:
            yield "target_epsilon needs poisson_sampling=True; got False."

    def _dtype(self):
        parameter = next(self.estimator_.module_.parameters())
        return np.float64 if "float64" in str(parameter.dtype) else np.float32

    def _name_units(self, row_shape, classes):
        """Return the class labels in output order, found by predicting a dummy row."""
        rows = np.zeros((2, *row_shape), dtype=self._dtype())
        with with_advice(self.estimator_, rows):
            n_units, _ = _ask_units(self.estimator_, rows)
        if n_units == len(classes):
            return classes
        if classes.dtype.kind not in "iu" or not np.isin(classes, np.arange(n_units)).all():
            raise ValueError(
                f"A net with {n_units} output units needs as many classes, or labels 0 to "
                f"{n_units - 1}; there are {len(classes)} classes."
            )
        return np.arange(n_units)

    def _train(self, training, X, codes, together):
        net = self.estimator_
        privacy = self._plan(training, net, len(X), self.delta_)
        is_covered = self._is_covered and privacy.noise_multiplier > 0
        noise = float(privacy.noise_multiplier) if is_covered else 0.0
        planned = privacy.n_steps * privacy.n_epochs
        self.epsilon_ = spent_epsilon(
            [(noise, privacy.sample_rate, planned)], self.delta_, self.accountant
        )
        if self.ledger is not None:
            self.ledger.record(
                noise_multiplier=noise,
                sample_rate=privacy.sample_rate,
                n_steps=planned,
                n_rows=len(X),
                kind="fit from public weights" if self.public_weights else "fit",
            )
        elif is_covered:
            steps = (noise, privacy.sample_rate, planned)
            self.n_fits_, self.total_epsilon_ = self._count_fit(steps, self.delta_, self.accountant)
        if not self.poisson_sampling:  # a loader would draw rows that contribute nothing
            X, codes = X[codes >= 0], codes[codes >= 0]
            if not len(X):
                raise ValueError("No row has a label of classes, and poisson_sampling=False.")
        self.n_steps_ = training.train_privately(
            net,
            X,
            codes,
            privacy,
            PrivateRandomness(self.noise_seed),
            together,
            training.AuditorExtras(self.on_step, self.extra_gradients),
            net.verbose,
        )
        self.noise_multiplier_ = float(privacy.noise_multiplier)
        self.sample_rate_ = privacy.sample_rate

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, ...)
            Features.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)

        Raises
        ------
        ValueError
            If the net returns NaN, as after training with noise beyond what its type can hold.
        """
        check_is_fitted(self)
        if self.schema is None:
            X = validate_matrix(self, X, allow_nd=True, reset=False)
        else:
            X, _ = self.schema.encode(X)
        # Asking draws as well: a data loader of torch takes a seed for each pass.
        with preserved_randomness(), with_advice(self.estimator_, X):
            proba = self.estimator_.predict_proba(X.astype(self._dtype(), copy=False))
        check_answered(proba)  # noise beyond the type of the weights leaves nothing of them
        return proba

    def predict(self, X: Rows) -> np.ndarray:
        """Return labels with the largest probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, ...)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.noise_seed is None
        return tags
