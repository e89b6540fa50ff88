"""The file of a finished model in a checkpoint: its arrays, facts and warnings."""

import io
import json
import sys
import zipfile

import numpy as np

from .job import Kept
from .stored import map_parts


def parse(content):
    """Read the arrays and facts of a file.

    Parameters
    ----------
    content : bytes
        Content of the file.

    Returns
    -------
    arrays : dict of str to ndarray
    meta : dict

    Raises
    ------
    Exception
        Of any class, if the content is damaged.
    """
    # np.savez does not compress, so a compressed part was not written here and may unpack to any
    # size.
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts.infolist()):
            raise ValueError("it is compressed")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return arrays, _read_meta(arrays)


def parse_mapped(path):
    """Read the arrays and facts of a file as :func:`parse` does; arrays are mapped into memory."""
    arrays = map_parts(path)
    return arrays, _read_meta(arrays)


def _read_meta(arrays):
    meta = json.loads(str(arrays.pop("meta")))
    kinds = {"digest": str, "arrays": str, "model": str | None, "facts": dict, "warnings": list}
    for name, kind in kinds.items():
        if not isinstance(meta[name], kind):
            raise ValueError(f"its {name} are of another type")
    for warning in meta["warnings"]:
        if not isinstance(warning, list) or [type(text) for text in warning] != [str, str]:
            raise ValueError("its warnings are of another type")
    return meta


def as_kept(arrays, meta, model):
    """Return the results of a model, given what :func:`parse` read."""
    said = tuple((_warning_category(name), message) for name, message in meta["warnings"])
    return Kept(meta["facts"], arrays, model, said)


def _warning_category(name):
    """Category of a stored warning, if Python, scikit-learn or skmia has it; else UserWarning."""
    for module in ("builtins", "sklearn.exceptions", "skmia.exceptions"):
        category = getattr(sys.modules[module], name, None)
        if isinstance(category, type) and issubclass(category, Warning):
            return category
    return UserWarning
