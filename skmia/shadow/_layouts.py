"""Files of shadow models in the layouts of other programs."""

import re
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zipfile import BadZipFile

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.files import make_private_folder, write_atomically
from .._core.metric_inputs import check_option
from .._core.numbers import show, to_array
from .._core.query import unwrap
from .._core.types import ArrayLike
from ..signals import Confidence
from ._imported import check_training_sets

_EPOCH = "0000000001.npy"
# Probabilities of single precision may exceed 1 by so much.
_ROUNDING = 1e-6


class Shadows(NamedTuple):
    """Outputs of shadow models and their training sets, as :func:`load_shadows` finds them.

    Attributes
    ----------
    outputs : ndarray of shape (n_estimators, [n_queries,] n[, n_classes])
        Outputs, in the order that :meth:`skmia.ShadowPool.from_outputs` takes.
    membership : ndarray of shape (n_estimators, n), dtype bool
        Training sets.
    kind : {"logits", "log_odds"}
        Kind of the outputs.
    y : ndarray of shape (n,) or None
        Task labels, if they are stored with the outputs.
    names : list of str
        File or column of each model.
    """

    outputs: np.ndarray
    membership: np.ndarray
    kind: str
    y: np.ndarray | None
    names: list[str]


def load_shadows(
    folder: str | Path,
    layout: Literal["carlini2022", "privacy_meter", "leakpro", "npz"],
    *,
    kind: Literal["auto", "logits", "log_odds"] = "auto",
    membership: ArrayLike | None = None,
) -> Shadows:
    r"""Read outputs of shadow models from the files of another program.

    Only arrays are read, without pickles.

    Parameters
    ----------
    folder : str or Path
        Folder with the results of the program.
    layout : {"carlini2022", "privacy_meter", "leakpro", "npz"}
        Program that wrote the files:

        * ``"carlini2022"``, the code of Carlini et al. (2022): ``y_train.npy``, and of each model a
          folder ``experiment*`` with ``keep.npy`` (n,), ``logits/*.npy`` (n, 1, n_queries,
          n_classes) and ``scores/*.npy`` (n, n_queries), and the last epoch is read;
        * ``"privacy_meter"``: ``signals/*_signals.npy`` (n, n_estimators), the probabilities of the
          labels, and ``models/memberships.npy`` (n_estimators, n);
        * ``"leakpro"``: ``sm_<i>_logits.npy`` (n, n_classes) of each model. Its training sets are
          pickles, which are not read: pass `membership`;
        * ``"npz"``: ``shadows.npz`` with ``outputs`` (n_estimators, n_queries, n), which are log
          odds, and ``membership``, as :func:`save_shadows` writes it.
    kind : {"auto", "logits", "log_odds"}, default="auto"
        Which files of the first layout to read; ``"auto"`` takes logits if they are there.
    membership : array-like of shape (n_estimators, n), default=None
        Training sets, in the order of ``names``, instead of those in the folder.

    Returns
    -------
    shadows : Shadows
        A named tuple with ``outputs``, ``membership``, ``kind``, ``y`` and ``names``.

    Raises
    ------
    FileNotFoundError
        If a file of the layout is missing.
    ValueError
        If a parameter is invalid, or files do not agree in their shapes.

    See Also
    --------
    save_shadows : Writes a pool in one of these layouts.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from skmia import Records, ShadowPool
    >>> from skmia.shadow import load_shadows
    >>> rng, folder = np.random.default_rng(0), Path(tempfile.mkdtemp())
    >>> for part in ("signals", "models"):
    ...     (folder / part).mkdir()
    >>> np.save(folder / "signals" / "rmia_signals.npy", rng.random((50, 8)))
    >>> np.save(folder / "models" / "memberships.npy", rng.random((8, 50)) < 0.5)
    >>> found = load_shadows(folder, "privacy_meter")
    >>> records = Records.from_ids(np.arange(50))
    >>> pool = ShadowPool.from_outputs(found.outputs, found.membership, records, kind=found.kind)
    >>> pool.transform(records).shape
    (50, 8)
    """
    check_option(layout, "layout", _LAYOUTS)
    check_option(kind, "kind", ("auto", "logits", "log_odds"))
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {show(str(folder))}.")
    found = _LAYOUTS[layout].load(folder, kind)
    if membership is None:
        membership = found.membership
    if membership is None:
        raise ValueError(
            "The training sets in this layout are pickles, which are not read; pass membership=, "
            f"with one row for each of {', '.join(found.names[:3])}, ..."
        )
    n_records = found.outputs.shape[-1 if found.kind == "log_odds" else -2]
    membership = to_array(membership, "membership")
    if membership.ndim == 2:
        membership = membership[:, :n_records]  # some keep more rows than they were asked
    checked = check_training_sets(membership, n_records, len(found.names))
    return found._replace(membership=checked)


