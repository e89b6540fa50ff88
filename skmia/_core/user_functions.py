"""Calls of functions that users pass."""

from .numbers import show


def call_given(function, name, form, *arguments):
    """Call a function of users, and say how it is called if it cannot be called so.

    Parameters
    ----------
    function : object
    name : str
        Name of the parameter, for the message.
    form : str
        How the function is called, such as ``"f(X, y)"``, for the message.
    *arguments : object

    Raises
    ------
    TypeError
        If it is not a function of these arguments; errors from inside the function pass.
    """
    try:
        return function(*arguments)
    except TypeError as error:
        if error.__traceback__.tb_next is not None:  # raised inside the function
            raise
        raise TypeError(
            f"{name} must be a function that is called as {form}; got {show(function)}: {error}"
        ) from error
