"""Odd values: what people hand to a public door by mistake, and what others hand to it on purpose.

A value is an ordinary one to which accidents happen, so that most calls get past the first check.
"""

import datetime
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse

from skmia import Records

try:
    import torch
except ImportError:  # then there are no tensors
    torch = None

N = 24


class Plain:
    """An object of which nothing is known."""

    def __repr__(self):
        return "Plain()"


PLAIN = Plain()
# Half a character, where pandas can hold it: text of Arrow, which it takes if it is there, cannot.
HALF = "\uffff" if find_spec("pyarrow") else "\ud800"
ODD_CELLS = (
    *(np.nan, np.inf, -np.inf, 1e300, -1e300, 1e20, 5e-324, -0.0, 2**53 + 1, 10**400, -1, 2**63),
    *("", "a", "nan", HALF, "\x1b[2J\n", "\u202egnitic", b"\xff", "9" * 400),
    *(None, pd.NA, pd.NaT, True, 1j, (1, 2), [1], {}, PLAIN, Decimal("1.5"), Fraction(1, 3)),
    *(np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), np.float16(1), np.int8(3)),
)
ODD_PARAMETERS = (
    *(0, 1, 2, 3, -1, -2, 7, 10**400, 2**32, 0.0, -0.0, 0.5, 1.0, 1.5, -0.5, 1e-300, 1e300),
    *(np.nan, np.inf, -np.inf, 5e-324, True, False, None, "", "auto", "a", "\ud800", b"a", 1j),
    *((), (1,), (0.5, 0.5), (True,), [], [0.1, 0.2], {}, {"a": 1}, PLAIN, int, len, slice(2)),
    *(np.float32(0.5), np.int64(2), np.bool_(True), np.array(1.0), np.array([0.1, 0.2])),
    *(np.empty(0), np.array(["a"]), Decimal("0.5"), Fraction(1, 2), pd.NA, pd.NaT, range(2)),
)
DTYPES = (
    *("int8", "uint64", "float16", "float32", "longdouble", "complex128", "bool", "object", "U3"),
    *("S3", "datetime64[D]", "timedelta64[s]"),
)
SETS = {"bits": (0, 1), "signs": (-1, 1), "classes": (0, 1, 2), "text": ("a", "b"), "floats": None}


def generators():
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


# Parameters of which a large number is an order to work for hours, and processes are not started.
_COUNTS = frozenset(
    "n_estimators shadows n_rounds n_permutations n_simulations n_draws n_trials n_samples "
    "max_iter n_parameters n_targets max_queries n_critic n_canaries n_copies n_iterations "
    "n_references n_steps n_latent n_features n_classes max_epochs length".split()
)


def _odd_for(name):
    if name == "random_state":
        return [one for one in ODD_PARAMETERS if one is not None]  # which asks the global generator
    if name == "n_jobs":
        return [one for one in ODD_PARAMETERS if type(one) is not int or one in (0, 1)]
    if name in _COUNTS:
        return [one for one in ODD_PARAMETERS if type(one) is not int or one < 10]
    return ODD_PARAMETERS


@st.composite
def odd_settings(draw, ordinary, most=2):
    """Keyword arguments of which some are odd.

    Parameters
    ----------
    ordinary : dict
        For each parameter a tuple of ordinary values.
    most : int, default=2
        How many may be odd.
    """
    chosen = {name: draw(st.sampled_from(values)) for name, values in ordinary.items()}
    names = st.lists(st.sampled_from(sorted(ordinary)), max_size=most, unique=True)
    odd = {name: draw(st.sampled_from(_odd_for(name))) for name in draw(names)}
    return {**chosen, **odd}


@st.composite
def mostly(draw, ordinary, odd):
    """Of one strategy three times out of four."""
    return draw(odd if draw(st.integers(0, 3)) == 3 else ordinary)


def parameters(name, *ordinary):
    """An ordinary value of a parameter, or an odd one."""
    return st.one_of(st.sampled_from(ordinary), st.sampled_from(_odd_for(name)))


