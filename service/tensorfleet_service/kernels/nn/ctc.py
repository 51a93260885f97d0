"""Connectionist temporal classification: the loss with its gradient, and decoders.

The forward and backward variables of Graves et al. are logarithms of probabilities; each step of the
recursion is one over all examples of the batch.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.sparse import Array
from tensorfleet_service.kernels.values import host_kernel, invalid
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

MAX_STATES = 1 << 27
"""Limit on the forward variables of one step: times by examples by states."""

SHOWN = 100
"""Number of labels that an error shows."""

PART = 1 << 16
"""Number of states handled by one call that keeps the interpreter."""

_NONE = -np.inf


def _log_softmax(x: Any) -> Array:
    shifted = x - x.max(-1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result


def _check(inputs: Any, lengths: Any, error: Any = invalid) -> None:
    if inputs.ndim != 3:
        raise invalid("inputs is not a 3-Tensor")
    if lengths.ndim != 1:
        raise invalid("sequence_length is not a vector")
    if len(lengths) != inputs.shape[1]:
        raise error(
            f"len(sequence_length) != batch_size.  len(sequence_length):  {len(lengths)} batch_size: "
            f"{inputs.shape[1]}"
        )
    if not inputs.shape[2]:
        raise invalid("There must be one class or more, the blank")
    beyond = (lengths > len(inputs)) | (lengths < 0)
    if beyond.any():
        raise error(f"sequence_length({int(np.flatnonzero(beyond)[0])}) <= {len(inputs)}")


def _failed(text: str) -> errors.OpError:
    return errors.FailedPreconditionError(None, None, text)


class _Labels:
    """The label sequences of a batch, as the states of the recursion: blanks around and between labels.

    Attributes:
        states: [batch, states], the class of each.
        counts: how many states each example has.
        skipped: the examples that have more labels than times, which are ignored.
    """

    def __init__(self, node: KernelNode, indices: Any, values: Any, lengths: Any, classes: int) -> None:
        self._classes = classes
        self._collapse = node.attrs["preprocess_collapse_repeated"]
        self._ignore = node.attrs["ignore_longer_outputs_than_inputs"]
        batch = len(lengths)
        self.skipped = np.zeros(batch, bool)
        rows = [self._row(b, row, int(lengths[b])) for b, row in enumerate(_rows(indices, values, batch))]
        self.counts = np.array([2 * len(row) + 1 for row in rows], np.int64)
        self.states = np.full((batch, int(self.counts.max(initial=1))), classes - 1, np.int64)
        for b, row in enumerate(rows):
            self.states[b, 1 : 2 * len(row) : 2] = row

    def _row(self, example: int, given: list[int], time: int) -> list[int]:
        """The labels of an example, without what follows them."""
        if not given:
            raise invalid(f"Labels length is zero in batch {example}")
        blank = self._classes - 1
        if min(given) < 0:
            text = _shown(given)
            raise invalid(f"All labels must be nonnegative integers, batch: {example} labels: {text}")
        # The first value that is no label ends the sequence.
        count = next((i for i, label in enumerate(given) if label >= blank), len(given))
        if any(label < blank for label in given[count:]):
            raise invalid(
                "Saw a non-null label (index >= num_classes - 1) following a null label, batch: "
                f"{example} num_classes: {self._classes} labels: {_shown(given)}"
            )
        if count > time:
            if not self._ignore:
                raise invalid(
                    f"Not enough time for target transition sequence (required: {count}, available: {time}). "
                    "ignore_longer_outputs_than_inputs leaves such examples out"
                )
            self.skipped[example] = True
            return []
        labels = given[:count]
        if self._collapse:
            labels = [label for i, label in enumerate(labels) if not i or label != labels[i - 1]]
        return labels


def _shown(labels: list[int]) -> str:
    return ",".join(map(str, labels[:SHOWN])) + (",…" if len(labels) > SHOWN else "")


def _rows(indices: Any, values: Any, batch: int) -> list[list[int]]:
    if indices.ndim != 2 or indices.shape[1] != 2:
        raise invalid("labels_indices is not a matrix with two columns")
    if values.ndim != 1 or len(values) != len(indices):
        raise invalid("len(labels_values) != number of labels_indices")
    first = indices[:, 0]
    outside = (first < 0) | (first >= batch)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise invalid(
            f"label SparseTensor is not valid: indices[{i}] = [{int(first[i])},{int(indices[i, 1])}] is out "
            f"of bounds: there are {batch} examples"
        )
    later = (first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & (indices[1:, 1] > indices[:-1, 1]))
    if not later.all():
        i = int(np.flatnonzero(~later)[0]) + 1
        raise invalid(f"label SparseTensor is not valid: indices[{i}] is out of order; use tf.sparse.reorder")
    ends = np.searchsorted(first, np.arange(batch), side="right")
    return [part.tolist() for part in np.split(values, ends[:-1])] if batch else []


@host_kernel("CTCLoss", lasting=True)
def ctc_loss(node: KernelNode) -> Kernel:
    merge = node.attrs["ctc_merge_repeated"]

    def run(inputs: Any, indices: Any, values: Any, lengths: Any) -> Any:
        _check(inputs, lengths)
        time, batch, classes = inputs.shape
        labels = _Labels(node, indices, values, lengths, classes)
        states = labels.states
        if time * states.size > MAX_STATES:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"ctc_loss of {time} times, {batch} examples and {states.shape[1] // 2} labels needs more "
                f"than {MAX_STATES} states: use smaller batches",
            )
        log_y = _log_softmax(inputs.astype(np.float64))
        # [time, batch, states]: the logarithm of the probability of each state's class.
        of_states = np.take_along_axis(log_y, np.broadcast_to(states, (time, *states.shape)), 2)
        blank = states == classes - 1
        stay = blank | np.full(states.shape, merge)
        skip = np.zeros(states.shape, bool)
        skip[:, 2:] = ~blank[:, 2:]
        if merge:
            skip[:, 2:] &= states[:, 2:] != states[:, :-2]
        inside = np.arange(states.shape[1]) < labels.counts[:, None]
        with np.errstate(all="ignore"):
            alpha = _forward(of_states, stay, skip, inside)
            beta = _backward(of_states, stay, skip, labels.counts, lengths)
            both = alpha + beta
            loss = -_log_sum(both[0], 1) if time else np.zeros(batch)
            # The share that the paths through each state have in the probability of the labels.
            share = np.exp(both + loss[:, None])
            share[:, ~np.isfinite(loss)] = 0
        gradient = np.exp(log_y)
        for t in range(time):
            _take_away(gradient[t], states, share[t])
        counted = (np.arange(time)[:, None] < lengths) & ~labels.skipped
        gradient[~counted] = 0
        loss[labels.skipped | (lengths == 0)] = 0
        return loss.astype(inputs.dtype), gradient.astype(inputs.dtype)

    return run


def _take_away(gradient: Any, states: Any, share: Any) -> None:
    """Subtracts the shares [batch, states] from the gradients of the states' classes."""
    count = max(1, PART // max(states.shape[1], 1))
    for begin in range(0, len(states), count):
        check_step()
        rows = slice(begin, begin + count)
        example = np.arange(len(states))[rows, None]
        np.subtract.at(gradient, (np.broadcast_to(example, states[rows].shape), states[rows]), share[rows])


def _log_sum(x: Any, axis: int) -> Any:
    return np.logaddexp.reduce(x, axis)


def _shifted(x: Any, by: int) -> Any:
    """The states `by` to the left (to the right, if negative), -inf beyond the ends."""
    result = np.full_like(x, _NONE)
    if by > 0:
        result[:, by:] = x[:, :-by]
    else:
        result[:, :by] = x[:, -by:]
    return result


def _forward(of_states: Any, stay: Any, skip: Any, inside: Any) -> Any:
    """For each time and state the logarithm of the probability of all paths to it, with it."""
    alpha = np.full_like(of_states, _NONE)
    for t in range(len(of_states)):
        check_step()
        if not t:
            reached = np.where(np.arange(stay.shape[1]) < 2, 0.0, _NONE)
        else:
            before = alpha[t - 1]
            reached = np.logaddexp(np.where(stay, before, _NONE), _shifted(before, 1))
            reached = np.logaddexp(reached, np.where(skip, _shifted(before, 2), _NONE))
        alpha[t] = np.where(inside, reached + of_states[t], _NONE)
    return alpha


def _backward(of_states: Any, stay: Any, skip: Any, counts: Any, lengths: Any) -> Any:
    """For each time and state the logarithm of the probability of all paths from it to the end."""
    beta = np.full_like(of_states, _NONE)
    column = np.arange(stay.shape[1])
    ends = np.where((column < counts[:, None]) & (column >= counts[:, None] - 2), 0.0, _NONE)
    for t in range(len(of_states) - 1, -1, -1):
        check_step()
        onward = np.full_like(of_states[t], _NONE)
        if t + 1 < len(of_states):
            after = beta[t + 1] + of_states[t + 1]
            onward = np.logaddexp(np.where(stay, after, _NONE), _shifted(after, -1))
            onward = np.logaddexp(onward, _shifted(np.where(skip, after, _NONE), -2))
        last = (lengths == t + 1)[:, None]
        beta[t] = np.where(last, ends, np.where((lengths > t + 1)[:, None], onward, _NONE))
    return beta


# Decoders


def _sparse(rows: list[list[int]]) -> tuple[Array, Array, Array]:
    counts = np.array([len(row) for row in rows], np.int64)
    row = unlocked.repeat(np.arange(len(rows)), counts)
    column = np.arange(len(row)) - unlocked.repeat(np.cumsum(counts) - counts, counts)
    values = np.array([label for labels in rows for label in labels], np.int64)
    shape = np.array([len(rows), counts.max(initial=0)], np.int64)
    return np.stack([row, column], 1).astype(np.int64), values, shape


@host_kernel("CTCGreedyDecoder")
def ctc_greedy_decoder(node: KernelNode) -> Kernel:
    merge, given = node.attrs["merge_repeated"], node.attrs["blank_index"]

    def run(inputs: Any, lengths: Any) -> Any:
        _check(inputs, lengths, _failed)
        classes = inputs.shape[2]
        if not -classes <= given < classes:
            raise invalid(f"blank_index expected to be between {-classes} and {classes - 1} but was {given}")
        blank = given % classes
        best = inputs.argmax(2)
        counted = np.arange(len(inputs))[:, None] < lengths
        kept = counted & (best != blank)
        if merge:
            kept[1:] &= best[1:] != best[:-1]
        rows = [best[kept[:, b], b].tolist() for b in range(len(lengths))]
        total = -np.where(counted, inputs.max(2), 0).sum(0, dtype=inputs.dtype)
        return (*_sparse(rows), total[:, None] + 0)

    return run


@host_kernel("CTCBeamSearchDecoder", lasting=True)
def ctc_beam_search_decoder(node: KernelNode) -> Kernel:
    width, paths, merge = (node.attrs[name] for name in ("beam_width", "top_paths", "merge_repeated"))

    def run(inputs: Any, lengths: Any) -> Any:
        _check(inputs, lengths, _failed)
        if paths > width:
            raise invalid("requested more paths than the beam width.")
        log_y = _log_softmax(inputs.astype(np.float64))
        found = [_search(log_y[: int(lengths[b]), b], width, paths) for b in range(len(lengths))]
        parts = []
        for path in range(paths):
            rows = [list(each[path][1]) for each in found]
            if merge:
                rows = [[x for i, x in enumerate(row) if not i or x != row[i - 1]] for row in rows]
            parts.append(_sparse(rows))
        scores = np.array([[score for score, _ in each] for each in found], inputs.dtype)
        return *(x for group in zip(*parts, strict=True) for x in group), scores.reshape(len(found), paths)

    return run


Prefix = tuple[int, ...]


def _search(log_y: Any, width: int, paths: int) -> list[tuple[float, Prefix]]:
    """The likeliest sequences of one example, with the logarithms of their probabilities, best first."""
    blank = log_y.shape[1] - 1
    most = 4 * width + PART  # candidates at a time: each beam may have as many as there are beams
    # For each sequence the probability of the paths that end in a blank, and of those that do not.
    beams: dict[Prefix, tuple[float, float]] = {(): (0.0, _NONE)}
    for row in log_y:
        totals = {prefix: float(np.logaddexp(*ends)) for prefix, ends in beams.items()}
        fresh: dict[Prefix, tuple[float, float]] = {}
        for prefix, (_, in_label) in beams.items():
            again = _NONE
            if prefix:
                again = in_label
                parent = prefix[:-1]
                if parent in beams:
                    repeated = parent and parent[-1] == prefix[-1]
                    again = float(np.logaddexp(again, beams[parent][0] if repeated else totals[parent]))
                again += row[prefix[-1]]
            fresh[prefix] = totals[prefix] + row[blank], again
        scores = [(float(np.logaddexp(*ends)), prefix) for prefix, ends in fresh.items()]
        labels = row[:blank]
        for prefix, (in_blank, _) in beams.items():
            check_step()
            longer = labels + totals[prefix]
            if prefix:
                longer[prefix[-1]] = labels[prefix[-1]] + in_blank
            # Of the extensions of one sequence, no more than `width` can remain in the beam.
            likely = (
                np.argpartition(-longer, width - 1)[:width] if len(longer) > width else range(len(longer))
            )
            for label in likely:
                child = (*prefix, int(label))
                if child not in beams and longer[label] > _NONE:
                    scores.append((float(longer[label]), child))
            if len(scores) > most:
                scores = heapq.nlargest(width, scores, key=lambda entry: entry[0])
        kept = heapq.nlargest(width, scores, key=lambda entry: entry[0])
        # Those that are new have no path that ends in a blank.
        beams = {prefix: fresh.get(prefix, (_NONE, score)) for score, prefix in kept}
    ends = [(float(np.logaddexp(*pair)), prefix) for prefix, pair in beams.items()]
    if len(ends) < paths:
        raise invalid("Less leaves in the beam search than requested.")
    return heapq.nlargest(paths, ends, key=lambda entry: entry[0])
