// As simulation/simulator.py and simulation/engine.py: one compute stream, two copy queues.
#pragma once

#include <deque>
#include <limits>

#include "trial_program.h"

namespace planezip {

class Device {
public:
    Device(const Iteration& iteration, const Program& program, const Decisions& decisions);
    Outcome run();

private:
    struct Transfer {
        const Residence* swap;
        int64_t bytes, resident_bytes;
        double out_s, in_s;
        bool copied = false, released = false, back = false;
    };
    struct Copy {
        double end_s;
        Index transfer;
    };
    // The transfers in order of one of their steps, and how far the run has come.
    struct Agenda {
        Index Residence::*field;
        std::vector<Index> order;
        size_t next = 0;
    };
    static constexpr double kNever = std::numeric_limits<double>::infinity();

    bool fits(int64_t bytes) const { return used_ + bytes <= decisions_.budget_bytes; }
    Index step_of(const Agenda& agenda) const;
    bool due(Agenda& agenda, Index step, Index& transfer);
    Index next_loud() const;
    double next_s() const;
    bool may_start_in() const { return !in_busy_ && waiting_in_ < queued_in_.size(); }
    void take(int64_t bytes);
    void start_in(double time_s);
    double complete_next();
    void leave(Index step);
    void catch_up();
    bool allocate(int64_t bytes);
    bool wait_for(Index transfer);
    bool step(Index index);
    Index run_quiet_steps(Index index);

    const Iteration& it_;
    const Program& program_;
    const Decisions& decisions_;
    std::vector<Transfer> transfers_;
    Agenda out_, release_, prefetch_, need_;
    double now_s_ = 0, recompute_s_ = 0, stall_s_ = 0, out_free_s_ = 0;
    int64_t used_ = 0, peak_ = 0, excess_ = 0;
    std::vector<Copy> copies_out_;  // in order of their ends; those before done_out_ are over
    size_t done_out_ = 0;
    std::vector<Index> queued_in_;  // those before waiting_in_ have started
    size_t waiting_in_ = 0;
    bool in_busy_ = false;
    Copy copy_in_ = {};
};

}  // namespace planezip
