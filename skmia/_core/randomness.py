"""Global random generators: preserving and seeding them."""

import random
import sys
from contextlib import contextmanager, nullcontext
from threading import RLock

import numpy as np
import sklearn.utils

from .copies import list_parameters
from .numbers import check_count, show


def _fork_torch():
    torch = sys.modules.get("torch")
    if torch is None:
        return nullcontext()
    initialized = torch.cuda.is_available() and torch.cuda.is_initialized()
    return torch.random.fork_rng(range(torch.cuda.device_count()) if initialized else ())


@contextmanager
def preserved_randomness():
    """Restore the global generators of Python, numpy and torch at the end of the context."""
    python_state = random.getstate()
    numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002
    try:
        with _fork_torch():
            yield
    finally:
        random.setstate(python_state)
        if numpy_state["bit_generator"] == "MT19937":
            # numpy reads the 624 numbers one by one: ten times as fast from a list.
            numpy_state["state"]["key"] = numpy_state["state"]["key"].tolist()
        np.random.set_state(numpy_state)  # noqa: NPY002


def seed_everything(seed):
    """Seed the global generators of Python, numpy and, if it is loaded, torch."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch = sys.modules.get("torch")
    accelerator = getattr(torch, "accelerator", None)  # since torch 2.6
    if torch is not None and (accelerator is None or accelerator.is_available()):
        torch.manual_seed(seed)
    elif torch is not None:
        # For each kind of device that is not there, manual_seed would keep the seed and a traceback
        # of this call, which takes as long as it takes to train a small model.
        torch.default_generator.manual_seed(seed)


def check_seed(seed):
    """Check a seed that must be an integer, and return it."""
    return check_count(seed, "random_state", 0, 2**32 - 1)


def check_random_state(seed):
    """Return a generator for a seed, like :func:`sklearn.utils.check_random_state`."""
    try:
        return sklearn.utils.check_random_state(seed)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(
            "random_state must be an int from 0 to 2**32 - 1, a RandomState or None; got "
            f"{show(seed)}."
        ) from None


def draw_integers(random_state):
    """Draw four integers, the entropy of a SeedSequence."""
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=4).tolist()


def derive_random_state(random_state, name):
    """A generator for one use of a seed, whose draws are not those of other uses of the seed.

    Users split a table, or draw the rows that a model gets, with the seed that they pass on. What
    is drawn with the seed alone would then be the rows that they drew.
    """
    seeds = np.random.SeedSequence([*draw_integers(random_state), *name.encode()])
    return np.random.RandomState(np.random.MT19937(seeds))


def derive_seed(random_state, name):
    """Return an integer for one use of a seed, as :func:`derive_random_state`."""
    return int(derive_random_state(random_state, name).randint(np.iinfo(np.int32).max))


def spawn_seeds(random_state, n):
    """Draw n SeedSequences; the first ones are the same for every n."""
    return np.random.SeedSequence(draw_integers(random_state)).spawn(n)


# Global generators, the filters of warnings, the number of threads of numerical libraries, and the
# functions that torch replaces while it traces a module, belong to the process: threads take turns.
PROCESS_LOCK = RLock()


def seed_estimator(estimator, seeds):
    """Set every ``random_state`` of an estimator, also of nested ones; not of fitted victims."""
    names = sorted(
        name
        for name in list_parameters(estimator)
        if name == "random_state" or name.endswith("__random_state")
    )
    states = seeds.generate_state(max(1, len(names))) >> np.uint32(1)
    seeded = {name: int(state) for name, state in zip(names, states, strict=False)}
    # A parameter that scikit-learn is about to drop holds a word, and warns if it is set.
    given = estimator.get_params(deep=True) if names else {}
    leaving = {name for name in names if isinstance(given[name], str)}
    estimator.set_params(**{name: seed for name, seed in seeded.items() if name not in leaving})


@contextmanager
def isolated_randomness(seeds):
    """Seed the global generators of Python, numpy and torch, and restore them afterwards.

    Estimators without a random_state (skorch nets, user code) draw from global generators. They get
    their own seed here, and the caller's streams are not changed. The child is constructed
    directly, because spawn() would change the seed of the next caller.
    """
    child = np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, 0))
    with PROCESS_LOCK, preserved_randomness():
        seed_everything(int(child.generate_state(1)[0]))
        yield
