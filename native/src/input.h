// How contents divide into chunks.
#pragma once

#include <algorithm>
#include <cstring>

#include "format.h"

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

struct Input {
    const uint8_t* src;
    size_t bytes;

    // Whole blocks of a chunk: in place, or zero-padded in `padded` if the last one is partial.
    const uint8_t* chunk(size_t index, uint8_t (&padded)[kChunkBytes]) const {
        const uint8_t* from = src + index * kChunkBytes;
        const size_t contents = chunk_contents(bytes, index);
        if (contents % kBlockBytes == 0) return from;
        std::memset(padded, 0, kChunkBytes);
        std::memcpy(padded, from, contents);
        return padded;
    }
};

}  // namespace planezip
