"""Victims: trained here, or loaded without running code."""

import json
from functools import partial
from importlib.metadata import version
from zipfile import BadZipFile

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from .._core.optional import import_optional
from ..victims import read_booster_file, read_onnx_file
from ._options import BOOSTERS, ONNX, CommandError, check_file, tell
from ._other_files import advise_on_model, refuse_other_model
from ._other_objects import describe_unpickling, refuse_other_object

_MODELS = {
    "random-forest": (RandomForestClassifier, RandomForestRegressor),
    "logistic": (LogisticRegression, None),
    "gradient-boosting": (HistGradientBoostingClassifier, HistGradientBoostingRegressor),
}
_SETTINGS = {"logistic": {"max_iter": 1000}}

# Columns of one text feature at most; rarer values share the last one.
_MOST_CATEGORIES = 100
_ENCODING = {
    "handle_unknown": "infrequent_if_exist",
    "max_categories": _MOST_CATEGORIES,
    "sparse_output": False,
}

# What a model that lacks parts raises, beside a TypeError or ValueError.
OF_DAMAGE = (ArithmeticError, AttributeError, LookupError, NameError, RuntimeError)


# Earlier versions can be made to run code in spite of the check of types (CVE-2025-54412, -54413).
_SAFE_SKOPS = (0, 12)

# Types in files of ordinary models that skops leaves to the reader to judge: found by saving the
# estimators of scikit-learn 1.9 and xgboost 3.2. Whole packages are not trusted, as numpy alone has
# functions that run any text as code.
_SAFE_TYPES = frozenset(
    {
        "builtins.object",
        "functools.partial",  # of one function only, see check_foreign
        "numpy.bool_",
        "numpy.dtype",
        "numpy.floating",
        "numpy.integer",
        "numpy.number",
        "numpy.object_",
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
        "scipy.interpolate._bsplines.BSpline",
        "scipy.sparse._csc.csc_array",
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Matern",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.gaussian_process.kernels.RationalQuadratic",
        "sklearn.gaussian_process.kernels.Sum",
        "sklearn.gaussian_process.kernels.WhiteKernel",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._dist_metrics.HammingDistance64",
        "sklearn.metrics._dist_metrics.ManhattanDistance64",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils.validation.check_array",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRFClassifier",
        "xgboost.sklearn.XGBRFRegressor",
        "xgboost.sklearn.XGBRegressor",
    }
)


