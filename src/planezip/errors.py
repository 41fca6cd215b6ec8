"""Every error that PlaneZip raises on purpose; the command line turns them into one line."""


class PlaneZipError(Exception):
    """Base of all errors below."""


class InputError(PlaneZipError, ValueError):
    """The caller's input cannot be used; the message names the input and what to do."""


class CorruptStreamError(PlaneZipError, ValueError):
    """A compressed stream is damaged, truncated, or not a PlaneZip stream."""


class OverBudgetError(PlaneZipError):
    """No plan keeps the activation memory within the budget.

    Attributes:
        budget_bytes: the budget that was asked for.
        smallest_feasible_bytes: the smallest budget that a plan was found for.
    """

    def __init__(self, budget_bytes: int, smallest_feasible_bytes: int) -> None:
        self.budget_bytes = budget_bytes
        self.smallest_feasible_bytes = smallest_feasible_bytes
        super().__init__(
            f"no plan fits a budget of {budget_bytes} bytes; "
            f"the smallest budget that a plan was found for is {smallest_feasible_bytes} bytes"
        )


class PlanOverflowError(PlaneZipError):
    """A simulated plan needs more memory than its budget and nothing pending would free any.

    Attributes:
        step: index of the step in Plan.steps whose allocation does not fit.
        needed_bytes: memory in use if it were made.
    """

    def __init__(self, step: int, needed_bytes: int, budget_bytes: int) -> None:
        self.step = step
        self.needed_bytes = needed_bytes
        super().__init__(f"step {step} needs {needed_bytes} bytes of a budget of {budget_bytes}")


class WorkerError(PlaneZipError):
    """A worker process ended before its work did: something outside of it ended it."""

    def __init__(self) -> None:
        super().__init__(
            "a worker process was ended, perhaps memory ran out; use fewer processes: --jobs 1"
        )


class PlanCheckError(PlaneZipError):
    """The independent checker found a plan or timeline that breaks a rule; a planner's bug."""
