"""What a model writes while it is trained: files, logs and lines on the terminal.

Clones of a user's model that are trained here must not write into the files of the user: a callback
that saves the best weights would replace those of the victim by those of a shadow model. What only
writes is left out of clones; what reads its own files again, such as a checkpoint whose best
weights are loaded at the end, gets a temporary folder for each clone.
"""

import copy
import dis
import inspect
import os
import re
import shutil
import sys
import tempfile
import weakref
from pathlib import Path
from types import CodeType, FunctionType

from .copies import copy_changed
from .skorch_nets import is_skorch

# Callbacks of skorch, by the name of their class, that write or log and do nothing else.
_LOGS = {
    "MlflowLogger",
    "NeptuneLogger",
    "SacredLogger",
    "TensorBoard",
    "TrainEndCheckpoint",
    "WandbLogger",
}
_PRINTS = {"PrintLog", "ProgressBar"}  # on the terminal
_BOOSTER_LOGS = {"TrainingCheckPoint", "_RecordEvaluationCallback"}
_BOOSTER_PRINTS = {"EvaluationMonitor", "_LogEvaluationCallback"}

# Parameters of CatBoost's constructor and of its fit that name files or resume from them.
_OF_CATBOOST = {
    "log_cerr",
    "log_cout",
    "plot",
    "plot_file",
    "save_snapshot",
    "snapshot_file",
    "snapshot_interval",
    "train_dir",
}
_VERBOSITY = {"logging_level", "silent", "verbose", "verbose_eval"}

# Names that code reads if it writes files or logs, and if it takes part in the training.
_WRITING = {
    "SummaryWriter",
    "add_scalar",
    "add_scalars",
    "dump",
    "executemany",
    "imsave",
    "log_artifact",
    "log_metric",
    "log_metrics",
    "makedirs",
    "mkdir",
    "open",
    "save",
    "save_checkpoint",
    "save_file",
    "save_model",
    "save_params",
    "savefig",
    "savetxt",
    "savez",
    "savez_compressed",
    "to_csv",
    "to_json",
    "to_parquet",
    "to_pickle",
    "write",
    "write_bytes",
    "write_text",
    "writelines",
    "writerow",
}
_LEARNING = {
    "KeyboardInterrupt",
    "add_",
    "backward",
    "clamp_",
    "copy_",
    "copy_params_from",
    "fill_",
    "lerp_",
    "load_params",
    "load_state_dict",
    "mul_",
    "normal_",
    "requires_grad_",
    "set_params",
    "step",
    "stop_training",
    "update_parameters",
    "zero_",
    "zero_grad",
}
_SETTINGS = {"param_groups", "state_dict"}  # whose items are set to change the training
_PATH_NAME = re.compile(r"(^|_)(path|file|filename|dir|dirname|folder|directory|f|fn)(_|$)")
_PATH_TEXT = re.compile(r"[/\\]|\.[A-Za-z][A-Za-z0-9]{1,5}$")


class OwnPlace(str):
    """Path in a temporary folder, which each copy has for itself and which goes with it."""

    def __new__(cls, name=""):
        folder = tempfile.mkdtemp(prefix="skmia-")
        place = super().__new__(cls, os.path.join(folder, name) if name else folder)
        place.name = name
        weakref.finalize(place, shutil.rmtree, folder, ignore_errors=True)
        return place

    def __deepcopy__(self, memo):
        return type(self)(self.name)

    def __reduce__(self):
        return type(self), (self.name,)


class OwnPath(type(Path())):  # type: ignore[misc]
    """The same as a path of ``pathlib``."""

    _place = None  # of paths that are derived from this one, such as its parent

    def __new__(cls, *parts):
        place = OwnPlace(*parts)
        path = super().__new__(cls, place)
        path._place = place
        return path

    def __init__(self, *parts):
        if sys.version_info >= (3, 12):
            super().__init__(self._place)

    def with_segments(self, *parts):
        return Path(*parts)

    def __deepcopy__(self, memo):
        return self if self._place is None else type(self)(self._place.name)

    def __reduce__(self):
        if self._place is None:
            return Path, (str(self),)
        return type(self), (self._place.name,)


