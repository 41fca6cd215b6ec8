// Symbols <-> bit-planes in AVX-512 with GFNI.
//
// A vector of 64 bytes is eight 8 x 8 bit matrices to gf2p8affineqb, which transposes them if it
// multiplies the identity by them. Around it, bytes are permuted: the bytes of one significance of
// eight symbols make a matrix, and the same row of all matrices makes a plane.
#pragma once

#include <immintrin.h>

#include "format.h"
#include "transforms.h"

namespace planezip {
namespace {

using Vector = __m512i;

// A block, or its planes: the half at lower addresses or of lower planes, and the other.
struct Pair {
    Vector low, high;
};

inline Pair load_pair(const void* from) {
    const auto* const bytes = static_cast<const uint8_t*>(from);
    return {_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + 64)};
}

inline void store_pair(void* to, const Pair& pair) {
    auto* const bytes = static_cast<uint8_t*>(to);
    _mm512_storeu_si512(bytes, pair.low);
    _mm512_storeu_si512(bytes + 64, pair.high);
}

// 64 byte numbers for a permutation.
struct alignas(64) Order {
    uint8_t byte[64];

    Vector vector() const { return _mm512_load_si512(byte); }
};

template <class Rule>
constexpr Order order(Rule rule) {
    Order made = {};
    for (unsigned i = 0; i < 64; ++i) made.byte[i] = static_cast<uint8_t>(rule(i));
    return made;
}

inline Pair permute(const Pair& from, const Order& low, const Order& high) {
    return {_mm512_permutex2var_epi8(from.low, low.vector(), from.high),
            _mm512_permutex2var_epi8(from.low, high.vector(), from.high)};
}

// A byte vector holds the bytes of one significance of all symbols (W = 16), or of two (W = 32), in
// the order of the symbols: kSymbols of each.
template <unsigned W>
struct ByteOrders {
    static constexpr unsigned symbols = Width<W>::symbols, bytes = W / 8;

    // Byte i of the byte vector of significances from `first` on; `flip` reverses all matrices.
    static constexpr Order split(unsigned first, unsigned flip) {
        return order([=](unsigned i) {
            const unsigned at = i ^ flip;
            return at % symbols * bytes + first + at / symbols;
        });
    }
    // Byte i of the symbols from the pair of byte vectors, from symbol `first` on.
    static constexpr Order join(unsigned first) {
        return order([=](unsigned i) { return i % bytes * symbols + first + i / bytes; });
    }
    // Planes from transposed matrices: byte q of plane p is row p % 8 of matrix q.
    static constexpr Order planes() {
        return order([](unsigned i) {
            const unsigned p = i / (symbols / 8), q = i % (symbols / 8);
            return (p / 8 * (symbols / 8) + q) * 8 + p % 8;
        });
    }
    // Matrices from planes stored top down: row t of a matrix is plane 7 - t of its significance.
    static constexpr Order matrices() {
        return order([](unsigned i) {
            const unsigned matrix = i / 8, significance = matrix / (symbols / 8);
            const unsigned plane = (bytes / 2 - 1 - significance) * 8 + i % 8;
            return plane * (symbols / 8) + matrix % (symbols / 8);
        });
    }
};

template <unsigned W>
struct Orders {
    using Make = ByteOrders<W>;
    static constexpr Order split_low = Make::split(0, 0), split_high = Make::split(W / 16, 0);
    static constexpr Order flip_low = Make::split(0, 7), flip_high = Make::split(W / 16, 7);
    static constexpr Order join_low = Make::join(0), join_high = Make::join(Make::symbols / 2);
    static constexpr Order planes = Make::planes(), matrices = Make::matrices();
};

// Multiplies the identity by the matrices: row r of the product has bit r of the bytes, last first.
inline Vector transpose(Vector matrices) {
    return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(0x8040201008040201), matrices, 0);
}

// Planes of flipped byte vectors.
template <unsigned W>
inline Pair flipped_to_planes(const Pair& bytes) {
    const Vector planes = Orders<W>::planes.vector();
    return {_mm512_permutexvar_epi8(planes, transpose(bytes.low)),
            _mm512_permutexvar_epi8(planes, transpose(bytes.high))};
}

template <unsigned W>
inline Pair symbols_to_planes(const Pair& symbols) {
    return flipped_to_planes<W>(permute(symbols, Orders<W>::flip_low, Orders<W>::flip_high));
}

// ---- the symbols that are not zero

