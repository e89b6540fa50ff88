"""Random changes of the batches of many nets, by an Augmentation of the user."""

import logging
from functools import partial

import torch
from torch.func import vmap
from torch.overrides import TorchFunctionMode

from ...groups import describe_training_error
from .batches import change, take_model
from .keyed_draws import draw_longs, mix_bits

_logger = logging.getLogger("skmia")


class BatchChanges:
    """Changes the batch of each net by numbers of its own.

    On a CPU they come from the generator of the net. On other devices they are keyed draws, for all
    nets at once; if torch cannot vectorize the functions of the user, they come from generators on
    the device.
    """

    def __init__(self, augmentation, generators, is_keyed):
        self._augmentation, self._generators = augmentation, generators
        self._is_keyed = is_keyed

    def change(self, models, x, starts):
        """Return the changed rows of some nets, given where the numbers of each net start."""
        if self._is_keyed:
            try:
                return vmap(self._change_one, randomness="error")(x, starts)
            except Exception as error:  # of functions of the user, which may do anything
                reason = describe_training_error(error)
                _logger.debug("batches are changed one net after the other: %s", reason)
                self._is_keyed = False
        changed = [
            self._augmentation.transform(take_model(x, i), generator)
            for i, generator in enumerate(self._generators[models])
        ]
        return change(lambda *parts: torch.stack(parts), *changed)

    def _change_one(self, x, start):
        generator = self._generators[0]  # it stands for all and is not drawn from
        with KeyedFunctions(generator, start):
            return self._augmentation.transform(x, generator)


class KeyedFunctions(TorchFunctionMode):
    """Lets the functions of torch that draw from a generator use keyed draws instead.

    Parameters
    ----------
    start : Tensor of shape (), dtype int64
        Where the numbers start.
    """

    def __init__(self, generator, start):
        super().__init__()
        self._generator, self._start, self._n_calls = generator, start, 0

    def __torch_function__(self, function, types, arguments=(), settings=None):
        settings = dict(settings or {})
        if settings.get("generator") is not self._generator:
            return function(*arguments, **settings)
        del settings["generator"]
        settings.pop("device", None)  # that of the start
        if function not in _KEYED:
            raise NotImplementedError(f"{function.__name__} has no keyed draws")
        self._n_calls += 1
        start = mix_bits(self._start + self._n_calls)
        return _KEYED[function](partial(draw_longs, start), *arguments, **settings)


def _read_size(size):
    """Return a size that was given as one argument or as several."""
    return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size


def _draw_uniform(draw, *size, dtype=torch.float64, **layout):
    size = _read_size(layout.pop("size", size))
    numbers = draw(torch.Size(size).numel()).reshape(size)
    # As many bits as a float holds, so that no number is rounded to 1.
    n_bits = 53 if dtype == torch.float64 else 24
    return ((numbers >> (64 - n_bits)) & (2**n_bits - 1)).to(dtype) * 2.0**-n_bits


def _rand(draw, *size, dtype=None, **layout):
    return _draw_uniform(draw, *size, dtype=dtype or torch.get_default_dtype(), **layout)


def _randn(draw, *size, dtype=None, **layout):
    size = _read_size(layout.pop("size", size))
    u = _draw_uniform(draw, 2, *size)
    normal = (-2 * (1 - u[0]).log()).sqrt() * (2 * torch.pi * u[1]).cos()
    return normal.to(dtype or torch.get_default_dtype())


def _randint(draw, *limits, size=None, dtype=None, low=0, high=None, **layout):
    *limits, size = (*limits, size) if size is not None else limits
    low, high = limits if len(limits) == 2 else (low, limits[0] if limits else high)
    # The upper 32 bits of the product with a number of 32 bits.
    numbers = (draw(torch.Size(size).numel()).reshape(tuple(size)) >> 32) & (2**32 - 1)
    return (low + ((numbers * (high - low)) >> 32)).to(dtype or torch.int64)


def _randperm(draw, n, dtype=None, **layout):
    return draw(n).argsort().to(dtype or torch.int64)


def _bernoulli(draw, p):
    return (_draw_uniform(draw, p.shape) < p).to(p.dtype)


_KEYED = {
    torch.rand: _rand,
    torch.randn: _randn,
    torch.randint: _randint,
    torch.randperm: _randperm,
    torch.bernoulli: _bernoulli,
}
