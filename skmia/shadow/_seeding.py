"""Independent, reproducible randomness for each shadow model, whatever it draws from."""

import random
import sys
from contextlib import contextmanager

import numpy as np


def seed_estimator(estimator, seeds):
    """Set every ``random_state`` of an estimator, nested ones included.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    seeds : numpy SeedSequence
        Source of the integers.
    """
    names = sorted(
        name
        for name in estimator.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    states = seeds.generate_state(max(1, len(names))) >> np.uint32(1)
    estimator.set_params(**{name: int(state) for name, state in zip(names, states, strict=False)})


@contextmanager
def isolated_randomness(seeds):
    """Seed the global generators of Python, numpy and torch, and put them back afterwards.

    Estimators without a ``random_state`` (skorch nets, user code) draw from these; they get a seed
    of their own and the caller's stream stays as it was.

    Parameters
    ----------
    seeds : numpy SeedSequence
        Source of the seeds.
    """
    seed = int(seeds.spawn(1)[0].generate_state(1)[0])
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        if torch is None:
            yield
        else:
            initialized = torch.cuda.is_available() and torch.cuda.is_initialized()
            devices = range(torch.cuda.device_count()) if initialized else ()
            with torch.random.fork_rng(devices):
                torch.manual_seed(seed)
                yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
