// Reading verbatim planes and restoring symbols in AVX-512.
#pragma once

#include "avx512_write.h"

namespace planezip {
namespace {

inline void get_vectors(BitReader& in, uint8_t* to, unsigned count) {
    const Vector shift = _mm512_set1_epi64(static_cast<long long>(in.shift()));
    const uint8_t* const from = in.next();
    const Pair words = load_pair(from), next = load_pair(from + 8);
    store_pair(to, {_mm512_shrdv_epi64(words.low, next.low, shift),
                    _mm512_shrdv_epi64(words.high, next.high, shift)});
    in.skip(8 * count);
}

// A group of codes as wide as a lane and a flag: the planes, and in `flags` which are verbatim.
template <unsigned W>
inline Vector read_full_group(const uint8_t* from, unsigned shift, uint32_t& flags) {
    using L = Lanes<W>;
    const Vector words = _mm512_loadu_si512(from);
    const Vector next = _mm512_loadu_si512(from + L::bits / 8);
    const Vector shifts = _mm512_add_epi32(iota<W>(), L::set(shift + 1));
    const Vector flag = W == 16 ? _mm512_sllv_epi64(L::set(1), _mm512_sub_epi64(shifts, L::set(1)))
                                : _mm512_sllv_epi32(L::set(1), _mm512_sub_epi32(shifts, L::set(1)));
    flags = L::test(words, flag);
    return W == 16 ? _mm512_shrdv_epi64(words, next, shifts)
                   : _mm512_shrdv_epi32(words, next, shifts);
}

// A group of narrower codes. The bit behind each plane is the flag of the next; `flags` has that of
// the first in front, and then that of the first behind the group above the others.
template <unsigned W>
inline Vector read_group(const uint8_t* from, unsigned shift, unsigned width, uint32_t& flags) {
    using L = Lanes<W>;
    const Vector begins = _mm512_add_epi32(_mm512_mullo_epi32(iota<W>(), L::set(width + 1)),
                                           L::set(shift + 1));
    const Vector words = _mm512_loadu_si512(from);
    const Vector next = _mm512_loadu_si512(from + L::bits / 8);
    const Vector at = L::shr(begins, W == 16 ? 6 : 5);
    const Vector planes =
        W == 16 ? _mm512_shrdv_epi64(_mm512_permutexvar_epi64(at, words),
                                     _mm512_permutexvar_epi64(at, next), begins)
                : _mm512_shrdv_epi32(_mm512_permutexvar_epi32(at, words),
                                     _mm512_permutexvar_epi32(at, next), begins);
    const Vector flag = L::set(static_cast<typename Width<W>::Plane>(uint64_t{1} << width));
    flags = static_cast<uint32_t>(L::test(planes, flag)) << 1 | (flags & 1);
    return _mm512_and_si512(planes, L::sub(flag, L::set(1)));
}

template <unsigned W>
inline void store_planes(uint8_t* to, Vector planes, unsigned count) {
    const auto kept = low_bits<uint32_t>(count);
    if (W == 16) {
        _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(kept), planes);
    } else {
        _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(kept), planes);
    }
}

// See Portable::read_verbatim_rest.
template <unsigned W>
inline bool read_verbatim(BitReader& in, uint8_t* to, unsigned left, unsigned width) {
    constexpr unsigned lanes = Lanes<W>::count;
    const auto group = [&](unsigned first, uint32_t& flags) {
        const unsigned at = in.shift() + first * (width + 1);
        const uint8_t* const from = in.next() + at / 8;
        return width == Lanes<W>::bits ? read_full_group<W>(from, at % 8, flags)
                                       : read_group<W>(from, at % 8, width, flags);
    };
    const unsigned count = left < lanes ? left : lanes;
    uint32_t flags = 1;
    const Vector planes = group(0, flags);
    if (~flags & low_bits<uint32_t>(count)) return false;
    if (left > lanes) {
        flags >>= lanes;
        const Vector more = group(lanes, flags);
        if (~flags & low_bits<uint32_t>(left - lanes)) return false;
        store_planes<W>(to + 64, more, left - lanes);
    }
    store_planes<W>(to, planes, count);
    in.skip(left * (width + 1));
    return true;
}

// ---- differences back to symbols

// Adds to each symbol all symbols before it in its vector.
inline Vector running_sums(std::integral_constant<unsigned, 16>, Vector x) {
    x = _mm512_add_epi16(x, _mm512_bslli_epi128(x, 2));
    x = _mm512_add_epi16(x, _mm512_bslli_epi128(x, 4));
    x = _mm512_add_epi16(x, _mm512_bslli_epi128(x, 8));
    const Vector last = _mm512_shuffle_epi8(x, _mm512_set1_epi16(0x0F0E));
    x = _mm512_add_epi16(x, _mm512_maskz_shuffle_i64x2(0xFC, last, last, 0x90));
    const Vector lower = _mm512_maskz_shuffle_i64x2(0xF0, last, last, 0x40);
    const Vector third = _mm512_maskz_shuffle_i64x2(0xC0, last, last, 0x00);
    return _mm512_add_epi16(x, _mm512_add_epi16(lower, third));
}
inline Vector running_sums(std::integral_constant<unsigned, 32>, Vector x) {
    x = _mm512_add_epi32(x, _mm512_bslli_epi128(x, 4));
    x = _mm512_add_epi32(x, _mm512_bslli_epi128(x, 8));
    const Vector last = _mm512_shuffle_epi32(x, static_cast<_MM_PERM_ENUM>(0xFF));
    x = _mm512_add_epi32(x, _mm512_maskz_shuffle_i64x2(0xFC, last, last, 0x90));
    const Vector lower = _mm512_maskz_shuffle_i64x2(0xF0, last, last, 0x40);
    const Vector third = _mm512_maskz_shuffle_i64x2(0xC0, last, last, 0x00);
    return _mm512_add_epi32(x, _mm512_add_epi32(lower, third));
}

// The symbols whose first is `base`.
inline Pair undo_deltas(const Pair& deltas, uint16_t base) {
    const std::integral_constant<unsigned, 16> width;
    const Vector first = _mm512_set1_epi16(static_cast<short>(base));
    const Vector low = _mm512_add_epi16(running_sums(width, deltas.low), first);
    const Vector middle = _mm512_permutexvar_epi16(_mm512_set1_epi16(31), low);
    const Vector high = _mm512_add_epi16(running_sums(width, deltas.high), middle);
    const auto shifted = [](Vector x, Vector before) {  // by one symbol
        return _mm512_alignr_epi8(x, _mm512_alignr_epi64(x, before, 6), 14);
    };
    return {shifted(low, first), shifted(high, low)};
}
inline Pair undo_deltas(const Pair& deltas, uint32_t base) {
    const std::integral_constant<unsigned, 32> width;
    const Vector first = _mm512_set1_epi32(static_cast<int>(base));
    const Vector low = _mm512_add_epi32(running_sums(width, deltas.low), first);
    const Vector middle = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), low);
    const Vector high = _mm512_add_epi32(running_sums(width, deltas.high), middle);
    return {_mm512_alignr_epi32(low, first, 15), _mm512_alignr_epi32(high, low, 15)};
}

}  // namespace
}  // namespace planezip