def copy_quietly(estimator, said=None):
    """Copy an estimator unfitted, so that its training writes no files, logs or lines.

    Sentences on what was changed are added to the list ``said``, each once.
    """
    told = [] if said is None else said

    def change(part, parameters):
        root = type(part).__module__.partition(".")[0]
        if "callbacks" in parameters and is_skorch(part):
            parameters = _change_skorch(part, parameters, told)
        elif isinstance(parameters.get("callbacks"), list | tuple):
            parameters = {**parameters, "callbacks": _change_list(parameters["callbacks"], told)}
        if is_skorch(part) and "sink" in parameters:  # a logger or the file of a user
            parameters = {name: value for name, value in parameters.items() if name != "sink"}
        if _is_catboost(part):
            return _change_catboost(part, parameters, told)
        # What boosters print is a part of their files, which are compared.
        return parameters if root in ("lightgbm", "xgboost") else _change_verbosity(parameters)

    return copy_changed(estimator, change)


def drop_writers_of_fit(model, given, said=None):
    """Leave out parameters of ``fit`` by which boosters write."""
    for name, value in given.items():
        if name.rpartition("__")[2] == "callbacks" and isinstance(value, list | tuple):
            given = {**given, name: _change_list(value, [] if said is None else said)}
    if _is_catboost(model):
        given = {name: value for name, value in given.items() if name not in _OF_CATBOOST}
    return given


def silence_fitted(net):
    """Leave out what writes of a copy of a fitted net, which is trained further, in place."""
    kept = []
    for name, callback in net.callbacks_:
        changed = _change_callback(callback, {}, [], [])
        if changed is not None:
            kept.append((name, callback if changed is callback else changed.initialize()))
    net.callbacks_, net.verbose = kept, 0


def _tell_once(told, sentence):
    if sentence not in told:
        told.append(sentence)


def _tell_callback_left_out(told, name):
    _tell_once(
        told, f"The callback {name}, which writes files or logs, is left out of the shadow models."
    )


def _tell_own_place(told, name):
    _tell_once(
        told, f"The callback {name} of each shadow model writes into a temporary folder of its own."
    )


def _change_verbosity(parameters):
    value = parameters.get("verbose")
    if not isinstance(value, bool | int) or value <= 0:
        return parameters
    return {**parameters, "verbose": type(value)(0)}


def _is_catboost(model):
    return any(base.__module__.partition(".")[0] == "catboost" for base in type(model).__mro__)


def _change_catboost(model, parameters, told):
    named = [name for name in parameters if name in _OF_CATBOOST and parameters[name]]
    if named:
        names = ", ".join(sorted(named))
        _tell_once(
            told, f"The shadow models are trained without {names}, by which CatBoost writes files."
        )
    kept = {
        name: value
        for name, value in parameters.items()
        if name not in _OF_CATBOOST and name not in _VERBOSITY
    }
    quiet = {"allow_writing_files": False, "logging_level": "Silent"}
    taken = inspect.signature(type(model)).parameters
    anything = any(one.kind is one.VAR_KEYWORD for one in taken.values())
    return kept | {name: value for name, value in quiet.items() if anything or name in taken}


def _change_list(callbacks, told):
    """Leave out those of a list of callbacks of boosters that only write."""
    kept = []
    for callback in callbacks:
        name = type(callback).__name__
        if name in _BOOSTER_PRINTS:
            continue
        if name in _BOOSTER_LOGS:
            _tell_callback_left_out(told, name)
            continue
        changed = _change_own(callback, {}, told)
        if changed is not None:
            kept.append(changed)
    return kept


