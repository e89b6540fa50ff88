"""Identity of everything that the models of a pool depend on: code, parameters, versions, data."""

from .estimators import Identity, identify, identify_values
from .tables import digest_arrays, digest_table
from .values import UnidentifiedError

__all__ = [
    "Identity",
    "UnidentifiedError",
    "digest_arrays",
    "digest_table",
    "identify",
    "identify_values",
]
