"""The program that evicts nothing: what every plan's program starts from."""

import numpy as np

from planezip.planning.problem import Problem
from planezip.records import Step

Int64 = np.ndarray[tuple[int], np.dtype[np.int64]]


class Layout:
    """Every operator's own step, with its frees.

    Attributes:
        steps: by position.
        touches: by position, the buffers that the step reads or writes, without repetition.
        last_touch: storage -> position after which it is freed.
        allocated_bytes, freed_bytes: by position, int64; the batch is allocated before the first.
        batch: the storages that are there from the beginning.
    """

    def __init__(self, problem: Problem) -> None:
        count = len(problem.ops)
        self.touches = [
            tuple(dict.fromkeys((*(s for s, _ in problem.reads[p]), *problem.writes[p])))
            for p in range(count)
        ]
        self.last_touch = {s: p for p, touched in enumerate(self.touches) for s in touched}
        storages = problem.trace.storages
        self.batch = [s.id for s in storages if s.kind == "input" and problem.uses[s.id]]
        self.allocated_bytes = np.zeros(count, dtype=np.int64)
        self.freed_bytes = np.zeros(count, dtype=np.int64)
        self.steps = []
        resident = set(self.batch)
        for p, op in enumerate(problem.ops):
            new = [s for s in problem.writes[p] if s not in resident]
            resident.update(new)
            free = tuple(s for s in self.touches[p] if self.last_touch[s] == p)
            self.allocated_bytes[p] = sum(problem.bytes[s] for s in new)
            self.freed_bytes[p] = sum(problem.bytes[s] for s in free)
            self.steps.append(Step(op.index, op.writes, free))
