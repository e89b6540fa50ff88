"""The precision in which a GPU multiplies numbers of 32 bits."""

from contextlib import contextmanager
from typing import NamedTuple

import torch


class ProductPrecision(NamedTuple):
    """Settings of torch for products of matrices and convolutions on a GPU.

    Attributes
    ----------
    products : str
        "highest" for all 24 bits, "high" and "medium" for fewer.
    convolutions : bool or None
        Whether convolutions may use TF32, which has 11 bits; None if torch does not tell.
    """

    products: str
    convolutions: bool | None

    def rounds_factors(self, has_convolutions):
        """Return whether the factors of a net's products may be rounded to fewer bits."""
        of_convolutions = has_convolutions and self.convolutions is not False
        return self.products != "highest" or of_convolutions


def read_precision():
    """Return the precision of this process."""
    try:
        convolutions = torch.backends.cudnn.allow_tf32
    except RuntimeError:  # set by kind of layer, which older versions of torch cannot
        convolutions = None
    return ProductPrecision(torch.get_float32_matmul_precision(), convolutions)


def _set_precision(precision):
    torch.set_float32_matmul_precision(precision.products)
    if precision.convolutions is not None:
        torch.backends.cudnn.allow_tf32 = precision.convolutions


@contextmanager
def multiplying(precision):
    """Multiply in the precision of another process, which a new process does not inherit.

    With None, nothing is changed.
    """
    present = read_precision()
    if precision is None or precision == present:
        yield
        return
    _set_precision(precision)
    try:
        yield
    finally:
        _set_precision(present)
