"""Design of the training sets of a pool: what one training set tells about the others."""

from typing import NamedTuple

import numpy as np

# Models of a block of a balanced design. The gap between IN and OUT models has 8/7 of the variance
# that independent draws would give it (pairs: twice), and a pool can grow by 8 models.
BLOCK = 8

# Number of standard errors by which a variance must fall short of independent draws.
_N_ERRORS = 5


class Design(NamedTuple):
    """Design of the training sets: how they depend on each other.

    Attributes
    ----------
    partners : ndarray of shape (n_estimators,)
        Model with the complementary training set, drawn together with this one; -1 for none.
    n_in, n_out : float
        Fixed numbers of IN and OUT models per record in each block of models; infinite if each
        training set was drawn independently.
    blocks : ndarray of shape (n_estimators,)
        Number of the block of each model. Blocks were drawn independently of each other.
    """

    partners: np.ndarray
    n_in: float
    n_out: float
    blocks: np.ndarray

    def first(self, n_estimators):
        """Return the design of the first models."""
        partners = self.partners[:n_estimators]
        return self._replace(
            partners=np.where(partners < n_estimators, partners, -1),
            blocks=self.blocks[:n_estimators],
        )


def one_block(partners, n_in=np.inf, n_out=np.inf):
    """Return a design whose models are all in one block."""
    return Design(partners, n_in, n_out, np.zeros(len(partners), dtype=int))


def drawn_design(n_estimators, design):
    """Return the design of training sets that were drawn as the parameter of a pool says."""
    models = np.arange(n_estimators)
    if design == "balanced":
        alone = np.full(n_estimators, -1)
        return Design(alone, BLOCK / 2, BLOCK / 2, models // BLOCK)
    return one_block(models ^ 1 if design == "paired" else np.full(n_estimators, -1))


def infer_design(membership, fingerprint):
    """Infer the design of training sets that were drawn elsewhere.

    Parameters
    ----------
    membership : ndarray of shape (n_estimators, n), dtype bool
        Training sets.
    fingerprint : ndarray of shape (n,)
        Content hashes. Equal records count as IN if any of them was in a training set, so they are
        not informative about the design; neither are records in no or in all training sets.

    Returns
    -------
    design : Design
        Complements are found in any order. Without complements, the number of IN models is assumed
        to be fixed if it is the same for all records, and part of a larger fixed number if it
        varies far less than with independent draws.
    """
    _, place, n_equal = np.unique(fingerprint, return_inverse=True, return_counts=True)
    alone = n_equal[place] == 1
    membership = membership[:, alone] if alone.any() and not alone.all() else membership
    count = membership.sum(axis=0)
    varied = membership[:, (count > 0) & (count < len(membership))]
    partners = _find_partners(varied)
    if (partners >= 0).any() or varied.shape[1] == 0:
        return one_block(partners)
    n_in = varied.sum(axis=0)
    if varied.shape[1] > 1 and (n_in == n_in[0]).all():
        return one_block(partners, float(n_in[0]), float(len(varied) - n_in[0]))
    return _infer_whole(membership, count, partners)


def _infer_whole(membership, count, partners):
    """Estimate the fixed numbers of the whole design from the variance of the IN count."""
    n_models, n_records = membership.shape
    share = membership.mean(axis=1)
    # The variance of a sum of independent draws is the sum of their variances.
    ratio = count.var() / np.sum(share * (1 - share))
    if ratio >= 1 - _N_ERRORS * np.sqrt(2 / n_records):
        return one_block(partners)
    # If the number of IN models among N models is fixed, a sample of n models has (N - n) / (N - 1)
    # of this variance (sampling without replacement).
    n_whole = round((n_models - ratio) / (1 - ratio))
    n_in = round(n_whole * share.mean())
    return one_block(partners, float(n_in), float(n_whole - n_in))


def _find_partners(membership):
    n_models = len(membership)
    if n_models % 2 == 0 and not (membership[::2] & membership[1::2]).any():
        return np.arange(n_models) ^ 1
    packed = np.packbits(membership, axis=1)
    # The padding bits of the last byte are 0 in both, so they have to be compared as complements
    # too.
    complements = np.packbits(~membership, axis=1)
    place = {row.tobytes(): k for k, row in enumerate(packed)}
    return np.array([place.get(row.tobytes(), -1) for row in complements])
