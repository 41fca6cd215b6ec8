// A level: the three chunk functions, compiled for one kind of processor. All levels write the same
// bytes; they differ in speed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format.h"

namespace planezip {

// How far behind a payload decode_chunk may read: one block at its longest, 33 verbatim planes of
// 64 bits, is less than 280 bytes.
constexpr size_t kReadSlack = 512;

// Bytes that encode_chunk may write: every block raw with its tag, and a word beyond.
constexpr size_t kPayloadBound = kChunkBytes + kChunkBlocks * kBdiTagBits / 8 + 8;

// How far behind the blocks of a chunk its encoder may read: two symbols.
constexpr size_t kSourceSlack = 16;

struct ChunkSizes {
    uint64_t bits[kCodecs];          // by codec, unpadded; of no meaning if not asked for
    uint32_t tag_blocks[kEncoders];  // by tag of planezip
};

// The chunk functions for one symbol width. Behind the blocks at src, kSourceSlack bytes are
// readable.
struct ChunkFunctions {
    // Writes the payload of an encoded chunk, at most kPayloadBound bytes; returns its size.
    size_t (*encode)(Codec, const uint8_t* src, unsigned blocks, uint8_t* payload);

    // Reads an encoded chunk's payload, behind which kReadSlack bytes are readable, writes
    // blocks * 128 bytes to dst and adds the blocks to tag_blocks[kTags]. Returns what is wrong, or
    // null.
    const char* (*decode)(Codec, const uint8_t* payload, size_t size, unsigned blocks, uint8_t* dst,
                          uint64_t* tag_blocks);

    // Adds the sizes of the chunk's blocks under each codec of the set `codecs`.
    void (*size)(const uint8_t* src, unsigned blocks, unsigned codecs, ChunkSizes& sizes);
};

struct Level {
    const char* name;
    ChunkFunctions width16, width32;

    const ChunkFunctions& width(unsigned symbol_bits) const {
        return symbol_bits == 16 ? width16 : width32;
    }
};

// The level that every processor runs.
extern const Level portable_level;

// The best level for this processor.
const Level& level();

}  // namespace planezip
