"""`tensorflow.python.tpu.topology`: the shape of a mesh of TPUs, as libraries give it to their own meshes."""

from __future__ import annotations

from typing import Any

import numpy as np


class Topology:
    """The shape of a mesh, and where in it each device of each task is.

    Args:
        serialized: a TopologyProto, which TPU systems alone make.
        mesh_shape: the size of each dimension of the mesh, int32 of shape [rank], all positive.
        device_coordinates: int32 of shape [tasks, devices of a task, rank], not negative.

    Raises:
        ValueError: shapes that do not fit.
        NotImplementedError: `serialized` is given.
    """

    def __init__(
        self, serialized: Any = None, mesh_shape: Any = None, device_coordinates: Any = None
    ) -> None:
        if serialized:
            raise NotImplementedError(
                "A serialized topology describes a TPU system, and there are no TPUs: give mesh_shape and "
                "device_coordinates."
            )
        self._mesh_shape = np.asarray(mesh_shape, np.int32)
        self._coordinates = np.asarray(device_coordinates, np.int32)
        if self._mesh_shape.ndim != 1 or self._mesh_shape.size == 0 or (self._mesh_shape < 1).any():
            raise ValueError(f"`mesh_shape` must be a sequence of positive sizes; got {mesh_shape}")
        if self._coordinates.ndim != 3 or self._coordinates.shape[2] != len(self._mesh_shape):
            raise ValueError(
                "`device_coordinates` must have the shape [tasks, devices, rank of the mesh]; got "
                f"{self._coordinates.shape} for the mesh {self._mesh_shape.tolist()}"
            )
        if (self._coordinates < 0).any() or (self._coordinates >= self._mesh_shape).any():
            raise ValueError(f"`device_coordinates` lie outside of the mesh {self._mesh_shape.tolist()}")

    @property
    def mesh_shape(self) -> np.ndarray[Any, Any]:
        """The size of each dimension, int32 of shape [rank]."""
        return self._mesh_shape

    @property
    def mesh_rank(self) -> int:
        """The number of dimensions."""
        return len(self._mesh_shape)

    @property
    def device_coordinates(self) -> np.ndarray[Any, Any]:
        """The place of each device, int32 of shape [tasks, devices of a task, rank]."""
        return self._coordinates

    @property
    def num_tasks(self) -> int:
        """The number of tasks."""
        return int(self._coordinates.shape[0])

    @property
    def num_tpus_per_task(self) -> int:
        """The number of devices of each task."""
        return int(self._coordinates.shape[1])
