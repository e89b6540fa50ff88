"""Laplace noise."""

from ._mechanisms import FINITE_POSITIVE, NoiseMechanism


class LaplaceMechanism(NoiseMechanism):
    """Release values with Laplace noise, which is epsilon-differentially private.

    Each value gets noise of the density proportional to ``exp(-|noise| * epsilon / sensitivity)``.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each row that ``transform`` returns, in nats, above 0.
    sensitivity : float, default=1.0
        The most that one record changes a row of X, in the sum of the absolute changes over its
        columns (L1). It is a claim of the user that nothing here can check.
    random_state : int, RandomState instance or None, default=None
        None takes new noise from the operating system at every call. A seed makes the sequence of
        calls after ``fit`` repeatable, and is a key that takes the noise off again: for tests.

    Attributes
    ----------
    scale_ : float
        ``sensitivity / epsilon``; the standard deviation of the noise is sqrt(2) times that.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where they are strings.

    See Also
    --------
    GaussianMechanism : For a sensitivity in the Euclidean norm.

    Notes
    -----
    A row is one release. Rows that depend on the same record add up their epsilons; rows that are
    the records themselves are private each on its own, and then the sensitivity is that between
    any two records.

    The ratio of the densities at two neighbouring data sets is at most ``exp(+epsilon)``, by the
    triangle inequality. The source prints a minus sign in the exponent.

    ``transform`` never repeats noise, or the difference of two calls would show the exact
    difference; scikit-learn's tag ``non_deterministic`` says so. The guarantee is for real numbers:
    the lowest digits of floating-point numbers can tell more.

    References
    ----------
    Dwork, C., McSherry, F., Nissim, K. and Smith, A. (2006). Calibrating noise to sensitivity in
    private data analysis. TCC.

    Mironov, I. (2012). On significance of the least significant bits for differential privacy.
    CCS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.defenses import LaplaceMechanism
    >>> counts = np.array([[120.0], [80.0]])
    >>> mechanism = LaplaceMechanism(epsilon=0.5, random_state=0).fit(counts)
    >>> mechanism.scale_
    2.0
    >>> mechanism.transform(counts).shape
    (2, 1)
    """

    _parameter_constraints = {
        **NoiseMechanism._parameter_constraints,
        "sensitivity": [FINITE_POSITIVE],
    }

    def __init__(self, epsilon=1.0, sensitivity=1.0, *, random_state=None):
        self.epsilon = epsilon
        self.sensitivity = sensitivity
        self.random_state = random_state

    def _calibrate(self, n_features):
        self.scale_ = self.sensitivity / self.epsilon

    def _noise(self, shape, rng):
        return rng.laplace(scale=self.scale_, size=shape)
