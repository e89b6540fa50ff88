"""Outputs of a victim for records, in the form that signals read."""

import numbers
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np

from .containers import empty_rows, read_only
from .groups import check_class_labels, locate_labels
from .label_maps import match_labels, sort_by_value, try_maps
from .moments import cut
from .numbers import SMALLEST, check_number, show, to_array
from .probabilities import PROBABILITY_FLOOR, check_answered, log_sum_exp, round_into_bounds
from .text import tell_percent
from .types import ArrayLike


def is_integer_slice(key):
    """Return whether the parts of a slice are integers or None."""
    parts = (key.start, key.stop, key.step)
    return key.step != 0 and all(part is None or hasattr(part, "__index__") for part in parts)


def as_key(key, n_records):
    """Turn any row selection into a slice or an index array."""
    if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
        key = key[0]
    if isinstance(key, slice) and is_integer_slice(key):
        # Tensors do not support slices with negative steps.
        return key if key.step is None or key.step > 0 else np.arange(n_records)[key]
    if isinstance(key, numbers.Integral) and not isinstance(key, bool | np.bool_):
        if not -n_records <= key < n_records:
            raise IndexError(f"Record {key} was requested; there are {n_records} records.")
        return np.array([int(key)])
    given = key
    try:
        key = to_array(key, "The key")
    except ValueError:  # lists of different lengths, or a masked array
        key = np.asarray(None)
    if key.ndim == 1 and key.dtype == bool:
        if len(key) != n_records:
            raise IndexError(f"The mask has {len(key)} entries; there are {n_records} records.")
        return np.flatnonzero(key)
    if key.ndim == 1 and (key.dtype.kind in "iu" or key.size == 0):
        outside = (key < -n_records) | (key >= n_records)
        if outside.any():
            wrong = key[outside.argmax()]
            raise IndexError(f"Record {wrong} was requested; there are {n_records} records.")
        return key.astype(np.intp)
    raise IndexError(
        "Records are selected by an integer, a slice, an array of integers or a boolean mask; "
        f"got {show(given)}."
    )


# Kinds of numbers without classes, and what the model returns for each record.
NUMBERS = {"value": "value", "values": "value for each of several targets", "log_odds": "number"}


def check_output_classes(classes, kind):
    """Return the labels of columns, which must be given."""
    if classes is None:
        raise ValueError(f"Outputs of kind {kind!r} need the classes of their columns.")
    return check_class_labels(classes)


def check_single(values, kind):
    """Return one label or number for each record, of shape (n,); "values" have columns."""
    if kind == "values":
        is_single = values.ndim != 2 or values.shape[1] < 2
    else:
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        is_single = values.ndim != 1
    if is_single:
        cure = ' Use kind="values" for a regressor of several targets.'
        raise ValueError(
            f"The model must return one {NUMBERS.get(kind, kind)} per record; got an array of "
            f"shape {values.shape}.{cure if kind == 'value' and values.ndim == 2 else ''}"
        )
    if kind in NUMBERS:
        # Log odds keep their precision, which tells how near to 1 a probability could be.
        is_precise = kind == "log_odds" and values.dtype in (np.float32, np.float64)
        dtype = values.dtype if is_precise else np.float64
        values = to_array(values, f"Answers of kind {kind!r}", "hold numbers", dtype)
        check_answered(values.reshape(len(values), -1))
    return values


def tell_columns(kind):
    """Return how two columns are made of numbers of the second class of two."""
    both = "1 - p and p" if kind == "proba" else "0 and z"
    return f" If they are those of the second class, stack {both} as two columns."


