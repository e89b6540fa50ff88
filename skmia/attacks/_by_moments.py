"""Attacks that compare the victim with moments of the shadow models alone."""

from abc import abstractmethod

import numpy as np

from .._core.left_out import leave_sides
from .._core.moment_sums import cut
from .._core.moments import compute_sides, take_records
from ..base import PoolAttack

# Number of records of the pool from which trends are estimated, and of their values, at most. There
# are at most 24 bins, so more records would not change them, and with many models a record needs no
# trend.
_N_SAMPLE, _N_SAMPLE_VALUES = 1 << 14, 1 << 20

# Number of records that are scored at once, so that their moments stay in the cache of a core.
_N_RECORDS = 1 << 13


class MomentAttack(PoolAttack):
    """Pool attack whose score follows from the moments of the IN and of the OUT models.

    The pool keeps the moments, so that attacks with other settings, and on other victims, do not
    read it again.
    """

    def _reads_moments(self):
        """Whether the moments suffice, with these settings."""
        return True

    def _change(self):
        """Return the hashable function of the values whose moments are compared, or None."""

    @abstractmethod
    def _score_sides(self, target, sides):
        """Score records, given the victim's values and the moments."""

    def _compute_sides(self, values, inside, outside):
        return compute_sides(values, inside, outside, self.pool_.design_.partners)

    def _known_moments(self):
        """Return the moments of all columns of the pool, or None if it is too large to keep."""
        return self.pool_.moments(self._reads(), self._change())

    def _judged_sides(self, records):
        """Yield rows, and moments, of the records that have the models that the attack needs.

        Raises
        ------
        ValueError
            If no record has them.
        """
        columns = self.pool_.locate_usable(records)
        known = self._known_moments() if (columns >= 0).all() else None
        if known is None:
            change = self._change() or np.asarray
            for rows, shadows, inside, _ in self._judged_blocks(records):
                yield rows, self._compute_sides(change(shadows), inside, ~inside)
            return
        judged = self._are_enough(known.into.count[columns], known.out.count[columns])
        if not judged.any():
            raise ValueError(self._say_none_judged(records))
        whole = np.array_equal(columns, np.arange(len(known.into.count))) and judged.all()
        for part in cut(len(columns), _N_RECORDS):
            rows = part if whole else part.start + np.flatnonzero(judged[part])
            yield rows, take_records(known, rows if whole else columns[rows])

    def _draw_sample(self):
        """Return columns of records of the pool that can be judged."""
        pool, n_in = self.pool_, self.pool_.n_inside
        _, n_queries, n_models, _ = pool.signals_.shape
        n_sample = max(1, min(_N_SAMPLE, _N_SAMPLE_VALUES // (n_queries * n_models)))
        return pool.draw_columns(n_sample, self._are_enough(n_in, len(pool.membership_) - n_in))

    def _read_sample(self):
        """Return signals, training sets and columns of the sample."""
        columns, pool = self._draw_sample(), self.pool_
        return pool.values_at(columns, self._reads()), pool.inside(columns), columns

    def _leave_each(self, values, inside, models, others):
        """Yield the models that leave one after another, or as a pair, and what the rest says."""
        sides, partners = self._compute_sides(values, inside, ~inside), self.pool_.design_.partners
        if sides.product is None:
            groups = [(k, models == k) for k in models]
        else:
            groups = [(k, np.isin(models, [k, partners[k]])) for k in models]
        done = np.zeros(len(models), dtype=bool)
        for place, (model, group) in enumerate(groups):
            if not done[place]:
                done |= group
                yield (
                    models[group],
                    leave_sides(sides, values, inside, model, others[place], partners),
                )

    def _score_samples(self, records):
        if not self._reads_moments():
            return super()._score_samples(records)
        target = self._victim_values(records)
        scores = np.full(len(records), self._neutral_score())
        for rows, sides in self._judged_sides(records):
            scores[rows] = self._score_sides(target[:, rows], sides)
        return scores
