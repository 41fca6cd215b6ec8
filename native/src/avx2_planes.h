// Symbols <-> bit-planes in AVX2.
//
// Both ways go by byte vectors, which hold the bytes of one significance of 32 symbols in their
// order. Out of them, movemask takes a plane at a time; into them, 8 x 8 bit matrices are transposed
// in 64-bit lanes.
#pragma once

#include <immintrin.h>

#include <type_traits>

#include "lanes.h"

namespace planezip {
namespace {

using Vector = __m256i;
constexpr unsigned kVectors = kBlockBytes / sizeof(Vector);

inline Vector load_vector(const void* from) {
    return _mm256_loadu_si256(static_cast<const Vector*>(from));
}

inline void store_vector(void* to, Vector v) {
    _mm256_storeu_si256(static_cast<Vector*>(to), v);
}

// A vector of four 64-bit words, the lowest first.
inline Vector words(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return _mm256_set_epi64x(static_cast<long long>(d), static_cast<long long>(c),
                             static_cast<long long>(b), static_cast<long long>(a));
}

// The same 16 byte numbers for both halves.
inline Vector order(uint64_t low, uint64_t high) { return words(low, high, low, high); }

inline Vector zigzag() { return _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); }

// ---- splitting and joining: bytes[i] for W = 16 holds significance i / 2 of the symbols from
// 32 * (i % 2) on, for W = 32 significance i of all

inline void split_bytes(std::integral_constant<unsigned, 16>, const void* block, Vector* bytes) {
    const auto* const from = static_cast<const uint8_t*>(block);
    const Vector low = _mm256_set1_epi16(0xFF);
    for (unsigned half = 0; half < 2; ++half) {
        const Vector a = load_vector(from + 64 * half), b = load_vector(from + 64 * half + 32);
        const Vector lows = _mm256_packus_epi16(_mm256_and_si256(a, low), _mm256_and_si256(b, low));
        const Vector highs = _mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
        bytes[half] = _mm256_permute4x64_epi64(lows, 0xD8);
        bytes[2 + half] = _mm256_permute4x64_epi64(highs, 0xD8);
    }
}

inline void split_bytes(std::integral_constant<unsigned, 32>, const void* block, Vector* bytes) {
    const auto* const from = static_cast<const uint8_t*>(block);
    const Vector gather = order(0x0D0905010C080400, 0x0F0B07030E0A0602);
    Vector v[4];  // four bytes of each significance in a half
    for (unsigned i = 0; i < 4; ++i) v[i] = _mm256_shuffle_epi8(load_vector(from + 32 * i), gather);
    const Vector a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
    const Vector c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
    bytes[0] = _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi64(a, c), zigzag());
    bytes[1] = _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi64(a, c), zigzag());
    bytes[2] = _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi64(b, d), zigzag());
    bytes[3] = _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi64(b, d), zigzag());
}

inline void join_bytes(std::integral_constant<unsigned, 16>, const Vector* bytes, Vector* symbols) {
    for (unsigned half = 0; half < 2; ++half) {
        const Vector a = _mm256_unpacklo_epi8(bytes[half], bytes[2 + half]);
        const Vector b = _mm256_unpackhi_epi8(bytes[half], bytes[2 + half]);
        symbols[2 * half] = _mm256_permute2x128_si256(a, b, 0x20);
        symbols[2 * half + 1] = _mm256_permute2x128_si256(a, b, 0x31);
    }
}

inline void join_bytes(std::integral_constant<unsigned, 32>, const Vector* bytes, Vector* symbols) {
    const Vector a = _mm256_unpacklo_epi8(bytes[0], bytes[1]);
    const Vector b = _mm256_unpackhi_epi8(bytes[0], bytes[1]);
    const Vector c = _mm256_unpacklo_epi8(bytes[2], bytes[3]);
    const Vector d = _mm256_unpackhi_epi8(bytes[2], bytes[3]);
    const Vector e = _mm256_unpacklo_epi16(a, c), f = _mm256_unpackhi_epi16(a, c);
    const Vector g = _mm256_unpacklo_epi16(b, d), h = _mm256_unpackhi_epi16(b, d);
    symbols[0] = _mm256_permute2x128_si256(e, f, 0x20);
    symbols[1] = _mm256_permute2x128_si256(g, h, 0x20);
    symbols[2] = _mm256_permute2x128_si256(e, f, 0x31);
    symbols[3] = _mm256_permute2x128_si256(g, h, 0x31);
}

