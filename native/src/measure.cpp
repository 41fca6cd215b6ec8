#include <atomic>
#include <mutex>

#include "input.h"
#include "level.h"
#include "parallel.h"

namespace planezip {
namespace {

constexpr size_t kHand = 16;  // chunks that a thread takes at once

void add_chunk(const Input& input, size_t chunk, const ChunkFunctions& functions, unsigned codecs,
               Sizes& sizes) {
    ChunkBuffer padded;
    ChunkSizes found = {};
    const unsigned blocks = chunk_blocks(input.bytes, chunk);
    functions.size(input.chunk(chunk, padded), blocks, codecs, found);
    sizes.raw_bytes += chunk_contents(input.bytes, chunk);
    const size_t raw = size_t{blocks} * kBlockBytes;
    for (unsigned codec = 0; codec < kCodecs; ++codec) {
        if (codecs >> codec & 1) {
            const size_t encoded = (found.bits[codec] + 7) / 8;
            sizes.wire_bytes[codec] += kHeaderBytes + std::min(raw, encoded);
        }
    }
    const bool stored_raw = (found.bits[unsigned(Codec::planezip)] + 7) / 8 >= raw;
    for (unsigned tag = 0; tag < kEncoders; ++tag) {
        sizes.encoder_blocks[stored_raw ? unsigned{kRaw} : tag] += found.tag_blocks[tag];
    }
}

void add(Sizes& total, const Sizes& part) {
    total.raw_bytes += part.raw_bytes;
    for (unsigned i = 0; i < kCodecs; ++i) total.wire_bytes[i] += part.wire_bytes[i];
    for (unsigned i = 0; i < kEncoders; ++i) total.encoder_blocks[i] += part.encoder_blocks[i];
}

}  // namespace

Sizes measure(const uint8_t* src, size_t bytes, unsigned symbol_bits, unsigned codecs,
              size_t chunk_stride, unsigned threads) {
    const Input input{src, bytes};
    const ChunkFunctions& functions = level().width(symbol_bits);
    const size_t chunks = chunk_count(bytes);
    const size_t measured = chunks / chunk_stride + (chunks % chunk_stride != 0);
    const unsigned workers = worker_count(measured, threads);
    std::mutex lock;
    std::atomic<size_t> next{0};
    Sizes total = {};
    for_each_worker(workers, [&](unsigned) {
        Sizes part = {};
        size_t first;
        while ((first = next.fetch_add(kHand, std::memory_order_relaxed)) < measured) {
            for (size_t i = first; i < std::min(first + kHand, measured); ++i) {
                add_chunk(input, i * chunk_stride, functions, codecs, part);
            }
        }
        const std::lock_guard<std::mutex> guard(lock);
        add(total, part);
    });
    return total;
}

}  // namespace planezip
