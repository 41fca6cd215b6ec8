#include <atomic>
#include <thread>

#include "bits.h"
#include "input.h"
#include "level.h"
#include "parallel.h"

namespace planezip {
namespace {

// Gives out places for chunks in their order, to threads that encode them at the same time.
class Places {
public:
    // Waits for the places of all chunks before this one; returns where it begins.
    size_t take(size_t chunk, size_t size) {
        for (unsigned tries = 0; next_.load(std::memory_order_acquire) != chunk; ++tries) {
            if (tries >= kSpins) std::this_thread::yield();
        }
        const size_t begin = end_;
        end_ += size;
        next_.store(chunk + 1, std::memory_order_release);
        return begin;
    }

    size_t end() const { return end_; }

private:
    static constexpr unsigned kSpins = 1000;
    std::atomic<size_t> next_{0};  // the chunk that may take its place
    size_t end_ = 0;               // belongs to its thread
};

struct Encoding {
    Input input;
    Codec codec;
    const ChunkFunctions& functions;
    uint8_t* dst;
    const uint8_t* dst_end;
    bool alone;  // no other thread writes behind a chunk

    // Encodes a chunk, header included, to the place that place(size) returns.
    template <class Place>
    void chunk(size_t index, Place place) const {
        ChunkBuffer padded;
        const uint8_t* src = input.chunk(index, padded);
        const unsigned blocks = chunk_blocks(input.bytes, index);
        const size_t raw = size_t{blocks} * kBlockBytes;
        ChunkPlan plan;
        const size_t size = std::min(raw, functions.plan(codec, src, blocks, plan));
        uint8_t* const to = dst + place(kHeaderBytes + size);
        store(to, static_cast<uint16_t>(size));
        uint8_t* const payload = to + kHeaderBytes;
        if (size == raw) {
            std::memcpy(payload, src, raw);
        } else if (alone && static_cast<size_t>(dst_end - payload) >= size + kWriteSlack) {
            functions.write(codec, src, blocks, plan, payload);
        } else {
            uint8_t scratch[kChunkBytes + kWriteSlack];
            functions.write(codec, src, blocks, plan, scratch);
            std::memcpy(payload, scratch, size);
        }
    }
};

}  // namespace

size_t encode_bound(size_t bytes) {
    const size_t blocks = bytes / kBlockBytes + (bytes % kBlockBytes != 0);
    return chunk_count(bytes) * kHeaderBytes + blocks * kBlockBytes;
}

size_t encode(const uint8_t* src, size_t bytes, Coding coding, unsigned threads, uint8_t* dst) {
    const size_t chunks = chunk_count(bytes);
    const unsigned workers = worker_count(chunks, threads);
    const Encoding encoding{{src, bytes},
                            coding.codec,
                            level().width(coding.symbol_bits),
                            dst,
                            dst + encode_bound(bytes),
                            workers == 1};
    Places places;
    std::atomic<size_t> next{0};
    for_each_worker(workers, [&](unsigned) {
        for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
            encoding.chunk(i, [&](size_t size) { return places.take(i, size); });
        }
    });
    return places.end();
}

}  // namespace planezip
