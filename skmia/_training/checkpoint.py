"""Finished models that are kept: in memory for a pool that may grow, or in a folder."""

import io
import json
import sys
import time
import warnings
import zipfile
from contextlib import contextmanager, suppress
from pathlib import Path

import joblib
import numpy as np

from .._core.callers import level_of_user
from .._core.escaping import visible
from .._core.files import (
    PRIVATE_FILE,
    digest_file,
    make_private_folder,
    remove_leftovers,
    set_aside,
    write_atomically,
)
from ..exceptions import CheckpointError
from .checkpoint_arrays import map_parts
from .digests import digest_arrays
from .groups import TrainingStates
from .job import KeptResults
from .manifest import POOL, check_identified, check_same_owner, digest_manifest


def parse(content):
    """Read the arrays and facts of a file.

    np.savez does not compress, so a compressed part was not written here and may unpack to any
    size.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts.infolist()):
            raise ValueError("it is compressed")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return arrays, _pop_meta(arrays)


def parse_mapped(path):
    """Read the arrays and facts of a file as :func:`parse` does; arrays are mapped into memory."""
    arrays = map_parts(path)
    return arrays, _pop_meta(arrays)


def _pop_meta(arrays):
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
    return KeptResults(meta["facts"], arrays, model, said)


def _warning_category(name):
    """Return the category of a stored warning, if Python, scikit-learn or skmia has it.

    Else UserWarning.
    """
    for module in ("builtins", "sklearn.exceptions", "skmia.exceptions"):
        category = getattr(sys.modules[module], name, None)
        if isinstance(category, type) and issubclass(category, Warning):
            return category
    return UserWarning


_MANIFEST = "manifest.json"
# On a file system without links, another process may see a half-written manifest for a moment.
_SECONDS_OF_WRITING = 0.5


class MemoryCheckpoint:
    """Finished shadow models kept in memory, for a pool that may grow."""

    def __init__(self):
        self._manifest, self._models = None, {}

    def copy(self):
        """Return a memory of the same models, which another fit may fill."""
        copied = MemoryCheckpoint()
        copied._manifest, copied._models = self._manifest, self._models.copy()
        return copied

    def read_entropy(self):
        """Return the entropy of the pool, or None before its first fit."""
        return None if self._manifest is None else self._manifest["entropy"]

    def read_numbers(self):
        """Return the ``numbers`` of the plan of the pool, or None before its first fit."""
        return None if self._manifest is None else self._manifest["way"]

    def open(self, manifest, keep):
        """Check that it is still the same pool."""
        if self._manifest is not None:
            check_identified(manifest)
            check_same_owner(self._manifest, manifest, "The fitted pool (warm_start=True)")
        self._manifest = manifest

    def save(self, k, kept, subset):
        """Store the results of a model."""
        self._models[k] = kept

    def load(self, k, subset):
        """Return the results of a model, or None."""
        return self._models.get(k)

    def share(self, name, rows):
        """Refer to arrays of the first models that are held elsewhere, where they are equal."""
        for k, row in enumerate(rows):
            kept = self._models.get(k)
            if kept is not None and np.array_equal(kept.arrays[name], row):
                self._models[k] = kept._replace(arrays={**kept.arrays, name: row})

    def unfinished(self, models):
        """Return models that remain to be trained.

        All, because no other process shares the memory.
        """
        return models

    def describe_kept(self, n_models):
        """Return None: an interrupted fit leaves the pool, and its memory, as it was."""

    def states(self):
        """Return None: the state of an unfinished training is not kept in memory."""
        return None

    def writer(self):
        """Return None: workers send their results."""
        return None

    def close(self):
        """Do nothing, because no files are left behind."""


class FolderCheckpoint:
    """The folder of a pool or an audit: a human-readable manifest and one file per model.

    Only the user can read the files. Pickles are written and read only with store="models", and a
    pickle is only read if its digest is in the file of signals of the same model.
    """

    def __init__(self, folder, on_disk=False, owner=POOL):
        # Workers may have another working directory.
        self.folder = Path(folder).absolute() if on_disk else Path(folder)
        self.on_disk, self._owner = on_disk, owner

    def read_entropy(self):
        """Return the entropy of the models of the folder, or None for a new folder."""
        manifest = self._read_manifest()
        entropy = None if manifest is None else manifest.get("entropy")
        known = entropy is None or isinstance(entropy, list)
        if not known or not all(type(part) is int and part >= 0 for part in entropy or ()):
            raise CheckpointError(
                f"The manifest {self.folder / _MANIFEST} has no numbers as its entropy, so the "
                f"{self._owner.name} of its {self._owner.models} is unknown. Use another folder."
            )
        return entropy

    def read_numbers(self):
        """Return the ``numbers`` of the plan of the models, or None for a new folder."""
        manifest = self._read_manifest()
        return None if manifest is None else manifest.get("way")

    def open(self, manifest, keep):
        """Set up a new folder, or check that an existing one has the same owner."""
        check_identified(manifest, self._owner)
        self._digest, self._keep = digest_manifest(manifest), keep
        self._n_records = manifest["records"]["n"] if self.on_disk else None
        with self._explained("used"):
            make_private_folder(self.folder)
            remove_leftovers(self.folder)
        if self._read_manifest() is None:
            if any(self.folder.glob("shadow-*.npz")):
                raise CheckpointError(
                    f"The checkpoint folder {self.folder} holds {self._owner.models} but no "
                    f"{_MANIFEST}, so their {self._owner.name} is unknown; use another folder."
                )
            text = json.dumps(manifest, indent=2).encode()
            self._write(self.folder / _MANIFEST, lambda file: file.write(text), once=True)
        where = f"The checkpoint folder {self.folder}"
        check_same_owner(self._read_manifest(), manifest, where, self._owner)

    def close(self):
        """Remove temporary files of all processes, once all models are finished."""
        with self._explained("written"):
            remove_leftovers(self.folder, all_done=True)
            for path in self.folder.glob("shadow-*.begun"):
                if path.with_suffix(".npz").exists():
                    with suppress(OSError):
                        path.unlink()
            states = self.states()
            for group in states.groups():
                if all(self._path(k).exists() for k in group):
                    states.drop(group)

    @contextmanager
    def _explained(self, done):
        """Turn an error of the operating system into one that names the folder."""
        try:
            yield
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint folder {self.folder} cannot be {done}: {_reason(error)}."
            ) from error

    def _write(self, path, write, once=False):
        with self._explained("written"):
            write_atomically(path, write, once)

    def _read(self, path, is_mapped=False):
        """Return content of a file, or nothing of it if it is mapped; None if it does not exist.

        A file that cannot be read at the moment may be intact, so it is an error and not None.
        """
        try:
            if not is_mapped:
                return path.read_bytes()
            with open(path, "rb"):
                return b""
        except FileNotFoundError:
            return None
        except OSError as error:
            text = f"{path} cannot be read: {_reason(error)}. It was left as it is."
            raise CheckpointError(text) from error

    def _read_manifest(self):
        path = self.folder / _MANIFEST
        stop = time.monotonic() + _SECONDS_OF_WRITING
        while True:
            content = self._read(path)
            try:
                manifest = None if content is None else json.loads(content)
                if not isinstance(manifest, dict | None):
                    raise ValueError("it is not a mapping")
                return manifest
            except ValueError as error:
                if time.monotonic() > stop:
                    raise CheckpointError(
                        f"The manifest {path} cannot be read ({error}), so the "
                        f"{self._owner.name} of its {self._owner.models} is unknown. Use another "
                        "folder."
                    ) from None
            time.sleep(_SECONDS_OF_WRITING / 10)

    def _path(self, k):
        return self.folder / f"shadow-{k:05d}.npz"

    def writer(self):
        """Return the function with which workers write their results, or None."""
        return self.save_there if self.on_disk else None

    def save_there(self, k, kept, subset):
        """Write the results of a finished model, and return what is left of them."""
        self.save(k, kept, subset)
        return KeptResults(kept.facts, {}, None, kept.warnings)

    def load_written(self, k):
        """Return the results of a model that a worker has just written."""
        if self._path(k).exists():
            kept = self.load(k, None)
            if kept is not None:
                return kept
            raise CheckpointError(
                f"{self._path(k)} was damaged right after it was written; check the file system."
            )
        raise CheckpointError(
            f"A worker wrote {self._path(k)}, which does not exist here; with on_disk=True all "
            "workers must share the file system of the checkpoint folder."
        )

    def paths(self, n_models):
        """Return the files of the first models."""
        return [self._path(k) for k in range(n_models)]

    def save(self, k, kept, subset):
        arrays = {"subset": np.packbits(subset)}
        for name, values in kept.arrays.items():
            # Rows of a file are read one by one, so they have to lie one behind the other.
            values = np.asarray(values, order="C")
            arrays[name] = values.astype(str) if values.dtype == object else values
        # Digests tell whose the file is, if its arrays are intact, and which pickle may be read.
        meta = {
            "digest": self._digest,
            "arrays": digest_arrays(arrays),
            "model": None if kept.model is None else self._save_model(k, kept.model),
            "facts": kept.facts,
            "warnings": [[category.__name__, message] for category, message in kept.warnings],
        }
        arrays["meta"] = np.array(json.dumps(meta))
        # The signals are written after the model, because their file marks the model as finished.
        self._write(self._path(k), lambda file: np.savez(file, **arrays))
        # What stays is of no use, and does no harm.
        with suppress(OSError):
            self._path(k).with_suffix(".begun").unlink()

    def _save_model(self, k, model):
        path = self._path(k).with_suffix(".joblib")
        self._write(path, lambda file: joblib.dump(model, file))
        with self._explained("read"), open(path, "rb") as file:
            return digest_file(file)

    def unfinished(self, models):
        """Yield the models that no process has finished when their turn comes.

        Several processes may share the work in one folder. Models that another process has begun
        come last: they are trained again in case that process was killed, so none has to wait.
        Only models that are trained one by one are shared: ways that train models together take
        all of them at once (``run_groups``).
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
        with self._explained("written"):
            # Exclusive creation is atomic, so it succeeds in only one of several processes.
            try:
                self._path(k).with_suffix(".begun").touch(mode=PRIVATE_FILE, exist_ok=False)
            except FileExistsError:
                return False
        return True

    def describe_kept(self, n_models):
        return (
            f"{self.count_kept(n_models)} of {n_models} {self._owner.models} are kept in "
            f"{self.folder}; running it again continues from there."
        )

    def count_kept(self, n_models):
        """Return how many of the first models are finished."""
        return sum(self._path(k).exists() for k in range(n_models))

    def states(self):
        """Return the storage for states of models that are trained together."""
        return TrainingStates(self.folder, self._digest, self._write)

    def load(self, k, subset):
        """Return the results of a finished model; None if there are none.

        Files that are certainly damaged are renamed (by ``set_aside`` of ``_core/files.py``), and
        the model is trained again; so are files whose arrays have a shape that ``check`` of the
        job's ``keep`` refuses, such as that of ``PoolKeeper`` in ``shadow/_job.py``.
        """
        path = self._path(k)
        content = self._read(path, self.on_disk)
        if content is None:
            return None
        try:
            arrays, meta = parse_mapped(path) if self.on_disk else parse(content)
            if meta["digest"] == self._digest:
                self._check_arrays(arrays, meta, subset)
        # Lack of memory does not mean that the file is damaged: the file stays and the fit stops.
        except MemoryError:
            raise MemoryError(
                f"{path} needs more memory than is available; it was left as it is."
            ) from None
        except Exception as error:  # damaged bytes can raise anything
            return self._set_aside(path, f"{type(error).__name__}: {visible(error)}")
        if meta["digest"] != self._digest:
            raise CheckpointError(
                f"{path} was written by another {self._owner.name} than {_MANIFEST} in the same "
                "folder says; use another folder."
            )
        if not self._keep.keeps_models:
            return as_kept(arrays, meta, None)
        return self._load_with_model(path, arrays, meta)

    def _check_arrays(self, arrays, meta, subset):
        if digest_arrays(arrays) != meta["arrays"]:
            raise ValueError("its arrays are not those that were written")
        stored = arrays.pop("subset")
        # Training sets on disk are not drawn again: the digest of the manifest determines them.
        if not self.on_disk and not np.array_equal(stored, np.packbits(subset)):
            raise ValueError("the model was trained on other records")
        self._keep.check(arrays, self._n_records if self.on_disk else len(subset))

    def _load_with_model(self, path, arrays, meta):
        beside = path.with_suffix(".joblib")
        with self._explained("read"):
            if not beside.exists():
                return self._set_aside(path, f"{beside.name} is missing")
            # One handle for the check and the load, so that the file cannot be replaced in between.
            with open(beside, "rb") as file:
                if digest_file(file) != meta["model"]:
                    return self._set_aside(path, f"{beside.name} is not the model it goes with")
                file.seek(0)
                try:
                    return as_kept(arrays, meta, joblib.load(file))
                except Exception as error:  # unpickling runs code of the model
                    raise CheckpointError(
                        f"{beside} cannot be loaded ({type(error).__name__}: {visible(error)}). It "
                        "was left as it is."
                    ) from error

    def _set_aside(self, path, reason):
        with self._explained("written"):
            both = path, path.with_suffix(".joblib")
            kept = [set_aside(file) for file in both if file.exists()]
        warnings.warn(
            f"{path} is damaged ({reason}); it is kept as {' and '.join(kept)}, and the model is "
            "trained again.",
            stacklevel=level_of_user(),
        )


def _reason(error):
    return error.strerror or f"{type(error).__name__} {error}".strip()
