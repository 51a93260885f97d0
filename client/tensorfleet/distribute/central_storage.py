"""`tf.distribute.experimental.CentralStorageStrategy`: several replicas, one place for variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core.device import DeviceSpec
from tensorfleet.distribute.mirrored_strategy import MirroredExtended, MirroredStrategy
from tensorfleet.distribute.per_replica import DistributedValues, mapped
from tensorfleet.distribute.reductions import CrossDeviceOps
from tensorfleet.distribute.replica_context import entered
from tensorfleet.distribute.strategies import Strategy
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.ops.array.identity import identity


class CentralStorageExtended(MirroredExtended):
    """What a CentralStorageStrategy knows of its devices and variables."""

    def __init__(self, strategy: Strategy, devices: Sequence[str], parameter_device: str) -> None:
        super().__init__(strategy, devices, None)
        self._parameter_device = DeviceSpec.from_string(parameter_device).to_string()

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The device of variables."""
        return (self._parameter_device,)

    def _mirrored(self, next_creator: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        graph = get_default_graph()
        with graph.colocate_with(None, ignore_existing=True), framework.device(self._parameter_device):
            return next_creator(**{**arguments, "use_resource": True})

    def update(
        self, var: Any, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """`fn(var, *args, **kwargs)` beside the variable; in a tuple if not `group`."""
        own = mapped(_first, [(tuple(args), dict(kwargs or {}))])
        with entered(self._strategy, None), framework.colocate_with(var.op):
            result = fn(var, *own[0], **own[1])
        return result if group else (result,)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """`fn(*args, **kwargs)` on the variables' device; in a tuple if not `group`."""
        own = mapped(_first, [(tuple(args), dict(kwargs or {}))])
        with entered(self._strategy, None), framework.device(self._parameter_device):
            result = fn(*own[0], **own[1])
        return result if group else (result,)

    def non_slot_devices(self, var_list: Any) -> tuple[str, ...]:
        """The devices of variables that belong to no other one."""
        return (self._parameter_device,)

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return identity(v)


def _first(leaves: list[Any]) -> Any:
    [leaf] = leaves
    return leaf.values[0] if isinstance(leaf, DistributedValues) else leaf


class CentralStorageStrategy(MirroredStrategy):
    """Several replicas in one graph, each on a device, that share variables on one
    (`tf.distribute.experimental.CentralStorageStrategy`).

    The gradients of the replicas are added up on the device of the variables, and applied once. What replicas
    assign to variables themselves is assigned by each of them.

    Args:
        compute_devices: the replicas' devices, also of several tasks; by default this machine's GPUs, or its
            CPU if there are none.
        parameter_device: that of the variables; by default the CPU, or the GPU if there is one.
    """

    def __init__(self, compute_devices: Any = None, parameter_device: str | None = None) -> None:
        self._parameter_device = parameter_device
        super().__init__(compute_devices)

    def _make_extended(
        self, devices: Sequence[str], cross_device_ops: CrossDeviceOps | None
    ) -> CentralStorageExtended:
        device = self._parameter_device or (devices[0] if len(devices) == 1 else "/cpu:0")
        return CentralStorageExtended(self, devices, device)
