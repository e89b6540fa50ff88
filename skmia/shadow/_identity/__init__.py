"""What the models of a pool depend on: code, parameters, versions and data."""

from ._estimators import Identity, identify
from ._tables import digest_arrays, digest_table
from ._values import UnidentifiedError

__all__ = ["Identity", "UnidentifiedError", "digest_arrays", "digest_table", "identify"]
