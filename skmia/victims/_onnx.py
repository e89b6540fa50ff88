"""Models in ONNX files, which onnxruntime answers for."""

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from .._core.containers import as_rows
from .._core.foreign_words import describe_error
from .._core.groups import check_class_labels
from .._core.guesses import suggest_path
from .._core.optional import import_optional
from .._core.outputs import Outputs
from .._core.query import GivenModel, choose_order
from .._core.sklearn import StrOptions, validate_params_of
from .._core.types import ArrayLike, PathLike, Rows
from ._onnx_labels import read_stated_labels

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
# Rows of probabilities in half precision add to 1 up to this.
_ROUNDED = 0.01


class _OnnxModel(GivenModel, BaseEstimator, ABC):
    """What classifiers and regressors in ONNX files share."""

    def __getstate__(self):
        # A session cannot be pickled; another process opens the file itself.
        return {name: value for name, value in super().__getstate__().items() if name != "_session"}

    @cached_property
    def _session(self):
        validate_params_of(self)
        onnxruntime = import_optional("onnxruntime", extra="onnx")
        path = Path(self.path)
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {path}{suggest_path(path) or '.'}")
        try:
            # From its bytes: a file that refers to others could name any file of this machine.
            return onnxruntime.InferenceSession(
                path.read_bytes(), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # of a class of the package's own
            text = describe_error(error)
            raise ValueError(
                f"{path.name} is not a model that onnxruntime reads: {text}"
            ) from error

    @property
    def feature_names_in_(self) -> np.ndarray:
        inputs = self._session.get_inputs()
        if len(inputs) == 1:
            raise AttributeError("A model with one input has no names of features.")
        return np.array([entry.name for entry in inputs], dtype=object)

    @property
    def n_features_in_(self) -> int:
        inputs = self._session.get_inputs()
        if len(inputs) > 1:
            return len(inputs)
        shape = inputs[0].shape
        if len(shape) < 2 or not isinstance(shape[1], int):
            raise AttributeError("The file does not state the number of features.")
        return shape[1]

    @abstractmethod
    def predict(self, X: Rows) -> np.ndarray:
        """Ask the model for the value of each row, or its most probable label.

        Parameters
        ----------
        X : array-like of n rows
            Rows as the model takes them.

        Returns
        -------
        y : ndarray of shape (n,)
        """

    def _ask(self, X):
        """Return the outputs of the model by their position, with the descriptions of them."""
        session, X = self._session, as_rows(X)
        inputs = session.get_inputs()
        parts = [(entry, _take_input(X, i, entry, len(inputs))) for i, entry in enumerate(inputs)]
        feeds = {entry.name: _as_input_type(part, entry) for entry, part in parts}
        try:
            return session.get_outputs(), session.run(None, feeds)
        except Exception as error:  # of a class of the package's own
            text = describe_error(error)
            raise ValueError(f"The model refuses the records: {text}") from error


def is_onnx(model):
    """Return whether a model is in an ONNX file."""
    return isinstance(model, _OnnxModel)


def list_input_types(model):
    """Return the type of each input of a model in an ONNX file, as onnxruntime names it."""
    return [entry.type for entry in model._session.get_inputs()]


def _take_input(X, i, entry, n_inputs):
    """Return what an input takes: a column each if there are several, else all."""
    if n_inputs == 1:
        return X
    if X.shape[1] != n_inputs:
        raise ValueError(f"The model takes {n_inputs} features; got {X.shape[1]}.")
    if hasattr(X, "iloc"):
        if entry.name not in X.columns:
            raise ValueError(f"The model has a feature {entry.name!r}, which X lacks.")
        return X[[entry.name]]
    return X[:, [i]]


def _as_input_type(values, entry):
    dtype = _DTYPES.get(entry.type)
    if dtype is None:
        raise ValueError(f"Inputs of type {entry.type}, such as {entry.name}, are not supported.")
    values = np.asarray(values)
    if dtype is np.object_:
        return values.astype(str).astype(object)
    kinds = pd.api.types.infer_dtype(values.ravel(), skipna=False)
    if values.dtype.kind == "O" and kinds == "integer":
        # Of a table with text they are objects, and large ones would be rounded as floats.
        values = pd.to_numeric(values.ravel()).reshape(values.shape)
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)  # also text of numbers
        except (TypeError, ValueError) as error:
            raise ValueError(f"Input {entry.name!r} of the model takes numbers: {error}") from error
    with np.errstate(invalid="ignore", over="ignore"):
        cast = values.astype(dtype)
    # Fractions of floats are rounded, and so are whole numbers in floats.
    is_lost = (np.isinf(cast) & ~np.isinf(values)) if cast.dtype.kind == "f" else cast != values
    if is_lost.any():
        row, *column = np.argwhere(is_lost)[0].tolist()
        where = f"row {row}" if is_lost[0].size == 1 else f"row {row}, column {column[0]}"
        raise ValueError(
            f"Input {entry.name!r} of the model has the type {entry.type}, which cannot hold "
            f"{values[row, *column]} ({where})."
        )
    return cast


