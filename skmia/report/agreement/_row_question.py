"""Whether the answers follow from the rows: they can be predicted from those of similar rows."""

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.neighbors import NearestNeighbors

from ..._core.threads import on_one_thread
from ._base import AgreementQuestion
from ._skill import Z, correlate_ranks

_N_NEIGHBORS = 10
# Fewer people, or records, on a side say too little.
_FEWEST = 50
# Rows of one side that are looked at.
_MOST_ROWS = 1_000


class _FollowingRows(NamedTuple):
    """Some rows, with what predicts a number of each from the numbers of the others."""

    rows: np.ndarray
    neighbors: np.ndarray  # (n, k)
    basis: np.ndarray  # (n, d): left singular vectors, scaled so that their products are a ridge's
    n_units: int


def _make_set(met, rows):
    columns = _rank_columns(met.features[rows])
    spread = columns.std(axis=0)
    columns = (columns - columns.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    if not columns.shape[1]:
        return None
    k = min(_N_NEIGHBORS, len(rows) - 1)
    with on_one_thread():
        neighbors = NearestNeighbors(n_neighbors=k).fit(columns).kneighbors(return_distance=False)
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    basis = left * (singular / np.sqrt(singular**2 + columns.shape[1]))
    return _FollowingRows(rows, neighbors, basis, len(np.unique(met.units[rows])))


def _rank_columns(columns):
    columns = np.where(np.isnan(columns), np.nanmedian(columns, axis=0), columns)
    return rankdata(columns, axis=0)


def measure_following(one, answers):
    """Return the largest correlation of numbers with what the numbers of other rows predict."""
    ranks = rankdata(answers)
    if np.ptp(ranks) == 0:
        return 0.0
    near = ranks[one.neighbors].mean(axis=1)
    centered = ranks - ranks.mean()
    leverage = np.minimum((one.basis**2).sum(axis=1) + 1 / len(ranks), 0.999)
    fitted = one.basis @ (one.basis.T @ centered)
    # The prediction of each row by a regression that has not seen it.
    straight = centered - (centered - fitted) / (1 - leverage)
    both = near - near.mean() + straight
    return max(correlate_ranks(guess, ranks) for guess in (near, straight, both))


class RowsQuestion(AgreementQuestion):
    """Whether answers follow from the rows, as those of clones do."""

    name = "rows"
    needs_clones = is_of_noise = True

    def ask(self, met, references):
        if met.features is None or min(met.count(side) for side in (True, False)) < _FEWEST:
            return None
        skills = [met.fit(side).rank for side in (True, False)]
        if all(skill.low > 0 for skill in skills):
            return None
        if not references or not all(self._do_not_follow(met, one) for one in references):
            return None
        return self.stop(
            "The answers do not follow from the rows: they are in another order, or they belong to "
            "another table.",
            "Give the answers for these rows, in the order of the rows.",
        )

    def _do_not_follow(self, met, clones):
        rng = np.random.default_rng(met.case.seeds["agreement"])
        usable = np.flatnonzero(clones.is_fresh)
        sides = [usable[met.inside[usable] == side] for side in (True, False)]
        sides = [np.sort(rng.permutation(side)[:_MOST_ROWS]) for side in sides]
        if min(map(len, sides)) < _FEWEST:
            return False
        both = self._judge(met, clones, np.sort(np.concatenate(sides)))
        skilled = [met.fit(side).rank.low > 0 for side in (True, False)]
        if both.is_apart and not any(skilled):
            return True
        judged = [self._judge(met, clones, side) for side in sides]
        # Noise lowers both sides, a wrong file of one side that side alone.
        return any(
            judged[k].is_apart and not skilled[k] and judged[1 - k].share > 0.6 for k in (0, 1)
        )

    def _judge(self, met, clones, rows):
        one = _make_set(met, rows)
        if one is None:
            return _RowOrder(False, 0.0)
        own = measure_following(one, met.scores.take(rows).find_spread())
        other = measure_following(one, clones.fresh.take(rows).find_spread())
        noise = Z / np.sqrt(one.n_units)
        is_apart = other > 0.3 and own < noise and own < 0.15 * other and own + noise < 0.5 * other
        return _RowOrder(bool(is_apart), own / other if other > 0 else 0.0)


class _RowOrder(NamedTuple):
    is_apart: bool
    share: float  # of what the answers of clones follow
