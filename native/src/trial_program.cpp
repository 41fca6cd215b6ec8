#include "trial_program.h"

namespace planezip {

Compiler::Compiler(const Iteration& iteration)
    : it_(iteration), needed_(it_.seconds.size()), holds_(it_.bytes.size()),
      resident_(it_.storage.size()), stay_(it_.bytes.size()), holder_(it_.bytes.size()),
      step_of_(it_.seconds.size()), changed_(2 * it_.bytes.size()), open_(2 * it_.bytes.size()),
      touched_(2 * it_.bytes.size()), open_until_(2 * it_.bytes.size()),
      first_replay_(2 * it_.bytes.size()) {
    for (size_t k = 0; k < it_.storage.size(); ++k) by_first_use_.push_back(Index(k));
    std::stable_sort(by_first_use_.begin(), by_first_use_.end(), [&](Index a, Index b) {
        return it_.first_backward_use[size_t(a)] < it_.first_backward_use[size_t(b)];
    });
}

Program& Compiler::compile(const Decisions& decisions) {
    decisions_ = &decisions;
    find_replays();
    place_steps();
    follow_buffers();
    find_swaps();
    sum_memory();
    return program_;
}

// Whether a dropped tensor has not been replayed yet, or has had its last use.
bool Compiler::is_away(Index candidate) const {
    return !resident_[candidate] || it_.last_backward_use[size_t(candidate)] < position_;
}

// Whether the storage's own buffer holds what is read there.
bool Compiler::is_resident(size_t read) const {
    if (!it_.read_final[read]) return false;
    const Index candidate = it_.candidate_of[size_t(it_.read_storage[read])];
    if (candidate < 0) return it_.read_producer[read] < 0;
    return !is_dropped(candidate) || !is_away(candidate);
}

// Whether a candidate is to be replayed together with what shares something unsaved with it.
bool Compiler::joins(Index candidate) const {
    const Index ahead = it_.first_backward_use[size_t(candidate)] - position_;
    return is_dropped(candidate) && decisions_->stays[candidate] && ahead >= 0 &&
           ahead <= decisions_->early[candidate] && is_away(candidate);
}

// The storage's own buffer if a replay may use it, else its scratch buffer.
Index Compiler::buffer_for(Index storage) const {
    const Index candidate = it_.candidate_of[size_t(storage)];
    const bool own = candidate < 0 ? it_.last_touch[size_t(storage)] < it_.backward_start
                                   : is_dropped(candidate) && is_away(candidate);
    return own ? storage : scratch(storage);
}

void Compiler::find_replays() {
    replays_.clear();
    replay_steps_.clear();
    touches_.clear();
    allocates_.clear();
    outlast_.clear();
    resident_.clear();
    Index before = -1;
    for (const Index k : by_first_use_) {
        if (!is_dropped(k) || it_.first_backward_use[size_t(k)] == before) continue;
        before = position_ = it_.first_backward_use[size_t(k)];
        targets_.clear();
        const Index end = it_.reads_begin[size_t(before) + 1];
        for (Index r = it_.reads_begin[size_t(before)]; r < end; ++r) {
            const Index read = it_.candidate_of[size_t(it_.read_storage[size_t(r)])];
            if (read >= 0 && is_dropped(read) && is_away(read)) targets_.push_back(read);
        }
        if (!targets_.empty()) add_replay();
    }
}

// One replay before position_ that leaves targets_ resident in their own buffers.
void Compiler::add_replay() {
    needed_.clear();
    positions_.clear();
    pending_.clear();
    for (const Index t : targets_) pending_.push_back(it_.final_writer[size_t(t)]);
    while (!pending_.empty()) {
        const Index p = pending_.back();
        pending_.pop_back();
        if (p < 0 || needed_[p]) continue;
        needed_.mark(p);
        positions_.push_back(p);
        for (Index r = it_.reads_begin[size_t(p)]; r < it_.reads_begin[size_t(p) + 1]; ++r) {
            if (!is_resident(size_t(r))) pending_.push_back(it_.read_producer[size_t(r)]);
        }
        for (Index j = it_.joiners_begin[size_t(p)]; j < it_.joiners_begin[size_t(p) + 1]; ++j) {
            const Index k = it_.joiner[size_t(j)];
            if (joins(k)) pending_.push_back(it_.final_writer[size_t(k)]);
        }
    }
    std::sort(positions_.begin(), positions_.end());
    const size_t begin = replay_steps_.size(), first_allocation = allocates_.size();
    holds_.clear();
    for (const Index p : positions_) add_step(p);
    replays_.push_back({position_, begin, replay_steps_.size()});
    // Only now may what stays count as resident.
    stay_.clear();
    for (const Index t : targets_) stay_.mark(it_.storage[size_t(t)]);
    for (size_t i = first_allocation; i < allocates_.size(); ++i) {
        const Index s = owner(allocates_[i]), k = it_.candidate_of[size_t(s)];
        if (k >= 0 && decisions_->stays[k] && is_dropped(k) && is_away(k) &&
            position_ <= it_.last_backward_use[size_t(k)] && needed_[it_.final_writer[size_t(k)]]) {
            stay_.mark(s);
        }
    }
    for (size_t i = first_allocation; i < allocates_.size(); ++i) {
        const Index s = owner(allocates_[i]);
        const bool stays = stay_[s] && allocates_[i] == s;
        outlast_.push_back(stays);
        if (stays) resident_.mark(it_.candidate_of[size_t(s)]);
    }
}

void Compiler::add_step(Index position) {
    const size_t p = size_t(position);
    for (Index r = it_.reads_begin[p]; r < it_.reads_begin[p + 1]; ++r) {
        const Index s = it_.read_storage[size_t(r)];
        touches_.push_back(!is_resident(size_t(r)) && holds_[s] ? holder_[size_t(s)] : s);
    }
    for (Index w = it_.writes_begin[p]; w < it_.writes_begin[p + 1]; ++w) {
        const Index s = it_.write_storage[size_t(w)];
        if (!holds_[s]) {
            holds_.mark(s);
            holder_[size_t(s)] = buffer_for(s);
            allocates_.push_back(holder_[size_t(s)]);
        }
        touches_.push_back(holder_[size_t(s)]);
    }
    replay_steps_.push_back({position, touches_.size(), allocates_.size()});
}

void Compiler::place_steps() {
    const size_t positions = it_.seconds.size(), steps = positions + replay_steps_.size();
    program_.position.resize(steps);
    program_.replayed.assign(steps, 0);
    program_.allocated_bytes.assign(steps, 0);
    program_.freed_bytes.assign(steps, 0);
    size_t step = 0, replay = 0;
    for (size_t p = 0; p < positions; ++p, ++step) {
        if (replay < replays_.size() && size_t(replays_[replay].before) == p) {
            for (size_t i = replays_[replay].begin; i < replays_[replay].end; ++i, ++step) {
                program_.position[step] = replay_steps_[i].position;
                program_.replayed[step] = 1;
            }
            ++replay;
        }
        program_.position[step] = Index(p);
        program_.allocated_bytes[step] = it_.allocated_bytes[p];
        program_.freed_bytes[step] = it_.freed_bytes[p];
        step_of_[p] = Index(step);
    }
}

// As planning/lives.py: a buffer lives from its allocation to its last touch.
void Compiler::follow_buffers() {
    changed_.clear();
    changed_buffers_.clear();
    open_.clear();
    touched_.clear();
    for (size_t k = 0; k < it_.storage.size(); ++k) {
        if (!is_dropped(Index(k))) continue;
        change(it_.storage[k]);
        open_.mark(it_.storage[k]);
        open_until_[size_t(it_.storage[k])] = step_of_[size_t(it_.last_forward_use[k])];
    }
    size_t touch_at = 0, allocate_at = 0;
    for (const Replay& replay : replays_) {
        Index step = step_of_[size_t(replay.before)] - Index(replay.end - replay.begin);
        for (size_t i = replay.begin; i < replay.end; ++i, ++step) {
            for (; allocate_at < replay_steps_[i].allocates_end; ++allocate_at) {
                const Index b = allocates_[allocate_at];
                const bool stays = outlast_[allocate_at];
                allocate(b, step, stays ? step_of_[size_t(it_.last_touch[size_t(b)])] : step);
            }
            for (; touch_at < replay_steps_[i].touches_end; ++touch_at) {
                touch(touches_[touch_at], step);
            }
        }
    }
    const Index storages = Index(it_.bytes.size());
    for (const Index b : changed_buffers_) {
        if (open_[b]) free_after(open_until_[size_t(b)], b);
        if (b < storages && it_.last_touch[size_t(b)] >= 0) {
            const Index end = step_of_[size_t(it_.last_touch[size_t(b)])];
            program_.freed_bytes[size_t(end)] -= it_.bytes[size_t(b)];
        }
    }
}

void Compiler::change(Index buffer) {
    if (changed_[buffer]) return;
    changed_.mark(buffer);
    changed_buffers_.push_back(buffer);
}

// A replay begins a new life of the buffer, which lasts to `end` at least.
void Compiler::allocate(Index buffer, Index step, Index end) {
    if (open_[buffer]) {
        free_after(open_until_[size_t(buffer)], buffer);
    } else if (buffer < Index(it_.bytes.size()) && it_.last_touch[size_t(buffer)] >= 0) {
        free_after(step_of_[size_t(it_.last_touch[size_t(buffer)])], buffer);
    }
    change(buffer);
    program_.allocated_bytes[size_t(step)] += size_of(buffer);
    open_.mark(buffer);
    open_until_[size_t(buffer)] = end;
}

// A replay reads or writes the buffer.
void Compiler::touch(Index buffer, Index step) {
    const size_t b = size_t(buffer);
    if (!touched_[buffer]) {
        touched_.mark(buffer);
        first_replay_[b] = step;
    }
    Index end = -1;
    if (open_[buffer]) {
        end = open_until_[b];
    } else if (b < it_.bytes.size() && it_.last_touch[b] >= 0) {
        end = step_of_[size_t(it_.last_touch[b])];
    }
    if (end < step) {
        change(buffer);
        open_.mark(buffer);
        open_until_[b] = step;
    }
}

void Compiler::find_swaps() {
    const auto step = [&](Index position) {
        return position < 0 ? -1 : step_of_[size_t(position)];
    };
    program_.swaps.clear();
    for (size_t k = 0; k < it_.storage.size(); ++k) {
        const bool in_place = decisions_->actions[k] == kCompress;
        if (decisions_->actions[k] != kSwap && !in_place) continue;
        const Index s = it_.storage[k];
        Index needed_by = step(it_.first_backward_use[k]);
        if (touched_[s]) needed_by = std::min(needed_by, first_replay_[size_t(s)]);
        const Index over = step(it_.last_forward_use[k]);
        program_.swaps.push_back({Index(k), s, in_place ? over : step(it_.ready[k]), over,
                                  needed_by, needed_by,
                                  in_place ? decisions_->resident_bytes[k] : 0});
    }
    std::sort(program_.swaps.begin(), program_.swaps.end(), [](const auto& a, const auto& b) {
        return a.needed_by != b.needed_by ? a.needed_by < b.needed_by : a.storage < b.storage;
    });
}

void Compiler::sum_memory() {
    const size_t steps = program_.steps();
    std::vector<int64_t>& memory = program_.memory;
    memory.assign(steps + 1, 0);
    for (const Residence& r : program_.swaps) {
        const int64_t away = it_.bytes[size_t(r.storage)] - r.resident_bytes;
        memory[size_t(r.release_after + 1)] -= away;
        memory[size_t(r.needed_by)] += away;
    }
    int64_t used = it_.batch_bytes;
    for (size_t i = 0; i < steps; ++i) {
        used += memory[i] + program_.allocated_bytes[i];
        memory[i] = used;
        used -= program_.freed_bytes[i];
    }
    // Before a step allocates, what is decompressed for it is there twice. Swaps are in order of
    // need.
    for (size_t begin = 0, end; begin < program_.swaps.size(); begin = end) {
        const size_t step = size_t(program_.swaps[begin].needed_by);
        int64_t arriving = 0;
        for (end = begin; end < program_.swaps.size() &&
                          size_t(program_.swaps[end].needed_by) == step; ++end) {
            arriving += program_.swaps[end].resident_bytes;
        }
        memory[step] += std::max<int64_t>(arriving - program_.allocated_bytes[step], 0);
    }
    memory.pop_back();
}

}  // namespace planezip
