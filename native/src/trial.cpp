#include "trial.h"

#include <stdexcept>

#include "trial_device.h"

namespace planezip {
namespace {

void require(bool holds) {
    if (!holds) throw std::invalid_argument("the arrays do not describe one iteration");
}

void require_indices(const std::vector<Index>& indices, Index lowest, size_t end, size_t count) {
    require(indices.size() == count);
    for (const Index i : indices) require(i >= lowest && (i < 0 || size_t(i) < end));
}

// Where the entries of each position begin: ascending, from the first to the end of the last.
void require_ranges(const std::vector<Index>& begins, size_t positions, size_t entries) {
    require(begins.size() == positions + 1 && begins.front() == 0);
    require(size_t(begins.back()) == entries && std::is_sorted(begins.begin(), begins.end()));
}

// The earliest step from which on memory stays within the limit until `stop`, `start` at least.
Index after_last_above(const std::vector<int64_t>& memory, Index start, Index stop, int64_t limit) {
    while (stop > start && memory[size_t(stop) - 1] <= limit) --stop;
    return stop;
}

// As planning/prefetch.py.
constexpr int64_t kReserve = 100;

void place_prefetches(const Iteration& it, Program& program, const Decisions& decisions) {
    std::vector<int64_t>& memory = program.memory;
    int64_t compressed = 0;
    for (const Residence& r : program.swaps) compressed += r.resident_bytes;
    const int64_t room = decisions.budget_bytes - compressed / kReserve;
    for (Residence& r : program.swaps) {
        const int64_t bytes = it.bytes[size_t(r.storage)];
        const Index earliest = after_last_above(memory, r.release_after + 1, r.needed_by,
                                                room - bytes);
        const int64_t delayed = int64_t{earliest} + decisions.delays[r.candidate];
        r.prefetch_before = Index(std::min<int64_t>(delayed, r.needed_by));
        for (Index i = r.prefetch_before; i < r.needed_by; ++i) memory[size_t(i)] += bytes;
    }
}

}  // namespace

void check(const Iteration& it) {
    const size_t positions = it.seconds.size(), storages = it.bytes.size();
    const size_t reads = it.read_storage.size(), candidates = it.storage.size();
    require(it.allocated_bytes.size() == positions && it.freed_bytes.size() == positions);
    require_ranges(it.reads_begin, positions, reads);
    require_ranges(it.writes_begin, positions, it.write_storage.size());
    require_ranges(it.joiners_begin, positions, it.joiner.size());
    require_indices(it.joiner, 0, candidates, it.joiner.size());
    require(it.read_final.size() == reads);
    require_indices(it.read_storage, 0, storages, reads);
    require_indices(it.read_producer, -1, positions, reads);
    require_indices(it.write_storage, 0, storages, it.write_storage.size());
    require_indices(it.last_touch, -1, positions, storages);
    require_indices(it.candidate_of, -1, candidates, storages);
    require_indices(it.storage, 0, storages, candidates);
    for (const auto* of : {&it.ready, &it.last_forward_use, &it.final_writer}) {
        require_indices(*of, -1, positions, candidates);
    }
    for (const auto* of : {&it.first_backward_use, &it.last_backward_use}) {
        require_indices(*of, 0, positions, candidates);
    }
}

struct Trial::State {
    Iteration iteration;
    Compiler compiler;

    explicit State(Iteration it) : iteration(std::move(it)), compiler(iteration) {}
};

Trial::Trial(Iteration iteration) {
    check(iteration);
    state_ = std::make_unique<State>(std::move(iteration));
}

Trial::~Trial() = default;

size_t Trial::candidates() const { return state_->iteration.storage.size(); }

Outcome Trial::run(const Decisions& decisions) {
    const Iteration& it = state_->iteration;
    for (size_t k = 0; k < it.storage.size(); ++k) {
        const bool made = it.final_writer[k] >= 0 && it.last_forward_use[k] >= 0;
        require(decisions.early[k] >= 0 && decisions.delays[k] >= 0);
        require(made || decisions.actions[k] != kDrop);
        const int64_t held = decisions.resident_bytes[k], bytes = it.bytes[size_t(it.storage[k])];
        require(decisions.actions[k] != kCompress || (held > 0 && held < bytes));
    }
    Program& program = state_->compiler.compile(decisions);
    const std::vector<int64_t>& memory = program.memory;
    // What no copy can give back in time overflows, whenever copies are done.
    const int64_t least = memory.empty() ? 0 : *std::max_element(memory.begin(), memory.end());
    if (least > decisions.budget_bytes) {
        return {0, 0, 0, least, least - decisions.budget_bytes};
    }
    place_prefetches(it, program, decisions);
    return Device(it, program, decisions).run();
}

}  // namespace planezip