def check_output_matrix(values, classes, kind):
    """Return one number for each record and class, of shape (n, n_classes)."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"The model must return numbers; got an array of {values.dtype}.")
    if values.ndim != 2 or values.shape[1] != len(classes):
        is_single = len(classes) == 2 and values.size == len(values)
        raise ValueError(
            f"The model must return one number for each of its {len(classes)} classes; "
            f"got an array of shape {values.shape}.{tell_columns(kind) if is_single else ''}"
        )
    check_answered(values)
    return round_into_bounds(values) if kind == "proba" and values.size else values


def check_order_of_columns(values, classes):
    """Refuse a table of answers whose columns are named as the classes in another order."""
    if not hasattr(values, "columns") or np.ndim(classes) != 1:
        return
    names, wanted = [str(name) for name in values.columns], [str(name) for name in classes]
    if names != wanted and sorted(names) == sorted(wanted):
        raise ValueError(
            f"The columns of the answers are {', '.join(names)}, and classes are "
            f"{', '.join(wanted)}, in another order. Give answers[list(classes)], or the classes "
            "as the columns stand."
        )


def show_classes(classes):
    """Return the first classes as a list, for a message."""
    shown = [repr(label) for label in classes[:10].tolist()]
    return f"[{', '.join(shown)}{', ...' if len(classes) > 10 else ''}]"


def _say_classes(y, outputs):
    """Return what to do with labels that are not the classes of a model.

    Their values, or a tried map.
    """
    labels, classes = sort_by_value(list(dict.fromkeys(y.tolist()))), outputs.classes.tolist()
    if len(labels) > len(classes):
        return ""
    pairs, why = match_labels(labels, classes), "which have the same values"
    if pairs is None:
        known = outputs.values if outputs.kind == "label" else outputs.as_labels().values
        tried = try_maps(y, known, classes)
        if tried is None:
            is_text = any(isinstance(label, str) for label in labels)
            numbers = is_text and outputs.classes.dtype.kind in "biuf"
            return " Pass the numbers that the model was trained with." if numbers else ""
        pairs, why = (
            tried.pairs,
            f"with which {tell_percent(tried.accuracy)} of the answers are right",
        )
    return f" Pass the labels that the model was trained with: {show(pairs)}, {why}."


class ProbabilityResolution:
    """Smallest positive p or 1 - p among probabilities; 0 if none of them is 0 or 1.

    The result is at least the spacing of floats next to 1, because a smaller 1 - p is rounded to 0.
    """

    def __init__(self):
        self._saturated, self._smallest = False, 1.0

    def add(self, values):
        self._saturated |= bool(((values == 0) | (values == 1)).any())
        self._smallest = min(
            self._smallest,
            values.min(where=values > 0, initial=1),
            (1 - values).min(where=values < 1, initial=1),
        )
        self._dtype = values.dtype if values.dtype.kind == "f" else np.dtype(float)

    def compute(self):
        if not self._saturated:
            return 0.0
        return float(max(self._smallest, np.finfo(self._dtype).eps))


KINDS = ("proba", "logits", "decision", "log_odds", "label", "value", "values")

# Kinds of the outputs of a regressor.
PREDICTIONS = frozenset({"value", "values"})

# Kinds of outputs for records with one task label.
KINDS_OF_ONE_LABEL = tuple(kind for kind in KINDS if kind != "values")


class Outputs:
    """Outputs of a victim for n records.

    Parameters
    ----------
    values : array-like of shape (n, n_classes), (n, n_targets) or (n,)
        Probabilities, logits or decision values with one column per class, predictions with one
        column per target, or one predicted label, value or log odds per record.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns, in order; required for class probabilities, logits, decision values
        and labels, not used for the other kinds.
    kind : {"proba", "logits", "decision", "log_odds", "label", "value", "values"}, default="proba"
        Kind of the values. The softmax of ``"logits"`` gives probabilities; ``"decision"`` values
        only rank the classes; ``"value"`` is the prediction of a regressor, and ``"values"`` are
        those of a regressor of two or more targets. ``"log_odds"`` are those of the label,
        log p_y - log(1 - p_y) in nats, for victims of whose answers nothing else was kept.

    Raises
    ------
    ValueError
        If the shape does not fit the classes, a value is NaN, or a probability is outside [0, 1]
        by more than rounding (1.2e-6; in half precision 0.01). Smaller deviations are clipped. Rows
        of probabilities need not sum to 1, because services round or truncate them.

    Examples
    --------
    >>> from skmia import Outputs
    >>> answers = Outputs([[0.9, 0.1], [0.2, 0.8]], classes=["no", "yes"])
    >>> answers.label_index(["no", "no"])
    array([0, 0])
    >>> answers.scaled_logit(["no", "no"]).round(3)
    array([ 2.197, -1.386])
    """

    values: np.ndarray
    classes: np.ndarray | Any  # None of a regressor
    kind: str
    # Labels that the model predicts, where they are not those with the highest values.
    _predicted: np.ndarray | None = None

    def __init__(
        self,
        values: ArrayLike,
        classes: ArrayLike | None = None,
        kind: Literal[
            "proba", "logits", "decision", "log_odds", "label", "value", "values"
        ] = "proba",
    ) -> None:
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {show(kind)}.")
        if kind not in NUMBERS and kind != "label":
            check_order_of_columns(values, classes)
        values = to_array(values, "Answers", "hold one row or value for each record")
        classes = None if kind in NUMBERS else check_output_classes(classes, kind)
        if kind == "label" or kind in NUMBERS:
            values = check_single(values, kind)
        else:
            values = check_output_matrix(values, classes, kind)
        self.values, self.classes, self.kind = read_only(values), classes, kind

    @classmethod
    def concat(cls, parts: "Sequence[Outputs]") -> Self:
        """Concatenate the outputs for several sets of records.

        Parameters
        ----------
        parts : sequence of Outputs
            One or more outputs of the same kind.

        Returns
        -------
        outputs : Outputs

        Raises
        ------
        ValueError
            If they differ in kind or in the classes of their columns.
        """
        parts = list(parts) if np.iterable(parts) else []
        if not parts or not all(isinstance(part, Outputs) for part in parts):
            raise TypeError("Outputs.concat takes a sequence of one or more Outputs.")
        return join_outputs(parts, sum(map(len, parts)))

    def label_index(self, y: ArrayLike) -> np.ndarray:
        """Return the column of the label of each record.

        Parameters
        ----------
        y : array-like of shape (n,)
            Task labels.

        Returns
        -------
        index : ndarray of shape (n,)

        Raises
        ------
        ValueError
            If a label is not among the classes, or the number of labels differs from the number of
            records.
        """
        y = to_array(y, "y", "hold one label for each answer")
        if y.shape != (len(self),):
            raise ValueError(
                f"y must hold one label for each of {len(self)} answers; "
                f"got an array of shape {y.shape}."
            )
        index, unknown = self._find_labels(y)
        if unknown.any():
            first = unknown.argmax()
            label = y.tolist()[first]
            raise ValueError(
                f"{unknown.sum()} of {len(y)} records have a label that the model does not know, "
                f"first at position {first}: {label!r} is none of {show_classes(self.classes)}."
                f"{_say_classes(y, self)}"
            )
        return index

    def knows_labels(self, y: ArrayLike) -> np.ndarray:
        """Return for each label whether it is among the classes.

        Parameters
        ----------
        y : array-like of shape (n,)
            Task labels.

        Returns
        -------
        known : ndarray of shape (n,), dtype bool

        Examples
        --------
        >>> from skmia import Outputs
        >>> Outputs([[0.9, 0.1], [0.2, 0.8]], classes=["no", "yes"]).knows_labels(["no", "maybe"])
        array([ True, False])
        """
        return ~self._find_labels(to_array(y, "y", "hold one label for each answer"))[1]

    def _find_labels(self, y):
        """Return the column of each label, and the labels that have none."""
        if y.ndim > 1:
            raise ValueError(
                f"y has {y.shape[1]} columns, and these outputs are for one label of a record. "
                "To attack all outputs of a classifier together, number their combinations, by "
                "labels, y = np.unique(Y, axis=0, return_inverse=True), and give "
                "skmia.victims.JointOutputs(model, labels) with Records(X, y); to attack one of "
                "them, give OneOutput(model, k) with the labels Y[:, k]."
            )
        index, known = empty_rows(len(y), y, np.intp), np.empty(len(y), dtype=bool)
        for rows in cut(len(y)):
            index[rows], known[rows] = locate_labels(self.classes, y[rows])
        return index, ~known

    def as_labels(self) -> "Outputs":
        """Return the predicted labels alone; the first class wins a tie.

        They are those that the model itself predicts if :func:`~skmia.base.query` knows that it
        does so by another rule, such as :class:`~sklearn.model_selection.FixedThresholdClassifier`.

        Returns
        -------
        outputs : Outputs of kind ``"label"``

        Raises
        ------
        ValueError
            If the outputs are log odds or values of a regressor.

        Examples
        --------
        >>> from skmia import Outputs
        >>> Outputs([[0.9, 0.1], [0.2, 0.8]], classes=["no", "yes"]).as_labels().values
        array(['no', 'yes'], dtype='<U3')
        """
        if self.kind == "label":
            return self
        if self.classes is None:
            raise ValueError(f"Answers of kind {self.kind!r} hold no predicted classes.")
        if self._predicted is not None:
            return Outputs(self._predicted, self.classes, "label")
        labels = empty_rows(len(self), self.classes)
        for rows in cut(len(self)):
            labels[rows] = self.classes[self.values[rows].argmax(axis=1)]
        return Outputs(labels, self.classes, "label")

    def aligned_to(self, classes: np.ndarray) -> "Outputs":
        """Return the same outputs with one column for each of ``classes``.

        A class that was not in the training set of the model gets probability 0.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            Sorted classes, which include all classes of the outputs.

        Returns
        -------
        outputs : Outputs

        Raises
        ------
        ValueError
            If a class of the outputs is not among ``classes``.
        """
        if self.kind in NUMBERS or np.array_equal(self.classes, classes):
            return self
        unknown = ~np.isin(self.classes, classes)
        if unknown.any():
            label = self.classes[unknown].tolist()[0]
            raise ValueError(
                f"The model knows the class {label!r}, which is none of {show_classes(classes)}."
            )
        if self.kind == "label":
            return Outputs(self.values, classes, "label")
        dtype = np.result_type(self.values, np.float32)
        values = np.full((len(self), len(classes)), 0 if self.kind == "proba" else -np.inf, dtype)
        values[:, np.searchsorted(classes, self.classes)] = self.values
        outputs = Outputs(values, classes, self.kind)
        outputs._predicted = self._predicted
        return outputs

    def log_proba(self, temperature: float = 1.0) -> np.ndarray:
        """Return the logarithms of the class probabilities, in nats.

        Parameters
        ----------
        temperature : float, default=1.0
            Divisor of the logits; values above 1 make the probabilities more equal.

        Returns
        -------
        log_proba : ndarray of shape (n, n_classes)

        Raises
        ------
        ValueError
            If the outputs are neither probabilities nor logits.
        """
        self._check_probabilistic()
        temperature = float(check_number(temperature, "temperature", "above 0", SMALLEST))
        if self.kind == "logits":
            z = self.values.astype(np.float64) / temperature
        else:
            z = np.log(np.clip(self.values.astype(np.float64), PROBABILITY_FLOOR, 1)) / temperature
            if temperature == 1:
                return z  # rounded or truncated probabilities are not normalized again
        return z - log_sum_exp(z)[:, None]

    def compute_resolution(self) -> float:
        """Return the smallest positive p or 1 - p among the probabilities; 0 if none is 0 or 1.

        The result is at least the spacing of floats next to 1, because a smaller 1 - p is rounded
        to 0.

        Returns
        -------
        resolution : float
        """
        if self.kind != "proba":
            return 0.0
        resolution = ProbabilityResolution()
        resolution.add(self.values)
        return resolution.compute()

    def smoothed(self, y: ArrayLike, resolution: float) -> "Outputs":
        """Return the same outputs with probabilities of exactly 0 or 1 moved into (0, 1).

        Parameters
        ----------
        y : array-like of shape (n,)
            Task labels.
        resolution : float
            Finest step r of the probabilities: p_y becomes (p_y + r / 2) / (1 + r), and the other
            classes share the same addition. If it is 0, or for other kinds of outputs, nothing
            changes.

        Returns
        -------
        outputs : Outputs
        """
        if self.kind != "proba" or not resolution:
            return self
        rows, label = np.arange(len(self)), self.label_index(y)
        values = self.values + resolution / 2 / max(1, self.values.shape[1] - 1)
        values[rows, label] = self.values[rows, label] + resolution / 2
        return Outputs(values / (1 + resolution), self.classes, "proba")

    def scaled_logit(
        self, y: ArrayLike, temperature: float = 1.0, resolution: float = 0.0
    ) -> np.ndarray:
        """Return the log odds of the label, log p_y - log(1 - p_y), in nats.

        The probabilities of the other classes are summed, so that precision is not lost if p_y
        rounds to 1. Without a resolution, a probability of exactly 0 or 1 gives an infinite value.

        Parameters
        ----------
        y : array-like of shape (n,)
            Task labels.
        temperature : float, default=1.0
            Divisor of the logits.
        resolution : float, default=0.0
            Finest step r of the probabilities: p_y becomes (p_y + r / 2) / (1 + r) and the other
            classes share the same addition, before the temperature is applied.

        Returns
        -------
        scaled_logit : ndarray of shape (n,)

        Raises
        ------
        ValueError
            If the outputs are neither probabilities nor logits, or log odds and the temperature is
            not 1.
        """
        temperature = float(check_number(temperature, "temperature", "above 0", SMALLEST))
        resolution = float(check_number(resolution, "resolution", "a fraction in [0, 1]", 0, 1))
        if self.kind == "log_odds":
            return self._get_log_odds(temperature)
        self._check_probabilistic()
        rows, label = np.arange(len(self)), self.label_index(y)
        values = self.values.astype(np.float64)
        n_others = max(1, values.shape[1] - 1)
        if self.kind == "proba":
            if resolution:
                values += resolution / 2 / n_others
                values[rows, label] = self.values[rows, label] + resolution / 2
            with np.errstate(divide="ignore"):
                values = np.log(values)
        values /= temperature
        place = rows * values.shape[1] + label
        own = values.take(place)
        if values.shape[1] == 2:  # the same number in a third of the time
            others = values.take(place ^ 1)
        else:
            values[rows, label] = -np.inf
            others = log_sum_exp(values)
        # Rounding can leave zeros alone, which tell as little as equal probabilities.
        told = ~(np.isneginf(own) & np.isneginf(others))
        return np.subtract(own, others, where=told, out=np.full(len(own), -np.log(n_others)))

    def _get_log_odds(self, temperature):
        if temperature != 1:
            raise ValueError(
                "Log odds cannot be converted to another temperature without the class "
                f"probabilities; got temperature={temperature:g}."
            )
        return self.values.astype(np.float64)

    def margin(self, y: ArrayLike) -> np.ndarray:
        """Return the value of the label minus the largest value of another class.

        Parameters
        ----------
        y : array-like of shape (n,)
            Task labels.

        Returns
        -------
        margin : ndarray of shape (n,)
            Margins in nats for logits and probabilities, else in the unit of the decision values.

        Raises
        ------
        ValueError
            If the outputs are labels, log odds or values of a regressor.
        """
        if self.classes is None or self.kind == "label":
            raise ValueError(f"Answers of kind {self.kind!r} hold no margins between classes.")
        rows, label = np.arange(len(self)), self.label_index(y)
        values = self.log_proba() if self.kind in ("proba", "logits") else self.values.astype(float)
        own = values[rows, label]
        values[rows, label] = -np.inf
        return own - values.max(axis=1)

    def is_correct(self, y: ArrayLike) -> np.ndarray:
        """Return whether the predicted class is the label, see :meth:`as_labels`.

        Parameters
        ----------
        y : array-like of shape (n,)
            Task labels.

        Returns
        -------
        is_correct : ndarray of shape (n,), dtype bool

        Raises
        ------
        ValueError
            If the outputs are log odds or values of a regressor, or a label is not among the
            classes.
        """
        if self.classes is None:
            raise ValueError(f"Answers of kind {self.kind!r} hold no predicted classes.")
        label = self.label_index(y)
        if self.kind == "label":
            return self.values == to_array(y, "y")
        if self._predicted is not None:
            return self._predicted == to_array(y, "y")
        is_correct = np.empty(len(self), dtype=bool)
        for rows in cut(len(self)):
            is_correct[rows] = self.values[rows].argmax(axis=1) == label[rows]
        return is_correct

    def _check_probabilistic(self):
        if self.kind not in ("proba", "logits"):
            raise ValueError(
                f"Answers of kind {self.kind!r} hold no class probabilities. ThresholdAttack and "
                "LiRA read such answers, too."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, *args, **kwargs):
        raise TypeError("Outputs are not an array; use outputs.values.")

    def __getitem__(self, key: Any) -> "Outputs":
        outputs, key = object.__new__(Outputs), as_key(key, len(self))
        outputs.values, outputs.classes, outputs.kind = self.values[key], self.classes, self.kind
        if self._predicted is not None:
            outputs._predicted = self._predicted[key]
        return outputs

    def __repr__(self):
        classes = "" if self.classes is None else f", classes={show_classes(self.classes)}"
        return f"Outputs({len(self)} answers, kind={self.kind!r}{classes})"


def add_predicted(outputs, labels):
    """Return the outputs of a model that predicts these labels by a rule of its own."""
    outputs = outputs[:]
    outputs._predicted = read_only(check_single(np.asarray(labels), "label"))
    return outputs


def measure_errors(outputs, y):
    """Return the squared errors of a regressor, in variances of y; of several targets their mean.

    Return errors of shape (n,).
    """
    y = np.asarray(y, dtype=float).reshape(len(outputs), -1)
    scale = y.var(axis=0)
    errors = np.square(np.asarray(outputs.values, dtype=float).reshape(y.shape) - y)
    return (errors / np.where(scale > 0, scale, 1.0)).mean(axis=1)


def join_outputs(parts, n_records):
    """Concatenate the outputs for so many records, which come part by part."""
    first, classes, predicted, values, start = None, [], [], None, 0
    for part in parts:
        if first is None:
            first, values = part, empty_rows(n_records, part.values)
        same_columns = first.kind == "label" or np.array_equal(part.classes, first.classes)
        if part.kind != first.kind or not same_columns:
            raise ValueError(
                "Answers can be joined when they are of one kind and their columns are the "
                f"same classes; got {first!r} and {part!r}."
            )
        dtype = np.result_type(values, part.values)
        if dtype != values.dtype:  # longer text
            known, values = values, empty_rows(n_records, values, dtype)
            values[:start] = known[:start]
        values[start : start + len(part)], start = part.values, start + len(part)
        classes.append(part.classes)
        predicted.append(part._predicted)
    joined = object.__new__(Outputs)
    joined.values, joined.kind, joined.classes = read_only(values), first.kind, first.classes
    if first.kind == "label":
        joined.classes = np.unique(np.concatenate(classes))
    elif all(labels is not None for labels in predicted):
        joined._predicted = np.concatenate(predicted)
    return joined


Outputs.__module__ = "skmia"  # from where it is imported
