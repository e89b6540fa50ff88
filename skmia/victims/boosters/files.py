"""Model files of boosters, which hold numbers and no code."""

import json
from os import PathLike
from pathlib import Path

from sklearn.base import BaseEstimator

from ..._core.classes import is_of_package
from ..._core.optional import import_optional
from .lightgbm_file import LightGBMFileClassifier, LightGBMFileRegressor
from .lightgbm_text import parse_lightgbm

SUFFIXES = ".cbm", ".json", ".txt", ".ubj"
_OF_CLASSES = {"Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"}


def is_xgboost(model):
    """Whether a model holds a booster of XGBoost, as its own estimators do."""
    return is_of_package(model, "xgboost") and hasattr(model, "get_booster")


def read_booster_file(path: str | PathLike) -> BaseEstimator:
    """Load a model from a file of XGBoost, LightGBM or CatBoost.

    These formats hold numbers and no code, unlike pickles. The model can be inspected and attacked
    as a file. It does not have the settings of its training, so clones of it are other models.

    Parameters
    ----------
    path : str or path-like
        File that ends in ``.json`` (XGBoost or CatBoost), ``.ubj`` (XGBoost), ``.txt`` (LightGBM)
        or ``.cbm`` (CatBoost).

    Returns
    -------
    model : fitted classifier or regressor
        Model of the package that wrote the file, or an estimator around a LightGBM booster. Files
        of XGBoost and LightGBM do not store labels: the classes are 0, 1, 2, ...

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is of another format.
    ImportError
        If the package is not installed.

    See Also
    --------
    skmia.inspection.inspect_model : Lists what the model stores of its training rows.
    skmia.attacks.ReleasedModelAttack : Attacks it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from xgboost import XGBClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.victims import read_booster_file
    >>> records, _ = make_membership_problem(random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.json")
    ...     XGBClassifier(n_estimators=5).fit(records.X, records.y).save_model(path)
    ...     model = read_booster_file(path)
    >>> type(model).__name__, model.n_features_in_
    ('XGBClassifier', 20)
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    if path.suffix not in SUFFIXES:
        raise ValueError(f"The file must end in one of {', '.join(SUFFIXES)}; got {path.name}.")
    if path.suffix == ".txt":
        return _load_lightgbm(path)
    if path.suffix == ".cbm":
        return _load_catboost(path, "cbm")
    if path.suffix == ".ubj":
        return _load_xgboost(path)
    keys = set(_read_json(path))
    if "learner" in keys:
        return _load_xgboost(path)
    if {"features_info", "model_info"} <= keys:
        return _load_catboost(path, "json")
    raise ValueError(f"{path.name} is neither a model of XGBoost nor of CatBoost.")


def _read_json(path):
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name} is not valid JSON.") from error
    return stored if isinstance(stored, dict) else {}


def _load_xgboost(path):
    xgboost = import_optional("xgboost", extra="xgboost")
    booster = xgboost.Booster()
    booster.load_model(path)
    objective = json.loads(booster.save_config())["learner"]["objective"]["name"]
    if objective.startswith("rank:"):
        raise ValueError(f"{path.name} ranks (objective {objective!r}), which is not supported.")
    has_classes = objective.startswith(("binary:", "multi:"))
    model = xgboost.XGBClassifier() if has_classes else xgboost.XGBRegressor()
    model.load_model(path)
    return model


def _load_lightgbm(path):
    lightgbm = import_optional("lightgbm", extra="lightgbm")
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.startswith("tree\n"):
        raise ValueError(f"{path.name} is not the text of a LightGBM model.")
    header = parse_lightgbm(text).header
    has_classes = header.get("objective", "").startswith(("binary", "multiclass"))
    kind = LightGBMFileClassifier if has_classes else LightGBMFileRegressor
    return kind(lightgbm.Booster(model_file=path))


def _load_catboost(path, kind):
    catboost = import_optional("catboost", extra="catboost")
    model = catboost.CatBoost().load_model(str(path), format=kind)
    has_classes = model.get_all_params().get("loss_function") in _OF_CLASSES
    model = catboost.CatBoostClassifier() if has_classes else catboost.CatBoostRegressor()
    return model.load_model(str(path), format=kind)