// ---- planes

// planes[b] = the bits b of the symbols of the block.
template <unsigned W>
inline void block_to_planes(const void* block, typename Width<W>::Plane* planes) {
    Vector bytes[kVectors];
    split_bytes(std::integral_constant<unsigned, W>{}, block, bytes);
    for (unsigned significance = 0; significance < W / 8; ++significance) {
        Vector* const part = bytes + significance * (W == 16 ? 2 : 1);
        for (unsigned b = 8; b-- > 0;) {
            uint64_t plane = movemask(part[0]);
            part[0] = _mm256_add_epi8(part[0], part[0]);
            if (W == 16) {
                plane |= uint64_t{movemask(part[1])} << 32;
                part[1] = _mm256_add_epi8(part[1], part[1]);
            }
            planes[8 * significance + b] = static_cast<typename Width<W>::Plane>(plane);
        }
    }
}

// One step of transposing 8 x 8 bits in 64-bit lanes: swaps the bits in `mask` with those `shift`
// further up.
template <unsigned shift>
inline Vector swap_bits(Vector x, uint64_t mask) {
    const Vector moved = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, shift)),
                                          _mm256_set1_epi64x(static_cast<long long>(mask)));
    return _mm256_xor_si256(x, _mm256_xor_si256(moved, _mm256_slli_epi64(moved, shift)));
}

inline Vector transpose_matrices(Vector x) {
    x = swap_bits<7>(x, 0x00AA00AA00AA00AA);
    x = swap_bits<14>(x, 0x0000CCCC0000CCCC);
    return swap_bits<28>(x, 0x00000000F0F0F0F0);
}

// Matrices of the symbols' bytes from planes stored top down: row t of a matrix is the plane of the
// bits t of a byte, the planes of a byte lie the other way around.
inline void planes_to_matrices(std::integral_constant<unsigned, 16>, const Vector* planes,
                               Vector* bytes) {
    const Vector pair = order(0x030B020A01090008, 0x070F060E050D040C);  // two rows a word
    for (unsigned significance = 0; significance < 2; ++significance) {
        const Vector upper = _mm256_shuffle_epi8(planes[2 - 2 * significance], pair);
        const Vector lower = _mm256_shuffle_epi8(planes[3 - 2 * significance], pair);
        const Vector even = _mm256_permute2x128_si256(lower, upper, 0x31);
        const Vector odd = _mm256_permute2x128_si256(lower, upper, 0x20);
        Vector* const to = bytes + 2 * significance;
        to[0] = _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi16(even, odd), zigzag());
        to[1] = _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi16(even, odd), zigzag());
    }
}

inline void planes_to_matrices(std::integral_constant<unsigned, 32>, const Vector* planes,
                               Vector* bytes) {
    const Vector four = order(0x0105090D0004080C, 0x03070B0F02060A0E);  // four rows a word
    const Vector halves = _mm256_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3);
    for (unsigned significance = 0; significance < 4; ++significance) {
        const Vector rows = _mm256_shuffle_epi8(planes[3 - significance], four);
        bytes[significance] = _mm256_permutevar8x32_epi32(rows, halves);
    }
}

// Each bit of a symbol becomes the XOR of itself and those above it.
inline Vector undo_xor(std::integral_constant<unsigned, 16>, Vector x) {
    x = _mm256_xor_si256(x, _mm256_srli_epi16(x, 1));
    x = _mm256_xor_si256(x, _mm256_srli_epi16(x, 2));
    x = _mm256_xor_si256(x, _mm256_srli_epi16(x, 4));
    return _mm256_xor_si256(x, _mm256_srli_epi16(x, 8));
}
inline Vector undo_xor(std::integral_constant<unsigned, 32>, Vector x) {
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 1));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 2));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 4));
    x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 8));
    return _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
}

// Symbols from XORed planes stored top down.
template <unsigned W>
inline void planes_to_vectors(const Vector* planes, Vector* symbols) {
    const std::integral_constant<unsigned, W> width;
    Vector bytes[kVectors];
    planes_to_matrices(width, planes, bytes);
    for (Vector& part : bytes) part = transpose_matrices(part);
    join_bytes(width, bytes, symbols);
    for (unsigned i = 0; i < kVectors; ++i) symbols[i] = undo_xor(width, symbols[i]);
}

}  // namespace
}  // namespace planezip
