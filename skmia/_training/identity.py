"""Identity of everything that the models of a pool depend on: code, parameters, versions, data."""

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError
from typing import NamedTuple

import numpy as np

from .._core.copies import copy_parameters, copy_unfitted
from .._core.provenance import get_version
from .._core.randomness import isolated_randomness, seed_estimator
from .digests import PYTHON, DigestWalker, UnidentifiedError
from .workers import use_one_job

# Packages that do the numerical work, in addition to the package of the estimator's class.
_BENEATH = {"scikit-learn": ("numpy", "scipy"), "skorch": ("torch",)}


class Identity(NamedTuple):
    """Digests of the parts of an estimator, by readable names."""

    parts: dict  # digest of each part
    versions: dict  # of Python and of the packages that parts come from


def identify(estimator):
    """Return the identity of an estimator, which depends only on its code and parameters.

    It is the same in every process. Seeds, numbers of jobs and fitted attributes are left out,
    because each shadow model is fitted with its own seeds.
    """
    neutral = use_one_job(copy_unfitted(estimator))
    seed_estimator(neutral, np.random.SeedSequence(0))
    walker = DigestWalker()
    try:
        walker.add("the class of the estimator", type(neutral))
        parameters = neutral.get_params(deep=True)
        # Parameters of inner estimators come first, because an outer estimator differs with them.
        for name in sorted(parameters, key=lambda name: (-name.count("__"), name)):
            walker.add(f"the parameter {name}", parameters[name])
        for name, net in _iter_nets(neutral):
            for key, value in _initial_state(net).items():
                walker.add(f"the initial value of {name}{key}", value)
    except RecursionError:
        raise UnidentifiedError("the estimator is nested too deeply to be identified") from None
    return Identity(walker.parts, _list_versions(walker.packages))


def identify_values(values):
    """Return digests of values that the results of a pool depend on, such as signals."""
    walker = DigestWalker()
    for name, value in values.items():
        walker.add(name, value)
    return walker.parts


def _iter_nets(estimator):
    """Yield the skorch nets of an estimator with the prefix of their parameters."""
    skorch = sys.modules.get("skorch")
    if skorch is None:
        return
    found = {"": estimator, **estimator.get_params(deep=True)}
    for name, value in found.items():
        if isinstance(value, skorch.NeuralNet):
            yield f"{name}__" if name else "", value


def _initial_state(net):
    """Return the initial parameters and buffers of a net under a fixed seed."""
    with isolated_randomness(np.random.SeedSequence(0)):
        try:
            net = copy_parameters(net).set_params(verbose=0).initialize()
        except Exception as error:
            # Some nets get their shape in fit; for others, the training raises the error again.
            return {"parameters": f"not known before fit ({type(error).__name__})"}
    modules = {"module": net.module_, "criterion": net.criterion_}
    return {
        f"{part}.{name}": value.detach()
        for part, module in modules.items()
        if hasattr(module, "state_dict")
        for name, value in _fixed(module.state_dict())
    }


def _fixed(state):
    # Lazy modules have parameters without a shape yet.
    uninitialized = sys.modules["torch"].nn.parameter.UninitializedTensorMixin
    for name, value in state.items():
        if hasattr(value, "detach") and not isinstance(value, uninitialized):
            yield name, value


def _list_versions(packages):
    names = {"numpy", *packages}
    for name in packages:
        names.update(_BENEATH.get(name, ()))
    found = {PYTHON.name: PYTHON.version, **packages}
    for name in sorted(names - found.keys()):
        with suppress(PackageNotFoundError):
            found[name] = get_version(name)
    return dict(sorted(found.items()))
