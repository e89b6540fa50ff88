"""The error that the command line shows as one line."""


class CommandError(Exception):
    """Input that the command cannot work with; the message says what was got and what is needed."""


class LimitExceeded(Exception):
    """A number of an audit is above the limit that the command line gives.

    Parameters
    ----------
    message : str
        Which numbers.
    text : str
        The audit, which is printed all the same.
    """

    def __init__(self, message, text):
        super().__init__(message)
        self.text = text
