// Writing verbatim planes and whole vectors of bits in AVX-512.
#pragma once

#include "avx512_sizes.h"
#include <type_traits>

#include "bit_io.h"

namespace planezip {
namespace {

template <unsigned W>
inline Vector iota() {
    return W == 16 ? _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0)
                   : _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

inline Vector or3(Vector a, Vector b, Vector c) { return _mm512_ternarylogic_epi64(a, b, c, 0xFE); }

inline uint64_t last_word(Vector v) {
    const __m128i top = _mm512_extracti64x2_epi64(v, 3);
    return static_cast<uint64_t>(_mm_extract_epi64(top, 1));
}

// Appends the low `count` bits of a vector whose other bits are zero.
inline void put_vector(BitWriter& out, Vector bits, unsigned count) {
    const unsigned filled = out.filled();
    const Vector below = _mm512_alignr_epi64(bits, _mm512_setzero_si512(), 7);
    const Vector low = _mm512_sll_epi64(bits, _mm_cvtsi32_si128(static_cast<int>(filled)));
    const Vector high = _mm512_srl_epi64(below, _mm_cvtsi32_si128(static_cast<int>(64 - filled)));
    uint8_t* const to = out.next();
    _mm512_storeu_si512(to, or3(low, high, Lanes<16>::first(out.pending())));
    store(to + 64, last_word(bits) >> 1 >> (63 - filled));
    out.written(count, to[(filled + count) / 8]);
}

// Some planes in the order of their codes: the lowest `count` of a pair, from the top down, zeros
// behind them.
inline Pair top_down(std::integral_constant<unsigned, 16>, const Pair& planes, unsigned count) {
    const Vector first = _mm512_sub_epi64(Lanes<16>::set(count - 1), iota<16>());
    const Vector second = _mm512_sub_epi64(first, Lanes<16>::set(8));
    const uint32_t kept = low_bits<uint32_t>(count);
    return {_mm512_maskz_permutex2var_epi64(static_cast<__mmask8>(kept), planes.low, first,
                                            planes.high),
            _mm512_maskz_permutex2var_epi64(static_cast<__mmask8>(kept >> 8), planes.low, second,
                                            planes.high)};
}
inline Pair top_down(std::integral_constant<unsigned, 32>, const Pair& planes, unsigned count) {
    const Vector first = _mm512_sub_epi32(Lanes<32>::set(count - 1), iota<32>());
    const Vector second = _mm512_sub_epi32(first, Lanes<32>::set(16));
    const uint32_t kept = low_bits<uint32_t>(count);
    return {_mm512_maskz_permutex2var_epi32(static_cast<__mmask16>(kept), planes.low, first,
                                            planes.high),
            _mm512_maskz_permutex2var_epi32(static_cast<__mmask16>(kept >> 16), planes.low, second,
                                            planes.high)};
}

// Planes as wide as their lanes: code i begins i bits further on in its lane than code 0 in lane 0,
// so a lane of output is the end of one plane, the flag of the next and its begin.
template <unsigned W>
inline void write_full_group(uint8_t* to, unsigned filled, Vector planes, Vector previous,
                             uint64_t pending) {
    using L = Lanes<W>;
    const Vector shifts = _mm512_add_epi32(iota<W>(), L::set(filled));
    const Vector first = L::first(static_cast<typename Width<W>::Plane>(pending));
    if (W == 16) {
        const Vector flagged = _mm512_or_si512(_mm512_slli_epi64(planes, 1), L::set(1));
        const Vector before = _mm512_alignr_epi64(planes, previous, 7);
        const Vector codes = _mm512_shldv_epi64(flagged, before, shifts);
        _mm512_storeu_si512(to, _mm512_or_si512(codes, first));
        store(to + 64, last_word(planes) >> (56 - filled));
    } else {
        const Vector flagged = _mm512_or_si512(_mm512_slli_epi32(planes, 1), L::set(1));
        const Vector before = _mm512_alignr_epi32(planes, previous, 15);
        const Vector codes = _mm512_shldv_epi32(flagged, before, shifts);
        _mm512_storeu_si512(to, _mm512_or_si512(codes, first));
        store(to + 64, last_word(planes) >> 32 >> (16 - filled));
    }
}

template <unsigned W>
inline void write_full_planes(uint8_t* to, unsigned filled, const Pair& planes, unsigned count,
                              uint64_t pending) {
    constexpr unsigned lanes = Lanes<W>::count;
    const Vector none = _mm512_setzero_si512();
    write_full_group<W>(to, filled, planes.low, none, pending);
    // Behind a group of codes, the next begins at the same bit of a byte.
    if (count > lanes) {
        write_full_group<W>(to + 64 + lanes / 8, filled, planes.high, planes.low, 0);
    }
}

// Codes of `stride` <= 64 bits each, in 64-bit lanes; writes whole vectors from `filled` on.
inline void write_codes(uint8_t* to, unsigned filled, Pair codes, unsigned stride, unsigned count,
                        uint64_t pending) {
    const unsigned end = filled + stride * count;
    const Vector even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    const Vector odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    for (; stride < 32; stride *= 2) {  // joins neighbours until three cover a word of output
        const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(stride));
        const Vector first = _mm512_permutex2var_epi64(codes.low, even, codes.high);
        const Vector second = _mm512_permutex2var_epi64(codes.low, odd, codes.high);
        codes = {_mm512_or_si512(first, _mm512_sll_epi64(second, shift)), _mm512_setzero_si512()};
    }
    using L = Lanes<16>;
    const Vector strides = L::set(stride), inverse = L::set((1u << 20) / stride + 1);
    // Where the words of output begin, counted from the begin of a code before the first.
    Vector at = _mm512_add_epi64(_mm512_slli_epi64(iota<16>(), 6), L::set(stride - filled));
    Vector kept = L::first(pending);
    for (unsigned written = 0; written < end; written += 512) {
        const Vector next = _mm512_srli_epi64(_mm512_mul_epu32(at, inverse), 20);
        const Vector taken = _mm512_sub_epi64(at, _mm512_mul_epu32(next, strides));
        const Vector left = _mm512_sub_epi64(strides, taken);
        const Vector begun = _mm512_maskz_permutex2var_epi64(
            L::test(next, next), codes.low, _mm512_sub_epi64(next, L::set(1)), codes.high);
        const Vector second = _mm512_permutex2var_epi64(codes.low, next, codes.high);
        const Vector third = _mm512_permutex2var_epi64(codes.low, _mm512_add_epi64(next, L::set(1)),
                                                       codes.high);
        const Vector word =
            or3(_mm512_srlv_epi64(begun, taken), _mm512_sllv_epi64(second, left),
                _mm512_sllv_epi64(third, _mm512_add_epi64(left, strides)));
        _mm512_storeu_si512(to + written / 8, _mm512_or_si512(word, kept));
        kept = _mm512_setzero_si512();
        at = _mm512_add_epi64(at, L::set(512));
    }
}

// Writes the lowest `count` planes of `width` bits, all verbatim.
template <unsigned W>
inline void write_verbatim(BitWriter& out, const Pair& planes, typename Width<W>::Plane lowest,
                           unsigned count, unsigned width) {
    const std::integral_constant<unsigned, W> symbol_bits;
    const Pair ordered = top_down(symbol_bits, planes, count);
    const unsigned filled = out.filled(), end = (filled + count * (width + 1)) % 8;
    if (width == Lanes<W>::bits) {
        write_full_planes<W>(out.next(), filled, ordered, count, out.pending());
    } else if (W == 16) {
        const auto flagged = [](Vector x) {
            return _mm512_or_si512(_mm512_slli_epi64(x, 1), Lanes<16>::set(1));
        };
        write_codes(out.next(), filled, {flagged(ordered.low), flagged(ordered.high)}, width + 1,
                    count, out.pending());
    } else {
        const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(width + 1));
        const auto paired = [&](Vector x) {
            const Vector codes = _mm512_or_si512(_mm512_slli_epi32(x, 1), Lanes<32>::set(1));
            const Vector low = _mm512_and_si512(codes, _mm512_set1_epi64(0xFFFFFFFF));
            return _mm512_or_si512(low, _mm512_sll_epi64(_mm512_srli_epi64(codes, 32), shift));
        };
        write_codes(out.next(), filled, {paired(ordered.low), paired(ordered.high)},
                    2 * (width + 1), (count + 1) / 2, out.pending());
    }
    out.written(count * (width + 1), end ? lowest >> (width - end) : 0);
}

}  // namespace
}  // namespace planezip
