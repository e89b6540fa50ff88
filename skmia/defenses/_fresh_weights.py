"""Weights that no earlier training has touched: drawn anew, or seen to be drawn anew."""

from collections.abc import Mapping, Set

import numpy as np
import torch
from torch.nn.parameter import is_lazy

from .._core.randomness import preserved_randomness, seed_everything

# Any two seeds other than that of the training.
_SEEDS = 1, 2

# Share of the numbers of a tensor that two draws may have in common, as those of 8 bits do.
_MOST_COMMON = 0.05

_CURE = (
    "Pass the module's class, or a function that makes it, with weights drawn from torch's "
    "generator. Where they do not depend on private rows, declare it by public_weights=True."
)


def renew_modules(net):
    """Draw the weights of modules anew that a net, which is a copy, holds as objects."""
    for name, value in net.get_params(deep=False).items():
        if not isinstance(value, torch.nn.Module):
            continue
        frozen = {
            one: weight.detach().clone()
            for one, weight in value.named_parameters()
            if not weight.requires_grad and _has_numbers(weight)
        }
        value.apply(_renew_layer)
        after = dict(value.named_parameters())
        drawn = [one for one, weight in frozen.items() if not torch.equal(weight, after[one])]
        if drawn:
            raise ValueError(
                f"{name!r} of the net is a module with frozen weights ({drawn[0]!r}), which would "
                "be drawn anew like all others and never be trained. Where they do not depend on "
                "private rows, declare it by public_weights=True; else unfreeze them, or pass the "
                "module's class."
            )


def _renew_layer(layer):
    # Of MultiheadAttention and Transformer it is a private method.
    draw = getattr(layer, "reset_parameters", None) or getattr(layer, "_reset_parameters", None)
    if not callable(draw):
        return
    own = dict(layer.named_parameters(recurse=False))
    own = {name: weight for name, weight in own.items() if _has_numbers(weight)}
    with torch.no_grad():
        for weight in own.values():  # so that none is made of an old one
            if weight.is_floating_point():
                weight.fill_(torch.nan)
    draw()
    for name, weight in own.items():
        if weight.isnan().any():
            raise ValueError(
                f"reset_parameters of the layer {type(layer).__name__} does not draw its {name!r} "
                f"anew, so that it may come from earlier training. {_CURE}"
            )


def check_drawn(net, make):
    """Refuse a net with weights that were not drawn while it was made.

    Drawn weights differ between seeds and are the same for the same seed. Those of a module that
    was trained before, of a file and of any list of modules do one or the other.
    """
    with preserved_randomness():
        others = []
        for seed in (_SEEDS[0], _SEEDS[1], _SEEDS[1]):
            seed_everything(seed)
            others.append(make())
    made = [_list_numbers(one.module_) for one in (net, *others)]
    if len({tuple((name, value.shape) for name, value in one.items()) for one in made}) > 1:
        raise ValueError("estimator makes another net in each call; it must depend on sizes alone.")
    for name, (first, second, third, fourth) in zip(made[0], zip(*(one.values() for one in made))):
        if not _is_fresh(first, second) or not _is_fresh(second, third):
            if not _is_reset(others[0].module_, name, second):
                raise ValueError(
                    f"{name!r} of the net has the same numbers in nets that were made one after "
                    f"the other: they may come from earlier training, which epsilon_ does not "
                    f"cover. {_CURE}"
                )
        if not torch.equal(third, fourth):
            raise ValueError(
                f"{name!r} of the net differs between two nets that were made with the same seed, "
                "so that nothing shows that it was drawn and does not come from earlier training. "
                f"{_CURE}"
            )


def _is_fresh(first, second):
    """Whether numbers were drawn, or are the same number throughout or a pattern of positions."""
    common = first[first == second]
    if not common.numel() or (common == 0).all() or (common == 1).all():
        return True
    if common.numel() <= _MOST_COMMON * first.numel() or (common == common[0]).all():
        return common.numel() > 1 or first.numel() > 1
    return any(
        torch.equal(first, pattern.view_as(first).to(first.dtype)) for pattern in _patterns(first)
    )


def _patterns(values):
    yield torch.arange(values.numel())
    if values.ndim >= 2:
        yield torch.ones(values.shape).tril()
        yield torch.ones(values.shape).triu()


def _is_reset(module, name, value):
    """Return whether a single number is what its layer sets it to, such as the slope of a PReLU."""
    place, _, own = name.rpartition(".")
    layer = dict(module.named_modules()).get(place)
    if value.numel() != 1 or not callable(getattr(layer, "reset_parameters", None)):
        return False
    _renew_layer(layer)
    after = dict(layer.named_parameters(recurse=False)).get(own)
    return after is not None and bool((after.detach().cpu() == value).all())


def _list_numbers(module):
    """Weights, buffers, and tensors and arrays that layers keep as other attributes, by name."""
    found, seen, waiting = {}, set(), [("", module)]
    while waiting:
        name, value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            if _has_numbers(value):
                found[name] = value.detach().cpu()
        elif isinstance(value, np.ndarray):
            if value.dtype.kind in "biuf":
                found[name] = torch.from_numpy(np.array(value, dtype=np.float64))
        else:
            waiting += [
                (f"{name}.{key}".strip("."), part) for key, part in _list_module_parts(value)
            ]
    return dict(sorted(found.items()))


def _list_module_parts(value):
    if isinstance(value, torch.nn.Module):
        own = vars(value)
        registered = ("_parameters", "_buffers", "_modules")
        for kind in registered:
            yield from own[kind].items()
        yield from ((key, part) for key, part in own.items() if key not in registered)
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple | Set):
        yield from enumerate(value)
    elif type(value).__module__.partition(".")[0] not in ("builtins", "torch", "numpy"):
        yield from getattr(value, "__dict__", {}).items()


def _has_numbers(weight):
    return weight is not None and not is_lazy(weight) and not weight.is_meta
