"""Success of the Bayes attacker where everything is discrete."""

import numpy as np
from numpy.typing import ArrayLike

from .._core.numbers import check_numbers
from .._core.probabilities import check_sums


def bayes_success(likelihoods: ArrayLike, prior: ArrayLike | None = None) -> float:
    r"""Success of the best attacker on an attribute with few values, from the law of a release.

    The attacker sees the release and predicts the attribute's value with the largest posterior
    probability: the success is :math:`\sum_\theta \max_t \pi_t\, p(\theta \mid t)`.

    Parameters
    ----------
    likelihoods : array-like of shape (n_values, n_releases)
        Probability of each release for each value of the attribute; rows sum to 1. For membership,
        the rows are the laws of non-members and of members.
    prior : array-like of shape (n_values,), default=None
        Probability of each value, not necessarily equal. If None, all are equally likely.

    Returns
    -------
    success : float
        Probability of a correct prediction, at least the largest prior probability.

    Raises
    ------
    ValueError
        If rows or the prior are not probabilities, or shapes do not fit.

    See Also
    --------
    total_variation : For two equally likely values the success is half of 1 plus this.
    mutual_information_success_bound : Bound of the success by the information in the release.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534, theorem 1.

    Examples
    --------
    >>> from skmia.leakage import bayes_success
    >>> nonmember, member = [0.7, 0.2, 0.1], [0.2, 0.3, 0.5]
    >>> round(bayes_success([nonmember, member]), 2)
    0.75
    >>> round(bayes_success([nonmember, member], prior=[0.9, 0.1]), 2)  # "nonmember", always
    0.9
    """
    likelihoods = check_numbers(likelihoods, "likelihoods", "probabilities in [0, 1]", 0, 1)
    if likelihoods.ndim != 2 or not likelihoods.size:
        raise ValueError(
            f"likelihoods must be of shape (n_values, n_releases); got shape {likelihoods.shape}."
        )
    n_values = len(likelihoods)
    if prior is None:
        prior = np.full(n_values, 1 / n_values)
    prior = check_numbers(prior, "prior", "probabilities in [0, 1]", 0, 1)
    if prior.shape != (n_values,):
        raise ValueError(
            f"prior must have {n_values} probabilities, one for each row of likelihoods; got shape "
            f"{prior.shape}."
        )
    check_sums(likelihoods, "likelihoods")
    check_sums(prior, "prior")
    return float((prior[:, None] * likelihoods).max(axis=0).sum())
