"""``skmia inspect``."""

import json
import sys
import warnings

import numpy as np
import pandas as pd

from .._core.escaping import visible
from .._core.kinds import is_regressor
from .._core.records import Records
from ..inspection import inspect_model, render_inspection
from ._features_and_target import check_complete, check_option_column
from ._labels import list_texts, take_as_classes
from ._model import OF_DAMAGE, load_model
from ._model_input import as_model_input, know_columns
from ._options import CommandError, is_of_strangers, tell
from ._reading import make_reading, read_table
from ._required_sandbox import check_sandbox, start_sandbox
from ._write_page import check_is_no_source, describe_page, write_page

_MODEL = "MODEL"


def run_inspect(arguments, show):
    if arguments.out is not None:
        check_is_no_source(arguments.out, [arguments.model, *filter(None, [arguments.data])])
    check_sandbox(arguments)
    try:
        if is_of_strangers(arguments.model):
            with start_sandbox(_inspect, arguments, (CommandError,)) as process:
                text, document, notes = process.ask(arguments)
        else:
            text, document, notes = _inspect(arguments)
    except OF_DAMAGE as error:
        name, told = arguments.model.name, f"{type(error).__name__}: {tell(error)}"
        raise CommandError(f"{_MODEL}: {name} cannot be inspected: {told}") from error
    for note in notes:  # on how the table was read
        print(f"skmia inspect: {visible(note)}", file=sys.stderr)
    if arguments.out is not None:
        # The page is made here, not where the model was read, which may write no file.
        write_page(arguments.out, render_inspection(json.loads(document)))
    return document if arguments.json else f"{text}\n\n{describe_page(arguments.out)}"


def _inspect(arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, trusted = arguments.model, arguments.trust_pickle
        model = load_model(path, trust_pickle=trusted, option=_MODEL, onnx=False)
        records, notes = None, []
        if arguments.data is not None:
            records, notes = _read_inspected_records(arguments, model)
        inspection = inspect_model(model, records)
    plain = json.dumps(inspection.to_dict(), indent=1, default=_as_plain_value, allow_nan=False)
    return inspection.summary(arguments.verbose), plain, notes


def _read_inspected_records(arguments, model):
    reading, known = make_reading(arguments, list_texts(model)), know_columns(model)
    frame, notes = read_table(arguments.data, reading=reading, known=known)
    for option in (arguments.target, *arguments.drop):
        if option is not None:
            check_option_column(
                frame, option, "--target" if option == arguments.target else "--drop"
            )
    if arguments.target is None and is_regressor(model):
        raise CommandError(
            "--data needs --target for a regressor, whose file can hold values of its target"
        )
    leaving = {arguments.target, *arguments.drop}
    features = [name for name in frame.columns if name not in leaving]
    if know_columns(model, features).keys() != known.keys():  # by the names of the table
        known = know_columns(model, features)
        frame, notes = read_table(arguments.data, reading=reading, known=known)
    others = frame if arguments.target is None else frame.drop(columns=arguments.target)
    X, told = as_model_input(model, others, features, _MODEL)
    if arguments.target is None:
        return Records(X), [*notes, *told]
    y, said = _read_inspected_labels(frame, arguments, model)
    return Records(X, y), [*notes, *told, *said]


def _read_inspected_labels(frame, arguments, model):
    """Return the target as the model knows it, with notes: numbers, or its classes by value."""
    column = frame[arguments.target]
    check_complete(column)
    is_text = not pd.api.types.is_numeric_dtype(column.dtype)
    if is_text and is_regressor(model):
        raise CommandError(
            f"--target: column {arguments.target!r} holds text, but a regression needs numbers"
        )
    y = column.astype(str).to_numpy(dtype=object) if is_text else column.to_numpy()
    classes = getattr(model, "classes_", None)
    taken = take_as_classes(column.name, y, classes) if isinstance(classes, np.ndarray) else None
    return (y, []) if taken is None else taken


def _as_plain_value(value):
    return value.item() if isinstance(value, np.generic) else str(value)
