"""Independent, reproducible randomness for each shadow model, whatever it draws from."""

import sys
from contextlib import contextmanager
from threading import RLock

import numpy as np

from .randomness import preserved_randomness, seed_everything

# Global generators, the filters of warnings, the number of threads of numerical libraries and what
# torch replaces while it traces a module are the process's: threads take turns.
PROCESS_LOCK = RLock()


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


def refuse_trained_module(estimator):
    """Refuse a skorch net around a module instance, whose clones carry the weights it has now.

    Raises
    ------
    ValueError
        Names the parameter and the remedy.
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
    """Seed the global generators of Python, numpy and torch, and put them back afterwards.

    Estimators without a ``random_state`` (skorch nets, user code) draw from these; they get a seed
    of their own and the caller's stream stays as it was.

    Parameters
    ----------
    seeds : numpy SeedSequence
        Source of the seeds.
    """
    # The child is constructed directly: spawn() would count up and change the seed of the next
    # caller.
    child = np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, 0))
    with PROCESS_LOCK, preserved_randomness():
        seed_everything(int(child.generate_state(1)[0]))
        yield
