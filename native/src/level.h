// A level: the chunk functions, compiled for one kind of processor. All levels write the same bytes
// and refuse the same streams; they differ in speed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format.h"

namespace planezip {

// How far behind a payload a chunk's reader may read: a block at its longest, 33 verbatim planes of
// 64 bits, is less than 280 bytes, and vectors are read whole.
constexpr size_t kReadSlack = 512;

// Bytes that the writer of a chunk may write, whatever the plan and the blocks hold: a block at its
// longest takes 33 verbatim planes and what is in front of them, less than 144 bytes, and vectors are
// written whole.
constexpr size_t kWriteRoom = kChunkBlocks * 144 + 128;

// How far behind a chunk that was written as planned its writer may write: a vector and two words.
constexpr size_t kOvershoot = 80;

// How far behind the blocks of a chunk its planner and writer may read: two symbols.
constexpr size_t kSourceSlack = 16;

// What decides the codes of planes, by block: bit b is about plane b, for all planes but the top one
// of DBX.
struct alignas(64) ChunkClasses {
    uint32_t nonzero[kChunkBlocks];   // the XORed plane is not zero
    uint32_t coded[kChunkBlocks];     // and takes more than five bits
    uint32_t verbatim[kChunkBlocks];  // and is stored verbatim
};

// What was found out about a chunk before it is written. By block; what lies behind the last block
// has no meaning.
struct alignas(64) ChunkPlan {
    ChunkClasses classes[kEncoders];         // by tag, of those asked for that have planes
    uint16_t bits[kEncoders][kChunkBlocks];  // by tag, without the tag; of those asked for
    uint16_t chosen_bits[kChunkBlocks];      // of the tag chosen
    uint8_t tags[kChunkBlocks];
};

struct ChunkSizes {
    uint64_t bits[kCodecs];          // by codec, unpadded; of no meaning if not asked for
    uint32_t tag_blocks[kEncoders];  // by tag of planezip
};

// The chunk functions for one symbol width. Behind the blocks at src, kSourceSlack bytes are
// readable.
struct ChunkFunctions {
    // Chooses how to encode a chunk; returns the bytes of its payload if it is encoded.
    size_t (*plan)(Codec, const uint8_t* src, unsigned blocks, ChunkPlan& plan);

    // Writes the payload of a chunk that was planned, to memory of kWriteRoom bytes; returns its
    // size, which differs from the planned one if the blocks have changed since.
    size_t (*write)(Codec, const uint8_t* src, unsigned blocks, const ChunkPlan&, uint8_t* payload);

    // Reads an encoded chunk's payload, behind which kReadSlack bytes are readable, writes
    // blocks * 128 bytes to dst and adds the blocks to tag_blocks[kTags]. Returns what is wrong, or
    // null.
    const char* (*read)(Codec, const uint8_t* payload, size_t size, unsigned blocks, uint8_t* dst,
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

extern const Level portable_level;  // every processor runs it
#ifdef PLANEZIP_X86
extern const Level avx2_level, avx512_level;
#endif

// The level in use (planezip.h).
const Level& level();

}  // namespace planezip
