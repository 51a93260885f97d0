"""`tf.logging`: the log of the library and of programs that use it, by Python's own `logging`."""

from __future__ import annotations

import logging as _logging
import sys
import threading
from collections import Counter
from typing import Any

DEBUG = _logging.DEBUG
INFO = _logging.INFO
WARN = _logging.WARNING
ERROR = _logging.ERROR
FATAL = _logging.FATAL

_logger = _logging.getLogger("tensorfleet")
_lock = threading.Lock()
_calls: Counter[tuple[str, int]] = Counter()


def get_logger() -> _logging.Logger:
    """The logger; it writes to standard error unless the program has set up logging by itself."""
    with _lock:
        if not _logger.hasHandlers():
            handler = _logging.StreamHandler()
            handler.setFormatter(_logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
            _logger.addHandler(handler)
        return _logger


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at a level."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level DEBUG (`tf.logging.debug`)."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level INFO (`tf.logging.info`)."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level WARN (`tf.logging.warning`)."""
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level ERROR (`tf.logging.error`)."""
    get_logger().error(msg, *args, **kwargs)


def TaskLevelStatusMessage(msg: Any) -> None:
    """Logs a message about a task at the level ERROR (`tf.logging.TaskLevelStatusMessage`)."""
    error(msg)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs `msg % args` at the level FATAL (`tf.logging.fatal`)."""
    get_logger().fatal(msg, *args, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Logs at a numeric level of `logging`."""
    get_logger().log(level, msg, *args, **kwargs)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs the first of every `n` calls from one place of the program."""
    log_if(level, msg, not (_count_call() % n), *args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs the first `n` calls from one place of the program."""
    log_if(level, msg, _count_call() < n, *args)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Logs where `condition` is true."""
    if condition:
        log(level, msg, *args)


def _count_call() -> int:
    """The number of times that the caller's caller has been at its line before."""
    frame = sys._getframe(2)
    place = (frame.f_code.co_filename, frame.f_lineno)
    with _lock:
        _calls[place] += 1
        return _calls[place] - 1


def get_verbosity() -> int:
    """The least level that is logged."""
    return _logger.getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Sets the least level that is logged, such as `tf.logging.INFO`."""
    _logger.setLevel(v)


def flush() -> None:
    """Writes out what is buffered."""
    for handler in get_logger().handlers:
        handler.flush()
