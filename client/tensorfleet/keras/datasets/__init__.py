"""`tf.keras.datasets`, from files in ~/.keras/datasets: nothing is downloaded."""

import typing as _typing

if _typing.TYPE_CHECKING:
    from tensorfleet.keras.datasets import (
        boston_housing as boston_housing,
        cifar10 as cifar10,
        cifar100 as cifar100,
        fashion_mnist as fashion_mnist,
        mnist as mnist,
    )
else:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "boston_housing",
            "cifar10",
            "cifar100",
            "fashion_mnist",
            "mnist",
        ),
    )
