"""The error that the command line shows as one line."""


def tell(error):
    """The message of another package as one line; some have several, which are joined."""
    return " ".join(str(error).split())


class CommandError(Exception):
    """Invalid input; the message says what was got and what is needed."""


class GateClosed(Exception):
    """An audit that finished with a result that the exit code reports."""

    def __init__(self, message, text, code):
        super().__init__(message)
        self.text, self.code = text, code