def _put(array, where, cell):
    array = array.astype(object)
    array.reshape(-1)[where] = None
    flat = array.reshape(-1)
    for place in np.flatnonzero(np.atleast_1d(where)):
        flat[place] = cell
    return array


def _natural(array):
    """Objects that are all numbers, as numbers."""
    try:
        return np.array(array.tolist(), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return array


def _cast(array, dtype):
    try:
        with np.errstate(all="ignore"):
            array = np.asarray(array)
            # Of two casts in a row the first may have made complex numbers.
            array = array.real if array.dtype.kind == "c" else array
            return array.astype(dtype)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return array


@st.composite
def accidents(draw, array):
    """The array after one accident with its cells, type or shape."""
    rng = draw(generators())
    kind = draw(st.sampled_from(("cell", "cells", "type", "same", "shape", "rows", "mask", "huge")))
    if kind in ("cell", "cells") and array.size:
        share = 1 if kind == "cells" else 0
        where = rng.random(array.size) < 0.3 * share
        where[rng.integers(array.size)] = True
        put = _put(array, where, draw(st.sampled_from(ODD_CELLS)))
        return _natural(put) if draw(st.booleans()) else put
    if kind == "type":
        return _cast(array, draw(st.sampled_from(DTYPES)))
    if kind == "same":
        return np.repeat(array.reshape(-1)[:1], array.size).reshape(array.shape)
    if kind == "shape":
        change = draw(st.sampled_from(("column", "row", "scalar", "deep", "ravel")))
        shapes = {"column": (-1, 1), "row": (1, -1), "deep": (*array.shape, 1), "ravel": -1}
        return (
            array.reshape(-1)[:1].reshape(())
            if change == "scalar" and array.size
            else (array.reshape(shapes.get(change, -1)))
        )
    if kind == "rows":
        return array[: draw(st.sampled_from((0, 1, 2, len(array) - 1)))] if array.ndim else array
    if kind == "mask":
        return np.ma.masked_array(array, mask=rng.random(array.shape) < 0.2)
    factor = draw(st.sampled_from((1e300, 1e-300, 1e155, 0.0)))
    with np.errstate(all="ignore"):
        return array * factor if array.dtype.kind in "iuf" else array


@st.composite
def vectors(draw, kind="bits", n=N, odd=True):
    """One value for each record: bits, signs, classes, text or floats."""
    rng, choices = draw(generators()), SETS[kind]
    values = (
        rng.normal(size=n) if choices is None else np.array(choices)[np.arange(n) % len(choices)]
    )
    if choices is not None and draw(st.booleans()):
        values = rng.permutation(values)
    for _ in range(draw(st.sampled_from((0, 0, 0, 0, 1, 1, 2))) if odd else 0):
        values = draw(accidents(values))
    return draw(held_vector(values)) if odd else values


@st.composite
def held_vector(draw, values):
    kinds = ("list", "tuple", "series", "tensor", "category", "graph", "nullable", "ragged")
    kind = draw(st.sampled_from(("array",) * 5 + kinds))
    if values.ndim != 1 or isinstance(values, np.ma.MaskedArray):
        return values
    if kind in ("list", "tuple"):
        return {"list": list, "tuple": tuple}[kind](values.tolist())
    if kind == "tensor" and torch is not None and _suits_torch(values):
        return torch.as_tensor(np.array(values))
    if kind in ("series", "category", "nullable"):
        return _as_series(values, kind)
    return _hold(values, kind)


def _suits_torch(values):
    return values.dtype.kind in "if" and values.dtype.itemsize <= 8


def _hold(values, kind):
    """A tensor that a gradient is taken of, in a type that numpy lacks; lists of two lengths."""
    if kind == "graph" and torch is not None and values.dtype.kind == "f" and _suits_torch(values):
        return torch.tensor(np.array(values), dtype=torch.bfloat16).requires_grad_()
    if kind == "ragged" and len(values):
        rows = values.tolist()
        last = rows[-1] if isinstance(rows[-1], list) else [rows[-1]]
        return [*rows[:-1], [*last, 1]]
    return values


def _as_series(values, kind):
    try:
        series = pd.Series(values)
        if kind == "nullable":
            return series.convert_dtypes()
        return series.astype("category") if kind == "category" else series
    except Exception:  # what pandas does not hold is no question to skmia
        return values


def _as_frame(values, names):
    try:
        frame = pd.DataFrame(values)
    except Exception:
        return values
    if names == "twice" and frame.shape[1] > 1:
        frame.columns = ["a"] * frame.shape[1]
    elif names == "mixed" and frame.shape[1] > 1:
        frame.columns = ["a", *range(1, frame.shape[1])]
    elif names == "odd" and frame.shape[1]:
        frame.columns = [f"{HALF}\x1b", *map(str, range(1, frame.shape[1]))]
    return frame


@st.composite
def tables(draw, n=N, d=3, odd=True):
    """Rows of d features in any container."""
    rng = draw(generators())
    values = rng.normal(size=(n, d)) if draw(st.booleans()) else rng.integers(0, 4, (n, d))
    for _ in range(draw(st.sampled_from((0, 0, 0, 0, 1, 1, 2))) if odd else 0):
        values = draw(accidents(values))
    kinds = ("list", "sparse", "tensor", "graph", "nullable", "ragged")
    kind = draw(st.sampled_from(("array",) * 5 + ("frame",) * 4 + kinds))
    if not odd or isinstance(values, np.ma.MaskedArray):
        return values
    if kind in ("frame", "nullable") and values.ndim <= 2:
        frame = _as_frame(values, draw(st.sampled_from(("", "", "twice", "mixed", "odd"))))
        if kind == "nullable" and isinstance(frame, pd.DataFrame):
            return frame.convert_dtypes()
        return draw(odd_columns(frame)) if isinstance(frame, pd.DataFrame) else frame
    if kind == "list":
        return values.tolist()
    if kind == "sparse" and values.ndim == 2 and values.dtype.kind in "if":
        make = draw(st.sampled_from((sparse.csr_array, sparse.csc_matrix, sparse.coo_array)))
        return make(values.astype(np.float64))
    if kind == "tensor" and torch is not None and _suits_torch(values):
        return torch.as_tensor(np.array(values))
    return _hold(values, kind) if values.ndim else values


@st.composite
def odd_columns(draw, frame):
    """One more column of a type that arrays do not have."""
    n, kind = (
        len(frame),
        draw(st.sampled_from(("none", "none", "category", "dates", "Int64", "text"))),
    )
    columns = {
        "category": lambda: pd.Categorical(["u", "v"] * (n // 2) + ["u"] * (n % 2)),
        "dates": lambda: pd.date_range("2020", periods=n, tz="UTC"),
        "Int64": lambda: pd.array([1, None] * (n // 2) + [1] * (n % 2), dtype="Int64"),
        "text": lambda: ["\x1b[2J", "b"] * (n // 2) + ["b"] * (n % 2),
    }
    return frame if kind == "none" else frame.assign(**{"z": columns[kind]()})


@st.composite
def odd_records(draw, n=N):
    """Arguments of Records: X, y and fields."""
    y = draw(st.one_of(st.none(), *(vectors(kind, n) for kind in ("bits", "classes", "text"))))
    fields = {}
    for name in draw(st.sampled_from(((), (), ("group",), ("group_by",), ("group", "outputs")))):
        fields[name] = draw(vectors(draw(st.sampled_from(("bits", "text", "floats"))), n))
    return {"X": draw(tables(n)), "y": y, **fields}


@st.composite
def records(draw, n=N):
    """Records that could be made, more often ordinary ones than odd ones."""
    if draw(st.booleans()):
        parts = draw(odd_records(n))
        try:
            return Records(**parts)
        except (TypeError, ValueError):
            pass
    return ordinary_records(draw(generators()), n, draw(st.sampled_from(("classes", "floats"))))


def is_integer(rows):
    return isinstance(rows, np.ndarray) and rows.dtype.kind == "i"


def ordinary_records(rng, n=N, kind="classes"):
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + 0.1 * rng.normal(size=n)) if kind == "floats" else np.arange(n) // 2 % 2
    return Records(X, y, group=np.where(np.arange(n) % 3 == 0, "a", "b"))
