"""Nets whose copies would share a module with earlier fits, in which it was trained."""

import dis
import sys
from functools import partial
from itertools import chain
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from weakref import WeakSet

# Longer containers are tables and texts, no lists of models.
_MOST_HELD = 1000

# Functions that make a new module in each call. Each copy of a net asks, and modules can be large.
_MAKERS: WeakSet = WeakSet()

_WHY = (
    "which fit trains in place, so that copies would start from weights that know the records of "
    "earlier fits"
)


def refuse_trained_module(estimator):
    """Refuse an estimator with a net around one torch module, at any depth.

    The module is an instance in place of a class, or what a function returns in each call.
    """
    torch = sys.modules.get("torch")
    for fault in () if torch is None else _find_faults(torch, estimator, "", None, set()):
        raise ValueError(fault)


def list_held_models(function):
    """List the models that exist before a function of a user is called, and that it can reach."""
    return _reach(function, lambda one: hasattr(one, "fit") or hasattr(one, "parameters"))


def refuse_held_model(model, held, name):
    """Refuse a model that a function returned and that existed before it was called."""
    if any(model is one for one in held):
        raise ValueError(
            f"{name} returned a {type(model).__name__} that existed before the call, so that one "
            "model stands for several fits and may know the records of all; let it make a new one "
            "in each call."
        )


def _find_faults(torch, value, name, owner, seen):
    """Yield why parameters are refused that hold modules with weights to train."""
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, torch.nn.Module):
        if _learns(value):
            yield (
                f"Parameter {name!r} of {type(owner).__name__} is a torch module, {_WHY}; pass the "
                "module's class or a function that makes it."
            )
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _find_faults(torch, part, name, owner, seen)
    # One that draws weights anew in each fit needs no class.
    elif hasattr(value, "get_params") and not getattr(value, "_begins_anew", False):
        for own, part in value.get_params(deep=False).items():
            yield from _find_faults(torch, part, own, value, seen)
    elif callable(value):
        yield from _find_shared(torch, value, name, owner)


def _find_shared(torch, function, name, owner):
    """Yield why a function is refused that makes the module of a net."""
    if isinstance(function, FunctionType) and function in _MAKERS:
        return
    held = _reach(function, lambda one: isinstance(one, torch.nn.Module) and _learns(one))
    can_be_one = held or hasattr(function, "cache_info")
    is_one = _gives_one_module(function, name, owner) if can_be_one else None
    if is_one:
        yield (
            f"Parameter {name!r} of {type(owner).__name__} is a function that returns the same "
            f"torch module in each call, {_WHY}; let it make a new module in each call."
        )
    elif is_one is False and isinstance(function, FunctionType):
        _MAKERS.add(function)


def _learns(module):
    return any(parameter.requires_grad for parameter in module.parameters())


def _gives_one_module(function, name, owner):
    """Return whether a function gives a net the same weights in each call; None if it fails."""
    if not hasattr(owner, "get_params_for"):
        return None
    from .randomness import preserved_randomness

    try:
        with preserved_randomness():
            first, second = (function(**owner.get_params_for(name)) for _ in range(2))
        weights = [{id(one) for one in made.parameters()} for made in (first, second)]
    except Exception:  # of whatever kind: the training raises it again, with its own message
        return None
    return not weights[0].isdisjoint(weights[1])


def _reach(value, is_wanted, depth=3):
    """List what a value holds that is wanted, through containers, functions and their objects."""
    if not isinstance(value, type) and is_wanted(value):
        return [value]
    if depth == 0:
        return []
    held = list_held(value)
    owner = value.__self__ if isinstance(value, MethodType) else value
    if callable(value) and not isinstance(value, type) and hasattr(owner, "__dict__"):
        held += vars(owner).values()
    return [one for part in held for one in _reach(part, is_wanted, depth - 1)]


def list_held(value):
    """List what a container holds, or what a function may use."""
    if isinstance(value, list | tuple | set | dict):
        parts = value.values() if isinstance(value, dict) else value
        return list(parts) if len(parts) <= _MOST_HELD else []
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        known = value.__globals__
        if not any(_may_hold(known.get(name)) for name in _list_names(value.__code__)):
            return cells
        return cells + [known[name] for name in _list_globals(value.__code__) if name in known]
    return []


def _may_hold(value):
    return not isinstance(value, type | ModuleType | BuiltinFunctionType | str | int | None)


def _list_names(code):
    """List the names that code uses, of global variables and attributes."""
    inner = (_list_names(one) for one in code.co_consts if isinstance(one, CodeType))
    return chain(code.co_names, *inner)


def _list_globals(code):
    """List the global variables that code reads, also in the functions within it."""
    named = [step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    inner = [_list_globals(one) for one in code.co_consts if isinstance(one, CodeType)]
    return list(dict.fromkeys(name for names in [named, *inner] for name in names))


def _is_filled(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:  # the function refers to a variable that is not defined yet
        return False
