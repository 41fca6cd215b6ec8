#include <vector>

#include "bits.h"
#include "input.h"
#include "level.h"
#include "parallel.h"

namespace planezip {
namespace {

constexpr size_t kChunkBound = kHeaderBytes + kChunkBytes;
// What an encoded payload may write beyond the room of a raw chunk before it is given up.
constexpr size_t kSlack = kPayloadBound - kChunkBytes;

// Writes one chunk with its header; returns the bytes written.
size_t write_chunk(const Input& input, size_t index, Codec codec, const ChunkFunctions& functions,
                   uint8_t* dst) {
    ChunkBuffer padded;
    const uint8_t* src = input.chunk(index, padded);
    const unsigned blocks = chunk_blocks(input.bytes, index);
    const size_t raw = size_t{blocks} * kBlockBytes;
    size_t size = functions.encode(codec, src, blocks, dst + kHeaderBytes);
    if (size >= raw) {
        size = raw;
        std::memcpy(dst + kHeaderBytes, src, raw);
    }
    store(dst, static_cast<uint16_t>(size));
    return kHeaderBytes + size;
}

}  // namespace

size_t encode_bound(size_t bytes, unsigned threads) {
    const size_t chunks = chunk_count(bytes);
    return chunks * kChunkBound + worker_count(chunks, threads) * kSlack;
}

size_t encode(const uint8_t* src, size_t bytes, Coding coding, unsigned threads, uint8_t* dst) {
    const Input input{src, bytes};
    const ChunkFunctions& functions = level().width(coding.symbol_bits);
    const size_t chunks = chunk_count(bytes);
    const unsigned workers = worker_count(chunks, threads);
    const auto region = [&](unsigned worker) {
        return dst + share(chunks, workers, worker).begin * kChunkBound + worker * kSlack;
    };
    std::vector<size_t> written(workers);
    for_each_worker(workers, [&](unsigned worker) {
        const Range range = share(chunks, workers, worker);
        uint8_t* next = region(worker);
        for (size_t i = range.begin; i < range.end; ++i) {
            next += write_chunk(input, i, coding.codec, functions, next);
        }
        written[worker] = static_cast<size_t>(next - region(worker));
    });
    size_t total = written[0];
    for (unsigned worker = 1; worker < workers; ++worker) {
        std::memmove(dst + total, region(worker), written[worker]);
        total += written[worker];
    }
    return total;
}

}  // namespace planezip
