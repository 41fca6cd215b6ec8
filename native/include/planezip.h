// The PlaneZip codec engine: chunk streams in and out of plain buffers (docs/format.md).
//
// Knows neither Python nor torch. No function keeps a pointer after it returns, none writes to its
// input, and input and output must not overlap. Buffers need no alignment. `threads` >= 1 is an
// upper bound; the result never depends on it. If another thread writes to the input meanwhile, the
// result has no meaning, but nothing outside the output is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace planezip {

enum class Codec : uint8_t { zvc, bdi, bpc, bx, zbx, planezip };

constexpr unsigned kCodecs = 6;
constexpr unsigned kEncoders = 5;  // raw, zvc, dbx, bx, zbx: the tags of the planezip codec
constexpr unsigned kTags = 16;     // as many as any codec's tag field can name

// The stream is not one that an encoder writes; what() says where and why.
struct CorruptStream : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The level asked for is none that this machine has; what() says which it has.
struct UnusableLevel : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// How to read bytes as symbols: symbol_bits is 16 or 32.
struct Coding {
    Codec codec;
    unsigned symbol_bits;
};

struct Sizes {
    uint64_t raw_bytes;                  // bytes measured
    uint64_t wire_bytes[kCodecs];        // chunk stream bytes by codec; 0 if not asked for
    uint64_t encoder_blocks[kEncoders];  // blocks by the tag that planezip stores them under
};

struct Contents {
    uint64_t tag_blocks[kTags];  // blocks of encoded chunks by tag, blocks of raw chunks under 0
    uint64_t raw_chunks;
    uint64_t encoded_chunks;
};

// The most bytes that the chunk stream of `bytes` of contents can take.
size_t encode_bound(size_t bytes);

// Writes the chunk stream of src[0, bytes) to dst, which has encode_bound() bytes; returns its
// size. What lies behind it in dst is then unspecified.
size_t encode(const uint8_t* src, size_t bytes, Coding coding, unsigned threads, uint8_t* dst);

// Throws CorruptStream unless the chunk headers of stream[0, stream_bytes) span the stream exactly
// and number as many as `bytes` of contents need. Cheap: reads the headers only. A caller does this
// before it allocates `bytes`.
void check_chunks(const uint8_t* stream, size_t stream_bytes, size_t bytes);

// Bytes that the chunks of the first `bytes` of contents take, at the head of a stream that may hold
// more. `bytes` is all that the stream holds or a multiple of a chunk's 4,096. Throws CorruptStream
// if the stream ends before. What lies between two such spans is a chunk stream of its own.
size_t span_chunks(const uint8_t* stream, size_t stream_bytes, size_t bytes);

// Writes the `bytes` that the stream holds to dst. Throws CorruptStream; dst[0, bytes) is then
// unspecified. Reads only the stream and writes only dst[0, bytes), whatever the stream holds.
void decode(const uint8_t* stream, size_t stream_bytes, Coding coding, unsigned threads,
            uint8_t* dst, size_t bytes);

// Decodes a stream of `bytes` of contents without keeping them. Throws as decode() does.
Contents inspect(const uint8_t* stream, size_t stream_bytes, Coding coding, size_t bytes);

// Sizes of the chunks 0, chunk_stride, 2 * chunk_stride, ... of src under each codec whose bit
// (1 << codec) is set in `codecs`, without encoding them. chunk_stride >= 1.
Sizes measure(const uint8_t* src, size_t bytes, unsigned symbol_bits, unsigned codecs,
              size_t chunk_stride, unsigned threads);

// The level in use: which instructions the engine runs on. It is the one that the environment
// variable PLANEZIP_LEVEL names, else the fastest that this machine has. Speeds differ, results do
// not. All functions above throw UnusableLevel if the variable names no level of this machine.
std::string level_name();

// The levels that this machine has, fastest first, separated by ", ".
std::string level_names();

// Changes the level in use for the whole process. Throws UnusableLevel.
void use_level(const std::string& name);

}  // namespace planezip
