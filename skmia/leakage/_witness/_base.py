"""Base class of estimates of a total variation."""

from abc import ABC, abstractmethod

import numpy as np


def balanced_posterior(inside, outside):
    """Share of the members' density in the sum of both; one half where both are 0."""
    total = inside + outside
    return np.divide(inside, total, out=np.full(total.shape, 0.5), where=total > 0)


def advantage(guesses, members):
    """TPR - FPR of boolean guesses."""
    return guesses[members].mean() - guesses[~members].mean()


class Witness(ABC):
    """A region of the features where members are denser than non-members.

    The total variation between the two laws is the largest difference of the probabilities that
    they give to a region, and the region where the members' density is the larger one attains it.
    An implementation learns that region as a posterior probability of membership under equal
    priors, and estimates the difference.
    """

    def check(self, X, members):  # noqa: B027 - most ways take any features
        """Refuse features that this method does not support.

        Raises
        ------
        ValueError
            If a feature is not supported; the message names a method that supports it.
        """

    @abstractmethod
    def learn(self, X, members, rng):
        """Learn the region from n rows of features and their membership, booleans.

        Returns
        -------
        self : object
            Fitted estimator.
        """

    @abstractmethod
    def posterior(self, X):
        """Return the probability of membership given equal priors; above 1/2 in the region.

        Returns
        -------
        posterior : ndarray of shape (n,)
        """

    @abstractmethod
    def estimate(self, X, labelings, rng):
        """Total variation under each of several labelings of the rows, the truth and its shuffles.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features.
        labelings : ndarray of shape (n_labelings, n), dtype bool
            Memberships, all with the same number of members.
        rng : numpy Generator
            Source of randomness.

        Returns
        -------
        estimates : ndarray of shape (n_labelings,)
            Estimates in [-1, 1]; negative if the predictions of a rule are worse than random.
        """
