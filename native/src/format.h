// Constants of the format (docs/format.md) and the two symbol widths.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planezip.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the native engine loads symbols and bit fields as little-endian words"
#endif

namespace planezip {

constexpr unsigned kBlockBytes = 128;
constexpr unsigned kBlockBits = 8 * kBlockBytes;
constexpr unsigned kChunkBlocks = 32;
constexpr unsigned kChunkBytes = kChunkBlocks * kBlockBytes;
constexpr unsigned kHeaderBytes = 2;

enum Tag : unsigned { kRaw, kZvc, kDbx, kBx, kZbx };

constexpr unsigned kPlanezipTagBits = 3;
constexpr unsigned kSingleTagBits = 1;
constexpr unsigned kBdiTagBits = 4;

// The encoding that a single-encoding codec's tag 1 stands for.
constexpr Tag single_encoding(Codec codec) {
    return codec == Codec::zvc   ? kZvc
           : codec == Codec::bpc ? kDbx
           : codec == Codec::bx  ? kBx
                                 : kZbx;
}

// A block as N symbols of W bits; bit j of a plane belongs to symbol j, so a plane has N bits.
template <unsigned W>
struct Width;

template <>
struct Width<16> {
    using Symbol = uint16_t;
    using Plane = uint64_t;
    static constexpr unsigned symbols = 64;
    static constexpr Symbol top = 1u << 15;
};

template <>
struct Width<32> {
    using Symbol = uint32_t;
    using Plane = uint32_t;
    static constexpr unsigned symbols = 32;
    static constexpr Symbol top = 1u << 31;
};

}  // namespace planezip
