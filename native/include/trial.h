// How long an iteration takes under a plan's decisions, for a search that tries thousands of them.
//
// Does what planning/program.py, planning/prefetch.py and simulation/ do one after the other, for
// the same decisions with the same result to the last bit; they are where it is explained. Knows
// neither Python nor torch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace planezip {

using Index = int32_t;  // of a position, a storage, a candidate or a step; -1: none

// What no plan changes. Positions count the operators that are not views.
struct Iteration {
    // By position.
    std::vector<double> seconds;
    std::vector<int64_t> allocated_bytes, freed_bytes;  // if nothing is evicted
    std::vector<Index> reads_begin, writes_begin;       // one more entry: the end of the last
    Index backward_start;
    int64_t batch_bytes;  // resident from the beginning
    // By read: the storage, the position that wrote the version read, and whether that version is
    // the one that the forward pass leaves.
    std::vector<Index> read_storage, read_producer;
    std::vector<uint8_t> read_final;
    std::vector<Index> write_storage;  // by write
    // By position: the candidates whose last writer reads something there that was not saved.
    std::vector<Index> joiners_begin, joiner;
    // By storage.
    std::vector<int64_t> bytes;
    std::vector<Index> last_touch, candidate_of;
    // By candidate.
    std::vector<Index> storage, ready, last_forward_use, first_backward_use, last_backward_use,
        final_writer;
};

// Throws std::invalid_argument unless sizes agree and every index is within what it points into.
void check(const Iteration& iteration);

enum Action : uint8_t { kKeep, kSwap, kDrop, kCompress };

// By candidate: the action; whether what another one's replay recomputes stays; at how many
// positions before its first use another one's replay may recompute it along; by how many steps
// its prefetch is later than the earliest for which there is memory; seconds of both copies, of
// compressing in place and back, and the bytes that are resident meanwhile. Nothing is dropped that
// cannot be replayed, nor compressed unless it shrinks.
struct Decisions {
    const uint8_t* actions;
    const uint8_t* stays;
    const Index* early;
    const Index* delays;
    const double* out_s;
    const double* in_s;
    const double* encode_s;
    const double* decode_s;
    const int64_t* resident_bytes;
    int64_t budget_bytes;
};

struct Outcome {
    double duration_s, recompute_s, stall_s;
    int64_t peak_bytes;
    int64_t excess_bytes;  // by how much memory falls short, 0 if the plan fits
};

// Tries decisions for one iteration. Not for several threads at once.
class Trial {
public:
    explicit Trial(Iteration iteration);
    ~Trial();
    size_t candidates() const;
    Outcome run(const Decisions& decisions);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace planezip
