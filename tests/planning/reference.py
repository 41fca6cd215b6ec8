"""The slow way that the planner's fast one must agree with: everything worked out from scratch."""

import numpy as np

from planezip.planning.replay import NotReplayableError, replay_peak_bytes, replay_positions
from planezip.records import Step, compressed_bytes


def cover_deficit(problem, target, swap_cost_s=None, compress_cost_s=None, ratios=None):
    """Stage two: actions, with every score, replay and peak computed anew for every choice."""
    actions = dict.fromkeys(problem.candidates, "keep")
    forbidden, ratios = set(), ratios or {}
    while True:
        memory = memory_left(problem, actions, ratios)
        if memory.max() <= target:
            return actions
        peak = int(memory.argmax())
        choices = []
        for rank, (t, c) in enumerate(problem.candidates.items()):
            held = held_away(c, actions[t], ratios)
            idle = c.last_forward_use < peak < c.first_backward_use
            if actions[t] in ("keep", "compress") and held and idle:
                for kind, cost_s in options(problem, actions, c, forbidden, swap_cost_s):
                    score = cost_s / (held * max(c.idle_s, 1e-12))
                    choices.append((score, rank, kind == "swap", t, kind))
                saved = held - held_away(c, "compress", ratios)
                if compress_cost_s and saved:
                    score = compress_cost_s(c) / (saved * max(c.idle_s, 1e-12))
                    choices.append((score, rank, 2, t, "compress"))
        if not choices:
            return actions
        *_, t, kind = min(choices)
        if kind == "drop" and not replays_fit(problem, actions, t, target):
            forbidden.add(t)
        else:
            actions[t] = kind


def options(problem, actions, c, forbidden, swap_cost_s):
    replay = replay_of(problem, actions, c.storage)
    if replay is not None and c.storage not in forbidden:
        readers = sum(c.storage in replay_of(problem, actions, d)[1] for d in dropped(actions))
        yield "drop", sum(problem.seconds[p] for p in replay[0]) * (1 + readers)
    if swap_cost_s is not None:
        yield "swap", swap_cost_s(c)


def dropped(actions):
    return [t for t, action in actions.items() if action == "drop"]


def held_away(c, action, ratios):
    """What a candidate takes in device memory while it is idle."""
    if action == "compress":
        return compressed_bytes(c.bytes, ratios.get(c.storage, 1.0))
    return c.bytes if action == "keep" else 0


def memory_left(problem, actions, ratios=None):
    memory = problem.memory.copy()
    for t, action in actions.items():
        c = problem.candidates[t]
        away = c.bytes - held_away(c, action, ratios or {})
        memory[c.last_forward_use + 1 : c.first_backward_use] -= away
    return memory


def replay_of(problem, actions, t):
    """Positions and candidates read by a replay of t, None if nothing recomputes it."""

    def available(s, version):
        kept = s in problem.candidates and actions[s] != "drop"
        return kept and version == problem.forward_version[s]

    if t not in problem.writers:
        return None
    try:
        target = [(t, problem.forward_version[t])]
        positions, inputs = replay_positions(problem, target, available)
    except NotReplayableError:
        return None
    return positions, inputs & problem.candidates.keys()


def replays_fit(problem, actions, t, target):
    after = actions | {t: "drop"}
    irreducible = memory_left(problem, dict.fromkeys(problem.candidates, "swap"))
    longer = [d for d in dropped(actions) if t in replay_of(problem, actions, d)[1]]
    for d in (t, *longer):
        positions, inputs = replay_of(problem, after, d)
        at = problem.candidates[d].first_backward_use
        needed = int(irreducible[at]) - problem.bytes[d]
        needed += replay_peak_bytes(problem, positions, d)
        for s in inputs:
            c = problem.candidates[s]
            if not c.first_backward_use <= at <= c.last_backward_use:
                needed += c.bytes
        if needed > target:
            return False
    return True


