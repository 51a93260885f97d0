"""`tf.data.Options`: hints for the execution of a pipeline."""

from __future__ import annotations

from typing import Any


class _Hints:
    """Attributes that are None until they are set: those that a class declares."""

    def __init__(self) -> None:
        for name in type(self).__annotations__:
            self.__dict__[name] = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        self.__dict__[name] = value


class ThreadingOptions(_Hints):
    """The number of threads that a pipeline should use (`tf.data.ThreadingOptions`)."""

    max_intra_op_parallelism: Any
    private_threadpool_size: Any


class Options(_Hints):
    """Hints for the execution of a pipeline (`tf.data.Options`).

    They are kept with the dataset but have no effect: the order is always deterministic, and the threads are
    those of the task.
    """

    autotune: Any
    deterministic: Any
    experimental_deterministic: Any
    experimental_optimization: Any
    experimental_slack: Any
    experimental_threading: Any
    threading: Any

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["threading"] = ThreadingOptions()
        self.__dict__["experimental_threading"] = self.__dict__["threading"]
