"""What ready ways of forgetting have in common."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from ...._core.records import Records
from ...._core.sklearn import validate_parameter_constraints


class Forgetting(ABC):
    """Base class of ready ways of forgetting, which are functions with three more methods."""

    _parameter_constraints: ClassVar[dict] = {}

    def validate(self) -> None:
        """Check the parameters.

        Raises
        ------
        InvalidParameterError
            If a value is not allowed.
        """
        name = type(self).__name__
        validate_parameter_constraints(self._parameter_constraints, vars(self), name)

    def prepare(self, estimator: BaseEstimator) -> BaseEstimator:
        """Return the estimator that is trained in the place of the given one.

        Parameters
        ----------
        estimator : estimator
            Estimator of the models, not fitted.

        Returns
        -------
        estimator : estimator
            The same one, unless forgetting takes another kind of model.
        """
        return estimator

    def why_not(self, estimator: BaseEstimator) -> str | None:
        """Say why models of an estimator cannot forget in this way, before any is trained.

        Parameters
        ----------
        estimator : estimator
            Estimator of the models, not fitted.

        Returns
        -------
        reason : str or None
            None if they can.
        """
        return self._why_not(estimator)

    def _why_not(self, estimator):
        return None

    def __call__(
        self,
        model: Any,
        records: Records,
        keep: np.ndarray,
        forget: np.ndarray,
        rng: np.random.Generator,
    ) -> Any:
        """Return a model that should be as if it had been trained on the kept records alone.

        Parameters
        ----------
        model : fitted estimator
            Model that was trained on the records ``keep`` and ``forget``. It is not changed.
        records : Records of n records
            All records of the game.
        keep, forget : ndarray of int
            Positions of the training records that stay, and of those to be forgotten.
        rng : numpy Generator
            Source of randomness.

        Returns
        -------
        model : fitted estimator
        """
        self.validate()
        return self._forget(model, records, keep, forget, rng)

    @abstractmethod
    def _forget(self, model, records, keep, forget, rng):
        """Return the model after unlearning."""
