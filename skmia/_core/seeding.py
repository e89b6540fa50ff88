"""Independent and reproducible randomness for each shadow model."""

import sys
from contextlib import contextmanager
from threading import RLock

import numpy as np

from .randomness import preserved_randomness, seed_everything

# Global generators, the filters of warnings, the number of threads of numerical libraries, and the
# functions that torch replaces while it traces a module, belong to the process: threads take turns.
PROCESS_LOCK = RLock()


def seed_estimator(estimator, seeds):
    """Set every ``random_state`` of an estimator, also of nested ones.

    Parameters
    ----------
    estimator : estimator
        Estimator, which is changed in place.
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


def refuse_trained_module(estimator):
    """Refuse a skorch net around an instance of a module, because its clones share the weights.

    Raises
    ------
    ValueError
        If a parameter holds a module with trainable weights; the message says what to pass.
    """
    torch = sys.modules.get("torch")
    for name, value in estimator.get_params(deep=True).items():
        if torch is None or not isinstance(value, torch.nn.Module):
            continue
        if any(parameter.requires_grad for parameter in value.parameters()):
            raise ValueError(
                f"Parameter {name!r} of {type(estimator).__name__} is a torch module, which fit "
                "trains in place, so that shadow models would start from the victim's weights; "
                "pass the module's class or a function that makes it."
            )


@contextmanager
def isolated_randomness(seeds):
    """Seed the global generators of Python, numpy and torch, and restore them afterwards.

    Estimators without a ``random_state`` (skorch nets, user code) draw from global generators. They
    get their own seed here, and the caller's streams are not changed.

    Parameters
    ----------
    seeds : numpy SeedSequence
        Source of the seeds.
    """
    # The child is constructed directly, because spawn() would change the seed of the next caller.
    child = np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, 0))
    with PROCESS_LOCK, preserved_randomness():
        seed_everything(int(child.generate_state(1)[0]))
        yield
