"""Laplace noise."""

import math
from fractions import Fraction

import numpy as np

from .._core.types import Seed
from ._exact_noise import LARGEST_SCALE, discrete_laplace
from ._grid import choose_exponents, count_steps
from ._mechanisms import NoiseMechanism
from .private_input import FINITE_POSITIVE


class LaplaceMechanism(NoiseMechanism):
    """Mechanism with Laplace noise, which is epsilon-differentially private.

    Each value gets noise with probabilities proportional to ``exp(-|noise| * epsilon /
    sensitivity)``, drawn exactly on a grid of about ``2**-40`` times its scale.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of each row that ``transform`` returns, in nats, above 0.
    sensitivity : float, default=1.0
        Largest change of a row of X by one record, as the sum of the absolute changes over its
        columns (L1). This is a claim of the user that cannot be checked.
    random_state : int, RandomState instance or None, default=None
        If None, every call draws new noise from the operating system. A seed makes the sequence of
        calls after ``fit`` repeatable, and is a key that takes the noise off again: for tests.

    Attributes
    ----------
    scale_ : float
        Scale of the noise that is added: ``sensitivity / epsilon``, and a little more for rounding
        to the grid. The standard deviation of the noise is sqrt(2) times that.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    GaussianMechanism : Mechanism for a sensitivity in the Euclidean norm.

    Notes
    -----
    A row is one release. Rows that depend on the same record add up their epsilons; rows that are
    the records themselves are private each on its own, and then the sensitivity is that between
    any two records.

    The ratio of the densities at two neighboring data sets is at most ``exp(+epsilon)``, by the
    triangle inequality. The source prints a minus sign in the exponent.

    ``transform`` never repeats noise, or the difference of two calls would show the exact
    difference; scikit-learn's tag ``non_deterministic`` says so.

    The lowest digits of noise in floating-point arithmetic reveal the exact value. Values are
    therefore rounded to a grid of a power of two, which depends on the parameters alone, and noise
    of the discrete Laplace law is added in integers, with random words of the operating system. In
    this arithmetic epsilon holds exactly, with a delta of 0.
    :ref:`The limits of the guarantee <privacy_limits>` has what
    remains, such as the time that a call takes.

    References
    ----------
    Dwork, C., McSherry, F., Nissim, K. and Smith, A. (2006). Calibrating noise to sensitivity in
    private data analysis. TCC.

    Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for differential privacy.
    NeurIPS.

    Mironov, I. (2012). On significance of the least significant bits for differential privacy.
    CCS.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.defenses import LaplaceMechanism
    >>> counts = np.array([[120.0], [80.0]])
    >>> mechanism = LaplaceMechanism(epsilon=0.5, random_state=0).fit(counts)
    >>> round(mechanism.scale_, 9)
    2.0
    >>> mechanism.transform(counts).shape
    (2, 1)
    """

    _parameter_constraints = {
        **NoiseMechanism._parameter_constraints,
        "sensitivity": [FINITE_POSITIVE],
    }

    def __init__(
        self, epsilon: float = 1.0, sensitivity: float = 1.0, *, random_state: Seed = None
    ) -> None:
        self.epsilon = epsilon
        self.sensitivity = sensitivity
        self.random_state = random_state

    _sample = staticmethod(discrete_laplace)

    def _calibrate(self, n_features):
        exponent = choose_exponents(self.sensitivity / self.epsilon, "sensitivity / epsilon")
        # Each column can be rounded up by a step.
        steps = count_steps(self.sensitivity, exponent) + n_features - 1
        scale = math.ceil(steps / Fraction(float(self.epsilon)))
        if scale > LARGEST_SCALE:
            raise ValueError(
                f"epsilon={self.epsilon:g} is too small for {n_features} columns in one row."
            )
        self.scale_ = float(np.ldexp(float(scale), int(exponent)))
        self._exponents = np.full(n_features, exponent)
        self._steps = np.full(n_features, scale, dtype=np.int64)
