#include "trial_device.h"

namespace planezip {

Device::Device(const Iteration& iteration, const Program& program, const Decisions& decisions)
    : it_(iteration), program_(program), decisions_(decisions) {
    for (const Residence& r : program.swaps) {
        const size_t k = size_t(r.candidate);
        const int64_t bytes = it_.bytes[size_t(r.storage)];
        const bool in_place = decisions.actions[k] == kCompress;
        const double out_s = in_place ? decisions.encode_s[k] : decisions.out_s[k];
        const double in_s = in_place ? decisions.decode_s[k] : decisions.in_s[k];
        transfers_.push_back({&r, bytes, r.resident_bytes, out_s, in_s});
    }
    Index Residence::*const fields[] = {&Residence::out_after, &Residence::release_after,
                                        &Residence::prefetch_before, &Residence::needed_by};
    Agenda* const agendas[] = {&out_, &release_, &prefetch_, &need_};
    for (int i = 0; i < 4; ++i) {
        Agenda& agenda = *agendas[i];
        agenda.field = fields[i];
        for (size_t t = 0; t < transfers_.size(); ++t) agenda.order.push_back(Index(t));
        std::stable_sort(agenda.order.begin(), agenda.order.end(), [&](Index a, Index b) {
            const auto step = agenda.field;
            return program.swaps[size_t(a)].*step < program.swaps[size_t(b)].*step;
        });
    }
    copies_out_.reserve(transfers_.size());
    queued_in_.reserve(transfers_.size());
}

Outcome Device::run() {
    const Index steps = Index(program_.steps());
    bool fine = allocate(it_.batch_bytes);
    if (fine) leave(-1);
    for (Index index = 0; fine && index < steps;) {
        index = run_quiet_steps(index);
        if (index < steps) fine = step(index++);
    }
    return {now_s_, recompute_s_, stall_s_, peak_, fine ? 0 : excess_};
}

Index Device::step_of(const Agenda& agenda) const {
    if (agenda.next == agenda.order.size()) return std::numeric_limits<Index>::max();
    return program_.swaps[size_t(agenda.order[agenda.next])].*(agenda.field);
}

// Whether a transfer is on the agenda for the step; it is then crossed off.
bool Device::due(Agenda& agenda, Index step, Index& transfer) {
    if (step_of(agenda) != step) return false;
    transfer = agenda.order[agenda.next++];
    return true;
}

Index Device::next_loud() const {
    return std::min(std::min(step_of(out_), step_of(release_)),
                    std::min(step_of(prefetch_), step_of(need_)));
}

double Device::next_s() const {
    const double out = done_out_ < copies_out_.size() ? copies_out_[done_out_].end_s : kNever;
    return in_busy_ ? std::min(out, copy_in_.end_s) : out;
}

void Device::take(int64_t bytes) {
    used_ += bytes;
    peak_ = std::max(peak_, used_);
}

void Device::start_in(double time_s) {
    if (!may_start_in()) return;
    const Index t = queued_in_[waiting_in_];
    const Transfer& transfer = transfers_[size_t(t)];
    if (!transfer.copied || !transfer.released || !fits(transfer.bytes)) return;
    ++waiting_in_;
    in_busy_ = true;
    take(transfer.bytes);
    copy_in_ = {time_s + transfer.in_s, t};
}

// The time at which the next copy is complete; at one time, those to the host come first.
double Device::complete_next() {
    const double time_s = next_s();
    if (done_out_ < copies_out_.size() && copies_out_[done_out_].end_s == time_s) {
        Transfer& transfer = transfers_[size_t(copies_out_[done_out_++].transfer)];
        transfer.copied = true;
        if (transfer.released) take(transfer.resident_bytes - transfer.bytes);
    } else {
        Transfer& transfer = transfers_[size_t(copy_in_.transfer)];
        transfer.back = true;
        in_busy_ = false;
        take(-transfer.resident_bytes);
    }
    return time_s;
}

void Device::leave(Index step) {
    Index t;
    while (due(out_, step, t)) {
        out_free_s_ = std::max(now_s_, out_free_s_) + transfers_[size_t(t)].out_s;
        copies_out_.push_back({out_free_s_, t});
    }
    while (due(release_, step, t)) {
        Transfer& transfer = transfers_[size_t(t)];
        transfer.released = true;
        if (transfer.copied) take(transfer.resident_bytes - transfer.bytes);
    }
}

void Device::catch_up() {
    while (next_s() <= now_s_) start_in(complete_next());
    start_in(now_s_);
}

// Takes memory, waiting for copies; a waiting operator has the first claim. False if none helps.
bool Device::allocate(int64_t bytes) {
    const double began_s = now_s_;
    while (!fits(bytes)) {
        if (next_s() == kNever) {
            excess_ = used_ + bytes - decisions_.budget_bytes;
            return false;
        }
        now_s_ = complete_next();
    }
    if (now_s_ > began_s) stall_s_ += now_s_ - began_s;
    take(bytes);
    start_in(now_s_);
    return true;
}

bool Device::wait_for(Index t) {
    const double began_s = now_s_;
    while (!transfers_[size_t(t)].back) {
        start_in(now_s_);
        if (next_s() == kNever) {
            excess_ = used_ + transfers_[size_t(t)].bytes - decisions_.budget_bytes;
            return false;
        }
        now_s_ = complete_next();
    }
    if (now_s_ > began_s) stall_s_ += now_s_ - began_s;
    start_in(now_s_);
    return true;
}

bool Device::step(Index index) {
    const size_t i = size_t(index);
    Index t;
    while (due(prefetch_, index, t)) queued_in_.push_back(t);
    catch_up();
    while (due(need_, index, t)) {
        if (!wait_for(t)) return false;
    }
    if (program_.allocated_bytes[i] && !allocate(program_.allocated_bytes[i])) return false;
    const double seconds = it_.seconds[size_t(program_.position[i])];
    const double end_s = now_s_ + seconds;
    if (program_.replayed[i]) recompute_s_ += seconds;
    while (next_s() <= end_s) start_in(complete_next());
    now_s_ = end_s;
    take(-program_.freed_bytes[i]);
    leave(index);
    return true;
}

// The steps from `index` on during which no copy begins or ends; the first other one.
Index Device::run_quiet_steps(Index index) {
    if (may_start_in()) return index;
    const Index end = std::min(next_loud(), Index(program_.steps()));
    const double limit_s = next_s();
    for (; index < end; ++index) {
        const size_t i = size_t(index);
        const double seconds = it_.seconds[size_t(program_.position[i])];
        if (now_s_ + seconds >= limit_s || !fits(program_.allocated_bytes[i])) break;
        take(program_.allocated_bytes[i]);
        now_s_ += seconds;
        if (program_.replayed[i]) recompute_s_ += seconds;
        used_ -= program_.freed_bytes[i];
    }
    return index;
}

}  // namespace planezip