class OnnxClassifier(ClassifierMixin, _OnnxModel):
    """Classifier in an ONNX file.

    Attacks that ask a model for its answers take it as a victim. It cannot be trained, so shadow
    models need an estimator of their own, see the parameter ``estimator`` of
    :class:`~skmia.ShadowPool` and :func:`~skmia.audit`. The file holds no code; onnxruntime (extra
    ``onnx``) computes the answers. A file whose numbers are in further files is refused, and so are
    rows with a number that the type of an input cannot hold, such as a missing one among int64.

    Parameters
    ----------
    path : str or path-like
        File of the model.
    classes : array-like of shape (n_classes,), default=None
        Label of each column of the probabilities, in order. If None, the labels in the file, which
        converters of scikit-learn, XGBoost and LightGBM store with or without the option zipmap,
        or 0, 1, 2, ... if it has none beside its numbers.
    kind : {"proba", "logits"}, default="proba"
        Whether the numbers of the classes are probabilities, or logits as of many nets, which
        :meth:`predict_proba` turns into probabilities.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of the columns.
    n_features_in_ : int
        Number of features, if the file states it.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the inputs, for a model with one input for each feature.

    See Also
    --------
    CallableVictim : Classifier behind a function.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skl2onnx import to_onnx
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.victims import OnnxClassifier
    >>> records, _ = make_membership_problem(random_state=0)
    >>> model = LogisticRegression().fit(records.X, records.y)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.onnx")
    ...     _ = path.write_bytes(to_onnx(model, records.X[:1]).SerializeToString())
    ...     victim = OnnxClassifier(path)
    ...     bool(abs(victim.predict_proba(records.X) - model.predict_proba(records.X)).max() < 1e-5)
    True
    """

    _parameter_constraints = {
        "path": "no_validation",
        "classes": ["array-like", None],
        "kind": [StrOptions({"proba", "logits"})],
    }

    def __init__(
        self,
        path: PathLike,
        *,
        classes: ArrayLike | None = None,
        kind: Literal["proba", "logits"] = "proba",
    ) -> None:
        self.path = path
        self.classes = classes
        self.kind = kind

    @property
    def classes_are_given(self) -> bool:
        """Whether the order of the classes is not in the file, and can be another one."""
        return self.classes is not None or self.classes_are_numbers

    @property
    def classes_are_numbers(self) -> bool:
        """Whether the file has no labels, and the classes are the numbers of the columns."""
        return self.classes is None and self._stated is None and not self._names_columns

    @property
    def _names_columns(self):
        return any(output.type.startswith("seq(") for output in self._session.get_outputs())

    @cached_property
    def _stated(self):
        """The labels of the columns that the file has beside its nodes, or None."""
        outputs = sorted(
            self._session.get_outputs(),
            key=lambda output: output.type not in ("tensor(int64)", "tensor(string)"),
        )
        return read_stated_labels(Path(self.path).read_bytes(), [entry.name for entry in outputs])

    @property
    def classes_(self) -> np.ndarray:
        if self.classes is not None:
            return check_class_labels(self.classes)
        if "_labels" not in vars(self):  # before the first query
            try:
                answered = self._ask(self._make_row())
            except ValueError as error:
                raise ValueError(
                    f"The file does not state its classes: give them. {error}"
                ) from error
            self._labels = self._read_labels(*self._split(*answered))
        return self._labels

    def _read_labels(self, numbers, label):
        if isinstance(numbers, list):
            return np.array(list(numbers[0]))
        n_classes = max(numbers.shape[1], 2)
        given = np.empty(0) if label is None else label.ravel()
        labels = self._stated
        if labels is None or len(labels) != n_classes:
            labels = np.arange(n_classes)  # the numbers of the columns, unless one is not
        if len(given) and not self._fit_order(labels, numbers, given):
            raise ValueError(
                f"The file has labels such as {given.tolist()[0]!r}, but not their order: give "
                "the label of each column of the probabilities, in order, with the parameter "
                "classes of read_onnx_file or, on the command line, --classes."
            )
        return labels

    def _fit_order(self, labels, numbers, given):
        """Return whether the labels that a file answers are known and fit no other order better.

        Where a model decides by another rule than its probabilities, most labels fit still.
        """
        if labels.dtype.kind != given.dtype.kind and labels.dtype.kind not in "UO":
            return False
        if not np.isin(given, labels).all():
            return False
        if numbers.shape[1] != len(labels):
            return True
        outputs = Outputs(numbers, labels, kind="decision")
        return choose_order(outputs, given.astype(labels.dtype))[0] is None

    def _make_row(self):
        inputs = self._session.get_inputs()
        if len(inputs) > 1:
            return np.zeros((1, len(inputs)))
        shape = inputs[0].shape[1:]
        if not all(isinstance(size, int) for size in shape):
            raise ValueError("It does not state the shape of its input either.")
        return np.zeros((1, *shape))

    def _split(self, outputs, values):
        """Return numbers of the classes, a matrix or a dict for each row, and the labels if any."""
        numbers = label = None
        for output, value in zip(outputs, values, strict=True):
            if isinstance(value, list) or (value.ndim == 2 and value.dtype.kind == "f"):
                numbers = value if numbers is None else numbers
            elif output.type in ("tensor(int64)", "tensor(string)") and label is None:
                label = value
        if numbers is None:
            raise ValueError(f"{Path(self.path).name} answers with no numbers for classes.")
        return numbers, label

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Ask the model for probabilities.

        Parameters
        ----------
        X : array-like of n rows
            Rows as the model takes them; a DataFrame for a model with one input for each feature.

        Returns
        -------
        proba : ndarray of shape (n, n_classes)
        """
        if not len(X):
            return np.empty((0, len(self.classes_)))
        numbers, label = self._split(*self._ask(X))
        if self.classes is None:
            labels = self._read_labels(numbers, label)
            self._labels = vars(self).get("_labels", labels)
        n_classes = len(self.classes_)
        if isinstance(numbers, list):
            numbers = np.array([list(row.values()) for row in numbers])
        numbers = numbers.astype(np.float64)
        if numbers.shape[1] == 1:  # of the second of two classes
            numbers = np.hstack([-numbers if self.kind == "logits" else 1 - numbers, numbers])
            numbers = numbers / (2 if self.kind == "logits" else 1)
        if numbers.shape[1] != n_classes:
            raise ValueError(
                f"The model answers with {numbers.shape[1]} classes; classes has {n_classes}."
            )
        if self.kind == "logits":
            return softmax(numbers, axis=1)
        if (np.abs(numbers.sum(axis=1) - 1) > _ROUNDED).any():
            raise ValueError(
                "The numbers of the classes do not add to 1, as probabilities do; for a net that "
                'answers with logits give kind="logits".'
            )
        return numbers

    def predict(self, X: Rows) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class OnnxRegressor(RegressorMixin, _OnnxModel):
    """Regressor in an ONNX file; see :class:`OnnxClassifier`.

    Parameters
    ----------
    path : str or path-like
        File of the model.

    Attributes
    ----------
    n_features_in_ : int
        Number of features, if the file states it.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the inputs, for a model with one input for each feature.

    See Also
    --------
    OnnxClassifier : Classifier in an ONNX file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.linear_model import Ridge
    >>> from skmia.victims import OnnxRegressor
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> model = Ridge().fit(X, X.sum(axis=1))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.onnx")
    ...     _ = path.write_bytes(to_onnx(model, X[:1]).SerializeToString())
    ...     bool(np.allclose(OnnxRegressor(path).predict(X), model.predict(X)))
    True
    """

    _parameter_constraints = {"path": "no_validation"}

    def __init__(self, path: PathLike) -> None:
        self.path = path

    def predict(self, X: Rows) -> np.ndarray:
        if not len(X):
            return np.empty(0)
        _, values = self._ask(X)
        value = np.asarray(values[0], dtype=np.float64)
        if value.size != len(X):
            raise ValueError(
                f"The model must answer with one number for each row; got shape {value.shape}."
            )
        return value.ravel()


def read_onnx_file(
    path: PathLike, *, classes: ArrayLike | None = None, kind: Literal["proba", "logits"] = "proba"
) -> OnnxClassifier | OnnxRegressor:
    """Open a model in an ONNX file as a classifier or regressor.

    Parameters
    ----------
    path : str or path-like
        File that ends in ``.onnx``.
    classes : array-like of shape (n_classes,), default=None
        Label of each column of a classifier's probabilities, in order. If None, the labels in the
        file, or 0, 1, 2, ... if it has none beside its numbers.
    kind : {"proba", "logits"}, default="proba"
        Whether the numbers of the classes are probabilities, or logits as of many nets, which
        ``predict_proba`` turns into probabilities.

    Returns
    -------
    model : OnnxClassifier or OnnxRegressor
        A regressor if the file has a single output with one number for each row, unless ``classes``
        or ``kind="logits"`` are given; else a classifier.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file does not exist or onnxruntime does not read it.
    ImportError
        If onnxruntime is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.linear_model import Ridge
    >>> from skmia.victims import read_onnx_file
    >>> model = Ridge().fit(np.eye(3), [1.0, 2.0, 3.0])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.onnx")
    ...     _ = path.write_bytes(to_onnx(model, np.eye(3)[:1]).SerializeToString())
    ...     type(read_onnx_file(path)).__name__
    'OnnxRegressor'
    """
    model = OnnxClassifier(path, classes=classes, kind=kind)
    outputs = model._session.get_outputs()
    if classes is not None or kind != "proba":
        return model
    is_single = len(outputs) == 1 and outputs[0].type.startswith("tensor(")
    if is_single and len(outputs[0].shape) < 3 and outputs[0].shape[1:] in ([], [1]):
        regressor = OnnxRegressor(path)
        vars(regressor)["_session"] = model._session
        return regressor
    return model