def _change_skorch(net, parameters, told):
    """Leave out callbacks of a net that only write; give a folder to those that read again."""
    entries = parameters["callbacks"]
    if not isinstance(entries, list | tuple):
        return parameters
    parameters, kept = dict(parameters), []
    places = [_locate_checkpoint(_get_callback(entry)) for entry in entries]
    for entry in entries:
        callback, name = _get_callback(entry), _get_name(entry)
        prefix = f"callbacks__{name}__"
        own = {key: value for key, value in parameters.items() if key.startswith(prefix)}
        values = {key.removeprefix(prefix): value for key, value in own.items()}
        changed = _change_callback(callback, values, places, told)
        for key in own:
            del parameters[key]
        if changed is not None:
            kept.append((name, changed) if isinstance(entry, list | tuple) else changed)
    for key, value in list(parameters.items()):
        if key.startswith("callbacks__") and "__" not in key.removeprefix("callbacks__"):
            replaced = None if value is None else _change_callback(value, {}, places, told)
            parameters[key] = replaced
        if re.fullmatch("callbacks__.*__sink", key):
            del parameters[key]
    return {**parameters, "callbacks": kept}


def _get_callback(entry):
    return entry[1] if isinstance(entry, list | tuple) else entry


def _get_name(entry):
    if isinstance(entry, list | tuple):
        return entry[0]
    return (entry if isinstance(entry, type) else type(entry)).__name__


def _list_callback_kinds(callback):
    """Names of the classes of skorch that a callback, or a class of callbacks, derives from."""
    kind = callback if isinstance(callback, type) else type(callback)
    return {base.__name__ for base in kind.__mro__ if base.__module__.startswith("skorch.")}


def _locate_checkpoint(callback):
    """Return where a checkpoint of a net saves its weights; None for other callbacks."""
    if isinstance(callback, type) or not _list_callback_kinds(callback) & {
        "Checkpoint",
        "TrainEndCheckpoint",
    }:
        return None
    return str(callback.dirname), str(callback.fn_prefix), str(callback.f_params)


def _change_callback(callback, values, places, told):
    """Return what takes the place of a callback of a net, or None."""
    kind = callback if isinstance(callback, type) else type(callback)
    kinds, is_own = _list_callback_kinds(callback), not kind.__module__.startswith("skorch.")
    if kinds & _PRINTS and not is_own:
        return None
    if "LoadInitState" in kinds and not isinstance(callback, type):
        return _change_start(callback, places, told)
    if not isinstance(callback, type):
        values = {**callback.get_params(deep=False), **values}
    if "Checkpoint" in kinds:
        loads = values.get("load_best") and values.get("monitor", "") is not None
        if loads or (is_own and _UserCode(kind).learns):
            return _move_checkpoint(kind, values, told)
    if kinds & (_LOGS | {"Checkpoint"}) and not (is_own and _UserCode(kind).learns):
        _tell_callback_left_out(told, kind.__name__)
        return None
    return _change_own(callback, values, told)


def _change_start(callback, places, told):
    """Leave out that a training goes on where the last one ended, which is the victim's."""
    if _locate_checkpoint(callback.checkpoint) in places:
        _tell_once(
            told,
            "The callback LoadInitState, which continues the training of the victim, is left out "
            "of the shadow models.",
        )
        return None
    _tell_once(
        told,
        "The shadow models start from the weights that LoadInitState reads: what these reveal "
        "about the records that they were trained on is not measured.",
    )
    return callback


def _move_checkpoint(kind, values, told):
    """Make a checkpoint whose files are in a temporary folder."""
    files = {
        name: value if value is None else _name_written_file(value, name)
        for name, value in values.items()
        if name.startswith("f_")
    }
    moved = {**values, **files, "dirname": OwnPlace(), "f_pickle": None}
    moved.pop("sink", None)
    _tell_own_place(told, kind.__name__)
    return kind(**moved)


def _name_written_file(value, name):
    """Return the name of a file in a folder, for a path or for an open file."""
    text = os.path.basename(str(value)) if isinstance(value, str | os.PathLike) else ""
    return text or f"{name.removeprefix('f_')}.pt"


