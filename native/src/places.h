// Who encodes which hand of chunks, and where in the output it is put.
#pragma once

#include <atomic>
#include <mutex>

#include "parallel.h"

namespace planezip {

// Deals hands out to threads that encode them at the same time, and gives them places one behind
// the other.
class Places {
public:
    Places(uint8_t* dst, size_t hands) : end_(dst), hands_(hands) {}

    // Deals out a hand; false if none are left.
    bool deal(size_t& hand) {
        const std::lock_guard<SpinLock> guard(lock_);
        return deal_next(hand);
    }

    // Gives a hand its place if it is due; else it is null.
    uint8_t* give(size_t hand, size_t size) {
        const std::lock_guard<SpinLock> guard(lock_);
        return give_if_due(hand, size);
    }

    // give(), and if the hand has its place now, of this thread or another, deal(): both in one
    // go, so that the threads' caches meet but once a hand.
    bool give_and_deal(size_t& hand, size_t size, uint8_t*& place) {
        const std::lock_guard<SpinLock> guard(lock_);
        place = give_if_due(hand, size);
        return due() <= hand || deal_next(hand);
    }

    // The first hand that has no place yet.
    size_t due() const { return due_.load(std::memory_order_relaxed); }

    // Waits until this hand is due or past, for about the time that a hand takes.
    bool wait(size_t hand) const {
        unsigned spins = 0;
        while (due() < hand && ++spins < kSpins) {
        }
        return spins < kSpins;
    }

    const uint8_t* end() const { return end_; }

private:
    static constexpr unsigned kSpins = 16000;

    bool deal_next(size_t& hand) {
        hand = next_;
        next_ += next_ < hands_;
        return hand < hands_;
    }

    uint8_t* give_if_due(size_t hand, size_t size) {
        if (hand != due()) return nullptr;
        uint8_t* const place = end_;
        end_ += size;
        due_.store(hand + 1, std::memory_order_relaxed);
        return place;
    }

    SpinLock lock_;
    std::atomic<size_t> due_{0};
    size_t next_ = 0;
    uint8_t* end_;
    const size_t hands_;
};

}  // namespace planezip
