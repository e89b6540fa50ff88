"""What attacks on a file have in common: candidates are judged together, others one by one."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from .._core.budget import Cost, allow_bytes, format_bytes
from .._core.probabilities import posterior_of
from .._core.query import unwrap
from .._core.validation import require_victim
from ..base import BaseAttack

# What an attack on a file may hold, however large the table is: more takes long and says little.
_MOST_BYTES = 1e9


def allow_bytes_for_file(records):
    """Return the memory that an attack on a file may hold beside the records."""
    return min(allow_bytes(records.X), _MOST_BYTES)


class CandidatesAttack(BaseAttack):
    """Base class of attacks that judge all candidates at once by the file of a model.

    A subclass implements _judge_candidates(records) and _judge_further(records), which return log
    likelihood ratios of membership without the prior.
    """

    _needed = "the fitted model itself"
    # Memory that it may hold beside the candidates, in bytes; None for what their size allows.
    _allowed = None
    # Which of its trees and columns were read, if these are read one by one.
    _chosen: ClassVar[dict] = {}

    def _estimate_cost(self, records):
        """Return what the attack holds at least on these candidates, known before it begins."""
        return Cost()

    def _allow_bytes(self, records):
        return allow_bytes_for_file(records) if self._allowed is None else self._allowed

    def _describe_rest(self, chosen, allowed):
        """Say of which trees and columns alone something was read; None if of all."""
        parts = [(name, one) for name, one in chosen.items() if len(one.read) < one.n_parts]
        if not parts:
            return None
        some = " and ".join(f"{len(one.read)} of {one.n_parts} {name}" for name, one in parts)
        return (
            f"{some} of the {type(unwrap(self.victim)).__name__} were read, spread evenly: all "
            f"would hold more than the {format_bytes(allowed)} that are allowed. Scores are weaker "
            "than they could be; ReleasedModelAttack(max_bytes=...) allows more."
        )

    def _fit(self, records, membership):
        require_victim(self.victim, type(self).__name__, self._needed)
        # Sorted by content, so that nothing depends on the order in which records come.
        order, self._digests, self._groups = sort_distinct(records)
        self._keep(self._judge_candidates(records[order]))

    def _keep(self, ratios):
        """Keep the score of each candidate, in order of content; equal ones have the same."""
        self._ratios = np.empty(self._digests.shape[1])
        self._ratios[self._groups] = ratios

    def _sort_by_content(self, records, values):
        """Values of the candidates, given in any order, in the order in which they are judged."""
        by_content = np.empty(self._digests.shape[1])
        by_content[find_known(self._digests, records)[0]] = values
        return by_content[self._groups]

    def _score_samples(self, records):
        place, known = find_known(self._digests, records)
        ratios, new = self._ratios[place], np.flatnonzero(~known)
        if len(new):
            ratios[new] = self._judge_further(records[new])
        return ratios

    def _natural_offset(self, records):
        return choose_offset(self._score_samples(records), self.prior)

    @abstractmethod
    def _judge_candidates(self, records):
        """Judge the candidates, which come sorted by content, all together."""

    @abstractmethod
    def _judge_further(self, records):
        """Judge each of some further records as one more candidate."""


def sort_distinct(records):
    """Order of records by content, their distinct digests, and the place of each in this order.

    The first word of a digest tells the records of one table apart, see check_fingerprints.
    """
    order = np.argsort(records.fingerprint, kind="stable")
    digests = records.digests[:, order]
    is_new = np.append(True, digests[0, 1:] != digests[0, :-1])
    return order, digests[:, is_new], np.cumsum(is_new) - 1


def find_known(digests, records):
    """Return place of each record among distinct sorted digests, and whether it is one of them."""
    place = np.minimum(np.searchsorted(digests[0], records.fingerprint), digests.shape[1] - 1)
    return place, (digests[:, place] == records.digests).all(axis=0)


def choose_offset(ratios, prior):
    """Return the least threshold above 0 that at most 5% of the non-members reach.

    The null is that of the file: log likelihood ratios say which candidates are non-members.
    """
    scores, place = np.unique(ratios, return_inverse=True)
    others = np.bincount(place, 1 - posterior_of(ratios, prior))
    n_low = np.count_nonzero(np.cumsum(others[::-1]) > (0.05 + 1e-9) * others.sum())
    return max(*np.append(scores, np.nextafter(scores[-1], np.inf))[[n_low]], np.nextafter(0.0, 1))


def expect_auc(posterior):
    """Return the AUC that probabilities of membership would have if they were right.

    Ties count half. Probabilities that are all 0, or all 1, are one tie.
    """
    _, place = np.unique(posterior, return_inverse=True)
    members = np.bincount(place, posterior)
    others = np.bincount(place, 1 - posterior)
    below = np.cumsum(others) - others / 2
    n_pairs = members.sum() * others.sum()
    return float(members @ below / n_pairs) if n_pairs else 0.5
