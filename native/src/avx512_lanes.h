// Planes in the lanes of vectors in AVX-512: XORed with their neighbours, and those of differences.
#pragma once

#include "avx512_planes.h"

namespace planezip {
namespace {

// Operations on planes, each in a lane of a vector.
template <unsigned W>
struct Lanes;

template <>
struct Lanes<16> {
    static constexpr unsigned count = 8, bits = 64;
    using Mask = __mmask8;
    static Vector set(uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
    static Vector first(uint64_t x) {
        return _mm512_zextsi128_si512(_mm_cvtsi64_si128(static_cast<long long>(x)));
    }
    static Vector sub(Vector a, Vector b) { return _mm512_sub_epi64(a, b); }
    static Vector shr(Vector a, unsigned n) { return _mm512_srli_epi64(a, n); }
    // The lanes of `low` moved down by one, the first of `high` above them.
    static Vector above(Vector high, Vector low) { return _mm512_alignr_epi64(high, low, 1); }
    static Mask test(Vector a, Vector b) { return _mm512_test_epi64_mask(a, b); }
    static Mask test(Mask k, Vector a, Vector b) { return _mm512_mask_test_epi64_mask(k, a, b); }
    static Mask differ(Mask k, Vector a, Vector b) { return _mm512_mask_cmpneq_epu64_mask(k, a, b); }
    static Mask not_less(Mask k, Vector a, Vector b) {
        return _mm512_mask_cmpge_epu64_mask(k, a, b);
    }
    static uint32_t join(Mask high, Mask low) {
        return _cvtmask16_u32(_mm512_kunpackb(high, low));
    }
};

template <>
struct Lanes<32> {
    static constexpr unsigned count = 16, bits = 32;
    using Mask = __mmask16;
    static Vector set(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
    static Vector first(uint32_t x) {
        return _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(x)));
    }
    static Vector sub(Vector a, Vector b) { return _mm512_sub_epi32(a, b); }
    static Vector shr(Vector a, unsigned n) { return _mm512_srli_epi32(a, n); }
    static Vector above(Vector high, Vector low) { return _mm512_alignr_epi32(high, low, 1); }
    static Mask test(Vector a, Vector b) { return _mm512_test_epi32_mask(a, b); }
    static Mask test(Mask k, Vector a, Vector b) { return _mm512_mask_test_epi32_mask(k, a, b); }
    static Mask differ(Mask k, Vector a, Vector b) { return _mm512_mask_cmpneq_epu32_mask(k, a, b); }
    static Mask not_less(Mask k, Vector a, Vector b) {
        return _mm512_mask_cmpge_epu32_mask(k, a, b);
    }
    static uint32_t join(Mask high, Mask low) {
        return _cvtmask32_u32(_mm512_kunpackw(high, low));
    }
};

// Planes XORed with those above them; `top` has the plane above all in its first lane.
template <unsigned W>
inline Pair xor_planes(const Pair& planes, Vector top) {
    return {_mm512_xor_si512(planes.low, Lanes<W>::above(planes.high, planes.low)),
            _mm512_xor_si512(planes.high, Lanes<W>::above(top, planes.high))};
}

// Differences of the symbols to their right neighbours, the last one 0, and their signs.
template <unsigned W>
inline Pair to_deltas(const uint8_t* block, const Pair& symbols, typename Width<W>::Plane& signs);

template <>
inline Pair to_deltas<16>(const uint8_t* block, const Pair& symbols, uint64_t& signs) {
    const Pair next = load_pair(block + 2);
    const __mmask32 all_but_last = 0x7FFFFFFF;
    signs = _cvtmask64_u64(_mm512_kunpackd(
        _mm512_mask_cmplt_epu16_mask(all_but_last, next.high, symbols.high),
        _mm512_cmplt_epu16_mask(next.low, symbols.low)));
    return {_mm512_sub_epi16(next.low, symbols.low),
            _mm512_maskz_sub_epi16(all_but_last, next.high, symbols.high)};
}

template <>
inline Pair to_deltas<32>(const uint8_t* block, const Pair& symbols, uint32_t& signs) {
    const Pair next = load_pair(block + 4);
    const __mmask16 all_but_last = 0x7FFF;
    signs = _cvtmask32_u32(_mm512_kunpackw(
        _mm512_mask_cmplt_epu32_mask(all_but_last, next.high, symbols.high),
        _mm512_cmplt_epu32_mask(next.low, symbols.low)));
    return {_mm512_sub_epi32(next.low, symbols.low),
            _mm512_maskz_sub_epi32(all_but_last, next.high, symbols.high)};
}

}  // namespace
}  // namespace planezip
