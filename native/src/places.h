// Who encodes which hand of chunks, and where in the output it is put.
#pragma once

#include <atomic>
#include <mutex>

#include "parallel.h"

namespace planezip {

// Deals hands out to threads that encode them at the same time, and gives them places one behind
// the other. A hand is due when all before it have their places.
class Places {
public:
    Places(uint8_t* dst, size_t hands) : end_(dst), hands_(hands) {}

    // Deals out a hand; false if none are left.
    bool deal(size_t& hand) {
        const std::lock_guard<SpinLock> guard(lock_);
        return deal_next(hand);
    }

    // Gives a hand its place if it is due; else it is null. Unless the hand is still to be due, also
    // deals: both in one go, so that the threads' caches meet but once a hand.
    bool take_and_deal(size_t& hand, size_t size, uint8_t*& place) {
        const std::lock_guard<SpinLock> guard(lock_);
        place = nullptr;
        if (due() < hand) return true;
        if (due() == hand && !claimed_) {
            place = end_;
            put(end_ + size);
        }
        return deal_next(hand);
    }

    // The hand that is due, and its place, if nobody else has claimed it; else null. Nothing else
    // gets a place before settle().
    uint8_t* claim(size_t& hand) {
        const std::lock_guard<SpinLock> guard(lock_);
        hand = due();
        if (claimed_ || hand == hands_) return nullptr;
        claimed_ = true;
        return end_;
    }

    // The hand that was claimed ends there.
    void settle(uint8_t* end) {
        const std::lock_guard<SpinLock> guard(lock_);
        claimed_ = false;
        put(end);
    }

    // Waits until this hand is due or past, for about the time that a hand takes; false if it is not.
    bool wait(size_t hand) const {
        for (unsigned spins = 0; spins < kSpins; ++spins) {
            if (due() >= hand) return true;
        }
        std::this_thread::yield();
        return false;
    }

    uint8_t* end() const { return end_; }

private:
    static constexpr unsigned kSpins = 16000;

    size_t due() const { return due_.load(std::memory_order_relaxed); }

    bool deal_next(size_t& hand) {
        hand = next_;
        next_ += next_ < hands_;
        return hand < hands_;
    }

    void put(uint8_t* end) {
        end_ = end;
        due_.store(due() + 1, std::memory_order_relaxed);
    }

    SpinLock lock_;
    std::atomic<size_t> due_{0};
    bool claimed_ = false;
    size_t next_ = 0;
    uint8_t* end_;
    const size_t hands_;
};

}  // namespace planezip