def save_shadows(
    pool: Any,
    folder: str | Path,
    layout: Literal["carlini2022", "privacy_meter", "leakpro", "npz"],
    y: ArrayLike | None = None,
) -> None:
    """Write the signals of a pool to files in the layout of another program.

    Parameters
    ----------
    pool : ShadowPool
        Fitted pool of classifiers.
    folder : str or Path
        New or empty folder.
    layout : {"carlini2022", "privacy_meter", "leakpro", "npz"}
        As for :func:`load_shadows`. The first has the log odds as ``scores``. The second has the
        probabilities of the labels, by the smoothed log odds at temperature 1 of the first query
        alone: further queries of ``augment`` are not written. The third has the outputs, which the
        pool must have stored; the training sets are ``memberships.npy``. The fourth is one
        compressed file.
    y : array-like of shape (n,), default=None
        Task labels in the order of the pool, for the first layout.

    Raises
    ------
    FileExistsError
        If there are files in the folder.
    ValueError
        If the pool does not store what the layout holds.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.shadow import load_shadows, save_shadows
    >>> records, _ = make_membership_problem(200, random_state=0)
    >>> pool = ShadowPool(DecisionTreeClassifier(), n_estimators=4, random_state=0).fit(records)
    >>> folder = tempfile.mkdtemp()
    >>> save_shadows(pool, folder, "carlini2022", records.y)
    >>> load_shadows(folder, "carlini2022").outputs.shape
    (4, 1, 200)
    """
    check_option(layout, "layout", _LAYOUTS)
    pool, folder = unwrap(pool), Path(folder)
    check_is_fitted(pool)
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{show(str(folder))} is not an empty folder.")
    n_records = pool.membership_.shape[1]
    if y is not None and len(y) != n_records:
        raise ValueError(
            f"y must hold one label for each of {n_records} records of the pool; got {len(y)}."
        )
    for name, write in _LAYOUTS[layout].write(pool, y):
        path = folder / name
        make_private_folder(path.parent)
        write_atomically(path, write)


def _require_file(path):
    if not path.is_file():
        raise FileNotFoundError(f"The layout needs the file {show(str(path))}.")
    return path


def _load_layout_array(path):
    _require_file(path)
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:  # Python objects are pickles, which are not read
        raise ValueError(f"{show(str(path))} does not hold an array of numbers.") from error


def _stack_model_files(paths):
    arrays = [_load_layout_array(path) for path in paths]
    shapes = {array.shape for array in arrays}
    if len(shapes) > 1:
        raise ValueError(f"Files of the models differ in shape: {sorted(shapes)}.")
    return np.stack(arrays)


def _list_models(folder, pattern, is_model=lambda path: True):
    """Return paths in the order of the numbers in their names: 9 before 10."""
    paths = sorted(filter(is_model, folder.glob(pattern)), key=_split_numbers)
    if not paths:
        raise FileNotFoundError(f"There is no {pattern} in {show(str(folder))}.")
    return paths


def _split_numbers(path):
    return [int(part) if part.isdecimal() else part for part in re.split(r"([0-9]+)", path.name)]


def _is_numbered(path):
    return path.name.split("_")[1].isdecimal()


def _log_odds_of(pool):
    reading = pool.locate_signal("auto")
    if not hasattr(reading.signal, "temperature"):
        raise ValueError("The layout holds probabilities, and the models of the pool have none.")
    return pool.signals_[reading.place]


def _saving(values):
    return lambda file: np.save(file, values)


