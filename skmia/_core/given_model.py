"""Victims whose model was fitted elsewhere."""

from typing import Any, Self

from .sklearn import validate_params_of


class GivenModel:
    """Mixin of victims that wrap a fitted model: they are fitted, and ``fit`` checks parameters."""

    is_trainable = False  # clones ask the same model

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters; the model is already fitted.

        Parameters
        ----------
        X, y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        self._check_model()
        return self

    def _check_model(self):
        """Check the model, where that takes more than the kinds of the parameters."""
