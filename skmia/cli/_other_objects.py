"""What a file held in place of a model: named, with the way to a model that can be audited."""

import re
from contextlib import suppress
from importlib.util import find_spec
from zipfile import BadZipFile, ZipFile

import sklearn
from sklearn.base import is_outlier_detector

from .._core.escaping import join_names
from .._core.query import has_tags
from ._options import CommandError, tell

_MOST_PARTS = 5
_ANSWERS = "give its answers to the records, with --answers FILE"
_MODULE = re.compile(r"No module named '([\w.]+)'")
_ATTRIBUTE = re.compile(r"get attribute '(\w+)' (?:on|from) <?module '([\w.]+)'")
_PERSISTENT = re.compile(r"persistent", re.IGNORECASE)
# Nodes of trees got another field in scikit-learn 1.3.
_OTHER_NODES = re.compile(r"incompatible (type|dtype)")
_VERSION = re.compile(rb"_sklearn_version.{0,200}?(\d+\.\d+(?:\.\d+)*)", re.DOTALL)
# Packages whose names differ from those of their modules.
_PACKAGES = {
    "imblearn": "imbalanced-learn",
    "sklearn": "scikit-learn",
    "pytorch_tabnet": "pytorch-tabnet",
    "category_encoders": "category-encoders",
    "autogluon": "autogluon.tabular",
}


def refuse_other_object(model):
    """Refuse what is not a fitted estimator of scikit-learn, and say how to save one."""
    told = _tell_object(model)
    if told is not None:
        raise CommandError(f"a fitted model is needed, and the file holds {told}")


def _tell_object(model):
    """Name an object that is not an estimator, with what can be audited; None for estimators."""
    if model is None:
        return "nothing (None)"
    if isinstance(model, dict | list | tuple):
        return _tell_container(model)
    if isinstance(model, type):
        return f"the class {model.__name__}; save a fitted model of it"
    module, name = _name_origin(model)
    if module == "statsmodels":
        return f"a result of statsmodels ({name}), which cannot be trained again; {_ANSWERS}"
    if module in ("numpy", "pandas", "scipy", "polars"):
        return "a table, not a model" if hasattr(model, "columns") else "an array, not a model"
    if module in ("xgboost", "lightgbm", "catboost") and not has_tags(model):
        return (
            f"a {name} of {module} without its estimator; save it with save_model as a file that "
            "skmia opens (.ubj, .json, .txt, .cbm), or save the estimator that trained it"
        )
    if module == "torch" or any(base.__module__.startswith("torch.") for base in type(model).mro()):
        return (
            f"a torch net ({name}); audit it in Python, through skorch (user guide: Connecting a "
            f"model, Torch nets), or {_ANSWERS}"
        )
    if module in ("keras", "tensorflow", "tf_keras"):
        return f"a Keras model ({name}); {_ANSWERS}"
    if callable(model) and not hasattr(model, "predict"):
        return f"a function ({name}); {_ANSWERS}"
    if not has_tags(model):
        return f"a {name} of {module}, which is not an estimator of scikit-learn; {_ANSWERS}"
    return None


def _name_origin(model):
    kind = type(model)
    name = getattr(model, "__name__", kind.__name__) if callable(model) else kind.__name__
    return kind.__module__.partition(".")[0], name.removesuffix("Wrapper")


def _tell_container(parts):
    """Name the parts of a dict, list or tuple, and the way to save the model among them."""
    kind = type(parts).__name__
    pairs = list(parts.items() if isinstance(parts, dict) else enumerate(parts))
    listed = [f"{key!r}: {type(part).__name__}" for key, part in pairs]
    if not isinstance(parts, dict):
        listed = [type(part).__name__ for _, part in pairs]
    shown = join_names(listed, _MOST_PARTS) if listed else "nothing"
    models = [key for key, part in pairs if hasattr(part, "predict") and hasattr(part, "fit")]
    before = [type(part).__name__ for _, part in pairs if hasattr(part, "transform")]
    told = f"a {kind} ({shown})"
    if len(models) != 1:
        return f"{told}; save a model alone"
    told += f"; save its model alone: joblib.dump(saved[{models[0]!r}], 'model.joblib')"
    if before:
        told += f", or a Pipeline of {' and '.join(before)} and the model, if they belong together"
    return told


def describe_kind(model):
    """Name an estimator that neither classifies nor predicts numbers, and what can be audited."""
    name = type(model).__name__
    article = "an" if name[0] in "AEIOU" else "a"
    told = f"{article} {name}"
    if hasattr(model, "steps"):
        last = type(model.steps[-1][1]).__name__
        return f"{told} that ends in {last}; save one that ends in the classifier or regressor"
    if hasattr(model, "best_params_") and not hasattr(model, "best_estimator_"):
        return f"{told} without a best model, as with refit=False; save one with refit=True"
    if is_outlier_detector(model):
        return f"{told}, which detects outliers; membership attacks on it are not supported"
    if hasattr(model, "cluster_centers_") or hasattr(model, "fit_predict"):
        return f"{told}, which finds clusters; membership attacks on it are not supported"
    if hasattr(model, "transform"):
        return f"{told}, which transforms; save the model behind it, in one Pipeline with it"
    return told


def describe_unpickling(path, error):
    """Say why a pickle cannot be opened, and what makes it openable."""
    name, text = path.name, str(error)
    missing, absent = _MODULE.search(text), _ATTRIBUTE.search(text)
    if missing:
        return f"{name} {_tell_module(missing[1])}"
    if absent and absent[2].endswith(("__main__", "__mp_main__")):
        return (
            f"{name} needs {absent[1]}, which was defined in a script or notebook when the model "
            "was saved; define it in a module (a .py file), import it from there, and save the "
            "model again"
        )
    if absent:
        return (
            f"{name} needs {absent[1]} of the module {absent[2]!r}, which the installed version "
            "does not have; install the version with which the model was saved"
        )
    if _PERSISTENT.search(text):
        return f"{name} is not a pickle of a model that joblib or pickle saved"
    if _OTHER_NODES.search(text):
        saved = _find_version(path)
        with_saved = "another version" if saved is None else f"version {saved}"
        needed = "that version" if saved is None else f"scikit-learn=={saved}"
        return (
            f"{name} was saved with {with_saved} of scikit-learn, whose trees version "
            f"{sklearn.__version__} cannot read; pip install {needed} in an environment of its "
            "own, or train the model again"
        )
    return f"{name} cannot be read: {type(error).__name__}: {tell(error)}"


def _find_version(path):
    """Find the version of scikit-learn that a file states, without loading it."""
    data = path.read_bytes()
    with suppress(BadZipFile, KeyError), ZipFile(path) as archive:
        data = archive.read("schema.json")
    found = _VERSION.search(data)
    return None if found is None else found[1].decode()


def _tell_module(module):
    top = module.partition(".")[0]
    package = _PACKAGES.get(top, top)
    told = f"needs the module {module!r}, which is not importable here"
    if find_spec(top) is not None:
        return f"{told}: install the version of {package} with which the model was saved"
    return (
        f"{told}: if it is a package, pip install {package}; if it is a file of yours, name its "
        "folder: PYTHONPATH=FOLDER skmia ..."
    )
