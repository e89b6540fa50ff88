"""Nets that hold a module as an object, which a copy would share with earlier fits."""

import sys


def refuse_trained_module(estimator):
    """Refuse an estimator with a skorch net around an instance of a module, at any depth."""
    torch = sys.modules.get("torch")
    for name, owner in () if torch is None else _find_modules(torch, estimator, "", None, set()):
        raise ValueError(
            f"Parameter {name!r} of {owner} is a torch module, which fit trains in place, so that "
            "copies would start from weights that know the records of earlier fits; pass the "
            "module's class or a function that makes it."
        )


def _find_modules(torch, value, name, owner, seen):
    """Yield the names of parameters that are modules with weights to train, and their owners."""
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, torch.nn.Module):
        if any(parameter.requires_grad for parameter in value.parameters()):
            yield name, owner
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _find_modules(torch, part, name, owner, seen)
    # One that draws weights anew in each fit needs no class.
    elif hasattr(value, "get_params") and not getattr(value, "_begins_anew", False):
        for own, part in value.get_params(deep=False).items():
            yield from _find_modules(torch, part, own, type(value).__name__, seen)
