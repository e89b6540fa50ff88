"""Selection of layers."""

from numbers import Integral

import numpy as np

from .._core.numbers import show


def check_layers(layers):
    """Refuse an empty choice of layers."""
    if layers is not None and not len(layers):
        raise ValueError(f"layers must name one or more layers; got {show(layers)}.")
    return layers


def get_layers(layers, names):
    """Return the names of layers given by names or positions; all layers if None."""
    if layers is None:
        return names
    if isinstance(layers, str) or not np.iterable(layers):
        raise ValueError(f"layers must be a sequence of names or positions; got {show(layers)}.")
    chosen = []
    for layer in layers:
        if isinstance(layer, Integral) and -len(names) <= layer < len(names):
            chosen.append(names[layer])
        elif isinstance(layer, str) and layer in names:
            chosen.append(layer)
        else:
            raise ValueError(
                f"Unknown layer {show(layer)}; the {len(names)} layers are {', '.join(names)}."
            )
    return chosen