template <unsigned W>
inline typename Width<W>::Plane nonzero_symbols(const Pair& symbols);

template <>
inline uint64_t nonzero_symbols<16>(const Pair& symbols) {
    return _cvtmask64_u64(
        _mm512_kunpackd(_mm512_test_epi16_mask(symbols.high, symbols.high),
                        _mm512_test_epi16_mask(symbols.low, symbols.low)));
}

template <>
inline uint32_t nonzero_symbols<32>(const Pair& symbols) {
    return _cvtmask32_u32(
        _mm512_kunpackw(_mm512_test_epi32_mask(symbols.high, symbols.high),
                        _mm512_test_epi32_mask(symbols.low, symbols.low)));
}

// Moves the bytes of the symbols in the mask to the front of their byte vector.
inline Vector compact_bytes(Vector bytes, uint64_t mask) {
    return _mm512_maskz_compress_epi8(_cvtu64_mask64(mask), bytes);
}
inline Vector compact_bytes(Vector bytes, uint32_t mask) {
    const __mmask32 kept = _cvtu32_mask32(mask);
    return _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_maskz_compress_epi8(kept, _mm512_castsi512_si256(bytes))),
        _mm256_maskz_compress_epi8(kept, _mm512_extracti64x4_epi64(bytes, 1)), 1);
}

// The inverse, with zeros elsewhere.
inline Vector expand_bytes(Vector bytes, uint64_t mask) {
    return _mm512_maskz_expand_epi8(_cvtu64_mask64(mask), bytes);
}
inline Vector expand_bytes(Vector bytes, uint32_t mask) {
    const __mmask32 kept = _cvtu32_mask32(mask);
    return _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_maskz_expand_epi8(kept, _mm512_castsi512_si256(bytes))),
        _mm256_maskz_expand_epi8(kept, _mm512_extracti64x4_epi64(bytes, 1)), 1);
}

template <unsigned W>
inline Pair survivor_planes(const Pair& symbols, typename Width<W>::Plane mask) {
    const Pair bytes = permute(symbols, Orders<W>::split_low, Orders<W>::split_high);
    const Vector flip = _mm512_set4_epi32(0x08090A0B, 0x0C0D0E0F, 0x00010203, 0x04050607);
    return flipped_to_planes<W>({_mm512_shuffle_epi8(compact_bytes(bytes.low, mask), flip),
                                 _mm512_shuffle_epi8(compact_bytes(bytes.high, mask), flip)});
}

// ---- back from XORed planes, stored top down

// Each bit becomes the XOR of itself and those above it in its byte.
inline Vector undo_xor_in_bytes(Vector bytes) {
    return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(0xFFFEFCF8F0E0C080), 0);
}

inline uint64_t odd_bytes(Vector bytes) {
    return _cvtmask64_u64(_mm512_test_epi8_mask(bytes, _mm512_set1_epi8(1)));
}

inline Vector invert_bytes(Vector bytes, uint64_t which) {
    return _mm512_mask_sub_epi8(bytes, _cvtu64_mask64(which), _mm512_set1_epi8(-1), bytes);
}

// What is left of the XOR goes from byte to byte: an odd byte inverts all those below it.
template <unsigned W>
inline Pair undo_xor_between_bytes(const Pair& bytes) {
    const uint64_t high = odd_bytes(bytes.high);
    if (W == 16) return {invert_bytes(bytes.low, high), bytes.high};
    const uint64_t fourth = high >> 32, third = (high & 0xFFFFFFFF) ^ fourth;
    const uint64_t second = odd_bytes(bytes.low) >> 32 ^ third;
    return {invert_bytes(bytes.low, third << 32 | second), invert_bytes(bytes.high, fourth)};
}

// The byte vectors of the symbols whose planes a block holds.
template <unsigned W>
inline Pair restored_bytes(const uint8_t* block) {
    const Pair planes = load_pair(block);  // the upper ones lie in front
    const Vector matrices = Orders<W>::matrices.vector();
    return undo_xor_between_bytes<W>(
        {undo_xor_in_bytes(transpose(_mm512_permutexvar_epi8(matrices, planes.high))),
         undo_xor_in_bytes(transpose(_mm512_permutexvar_epi8(matrices, planes.low)))});
}

template <unsigned W>
inline Pair join_bytes(const Pair& bytes) {
    return permute(bytes, Orders<W>::join_low, Orders<W>::join_high);
}

}  // namespace
}  // namespace planezip
