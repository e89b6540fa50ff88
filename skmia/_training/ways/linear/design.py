"""Features of a pool in coordinates in which linear models are well conditioned."""

import numpy as np

_ROUNDING = 16 * np.finfo(float).eps


class Design:
    """Centered and scaled features of all records.

    Only the coordinates change, not the problem: the intercept absorbs the centering, and the
    penalty of each coefficient is divided by the square of its scale.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features.
    fit_intercept : bool
        Whether models have an intercept; without one, features are not centered.
    uniform : bool
        Whether all coefficients of a model have the same penalty. If there are more features than
        records, they are then rotated into the n directions that the records span, which does not
        change the penalty.

    Attributes
    ----------
    columns : ndarray of shape (n, n_columns)
        Features, with a last column of ones if there is an intercept.
    """

    def __init__(self, X, fit_intercept, uniform):
        n, d = X.shape
        self.fit_intercept = fit_intercept
        self.mean = X.mean(axis=0, dtype=float) if fit_intercept else np.zeros(d)
        centered = X - self.mean
        self.scale = np.sqrt(np.einsum("nd,nd->d", centered, centered) / n)
        constant = self.scale <= _ROUNDING * np.abs(self.mean)
        centered[:, constant], self.scale[constant] = 0.0, 1.0
        self.rotation = None
        if uniform and d > n:
            self.rotation, triangle = np.linalg.qr(centered.T)
            centered = triangle.T
            # A rotated column mixes all features, so all of them get one scale.
            self.scale = np.full(n, np.sqrt(np.mean(self.scale**2)))
        centered /= self.scale
        self.columns = np.column_stack([centered, np.ones(n)]) if fit_intercept else centered

    def penalty(self, strength, spread):
        """Compute the penalty of each column.

        Parameters
        ----------
        strength : ndarray of shape (K,)
            Penalty of a squared coefficient of each model.
        spread : ndarray of shape (K, d) or None
            Scale by which the model itself divides the features.

        Returns
        -------
        penalty : ndarray of shape (K, n_columns)
        """
        squares = np.ones((1, len(self.scale))) if spread is None else spread**2
        penalty = strength[:, None] * squares / self.scale**2
        return np.pad(penalty, [(0, 0), (0, int(self.fit_intercept))])

    def to_features(self, points):
        """Return coefficients and intercepts in the user's coordinates.

        Parameters
        ----------
        points : ndarray of shape (..., n_columns)
            Coefficients of the columns.

        Returns
        -------
        coef : ndarray of shape (..., d)
        intercept : ndarray of shape (...)
        """
        coef = points[..., : len(self.scale)] / self.scale
        if self.rotation is not None:
            coef = coef @ self.rotation.T
        if not self.fit_intercept:
            return coef, np.zeros(coef.shape[:-1])
        return coef, points[..., -1] - coef @ self.mean
