"""Moments of the stored signals of a pool, computed once for all attacks."""

from collections.abc import Callable

import numpy as np

from .._core.moment_sums import cut
from .._core.moments import Moments, Sides, compute_sides_of_each
from ..signals import Signal

# Number of values of the pool that are read at once, and the least number of records, whose rows
# would be too short to be read fast.
_BLOCK, _FEWEST_RECORDS = 1 << 20, 1 << 13

# Most bytes that the moments of a signal may take. Those of a larger pool are computed block by
# block by each attack, so that the memory does not grow with the pool.
_MOST_BYTES = 1 << 26
_BYTES_PER_RECORD = 48


class PoolMoments:
    """Part of a :class:`ShadowPool` that keeps the moments of its signals.

    Needs ``signals_``, ``membership_`` and ``design_``, and what reads signals.
    """

    def moments(
        self,
        signal: str | tuple[str, float] | Signal = "auto",
        read: Callable | None = None,
    ) -> Sides | None:
        """Return the moments of a signal over the IN and over the OUT models of each record.

        All attacks on a pool share them, so that it is read once. They are neither copied nor
        pickled with the pool.

        Parameters
        ----------
        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            A signal that is stored, or that follows from one.
        read : callable, default=None
            Function of the values whose moments are taken instead. It must be hashable and equal to
            others that compute the same.

        Returns
        -------
        sides : Sides or None
            Moments of the columns of the pool, in order. None for a pool of so many records that
            they would take more than 64 MiB.
        """
        signals, membership = self.signals_, self.membership_
        if signals.shape[1] * signals.shape[3] * _BYTES_PER_RECORD > _MOST_BYTES:
            return None
        kept = getattr(self, "_kept_moments", None)
        if kept is None or kept[0] is not signals or kept[1] is not membership:
            kept = self._kept_moments = signals, membership, {}
        key = self.locate_signal(signal).signal, read
        if key not in kept[2]:
            kept[2][key] = self._compute_moments(signal, read)
        return kept[2][key]

    def _compute_moments(self, signal, read):
        _, n_queries, n_models, n_records = self.signals_.shape
        size, parts = max(_FEWEST_RECORDS, _BLOCK // (n_queries * n_models)), []
        for some in cut(n_records, size):
            columns = np.arange(some.start, some.stop)
            values, inside = self.values_at(columns, signal), self.inside(columns)
            values = values if read is None else read(values)
            parts.append(compute_sides_of_each(values, inside, self.design_.partners))
        into, out = (
            Moments(*(np.concatenate(part, axis=-1) for part in zip(*moments, strict=True)))
            for moments in zip(*(sides[:2] for sides in parts), strict=True)
        )
        if all(sides.product is None for sides in parts):
            return Sides(into, out, None)
        products = [
            np.full(sides.into.mean.shape, np.nan) if sides.product is None else sides.product
            for sides in parts
        ]
        return Sides(into, out, np.concatenate(products, axis=-1))

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept_moments"}
