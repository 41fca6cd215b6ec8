#include <atomic>
#include <mutex>
#include <optional>

#include "bits.h"
#include "input.h"
#include "level.h"
#include "parallel.h"

namespace planezip {
namespace {

// One chunk on its way: planned first, so that its size is known, then written to its place.
class Encoder {
public:
    Encoder(const Input& input, size_t index, Codec codec, const ChunkFunctions& functions)
        : codec_(codec),
          functions_(functions),
          src_(input.chunk(index, padded_)),
          blocks_(chunk_blocks(input.bytes, index)),
          raw_(size_t{blocks_} * kBlockBytes),
          payload_(std::min(raw_, functions.plan(codec, src_, blocks_, plan_))) {}

    size_t size() const { return kHeaderBytes + payload_; }

    // Writes the chunk, header included, and nothing else.
    void write(uint8_t* to) const {
        store(to, static_cast<uint16_t>(payload_));
        if (payload_ == raw_) {
            std::memcpy(to + kHeaderBytes, src_, raw_);
        } else {
            functions_.write(codec_, src_, blocks_, plan_, to + kHeaderBytes, payload_);
        }
    }

private:
    const Codec codec_;
    const ChunkFunctions& functions_;
    ChunkBuffer padded_;
    ChunkPlan plan_;
    const uint8_t* const src_;
    const unsigned blocks_;
    const size_t raw_, payload_;
};

// Some chunks in a row, encoded together: threads that take turns at single chunks would meet too
// often, over the places and in the cache lines where one's chunk ends and the other's begins.
template <size_t kChunks>
class Hand {
public:
    Hand(const Input& input, size_t hand, Codec codec, const ChunkFunctions& functions) {
        const size_t first = hand * kChunks, left = chunk_count(input.bytes) - first;
        for (size_t i = 0; i < std::min(kChunks, left); ++i) {
            size_ += chunks_[i].emplace(input, first + i, codec, functions).size();
        }
    }

    size_t size() const { return size_; }

    void write(uint8_t* to) const {
        for (const std::optional<Encoder>& chunk : chunks_) {
            if (!chunk) return;
            chunk->write(to);
            to += chunk->size();
        }
    }

private:
    std::optional<Encoder> chunks_[kChunks];
    size_t size_ = 0;
};

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

// Encodes hands until none are left. If one does not take its place, its thread may have been put
// aside: then it is encoded here, for the sake of those behind it.
template <class Encode>
void encode_hands(const Encode& encode, Places& places) {
    size_t hand;
    for (bool more = places.deal(hand); more;) {
        const size_t mine = hand;
        const auto encoder = encode(mine);
        for (;;) {
            uint8_t* place;
            more = places.give_and_deal(hand, encoder.size(), place);
            if (place) encoder.write(place);
            if (!more || hand != mine) break;
            if (places.wait(mine)) continue;
            const size_t due = places.due();
            const auto late = encode(due);
            if ((place = places.give(due, late.size()))) late.write(place);
        }
    }
}

template <size_t kChunks>
size_t encode_in_hands(const Input& input, Codec codec, const ChunkFunctions& functions,
                       unsigned threads, uint8_t* dst) {
    const auto encode = [&](size_t i) { return Hand<kChunks>(input, i, codec, functions); };
    const size_t hands = (chunk_count(input.bytes) + kChunks - 1) / kChunks;
    Places places(dst, hands);
    for_each_worker(worker_count(hands, threads), [&](unsigned) { encode_hands(encode, places); });
    return static_cast<size_t>(places.end() - dst);
}

}  // namespace

size_t encode_bound(size_t bytes) {
    const size_t blocks = bytes / kBlockBytes + (bytes % kBlockBytes != 0);
    return chunk_count(bytes) * kHeaderBytes + blocks * kBlockBytes;
}

size_t encode(const uint8_t* src, size_t bytes, Coding coding, unsigned threads, uint8_t* dst) {
    const auto encode = threads == 1 ? encode_in_hands<1> : encode_in_hands<8>;
    return encode({src, bytes}, coding.codec, level().width(coding.symbol_bits), threads, dst);
}

}  // namespace planezip
