// A plan's steps from its decisions: replays inserted, buffers allocated and freed.
#pragma once

#include <algorithm>

#include "trial.h"

namespace planezip {

// A swapped candidate, or with resident bytes one that is compressed in place; indices of steps as
// in records.Swap.
struct Residence {
    Index candidate, storage;
    Index out_after, release_after, prefetch_before, needed_by;
    int64_t resident_bytes;
};

// The steps of a plan, in arrays by step.
struct Program {
    std::vector<Index> position;
    std::vector<uint8_t> replayed;
    std::vector<int64_t> allocated_bytes, freed_bytes;
    std::vector<int64_t> memory;  // as planning/program.py's
    std::vector<Residence> swaps;  // in order of first need

    size_t steps() const { return position.size(); }
};

// Flags that are all cleared at once.
class Marks {
public:
    explicit Marks(size_t count) : marked_(count, 0) {}
    void clear() { ++now_; }
    void mark(Index i) { marked_[size_t(i)] = now_; }
    bool operator[](Index i) const { return marked_[size_t(i)] == now_; }

private:
    std::vector<uint64_t> marked_;
    uint64_t now_ = 1;
};

class Compiler {
public:
    explicit Compiler(const Iteration& iteration);
    // The program of these decisions, valid until the next call.
    Program& compile(const Decisions& decisions);

private:
    struct Replay {
        Index before;       // position
        size_t begin, end;  // of its steps
    };
    struct ReplayStep {
        Index position;
        size_t touches_end, allocates_end;  // they begin where those of the step before end
    };
    // Every buffer beyond a storage's own belongs to one storage.
    Index scratch(Index storage) const { return Index(it_.bytes.size()) + storage; }
    Index owner(Index buffer) const {
        const Index storages = Index(it_.bytes.size());
        return buffer < storages ? buffer : buffer - storages;
    }
    int64_t size_of(Index buffer) const { return it_.bytes[size_t(owner(buffer))]; }
    bool is_dropped(Index candidate) const { return decisions_->actions[candidate] == kDrop; }
    bool is_away(Index candidate) const;
    bool is_resident(size_t read) const;
    bool joins(Index candidate) const;
    Index buffer_for(Index storage) const;
    void find_replays();
    void add_replay();
    void add_step(Index position);
    void place_steps();
    void follow_buffers();
    void allocate(Index buffer, Index step, Index end);
    void touch(Index buffer, Index step);
    void change(Index buffer);
    void free_after(Index step, Index buffer) {
        program_.freed_bytes[size_t(step)] += size_of(buffer);
    }
    void find_swaps();
    void sum_memory();

    const Iteration& it_;
    const Decisions* decisions_ = nullptr;
    Program program_;
    std::vector<Index> by_first_use_;  // candidates
    // Replays.
    Index position_ = 0;  // of the replay under construction
    std::vector<Index> targets_, pending_, positions_;
    Marks needed_, holds_, resident_, stay_;  // by position, storage, candidate, storage
    std::vector<Index> holder_;               // storage -> buffer, where holds_
    std::vector<Replay> replays_;
    std::vector<ReplayStep> replay_steps_;
    std::vector<Index> touches_, allocates_;
    std::vector<uint8_t> outlast_;  // by allocation: whether it lasts beyond the replay
    // Buffers.
    std::vector<Index> step_of_;  // by position
    Marks changed_, open_, touched_;
    std::vector<Index> open_until_, first_replay_;  // by buffer
    std::vector<Index> changed_buffers_;
};

}  // namespace planezip