def make_estimator(name, X, task, seed, n_classes=2):
    """Make an unfitted pipeline: texts one-hot encoded, numbers imputed and scaled, the model."""
    is_text = np.array([isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes])
    numbers, text = list(X.columns[~is_text]), list(X.columns[is_text])
    if name != "mlp":
        model = _MODELS[name][task == "regression"]
        if model is None:
            raise CommandError(f"--estimator: {name} is a classifier, and the task is a regression")
        encoder = OneHotEncoder(**_ENCODING)
        columns = ColumnTransformer([("numbers", _make_scaler(), numbers), ("text", encoder, text)])
        return make_pipeline(columns, model(random_state=seed, **_SETTINGS.get(name, {})))
    n_values = [len(X[name].cat.categories) for name in text]
    columns = _make_columns_of_net(numbers, text, n_values)
    if task == "regression":
        return make_pipeline(columns, MLPRegressor(random_state=seed))
    import_optional("skorch", extra="torch")
    from ._net import make_perceptron

    n_features = len(numbers) + sum(min(n, _MOST_CATEGORIES) for n in n_values)
    return make_pipeline(columns, make_perceptron(len(X) // 2, n_features, n_classes))


def needs_numbered_labels(name, task):
    """Return whether a model takes the numbers of the classes in place of their names."""
    return name == "mlp" and task == "classification"


def _make_scaler():
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(imputer, StandardScaler())


def _make_columns_of_net(numbers, text, n_values):
    """Return features in single precision, as many for every half, and from codes.

    Text takes longer.
    """
    scaled = make_pipeline(_make_scaler(), FunctionTransformer(_to_single_precision))
    categories = [np.arange(n) for n in n_values]
    encoder = OneHotEncoder(categories=categories, dtype=np.float32, **_ENCODING)
    encoded = make_pipeline(FunctionTransformer(_as_codes), encoder)
    return ColumnTransformer([("numbers", scaled, numbers), ("text", encoded, text)])


def _to_single_precision(X):
    return np.asarray(X, dtype=np.float32)


def _as_codes(frame):
    return np.column_stack([frame[name].cat.codes for name in frame.columns])


def load_model(path, *, trust_pickle, option="--model", onnx=True, classes=None):
    refuse_other_model(path, option, reads_onnx=onnx)
    check_file(path, option)
    try:
        model = _load_model_file(path, trust_pickle, classes)
        refuse_other_object(model)
        return model
    except CommandError as error:
        raise CommandError(f"{option}: {error}") from error


def _load_model_file(path, trust_pickle, classes):
    if path.suffix == ".skops":
        return _check_loaded_model(path, _load_skops(path))
    if path.suffix in BOOSTERS:
        _check_loaded_model(path, path, "check_booster_file")
        return _check_loaded_model(path, _load_foreign(path, read_booster_file))
    if path.suffix == ONNX:
        return _load_foreign(path, partial(read_onnx_file, classes=classes))
    if not trust_pickle:
        raise CommandError(
            f"{path.name} is a pickle, and loading it would run any code that is in it; "
            "save the model with skops, or give --trust-pickle if you trust where it comes from"
        )
    return _check_loaded_model(path, _read_model_file(path, joblib.load), "check_parts")


def _load_foreign(path, read):
    try:
        return read(path)
    except (ImportError, CommandError):
        raise
    except Exception as error:  # each package has exceptions of its own
        why = tell(error).rstrip(".")
        raise CommandError(f"{path.name} cannot be read: {why}. {advise_on_model()}") from error


def _check_loaded_model(path, model, check="check_foreign"):
    from . import _damaged_models

    try:
        getattr(_damaged_models, check)(model)
    except _damaged_models.DamagedModelError as error:
        raise CommandError(f"{path.name} is refused: {error}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        told = f"{path.name} is not a model of a booster"
        raise CommandError(f"{told}: {tell(error)}. {advise_on_model()}") from error
    except Exception as error:  # packages have exceptions of their own
        raise CommandError(
            f"{path.name} is refused: parts of a fitted model are missing in it "
            f"({type(error).__name__}: {tell(error)})"
        ) from error
    return model


def _read_model_file(path, load):
    try:
        return load(path)
    except (BadZipFile, EOFError) as error:
        # Without its end, where the list of its parts is, a .skops file is not an archive.
        raise CommandError(
            f"{path.name} is not whole: it was cut off or changed, for example by a copy that was "
            "interrupted; copy it again"
        ) from error
    except Exception as error:  # a damaged file can fail in any way
        raise CommandError(describe_unpickling(path, error)) from error


def _load_skops(path):
    skops = import_optional("skops.io", extra="skops")
    installed = version("skops")
    if tuple(int(part) for part in installed.split(".")[:2]) < _SAFE_SKOPS:
        needed = ".".join(map(str, _SAFE_SKOPS))
        raise CommandError(
            f"skops {installed} can be made to run code by a file; {needed} is the first "
            "version that cannot"
        )
    found = set(_read_model_file(path, lambda file: skops.get_untrusted_types(file=file)))
    unknown = sorted(found - _SAFE_TYPES)
    if unknown:
        raise CommandError(
            f"{path.name} holds types that are not known to be safe: {_name_types(unknown)}. Of a "
            "model that you trust, a pickle with --trust-pickle is opened in any case"
        )
    return _read_model_file(path, lambda file: skops.load(file, trusted=sorted(found)))


def _name_types(types):
    """Return the names of types, of which some were defined in a script or notebook."""
    names = [
        f"{name.removeprefix('__main__.')} of a script or notebook"
        if name.startswith("__main__.")
        else name
        for name in types
    ]
    return ", ".join(names)