class Compiler:
    """Walks through all operators and lays out step after step, then places frees from the end."""

    def __init__(self, problem, actions, stays, ratios=None):
        self.problem, self.actions, self.stays = problem, actions, stays
        self.ratios = ratios or {}
        self.drafts, self.scratch, self.scratch_of = [], [], {}
        storages = problem.trace.storages
        self.batch = [s.id for s in storages if s.kind == "input" and problem.uses[s.id]]
        self.resident = set(self.batch)
        self.step_of = []

    def program(self):
        """Steps, scratch, residences and memory."""
        problem, actions = self.problem, self.actions
        for position in range(len(problem.ops)):
            self.position = position
            if position >= problem.backward_start:
                reads = [s for s, _ in problem.reads[position]]
                needed = [s for s in reads if actions.get(s) == "drop" and s not in self.resident]
                if needed:
                    self.replay(needed)
            self.own_step(position)
            for t in dropped(actions):
                c = problem.candidates[t]
                if position in (c.last_forward_use, c.last_backward_use):
                    self.resident.discard(t)
        frees, needed_by = self.place_frees()
        steps = tuple(
            Step(op, into, tuple(free), replay_for)
            for (op, into, _, _, replay_for), free in zip(self.drafts, frees, strict=True)
        )
        at = [*self.step_of, -1]  # position -1 is step -1
        residences = [
            (
                t,
                at[c.last_forward_use if actions[t] == "compress" else c.ready],
                at[c.last_forward_use],
                needed_by[t],
                held_away(c, actions[t], self.ratios),
            )
            for t, c in problem.candidates.items()
            if actions[t] in ("swap", "compress")
        ]
        return steps, tuple(self.scratch), residences, self.memory(frees, residences)

    def own_step(self, position):
        problem = self.problem
        op = problem.ops[position]
        allocates = [s for s in problem.writes[position] if s not in self.resident]
        self.resident.update(allocates)
        touches = (*(s for s, _ in problem.reads[position]), *problem.writes[position])
        self.step_of.append(len(self.drafts))
        self.drafts.append((op.index, op.writes, touches, allocates, -1))

    def replay(self, targets):
        problem = self.problem
        positions, _ = replay_positions(
            problem, [(t, problem.forward_version[t]) for t in targets], self.is_resident
        )
        holder, stay = {}, set(targets)
        for position in positions:
            touches = [
                s if self.is_resident(s, version) else holder.get(s, s)
                for s, version in problem.reads[position]
            ]
            allocates = []
            for s in problem.writes[position]:
                if s not in holder:
                    holder[s] = self.buffer_for(s)
                    allocates.append(holder[s])
                last_write = problem.writers[s][problem.forward_version[s] - 1]
                own = holder[s] == s and s in self.stays and last_write == position
                if own and self.position <= problem.candidates[s].last_backward_use:
                    stay.add(s)
            into = tuple(holder.get(s, s) for s in problem.ops[position].writes)
            touches += [holder[s] for s in problem.writes[position]]
            self.drafts.append((problem.ops[position].index, into, touches, allocates, targets[-1]))
        self.resident |= stay

    def is_resident(self, storage, version):
        if version != self.problem.forward_version[storage]:
            return False
        action = self.actions.get(storage)
        if action is None:
            return version == 0
        return action != "drop" or storage in self.resident

    def buffer_for(self, storage):
        action = self.actions.get(storage)
        if action == "drop" and storage not in self.resident:
            return storage
        if action is None and self.problem.uses[storage][-1] < self.problem.backward_start:
            return storage
        if storage not in self.scratch_of:
            self.scratch_of[storage] = len(self.problem.trace.storages) + len(self.scratch)
            self.scratch.append(storage)
        return self.scratch_of[storage]

    def place_frees(self):
        forward = self.step_of[: self.problem.backward_start]
        first = forward[-1] + 1 if forward else 0
        frees = [[] for _ in self.drafts]
        needed_by, alive = {}, set()
        for index in range(len(self.drafts) - 1, -1, -1):
            _, _, touches, allocates, _ = self.drafts[index]
            for buffer in dict.fromkeys(touches):
                if buffer not in alive:
                    alive.add(buffer)
                    frees[index].append(buffer)
                if self.actions.get(buffer) in ("swap", "compress") and index >= first:
                    needed_by[buffer] = index
            alive.difference_update(allocates)
        return frees, needed_by

    def memory(self, frees, residences):
        size_of = [*self.problem.bytes, *(self.problem.bytes[s] for s in self.scratch)]
        change = np.zeros(len(self.drafts) + 1, dtype=np.int64)
        change[0] += sum(size_of[s] for s in self.batch)
        for index, (_, _, _, allocates, _) in enumerate(self.drafts):
            change[index] += sum(size_of[b] for b in allocates)
            change[index + 1] -= sum(size_of[b] for b in frees[index])
        for t, _, release_after, needed_by, held in residences:
            change[release_after + 1] += held - size_of[t]
            change[needed_by] += size_of[t] - held
        memory = np.cumsum(change)[:-1]
        for index, (_, _, _, allocates, _) in enumerate(self.drafts):
            # What comes back is there twice before the step allocates.
            twice = sum(held for *_, needed_by, held in residences if needed_by == index)
            memory[index] = max(
                memory[index], memory[index] + twice - sum(size_of[b] for b in allocates)
            )
        return memory
