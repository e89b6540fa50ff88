"""A folder in which finished shadow models survive whatever happens to the process."""

import json
import os
import sys
import uuid
import warnings
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import joblib
import numpy as np
from sklearn.base import clone

from ..exceptions import CheckpointError
from ._backends import use_one_job
from ._seeding import seed_estimator
from ._states import TrainingStates
from ._worker import ShadowResult

_FORMAT = 1

# Entries of the manifest under names that say more to a person.
_SHOWN = {"estimator_hash": "estimator"}
_LABELS = {"estimator_hash": "estimator", "entropy": "random_state", "skmia": "version of skmia"}
_MANIFEST = "manifest.json"


def _hash_array(values):
    if values is None:
        return None
    values = np.ascontiguousarray(values)
    return sha256(str(values.dtype).encode() + values.tobytes()).hexdigest()[:16]


def _neutral(estimator):
    """The estimator without what has no bearing on its shadow models: fit, seeds and jobs."""
    neutral = use_one_job(clone(estimator))
    seed_estimator(neutral, np.random.SeedSequence(0))
    return neutral


def _versions(estimator):
    """Versions of numpy, scikit-learn and every package that a part of the estimator comes from."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    kinds = [type(part) for part in parts if hasattr(part, "get_params")]
    roots = {base.__module__.split(".")[0] for kind in kinds for base in kind.__mro__}
    names = {"numpy", *("scikit-learn" if root == "sklearn" else root for root in roots)}
    if "skorch" in roots:
        names.add("torch")
    found = {}
    for name in sorted(names):
        with suppress(PackageNotFoundError):  # a module of the user's own, or Python's
            found[name] = version(name)
    return found


def describe_job(job, records, entropy, design, backend):
    """All that the models of a pool depend on, one readable entry each.

    Parameters
    ----------
    job : PoolJob
        The pool.
    records : Records of n records
        The records.
    entropy : list of int
        From which all seeds come.
    design : dict
        Parameters of the sampling.
    backend : str
        Name of the backend.

    Returns
    -------
    manifest : dict
        Serialisable as JSON.
    """
    from .. import __version__

    settings = job.settings
    return {
        "format": _FORMAT,
        "skmia": __version__,
        "estimator": repr(clone(job.estimator)),
        "estimator_hash": joblib.hash(_neutral(job.estimator)),
        "records": {"n": len(records), "hash": _hash_array(records.fingerprint)},
        "queries": len(job.data.queries),
        "group_by": _hash_array(_as_text(records.fields.get("group_by"))),
        "sampling": design,
        "entropy": [int(part) for part in entropy],
        "temperatures": [float(one) for one in settings.temperatures],
        "resolution": settings.resolution,
        "store": settings.store,
        "versions": _versions(job.estimator),
        "backend": backend,
    }


def _as_text(values):
    return None if values is None else np.asarray(values).astype(str)


def _write_atomically(path, write, once=False):
    """Write beside the path and rename, so that a half-written file never has its name.

    With ``once`` a file that another process has put there in the meantime stays.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if once:
            with suppress(FileExistsError):
                os.link(temporary, path)
        else:
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _digest(manifest):
    # How an estimator prints is for people: it can hold addresses of this process.
    binding = {name: value for name, value in manifest.items() if name != "estimator"}
    return sha256(json.dumps(binding, sort_keys=True).encode()).hexdigest()[:16]


def check_same_pool(known, manifest, where):
    """Refuse to go on with the shadow models of another pool.

    Raises
    ------
    CheckpointError
        Names what differs.
    """
    # In the order of the manifest, in which a cause stands before what follows from it.
    for name in dict.fromkeys([*manifest, *known]):
        if name == "estimator":
            continue
        if manifest.get(name) != known.get(name):
            shown = _SHOWN.get(name, name)
            there, here = known.get(shown, known.get(name)), manifest.get(shown, manifest.get(name))
            raise CheckpointError(
                f"{where} belongs to another pool, which differs in {_LABELS.get(name, name)}: "
                f"{there!r} there, {here!r} here."
            )


class MemoryCheckpoint:
    """Finished shadow models kept in memory, for a pool that may grow."""

    def __init__(self):
        self._manifest, self._results = None, {}

    def read_entropy(self):
        """Entropy of the pool, or None before its first fit."""
        return None if self._manifest is None else self._manifest["entropy"]

    def open(self, manifest):
        """Check that it is still the same pool."""
        if self._manifest is not None:
            check_same_pool(self._manifest, manifest, "The fitted pool (warm_start=True)")
        self._manifest = manifest

    def save(self, k, result, inside):
        """Keep the result of a model."""
        self._results[k] = result

    def load(self, k, inside):
        """Result of a model, or None."""
        return self._results.get(k)

    def unfinished(self, models):
        """Those of some models that are still to be trained: all, as nobody else is at work."""
        return models

    def states(self):
        """Nothing keeps the state of a training in memory."""
        return None


