"""How the training sets of a pool were laid out: what one model tells about the others."""

from typing import NamedTuple

import numpy as np

# Standard errors of a variance by which it must fall short of that of independent draws.
_N_ERRORS = 5


class Design(NamedTuple):
    """What a model's training set tells about those of the others.

    Attributes
    ----------
    partners : ndarray of shape (n_estimators,)
        Model that was trained on none of the same records, drawn with this one; -1 for none.
    n_in, n_out : float
        Fixed number of IN and of OUT models that a record's are a part of; infinite where each
        training set was drawn independently.
    """

    partners: np.ndarray
    n_in: float = np.inf
    n_out: float = np.inf

    def first(self, n_estimators):
        """The design of the first models."""
        partners = self.partners[:n_estimators]
        return self._replace(partners=np.where(partners < n_estimators, partners, -1))


def drawn_design(n_estimators, paired):
    """The design of training sets that were drawn in pairs, or independently."""
    models = np.arange(n_estimators)
    return Design(models ^ 1 if paired else np.full(n_estimators, -1))


def infer_design(membership, fingerprint):
    """Find out how training sets were laid out that were drawn elsewhere.

    Parameters
    ----------
    membership : ndarray of shape (n_estimators, n), dtype bool
        Training sets.
    fingerprint : ndarray of shape (n,)
        Content hashes. Records that have an equal count as IN where either was; these tell nothing
        of the layout, and neither do records that were in no training set or in all of them.

    Returns
    -------
    design : Design
        Complements are found wherever they are. Without them the number of IN models is taken as
        fixed where it is the same for all records, and as part of a larger fixed number where it
        varies by far less than independent draws would make it vary.
    """
    _, place, n_equal = np.unique(fingerprint, return_inverse=True, return_counts=True)
    alone = n_equal[place] == 1
    membership = membership[:, alone] if alone.any() and not alone.all() else membership
    count = membership.sum(axis=0)
    varied = membership[:, (count > 0) & (count < len(membership))]
    partners = _find_partners(varied)
    if (partners >= 0).any() or varied.shape[1] == 0:
        return Design(partners)
    n_in = varied.sum(axis=0)
    if varied.shape[1] > 1 and (n_in == n_in[0]).all():
        return Design(partners, float(n_in[0]), float(len(varied) - n_in[0]))
    return _infer_whole(membership, count, partners)


def _infer_whole(membership, count, partners):
    """The fixed numbers that the models are a part of, judged by how the count of IN varies."""
    n_models, n_records = membership.shape
    share = membership.mean(axis=1)
    # Sums of independent draws have the sum of their variances.
    ratio = count.var() / np.sum(share * (1 - share))
    if ratio >= 1 - _N_ERRORS * np.sqrt(2 / n_records):
        return Design(partners)
    # Of N models with a fixed number of IN models, n have (N - n) / (N - 1) of that variance.
    n_whole = round((n_models - ratio) / (1 - ratio))
    n_in = round(n_whole * share.mean())
    return Design(partners, float(n_in), float(n_whole - n_in))


def _find_partners(membership):
    n_models = len(membership)
    if n_models % 2 == 0 and not (membership[::2] & membership[1::2]).any():
        return np.arange(n_models) ^ 1
    packed = np.packbits(membership, axis=1)
    # The bits that fill the last byte are 0 in both, so they are compared as complements, too.
    complements = np.packbits(~membership, axis=1)
    place = {row.tobytes(): k for k, row in enumerate(packed)}
    return np.array([place.get(row.tobytes(), -1) for row in complements])
