"""A linear scale from numbers to positions in a drawing."""

import math

# Smallest span of a scale; equal numbers would have none.
_NARROWEST = 1e-3


class Scale:
    """Map numbers from ``low`` to ``high`` to positions from ``start`` to ``end``.

    Both ends are moved outwards to the next tick.
    """

    def __init__(self, low, high, start, end, n_ticks=5):
        if high - low < _NARROWEST:
            low, high = low - _NARROWEST / 2, high + _NARROWEST / 2
        self.step = _round_step((high - low) / n_ticks)
        self._low = math.floor(low / self.step + 1e-9) * self.step
        self._high = math.ceil(high / self.step - 1e-9) * self.step
        self._start, self._end = start, end

    def __call__(self, number):
        share = (number - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self):
        """Return the labels and positions of the ticks."""
        count = round((self._high - self._low) / self.step)
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        numbers = [self._low + k * self.step for k in range(count + 1)]
        return [(f"{number:.{digits}f}", self(number)) for number in numbers]


def _round_step(step):
    power = 10.0 ** math.floor(math.log10(max(step, 1e-6)))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= step * (1 - 1e-9))
