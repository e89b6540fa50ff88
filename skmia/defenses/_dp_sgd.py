"""Nets trained with differential privacy."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ..shadow._seeding import isolated_randomness
from ..utils._optional import import_optional
from ..utils._sklearn import HasMethods, Interval, StrOptions, validate_params_of
from ._accountant import find_noise_multiplier, make_accountant, spent_epsilon
from ._mechanisms import DELTA, FINITE_POSITIVE
from ._private_training import check_trainable, plan, train_privately
from ._soft_targets import _ask_units


class DPSGDClassifier(ClassifierMixin, BaseEstimator):
    """A skorch net trained by differentially private gradient descent.

    In each step every row takes part with the same probability, on its own. Its gradient is clipped
    to a norm, normal noise is added to the sum, and the sum is divided by the nominal size of the
    batch. opacus does that, and accounts for it.

    Parameters
    ----------
    net : skorch.NeuralNetClassifier or callable
        With ``criterion=CrossEntropyLoss`` or ``NLLLoss`` and ``train_split=None``; its optimizer,
        batch size, epochs and device are used. A callable makes such a net of the number of
        features and the number of classes, as :func:`skmia.victims.make_small_net` does.
    target_epsilon : float, default=None
        The epsilon, in nats, that all epochs together may cost. Give this or ``noise_multiplier``.
    target_delta : float, default=None
        The delta at which epsilon is stated; a tenth of one over the number of rows with None.
    noise_multiplier : float, default=None
        Standard deviation of the noise on the sum of gradients, in units of ``max_grad_norm``. With
        0 there is no privacy, and ``epsilon_`` is infinite.
    max_grad_norm : float, default=1.0
        Euclidean norm over all parameters to which the gradient of a row is clipped. Infinity,
        which needs a ``noise_multiplier`` of 0, clips nothing.
    poisson_sampling : bool, default=True
        False goes through the rows in the net's own batches, which no accountant here covers:
        ``epsilon_`` is infinite. It is there for comparisons.
    accountant : {"rdp", "prv"}, default="rdp"
        Rényi differential privacy, or privacy loss random variables, which are tighter and slower.
    on_step : callable, default=None
        Called as ``on_step(step, noisy_gradient, parameters)`` in each step, with its number from
        0, the noisy sum of clipped gradients divided by the nominal size of the batch (not divided
        with ``criterion__reduction="sum"``), and the trained weights before the step, both as new
        ndarrays of shape (n_parameters,) in the order of the module. An auditor may see all that:
        ``epsilon_`` covers it. Give a function: ``clone`` copies an object and what it collects.
    random_state : int, RandomState instance or None, default=None
        Seeds the weights, the sampling and the noise; None asks the operating system. Whoever knows
        the seed can take the noise off: give one for tests, not for a model that is handed out.

    Attributes
    ----------
    estimator_ : skorch.NeuralNetClassifier
        Trained, with its module and optimizer as they were without opacus. Its ``history`` holds
        losses of the training rows, which no noise covers: do not hand it out.
    epsilon_ : float
        What the steps that were made cost at ``delta_``, in nats.
    delta_ : float
        The delta of ``epsilon_``.
    noise_multiplier_ : float
        As given, or as ``target_epsilon`` needs it.
    sample_rate_ : float
        Probability with which a row takes part in a step.
    n_steps_ : int
        Steps that were made.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where they are strings.

    See Also
    --------
    GaussianMechanism : Noise on a result instead of on the training.
    skmia.leakage.dp_advantage_bound : The most that epsilon lets an attack gain.
    skmia.auditing.trace_scores : What an auditor finds in the gradients that ``on_step`` sees.

    Notes
    -----
    The guarantee is (``epsilon_``, ``delta_``)-differential privacy of the weights, under these
    assumptions: neighbouring data sets differ by one row that is added or removed (for one that is
    replaced, apply the guarantee twice); the rows of a step are a Poisson sample; the number of
    rows and the sampling rate are public; all weights of all steps may be seen. It holds for one
    fit: searches over settings, other choices that depend on the data and earlier training of the
    module cost more. Callbacks that act on training losses, such as early stopping, are not
    covered.

    At the order a, of Rényi, a step of the sampling rate q and the noise multiplier s costs
    ``log(sum_k binom(a, k) (1 - q)**(a - k) q**k exp(k (k - 1) / (2 s**2))) / (a - 1)``. T steps
    cost the smallest ``T * step + log(1 - 1 / a) - log(delta * a) / (a - 1)`` over orders.

    The noise on the sum has the variance ``(s * max_grad_norm)**2``; O'Dell (2023) prints
    ``max_grad_norm`` without the square. The sum is divided by the nominal size of the batch
    whatever the sample was, and a step on no row at all is made with noise alone.

    An epoch has ``ceil(n_samples / batch_size)`` steps. Layers that mix rows, such as batch
    normalisation, are refused. The random numbers are those of torch, which no cryptographer
    would use and whose seed has 32 bits on a CPU.

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
    >>> from functools import partial
    >>> from sklearn.datasets import load_iris
    >>> from skmia.defenses import DPSGDClassifier
    >>> from skmia.victims import make_small_net
    >>> X, y = load_iris(return_X_y=True)
    >>> net = partial(make_small_net, batch_size=30, max_epochs=10, lr=0.2)
    >>> private = DPSGDClassifier(net, target_epsilon=3.0, random_state=0)
    >>> private.fit(X, y).epsilon_ <= 3
    True
    """

    _parameter_constraints = {
        "net": [HasMethods(["initialize", "partial_fit", "predict_proba"]), callable],
        "target_epsilon": [FINITE_POSITIVE, None],
        "target_delta": [DELTA, None],
        "noise_multiplier": [Interval(Real, 0, np.inf, closed="left"), None],
        "max_grad_norm": [Interval(Real, 0, None, closed="right")],
        "poisson_sampling": ["boolean"],
        "accountant": [StrOptions({"rdp", "prv"})],
        "on_step": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        net,
        *,
        target_epsilon=None,
        target_delta=None,
        noise_multiplier=None,
        max_grad_norm=1.0,
        poisson_sampling=True,
        accountant="rdp",
        on_step=None,
        random_state=None,
    ):
        self.net = net
        self.target_epsilon = target_epsilon
        self.target_delta = target_delta
        self.noise_multiplier = noise_multiplier
        self.max_grad_norm = max_grad_norm
        self.poisson_sampling = poisson_sampling
        self.accountant = accountant
        self.on_step = on_step
        self.random_state = random_state

    def fit(self, X, y):
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
            The fitted classifier.

        Raises
        ------
        ImportError
            When opacus is not installed.
        ValueError
            When settings contradict each other, or when clipping would not bound what one row
            changes in the net.
        """
        validate_params_of(self)
        self._check_settings()
        import_optional("opacus", "dp")
        X, y = validate_data(self, X, y, allow_nd=True)
        y = column_or_1d(y)
        check_classification_targets(y)
        classes = np.unique(y)
        seed = None
        if self.random_state is not None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
        self.delta_ = 0.1 / len(X) if self.target_delta is None else self.target_delta
        with isolated_randomness(np.random.SeedSequence(seed)):
            self.estimator_ = self._make_net(classes)
            check_trainable(self.estimator_)
            X = X.astype(self._dtype(), copy=False)
            self.classes_ = self._name_units(X, classes)
            self._train(X, np.searchsorted(self.classes_, y).astype(np.int64))
        return self

    def _check_settings(self):
        given = [self.target_epsilon is not None, self.noise_multiplier is not None]
        if sum(given) != 1:
            raise ValueError(
                "Give one of target_epsilon and noise_multiplier; got "
                f"{'both' if all(given) else 'neither'}."
            )
        if self.max_grad_norm == np.inf and self.noise_multiplier != 0:
            raise ValueError("Noise needs a finite max_grad_norm; got inf.")
        if self.target_epsilon is not None and not self.poisson_sampling:
            raise ValueError("target_epsilon needs poisson_sampling=True; got False.")

    def _make_net(self, classes):
        if hasattr(self.net, "initialize"):
            return clone(self.net).initialize()
        return self.net(self.n_features_in_, len(classes)).initialize()

    def _dtype(self):
        parameter = next(self.estimator_.module_.parameters())
        return np.float64 if "float64" in str(parameter.dtype) else np.float32

    def _name_units(self, X, classes):
        """Labels of the output units."""
        n_units, _ = _ask_units(self.estimator_, X)
        if n_units == len(classes):
            return classes
        if classes.dtype.kind not in "iu" or not np.isin(classes, np.arange(n_units)).all():
            raise ValueError(
                f"A net with {n_units} output units needs as many classes, or labels 0 to "
                f"{n_units - 1}; got {classes.tolist()}."
            )
        return np.arange(n_units)

    def _train(self, X, codes):
        net, accountant = self.estimator_, make_accountant(self.accountant)

        def needed_noise(rate, n_steps):
            return find_noise_multiplier(
                self.target_epsilon, self.delta_, rate, n_steps, self.accountant
            )

        noise = needed_noise if self.noise_multiplier is None else self.noise_multiplier
        privacy = plan(net, len(X), noise, self.max_grad_norm, self.poisson_sampling)
        train_privately(net, X, codes, privacy, accountant, self.on_step)
        self.noise_multiplier_ = float(privacy.noise_multiplier)
        self.sample_rate_ = privacy.sample_rate
        self.n_steps_ = sum(steps for _, _, steps in accountant.history)
        covered = self.poisson_sampling or not self.n_steps_
        self.epsilon_ = spent_epsilon(accountant, self.delta_) if covered else np.inf

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, ...)
            Features.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, allow_nd=True, reset=False)
        return self.estimator_.predict_proba(X.astype(self._dtype(), copy=False))

    def predict(self, X):
        """Labels, those of the largest probability.

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