def _change_own(callback, values, told):
    """Judge by its code whether a callback of a user writes, and where."""
    kind = callback if isinstance(callback, type | FunctionType) else type(callback)
    code = _UserCode(kind)
    if not code.writes:
        return _with_values(callback, values)
    if not isinstance(callback, type | FunctionType):
        values = {**_read_parameters(callback), **values}
    name = kind.__name__
    paths = {key: value for key, value in values.items() if _is_path(key, value)}
    if not code.learns and not paths:
        _tell_callback_left_out(told, name)
        return None
    if not paths and any(map(_PATH_NAME.search, values)):
        return _with_values(callback, {})  # without a path, nothing is written
    if not paths or isinstance(callback, FunctionType):
        raise ValueError(
            f"The callback {name} writes files at a place that is not one of its parameters, and "
            "takes part in the training: shadow models would write there as well. Give it a "
            "parameter for the file or the folder, or pass estimator= without it."
        )
    _tell_own_place(told, name)
    moved = {key: _move_to_temporary(value) for key, value in paths.items()}
    if hasattr(callback, "get_params"):
        return kind(**{**values, **moved})
    changed = copy.copy(callback)
    vars(changed).update(moved)
    return changed


def _with_values(callback, values):
    """Return a callback of a net with the parameters that the net sets."""
    if not values:
        return callback
    kind = callback if isinstance(callback, type) else type(callback)
    own = {} if isinstance(callback, type) else callback.get_params(deep=False)
    return kind(**{**own, **values})


def _read_parameters(callback):
    if hasattr(callback, "get_params"):
        return callback.get_params(deep=False)
    return dict(getattr(callback, "__dict__", {}))


def _is_path(name, value):
    if isinstance(value, os.PathLike):
        return True
    return isinstance(value, str) and bool(_PATH_NAME.search(name) or _PATH_TEXT.search(value))


def _move_to_temporary(value):
    """Return a place of the same name, and of the same type, in a temporary folder."""
    name = os.path.basename(str(value))
    kind = OwnPath if isinstance(value, os.PathLike) else OwnPlace
    return kind(name if os.path.splitext(name)[1] else "")


class _UserCode:
    """What the code of a class or a function of a user does, as far as its names tell."""

    def __init__(self, kind):
        self.names, self.learns, self._seen = set(), False, set()
        if isinstance(kind, FunctionType):
            self._read(None if _is_installed(kind.__module__) else kind)
        elif not _is_installed(kind.__module__):
            for base in kind.__mro__:
                for member in vars(base).values() if not _is_installed(base.__module__) else ():
                    self._read(inspect.unwrap(getattr(member, "__func__", member)))
        self.learns |= bool(self.names & _LEARNING)
        self.writes = bool(self.names & _WRITING)

    def _read(self, function):
        if not isinstance(function, FunctionType) or id(function) in self._seen:
            return
        self._seen.add(id(function))
        for code in _list_code_objects(function.__code__):
            self.names |= set(code.co_names)
            self.learns |= _sets_attributes(code)
            for name in code.co_names:
                called = function.__globals__.get(name)
                if isinstance(called, FunctionType) and not _is_installed(called.__module__):
                    self._read(called)


def _is_installed(module):
    root = (module or "").partition(".")[0]
    return root in _LIBRARIES


_LIBRARIES = {
    "abc",
    "builtins",
    "catboost",
    "lightgbm",
    "skmia",
    "skorch",
    "sklearn",
    "torch",
    "typing",
    "xgboost",
}


def _list_code_objects(code):
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(found for one in inner for found in _list_code_objects(one))]


def _sets_attributes(code):
    """Return whether code sets an attribute of something else than ``self``, such as the net."""
    last = None
    for step in dis.get_instructions(code):
        if step.opname == "STORE_ATTR" and not _is_self(last):
            return True
        if step.opname == "STORE_SUBSCR" and _SETTINGS & set(code.co_names):
            return True
        if step.opname not in ("CACHE", "EXTENDED_ARG"):
            last = step
    return False


def _is_self(step):
    """Return whether an instruction puts ``self`` on top of the stack.

    Some load two variables at once.
    """
    loaded = step.argval if step is not None else None
    return (loaded[-1] if isinstance(loaded, tuple) and loaded else loaded) == "self"
