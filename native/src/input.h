// How contents divide into chunks.
#pragma once

#include <algorithm>
#include <cstring>

#include "level.h"

namespace planezip {

inline size_t chunk_count(size_t bytes) {
    return bytes / kChunkBytes + (bytes % kChunkBytes != 0);
}

// Bytes of contents in a chunk: kChunkBytes, or less in the last.
inline size_t chunk_contents(size_t bytes, size_t chunk) {
    return std::min<size_t>(kChunkBytes, bytes - chunk * kChunkBytes);
}

inline unsigned chunk_blocks(size_t bytes, size_t chunk) {
    return static_cast<unsigned>((chunk_contents(bytes, chunk) + kBlockBytes - 1) / kBlockBytes);
}

// Where a chunk is put that cannot be encoded in place.
using ChunkBuffer = uint8_t[kChunkBytes + kSourceSlack];

struct Input {
    const uint8_t* src;
    size_t bytes;

    // Whole blocks of a chunk, kSourceSlack bytes behind them readable: in place, or zero-padded in
    // `buffer` if the end of the input is near.
    const uint8_t* chunk(size_t index, ChunkBuffer& buffer) const {
        const uint8_t* from = src + index * kChunkBytes;
        const size_t left = bytes - index * kChunkBytes;
        if (left >= sizeof buffer) return from;
        const size_t contents = chunk_contents(bytes, index);
        std::memset(buffer, 0, sizeof buffer);
        std::memcpy(buffer, from, contents);
        return buffer;
    }
};

}  // namespace planezip