class _Carlini2022Layout:
    """One folder for each model, with a file for each epoch."""

    @staticmethod
    def load(folder, kind):
        models = [path for path in _list_models(folder, "experiment*") if path.is_dir()]
        if kind == "auto":
            kind = "logits" if all((model / "logits").is_dir() for model in models) else "log_odds"
        part = "logits" if kind == "logits" else "scores"
        outputs = _stack_model_files([_list_models(model / part, "*.npy")[-1] for model in models])
        if outputs.ndim != (5 if kind == "logits" else 3):
            raise ValueError(f"The {part} have the shape {outputs.shape[1:]} for each model.")
        outputs = outputs[:, :, 0] if kind == "logits" else outputs
        y, n_records = folder / "y_train.npy", outputs.shape[1]
        y = np.array(_load_layout_array(y)[:n_records]) if y.is_file() else None
        keep = _stack_model_files([model / "keep.npy" for model in models])
        return Shadows(np.moveaxis(outputs, 1, 2), keep, kind, y, [path.name for path in models])

    @staticmethod
    def write(pool, y):
        if y is not None:
            yield "y_train.npy", _saving(np.asarray(y))
        log_odds = _log_odds_of(pool)
        for k, inside in enumerate(pool.membership_):
            model = f"experiment-{k}_{len(pool.membership_)}"
            yield f"{model}/keep.npy", _saving(inside)
            yield f"{model}/scores/{_EPOCH}", _saving(log_odds[:, k].T)


class _PrivacyMeter:
    """One matrix with a column for each model."""

    @staticmethod
    def load(folder, kind):
        paths = _list_models(folder / "signals", "*_signals.npy")
        if len(paths) > 1:
            found = ", ".join(path.name for path in paths)
            raise ValueError(
                f"There are several files of signals ({found}); leave the one to read."
            )
        values = np.asarray(_load_layout_array(paths[0]))
        if values.ndim != 2:
            raise ValueError(f"The signals have the shape {values.shape}, not (n, n_estimators).")
        if not ((values >= 0) & (values <= 1 + _ROUNDING)).all():
            raise ValueError(
                f"{show(paths[0].name)} holds numbers that are no probabilities of the labels; the "
                "layout has those of the attack RMIA, not losses."
            )
        values = np.minimum(values, 1)
        with np.errstate(divide="ignore"):
            outputs = (np.log(values) - np.log1p(-values)).T
        names = [f"column {k}" for k in range(len(outputs))]
        keep = np.asarray(_load_layout_array(folder / "models" / "memberships.npy"))
        return Shadows(outputs, keep, "log_odds", None, names)

    @staticmethod
    def write(pool, y):
        derive = Confidence().derive_from(pool.locate_signal("auto").signal)
        yield "signals/rmia_signals.npy", _saving(derive(_log_odds_of(pool)[0]).T)
        yield "models/memberships.npy", _saving(pool.membership_)


class _LeakPro:
    """One file for each model, by number."""

    @staticmethod
    def load(folder, kind):
        paths = _list_models(folder, "sm_*_logits.npy", _is_numbered)
        stored = folder / "memberships.npy"
        keep = np.asarray(_load_layout_array(stored)) if stored.is_file() else None
        return Shadows(
            _stack_model_files(paths), keep, "logits", None, [path.name for path in paths]
        )

    @staticmethod
    def write(pool, y):
        if pool.outputs_ is None:
            raise ValueError('The layout holds all logits; fit the pool with store="outputs".')
        if pool.output_kind_ not in ("proba", "logits"):
            raise ValueError(
                "The layout holds logits, and the models of the pool return "
                f"{pool.output_kind_!r}, from which none follow."
            )
        is_logits = pool.output_kind_ == "logits"
        for k, outputs in enumerate(pool.outputs_):
            with np.errstate(divide="ignore"):
                logits = outputs if is_logits else np.log(outputs)
            yield f"sm_{k}_logits.npy", _saving(logits)
        yield "memberships.npy", _saving(pool.membership_)


class _NpzLayout:
    """One file."""

    @staticmethod
    def load(folder, kind):
        path = _require_file(folder / "shadows.npz")
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                outputs, keep = stored["outputs"], stored["membership"]
        except (ValueError, OSError, KeyError, EOFError, BadZipFile) as error:
            raise ValueError(
                f"{show(str(path))} does not hold the arrays of numbers 'outputs' and 'membership'."
            ) from error
        names = [f"row {k}" for k in range(len(outputs))]
        return Shadows(outputs, keep, "log_odds", None, names)

    @staticmethod
    def write(pool, y):
        arrays = {"outputs": np.moveaxis(_log_odds_of(pool), 0, 1), "membership": pool.membership_}
        yield "shadows.npz", lambda file: np.savez_compressed(file, **arrays)


_LAYOUTS: dict[str, Any] = {
    "carlini2022": _Carlini2022Layout,
    "privacy_meter": _PrivacyMeter,
    "leakpro": _LeakPro,
    "npz": _NpzLayout,
}
