"""The error that the command line shows as one line."""


class CommandError(Exception):
    """Input that the command cannot work with; the message says what was got and what is needed."""


class GateClosed(Exception):
    """An audit that came to its end, and after which nothing may be released.

    Parameters
    ----------
    message : str
        Why.
    text : str
        The audit, which is printed all the same.
    code : int
        What the command ends with.
    """

    def __init__(self, message, text, code):
        super().__init__(message)
        self.text, self.code = text, code
