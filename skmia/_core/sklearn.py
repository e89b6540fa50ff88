"""The one place that imports private parts of scikit-learn."""

from numbers import Integral, Number

import numpy as np
from sklearn.utils import _param_validation
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
)

from .numbers import show

__all__ = [
    "N_JOBS",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "validate_parameter_constraints",
    "validate_params_of",
]

# What joblib takes: 0 has no meaning there, and larger numbers have no place.
_MOST_JOBS = 2**31 - 1
N_JOBS = [
    Interval(Integral, 1, _MOST_JOBS, closed="both"),
    Interval(Integral, -_MOST_JOBS, -1, closed="both"),
    None,
]


def _is_numeric(constraint):
    is_type = isinstance(constraint, type) and issubclass(constraint, Number)
    return is_type or isinstance(constraint, Interval)


def _check_comparable(constraints, name, value, caller_name):
    """Refuse what scikit-learn cannot compare, such as a fraction, an array, a number too large."""
    allowed = constraints.get(name, "no_validation")
    if isinstance(allowed, str):
        return
    try:
        _param_validation.validate_parameter_constraints({name: allowed}, {name: value}, "")
        if isinstance(value, Number) and any(_is_real(one) for one in allowed):
            float(value)
    except InvalidParameterError:
        return  # which is said with the name of the caller
    except (TypeError, ValueError, OverflowError):
        kinds = " or ".join(str(_param_validation.make_constraint(one)) for one in allowed)
        raise InvalidParameterError(
            f"The {name!r} parameter of {caller_name} must be {kinds}. Got {show(value)} instead."
        ) from None


def _is_real(constraint):
    return isinstance(constraint, Interval) and constraint.type is not Integral


def validate_parameter_constraints(constraints, params, caller_name):
    """Check parameters against constraints; a boolean does not count as a number.

    Parameters
    ----------
    constraints : dict
        Constraints of each parameter, as scikit-learn writes them.
    params : dict
        Values of the parameters.
    caller_name : str
        Estimator or function, for messages.

    Raises
    ------
    InvalidParameterError
        Names the parameter, the allowed values and the value that was got.
    """
    for name, value in params.items():
        _check_comparable(constraints, name, value, caller_name)
    _param_validation.validate_parameter_constraints(constraints, params, caller_name)
    for name, value in params.items():
        allowed = constraints.get(name, "no_validation")
        if not isinstance(value, bool | np.bool_) or isinstance(allowed, str):
            continue
        others = [one for one in allowed if not _is_numeric(one)]
        if len(others) == len(allowed):
            continue
        # Python takes True for the number 1, which is not what a user means by it.
        if not any(_param_validation.make_constraint(one).is_satisfied_by(value) for one in others):
            raise InvalidParameterError(
                f"The {name!r} parameter of {caller_name} must not be a boolean. Got {value!r} "
                "instead."
            )


def validate_params_of(estimator):
    """Check the parameters of an estimator against its ``_parameter_constraints``.

    Raises
    ------
    InvalidParameterError
        Names the parameter, the allowed values and the value that was got.
    """
    validate_parameter_constraints(
        estimator._parameter_constraints,
        estimator.get_params(deep=False),
        caller_name=type(estimator).__name__,
    )