class FolderCheckpoint:
    """One folder of one pool: a manifest that people can read and one file a shadow model.

    Parameters
    ----------
    folder : str or path
        Made where it does not exist.
    """

    def __init__(self, folder):
        self.folder = Path(folder)

    def read_entropy(self):
        """Entropy of the pool that the folder belongs to, or None for a new folder."""
        manifest = self._read_manifest()
        return None if manifest is None else manifest.get("entropy")

    def open(self, manifest):
        """Take possession of a new folder, or check that it belongs to this very pool.

        Raises
        ------
        CheckpointError
            Names what differs.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._digest = _digest(manifest)
        if self._read_manifest() is None:
            if any(self.folder.glob("shadow-*.npz")):
                raise CheckpointError(
                    f"The checkpoint folder {self.folder} holds shadow models but no {_MANIFEST}, "
                    "so that nobody can tell whose they are; use another folder."
                )
            text = json.dumps(manifest, indent=2).encode()
            _write_atomically(self.folder / _MANIFEST, lambda file: file.write(text), once=True)
        check_same_pool(self._read_manifest(), manifest, f"The checkpoint folder {self.folder}")

    def _read_manifest(self):
        path = self.folder / _MANIFEST
        if not path.exists():
            return None
        try:
            manifest = json.loads(path.read_text())
            if not isinstance(manifest, dict):
                raise ValueError("it is no mapping")
        except ValueError as error:
            raise CheckpointError(
                f"The manifest {path} cannot be read ({error}); without it nobody can tell whose "
                "shadow models these are. Use another folder."
            ) from None
        return manifest

    def _path(self, k):
        return self.folder / f"shadow-{k:05d}.npz"

    def save(self, k, result, inside):
        """Keep what a finished shadow model gave."""
        meta = {
            "digest": self._digest,
            "evidence": result.evidence,
            "step": float(result.step),
            "dtype": np.dtype(result.dtype).str,
            "kind": result.kind,
            "warnings": [[category.__name__, message] for category, message in result.warnings],
        }
        arrays = {
            "raw": result.raw,
            "inside": np.packbits(inside),
            "meta": np.array(json.dumps(meta)),
        }
        if result.classes is not None:
            classes = np.asarray(result.classes)
            arrays["classes"] = classes.astype(str) if classes.dtype == object else classes
        if result.outputs is not None:
            arrays["outputs"] = result.outputs
        if result.model is not None:
            model = self._path(k).with_suffix(".joblib")
            _write_atomically(model, lambda file: joblib.dump(result.model, file))
        # Last: a score row without its model would count as finished.
        _write_atomically(self._path(k), lambda file: np.savez(file, **arrays))
        self._path(k).with_suffix(".begun").unlink(missing_ok=True)

    def unfinished(self, models):
        """Those of some models that no process has finished when their turn comes.

        What another process has begun comes last, for it may have been killed: several processes
        on one folder share the work, and nobody waits for anybody.
        """
        own = set()
        for others_too in (False, True):
            for k in models:
                if k in own or self._path(k).exists():
                    continue
                if self._begin(k) or others_too:
                    own.add(k)
                    yield k

    def _begin(self, k):
        try:
            self._path(k).with_suffix(".begun").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def states(self):
        """Where the states of models that are trained together are kept."""
        return TrainingStates(self.folder, self._digest, _write_atomically)

    def load(self, k, inside):
        """What a finished shadow model gave; None where there is none that can be read.

        A file that is damaged counts as not there and is written again.
        """
        path = self._path(k)
        if not path.exists():
            return None
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            meta = json.loads(str(arrays["meta"]))
            intact = meta["digest"] == self._digest
            intact = intact and np.array_equal(arrays["inside"], np.packbits(inside))
            model = self._load_model(k)
        except Exception as error:  # what a damaged pickle raises can be anything
            warnings.warn(
                f"{path} is damaged ({type(error).__name__}: {error}); the shadow model is trained "
                "again.",
                stacklevel=4,
            )
            path.unlink(missing_ok=True)
            return None
        if not intact:
            raise CheckpointError(
                f"{path} was written by another pool than {_MANIFEST} beside it says; use another "
                "folder."
            )
        return _as_result(arrays, meta, model)

    def _load_model(self, k):
        path = self._path(k).with_suffix(".joblib")
        return joblib.load(path) if path.exists() else None


def _as_result(arrays, meta, model):
    return ShadowResult(
        evidence=meta["evidence"],
        raw=arrays["raw"],
        step=meta["step"],
        dtype=np.dtype(meta["dtype"]),
        kind=meta["kind"],
        classes=arrays.get("classes"),
        outputs=arrays.get("outputs"),
        model=model,
        warnings=[(_warning_category(name), message) for name, message in meta["warnings"]],
    )


def _warning_category(name):
    """Category of a stored warning: a built-in one, scikit-learn's, ours, or the general one."""
    for module in ("builtins", "sklearn.exceptions", "skmia.exceptions"):
        category = getattr(sys.modules[module], name, None)
        if isinstance(category, type) and issubclass(category, Warning):
            return category
    return UserWarning


def run_or_resume(backend, job, checkpoint):
    """Results of all models of a job, those that a checkpoint holds without training them again.

    Parameters
    ----------
    backend : Backend
        Trains what is missing.
    job : PoolJob
        The pool.
    checkpoint : FolderCheckpoint, MemoryCheckpoint or None
        Opened.

    Yields
    ------
    k, result : int, ShadowResult
        Each model once, in any order.
    """
    missing = list(range(len(job.membership)))
    if checkpoint is None:
        yield from backend.run(job, missing)
        return
    job = job._replace(states=checkpoint.states())
    while missing:
        for k in missing.copy():
            result = checkpoint.load(k, job.membership[k])
            if result is not None:
                missing.remove(k)
                yield k, result
        models = checkpoint.unfinished(missing.copy())
        for k, result in backend.run(job, models if backend.lazy else list(models)):
            checkpoint.save(k, result, job.membership[k])
            missing.remove(k)
            yield k, result
