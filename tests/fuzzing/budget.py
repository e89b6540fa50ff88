"""How many calls a test makes: few in the suite, and FUZZ in all for ``make fuzz``."""

import os

from hypothesis import HealthCheck, Phase, settings

# Calls of all tests, which are the same in each run; five seconds or so.
_SUITE = 40
_ALL = int(os.environ.get("FUZZ", _SUITE))


def calls(share):
    """Settings of a test that makes this share of all calls."""
    long = "FUZZ" in os.environ
    return settings(
        max_examples=max(2, round(share * _ALL)),
        derandomize=not long,
        database=None,
        deadline=None,
        # Nothing fails in a long run, which collects what it finds.
        phases=[Phase.generate] if long else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
