// Reading verbatim planes and restoring differences in AVX2.
#pragma once

#include "avx2_planes.h"

namespace planezip {
namespace {

// ---- verbatim planes as wide as their lanes: code i begins i bits further on in its lane than code
// 0 in lane 0

inline Vector lane_numbers(std::integral_constant<unsigned, 16>) {
    return _mm256_setr_epi64x(0, 1, 2, 3);
}
inline Vector lane_numbers(std::integral_constant<unsigned, 32>) {
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
}

// All ones in the lanes whose flag is not set.
inline Vector missing_flags(std::integral_constant<unsigned, 16> width, const uint8_t* from,
                            unsigned shift) {
    const Vector at = _mm256_add_epi64(lane_numbers(width), _mm256_set1_epi64x(shift));
    const Vector flag = _mm256_sllv_epi64(_mm256_set1_epi64x(1), at);
    return _mm256_cmpeq_epi64(_mm256_and_si256(load_vector(from), flag), _mm256_setzero_si256());
}
inline Vector missing_flags(std::integral_constant<unsigned, 32> width, const uint8_t* from,
                            unsigned shift) {
    const Vector at = _mm256_add_epi32(lane_numbers(width), _mm256_set1_epi32(static_cast<int>(shift)));
    const Vector flag = _mm256_sllv_epi32(_mm256_set1_epi32(1), at);
    return _mm256_cmpeq_epi32(_mm256_and_si256(load_vector(from), flag), _mm256_setzero_si256());
}

// The planes behind the flags.
inline Vector flagged_planes(std::integral_constant<unsigned, 16> width, const uint8_t* from,
                             unsigned shift) {
    const Vector at = _mm256_add_epi64(lane_numbers(width), _mm256_set1_epi64x(shift + 1));
    const Vector rest = _mm256_sub_epi64(_mm256_set1_epi64x(64), at);
    return _mm256_or_si256(_mm256_srlv_epi64(load_vector(from), at),
                           _mm256_sllv_epi64(load_vector(from + 8), rest));
}
inline Vector flagged_planes(std::integral_constant<unsigned, 32> width, const uint8_t* from,
                             unsigned shift) {
    const Vector at =
        _mm256_add_epi32(lane_numbers(width), _mm256_set1_epi32(static_cast<int>(shift) + 1));
    const Vector rest = _mm256_sub_epi32(_mm256_set1_epi32(32), at);
    return _mm256_or_si256(_mm256_srlv_epi32(load_vector(from), at),
                           _mm256_sllv_epi32(load_vector(from + 4), rest));
}

// ---- differences back to symbols

// Adds to each symbol all symbols before it in its vector.
inline Vector running_sums(std::integral_constant<unsigned, 16>, Vector x) {
    x = _mm256_add_epi16(x, _mm256_slli_si256(x, 2));
    x = _mm256_add_epi16(x, _mm256_slli_si256(x, 4));
    x = _mm256_add_epi16(x, _mm256_slli_si256(x, 8));
    const Vector lower = _mm256_permute2x128_si256(x, x, 0x08);
    return _mm256_add_epi16(x, _mm256_shuffle_epi8(lower, _mm256_set1_epi16(0x0F0E)));
}
inline Vector running_sums(std::integral_constant<unsigned, 32>, Vector x) {
    x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
    x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
    const Vector lower = _mm256_permute2x128_si256(x, x, 0x08);
    return _mm256_add_epi32(x, _mm256_shuffle_epi32(lower, 0xFF));
}

// In place, differences to the right neighbours become the symbols whose first is `base`.
inline void undo_deltas(uint16_t base, Vector* deltas) {
    Vector before = _mm256_set1_epi16(static_cast<short>(base));
    for (unsigned i = 0; i < kVectors; ++i) {
        const Vector sums =
            _mm256_add_epi16(running_sums(std::integral_constant<unsigned, 16>{}, deltas[i]), before);
        deltas[i] = _mm256_sub_epi16(sums, deltas[i]);
        before = _mm256_shuffle_epi8(_mm256_permute4x64_epi64(sums, 0xFF),
                                     _mm256_set1_epi16(0x0F0E));
    }
}
inline void undo_deltas(uint32_t base, Vector* deltas) {
    Vector before = _mm256_set1_epi32(static_cast<int>(base));
    for (unsigned i = 0; i < kVectors; ++i) {
        const Vector sums =
            _mm256_add_epi32(running_sums(std::integral_constant<unsigned, 32>{}, deltas[i]), before);
        deltas[i] = _mm256_sub_epi32(sums, deltas[i]);
        before = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(7));
    }
}

}  // namespace
}  // namespace planezip
