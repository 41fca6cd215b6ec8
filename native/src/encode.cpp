#include <atomic>
#include <mutex>

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

// Gives places one behind the other to chunks that threads encode at the same time.
class Places {
public:
    explicit Places(uint8_t* dst) : end_(dst) {}

    // The first chunk that has no place yet.
    size_t due() const { return due_.load(std::memory_order_relaxed); }

    // The place of a chunk that is due; null if it is not.
    uint8_t* take(size_t chunk, size_t size) {
        const std::lock_guard<std::mutex> guard(lock_);
        if (chunk != due()) return nullptr;
        uint8_t* const place = end_;
        end_ += size;
        due_.store(chunk + 1, std::memory_order_relaxed);
        return place;
    }

    // Waits, for about the time that a chunk takes, until this one is due or past.
    void wait(size_t chunk) const {
        for (unsigned i = 0; i < kSpins && due() < chunk; ++i) {
        }
    }

    const uint8_t* end() const { return end_; }

private:
    static constexpr unsigned kSpins = 4000;
    std::mutex lock_;
    std::atomic<size_t> due_{0};
    uint8_t* end_;
};

// Sees to it that a chunk is encoded at its place, on this thread or another. If one in front of it
// does not take its place, its thread may have been put aside: it is encoded here then.
template <class Encode>
void encode_in_turn(size_t chunk, const Encode& encode, Places& places) {
    const auto encoder = encode(chunk);
    while (places.due() <= chunk) {
        places.wait(chunk);
        const size_t due = places.due();
        if (due < chunk) {
            const auto late = encode(due);
            if (uint8_t* place = places.take(due, late.size())) late.write(place);
        } else if (uint8_t* place = places.take(chunk, encoder.size())) {
            encoder.write(place);
        }
    }
}

}  // namespace

size_t encode_bound(size_t bytes) {
    const size_t blocks = bytes / kBlockBytes + (bytes % kBlockBytes != 0);
    return chunk_count(bytes) * kHeaderBytes + blocks * kBlockBytes;
}

size_t encode(const uint8_t* src, size_t bytes, Coding coding, unsigned threads, uint8_t* dst) {
    const Input input{src, bytes};
    const ChunkFunctions& functions = level().width(coding.symbol_bits);
    const auto encode = [&](size_t i) { return Encoder(input, i, coding.codec, functions); };
    const size_t chunks = chunk_count(bytes);
    Places places(dst);
    std::atomic<size_t> next{0};
    for_each_worker(worker_count(chunks, threads), [&](unsigned) {
        for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
            encode_in_turn(i, encode, places);
        }
    });
    return static_cast<size_t>(places.end() - dst);
}

}  // namespace planezip
