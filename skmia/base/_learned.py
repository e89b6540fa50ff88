"""Base class of attacks that train a classifier on signals of known records."""

import warnings
from abc import abstractmethod

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from .._core.probabilities import as_columns
from .._core.records import Records
from .._core.seeding import seed_estimator
from .._core.sklearn import HasMethods
from ._supervised import SupervisedAttack


class LearnedAttack(SupervisedAttack):
    """Base class of attacks that train a classifier on a matrix of signals.

    A subclass implements ``_collect(records)``, which returns a list with that matrix, and
    ``_make_classifier()``, which returns the classifier for ``attack_estimator=None``. Columns are
    scaled to [0, 1] for that classifier.
    """

    _parameter_constraints = {
        **SupervisedAttack._parameter_constraints,
        "attack_estimator": [HasMethods(["fit", "predict_proba"]), None],
    }

    def _learn(self, collected, membership, seed):
        if self.attack_estimator is None:
            estimator = make_pipeline(MinMaxScaler(), self._make_classifier())
        else:
            estimator = clone(self.attack_estimator)
        seed_estimator(estimator, np.random.SeedSequence(int(seed)))
        with warnings.catch_warnings():
            if self.attack_estimator is None:  # the number of its epochs is part of the method
                warnings.simplefilter("ignore", ConvergenceWarning)
            return estimator.fit(*collected, membership.astype(int))

    def _judge(self, model, collected):
        return model.predict_proba(*collected)[:, 1]

    @abstractmethod
    def _make_classifier(self):
        """Return the classifier of the published attack."""

    def predict_proba(self, X: Records) -> np.ndarray:
        """Return the probability of membership according to the classifier.

        Parameters
        ----------
        X : Records of n records
            Labeled records.

        Returns
        -------
        proba : ndarray of shape (n, 2)
            Probabilities of non-membership and membership, given the share of members in ``fit``.
        """
        member = self.score_samples(X)
        return as_columns(member)
