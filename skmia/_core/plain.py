"""Values of a document as those of JSON."""

import numpy as np


def as_plain(value):
    """Convert to plain Python values; a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {as_plain(str(key)): as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, int | float):
        return value
    # Surrogates (halves of characters) cannot be encoded in a file and are written as escapes.
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")
